//! Formats the output of commands for people and scripts: lists, times, pages and memories.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dialoguer::console::Term;
use memory_store::identity::Mode;
use serde::Serialize;

pub use self::memory::{
    ForgottenView, MemoryView, WAITS, date, held, line, marked_line, whole, why_stale,
};
pub use self::printable::{path, plain};
use self::style::paint;
use crate::failure::Result;

pub mod changes;
pub mod clock;
pub mod given;
pub mod handoff;
pub mod known;
pub mod listing;
pub mod memory;
pub mod pager;
pub mod passage;
pub mod printable;
pub mod saved;
pub mod style;
pub mod topics;
pub mod wrap;

/// Whether only answers, errors and questions are printed.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Applies `--quiet` to all later output.
pub fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Returns whether only answers, errors and questions are printed.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints a remark on stderr, such as that there is nothing to list; stdout is only for results. `--quiet` omits
/// remarks.
pub fn remark(text: impl Display) {
    if !is_quiet() {
        on_stderr(text);
    }
}

/// Prints a line on stderr, wrapped at the terminal's width.
pub fn on_stderr(text: impl Display) {
    let columns = wrap::columns(&Term::stderr());
    let mut stderr = anstream::stderr().lock();
    let mut stderr = wrap::Wrapped::new(&mut stderr, columns);
    // A write error is ignored: a closed stderr cannot be repaired.
    let _ = writeln!(stderr, "{text}").and_then(|()| stderr.flush());
}

/// Formats a count with its noun, as in `1 memory` or `2 memories`.
pub fn plural(count: usize, thing: &str) -> String {
    let stem = thing.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (count, stem) {
        (1, _) => format!("1 {thing}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {thing}s"),
    }
}

/// Returns a word for the place where memories are stored.
pub const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Committed => "committed",
        Mode::Private => "private",
    }
}

/// Joins the texts whose counts are not zero into one list.
pub fn counted(parts: impl IntoIterator<Item = (usize, String)>) -> String {
    let texts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text);
    texts.collect::<Vec<_>>().join(", ")
}

/// Columns before the text of a labelled line.
pub const LABEL_COLUMNS: usize = 12;

/// Prints a line with a label before its text. An empty label continues the previous line.
pub fn labelled(label: &str, text: &str, out: &mut dyn Write) -> Result {
    let label = format!("{label:<width$}", width = LABEL_COLUMNS - 2);
    Ok(writeln!(out, "{}  {text}", paint(style::QUIET, label))?)
}

/// Returns the form of "to be" for a count.
pub const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// Formats the path of a folder, with `~` in place of the home folder.
pub fn folder(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Ok(below) => self::path(Path::new("~").join(below)),
        Err(_) => self::path(path),
    }
}

/// Prints the actions that would be taken.
pub fn would(told: &[String], json: bool, out: &mut dyn Write) -> Result {
    if json {
        return self::json(&serde_json::json!({"would": told}), out);
    }
    for told in told {
        writeln!(out, "Would {told}.")?;
    }
    if told.is_empty() {
        writeln!(out, "Nothing would be done.")?;
    }
    Ok(())
}

/// Prints a value as JSON.
pub fn json(value: &impl Serialize, out: &mut dyn Write) -> Result {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| crate::failure::Failure::new(format!("JSON: {error}")))?;
    Ok(writeln!(out, "{text}")?)
}

/// Prints warnings about unreadable memory files on stderr.
pub fn warn_broken(broken: &[memory_store::Error]) {
    for error in broken {
        on_stderr(format_args!("{} {}", paint(style::CARE, "left out:"), with_remedy(error)));
    }
}

/// Formats an error with its remedy, unless the message already contains the remedy.
fn with_remedy(error: &memory_store::Error) -> String {
    match error.remedy() {
        Some(remedy) => format!("{error}. {remedy}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use memory_store::Error;

    use super::*;

    #[test]
    fn an_error_without_a_remedy_ends_with_its_own_message() {
        let told = with_remedy(&Error::Path { path: "a".into() });
        assert!(told.ends_with("rename it"), "{told}");
    }
}
