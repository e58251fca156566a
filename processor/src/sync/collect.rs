//! The step of a sync that reads transcripts. It updates the archive and the stored state of sessions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::redact::known::Known;

use super::context::SyncContext;
use super::handoffs::Handoffs;
use super::{lost, packs, secrets};
use crate::collect::archive::{ArchiveEntry, SessionFile};
use crate::collect::configurations;
use crate::collect::discover::{self, Discovery, Transcript};
use crate::collect::ignore::Ignore;
use crate::collect::unclaimed::ClaimJudge;
use crate::collect::{Collected, Collector, SessionRead, changed, state_of};
use crate::state::{SessionState, State, write_roots};
use crate::transcript::parts;
use crate::transcript::read::ReadCounts;
use crate::transcript::tasks::Tasks;

/// Number of nanoseconds in a millisecond.
const NS_OF_MS: i128 = 1_000_000;

/// Maximum number of sessions that are read before any session is archived, and maximum size of their transcripts in
/// bytes.
const NEWEST_MAX: usize = 4;
const NEWEST_BYTES_MAX: u64 = 16 << 20;

/// A session's name and transcripts.
type NamedTranscripts<'a> = (&'a String, &'a Vec<Transcript>);

/// Outcome of collecting.
#[derive(Debug, Default)]
pub(super) struct CollectOutcome {
    /// Names of the sessions that changed.
    pub changed: BTreeSet<String>,
    /// All files in the archive.
    pub entries: Vec<ArchiveEntry>,
    /// Time when the newest transcript of any project was written.
    pub newest: Option<Timestamp>,
    /// Counts for the report.
    pub counts: CollectionCounts,
    /// Sentences for the user about sessions that may be another project's.
    pub unclaimed: Vec<String>,
    /// Problems that did not stop the step.
    pub warnings: Vec<String>,
}

/// Counts of collected items for the report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CollectionCounts {
    pub transcripts: usize,
    pub sessions_read: usize,
    pub sessions: usize,
    pub lines: u64,
    pub lines_skipped: u64,
}

/// Archives new records of the transcripts. The handoffs of the newest sessions are written in between.
pub(super) fn collect(
    context: &SyncContext<'_>,
    state: &mut State,
    handoffs: &mut Handoffs,
) -> Result<CollectOutcome> {
    let mut collection = CollectOutcome::default();
    context.options.progress.stage("looking", 0);
    collection.warnings.extend(packs::take_stale_apart(context, state));
    collection.warnings.extend(lost::put_damaged_aside(context, state)?);
    configurations::remember(context.dirs())?;
    let judge = ClaimJudge::new(context.dirs(), &context.territory);
    let found = discover::ours(context.dirs(), &context.territory, &mut state.seen, &judge)?;
    // The roots now include other spellings, found in transcripts.
    write_roots(&context.home, &context.territory.roots())?;
    collection.unclaimed = found.unclaimed.messages();
    let newest_ms = found.newest_ns.and_then(|ns| i64::try_from(ns / NS_OF_MS).ok());
    collection.newest = newest_ms.map(Timestamp);
    collection.warnings.extend(found.warnings);
    let mut transcripts = found.transcripts;
    let named = match context.options.from {
        Some(folder) => in_folder(folder)?,
        None => Discovery::default(),
    };
    collection.warnings.extend(named.warnings);
    let named = named.transcripts;
    collection.counts.transcripts = transcripts.len() + named.len();
    transcripts.retain(|transcript| !named.iter().any(|named| named.path == transcript.path));
    for (transcripts, from_folder) in [(transcripts, false), (named, true)] {
        let batch = TranscriptBatch { transcripts, from_folder };
        collect_batch(context, state, handoffs, batch, &mut collection)?;
    }
    let hidden = secrets::hide_known(context, state)?;
    collection.changed.extend(hidden.changed);
    collection.warnings.extend(hidden.warnings);
    collection.entries = context.sessions.archive.entries()?;
    collection.warnings.extend(match_archive(context, state, &collection.entries)?);
    state.forget_left();
    let names = state.sessions.keys();
    collection.counts.sessions = names.filter(|name| parts::of_name(name).1 == 0).count();
    Ok(collection)
}

/// Transcripts from one source.
struct TranscriptBatch {
    transcripts: Vec<Transcript>,
    /// Whether they are in a folder that the user named.
    from_folder: bool,
}

