//! The step of a sync that removes turns that are too old or exceed the maximum number.

use std::collections::BTreeSet;

use anyhow::Result;

use super::collect::CollectOutcome;
use super::context::SyncContext;
use crate::collect::expired::Remains;
use crate::mining::{self, MinedFile};
use crate::state::State;
use crate::upkeep::retention::{self, Limits};

/// Returns the names of archived sessions that are too old or exceed the maximum number.
pub(super) fn overdue(
    context: &SyncContext<'_>,
    state: &State,
    collection: &CollectOutcome,
) -> Vec<String> {
    limits(context, state, collection).expired(&collection.entries, &state.sessions)
}

/// Returns the limits of age and number for archived sessions.
pub(super) fn limits(
    context: &SyncContext<'_>,
    state: &State,
    collection: &CollectOutcome,
) -> Limits {
    let recorded = state.sessions.values().map(|session| session.last).max();
    let now = retention::believed(context.options.now, recorded.max(collection.newest));
    Limits {
        kept_until: context.turns_kept_until,
        ..Limits::of(&context.settings, context.dirs(), now)
    }
}

/// Outcome of removing overdue sessions.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    /// Names of the removed sessions' archive files.
    pub removed: BTreeSet<String>,
    /// Reasons why sessions could not be removed. The next run tries again.
    pub warnings: Vec<String>,
}

/// Removes the turns of `overdue` sessions. Their drafts are kept.
pub(super) fn expire(
    context: &SyncContext<'_>,
    state: &mut State,
    overdue: &[String],
    mined: &[MinedFile],
) -> Result<Expiry> {
    let (archive, expired) = (&context.sessions.archive, &context.sessions.expired);
    let ready = |name: &String| {
        let file = mined.iter().find(|file| file.name == *name)?;
        // A session that cannot be read or mined is kept, because its content was not learned.
        let (None, Ok(Some(header))) = (&file.failure, archive.header(name)) else { return None };
        Some((name.clone(), file, header))
    };
    let mut ready: Vec<_> = overdue.iter().filter_map(ready).collect();
    // Sessions in packs are last, because unpacking needs space on the disk and may fail.
    ready.sort_by_key(|(name, ..)| !archive.path(name).exists());
    let mut expiry = Expiry::default();
    for (name, file, header) in ready {
        let last = state.sessions.get(&name).map(|session| session.last);
        let kept = expired.load(&name);
        let mut remains = kept.clone().unwrap_or_default();
        let mut record = file.record.clone();
        record.forget_turns();
        remains.take_in(Remains {
            header,
            last: last.unwrap_or_default(),
            cwd: file.cwd.clone(),
            turns: file.turns,
            drafts: file.drafts.clone(),
            record,
            lost: false,
        });
        expired.store(&name, &remains)?;
        if expiry.removed.is_empty() {
            // The index still contains the removed turns. The state records this, in case the run is killed.
            state.all_turns = true;
            state.write(&context.home)?;
        }
        if let Err(error) = archive.remove(&name) {
            expiry.warnings.push(format!("{error:#}"));
            match kept {
                Some(kept) => expired.store(&name, &kept)?,
                None => drop(expired.remove(&name)?),
            }
            break;
        }
        mining::remove(&context.home, &name);
        state.sessions.remove(&name);
        expiry.removed.insert(name);
    }
    Ok(expiry)
}
