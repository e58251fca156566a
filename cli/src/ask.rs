//! Questions to the user at the terminal.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use dialoguer::console::{Key, Term, measure_text_width};
use dialoguer::theme::Theme;
use dialoguer::{Confirm, Select};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::setup::installation;
use crate::view::{self, wrap};
use crate::world::World;

/// Columns reserved after a question for ` [y/N] ` and the cursor.
const ANSWER_COLUMNS: usize = 8;

/// Columns reserved after a prompt for a space and the cursor.
const KEY_COLUMNS: usize = 2;

/// Columns of the selection mark before an item.
const MARK_COLUMNS: usize = 2;

/// Theme of a selection list. A line that the terminal would wrap is truncated.
struct QuestionTheme {
    /// Columns of the terminal.
    columns: usize,
}

impl QuestionTheme {
    fn of_terminal() -> Self {
        Self { columns: wrap::columns(&Term::stderr()).unwrap_or(usize::MAX) }
    }

    /// Truncates an item to the width of the line.
    fn item(&self, text: &str) -> String {
        // The last column is kept empty: a cursor after it would start another line.
        wrap::cut(text, self.columns.saturating_sub(MARK_COLUMNS + 1))
    }
}

impl Theme for QuestionTheme {
    fn format_select_prompt(&self, f: &mut dyn fmt::Write, prompt: &str) -> fmt::Result {
        let end = if prompt.ends_with('?') { "" } else { ":" };
        write!(f, "{prompt}{end}")
    }

    fn format_select_prompt_item(
        &self,
        f: &mut dyn fmt::Write,
        text: &str,
        active: bool,
    ) -> fmt::Result {
        write!(f, "{} {}", if active { ">" } else { " " }, self.item(text))
    }

    /// Writes question and answer on separate lines, because together they are often wider than the terminal.
    fn format_select_prompt_selection(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        chosen: &str,
    ) -> fmt::Result {
        self.format_select_prompt(f, prompt)?;
        f.write_char('\n')?;
        self.format_select_prompt_item(f, chosen, true)
    }
}

/// Shows each item and asks the user for one of two answers, whose labels `show` returns. `decide` receives `true` for
/// the first answer. The user can also postpone an item. Returns whether the user wants to continue with other
/// questions.
pub fn about_each<T>(
    items: &[T],
    out: &mut dyn Write,
    show: impl Fn(&T, &mut dyn Write) -> Result<[&'static str; 2]>,
    decide: impl Fn(&T, bool, &mut dyn Write) -> Result,
) -> Result<bool> {
    for item in items {
        let [first, second] = show(item, out)?;
        out.flush()?;
        match select_or_stop(
            "Decide",
            &[first, second, "Later", "Stop here"].map(str::to_owned),
            2,
        )? {
            Some(chosen @ (0 | 1)) => decide(item, chosen == 0, out)?,
            Some(2) => {}
            Some(_) | None => return Ok(false),
        }
    }
    Ok(true)
}

/// Asks a yes-or-no question. Without a terminal the answer is no.
pub fn confirm(world: &World, question: &str, default: bool) -> Result<bool> {
    if !world.interactive {
        return Ok(false);
    }
    let prompt = last_line(question, ANSWER_COLUMNS)?;
    let question = Confirm::new().with_prompt(prompt).default(default);
    interactive(|| question.interact_opt())?.ok_or_else(cancelled)
}

/// Asks for one of several items.
pub fn select(prompt: &str, items: &[String], default: usize) -> Result<usize> {
    select_or_stop(prompt, items, default)?.ok_or_else(cancelled)
}

/// Asks for one of several items. Returns `None` if the user presses Esc, which ends a dialogue of several questions.
pub fn select_or_stop(prompt: &str, items: &[String], default: usize) -> Result<Option<usize>> {
    let theme = QuestionTheme::of_terminal();
    let question = Select::with_theme(&theme).with_prompt(prompt).items(items).default(default);
    interactive(|| question.interact_opt())
}

/// Asks for a short line of text until `check` accepts the line; `columns` is the width of the longest usual answer.
pub fn line(
    question: &str,
    columns: usize,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<String> {
    let (terminal, prompt) = (Term::stderr(), last_line(question, columns)?);
    loop {
        let typed = interactive(|| typed_line(&terminal, &prompt))?.ok_or_else(cancelled)?;
        match check(typed.trim()) {
            Ok(()) => return Ok(typed.trim().to_owned()),
            Err(problem) => view::on_stderr(problem),
        }
    }
}

/// Reads a line; `None` if the user presses Esc, which `dialoguer::Input` ignores.
fn typed_line(terminal: &Term, prompt: &str) -> io::Result<Option<String>> {
    if !terminal.is_term() {
        // Without a terminal, `read_key` would return unknown keys forever.
        return Err(io::Error::new(ErrorKind::NotConnected, "stderr is not a terminal"));
    }
    let mut typed = String::new();
    terminal.write_str(&format!("{prompt}: "))?;
    loop {
        match terminal.read_key()? {
            Key::Char(c) if !c.is_control() => {
                typed.push(c);
                terminal.write_str(c.encode_utf8(&mut [0; 4]))?;
            }
            Key::Backspace => {
                if let Some(c) = typed.pop() {
                    terminal.clear_chars(measure_text_width(c.encode_utf8(&mut [0; 4])))?;
                }
            }
            Key::Enter => return terminal.write_line("").map(|()| Some(typed)),
            Key::Escape => return terminal.write_line("").map(|()| None),
            _ => {}
        }
    }
}

/// Wraps a question at the terminal's width. Prints all lines but the last and returns the last line as the prompt,
/// which `dialoguer` prints a second time with the answer.
fn last_line(question: &str, answer_columns: usize) -> Result<String> {
    let columns = wrap::columns(&Term::stderr()).unwrap_or(usize::MAX);
    let question = wrap::broken(question, columns.saturating_sub(answer_columns));
    Ok(match question.rsplit_once('\n') {
        Some((before, last)) => {
            writeln!(anstream::stderr(), "{before}")?;
            last.to_owned()
        }
        None => question,
    })
}

/// Whether SIGINT ends the program immediately, as is the default.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let ends = Arc::new(AtomicBool::new(true));
    // If this fails, Ctrl-C has its default effect.
    let _ = flag::register_conditional_default(SIGINT, Arc::clone(&ends));
    ends
});

