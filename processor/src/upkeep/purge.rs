//! Purging: a person removes turns permanently. They are removed from the archive, from the data mined from them, from
//! the index and from the receipts. Memories without other evidence are removed; memories that a person changed or
//! wrote are kept without their evidence. Purged turns are not read again, even if their transcript still exists. A
//! scan verifies that no purged text remains.

mod memories;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::path::PathBuf;

use aho_corasick::AhoCorasick;
use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::id::{MemoryId, is_abbreviation};
use memory_store::layout::{ProjectDir, Tree, TreeDir, UserDirs};
use memory_store::ledger::Ledger;
use memory_store::redact::known::Known;
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings_file;
use memory_store::store::Store;
use serde::Serialize;

use crate::collect::archive::{Archive, ArchiveEntry, SessionFile, file_name};
use crate::collect::discover::Territory;
use crate::collect::expired::Expired;
use crate::collect::purged::{Purged, hash};
use crate::collect::state_of;
use crate::collect::trees;
use crate::lock::Lock;
use crate::mining;
use crate::secrets::files;
use crate::state::{State, read_roots};
use crate::sync::{SyncOptions, SyncReport, prepare, sync_locked};
use crate::transcript::parts;
use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::tasks::Tasks;
use memories::MemoriesBefore;

/// Selection of sessions to purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeTarget {
    /// A session with its subagents, by the id or its beginning.
    Session(String),
    /// All turns before a time.
    Before(Timestamp),
    /// All turns of the project.
    Project,
}

/// Report of a purge.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PurgeReport {
    /// Number of removed archived sessions.
    pub sessions: usize,
    /// Number of removed records, including copies in other sessions.
    pub records: usize,
    /// Number of removed receipts.
    pub receipts: usize,
    /// Number of files that were scanned afterwards.
    pub scanned: usize,
    /// Memories that were removed because no other evidence supports them.
    pub forgotten: Vec<PurgedMemory>,
    /// Memories that were learned from the remaining turns, as replacements or newly.
    pub learned: Vec<PurgedMemory>,
    /// Memories that a person or a model wrote or changed. They are kept without their evidence.
    pub stripped: Vec<PurgedMemory>,
    /// Memories written or changed by a person or a model that still contain text of this or an earlier purge word for
    /// word.
    pub say: Vec<PurgedMemory>,
    /// Number of pieces of text that were searched; 0 if nothing was archived.
    pub sought: usize,
    /// Reasons why memories could not be changed. Their files are in `left`.
    pub refused: Vec<String>,
    /// Files in which a purged piece of text was found. It must be empty.
    pub left: Vec<PathBuf>,
    /// Report of the sync afterwards.
    pub sync: SyncReport,
}

/// A memory in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurgedMemory {
    /// Id of the memory.
    pub id: MemoryId,
    /// Title of the memory.
    pub title: String,
    /// Path of the memory's file.
    pub path: PathBuf,
}

/// Effects that a purge would have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgePreview {
    /// Full ids of the sessions that would lose turns.
    pub sessions: BTreeSet<String>,
    /// Number of memories learned from the turns to remove. Those that other sessions support would be learned again.
    pub learned: usize,
    /// Number of memories that would be kept without their evidence.
    pub stripped: usize,
}

/// Reason why no session could be purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// No session has an id with this beginning.
    #[error("no archived session begins with {0}")]
    None(String),
    /// Several sessions have an id with this beginning.
    #[error("{1} sessions begin with {0}")]
    Several(String, usize),
}

impl Unclear {
    /// Returns the remedy as sentences.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::None(_) => {
                "`throughline search --turns WORDS` shows how the ids of sessions begin. A purge that was cut \
                 short goes on with the whole id."
            }
            Self::Several(..) => "Give more characters of the id.",
        }
    }
}

/// Context of an error that occurred before any change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing was purged")]
pub struct NothingPurged;

