//! Detects whether memories stay unchanged. If a session continues and its drafts do not change, only its turns are
//! added to the index, and no data is read whose size grows with the project.

use super::context::SyncContext;
use crate::file_listing_stamp;
use crate::state::{MinedSummary, State};

/// Returns a hash of the inputs of memories, except for those in `fingerprint`'s `around`.
pub(super) fn inputs(context: &SyncContext<'_>, state: &State) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    };
    // The date is an input, because the start block depends on the age of memories.
    add(&context.options.now.date());
    add(&file_listing_stamp::of_folder(context.sessions.expired.folder()));
    for root in context.territory.roots() {
        add(&root.to_string_lossy());
    }
    for (name, summary) in summaries(state) {
        let MinedSummary { session, cwd, digest, .. } = summary;
        [name, session, cwd, digest].into_iter().for_each(&mut add);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns the number of turns in the archived sessions.
pub(super) fn archived_turns(state: &State) -> usize {
    summaries(state).map(|(_, summary)| summary.turns).sum()
}

fn summaries(state: &State) -> impl Iterator<Item = (&str, &MinedSummary)> {
    let sessions = state.sessions.iter();
    sessions.filter_map(|(name, session)| Some((name.as_str(), session.mined.as_ref()?)))
}
