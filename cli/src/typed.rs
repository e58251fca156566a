//! Parsers of command-line values.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use memory_store::recall::{NamedSpan, Span, TIME_FORMS, named_span};
use memory_store::{Kind, Timestamp};

use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view::clock;

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

/// Returns the parser of a memory's kind. Help and completion list the canonical names; the parser accepts all names
/// that memory files accept.
pub const fn kind() -> impl TypedValueParser<Value = Kind> {
    KindParser
}

#[derive(Clone)]
struct KindParser;

impl TypedValueParser for KindParser {
    type Value = Kind;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Kind, clap::Error> {
        if let Some(kind) = value.to_str().and_then(Kind::from_name) {
            return Ok(kind);
        }
        // The error of this parser lists the names and suggests the nearest one.
        let names = PossibleValuesParser::new(Kind::ALL.map(Kind::name));
        names
            .try_map(|name| Kind::from_name(&name).ok_or("unknown kind"))
            .parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Kind::ALL.into_iter().map(|kind| PossibleValue::new(kind.name()))))
    }
}

/// Parses the name of a subagent.
pub fn agent(name: &str) -> Result<String, String> {
    memory_store::memory::agent_named(name)
        .ok_or_else(|| format!("`{name}` is no name of a subagent; write one such as reviewer"))
}

/// Parses an integer of at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no count; write 1 or more")),
        Ok(count) => Ok(count),
    }
}

/// A range of time that limits a list.
#[derive(Clone, Debug, Default, Args)]
pub struct DateRange {
    /// Only items from this date on, such as 2026-01-31, 3d or "last week"
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only items up to this date, such as 2026-01-31, 3d or "last week"
    #[arg(long, hide_short_help = true, value_name = "DATE")]
    until: Option<String>,
}

impl DateRange {
    /// Returns whether the options limit the time at all.
    pub fn is_given(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Parses both options: the result begins at the first moment of `--since`, and ends at the last moment of
    /// `--until`.
    pub fn span(&self, now: Timestamp) -> Result<Span> {
        let read = |option: &str,
                    text: &Option<String>,
                    side: &str,
                    moment: fn(Span) -> Option<Timestamp>|
         -> Result<Option<Timestamp>> {
            let Some(text) = text else { return Ok(None) };
            // Without a moment on this side, the option would limit nothing.
            let moment = moment(span(text, now)?).ok_or_else(|| {
                Failure::new(format!("`{option}`: `{text}` has no {side}"))
                    .code(exit::USAGE)
                    .hint(format!("Leave out the preposition. {}", forms()))
            })?;
            Ok(Some(moment))
        };
        let from = read("--since", &self.since, "beginning", |span| span.from)?;
        let to = read("--until", &self.until, "end", |span| span.to)?;
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

/// Parses a time in the past: a date, a point in time, or words such as "last week". Days are those of the user's time
/// zone, as in all output.
fn named(text: &str, now: Timestamp) -> Result<NamedSpan> {
    named_span(text, now, clock::day(now))
        .ok_or_else(|| Failure::new(format!("`{text}` is no date")).code(exit::USAGE).hint(forms()))
}

/// Parses a time of the past, in days of the user's time zone.
pub fn span(text: &str, now: Timestamp) -> Result<Span> {
    Ok(named(text, now)?.span(clock::midnight))
}

fn forms() -> String {
    format!("Write for example {TIME_FORMS}.")
}

/// Parses whole days in the past and returns their first moment. It serves a command that deletes, so it rejects
/// ambiguous texts: `6m` means six minutes, and "after 2026-10-01" has no end.
pub fn first_moment_of_days(text: &str, now: Timestamp) -> Result<Timestamp> {
    let refused = |problem: &str| {
        Failure::new(format!("`{text}` {problem}"))
            .code(exit::USAGE)
            .hint("Write a day, week, month or year, for example 2026-10-02, 2026-10, 90d or 6mo (six months).")
    };
    match named(text, now)? {
        NamedSpan::Point(_) => Err(refused("is a time of day, not a date")),
        NamedSpan::Days(days) => match (days.from, days.to) {
            (Some(first), Some(_)) => Ok(clock::midnight(first)),
            (None, _) => Err(refused("has no beginning")),
            (_, None) => Err(refused("has no end")),
        },
    }
}

/// Returns a file or glob relative to the project's root, as in memories, whatever the current folder is.
pub fn project_path(stores: &Stores, typed: &str) -> Result<String> {
    let (world, tree) = (&stores.world, &stores.tree);
    let typed = Path::new(typed);
    let whole = if typed.is_absolute() {
        typed.to_owned()
    } else if world.cwd != tree.root && world.cwd.join(typed).exists() {
        // The path is relative to the current folder if it exists there, as when the shell completed it; otherwise it
        // is relative to the root.
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

/// Resolves `.` and `..` in a path without reading the file system.
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
