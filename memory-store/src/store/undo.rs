//! Reverts a decision about memories. The files are restored byte for byte, together with their ledger entries and a
//! person's decisions about them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Store, read_bounded};
use crate::error::Result;
use crate::file::FILE_BYTES_MAX;
use crate::fs::disk::{self, Privacy, read_if_there, replace};
use crate::id::MemoryId;
use crate::ledger::{Ledger, LedgerEntry, Tombstone, hashes};
use crate::reviewed::Reviewed;
use crate::stored::{self, Stored};
use crate::trust::RELEASED_BYTES_MAX;

/// State of several memories of a store: their files, their ledger entries, and the decisions about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryState {
    ids: BTreeSet<MemoryId>,
    /// Files of the memories in the memory folder, among the drafts, and among the archived memories.
    files: BTreeMap<PathBuf, Vec<u8>>,
    entries: BTreeMap<MemoryId, LedgerEntry>,
    tombstones: BTreeMap<MemoryId, Tombstone>,
    /// Hashes of the memories' texts. `own` contains the hashes of texts that a person released or that this machine
    /// wrote.
    texts: BTreeSet<String>,
    own: BTreeSet<String>,
    /// Decisions about the memories.
    reviewed: Reviewed,
    /// Contents of the file with the releases from quarantine.
    released: Option<Vec<u8>>,
}

/// Result of reverting a decision.
#[derive(Clone, Debug, Default)]
pub struct PutBack {
    /// Memories whose files exist again or have another text.
    pub stored: Vec<Stored>,
    /// Memories that no longer have a file in a folder from which memories are recalled.
    pub gone: Vec<MemoryId>,
}

impl MemoryState {
    /// Returns the files that differ in a later state.
    fn differing<'a>(&'a self, after: &'a Self) -> BTreeSet<&'a PathBuf> {
        let paths = self.files.keys().chain(after.files.keys());
        paths.filter(|path| self.files.get(*path) != after.files.get(*path)).collect()
    }

    /// Returns the files of a later state that do not exist in this state.
    pub fn added<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = &'a PathBuf> {
        after.files.keys().filter(|path| !self.files.contains_key(*path))
    }
}

impl Store {
    /// Reads the state of memories, and of the memories that they supersede or that supersede them. A decision changes
    /// both.
    ///
    /// # Errors
    /// If a file or the ledger cannot be read.
    pub fn state_of(&self, ids: &[MemoryId]) -> Result<MemoryState> {
        let mut all: BTreeSet<MemoryId> = ids.iter().copied().collect();
        for stored in self.files() {
            let memory = &stored.memory;
            let links = memory.supersedes.iter().chain(&memory.superseded_by).copied();
            let links: Vec<MemoryId> = links.collect();
            if ids.contains(&memory.id) {
                all.extend(links);
            } else if links.iter().any(|id| ids.contains(id)) {
                all.insert(memory.id);
            }
        }
        self.read_state(all)
    }

    /// Reads the present state of the same memories.
    ///
    /// # Errors
    /// See [`Store::state_of`].
    pub fn state_again(&self, before: &MemoryState) -> Result<MemoryState> {
        self.read_state(before.ids.clone())
    }

    fn read_state(&self, ids: BTreeSet<MemoryId>) -> Result<MemoryState> {
        let _lock = self.lock()?;
        let ledger = Ledger::open(&self.home)?;
        let texts = ledger.texts();
        let mut state = MemoryState {
            reviewed: Reviewed::read(&self.home).about(&ids),
            released: read_if_there(&self.home.released, RELEASED_BYTES_MAX)?,
            ..MemoryState::default()
        };
        for stored in self.files().into_iter().filter(|it| ids.contains(&it.memory.id)) {
            let known = hashes(&stored);
            state.own.extend(known.iter().filter(|hash| texts.is_own(hash)).cloned());
            state.texts.extend(known);
            let (bytes, _) = read_bounded(&stored.path, FILE_BYTES_MAX)?;
            state.files.insert(stored.path, bytes);
        }
        for &id in &ids {
            let aside = self.home.archived_memories.join(format!("{id}.md"));
            if let Some(bytes) = read_if_there(&aside, FILE_BYTES_MAX)? {
                state.files.insert(aside, bytes);
            }
            state.entries.extend(ledger.entry(id).map(|entry| (id, entry.clone())));
            state.tombstones.extend(ledger.tombstone(id).map(|it| (id, it.clone())));
        }
        Ok(MemoryState { ids, ..state })
    }

    /// Reverts a decision, given the states before and after it. Changes nothing if a file changed after the decision.
    ///
    /// # Errors
    /// If a file changed after the decision, or cannot be written.
    pub fn put_back(&self, before: &MemoryState, after: &MemoryState) -> Result<PutBack> {
        let lock = self.lock()?;
        let differing = before.differing(after);
        for path in &differing {
            if read_if_there(path, FILE_BYTES_MAX)?.as_ref() != after.files.get(*path) {
                return Err(disk::refused(
                    path,
                    "this file was changed since that decision, which is therefore not undone",
                    "Look at it, and change it by hand.",
                ));
            }
        }
        // If the process is killed in between, a memory is at its place or at both places. The next sync resolves this.
        for path in &differing {
            if let Some(bytes) = before.files.get(*path) {
                self.write(path, bytes)?;
            }
        }
        let mut ledger = Ledger::open(&self.home)?;
        ledger.put_back(&before.ids, &before.entries, &before.tombstones)?;
        // A release changes no memory file. It only adds the hash of an existing text to the texts of this machine.
        let released = after.own.intersection(&before.texts);
        let released = released.filter(|hash| !before.own.contains(*hash)).cloned();
        ledger.disown(&released.collect())?;
        let added = differing.iter().filter(|path| !before.files.contains_key(**path));
        added.into_iter().try_for_each(|path| self.remove(path))?;
        if before.released != after.released
            && read_if_there(&self.home.released, RELEASED_BYTES_MAX)? == after.released
        {
            let bytes = before.released.as_deref().unwrap_or_default();
            replace(&self.home.released, bytes, Privacy::Private)?;
        }
        drop(lock);
        Reviewed::change(&self.home, |reviewed| reviewed.put_back(&before.ids, &before.reviewed))?;
        self.changes_for_recall(before, after)
    }

    /// Returns the memories that the index for recall must read again or drop.
    fn changes_for_recall(&self, before: &MemoryState, after: &MemoryState) -> Result<PutBack> {
        let folders = self.folders();
        let is_recalled = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let mut back = PutBack::default();
        for path in before.files.keys().filter(|path| is_recalled(path)) {
            back.stored.push(stored::read(path)?.stored);
        }
        let there: BTreeSet<MemoryId> = back.stored.iter().map(|it| it.memory.id).collect();
        back.gone = after.ids.difference(&there).copied().collect();
        Ok(back)
    }
}
