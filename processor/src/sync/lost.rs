//! Part of collecting that keeps the drafts of lost sessions: their archive file is damaged or missing, and Claude Code
//! has deleted the transcript. Their memories are kept, because no person asked to remove them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use anyhow::Result;
use memory_store::reconcile::SourceState;
use memory_store::{Memory, Timestamp};
use rayon::prelude::*;

use super::context::SyncContext;
use crate::collect::archive::{
    ArchiveEntry, SessionHeader, Watermark, file_name, is_damaged, name_of,
};
use crate::collect::expired::Remains;
use crate::mining::{self, MinedFile};
use crate::state::{SessionState, State};
use crate::transcript::SOURCE;
use crate::transcript::parts;

/// Moves damaged archive files aside before transcripts are read. The readable content of these files is archived
/// again. Files that are unchanged since they were last read count as intact, except in a rebuild. Returns warnings.
pub(super) fn put_damaged_aside(
    context: &SyncContext<'_>,
    state: &mut State,
) -> Result<Vec<String>> {
    let archive = &context.sessions.archive;
    let mut warnings = Vec::new();
    let is_known = |entry: &ArchiveEntry| {
        let known = state.sessions.get(&entry.name);
        known.is_some_and(|known| known.len == entry.len && known.modified_ns == entry.modified_ns)
    };
    let mut entries = archive.entries()?;
    let there: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let all_are_known = archive.unreadable_packs().is_empty();
    let gone = state.sessions.iter().filter(|(name, session)| {
        all_are_known
            && parts::of_name(name).1 > 0
            && !there.contains(name.as_str())
            && !was_removed(context, name, session)
    });
    let mut missing: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
    // Packs were checked before.
    entries.retain(|entry| {
        entry.path == archive.path(&entry.name) && (context.options.afresh || !is_known(entry))
    });
    let check =
        |entry: &ArchiveEntry| Some((entry.name.clone(), archive.check(&entry.name).err()?));
    let faults: Vec<_> = entries.par_iter().filter_map(check).collect();
    for (name, error) in faults.into_iter().filter(|(_, error)| is_damaged(error)) {
        match archive.put_aside(&name) {
            Ok(aside) => {
                warnings.push(format!("{error:#}; it was put aside as {}", aside.display()));
            }
            Err(failed) => {
                warnings.push(format!("{error:#}; it could not be put aside: {failed:#}"));
                continue;
            }
        }
        if parts::of_name(&name).1 > 0 {
            missing.push(name);
        }
    }
    for name in missing {
        if let Err(error) = read_again(context, state, &name) {
            warnings.push(format!("{error:#}"));
        }
    }
    Ok(warnings)
}

/// If a part of a session is missing, makes the next step read the session's transcripts from their beginning, if they
/// still exist. Records that no other part contains are then archived again, in the open part.
fn read_again(context: &SyncContext<'_>, state: &mut State, missing: &str) -> Result<()> {
    let archive = &context.sessions.archive;
    let (session, _) = parts::of_name(missing);
    // If the open part itself is missing or damaged, everything is read again in any case.
    let Ok(Some(mut file)) = archive.load(session) else { return Ok(()) };
    let is_there = |source: &Watermark| {
        fs::metadata(&source.path).is_ok_and(|found| found.len() >= source.offset)
    };
    let sources = std::mem::take(&mut file.header.sources);
    // If there are no sources, an earlier run was killed at this point.
    if file.header.from_folder || !sources.is_empty() && !sources.iter().any(is_there) {
        return Ok(());
    }
    archive.store(&file)?;
    let is_of_it = |path: &Path| {
        sources.iter().any(|source| source.path == path)
            || SOURCE.name(path).is_some_and(|name| name_of(&name) == session)
    };
    state.seen.retain(|path, _| !is_of_it(path));
    state.sessions.remove(missing);
    mining::remove(&context.home, missing);
    Ok(())
}

/// Returns the sessions that are no longer archived although no person removed them, with their state. It must be
/// called before their state is dropped.
pub(super) fn lost_sessions(
    context: &SyncContext<'_>,
    state: &State,
    archived: &HashSet<&str>,
) -> BTreeMap<String, SessionState> {
    let sessions = state.sessions.iter();
    let gone = sessions.filter(|(name, _)| !archived.contains(name.as_str()));
    let mut known: BTreeMap<String, SessionState> =
        gone.map(|(name, session)| (name.clone(), session.clone())).collect();
    let aside = context.sessions.archive.aside().into_iter().map(|(name, _)| name);
    let mut others: BTreeSet<String> = aside.collect();
    if state.published.is_empty() {
        // The stored state may have been lost as well, so sessions with mined files are added.
        others.extend(mining::names(&context.home));
    }
    for name in others {
        if !archived.contains(name.as_str()) {
            known.entry(name).or_default();
        }
    }
    known.retain(|name, session| !was_removed(context, name, session));
    known
}

/// Returns the sessions that may be in a pack that cannot be read now. They are postponed, so that none of their
/// records is lost.
pub(super) fn held(context: &SyncContext<'_>, state: &State) -> Result<BTreeSet<String>> {
    let archive = &context.sessions.archive;
    if archive.unreadable_packs().is_empty() {
        return Ok(BTreeSet::new());
    }
    let archived = archive.names()?;
    let archived = archived.iter().map(String::as_str).collect();
    Ok(lost_sessions(context, state, &archived).into_keys().collect())
}