/// Prints a prompt for a single key, wrapped at the terminal's width.
pub fn prompt(text: &str) -> Result {
    let terminal = Term::stderr();
    let columns = wrap::columns(&terminal).unwrap_or(usize::MAX);
    let text = wrap::broken(text.trim_end(), columns.saturating_sub(KEY_COLUMNS)) + " ";
    terminal.write_str(&text).map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Waits for a key.
pub fn key() -> Result<Key> {
    interactive(|| Term::stderr().read_key())
}

/// Reads an answer. `console` converts Ctrl-C to SIGINT; in that case the function shows the cursor again and fails as
/// if the user had cancelled.
fn interactive<T, E: Into<io::Error>>(ask: impl FnOnce() -> Result<T, E>) -> Result<T> {
    ENDS_AT_ONCE.store(false, Ordering::SeqCst);
    let answer = ask();
    ENDS_AT_ONCE.store(true, Ordering::SeqCst);
    answer.map_err(|error| {
        let (error, terminal): (io::Error, _) = (error.into(), Term::stderr());
        // An error is ignored: a closed terminal cannot be repaired.
        let _ = terminal.show_cursor();
        match error.kind() {
            ErrorKind::Interrupted => {
                let _ = terminal.write_line("");
                cancelled()
            }
            _ => Failure::new(format!("the terminal: {error}")),
        }
    })
}

/// Returns the failure after Ctrl-C or Esc. It has no message, since the user cancelled.
pub fn cancelled() -> Failure {
    Failure::silent(exit::INTERRUPTED)
}

/// Returns the failure of a command that the user declined, or that could not ask without a terminal.
pub fn declined(world: &World, message: &str) -> Failure {
    match world.interactive {
        true => Failure::new(message),
        false => unanswered(message),
    }
}

/// Returns the failure of a command that could not ask its question. The hint is the same command with `--yes`.
pub fn unanswered(message: &str) -> Failure {
    let words = std::env::args().skip(1).chain(["--yes".to_owned()]);
    let words: Vec<String> = words.map(|word| installation::word(&word)).collect();
    Failure::new(format!("{message}: an answer is needed, and there is no terminal to ask at"))
        .code(exit::NEEDS_PERSON)
        .hint(format!("`throughline {}` asks nothing and does it.", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stands_below_its_question_and_is_cut_at_the_edge() {
        let mut shown = String::new();
        let theme = QuestionTheme { columns: 24 };
        let chosen = "Into the repository, for the team";
        theme.format_select_prompt_selection(&mut shown, "Where?", chosen).unwrap();
        assert_eq!(shown, "Where?\n> Into the repositor...");
        shown.clear();
        theme.format_select_prompt(&mut shown, "Sessions are read by").unwrap();
        assert_eq!(shown, "Sessions are read by:");
    }
}
