//! Answers events in a working tree whose fingerprint differs from the trusted one, without reading its files. The
//! processor checks whether it is still the same project, for example cloned again. If not, the person is informed
//! once.

use memory_store_base::fs::tree_fingerprint::{TreeFingerprint, UntrustedTree};

use crate::event::EventKind;
use crate::hook::Hook;
use crate::output::HookOutput;
use crate::turn_end;

/// Returns the output for an event in a working tree that is not the trusted folder.
pub fn answer(hook: &Hook) -> HookOutput {
    let may_speak =
        matches!(hook.event.what, EventKind::SessionStart(_) | EventKind::UserPromptSubmit(_));
    if !may_speak || hook.event.agent.is_some() || !hook.may_write() {
        return HookOutput::default();
    }
    let root = &hook.tree.main_root;
    let Some(now) = TreeFingerprint::of(root) else { return HookOutput::default() };
    let state = hook.dirs.tree(root);
    let is_this = |found: &UntrustedTree| found.fingerprint == now;
    if let Some(found) = UntrustedTree::read(&state.untrusted_tree).filter(is_this) {
        // Of hooks that run concurrently, only one succeeds in renaming the file.
        let told = std::fs::rename(&state.untrusted_tree, &state.untrusted_tree_told);
        let message = hook.attempt("announcement", told).map(|()| message(hook, &found.why));
        return HookOutput { message, ..HookOutput::default() };
    }
    if UntrustedTree::read(&state.untrusted_tree_told).filter(is_this).is_none() {
        hook.attempt("processor", turn_end::start_processor(hook));
    }
    HookOutput::default()
}

fn message(hook: &Hook, why: &str) -> String {
    let root = hook.tree.main_root.display();
    format!(
        "Throughline: {root} is not the folder that you trusted: {why}. Its memories are not read. \
         Try `throughline status`."
    )
}