/// Minimum number of bytes of a piece of purged text for the scan.
const PROBE_BYTES_MIN: usize = 24;
/// Maximum number of pieces for the scan.
const PROBES_MAX: usize = 2_000;

/// Purges turns, publishes the remaining data, and scans the files for purged text. Returns `None` if another sync has
/// the lock, as with a sync.
pub fn purge(options: &SyncOptions<'_>, what: &PurgeTarget) -> Result<Option<PurgeReport>> {
    let home = options.dirs.project(options.tree.project);
    let Some(lock) = Lock::of_project(options.dirs, &home, options.busy)? else { return Ok(None) };
    let prepared = prepare(options, &lock)?;
    // A store that cannot be written must be detected before anything is removed.
    let (settings, _) = settings_file::load(options.dirs, Some(options.tree));
    Store::open(options.dirs, options.tree)?.redactor_for_writing(&settings)?;
    let mut purge = PurgeRun::begin(home)?;
    let memories = purge.run(options, what)?;
    let afresh = SyncOptions { afresh: true, from: None, ..*options };
    purge.report.sync = sync_locked(&afresh, prepared)?;
    Ledger::open(&purge.home)?.forget_history()?;
    purge.settle_memories(options, memories)?;
    purge.scan(options.dirs, options.tree)?;
    Ok(Some(purge.report))
}

/// Returns the effects that a purge would have, without changing anything.
///
/// # Errors
/// With [`Unclear`] if the id does not identify exactly one session.
pub fn preview(options: &SyncOptions<'_>, what: &PurgeTarget) -> Result<PurgePreview> {
    let mut purge = PurgeRun::begin(options.dirs.project(options.tree.project))?;
    if let Some(why) = purge.archive.unlisted_packs().into_iter().next() {
        return Err(anyhow::Error::msg(why).context(NothingPurged));
    }
    let entries = purge.archive.entries()?;
    purge.choose(&entries, options, what)?;
    Ok(PurgePreview { sessions: purge.losing(&entries)?, ..purge.preview(options)? })
}

struct PurgeRun {
    home: ProjectDir,
    archive: Archive,
    expired: Expired,
    purged: Purged,
    report: PurgeReport,
    /// Pieces of purged text for which the scan searches.
    probes: BTreeSet<Vec<u8>>,
    /// Ids of the purged sessions.
    gone: BTreeSet<String>,
    /// Ids of memories that would be learned from the removed turns.
    ids: BTreeSet<MemoryId>,
}

impl PurgeRun {
    fn begin(home: ProjectDir) -> Result<Self> {
        Ok(Self {
            archive: Archive::open(&home),
            expired: Expired::open(&home),
            purged: Purged::read(&home)?,
            home,
            report: PurgeReport::default(),
            probes: BTreeSet::new(),
            gone: BTreeSet::new(),
            ids: BTreeSet::new(),
        })
    }

    /// Selects the sessions and records to purge.
    fn choose(
        &mut self,
        entries: &[ArchiveEntry],
        options: &SyncOptions<'_>,
        what: &PurgeTarget,
    ) -> Result<()> {
        match what {
            PurgeTarget::Session(id) => self.session(entries, id)?,
            PurgeTarget::Before(time) => {
                self.purged.before =
                    Some(self.purged.before.map_or(*time, |before| before.max(*time)));
            }
            PurgeTarget::Project => {
                for entry in entries {
                    self.note_session(entry)?;
                }
                self.purged.before =
                    Some(self.purged.before.map_or(options.now, |before| before.max(options.now)));
            }
        }
        self.note_drafts(entries, options.tree.project);
        Ok(())
    }

