//! Parsers of command-line values.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_store::recall::{Span, TIME_FORMS, time_named};
use memory_store::{Kind, Timestamp};

use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;

/// Options of commands that write.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WriteOptions {
    /// Answer yes to all questions
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Report the changes without making them
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Returns the parser of a kind, whose names the help lists.
pub fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
        .try_map(|name| Kind::from_name(&name).ok_or("unknown kind"))
}

/// Parses a count of at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no count; write 1 or more")),
        Ok(count) => Ok(count),
    }
}

/// A range of time that limits a list.
#[derive(Clone, Debug, Default, Args)]
pub struct DateRange {
    /// Only memories from this date on, such as 2026-01-31, 3d or "last week"
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only memories up to this date, such as 2026-01-31, 3d or "last week"
    #[arg(long, hide_short_help = true, value_name = "DATE")]
    until: Option<String>,
}

impl DateRange {
    /// Returns whether it limits anything.
    pub fn is_given(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Parses both ends: the first moment of the one, and the last of the other.
    pub fn span(&self, now: Timestamp) -> Result<Span> {
        let read = |text: &Option<String>| text.as_deref().map(|text| span(text, now)).transpose();
        let from = read(&self.since)?.and_then(|span| span.from);
        let to = read(&self.until)?.and_then(|span| span.to);
        match (from, to) {
            (Some(from), Some(to)) if from >= to => {
                Err(Failure::new("`--since` is later than `--until`, so nothing is between them")
                    .code(exit::USAGE)
                    .hint("Exchange them, or leave one out."))
            }
            _ => Ok(Span { from, to }),
        }
    }
}

/// Parses a time of the past: a date, a point in time, or words such as "last week".
pub fn span(text: &str, now: Timestamp) -> Result<Span> {
    time_named(text, now).ok_or_else(|| {
        Failure::new(format!("`{text}` is no date"))
            .code(exit::USAGE)
            .hint(format!("Write for example {TIME_FORMS}."))
    })
}

/// Returns a file or glob relative to the project's root, as in memories, regardless of the current folder.
pub fn project_path(stores: &Stores, typed: &str) -> Result<String> {
    let (world, tree) = (&stores.world, &stores.tree);
    let typed = Path::new(typed);
    let whole = if typed.is_absolute() {
        typed.to_owned()
    } else if world.cwd != tree.root && world.cwd.join(typed).exists() {
        // Relative to the current folder if the shell completed it there; a missing path is relative to the root.
        world.cwd.join(typed)
    } else {
        tree.root.join(typed)
    };
    match without_dots(&whole).strip_prefix(&tree.root) {
        Ok(path) => Ok(path.to_string_lossy().replace('\\', "/")),
        Err(_) => Err(Failure::new(format!("{} is outside of the project", typed.display()))
            .code(exit::USAGE)
            .hint(format!("Name a file below {}.", tree.root.display()))),
    }
}

/// Returns a path without `.` and `..`, by its text alone.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut steps = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(steps.pop()),
            part => steps.push(part),
        }
    }
    steps
}
