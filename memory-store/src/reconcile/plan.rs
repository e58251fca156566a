//! Plan of a reconciliation: changes to files, and the ledger lines to write before and after them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Outcome;
use crate::error::Result;
use crate::ledger::{LedgerEntry, LedgerLine};
use crate::store::{Store, write_all};

/// A plan, in the order in which it is performed: intents, writes, removals, results.
#[derive(Default)]
pub(super) struct ReconcilePlan {
    pub intents: Vec<LedgerLine>,
    writes: Vec<(Store, PathBuf, String)>,
    /// Paths in `writes` at which only links between memories change.
    links: BTreeSet<PathBuf>,
    removals: Vec<(Store, PathBuf)>,
    pub results: Vec<LedgerLine>,
    pub outcome: Outcome,
}

impl ReconcilePlan {
    /// Returns the number of files that change.
    pub(crate) fn changes(&self) -> usize {
        self.writes.len() + self.removals.len()
    }

    /// Changes files, at most `changes_max` of them. Also creates the store's README with the first memory of a tree
    /// for which `wants_readme` returns true.
    pub(crate) fn perform(
        &self,
        changes_max: usize,
        wants_readme: impl Fn(&Path) -> bool,
    ) -> Result<()> {
        let writes = &self.writes[..self.writes.len().min(changes_max)];
        for (store, path, _) in writes {
            if path.starts_with(&store.folder) && store.root.as_deref().is_some_and(&wants_readme) {
                store.create()?;
            }
        }
        write_all(writes)?;
        let mut removals = self.removals.iter().take(changes_max - writes.len());
        removals.try_for_each(|(store, path)| store.remove(path))
    }

    /// Records in advance that a file will be written or removed. If the run is killed at any moment, a written file is
    /// then recognised as the program's, and a removed file does not count as missing.
    pub(crate) fn intend(&mut self, entry: &LedgerEntry) {
        self.intents.push(LedgerLine::Entry(Box::new(entry.clone())));
    }

    /// Changes the keys in a person's file that link it to newer memories.
    pub(crate) fn link(&mut self, store: &Store, path: &Path, text: &str) {
        self.write(store, path, text);
        self.links.insert(path.to_owned());
    }

    /// Returns the existing files that would be rewritten or removed, except files in which only links change.
    pub(crate) fn replaced(&self) -> Vec<PathBuf> {
        let written = self.writes.iter().map(|(_, path, _)| path);
        let removed = self.removals.iter().map(|(_, path)| path);
        let replaced = written.chain(removed).filter(|path| !self.links.contains(*path));
        replaced.filter(|path| std::fs::symlink_metadata(path).is_ok()).cloned().collect()
    }

    pub(crate) fn write(&mut self, store: &Store, path: &Path, text: &str) {
        self.writes.push((store.clone(), path.to_owned(), text.to_owned()));
    }

    pub(crate) fn remove(&mut self, store: &Store, path: &Path) {
        self.removals.push((store.clone(), path.to_owned()));
    }

    /// Records the state of a memory after the changes, if it differs from the state before.
    pub(crate) fn result(&mut self, before: &LedgerEntry, entry: LedgerEntry) {
        if *before != entry {
            self.results.push(LedgerLine::Entry(Box::new(entry)));
        }
    }
}