/// Returns whether a session's turns were removed on purpose, by a purge or because of their age.
fn was_removed(context: &SyncContext<'_>, name: &str, session: &SessionState) -> bool {
    let (purged, expired) = (&context.sessions.purged, &context.sessions.expired);
    let mined = mining::last_mined(&context.home, name);
    let id = mined.map(|mined| mined.session).unwrap_or_else(|| name.to_owned());
    let is_known = session.last != Timestamp::default();
    let is_purged = purged.has_session(&id)
        || purged.before.is_some_and(|before| is_known && session.last < before);
    is_purged || expired.load(name).is_some_and(|remains| remains.last >= session.last)
}

/// Stores the drafts of lost sessions in the same way as those of expired sessions. Returns warnings.
pub(super) fn keep_what_was_learned(
    context: &SyncContext<'_>,
    lost: BTreeMap<String, SessionState>,
) -> Result<Vec<String>> {
    let expired = &context.sessions.expired;
    let mut warnings = Vec::new();
    for (name, session) in lost {
        let MinedFile { session: id, turns, cwd, drafts, record, .. } =
            mining::last_mined(&context.home, &name).unwrap_or_default();
        let mut remains = expired.load(&name).unwrap_or_default();
        let (of, part) = parts::of_name(&name);
        let (main, agent) = match of.split_once('.') {
            Some((main, agent)) => (main, Some(agent.to_owned())),
            None => (of, None),
        };
        let id = if id.is_empty() { main.to_owned() } else { id };
        let count = drafts.len();
        // Turns that were removed because of their age stay removed.
        let header = SessionHeader {
            session: id,
            agent,
            part,
            from_folder: session.from_folder,
            ..std::mem::take(&mut remains.header)
        };
        let last = session.last;
        remains.take_in(Remains { header, last, cwd, turns, drafts, record, lost: true });
        expired.store(&name, &remains)?;
        mining::remove(&context.home, &name);
        warnings.push(lost_warning(context, &name, &format!("the {count} findings in it stay")));
    }
    Ok(warnings)
}

/// Drops the stored drafts of lost sessions whose turns were archived again. If some turns are still missing, the
/// drafts are kept.
pub(super) fn take_back_what_was_found(context: &SyncContext<'_>, state: &State) -> Result<()> {
    let (archive, expired) = (&context.sessions.archive, &context.sessions.expired);
    let names = expired.names().into_iter();
    let names = names.filter(|name| state.sessions.contains_key(name) && expired.is_lost(name));
    for name in names.collect::<Vec<String>>() {
        let Ok(Some(file)) = archive.load(&name) else { continue };
        let Some(mut remains) = expired.load(&name) else { continue };
        let there: HashSet<&str> = file.records.iter().map(|record| record.uuid.as_str()).collect();
        let is_missing = |evidence: &String| !there.contains(evidence.as_str());
        remains.drafts.retain(|draft| draft.turns.first().is_none_or(is_missing));
        if remains.drafts.is_empty() {
            expired.remove(&name)?;
        } else {
            expired.store(&name, &Remains { lost: false, ..remains })?;
        }
    }
    Ok(())
}

/// Returns the state of the source of a memory that is no longer derived from any session. The source is lost if there
/// is no data about the memory's session and no purge removed it. Such sessions are added to `lost`.
pub(super) fn source_state(
    context: &SyncContext<'_>,
    state: &State,
    (memory, mined): (&Memory, &[MinedFile]),
    lost: &RefCell<BTreeSet<String>>,
) -> SourceState {
    let (purged, expired) = (&context.sessions.purged, &context.sessions.expired);
    let Some(session) = memory.source.session.as_deref() else { return SourceState::Read };
    let is_purged = purged.has_session(session)
        || memory.source.turns.iter().any(|record| purged.has_record(record))
        || purged.before.is_some_and(|before| memory.occurred.unwrap_or(memory.created) < before);
    if is_purged {
        return SourceState::Purged;
    }
    let name = file_name(session, None);
    let is_read = state.sessions.get(&name).is_some_and(|known| !known.content.is_empty());
    let is_mined = mined
        .iter()
        .any(|file| file.session == session && (file.failure.is_none() || !file.drafts.is_empty()));
    // There is no data about a session that was lost together with its mined data.
    let nothing_kept = expired.is_lost(&name)
        && expired.load(&name).is_none_or(|remains| remains.drafts.is_empty());
    if !nothing_kept && (is_read || is_mined) {
        return SourceState::Read;
    }
    if context.sessions.archive.unreadable_packs().is_empty() {
        lost.borrow_mut().insert(session.to_owned());
    }
    SourceState::Lost
}

/// Marks sessions of which only memories remain. Returns warnings.
pub(super) fn mark_lost(
    context: &SyncContext<'_>,
    sessions: BTreeSet<String>,
) -> Result<Vec<String>> {
    let expired = &context.sessions.expired;
    let mut warnings = Vec::new();
    for session in sessions {
        let name = file_name(&session, None);
        if expired.load(&name).is_none() {
            let header = SessionHeader { session, ..SessionHeader::default() };
            expired.store(&name, &Remains { header, lost: true, ..Remains::default() })?;
            warnings.push(lost_warning(context, &name, "memories of it stay"));
        }
    }
    Ok(warnings)
}

fn lost_warning(context: &SyncContext<'_>, name: &str, what_stays: &str) -> String {
    let path = context.sessions.archive.path(name);
    format!(
        "{}: this archived session is lost, and so is its transcript; {what_stays}",
        path.display()
    )
}