    fn run(&mut self, options: &SyncOptions<'_>, what: &PurgeTarget) -> Result<MemoriesBefore> {
        // Nothing can be purged from a pack that cannot be read.
        let (_, faults) = self.archive.take_stale_apart(|_| false);
        if let Some((_, fault)) = faults.into_iter().next() {
            return Err(fault.context(NothingPurged));
        }
        let entries = self.archive.entries()?;
        self.choose(&entries, options, what)?;
        self.unpack_losing(&entries).context(NothingPurged)?;
        // The list of purged sessions is written first, so that an interrupted purge stays in effect.
        self.purged.write(&self.home)?;
        // The state that all turns must be indexed again is also written before anything is removed.
        let mut state = State::read(&self.home);
        state.published.clear();
        state.all_turns = true;
        state.write(&self.home)?;
        let memories = self.unlearn(options)?;
        self.rewrite_sessions(&entries)?;
        self.drop_expired(what)?;
        self.drop_disposable(options, what)?;
        // Vectors are removed, because a vector reveals the approximate meaning of its text.
        for folder in [self.home.llm.clone(), self.home.vectors.clone()] {
            unless_gone(fs::remove_dir_all(&folder))
                .with_context(|| folder.display().to_string())?;
        }
        memory_store::migrate::remove_backups(&self.home)?;
        self.drop_damaged(what);
        // The stored state of the purged sessions is invalid.
        self.drop_state(options)?;
        Ok(memories)
    }

    fn session(&mut self, entries: &[ArchiveEntry], id: &str) -> Result<()> {
        let mut headers = Vec::new();
        for entry in entries {
            headers.extend(self.archive.header(&entry.name)?);
        }
        let expired =
            self.expired.names().into_iter().filter_map(|name| self.expired.header(&name));
        headers.extend(expired.collect::<Vec<_>>());
        let ids: BTreeSet<String> = headers
            .into_iter()
            .map(|header| header.session)
            .filter(|session| is_abbreviation(id, session))
            .collect();
        if ids.len() > 1 && !ids.contains(id) {
            return Err(Unclear::Several(id.to_owned(), ids.len()).into());
        }
        // The id may be of an interrupted purge, which is continued.
        let session = if ids.contains(id) || self.purged.has_session(id) {
            id.to_owned()
        } else {
            ids.into_iter().next().ok_or_else(|| Unclear::None(id.to_owned()))?
        };
        for entry in entries {
            if self.archive.header(&entry.name)?.is_some_and(|header| header.session == session) {
                self.note_session(entry)?;
            }
        }
        self.purged.sessions.insert(hash(&session));
        self.gone.insert(session);
        Ok(())
    }

    /// Returns the sessions that lose turns, including sessions of which only the id is known.
    fn losing(&self, entries: &[ArchiveEntry]) -> Result<BTreeSet<String>> {
        let mut losing = self.gone.clone();
        for entry in entries {
            let Some(mut file) = self.archive.load(&entry.name)? else { continue };
            let before = file.records.len();
            self.purged.screen(&file.header.session, &mut file.records);
            if file.records.len() < before {
                losing.insert(file.header.session);
            }
        }
        Ok(losing)
    }

    /// Unpacks the packs with sessions that lose turns, and with other parts of these sessions. If the disk is full,
    /// this fails before anything is removed.
    fn unpack_losing(&self, entries: &[ArchiveEntry]) -> Result<()> {
        let is_packed = |entry: &&ArchiveEntry| entry.path != self.archive.path(&entry.name);
        let packed: Vec<&ArchiveEntry> = entries.iter().filter(is_packed).collect();
        if packed.is_empty() {
            return Ok(());
        }
        let losing = self.losing(entries)?;
        let losing: BTreeSet<String> =
            losing.iter().map(|session| file_name(session, None)).collect();
        for ArchiveEntry { name, .. } in packed {
            let (of, _) = parts::of_name(name);
            if losing.contains(of.split('.').next().unwrap_or(of)) {
                self.archive.take_out(name)?;
            }
        }
        Ok(())
    }

    /// Marks a session and its records as purged, so that copies in forks are removed as well.
    fn note_session(&mut self, entry: &ArchiveEntry) -> Result<()> {
        let Some(file) = self.archive.load(&entry.name)? else { return Ok(()) };
        self.purged.sessions.insert(hash(&file.header.session));
        self.gone.insert(file.header.session.clone());
        let records = file.records.iter().filter(|record| !matches!(record.what, RecordWhat::Link));
        self.purged.records.extend(records.map(|record| hash(&record.uuid)));
        Ok(())
    }

