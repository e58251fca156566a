//! Questions to the user at the terminal.

use std::fmt;
use std::io::Write;

use dialoguer::console::Term;
use dialoguer::theme::Theme;
use dialoguer::{Confirm, Select};

use crate::exit;
use crate::failure::{Failure, Result};
use crate::setup::installation;
use crate::view::wrap;
use crate::world::World;

/// Columns after a question, for ` [y/N] ` and the cursor.
const ANSWER_COLUMNS: usize = 8;

/// Columns before an item.
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
        // The last column stays free, since a cursor after it would start another line.
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

    /// Writes question and answer on separate lines: together they are often wider than the terminal.
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

/// Shows each item and asks for one of two answers, whose labels `show` returns; `decide` receives whether the first
/// was chosen. An item can be postponed. Returns whether the user continues with other questions.
pub fn about_each<T>(
    items: &[T],
    out: &mut dyn Write,
    show: impl Fn(&T, &mut dyn Write) -> Result<[&'static str; 2]>,
    decide: impl Fn(&T, bool, &mut dyn Write) -> Result,
) -> Result<bool> {
    for item in items {
        let [first, second] = show(item, out)?;
        out.flush()?;
        match select("Decide", &[first, second, "Later", "Stop here"].map(str::to_owned), 2)? {
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
    let columns = wrap::columns(&Term::stderr()).unwrap_or(usize::MAX);
    let question = wrap::broken(question, columns.saturating_sub(ANSWER_COLUMNS));
    // Only the last line is the prompt, which is printed again with the answer.
    let prompt = match question.rsplit_once('\n') {
        Some((before, last)) => {
            writeln!(anstream::stderr(), "{before}")?;
            last
        }
        None => &question,
    };
    Confirm::new()
        .with_prompt(prompt)
        .default(default)
        .interact()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Asks for one of several items.
pub fn choose(question: &str, items: &[String], default: usize) -> Result<usize> {
    Select::with_theme(&QuestionTheme::of_terminal())
        .with_prompt(question)
        .items(items)
        .default(default)
        .interact()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Asks for one of several items; `None` if the user cancels.
pub fn select(prompt: &str, items: &[String], default: usize) -> Result<Option<usize>> {
    Select::with_theme(&QuestionTheme::of_terminal())
        .with_prompt(prompt)
        .items(items)
        .default(default)
        .interact_opt()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Returns the failure after a refusal, or without a terminal.
pub fn declined(world: &World, message: &str) -> Failure {
    match world.interactive {
        true => Failure::new(message),
        false => unanswered(message),
    }
}

/// Returns the failure for a missing answer, with the command that asks no question.
pub fn unanswered(message: &str) -> Failure {
    let words = std::env::args().skip(1).chain(["--yes".to_owned()]);
    let words: Vec<String> = words.map(|word| installation::word(&word)).collect();
    Failure::new(format!("{message}: an answer is needed, and there is no terminal to ask at"))
        .code(exit::USAGE)
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