fn collect_batch(
    context: &SyncContext<'_>,
    state: &mut State,
    handoffs: &mut Handoffs,
    TranscriptBatch { transcripts, from_folder }: TranscriptBatch,
    collection: &mut CollectOutcome,
) -> Result<()> {
    if transcripts.is_empty() {
        return Ok(());
    }
    let (archive, expired) = (&context.sessions.archive, &context.sessions.expired);
    let purged = &context.sessions.purged;
    let transcripts: Vec<Transcript> = transcripts
        .into_iter()
        .filter(|transcript| !purged.has_session(&transcript.name.session))
        .collect();
    let mut known: HashSet<String> = archive.names()?.into_iter().collect();
    // Lost sessions are not added, so that they are read again if their transcripts exist again.
    known.extend(expired.names().into_iter().filter(|name| !expired.is_lost(name)));
    known.extend(state.empty.iter().cloned());
    let held = lost::held(context, state)?;
    known.extend(held.iter().cloned());
    let mut sessions = changed(transcripts, &state.seen, &known);
    sessions.retain(|name, _| !held.contains(name));
    let last_parts = last_parts(&known);
    let ignore = Ignore::new(&context.settings.ignore_paths)?;
    if sessions.is_empty() {
        return Ok(());
    }
    if context.settings.ignores_unknown {
        // Known sessions stay unchanged. Other sessions are read after the setting is corrected.
        collection.warnings.push(format!(
            "{}: `ignore_paths` cannot be read, and what it names is not to be learned from: no session \
             is read until it is mended",
            context.dirs().config_file().display()
        ));
        return Ok(());
    }
    // Known secrets are hidden later, after a whole session has been read.
    let mut rules = context.redactor.clone();
    rules.options.known = Known::default();
    let collector = Collector {
        archive,
        expired,
        purged,
        redactor: &rules,
        secrets: &context.secrets,
        ignore: &ignore,
        from_folder,
        territory: &context.territory,
        parts: &last_parts,
        part_bytes: context.options.part_bytes,
        now: context.options.now,
    };
    let progress = context.options.progress;
    progress.stage("reading", sessions.len());
    // The start of a session waits briefly for the handoffs of the newest sessions. Therefore the newest sessions are
    // read first, and are archived after the handoffs are written.
    let (newest, others) = newest_first(&sessions);
    let read = collector.read(&newest);
    let left: Vec<_> =
        read.iter().flatten().filter_map(|read: &SessionRead| read.left(state)).collect();
    handoffs.write(context, state, &left)?;
    progress.stage("archiving", sessions.len());
    let mut results = collector.keep(read, progress);
    results.extend(collector.collect(&others, progress));
    for ((name, transcripts), result) in newest.into_iter().chain(others).zip(results) {
        match result {
            Ok(collected) => {
                note_seen(state, transcripts, from_folder);
                collection.counts.add(collected.counts);
                if take_in(state, name, collected) {
                    collection.changed.insert(name.clone());
                }
            }
            Err(error) => collection.warnings.push(format!("{error:#}")),
        }
    }
    Ok(())
}

impl CollectionCounts {
    fn add(&mut self, ReadCounts { lines, too_long, damaged, dropped }: ReadCounts) {
        self.lines += lines;
        self.lines_skipped += too_long + damaged + dropped;
        self.sessions_read += usize::from(lines > 0);
    }
}

/// Returns, for each session with parts, the highest number of a part.
fn last_parts(known: &HashSet<String>) -> BTreeMap<String, u32> {
    let mut last_parts: BTreeMap<String, u32> = BTreeMap::new();
    for (session, number) in known.iter().map(|name| parts::of_name(name)) {
        if number > 0 {
            let last = last_parts.entry(session.to_owned()).or_default();
            *last = number.max(*last);
        }
    }
    last_parts
}

/// Stores the state of transcripts at the time when they were read.
fn note_seen(state: &mut State, transcripts: &[Transcript], from_folder: bool) {
    for transcript in transcripts {
        let seen = state.seen.entry(transcript.path.clone()).or_default();
        seen.inode = transcript.inode;
        seen.len = transcript.len;
        seen.modified_ns = transcript.modified_ns;
        seen.ours = seen.ours || !from_folder;
        seen.from_folder = from_folder;
    }
}

/// Stores the result of collecting a session. Returns whether its records changed.
fn take_in(state: &mut State, name: &str, collected: Collected) -> bool {
    for (part, closed) in collected.closed {
        state.sessions.insert(part, closed);
    }
    let Some(mut session) = collected.state else {
        state.empty.insert(name.to_owned());
        return false;
    };
    state.empty.remove(name);
    let before = state.sessions.remove(name);
    let is_new = before.as_ref().map(|before| &before.content) != Some(&session.content);
    // The mined data may be outdated; their key determines this later.
    session.mined = before.and_then(|before| before.mined);
    state.sessions.insert(name.to_owned(), session);
    is_new
}