    /// Removes purged records from the archive, session by session.
    fn rewrite_sessions(&mut self, entries: &[ArchiveEntry]) -> Result<()> {
        let mut sessions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for entry in entries {
            sessions.entry(parts::of_name(&entry.name).0).or_default().push(&entry.name);
        }
        let mut sessions: Vec<Vec<&str>> = sessions.into_values().collect();
        self.archive.by_pack(&mut sessions, |names| names[0]);
        for names in &sessions {
            match names.as_slice() {
                [name] => {
                    if let Some(file) = self.archive.load(name)? {
                        self.rewrite(name, file)?;
                    }
                }
                names => self.rewrite_parts(names)?,
            }
        }
        Ok(())
    }

    /// Removes purged records from the parts of a session. If a part loses records, the data that later parts received
    /// from it are removed as well, because the turn of such data is not recorded. This includes a cure, which may be
    /// for a failure at the end of the previous part. These data are removed before the records by which an interrupted
    /// purge recognises the session.
    fn rewrite_parts(&mut self, names: &[&str]) -> Result<()> {
        let (mut losing, mut carrying) = (Vec::new(), Vec::new());
        for name in names {
            let Some(mut file) = self.archive.load(name)? else { continue };
            let before = file.records.len();
            self.purged.screen(&file.header.session, &mut file.records);
            if file.records.len() < before {
                losing.push(name);
            } else if !file.header.growth.tasks.is_none() {
                carrying.push(name);
            }
        }
        if losing.is_empty() {
            return Ok(());
        }
        for name in names {
            self.probe_drafts(name);
            mining::remove(&self.home, name);
        }
        for name in carrying {
            let Some(mut file) = self.archive.load(name)? else { continue };
            file.header.growth.tasks = Tasks::default();
            self.archive.store(&file)?;
        }
        for name in losing {
            let Some(mut file) = self.archive.load(name)? else { continue };
            file.header.growth.tasks = Tasks::default();
            self.rewrite(name, file)?;
        }
        Ok(())
    }

    /// Removes purged records from one archive file, or removes the file if no record remains.
    fn rewrite(&mut self, name: &str, file: SessionFile) -> Result<()> {
        let mut records = file.records.clone();
        self.purged.screen(&file.header.session, &mut records);
        if records.len() == file.records.len() {
            return Ok(());
        }
        self.report.records += file.records.len() - records.len();
        self.probe(&file.records, &records);
        self.probe_drafts(name);
        mining::remove(&self.home, name);
        let keeps = records
            .iter()
            .any(|record| !matches!(record.what, RecordWhat::Link | RecordWhat::Title { .. }));
        if keeps {
            self.archive.store(&SessionFile { header: file.header, records })?;
        } else {
            self.report.sessions += 1;
            self.archive.remove(name)?;
        }
        Ok(())
    }

    /// Adds lines of removed prompts to the pieces for the scan, if their records are completely removed.
    fn probe(&mut self, before: &[Record], after: &[Record]) {
        let stays: HashMap<&str, ()> =
            after.iter().map(|record| (record.uuid.as_str(), ())).collect();
        for record in before.iter().filter(|record| !stays.contains_key(record.uuid.as_str())) {
            if self.probes.len() < PROBES_MAX
                && let RecordWhat::Prompt { text, .. }
                | RecordWhat::Text { text, .. }
                | RecordWhat::Thinking { text, .. } = &record.what
                && let Some(line) = text.lines().find(|line| line.len() >= PROBE_BYTES_MIN)
            {
                // JSON files contain the text in escaped form.
                self.probes.insert(escaped(line));
                self.probes.insert(line.as_bytes().to_vec());
            }
        }
    }

