//! Notes that hooks leave for the processor in the inbox.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memory_store_base::Timestamp;
use memory_store_base::exchange::note::Note;
use memory_store_base::fs::disk::append_within;
use memory_store_base::layout::TreeDir;
use memory_store_base::progress::Progress;

use crate::event::{Event, EventKind, ToolCall};

/// Maximum size of the inbox in bytes. Nothing is added to a full inbox: when the processor runs again, it also finds
/// transcripts that have no note.
const INBOX_BYTES_MAX: u64 = 8 << 20;

/// Number of bytes of the inbox that are read at once.
const PART_BYTES: u64 = 64 << 10;

/// Appends a note about an event. Returns the length of the inbox in bytes.
pub fn leave_note(tree: &TreeDir, event: &Event, now: Timestamp) -> io::Result<u64> {
    let mut line = serde_json::to_vec(&note(event, now)).map_err(io::Error::other)?;
    line.push(b'\n');
    append_within(&tree.inbox, &line, INBOX_BYTES_MAX)
}

/// Returns the session of the last note that does not belong to `session`; `None` if there is none.
pub fn last_session_but(tree: &TreeDir, session: &str) -> Option<String> {
    let (mut file, len) = open(tree)?;
    let mut notes = notes_from(&mut file, len.saturating_sub(PART_BYTES), len);
    notes.retain(|note| note.session != session && note.agent.is_none());
    notes.pop().map(|note| note.session)
}

/// Returns the times of the oldest and the newest note that the processor has not read; `None` if there are none.
pub fn unprocessed(tree: &TreeDir, progress: &Progress) -> Option<(Timestamp, Timestamp)> {
    let (mut file, len) = open(tree)?;
    // If the inbox is shorter than the part that the processor read, it is a new inbox.
    let taken = if progress.inbox_bytes > len { 0 } else { progress.inbox_bytes };
    let oldest = notes_from(&mut file, taken, len).first()?.at;
    let newest = notes_from(&mut file, len.saturating_sub(PART_BYTES).max(taken), len).last()?.at;
    Some((oldest, newest))
}

fn open(tree: &TreeDir) -> Option<(File, u64)> {
    let file = File::open(&tree.inbox).ok()?;
    let len = file.metadata().ok()?.len();
    Some((file, len))
}

/// Returns the complete notes in one part of the inbox, which starts at `place`. `len` is the inbox's length in bytes.
fn notes_from(file: &mut File, place: u64, len: u64) -> Vec<Note> {
    // The capacity is one byte more than needed, so that one read also detects the end of the file.
    let mut part = Vec::with_capacity(len.saturating_sub(place).min(PART_BYTES) as usize + 1);
    if file.seek(SeekFrom::Start(place)).is_ok() {
        // If the part cannot be read completely, the bytes read so far are used.
        drop(file.take(PART_BYTES).read_to_end(&mut part));
    }
    let lines = part.split(|&byte| byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn note(event: &Event, now: Timestamp) -> Note {
    let call = tool_call(&event.what);
    Note {
        at: now,
        event: event.what.name().to_owned(),
        session: event.session.clone(),
        agent: event.agent.clone(),
        transcript: event.transcript.clone(),
        tool_use: call.and_then(|call| call.id.clone()),
    }
}

const fn tool_call(what: &EventKind) -> Option<&ToolCall> {
    match what {
        EventKind::PostToolUse(call) | EventKind::PostToolUseFailure(call) => Some(call),
        EventKind::SessionStart(_)
        | EventKind::UserPromptSubmit(_)
        | EventKind::PreToolUse(_)
        | EventKind::Stop
        | EventKind::SubagentStop
        | EventKind::PreCompact
        | EventKind::SessionEnd => None,
    }
}
