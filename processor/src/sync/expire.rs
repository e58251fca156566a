//! The step of a sync that removes turns which are too old or too many.

use anyhow::Result;

use super::collect::Collection;
use super::context::SyncContext;
use crate::collect::expired::Remains;
use crate::mining::{self, MinedFile};
use crate::state::State;
use crate::upkeep::retention::{self, Limits};

/// Returns the archived sessions that are too old or too many.
pub(super) fn overdue(
    context: &SyncContext<'_>,
    state: &State,
    collection: &Collection,
) -> Vec<String> {
    limits(context, state, collection).expired(&collection.entries, &state.sessions)
}

/// Returns the limits in effect.
pub(super) fn limits(context: &SyncContext<'_>, state: &State, collection: &Collection) -> Limits {
    let recorded = state.sessions.values().map(|session| session.last).max();
    let now = retention::believed(context.options.now, recorded.max(collection.newest));
    Limits::of(&context.settings, context.dirs(), now)
}

/// Removes the turns of `overdue` sessions; what was learned from them stays. Returns whether any went.
pub(super) fn expire(
    context: &SyncContext<'_>,
    state: &mut State,
    overdue: &[String],
    mined: &[MinedFile],
) -> Result<bool> {
    let (archive, expired) = (&context.sessions.archive, &context.sessions.expired);
    let mut gone = false;
    for name in overdue {
        let Some(file) = mined.iter().find(|file| file.name == *name) else { continue };
        // One that cannot be read, or learned from, waits: it would leave less than it holds.
        let (None, Ok(Some(header))) = (&file.failure, archive.header(name)) else {
            continue;
        };
        let last = state.sessions.get(name).map(|session| session.last);
        let mut remains = expired.load(name).unwrap_or_default();
        remains.take_in(Remains {
            header,
            last: last.unwrap_or_default(),
            cwd: file.cwd.clone(),
            turns: file.turns,
            drafts: file.drafts.clone(),
            lost: false,
        });
        expired.store(name, &remains)?;
        if !gone {
            // The index holds the turns that go, and whoever is killed from here on leaves it so.
            state.all_turns = true;
            state.write(&context.home)?;
        }
        archive.remove(name)?;
        mining::remove(&context.home, name);
        state.sessions.remove(name);
        gone = true;
    }
    Ok(gone)
}