    /// Adds texts learned from a session to the pieces for the scan. [`Self::spare_remaining`] removes those that are
    /// still learned from other sessions.
    fn probe_drafts(&mut self, name: &str) {
        for draft in mining::drafts(&self.home, name) {
            for text in [&draft.title, &draft.quote] {
                if let Some(line) = text.lines().find(|line| line.len() >= PROBE_BYTES_MIN) {
                    self.probes.insert(escaped(line));
                    self.probes.insert(line.as_bytes().to_vec());
                }
            }
        }
    }

    /// Removes pieces that also occur in the remaining archive or in data learned from it, because these may remain.
    /// Sessions are read one at a time, because an archive may be larger than the memory.
    fn spare_remaining(&mut self) -> Result<()> {
        let probes: Vec<Vec<u8>> = std::mem::take(&mut self.probes).into_iter().collect();
        let automaton = automaton(&probes)?;
        let mut stays = vec![false; probes.len()];
        let mut text = Vec::new();
        for entry in self.archive.entries()? {
            text.clear();
            if let Some(file) = self.archive.load(&entry.name)? {
                for record in file.records {
                    serde_json::to_writer(&mut text, &record)?;
                }
            }
            for draft in mining::drafts(&self.home, &entry.name) {
                serde_json::to_writer(&mut text, &draft)?;
            }
            mark(&automaton, &text, &mut stays);
        }
        for name in self.expired.names() {
            text.clear();
            if let Some(remains) = self.expired.load(&name) {
                serde_json::to_writer(&mut text, &remains)?;
            }
            mark(&automaton, &text, &mut stays);
        }
        let gone = probes.into_iter().zip(stays).filter(|(_, stays)| !stays);
        self.probes = gone.map(|(probe, _)| probe).collect();
        Ok(())
    }

    fn drop_expired(&mut self, what: &PurgeTarget) -> Result<()> {
        for name in self.expired.names() {
            let Some(mut remains) = self.expired.load(&name) else { continue };
            let all = matches!(what, PurgeTarget::Project)
                || self.purged.has_session(&remains.header.session);
            let count = remains.drafts.len();
            let before = self.purged.before;
            remains.drafts.retain(|draft| before.is_none_or(|before| draft.occurred >= before));
            if all || remains.drafts.is_empty() && count > 0 {
                self.expired.remove(&name)?;
                self.report.sessions += 1;
            } else if remains.drafts.len() < count {
                self.expired.store(&name, &remains)?;
            }
        }
        Ok(())
    }

    /// Removes receipts and the texts that sessions received, because any of them may contain purged text.
    fn drop_disposable(&mut self, options: &SyncOptions<'_>, what: &PurgeTarget) -> Result<()> {
        let commands = options.dirs.project(options.tree.project).commands;
        unless_gone(fs::remove_file(&commands)).with_context(|| commands.display().to_string())?;
        for tree in trees::present(options.dirs, options.tree) {
            let state = options.dirs.tree(&tree.root);
            self.drop_receipts(&state, what)?;
            for given in fs::read_dir(&state.sessions).into_iter().flatten().flatten() {
                let path = given.path();
                let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                unless_gone(removed).with_context(|| path.display().to_string())?;
            }
            // A report covers all sessions, and is quickly created again.
            for file in [state.handoff.clone(), state.report.clone()] {
                unless_gone(fs::remove_file(&file)).with_context(|| file.display().to_string())?;
            }
        }
        Ok(())
    }

