//! The ledger: the log of derived memories and their states.
//!
//! The ledger is stored in the private folder of the project. Therefore a memory survives the loss of the working tree,
//! branch or stash that contains its file, and a deleted memory is not learned again.

mod clean;
mod entry;
mod lines;
mod lookup;
mod pending;
mod purge;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::{MemoryId, abbreviated};
use crate::layout::{ProjectDir, memory_folder};
use crate::stored::text_hash;
use crate::time::Timestamp;

pub(crate) use clean::redacted_file;
pub use entry::Unfound;
pub(crate) use entry::{Aside, LedgerEntry};
pub(crate) use lines::Unsynced;
pub(crate) use lookup::Lookup;
pub use pending::{Asked, PendingChange};

pub(crate) use entry::{LedgerLine, More, SeenTree};
pub(crate) use texts::{KnownTexts, LedgerOrigin, hashes};

/// Number of lines above 1.5 times the number of items from which on a ledger is rewritten.
const SPARE_LINES: usize = 32;

/// Reason why a memory is not learned again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A person ran `forget`.
    Forgotten,
    /// The memory's file was deleted.
    Deleted,
    /// A commit removed the memory's file.
    RemovedInCommit,
    /// A person rejected the memory in a review.
    Rejected,
    /// Rules of an earlier version wrote the memory, and no person decided about it.
    MadeByRules,
}

/// A memory that is not learned again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Id of the memory.
    pub id: MemoryId,
    /// Title of the memory, for lists.
    pub title: String,
    /// Reason for the removal.
    pub reason: Reason,
    /// Time of the removal.
    pub at: Timestamp,
    /// Path of the memory's file, relative to the folder of memory files.
    pub name: Option<String>,
    /// Whether a person or a model wrote the memory, so that no sync learns it again. Missing in older ledgers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<bool>,
    /// Fields of a later version of the program.
    #[serde(flatten)]
    pub(crate) more: More,
}

/// The ledger of one project. A writer must hold the store's lock.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    entries: BTreeMap<MemoryId, LedgerEntry>,
    tombstones: BTreeMap<MemoryId, Tombstone>,
    seen: BTreeMap<PathBuf, SeenTree>,
    /// Texts with a recorded origin, in addition to the texts of the entries.
    texts: KnownTexts,
    /// Changes by Claude about which the user has not decided.
    pending: BTreeMap<MemoryId, PendingChange>,
    /// Lines of a later version of the program, verbatim.
    foreign: Vec<Vec<u8>>,
    lines: usize,
    /// Number of lines that could not be parsed. One torn line after a crash is normal.
    pub damaged: usize,
}

/// A line of the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LedgerEvent {
    Entry(Box<LedgerEntry>),
    Drop(MemoryId),
    Tombstone(Tombstone),
    Revive(MemoryId),
    Seen(SeenTree),
    /// The hash of a text that was written, or released, on this machine.
    Own(String),
    /// The hash of a text from the repository.
    Pulled(String),
    /// The hash of a text that a tool call of Claude's wrote to a file.
    Claude(String),
    /// Claude changed a memory that the user stated or requested.
    Ask(PendingChange),
    /// The user decided about Claude's change to this memory.
    Settle(MemoryId),
}

impl Ledger {
    /// Opens the ledger of a project. A missing file counts as an empty ledger.
    pub fn open(home: &ProjectDir) -> Result<Self> {
        let path = home.ledger.clone();
        let lines = lines::read(&path)?;
        let mut ledger = Self {
            path,
            entries: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            seen: BTreeMap::new(),
            texts: KnownTexts::default(),
            pending: BTreeMap::new(),
            lines: lines.events.len() + lines.damaged + lines.foreign.len(),
            foreign: lines.foreign,
            damaged: lines.damaged,
        };
        for event in lines.events {
            ledger.apply(event);
        }
        Ok(ledger)
    }

