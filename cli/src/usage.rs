//! Messages about invalid command lines in cases where the messages of clap are insufficient.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, ValueEnum as _};
use dialoguer::console::Term;

use crate::command::{Args, Color};
use crate::exit;
use crate::failure::Result;
use crate::view::wrap::{self, Wrapped};
use crate::view::{self, pager};

/// Commands and options that remove data or turn Throughline off. They are suggested only for a very similar word.
const TAKING: [&str; 8] =
    ["purge", "uninstall", "forget", "rm", "off", "--purge", "--delete", "--everything"];
/// Commands of the previous version with their replacements. The table is kept for one version.
const RENAMED: [(&str, &str); 7] = [
    ("audit", "throughline doctor --secrets"),
    ("handoff", "throughline timeline --handoff"),
    ("selftest", "throughline doctor --selftest"),
    ("service", "throughline watch install"),
    ("stats", "throughline status --stats"),
    ("tombstones", "throughline list --forgotten"),
    ("upgrade", "throughline --version"),
];
/// Maximum typing errors in a word for which another is suggested: in words of up to four letters, in longer words, and
/// if the suggestion is one of [`TAKING`]. An inserted, missing or transposed letter counts as one error.
const MISTAKES_SHORT: usize = 1;
const MISTAKES_LONG: usize = 2;
const MISTAKES_TAKING: usize = 1;
/// Minimum length of a typed beginning for which the whole word is suggested.
const BEGINNING_CHARS_MIN: usize = 3;

/// The option that chooses colours.
const COLOR: &str = "--color";
/// The option that disables the pager.
const NO_PAGER: &str = "--no-pager";
/// Prefix of clap's messages. It is replaced by the name of the program, as in the messages of other tools.
const CLAPS: &str = "error:";

/// Applies `--color` before the command line is parsed, so that it also affects help and error messages. The parser
/// reports an invalid value.
pub fn apply_color(words: &[OsString]) {
    let words = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let mut words = words.peekable();
    let mut color = None;
    while let Some(word) = words.next() {
        let value = match word.strip_prefix(COLOR) {
            Some("") => words.peek().copied(),
            Some(value) => value.strip_prefix('='),
            None => None,
        };
        color = value.and_then(|value| Color::from_str(value, false).ok()).or(color);
    }
    if let Some(color) = color {
        color.apply();
    }
}

/// Prints clap's help or error message and exits.
pub fn exit(error: clap::Error) -> ! {
    if let Some(renamed) = renamed(&error) {
        // If this write fails, only the exit code reports the error.
        let _ = writeln!(anstream::stderr().lock(), "{renamed}");
        std::process::exit(exit::USAGE.into());
    }
    let error = with_close_suggestions(error);
    let mut text = error.render().ansi().to_string();
    if error.kind() == ErrorKind::DisplayVersion
        && let Some(changelog) = changelog()
    {
        text.push_str(&format!("Changelog: {}\n", view::path(changelog)));
    }
    if error.use_stderr() {
        view::on_stderr(text.replacen(CLAPS, "throughline:", 1).trim_end());
        std::process::exit(error.exit_code());
    }
    let code = match show(&text, error.kind() == ErrorKind::DisplayHelp) {
        Ok(()) => exit::OK,
        Err(failure) => {
            crate::report(&failure);
            failure.code
        }
    };
    std::process::exit(code.into());
}

/// Returns the path of the installed changelog.
fn changelog() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    let path = program.parent()?.parent()?.join("share/throughline/CHANGELOG.md");
    path.is_file().then_some(path)
}

/// Prints the help or the version. Long help is shown in the pager.
fn show(text: &str, is_help: bool) -> Result {
    let columns = wrap::columns(&Term::stdout());
    let print = |out: &mut dyn io::Write| -> Result {
        let mut out = Wrapped::new(out, columns);
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    };
    let is_paged = is_help && !std::env::args_os().any(|word| word == NO_PAGER);
    #[expect(clippy::disallowed_methods, reason = "help is shown before the environment is read")]
    let path = std::env::var_os("PATH");
    match pager::find(path.as_deref()).filter(|_| is_paged) {
        Some(pager) => pager::through(&pager, print),
        None => print(&mut anstream::stdout().lock()),
    }
}

