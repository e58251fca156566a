//! The backfill of `init`: the sessions that are there already, the newest first, up to a first glance. Embedding does
//! not stand before it: that goes on in the background.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use memory_store::background::{PROGRAM, is_passed_on};
use memory_store::layout::Tree;
use memory_store::mode::Mode;
use processor::collect::discover::Transcript;
use processor::collect::unclaimed::Unclaimed;
use processor::progress::Silent;
use processor::sync::SyncReport;
use serde::Serialize;

use super::glance::Glance;
use super::{no_sessions, sync, view};
use crate::failure::Result;
use crate::world::World;

/// Outcome of a backfill.
#[derive(Serialize)]
pub struct Backfill {
    /// Memories that were learned.
    pub learned: SyncReport,
    /// The first look at it.
    pub glance: Glance,
    /// Whether embedding, or a model that reads sessions, goes on in the background.
    pub goes_on: bool,
}

/// Reads the transcripts that are there already: those that were found, and the sessions that were named as perhaps
/// another project's.
pub fn run(
    world: &World,
    tree: &Tree,
    (found, unclaimed): (&[Transcript], &Unclaimed),
    out: &mut dyn Write,
) -> Result<Option<Backfill>> {
    let request =
        sync::Request { tree, from: None, afresh: false, applies: false, leaves_rest: true };
    if found.is_empty() {
        writeln!(out, "  sessions    none of this project yet")?;
        // Sessions of another project were named before.
        let told = unclaimed.told();
        let reasons = no_sessions::reasons(world, tree)?.into_iter();
        for reason in reasons.filter(|reason| !told.contains(reason)) {
            writeln!(out, "              {}", view::plain(&reason))?;
        }
        // Memories that came with the repository are recalled from an index, too.
        if world.mode == Mode::Full {
            let report = sync::sync(world, &request, &Silent)?;
            go_on(world, tree, &report);
        }
        return Ok(None);
    }
    if world.mode != Mode::Full {
        writeln!(out, "Nothing is learned here: THROUGHLINE, CI or a cloud session.")?;
        return Ok(None);
    }
    out.flush()?;
    let learned = sync::sync(world, &request, &*sync::shown())?;
    let glance = Glance::of(world, tree, learned.sessions)?;
    glance.show(learned.millis, out)?;
    sync::show_rest(&learned, out)?;
    let goes_on = go_on(world, tree, &learned);
    if goes_on {
        writeln!(
            out,
            "Search works by words already; by meaning it gets better as texts are embedded in the background."
        )?;
    }
    Ok(Some(Backfill { learned, glance, goes_on }))
}

/// Starts a sync in the background where the first one left something. Without one the next session's does it.
fn go_on(world: &World, tree: &Tree, report: &SyncReport) -> bool {
    let is_left = report.embedding_waits || report.second_waits || report.goes_on();
    is_left && start(world, tree).is_ok()
}

/// Starts the processor, as a hook does, and does not wait for it.
fn start(world: &World, tree: &Tree) -> std::io::Result<()> {
    let mut command = Command::new(world.program(PROGRAM));
    for (name, _) in std::env::vars_os().filter(|(name, _)| !is_passed_on(name)) {
        command.env_remove(name);
    }
    command
        .args(["sync", "--project", &tree.project.to_string(), "--background"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Keys typed at this terminal are not meant for it.
        .process_group(0)
        .spawn()
        .map(drop)
}