    /// Returns whether the ledger contains an entry or a tombstone for a memory.
    pub fn contains(&self, id: MemoryId) -> bool {
        self.entries.contains_key(&id) || self.tombstones.contains_key(&id)
    }

    /// Returns the root of each working tree, with the HEAD of the tree at its last reconciliation.
    pub fn heads(&self) -> Vec<(PathBuf, String)> {
        let heads = self.seen.values();
        heads.filter_map(|seen| Some((seen.root.clone(), seen.head.clone()?))).collect()
    }

    /// Returns whether the file of a memory that was in no commit is missing from this working tree.
    pub fn misses_loose(&self, root: &Path) -> bool {
        let folder = memory_folder(root);
        self.entries.values().any(|entry| {
            entry.root == root
                && entry.placed
                && !entry.committed
                && entry.aside == Aside::No
                && std::fs::symlink_metadata(folder.join(&entry.name)).is_err()
        })
    }

    /// Lists the ids and missing files of the memories in a folder, except Claude's notes. `root` is the working tree
    /// that contains the folder.
    pub fn missing_of_person(
        &self,
        root: Option<&Path>,
        folder: &Path,
    ) -> Vec<(MemoryId, PathBuf)> {
        let root = root.unwrap_or(Path::new(""));
        let is_gone = |entry: &&LedgerEntry| {
            entry.root == root
                && entry.placed
                && entry.aside == Aside::No
                && !self.tombstones.contains_key(&entry.id)
                && std::fs::symlink_metadata(folder.join(&entry.name)).is_err()
        };
        let is_note = |entry: &LedgerEntry| entry.source().is_some_and(|source| source.is_noted());
        let gone = self.entries.values().filter(is_gone).filter(|entry| !is_note(entry));
        gone.map(|entry| (entry.id, PathBuf::from(&entry.name))).collect()
    }

    /// Returns the tombstones, by id.
    pub(crate) fn tombstones(&self) -> Vec<Tombstone> {
        self.tombstones.values().cloned().collect()
    }

    /// Returns the texts with a recorded origin: those that this machine derived, wrote or released, those from the
    /// repository, and those written by Claude's tool calls.
    pub(crate) fn texts(&self) -> KnownTexts {
        let mut texts = self.texts.clone();
        self.entries.values().for_each(|entry| texts.own_all(entry));
        texts
    }

    /// Records that texts, given by their hashes, are of this machine.
    pub(crate) fn own(&mut self, hashes: impl IntoIterator<Item = String>) -> Result<()> {
        let mut events = Vec::new();
        for hash in hashes {
            if !self.texts.is_own(&hash) {
                events.push(LedgerEvent::Own(hash));
            }
        }
        self.add(events)
    }

    /// Records that texts, given by their hashes, are from the repository.
    pub(crate) fn pulled(&mut self, hashes: impl IntoIterator<Item = String>) -> Result<()> {
        let mut events = Vec::new();
        for hash in hashes {
            if !self.texts.is_pulled(&hash) {
                events.push(LedgerEvent::Pulled(hash));
            }
        }
        self.add(events)
    }

    /// Records that Claude's tool calls wrote texts, given by their hashes. Texts of this machine stay this machine's.
    pub(crate) fn claude(&mut self, hashes: impl IntoIterator<Item = String>) -> Result<()> {
        let new = hashes.into_iter().filter(|hash| !self.texts.is_claudes(hash));
        let events = new.map(LedgerEvent::Claude).collect();
        self.add(events)
    }

    /// Records a change by Claude about which the user must decide.
    pub(crate) fn ask(&mut self, change: PendingChange) -> Result<()> {
        match self.pending.get(&change.id) {
            Some(known) if known.change == change.change => Ok(()),
            Some(_) | None => self.add(vec![LedgerEvent::Ask(change)]),
        }
    }

    /// Records that the user decided about a change by Claude to a memory.
    pub(crate) fn settle(&mut self, id: MemoryId) -> Result<()> {
        match self.pending.contains_key(&id) {
            true => self.add(vec![LedgerEvent::Settle(id)]),
            false => Ok(()),
        }
    }

