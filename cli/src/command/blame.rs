//! `throughline blame`: memories about a file, and sessions that touched it.

use std::cmp::Reverse;
use std::io::Write;

use clap::Args;
use memory_store::memory::{Memory, Status};
use memory_store::store::Stored;
use memory_store::{Timestamp, short_session};
use processor::extract::session_record::{SessionRecord, TouchedFile};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::sessions::{PastSession, PastSessions};
use crate::stores::Stores;
use crate::view::style::{NAME, QUIET, STRONG, paint};
use crate::view::{self, MemoryView, clock, plain, plural, wrap};
use crate::world::World;

/// Show memories about a file or folder, and sessions that used it
#[derive(Debug, Args)]
pub struct BlameArgs {
    /// Path of a file or folder
    #[arg(value_name = "FILE")]
    path: String,
    /// Maximum number of sessions
    #[arg(long, short = 'n', default_value_t = 10, value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FileHistory<'a> {
    path: String,
    memories: Vec<MemoryView<'a>>,
    sessions: Vec<TouchingSession>,
}

/// A session that touched the file.
#[derive(Serialize)]
struct TouchingSession {
    #[serde(flatten)]
    session: PastSession,
    #[serde(flatten)]
    touches: Touches,
}

/// Number of accesses, and the time of the last one.
#[derive(Default, Serialize)]
struct Touches {
    edits: usize,
    reads: usize,
    touched: Timestamp,
}

/// Runs the command.
pub fn run(args: &BlameArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let path = crate::typed::project_path(&stores, &args.path)?;
    let path = path.trim_end_matches('/').to_owned();
    let listing = stores.list()?;
    view::warn_broken(&listing.broken);
    let mut memories: Vec<Stored> = listing.memories;
    memories.retain(|stored| is_about(&stored.memory, &path));
    memories.sort_by_key(|stored| (Reverse(view::date(&stored.memory)), stored.memory.id));
    let sessions = PastSessions::open(&stores);
    let touched = sessions.iter().filter_map(|(session, record)| {
        let touches = touches(record, &path)?;
        Some(TouchingSession { session: session.clone(), touches })
    });
    let mut touched: Vec<TouchingSession> = touched.collect();
    touched.sort_by_key(|one| Reverse(one.touches.touched));
    touched.truncate(args.limit);
    let is_empty = memories.is_empty() && touched.is_empty();
    let path = if path.is_empty() { ".".to_owned() } else { path };
    if args.json {
        let (held, is_pulled) = (stores.held_files()?, stores.labels()?);
        let views = memories.iter().map(|stored| {
            let is_held = held.contains(&stored.path);
            MemoryView::from(stored).held(is_held).labelled(is_pulled(stored))
        });
        let memories = views.collect();
        view::json(&FileHistory { path, memories, sessions: touched }, out)?;
    } else {
        show(&path, &memories, &touched, world, out)?;
    }
    Failure::of_empty(is_empty)
}

/// Returns whether an active or pending memory names the file, a folder above the file, or a path below it. The root
/// has an empty path: a memory with any path in the project is about the root.
fn is_about(memory: &Memory, path: &str) -> bool {
    let counts = matches!(memory.status, Status::Active | Status::Held);
    counts
        && memory.superseded_by.is_none()
        && memory.paths.iter().any(|named| match path {
            "" => is_inside(&named.path),
            path => names(&named.path, path),
        })
}

/// Returns whether a path or glob in a memory names the file, a folder above it, or a path below it.
pub fn names(named: &str, path: &str) -> bool {
    let plain = named.split(['*', '?', '[']).next().unwrap_or_default();
    if plain.len() < named.len() {
        // A glob is compared only up to the first wildcard, since the rest is usually just an extension.
        return !plain.is_empty() && path.starts_with(plain);
    }
    is_within(path, named) || is_within(named, path)
}

fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    if folder.is_empty() {
        return false;
    }
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a path from a memory or a session is below the root of the project.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(['/', '~']) && !path.starts_with("..")
}

/// Counts how often a session accessed the path; `None` if it did not.
fn touches(record: &SessionRecord, path: &str) -> Option<Touches> {
    let is_it = |file: &&TouchedFile| match path {
        "" => is_inside(&file.path),
        path => is_within(&file.path, path),
    };
    let mut touches = Touches::default();
    for file in record.files.iter().filter(is_it) {
        touches.edits += file.edits;
        touches.reads += file.reads;
        touches.touched = touches.touched.max(file.last);
    }
    (touches.edits + touches.reads > 0).then_some(touches)
}

fn show(
    path: &str,
    memories: &[Stored],
    touched: &[TouchingSession],
    world: &World,
    out: &mut dyn Write,
) -> Result {
    if memories.is_empty() && touched.is_empty() {
        view::remark(format_args!(
            "Nothing is known about {}, and no session touched it.",
            plain(path)
        ));
        return Ok(());
    }
    if !memories.is_empty() {
        writeln!(out, "{}", paint(STRONG, format_args!("Memories about {}", plain(path))))?;
        memories.iter().try_for_each(|stored| view::line(&stored.memory, out))?;
    }
    if touched.is_empty() {
        return Ok(());
    }
    if !memories.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", paint(STRONG, format_args!("Sessions that touched {}", plain(path))))?;
    for TouchingSession { session, touches } in touched {
        let counts = [(touches.edits, "edit"), (touches.reads, "read")];
        let counts = view::counted(counts.map(|(count, what)| (count, plural(count, what))));
        let at = format!("{:<15}", clock::ago(touches.touched, world.now));
        let short = plain(short_session(&session.session));
        let before = short.len() + at.len() + counts.len() + 6;
        let wish = wrap::cut(&plain(&session.subject()), wrap::room().saturating_sub(before));
        writeln!(out, "{}  {}  {counts}  {wish}", paint(NAME, short), paint(QUIET, at))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_about_a_file_it_names_is_above_or_has_in_a_glob() {
        for (named, path, expected) in [
            ("src/price.rs", "src/price.rs", true),
            ("src", "src/price.rs", true),
            ("src/", "src/price.rs", true),
            ("src/price.rs", "src", true),
            ("src/**/*.rs", "src/price.rs", true),
            ("src/price.rs", "src/price.rst", false),
            ("src/pri", "src/price.rs", false),
            ("/", "src/price.rs", false),
            ("src/price.rs", "", false),
            ("docs/**", "src/price.rs", false),
            ("*.rs", "src/price.rs", false),
        ] {
            assert_eq!(names(named, path), expected, "{named} {path}");
        }
    }
}