/// Removes suggestions that are not similar to the typed word. If a word begins with a dash, the message quotes the
/// whole word instead of its first letter, which clap treats as an option.
fn with_close_suggestions(mut error: clap::Error) -> clap::Error {
    suggest_topic(&mut error);
    keep_alike(&mut error, ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand);
    keep_alike(&mut error, ContextKind::InvalidArg, ContextKind::SuggestedArg);
    let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
    if let Some(remedy) = remedy(&error, words) {
        let told = ContextValue::StyledStrs(vec![StyledStr::from(remedy)]);
        error.insert(ContextKind::Suggested, told);
    }
    error
}

/// Adds all commands as suggestions for an unknown topic after `help`, for which clap has none. [`keep_alike`] selects
/// from them.
fn suggest_topic(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand
        || error.get(ContextKind::SuggestedSubcommand).is_some()
    {
        return;
    }
    let words = std::env::args_os().filter_map(|word| word.into_string().ok());
    let mut group = Args::command();
    for word in words.skip_while(|word| word != "help").skip(1) {
        let Some(below) = group.find_subcommand(&word).cloned() else { break };
        group = below;
    }
    let names = group.get_subcommands().filter(|command| !command.is_hide_set());
    let names = names.map(|command| command.get_name().to_owned()).collect();
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
}

/// Returns the message for a command of the previous version.
fn renamed(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (old, new) = RENAMED.iter().find(|(old, _)| old == typed)?;
    Some(format!("`throughline {old}` is now `{new}`."))
}

fn remedy(error: &clap::Error, mut words: impl Iterator<Item = String>) -> Option<String> {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !is_unknown || option.starts_with("--") {
        return None;
    }
    let word = words.find(|word| word.starts_with(option) && word != option)?;
    let quoted = if word.contains(char::is_whitespace) { format!("'{word}'") } else { word };
    Some(format!(
        "words that begin with a dash come after `--`, and options before it: -- {quoted}"
    ))
}

/// Removes clap's suggestions that are not similar enough to the typed word, since clap compares only common letters.
fn keep_alike(error: &mut clap::Error, wrong: ContextKind, suggested: ContextKind) {
    let Some(ContextValue::String(typed)) = error.get(wrong).cloned() else { return };
    let words = match error.remove(suggested) {
        Some(ContextValue::Strings(words)) => words,
        Some(ContextValue::String(word)) => vec![word],
        Some(_) | None => return,
    };
    let alike = alike(&typed, words);
    if alike.is_empty() {
        // The usage is removed too, since it belongs to the removed suggestion.
        error.remove(ContextKind::Usage);
        return;
    }
    let alike = match &alike[..] {
        [word] => ContextValue::String(word.clone()),
        _ => ContextValue::Strings(alike),
    };
    error.insert(suggested, alike);
}

/// Returns the words that the user may have meant by `typed`, most similar first.
pub fn alike(typed: &str, words: Vec<String>) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut alike: Vec<(usize, String)> = words
        .into_iter()
        .filter_map(|word| {
            let mistakes = strsim::osa_distance(&typed, &word);
            let most = match word.trim_start_matches('-').len() {
                _ if TAKING.contains(&&*word) => MISTAKES_TAKING,
                0..=4 => MISTAKES_SHORT,
                _ => MISTAKES_LONG,
            };
            let letters = typed.trim_start_matches('-').len();
            let begins = letters >= BEGINNING_CHARS_MIN && word.starts_with(&typed);
            (mistakes <= most || begins).then_some((mistakes, word))
        })
        .collect();
    alike.sort();
    alike.into_iter().map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_mistyped_is_suggested() {
        let names: Vec<String> =
            Args::command().get_subcommands().map(|it| it.get_name().to_owned()).collect();
        for (typed, expected) in [
            ("serach", &["search"][..]),
            ("statsu", &["status"]),
            ("lst", &["list"]),
            ("purgee", &["purge"]),
            ("pruge", &["purge"]),
            ("pur", &["purge"]),
            ("unin", &["uninstall"]),
            ("doc", &["doctor"]),
            // No command is similar to these words.
            ("update", &[]),
            ("install", &[]),
            ("merge", &["merge-driver"]),
            ("urge", &["purge"]),
            ("forge", &["forget"]),
            ("prune", &[]),
            ("reset", &[]),
        ] {
            assert_eq!(alike(typed, names.clone()), expected, "{typed}");
        }
        let options = || vec!["--purge".to_owned()];
        assert_eq!(alike("--prune", options()), [""; 0]);
        assert_eq!(alike("--purg", options()), ["--purge"]);
    }
}
