//! The backfill of `init`: reads existing sessions, newest first, and shows the titles of memories learned from them.
//! The embeddings are computed in the background.

use std::collections::BTreeSet;
use std::io::Write;

use memory_store::MemoryId;
use memory_store::background::{PROGRAM, sync_command};
use memory_store::layout::Tree;
use memory_store::memory::{Memory, Status};
use memory_store::mode::Mode;
use memory_store::recall::start_rank::{Standing, worth};
use processor::collect::discover::Transcript;
use processor::collect::unclaimed::UnclaimedSessions;
use processor::progress::Silent;
use processor::sync::{SyncOptions, SyncReport};
use serde::Serialize;

use super::no_sessions;
use crate::command::sync;
use crate::failure::Result;
use crate::stores::Stores;
use crate::view;
use crate::view::style::{QUIET, STRONG, paint};
use crate::world::World;

/// Maximum titles shown.
const TITLES_MAX: usize = 3;

/// Result of a backfill.
#[derive(Serialize)]
pub struct Backfill {
    /// Report of the sync that learned from the sessions.
    pub learned: SyncReport,
    /// Titles of the best memories.
    pub titles: Vec<Title>,
    /// Whether embedding, or a model that reads sessions, continues in the background.
    pub goes_on: bool,
}

/// A memory that was learned.
#[derive(Serialize)]
pub struct Title {
    short: String,
    title: String,
}

/// Reads the existing transcripts. They are the transcripts found for the project, and those of the named sessions that
/// may belong to another project.
pub fn run(
    world: &World,
    tree: &Tree,
    (found, unclaimed): (&[Transcript], &UnclaimedSessions),
    out: &mut dyn Write,
) -> Result<Option<Backfill>> {
    if found.is_empty() {
        writeln!(out, "  sessions    none of this project yet")?;
        // Sessions of another project are already reported.
        for reason in no_sessions::reasons(world, tree, &[&unclaimed.messages()])? {
            writeln!(out, "              {}", view::plain(&reason))?;
        }
        // The sync runs even without transcripts: memories in the repository need an index too.
        if world.mode == Mode::Full {
            let options = world.sync_options(tree, &Silent);
            let report = sync::sync(&SyncOptions { leaves_rest: true, ..options })?;
            go_on(world, tree, &report);
        }
        return Ok(None);
    }
    if world.mode != Mode::Full {
        writeln!(out, "Nothing is learned here: THROUGHLINE, CI or a cloud session.")?;
        return Ok(None);
    }
    out.flush()?;
    let progress = sync::shown();
    let options = world.sync_options(tree, &*progress);
    let learned = sync::sync(&SyncOptions { leaves_rest: true, ..options })?;
    let best = best(world, tree)?;
    let sessions = view::plural(learned.sessions, "session");
    let took = paint(QUIET, format_args!("({:.1} s)", learned.millis as f64 / 1e3));
    let nothing = if best.is_empty() { "; nothing was learned yet" } else { ", and learned:" };
    writeln!(out, "\n{} {took}{nothing}", paint(STRONG, format!("Read {sessions}")))?;
    best.iter().try_for_each(|memory| view::line(memory, out))?;
    if !best.is_empty() {
        writeln!(
            out,
            "`throughline list` shows all. Pending memories are given to sessions, but stay private until accepted in \
             `throughline review`."
        )?;
    }
    sync::show_rest(&learned, out)?;
    let goes_on = go_on(world, tree, &learned);
    if goes_on {
        writeln!(
            out,
            "Search works by words already; by meaning it gets better as texts are embedded in the background."
        )?;
    }
    let title = |memory: Memory| Title { short: memory.id.short(), title: memory.title };
    Ok(Some(Backfill { learned, titles: best.into_iter().map(title).collect(), goes_on }))
}

/// Returns the best memories from sessions, sorted by worth, pending ones last.
fn best(world: &World, tree: &Tree) -> Result<Vec<Memory>> {
    let stores = Stores::at(world, tree.clone())?;
    let held: BTreeSet<MemoryId> =
        stores.held()?.iter().map(|held| held.stored.memory.id).collect();
    let memories = stores.project.list()?.memories.into_iter().map(|stored| stored.memory);
    let is_learned = |memory: &Memory| {
        let is_current = matches!(memory.status, Status::Active | Status::Held);
        is_current
            && memory.superseded_by.is_none()
            && memory.source.is_learned()
            && !held.contains(&memory.id)
    };
    let mut memories: Vec<Memory> = memories.filter(is_learned).collect();
    let worth = |memory: &Memory| worth(&Standing::from(memory), &stores.settings, world.now);
    memories.sort_by(|one, other| {
        one.waits()
            .cmp(&other.waits())
            .then(worth(other).total_cmp(&worth(one)))
            .then(one.id.cmp(&other.id))
    });
    memories.truncate(TITLES_MAX);
    Ok(memories)
}

/// Starts a sync in the background if the first one is incomplete. If the start fails, the next session starts a sync.
fn go_on(world: &World, tree: &Tree, report: &SyncReport) -> bool {
    let is_left = report.embedding_waits || report.second_waits || report.goes_on();
    let start = || {
        let program = world.program(PROGRAM);
        sync_command(&program, tree.project, std::env::vars_os()).spawn()
    };
    is_left && start().is_ok()
}