    fn drop_receipts(&mut self, state: &TreeDir, what: &PurgeTarget) -> Result<()> {
        let folder = state.folder.join("receipts");
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let kept: Vec<&str> =
                text.lines().filter(|line| !self.purges_receipt(line, what)).collect();
            self.report.receipts += text.lines().count() - kept.len();
            if kept.is_empty() {
                fs::remove_file(&path).with_context(|| path.display().to_string())?;
            } else if kept.len() < text.lines().count() {
                crate::private_files::write_whole(
                    &path,
                    format!("{}\n", kept.join("\n")).as_bytes(),
                )?;
            }
        }
        Ok(())
    }

    fn purges_receipt(&self, line: &str, what: &PurgeTarget) -> bool {
        let Ok(receipt) = serde_json::from_str::<serde_json::Value>(line) else { return true };
        let text =
            |key: &str| receipt.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
        match what {
            PurgeTarget::Project => true,
            PurgeTarget::Session(_) => self.gone.contains(text("session")),
            PurgeTarget::Before(time) => Timestamp::parse(text("at")).is_some_and(|at| at < *time),
        }
    }

    /// Removes damaged files that were kept aside, because their content cannot be checked. A pack that was kept aside
    /// may also contain other sessions. It is removed only if the whole project is purged, and otherwise reported.
    fn drop_damaged(&mut self, what: &PurgeTarget) {
        let packs = self.archive.packs_aside();
        match what {
            PurgeTarget::Project => packs.iter().for_each(|path| drop(fs::remove_file(path))),
            PurgeTarget::Session(_) | PurgeTarget::Before(_) => self.report.left.extend(packs),
        }
        for entry in fs::read_dir(self.archive.folder()).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "damaged") {
                // If a file cannot be removed, the scan reports it.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn drop_state(&self, options: &SyncOptions<'_>) -> Result<()> {
        let mut state = State::read(&self.home);
        let territory = Territory::new(options.dirs, options.tree, &read_roots(&self.home));
        let (settings, _) = settings_file::load(options.dirs, Some(options.tree));
        let known = Known::read_file(options.dirs, &self.home);
        let redactor =
            Redactor::new(&RedactOptions { known, ..RedactOptions::for_store(&settings, false) });
        state.published.clear();
        state.sessions.clear();
        state.all_turns = true;
        for entry in self.archive.entries()? {
            if let Some(file) = self.archive.load(&entry.name)? {
                let known = state_of(&file, &entry, &territory, &redactor);
                state.sessions.insert(entry.name, known);
            }
        }
        state.write(&self.home)
    }

    /// Scans all of this program's files about the project for purged text.
    fn scan(&mut self, dirs: &UserDirs, tree: &Tree) -> Result<()> {
        let mut folders = vec![self.home.folder.clone()];
        for tree in trees::present(dirs, tree) {
            folders.push(dirs.tree(&tree.root).folder);
            folders.push(tree.store());
        }
        self.spare_remaining()?;
        self.report.sought = self.probes.len();
        self.spare_memories(dirs, tree)?;
        let automaton = automaton(&self.probes)?;
        for folder in folders {
            let edits = TreeDir::at(folder.clone()).edits;
            for file in files::files(&folder) {
                let file = file?;
                // A pack that was kept aside cannot be scanned.
                if self.report.left.contains(&file) {
                    continue;
                }
                let Some(mut reader) = files::open(&file)? else { continue };
                self.report.scanned += 1;
                if self.probes.is_empty() {
                    continue;
                }
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes).with_context(|| file.display().to_string())?;
                if !automaton.is_match(&bytes) {
                    continue;
                }
                // The file is a copy of an edit that could not be applied.
                if file.starts_with(&edits) {
                    unless_gone(fs::remove_file(&file))
                        .with_context(|| file.display().to_string())?;
                } else {
                    self.report.left.push(file);
                }
            }
        }
        Ok(())
    }
}

/// Treats a missing file as removed.
fn unless_gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    removed.or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

fn automaton(probes: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<AhoCorasick> {
    AhoCorasick::new(probes).context("the scan cannot be prepared")
}

/// Marks the pieces that occur in a text. Returns whether any occurs.
fn mark(automaton: &AhoCorasick, text: &[u8], occur: &mut [bool]) -> bool {
    let mut any = false;
    for found in automaton.find_overlapping_iter(text) {
        occur[found.pattern().as_usize()] = true;
        any = true;
    }
    any
}

fn escaped(line: &str) -> Vec<u8> {
    let json = serde_json::to_string(line).unwrap_or_default();
    json.trim_matches('"').as_bytes().to_vec()
}
