//! The part of a sync that reads: transcripts become files of the archive and lines of the state.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::layout::Tree;
use memory_store::redact::known::Known;

use super::Run;
use super::facts::TreeFacts;
use crate::collect::discover::{self, Discovery, Transcript};
use crate::collect::ignore::Ignore;
use crate::collect::{Collected, Collector, SessionRead, changed};
use crate::state::{SessionState, write_roots};
use crate::transcript::parts;
use crate::transcript::read::Counts;

/// Nanoseconds of a millisecond.
const NS_OF_MS: i128 = 1_000_000;

/// Sessions that are read before any is archived, and bytes of their transcripts.
const NEWEST_MAX: usize = 4;
const NEWEST_BYTES_MAX: u64 = 16 << 20;

/// A session's name and transcripts.
type NamedTranscripts<'a> = (&'a String, &'a Vec<Transcript>);

impl Run<'_> {
    /// Reads what is new; returns the sessions that changed.
    pub(super) fn collect(
        &mut self,
        inboxes: &[(Tree, u64)],
        facts: &mut TreeFacts,
    ) -> Result<BTreeSet<String>> {
        self.options.progress.stage("looking", 0);
        write_roots(&self.home, self.territory.roots())?;
        self.put_damaged_aside()?;
        let found = discover::ours(self.options.dirs, &self.territory, &mut self.state.seen)?;
        self.newest =
            found.newest_ns.and_then(|ns| i64::try_from(ns / NS_OF_MS).ok()).map(Timestamp);
        self.report.warnings.extend(found.warnings);
        let mut transcripts = found.transcripts;
        let named = match self.options.from {
            Some(folder) => in_folder(folder)?,
            None => Discovery::default(),
        };
        self.report.warnings.extend(named.warnings);
        let named = named.transcripts;
        self.report.transcripts = transcripts.len() + named.len();
        transcripts.retain(|transcript| !named.iter().any(|named| named.path == transcript.path));
        let mut changed = self.collect_some(transcripts, false, inboxes, facts)?;
        changed.extend(self.collect_some(named, true, inboxes, facts)?);
        self.hide_known(&mut changed)?;
        self.forget_missing()?;
        self.state.forget_left();
        let names = self.state.sessions.keys();
        self.report.sessions = names.filter(|name| parts::of_name(name).1 == 0).count();
        Ok(changed)
    }

    fn collect_some(
        &mut self,
        transcripts: Vec<Transcript>,
        from_folder: bool,
        inboxes: &[(Tree, u64)],
        facts: &mut TreeFacts,
    ) -> Result<BTreeSet<String>> {
        if transcripts.is_empty() {
            return Ok(BTreeSet::new());
        }
        let transcripts: Vec<Transcript> = transcripts
            .into_iter()
            .filter(|transcript| !self.purged.has_session(&transcript.name.session))
            .collect();
        let mut known: HashSet<String> = self.archive.names()?.into_iter().collect();
        let expired = self.expired.names().into_iter();
        // Lost sessions are read again, should their transcripts be back.
        known.extend(expired.filter(|name| !self.expired.is_lost(name)));
        known.extend(self.state.empty.iter().cloned());
        let sessions = changed(transcripts, &self.state.seen, &known);
        let mut last_parts: BTreeMap<String, u32> = BTreeMap::new();
        for (session, number) in known.iter().map(|name| parts::of_name(name)) {
            if number > 0 {
                let last = last_parts.entry(session.to_owned()).or_default();
                *last = number.max(*last);
            }
        }
        let ignore = Ignore::new(&self.settings.ignore_paths)?;
        // Known secrets are hidden later, once a session is read as a whole.
        let rules = self.redactor.with_known(Known::default());
        let collector = Collector {
            archive: &self.archive,
            expired: &self.expired,
            purged: &self.purged,
            redactor: &rules,
            secrets: &self.secrets,
            ignore: &ignore,
            from_folder,
            territory: &self.territory,
            parts: &last_parts,
            part_bytes: self.options.part_bytes,
        };
        if sessions.is_empty() {
            return Ok(BTreeSet::new());
        }
        if self.settings.ignores_unknown {
            // Known sessions go on as they are; the others are read once the setting is mended.
            let warning = format!(
                "{}: `ignore_paths` cannot be read, and what it names is not to be learned from: no session \
                 is read until it is mended",
                self.options.dirs.config_file().display()
            );
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
            return Ok(BTreeSet::new());
        }
        let progress = self.options.progress;
        progress.stage("reading", sessions.len());
        // A session that is starting waits to be told where the newest ones were left, and waits
        // shortly: they are read first, and archived after that is written.
        let (newest, others) = newest_first(&sessions);
        let read = collector.read(&newest);
        let left: Vec<_> = read.iter().flatten().filter_map(SessionRead::left).collect();
        self.publish_left(inboxes, facts.get(), &left)?;
        progress.stage("archiving", sessions.len());
        let mut results = collector.keep(read, progress);
        results.extend(collector.collect(&others, progress));
        let mut changed = BTreeSet::new();
        for ((name, transcripts), result) in newest.into_iter().chain(others).zip(results) {
            match result {
                Ok(collected) => {
                    if self.take_in(name, transcripts, collected, from_folder) {
                        changed.insert(name.clone());
                    }
                }
                Err(error) => self.report.warnings.push(format!("{error:#}")),
            }
        }
        Ok(changed)
    }

    /// Remembers what became of a session; whether something of it is new.
    fn take_in(
        &mut self,
        name: &str,
        transcripts: &[Transcript],
        collected: Collected,
        from_folder: bool,
    ) -> bool {
        for transcript in transcripts {
            let seen = self.state.seen.entry(transcript.path.clone()).or_default();
            seen.inode = transcript.inode;
            seen.len = transcript.len;
            seen.modified_ns = transcript.modified_ns;
            seen.ours = seen.ours || !from_folder;
            seen.from_folder = from_folder;
        }
        let Counts { lines, too_long, damaged, dropped } = collected.counts;
        self.report.lines += lines;
        self.report.lines_skipped += too_long + damaged + dropped;
        self.report.sessions_read += usize::from(lines > 0);
        for (part, state) in collected.closed {
            self.state.sessions.insert(part, state);
        }
        match collected.state {
            None => {
                self.state.empty.insert(name.to_owned());
                false
            }
            Some(state) => {
                self.state.empty.remove(name);
                let before = self.state.sessions.insert(name.to_owned(), state);
                let state = self.state.sessions.get_mut(name);
                let new = state.as_ref().map(|state| &state.content)
                    != before.as_ref().map(|before| &before.content);
                if let (Some(state), Some(before)) = (state, before) {
                    // Whether it is still good, its key says.
                    state.mined = before.mined;
                }
                new
            }
        }
    }

    /// Makes the list of sessions that of the archive: what a lost cache does not know is looked
    /// at again, what is no longer archived is dropped.
    pub(super) fn forget_missing(&mut self) -> Result<()> {
        self.entries = self.archive.entries()?;
        let entries = &self.entries;
        let names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let lost = self.lost_sessions(&names);
        self.state.sessions.retain(|name, _| names.contains(name.as_str()));
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            let fits = |known: &SessionState| {
                known.len == entry.len && known.modified_ns == entry.modified_ns
            };
            if self.state.sessions.get(&entry.name).is_some_and(fits) {
                continue;
            }
            match self.archive.load(&entry.name) {
                Ok(Some(file)) => {
                    let state =
                        crate::collect::state_of(&file, entry, &self.territory, &self.redactor);
                    self.state.sessions.insert(entry.name.clone(), state);
                }
                Ok(None) => {}
                Err(error) => {
                    let warning = format!("{error:#}");
                    if !self.report.warnings.contains(&warning) {
                        self.report.warnings.push(warning);
                    }
                    // The drafts learned from the session stay, and it is looked at again next time.
                    self.state.sessions.entry(entry.name.clone()).or_default();
                }
            }
        }
        self.entries = entries;
        self.keep_what_was_learned(lost)?;
        self.take_back_what_was_found()
    }
}

/// The few sessions of people that were written to last, the newest at least, and the others.
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

/// The transcripts of a folder that the user named.
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