    /// Returns the changes by Claude about which the user has not decided, sorted by id.
    pub fn pending(&self) -> impl Iterator<Item = &PendingChange> {
        self.pending.values()
    }

    /// Returns whether the ledger has a line about a change by Claude. The lines are not parsed.
    pub fn has_asked(home: &ProjectDir) -> bool {
        let lines = std::fs::read(&home.ledger).unwrap_or_default();
        memchr::memmem::find(&lines, b"{\"ask\":").is_some()
    }

    /// Records a text that was made from another text and has the same origin.
    pub(crate) fn inherit(&mut self, text: &str, origin: LedgerOrigin) -> Result<()> {
        let hash = [text_hash(text)];
        match origin {
            LedgerOrigin::Own => self.own(hash),
            LedgerOrigin::Pulled => self.pulled(hash),
            LedgerOrigin::Claude => self.claude(hash),
            LedgerOrigin::Unknown => Ok(()),
        }
    }

    /// Returns whether this program wrote the text for a memory about which no person has decided.
    pub(crate) fn wrote(&self, text: &str) -> bool {
        let is_decided = |entry: &LedgerEntry| entry.saved || entry.promoted || entry.owned;
        self.entries.values().any(|entry| entry.wrote(text) && !is_decided(entry))
    }

    /// Returns the ledger line for rewriting a memory's text. `None` if the memory has no entry, or if a person wrote
    /// the text, which stays the person's without a line.
    pub(crate) fn rewritten(&self, id: MemoryId, before: &str, after: &str) -> Option<LedgerLine> {
        let mut entry = self.entries.get(&id)?.clone();
        if entry.wrote(before) {
            entry.will_write(after);
        } else if entry.changed.contains(&text_hash(before)) {
            entry.will_change(after);
        } else {
            return None;
        }
        Some(LedgerLine::Entry(Box::new(entry)))
    }

    pub(crate) fn entry(&self, id: MemoryId) -> Option<&LedgerEntry> {
        self.entries.get(&id)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.values()
    }

    /// Returns the mark that a memory was removed, and is not learned again.
    pub fn tombstone(&self, id: MemoryId) -> Option<&Tombstone> {
        self.tombstones.get(&id)
    }

    /// Finds a tombstone by the first or last characters of its id. Returns `None` unless exactly one matches.
    pub(crate) fn find_tombstone(&self, id: &str) -> Option<MemoryId> {
        match abbreviated(id, self.tombstones.keys().map(|id| (*id, *id)))[..] {
            [found] => Some(found),
            _ => None,
        }
    }

    pub(crate) fn seen(&self, root: &Path) -> Option<&SeenTree> {
        self.seen.get(root)
    }

    /// Records that a review accepted a memory. If a person changed the memory before (`was_changed`), its text counts
    /// as the person's.
    pub(crate) fn promoted(
        &mut self,
        mut entry: LedgerEntry,
        name: &str,
        (text, was_changed): (&str, bool),
    ) -> Result<()> {
        if was_changed {
            entry.will_change(text);
        } else {
            entry.will_write(text);
        }
        entry.will_name(name);
        entry.placed = true;
        entry.promoted = true;
        entry.put_back = false;
        entry.aside = Aside::No;
        self.add(vec![LedgerEvent::Entry(Box::new(entry))])
    }

    /// Records that a person made an accepted memory pending again; its text counts as the person's.
    pub(crate) fn held(&mut self, mut entry: LedgerEntry, text: &str) -> Result<()> {
        entry.will_change(text);
        entry.placed = true;
        entry.committed = false;
        entry.promoted = false;
        entry.put_back = true;
        entry.aside = Aside::Review;
        self.add(vec![LedgerEvent::Entry(Box::new(entry))])
    }

