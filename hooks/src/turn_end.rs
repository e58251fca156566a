//! The stop hook: writes a note and starts the processor when a run is due. It prints nothing.
//!
//! Hot path: as long as no run is due, it opens only the inbox and the progress file.

use std::io;

use memory_store_base::Timestamp;
use memory_store_base::background::{inbox_bytes, is_running};
use memory_store_base::progress::Progress;
use memory_store_base::time::MINUTE_MS;

use crate::event::EventKind;
use crate::hook::Hook;
use crate::output::HookOutput;
use crate::{inbox, spawn_processor};

/// Writes a note about a stop, a compaction or the end of a session. Returns an empty output.
pub fn take_note(hook: &Hook) -> HookOutput {
    let ends = match hook.event.what {
        EventKind::SessionEnd => true,
        EventKind::Stop | EventKind::SubagentStop | EventKind::PreCompact => false,
        EventKind::SessionStart(_)
        | EventKind::UserPromptSubmit(_)
        | EventKind::PreToolUse(_)
        | EventKind::PostToolUse(_)
        | EventKind::PostToolUseFailure(_) => return HookOutput::default(),
    };
    if hook.may_write() {
        let noted_bytes = inbox::leave_note(&hook.state, &hook.event, hook.now);
        // If there is no space for a note, the inbox may still contain earlier notes for the processor.
        let noted_bytes =
            hook.attempt("note", noted_bytes).unwrap_or_else(|| inbox_bytes(&hook.state));
        let progress = Progress::read(&hook.state.progress);
        if progress.leaves(noted_bytes) && (ends || is_due(&progress, hook.now)) {
            hook.attempt("processor", start_processor(hook));
        }
    }
    HookOutput::default()
}

/// Starts the processor unless one is already running for this project.
pub fn start_processor(hook: &Hook) -> io::Result<()> {
    if is_running(&hook.dirs.project(hook.tree.project)) {
        return Ok(());
    }
    let moved_to = hook.is_moved.then_some(hook.tree.root.as_path());
    spawn_processor::start(hook.tree.project, moved_to)
}

/// Starts the processor if this hook found the index damaged, so that the index is repaired during the session. If the
/// last run was less than a minute ago, another run would fail to repair the index too and is not started.
pub fn heal_index(hook: &Hook) {
    if hook.degraded().is_none() || !hook.may_write() {
        return;
    }
    let last_run = Progress::read(&hook.state.progress).last_run;
    if !(0..MINUTE_MS).contains(&(hook.now.0 - last_run.0)) {
        hook.attempt("processor", start_processor(hook));
    }
}

/// Returns whether the interval since the processor's last run has passed.
fn is_due(progress: &Progress, now: Timestamp) -> bool {
    // If the last run is in the future, because the clock was set back, a run is due too.
    !(0..progress.due_ms()).contains(&(now.0 - progress.last_run.0))
}