/// Compares the list of sessions with the archive. Sessions that are missing in the list are read from the archive, and
/// sessions that are no longer archived are removed from the list. Returns warnings.
pub(super) fn match_archive(
    context: &SyncContext<'_>,
    state: &mut State,
    entries: &[ArchiveEntry],
) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let held = lost::held(context, state)?;
    names.extend(held.iter().map(String::as_str));
    let lost = lost::lost_sessions(context, state, &names);
    state.sessions.retain(|name, _| names.contains(name.as_str()));
    for name in &held {
        state.sessions.entry(name.clone()).or_default();
    }
    for entry in entries {
        let fits =
            |known: &SessionState| known.len == entry.len && known.modified_ns == entry.modified_ns;
        if state.sessions.get(&entry.name).is_some_and(fits) {
            continue;
        }
        match look_again(context, state, entry) {
            Ok(()) => {}
            Err(error) => warnings.push(format!("{error:#}")),
        }
    }
    warnings.extend(lost::keep_what_was_learned(context, lost)?);
    lost::take_back_what_was_found(context, state)?;
    Ok(warnings)
}

/// Reads an archived session that differs from the stored state, and cleans it if it was restored. If reading fails,
/// the next run reads it again.
fn look_again(context: &SyncContext<'_>, state: &mut State, entry: &ArchiveEntry) -> Result<()> {
    let archive = &context.sessions.archive;
    let loaded = archive.load(&entry.name);
    if loaded.is_err() {
        // With an entry in the list, the drafts that were learned from the session are kept.
        state.sessions.entry(entry.name.clone()).or_default();
    }
    let Some(mut file) = loaded? else { return Ok(()) };
    let returned = clean_returned(context, &mut file)?;
    let is_changed = returned != Returned::AsItIs;
    if returned == Returned::Purged {
        // Nothing is learned from the session until its file is replaced.
        state.sessions.remove(&entry.name);
    }
    if is_changed && file.records.is_empty() {
        archive.remove(&entry.name)?;
        state.sessions.remove(&entry.name);
        return Ok(());
    }
    let stored = is_changed.then(|| archive.store(&file)).transpose();
    if stored.is_err() && returned == Returned::Hidden {
        state.sessions.entry(entry.name.clone()).or_default();
    }
    let stored = stored?;
    let entry = stored.as_ref().unwrap_or(entry);
    let session = state_of(&file, entry, &context.territory, &context.redactor);
    state.sessions.insert(entry.name.clone(), session);
    Ok(())
}

/// Result of cleaning a restored session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    AsItIs,
    /// Only known secrets were removed.
    Hidden,
    /// Purged records were removed.
    Purged,
}

/// Cleans a session whose file was restored from a backup, or was in a pack that could not be read. Removes records
/// that were purged since, and secrets that became known since.
fn clean_returned(context: &SyncContext<'_>, file: &mut SessionFile) -> Result<Returned> {
    let before = file.records.len();
    context.sessions.purged.screen(&file.header.session, &mut file.records);
    let is_purged = file.records.len() < before;
    if is_purged {
        // The turn of a task is not recorded, so all tasks are removed.
        file.header.growth.tasks = Tasks::default();
    }
    let tasks = std::slice::from_mut(&mut file.header.growth.tasks);
    let secrets = &context.secrets;
    let known = secrets.known().in_session(&file.header.session);
    let in_tasks = secrets.hide(known.clone(), tasks, &context.redactor)?;
    let in_records = secrets.hide(known, &mut file.records, &context.redactor)?;
    Ok(match (is_purged, in_tasks || in_records) {
        (true, _) => Returned::Purged,
        (false, true) => Returned::Hidden,
        (false, false) => Returned::AsItIs,
    })
}

/// Returns the most recently written sessions of people, at least one and at most a few, and all other sessions.
fn newest_first(
    sessions: &BTreeMap<String, Vec<Transcript>>,
) -> (Vec<NamedTranscripts<'_>>, Vec<NamedTranscripts<'_>>) {
    let modified = |transcripts: &[Transcript]| {
        transcripts.iter().map(|transcript| transcript.modified_ns).max()
    };
    let bytes = |transcripts: &[Transcript]| {
        transcripts.iter().map(|transcript| transcript.len).sum::<u64>()
    };
    let agents = |transcripts: &[Transcript]| {
        transcripts.iter().all(|transcript| transcript.name.agent.is_some())
    };
    let mut sorted: Vec<NamedTranscripts<'_>> = sessions.iter().collect();
    sorted.sort_by_key(|(_, transcripts)| (agents(transcripts), Reverse(modified(transcripts))));
    let mut sum = 0;
    let mut fits = |(_, transcripts): &NamedTranscripts<'_>| {
        sum += bytes(transcripts);
        !agents(transcripts) && sum <= NEWEST_BYTES_MAX
    };
    let count = sorted.iter().take(NEWEST_MAX).take_while(|session| fits(session)).count();
    let others = sorted.split_off(count.max(1).min(sorted.len()));
    (sorted, others)
}

/// Returns the transcripts of a folder that the user named.
fn in_folder(folder: &Path) -> Result<Discovery> {
    discover::check_folder(folder)?;
    let mut found = discover::transcripts_in(&folder.canonicalize()?)?;
    for transcript in &mut found.transcripts {
        if transcript.name.session.is_empty() {
            transcript.name.session = discover::session_of(&transcript.path).unwrap_or_default();
        }
    }
    Ok(found)
}