    /// Restores the recorded state of memories from before a decision that is reverted.
    pub(crate) fn put_back(
        &mut self,
        ids: &BTreeSet<MemoryId>,
        entries: &BTreeMap<MemoryId, LedgerEntry>,
        tombstones: &BTreeMap<MemoryId, Tombstone>,
    ) -> Result<()> {
        let mut events = Vec::new();
        for &id in ids {
            match entries.get(&id) {
                Some(entry) if self.entry(id) != Some(entry) => {
                    events.push(LedgerEvent::Entry(Box::new(entry.clone())));
                }
                None if self.entry(id).is_some() => events.push(LedgerEvent::Drop(id)),
                Some(_) | None => {}
            }
            match tombstones.get(&id) {
                Some(tombstone) if self.tombstone(id) != Some(tombstone) => {
                    events.push(LedgerEvent::Tombstone(tombstone.clone()));
                }
                None if self.tombstone(id).is_some() => events.push(LedgerEvent::Revive(id)),
                Some(_) | None => {}
            }
        }
        self.add(events)
    }

    /// Removes texts, given by their hashes, from the texts of this machine, because their release is reverted.
    pub(crate) fn disown(&mut self, hashes: &BTreeSet<String>) -> Result<()> {
        if hashes.iter().filter(|hash| self.texts.disown(hash)).count() == 0 {
            return Ok(());
        }
        self.rewrite()
    }

    pub(crate) fn bury(
        &mut self,
        id: MemoryId,
        title: &str,
        reason: Reason,
        name: Option<&str>,
        at: Timestamp,
    ) -> Result<()> {
        let (title, name) = (title.to_owned(), name.map(str::to_owned));
        let written = self.entries.get(&id).map(|entry| entry.saved);
        self.add(vec![LedgerEvent::Tombstone(Tombstone {
            id,
            title,
            reason,
            at,
            name,
            written,
            more: More::new(),
        })])
    }

    /// Returns the ids of the memories that a review should propose to remove.
    pub(crate) fn unfound(&self) -> Vec<MemoryId> {
        let proposed = self.entries.values().filter(|entry| {
            entry.unfound == Some(Unfound::Proposed) && !self.tombstones.contains_key(&entry.id)
        });
        proposed.map(|entry| entry.id).collect()
    }

    /// Records that a person keeps a memory that is no longer extracted.
    pub(crate) fn keep_unfound(&mut self, id: MemoryId) -> Result<()> {
        let Some(mut entry) = self.entries.get(&id).cloned() else { return Ok(()) };
        entry.unfound = Some(Unfound::Kept);
        self.add(vec![LedgerEvent::Entry(Box::new(entry))])
    }

    /// Removes the text and title of a memory from the ledger, but keeps its tombstone.
    pub(crate) fn scrub(&mut self, id: MemoryId) -> Result<()> {
        self.entries.remove(&id);
        if let Some(tombstone) = self.tombstones.get_mut(&id) {
            tombstone.title.clear();
            tombstone.name = None;
        }
        self.forget_history()
    }

    /// Removes earlier texts, and the lines and fields of later versions, from the ledger. After a purge the ledger
    /// must contain no purged data, and the data of a later version cannot be checked.
    pub fn forget_history(&mut self) -> Result<()> {
        self.foreign.clear();
        self.entries.values_mut().for_each(|entry| entry.more.clear());
        self.tombstones.values_mut().for_each(|tombstone| tombstone.more.clear());
        self.seen.values_mut().for_each(|seen| seen.more.clear());
        self.pending.values_mut().for_each(|pending| pending.more.clear());
        self.rewrite()
    }

    /// Removes a tombstone. An existing file is recorded again. If there is no file, the next sync writes the memory if
    /// transcripts still contain it.
    pub(crate) fn revive(&mut self, id: MemoryId, name: Option<&str>) -> Result<()> {
        let mut events = vec![LedgerEvent::Revive(id)];
        if let Some(entry) = self.entries.get(&id) {
            let name = name.unwrap_or(&entry.name).to_owned();
            events.push(LedgerEvent::Entry(Box::new(LedgerEntry {
                placed: false,
                name,
                ..entry.clone()
            })));
        }
        self.add(events)
    }

