//! The part of a sync that moves inactive sessions into packs, and unpacks packs that are damaged or whose sessions are
//! also stored elsewhere.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::background::has_unprocessed;
use memory_store::time::DAY_MS;

use super::context::SyncContext;
use crate::collect::archive::ArchiveEntry;
use crate::state::{SessionState, State};
use crate::upkeep::retention::Limits;

/// Time without a record after which a session counts as inactive. Hardly any session continues after this time.
const REST: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// Maximum size in bytes of a file that is packed. Larger files are rare, and each would nearly fill a pack.
const SESSION_BYTES_MAX: u64 = 2 << 20;

/// Number of days after a failure before packing is tried again.
const AGAIN_DAYS: i64 = 1;

/// Sessions that will expire soon are not packed, because a pack must be unpacked to remove one of its sessions:
/// sessions within this number of days before their expiry, and within this fraction of the archive's maximum size.
const SOON_DAYS: i64 = 14;
const SOON_SHARE: u64 = 8;

/// Unpacks packs that are damaged, or whose sessions are also stored elsewhere. Returns warnings.
pub(super) fn take_stale_apart(context: &SyncContext<'_>, state: &mut State) -> Vec<String> {
    let archive = &context.sessions.archive;
    let believed = |file: &ArchiveEntry| {
        !context.options.afresh && state.packs.get(&file.name) == Some(&stamp(file))
    };
    let (aside, faults) = archive.take_stale_apart(believed);
    let is_sound = |file: &ArchiveEntry| faults.iter().all(|(path, _)| *path != file.path);
    let sound = archive.packs().into_iter().map(|pack| pack.file).filter(is_sound);
    state.packs = sound.map(|file| (file.name.clone(), stamp(&file))).collect();
    let aside = aside.into_iter().map(|path| {
        let path = path.display();
        format!("{path}: this pack of sessions is damaged and was put aside; what can be read of it was written again")
    });
    aside.chain(faults.iter().map(|(_, fault)| format!("{fault:#}"))).collect()
}

/// Returns the length and the time of a pack. If both are equal, the pack is unchanged.
fn stamp(file: &ArchiveEntry) -> (u64, i128) {
    (file.len, file.modified_ns)
}

/// Packs the sessions that have been inactive for the longest time into at most one pack, if there are enough of them.
/// Returns whether it tried.
pub(super) fn pack_resting(
    context: &SyncContext<'_>,
    state: &mut State,
    limits: Limits,
) -> Result<bool> {
    // If a session has just started, the next sync packs.
    if context.trees.iter().any(|tree| has_unprocessed(&context.dirs().tree(&tree.root))) {
        return Ok(false);
    }
    let archive = &context.sessions.archive;
    // If a pack is damaged or cannot be unpacked, no new pack is made, because it would be unpacked and made again in
    // each sync.
    let has_fault = |file: &ArchiveEntry| state.packs.get(&file.name) != Some(&stamp(file));
    let now = context.options.now;
    let waits = state.packing_failed.is_some_and(|failed| {
        failed <= now && now.0.saturating_sub(failed.0) < AGAIN_DAYS * DAY_MS
    });
    if waits || archive.packs().iter().any(|pack| has_fault(&pack.file)) {
        return Ok(false);
    }
    let names = resting(context, state, &archive.entries()?, limits);
    let len = |name: &String| state.sessions.get(name).map_or(0, |session| session.len);
    if names.iter().map(len).sum::<u64>() < context.options.pack_from {
        return Ok(false);
    }
    context.options.progress.stage("packing", 0);
    state.packing_failed = Some(now);
    let packed = archive.pack(&names)?;
    state.packing_failed = packed.has_failed.then_some(now);
    for name in packed.refused {
        state.sessions.entry(name).and_modify(|session| session.is_unpackable = true);
    }
    // Every byte of the new pack has just been verified.
    state.packs.extend(packed.file.iter().map(|file| (file.name.clone(), stamp(file))));
    Ok(true)
}

/// Returns the inactive sessions that can be packed, the oldest first.
fn resting(
    context: &SyncContext<'_>,
    state: &State,
    entries: &[ArchiveEntry],
    limits: Limits,
) -> Vec<String> {
    let archive = &context.sessions.archive;
    // The time is compared with that of the newest record, because with a wrong clock all sessions might count as
    // inactive.
    let newest = state.sessions.values().map(|session| session.last).max().unwrap_or_default();
    let rest_ms = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
    let before = newest.min(context.options.now).0.saturating_sub(rest_ms);
    let soon = Limits {
        oldest: Timestamp(limits.oldest.0.saturating_add(SOON_DAYS * DAY_MS)),
        kept_until: limits.kept_until,
        bytes_max: limits.bytes_max - limits.bytes_max / SOON_SHARE,
    };
    let soon: HashSet<String> = soon.expired(entries, &state.sessions).into_iter().collect();
    let rests = |session: &&SessionState| {
        session.last.0 > 0
            && session.last.0 < before
            && session.len <= SESSION_BYTES_MAX
            && session.mined.is_some()
            && !session.is_unpackable
    };
    let mut resting: Vec<_> = entries
        .iter()
        .filter(|entry| entry.path == archive.path(&entry.name) && !soon.contains(&entry.name))
        .filter_map(|entry| {
            Some((state.sessions.get(&entry.name).filter(rests)?.last, entry.name.clone()))
        })
        .collect();
    resting.sort();
    resting.into_iter().map(|(_, name)| name).collect()
}
