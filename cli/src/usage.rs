//! Messages about a command line that is not understood, where clap knows no better.

use std::io::Write as _;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit;
use crate::view::pager;

/// Commands and options that take something away: only who mistyped one is told of it.
const TAKING: [&str; 8] =
    ["purge", "uninstall", "forget", "rm", "off", "--purge", "--delete", "--everything"];
/// Commands of the version before, with what replaces each.
const REMOVED: [(&str, &str); 2] = [
    ("service", "`service` is gone: docs/usage.md has a unit that runs `throughline watch`"),
    ("stats", "`stats` is gone: `throughline status --stats` shows the numbers"),
];
/// Mistakes of somebody who meant a word: in one of up to four letters, in a longer one, and in what takes something
/// away. A letter too many or too few is one, and so are two that changed places.
const MISTAKES_SHORT: usize = 1;
const MISTAKES_LONG: usize = 2;
const MISTAKES_TAKING: usize = 1;
/// Letters of a beginning that stands for the whole word.
const BEGINNING_CHARS_MIN: usize = 3;

/// The option that lets long output be printed as it is.
const NO_PAGER: &str = "--no-pager";
/// Beginning of clap's messages. Ours begin with the name of the program, as those of other tools do.
const CLAPS: &str = "error:";

/// Ends the program with what clap says: help, or what is wrong with the command line.
pub fn exit(error: clap::Error) -> ! {
    let error = told(error);
    if !error.use_stderr() {
        if page(&error) {
            std::process::exit(exit::OK.into());
        }
        error.exit();
    }
    let text = error.render().ansi().to_string();
    // When even this cannot be written, the exit code has to say it.
    let _ = write!(anstream::stderr().lock(), "{}", text.replacen(CLAPS, "throughline:", 1));
    std::process::exit(error.exit_code());
}

/// Shows help with the pager, as other long output; `false` where it goes elsewhere.
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

/// Leaves out suggestions that are unlike what was typed, and names the whole word that begins with a dash, where clap speaks of its first letter as of an option.
fn told(mut error: clap::Error) -> clap::Error {
    if let Some(instead) = replacement(&error) {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![instead.into()]));
        return error;
    }
    keep_alike(&mut error, ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand);
    keep_alike(&mut error, ContextKind::InvalidArg, ContextKind::SuggestedArg);
    let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
    if let Some(remedy) = remedy(&error, words) {
        let told = ContextValue::StyledStrs(vec![StyledStr::from(remedy)]);
        error.insert(ContextKind::Suggested, told);
    }
    error
}

/// Returns what replaces the removed command that was typed.
fn replacement(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    REMOVED.iter().find(|(name, _)| name == typed).map(|(_, instead)| *instead)
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

/// Leaves out suggestions that nobody meant who typed what is wrong: clap goes by letters in common.
fn keep_alike(error: &mut clap::Error, wrong: ContextKind, suggested: ContextKind) {
    let Some(ContextValue::String(typed)) = error.get(wrong).cloned() else { return };
    let words = match error.remove(suggested) {
        Some(ContextValue::Strings(words)) => words,
        Some(ContextValue::String(word)) => vec![word],
        Some(_) | None => return,
    };
    let alike = alike(&typed, words);
    if alike.is_empty() {
        // With a suggested option it shows how to use that.
        error.remove(ContextKind::Usage);
        return;
    }
    let alike = match &alike[..] {
        [word] => ContextValue::String(word.clone()),
        _ => ContextValue::Strings(alike),
    };
    error.insert(suggested, alike);
}

/// The words that `typed` may stand for, the likeliest first.
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
            // Words of their own.
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