    pub(crate) fn note(&mut self, notes: Vec<LedgerLine>) -> Result<()> {
        let events = notes.into_iter().filter_map(|note| match note {
            LedgerLine::Entry(entry) => Some(LedgerEvent::Entry(entry)),
            LedgerLine::Drop(id) => Some(LedgerEvent::Drop(id)),
            LedgerLine::Bury(tombstone) => Some(LedgerEvent::Tombstone(tombstone)),
            LedgerLine::Seen(seen) => Some(LedgerEvent::Seen(seen)),
            LedgerLine::Own(hash) => (!self.texts.is_own(&hash)).then_some(LedgerEvent::Own(hash)),
        });
        let events = events.collect();
        self.add(events)
    }

    fn add(&mut self, events: Vec<LedgerEvent>) -> Result<()> {
        lines::append(&self.path, &events)?;
        self.lines += events.len();
        for event in events {
            self.apply(event);
        }
        Ok(())
    }

    fn apply(&mut self, event: LedgerEvent) {
        match event {
            // Texts that an entry no longer lists remain recorded, because another branch may contain them.
            LedgerEvent::Entry(entry) => {
                let texts = [&entry.written, &entry.changed].map(|texts| texts.clone());
                if let Some(before) = self.entries.insert(entry.id, *entry) {
                    let is_kept = |hash: &&String| texts.iter().any(|texts| texts.contains(hash));
                    let lost = before.written.iter().chain(&before.changed);
                    lost.filter(|hash| !is_kept(hash)).for_each(|hash| self.texts.own(hash));
                }
            }
            LedgerEvent::Drop(id) => {
                if let Some(before) = self.entries.remove(&id) {
                    self.texts.own_all(&before);
                }
            }
            LedgerEvent::Tombstone(tombstone) => {
                self.tombstones.insert(tombstone.id, tombstone);
            }
            LedgerEvent::Revive(id) => {
                self.tombstones.remove(&id);
            }
            LedgerEvent::Seen(seen) => {
                self.seen.insert(seen.root.clone(), seen);
            }
            LedgerEvent::Own(hash) => self.texts.own(&hash),
            LedgerEvent::Pulled(hash) => self.texts.pulled(&hash),
            LedgerEvent::Claude(hash) => self.texts.claude(&hash),
            LedgerEvent::Ask(change) => drop(self.pending.insert(change.id, change)),
            LedgerEvent::Settle(id) => drop(self.pending.remove(&id)),
        }
    }

    pub(crate) fn compact_if_due(&mut self) -> Result<()> {
        let known =
            self.entries.len() + self.tombstones.len() + self.seen.len() + self.pending.len();
        // Each text has one line, regardless of how often it is recorded.
        let once = self.texts.len() + self.foreign.len();
        if self.lines > known + known / 2 + once + SPARE_LINES || self.damaged > 0 {
            self.rewrite()
        } else {
            Ok(())
        }
    }

    fn rewrite(&mut self) -> Result<()> {
        let entries =
            self.entries.values().cloned().map(|entry| LedgerEvent::Entry(Box::new(entry)));
        let tombstones = self.tombstones.values().cloned().map(LedgerEvent::Tombstone);
        let seen = self.seen.values().cloned().map(LedgerEvent::Seen);
        let own = self.texts.all_own().map(LedgerEvent::Own);
        let pulled = self.texts.all_pulled().map(LedgerEvent::Pulled);
        let texts = own.chain(pulled).chain(self.texts.all_claudes().map(LedgerEvent::Claude));
        let pending = self.pending.values().cloned().map(LedgerEvent::Ask);
        let events = entries.chain(tombstones).chain(seen).chain(texts).chain(pending);
        let events: Vec<LedgerEvent> = events.collect();
        lines::rewrite(&self.path, &self.foreign, &events)?;
        (self.lines, self.damaged) = (events.len() + self.foreign.len(), 0);
        Ok(())
    }
}
