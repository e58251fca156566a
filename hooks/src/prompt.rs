//! The prompt hook: injects the memories that answer a prompt, if any.
//!
//! Hot path: it runs before every answer. A prompt that Claude Code generated is ignored.

use std::cell::Cell;

use memory_store_base::prompt::{is_machine_made, user_text};
use memory_store_recall::passages::MEMORIES_ENOUGH;

use crate::event::{EventKind, PromptEvent};
use crate::hook::Hook;
use crate::inbox;
use crate::inject::{self, AskedPrompt, UnclaimedHits};
use crate::notice;
use crate::output::HookOutput;
use crate::{start, turn_end};

/// Sources of prompts that people wrote, in a terminal or an editor.
const PEOPLE: [&str; 2] = ["user", "sdk"];

/// Maximum number of tokens that settings can permit. Memories of this size and the start block together stay below
/// Claude Code's limit.
const BUDGET_TOKENS_MAX: u32 = 800;

/// Returns the output for a prompt.
pub fn answer(hook: &Hook) -> HookOutput {
    let EventKind::UserPromptSubmit(prompt) = &hook.event.what else {
        return HookOutput::default();
    };
    if hook.event.agent.is_some() || !is_from_a_person(prompt) {
        return HookOutput::default();
    }
    if hook.may_write() {
        hook.attempt("note", inbox::leave_note(&hook.state, &hook.event, hook.now));
    }
    let Some(mut session) = hook.session() else { return HookOutput::default() };
    let recall = hook.recall();
    let settings = recall.settings();
    let asked = user_text(&prompt.text);
    // The search precedes all claims, so that the hard limit still applies to it.
    let (mut hits, mut quoted) = (Vec::new(), Vec::new());
    if !hook.deadline.has_passed() {
        let mut topic = session.topic();
        // Number of memories that answer the prompt but were injected earlier in this session.
        let repeated = Cell::new(0);
        let skip = |id| {
            let was_given = session.has(id);
            repeated.set(repeated.get() + usize::from(was_given));
            was_given
        };
        hits = inject::hits(hook, recall.prompt(&asked, Some(&mut topic), hook.now, &skip));
        session.keep_topic(&topic);
        if hits.len() + repeated.get() < MEMORIES_ENOUGH && !hook.deadline.has_passed() {
            quoted = inject::with_already(hook, &session, &hits, |already| {
                recall.passages(&asked, hook.now, already)
            });
        }
    }
    // This precedes the other steps, because a damaged index may leave no time after them.
    turn_end::heal_index(hook);
    notice::expect_injection(hook, &mut session, settings.notice);
    let begun = start::with_prompt(hook, &recall, &mut session);
    hits.retain(|hit| !session.has(hit.id));
    let how = AskedPrompt {
        with: "prompt",
        budget_tokens: settings.prompt_tokens.min(BUDGET_TOKENS_MAX),
        below: &begun.text,
        unclaimed: UnclaimedHits::Give,
    };
    let helpful = inject::memories(hook, &mut session, hits, &how);
    let helpful = begun.then(helpful);
    quoted.retain(|hit| !session.has(hit.id));
    let how = AskedPrompt {
        with: "passages",
        budget_tokens: inject::PASSAGE_TOKENS.min(settings.prompt_tokens),
        below: &helpful.text,
        unclaimed: UnclaimedHits::Give,
    };
    let quoted = inject::memories(hook, &mut session, quoted, &how);
    let output = helpful.then(quoted).into_output(hook, &mut session, Some(&asked), settings);
    if hook.may_write() {
        hook.attempt("topic", session.flush());
    }
    output
}

fn is_from_a_person(prompt: &PromptEvent) -> bool {
    let machine_source = prompt.source.as_deref().is_some_and(|source| !PEOPLE.contains(&source));
    !machine_source && !is_machine_made(&prompt.text)
}
