//! Messages about invalid command lines, where those of clap are insufficient.

use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit;
use crate::view::{self, pager};

/// Commands and options that remove data or turn Throughline off. They are suggested only after a small typing error.
const TAKING: [&str; 8] =
    ["purge", "uninstall", "forget", "rm", "off", "--purge", "--delete", "--everything"];
/// Commands of the previous version with their replacements, for one version.
const RENAMED: [(&str, &str); 7] = [
    ("audit", "throughline doctor --secrets"),
    ("handoff", "throughline timeline --handoff"),
    ("selftest", "throughline doctor --selftest"),
    ("service", "throughline watch install"),
    ("stats", "throughline status --stats"),
    ("tombstones", "throughline list --forgotten"),
    ("upgrade", "throughline --version"),
];
/// Maximum typing errors for a suggestion: in words of up to four letters, in longer words, and in the words of
/// [`TAKING`]. An inserted, missing or transposed letter counts as one error.
const MISTAKES_SHORT: usize = 1;
const MISTAKES_LONG: usize = 2;
const MISTAKES_TAKING: usize = 1;
/// Minimum letters of a prefix that matches a whole word.
const BEGINNING_CHARS_MIN: usize = 3;

/// The option that disables the pager.
const NO_PAGER: &str = "--no-pager";
/// Prefix of clap's messages, replaced by the name of the program as in other tools.
const CLAPS: &str = "error:";

/// Prints clap's help or error message and exits.
pub fn exit(error: clap::Error) -> ! {
    if let Some(renamed) = renamed(&error) {
        // If this write fails, only the exit code is left.
        let _ = writeln!(anstream::stderr().lock(), "{renamed}");
        std::process::exit(exit::USAGE.into());
    }
    let error = told(error);
    if !error.use_stderr() {
        if page(&error) {
            std::process::exit(exit::OK.into());
        }
        let _ = error.print();
        if error.kind() == ErrorKind::DisplayVersion
            && let Some(changelog) = changelog()
        {
            let _ = writeln!(anstream::stdout().lock(), "Changelog: {}", view::path(changelog));
        }
        std::process::exit(error.exit_code());
    }
    let text = error.render().ansi().to_string();
    // If this write fails too, only the exit code is left.
    let _ = write!(anstream::stderr().lock(), "{}", text.replacen(CLAPS, "throughline:", 1));
    std::process::exit(error.exit_code());
}

/// Returns the path of the installed changelog.
fn changelog() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    let path = program.parent()?.parent()?.join("share/throughline/CHANGELOG.md");
    path.is_file().then_some(path)
}

/// Shows help with the pager, like other long output; returns `false` if no pager was used.
fn page(error: &clap::Error) -> bool {
    if error.kind() != ErrorKind::DisplayHelp || std::env::args_os().any(|word| word == NO_PAGER) {
        return false;
    }
    #[expect(clippy::disallowed_methods, reason = "help is shown before the environment is read")]
    let path = std::env::var_os("PATH");
    let Some(pager) = pager::find(path.as_deref()) else { return false };
    let text = error.render().ansi().to_string();
    pager::through(&pager, |out| Ok(out.write_all(text.as_bytes())?)).is_ok()
}

/// Removes suggestions unlike the typed word. If a word begins with a dash, the message contains the whole word
/// instead of its first letter, which clap treats as an option.
fn told(mut error: clap::Error) -> clap::Error {
    keep_alike(&mut error, ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand);
    keep_alike(&mut error, ContextKind::InvalidArg, ContextKind::SuggestedArg);
    let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
    if let Some(remedy) = remedy(&error, words) {
        let told = ContextValue::StyledStrs(vec![StyledStr::from(remedy)]);
        error.insert(ContextKind::Suggested, told);
    }
    error
}

/// Returns the message about a command of the previous version.
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

/// Removes clap's suggestions that are too unlike the typed word; clap compares only the letters in common.
fn keep_alike(error: &mut clap::Error, wrong: ContextKind, suggested: ContextKind) {
    let Some(ContextValue::String(typed)) = error.get(wrong).cloned() else { return };
    let words = match error.remove(suggested) {
        Some(ContextValue::Strings(words)) => words,
        Some(ContextValue::String(word)) => vec![word],
        Some(_) | None => return,
    };
    let alike = alike(&typed, words);
    if alike.is_empty() {
        // The usage belongs to the removed suggestion.
        error.remove(ContextKind::Usage);
        return;
    }
    let alike = match &alike[..] {
        [word] => ContextValue::String(word.clone()),
        _ => ContextValue::Strings(alike),
    };
    error.insert(suggested, alike);
}

/// Returns the words that `typed` may mean, most similar first.
fn alike(typed: &str, words: Vec<String>) -> Vec<String> {
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
    use clap::CommandFactory as _;

    use super::*;
    use crate::command::Args;

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
            // Words without a similar command.
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
