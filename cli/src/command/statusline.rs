//! `throughline statusline`: prints one short line about the injections of a session, for the status line of Claude
//! Code.
//!
//! Claude Code runs the command repeatedly and shows its output. The command therefore reads only a few small files,
//! never waits for a lock or a program, and prints nothing if it fails.

use std::io::{IsTerminal as _, Read as _, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use memory_store::handoff::Handoff;
use memory_store::layout::Tree;
use memory_store::mode::Mode;
use serde::{Deserialize, Serialize};

use super::off;
use crate::failure::Result;
use crate::receipts;
use crate::view;
use crate::world::World;

/// Maximum bytes of the payload.
const PAYLOAD_BYTES_MAX: u64 = 1 << 20;
/// Time limit for reading the payload.
const PAYLOAD_WAIT: Duration = Duration::from_millis(200);

/// Print one line for Claude Code's status line
///
/// Reads Claude Code's JSON from stdin. To use it, add this to settings.json: "statusLine": { "type": "command",
/// "command": "throughline statusline" }
#[derive(Debug, Args)]
pub struct StatuslineArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The needed fields of Claude Code's input.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PayloadWire {
    session_id: String,
    cwd: Option<PathBuf>,
    workspace: WorkspaceWire,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkspaceWire {
    current_dir: Option<PathBuf>,
    project_dir: Option<PathBuf>,
}

/// Numbers of memories injected into this session.
#[derive(Default, Serialize)]
struct SessionMemories {
    /// Whether the folder is set up.
    set_up: bool,
    /// Whether Throughline is turned off.
    off: bool,
    session: String,
    /// Number of distinct memories.
    memories: usize,
    injections: usize,
    tokens: u64,
    /// Number of tasks and questions that were open at the end of the last session.
    open: usize,
}

/// Runs the command.
pub fn run(args: &StatuslineArgs, world: &World, out: &mut dyn Write) -> Result {
    let given = look(world);
    if args.json {
        return view::json(&given, out);
    }
    if let Some(text) = status_text(&given) {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn look(world: &World) -> SessionMemories {
    let payload = payload().unwrap_or_default();
    let WorkspaceWire { current_dir, project_dir } = payload.workspace;
    let folders = [project_dir, current_dir, payload.cwd, Some(world.cwd.clone())];
    let tree = folders.into_iter().flatten().find_map(|folder| Tree::find(&world.dirs, &folder));
    let off = off::until(world).is_some() || world.mode == Mode::Off;
    let mut given =
        SessionMemories { off, session: payload.session_id, ..SessionMemories::default() };
    let Some(tree) = tree else { return given };
    given.set_up = true;
    let left = Handoff::read(&world.dirs.tree(&tree.root).handoff);
    let branch = tree.branch().unwrap_or_default();
    let left = left.shown(&given.session, &branch, world.now);
    given.open = left.map_or(0, |left| left.not_done.len() + usize::from(left.question.is_some()));
    if given.session.is_empty() {
        return given;
    }
    let receipts = receipts::of_session(&world.dirs.tree(&tree.root), &given.session);
    let mut ids: Vec<_> =
        receipts.iter().flat_map(|receipt| &receipt.memories).map(|given| given.id).collect();
    ids.sort();
    ids.dedup();
    given.memories = ids.len();
    given.injections = receipts.len();
    given.tokens = receipts.iter().map(|receipt| receipt.tokens).sum();
    given
}

fn status_text(given: &SessionMemories) -> Option<String> {
    if !given.set_up {
        return None;
    }
    let what = match given {
        SessionMemories { off: true, .. } => "off".to_owned(),
        SessionMemories { injections: 0, .. } => "nothing given yet".to_owned(),
        SessionMemories { memories: 0, tokens, .. } => format!("handoff, {tokens} tokens"),
        SessionMemories { memories, tokens, .. } => {
            format!("{} given, {tokens} tokens", view::plural(*memories, "memory"))
        }
    };
    let open = match given {
        SessionMemories { off: true, .. } | SessionMemories { open: 0, .. } => String::new(),
        SessionMemories { open, .. } => format!(", {open} open"),
    };
    Some(format!("throughline: {what}{open}"))
}

/// Reads stdin with a time limit, since Claude Code may never close it.
fn payload() -> Option<PayloadWire> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = std::io::stdin().lock().take(PAYLOAD_BYTES_MAX).read_to_end(&mut text);
        // Sending fails if the receiver has timed out.
        let _ = sender.send(read.map(|_| text));
    });
    let text = receiver.recv_timeout(PAYLOAD_WAIT).ok()?.ok()?;
    serde_json::from_slice(&text).ok()
}
