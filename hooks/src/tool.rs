//! The tool hook: injects memories about a file that was read or changed, or about the error of a command.
//!
//! Hot path: it runs after every tool call. In most calls no memory mentions the file; then the hook opens the index
//! and the session file, and writes nothing. For a command that succeeded, it only writes a note and opens no index.

use memory_store_recall::passages::Already;
use memory_store_recall::{Hit, Recall, Recalled};

use crate::event::{EventKind, ToolCall};
use crate::hook::Hook;
use crate::inbox;
use crate::inject::{self, AskedPrompt, UnclaimedHits};
use crate::notice;
use crate::output::HookOutput;
use crate::session::HookSession;
use crate::spelling::relative;
use crate::turn_end;

/// Name of the tool that runs commands.
pub(crate) const SHELL: &str = "Bash";

/// Maximum number of tokens that settings can permit. It is far below Claude Code's limit for one text.
pub(crate) const BUDGET_TOKENS_MAX: u32 = 1600;

/// Returns the output for a tool call.
pub fn answer(hook: &Hook) -> HookOutput {
    match &hook.event.what {
        EventKind::PostToolUse(call) if call.tool == SHELL => {
            leave_note(hook);
            HookOutput::default()
        }
        EventKind::PostToolUse(call) => of_file(hook, call),
        EventKind::PostToolUseFailure(call) if call.tool == SHELL && !call.interrupted => {
            leave_note(hook);
            of_error(hook, call)
        }
        EventKind::PostToolUseFailure(_)
        | EventKind::SessionStart(_)
        | EventKind::UserPromptSubmit(_)
        | EventKind::PreToolUse(_)
        | EventKind::Stop
        | EventKind::SubagentStop
        | EventKind::PreCompact
        | EventKind::SessionEnd => HookOutput::default(),
    }
}

/// Writes a note about a command, because the processor records whether commands succeed.
fn leave_note(hook: &Hook) {
    if hook.may_write() {
        hook.attempt("note", inbox::leave_note(&hook.state, &hook.event, hook.now));
    }
}

/// Returns the memories about the file that a tool read or changed.
fn of_file(hook: &Hook, call: &ToolCall) -> HookOutput {
    let found = |file| relative(file, &hook.event.cwd, &hook.tree, &hook.dirs);
    let Some(path) = call.file.as_deref().and_then(found) else {
        return HookOutput::default();
    };
    let path: &str = &path;
    let memories = |recall: &Recall, session: &HookSession| {
        recall.file(path, Some(&|| session.topic()), hook.now, &|id| session.has(id))
    };
    let passage =
        |recall: &Recall, already: &Already<'_>| recall.passage_of_file(path, hook.now, already);
    recall(hook, path, "file", UnclaimedHits::Withhold, memories, passage)
}

/// Returns the known fix for the error of a command.
fn of_error(hook: &Hook, call: &ToolCall) -> HookOutput {
    let (Some(command), Some(error)) = (call.command.as_deref(), call.error.as_deref()) else {
        return HookOutput::default();
    };
    let memories = |recall: &Recall, session: &HookSession| {
        recall.error(command, error, hook.now, &|id| session.has(id))
    };
    let passage = |recall: &Recall, already: &Already<'_>| {
        recall.passage_of_error(command, error, hook.now, already)
    };
    recall(hook, error, "error", UnclaimedHits::Give, memories, passage)
}

/// Returns the output with memories, or with a passage if no memory matches.
fn recall(
    hook: &Hook,
    query: &str,
    with: &str,
    unclaimed: UnclaimedHits,
    memories: impl Fn(&Recall, &HookSession) -> Recalled,
    passage: impl Fn(&Recall, &Already<'_>) -> Option<Hit>,
) -> HookOutput {
    let Some(mut session) = hook.session() else { return HookOutput::default() };
    let recall = hook.recall();
    let settings = recall.settings();
    let recalled = memories(&recall, &session);
    let is_answered = !recalled.hits.is_empty() || recalled.given_before;
    let mut budget_tokens = settings.tool_tokens.min(BUDGET_TOKENS_MAX);
    notice::expect_injection(hook, &mut session, settings.notice);
    let mut hits = inject::hits(hook, recalled);
    let mut with = with;
    if !is_answered && !hook.deadline.has_passed() {
        hits.extend(inject::with_already(hook, &session, &[], |already| passage(&recall, already)));
        with = "passages";
        budget_tokens = budget_tokens.min(inject::PASSAGE_TOKENS);
    }
    let how = AskedPrompt { with, budget_tokens, below: "", unclaimed };
    turn_end::heal_index(hook);
    let injection = inject::memories(hook, &mut session, hits, &how);
    injection.into_output(hook, &mut session, Some(query), settings)
}
