//! Removal of purged data from a ledger: texts, titles, and file names, which derive from titles. Ids, times and hashes
//! of whole texts are kept, because they do not reveal the contents.

use std::collections::BTreeSet;
use std::path::Path;

use super::Ledger;
use super::entry::LedgerEntry;
use crate::error::Result;
use crate::file::MemoryFile;
use crate::id::MemoryId;
use crate::store::Gone;

impl Ledger {
    /// Removes the data of purged sessions, except texts that a person changed or wrote. Archived memories (`aside`)
    /// keep their names.
    pub(crate) fn unlearn(&mut self, gone: &Gone<'_>, aside: &BTreeSet<MemoryId>) -> Result<()> {
        let before = (self.entries.clone(), self.tombstones.clone());
        for entry in self.entries.values_mut() {
            entry.unlearn(gone);
        }
        for tombstone in self.tombstones.values_mut() {
            let id = tombstone.id;
            let is_theirs = self.entries.get(&id).is_some_and(|entry| !entry.text.is_empty());
            if !is_theirs && !aside.contains(&id) && gone.has_id(id) {
                self.entries.remove(&id);
                tombstone.title.clear();
                tombstone.name = None;
            }
        }
        if before.0 == self.entries && before.1 == self.tombstones {
            return Ok(());
        }
        self.forget_history()
    }
}

impl LedgerEntry {
    fn unlearn(&mut self, gone: &Gone<'_>) {
        let Ok(mut file) = MemoryFile::parse(Path::new(""), self.text.as_bytes().to_vec()) else {
            // Without the purged data, the text is not a valid memory, so its session cannot be read from it.
            if gone.has_id(self.id) {
                self.text.clear();
            }
            return;
        };
        let Some(rest) = gone.rest(&file.memory, true) else { return };
        if !self.saved && !self.is_edited() {
            // The next reconciliation removes the memory, or writes it from its other sources.
            self.text.clear();
            return;
        }
        let is_ours = self.wrote(&self.text);
        match file.set(&rest) {
            Ok(()) if is_ours => self.will_write(file.text()),
            Ok(()) => file.text().clone_into(&mut self.text),
            Err(_) => self.text.clear(),
        }
        self.named.retain(|name| *name == self.name);
    }
}
