//! Plan of a reconciliation: ledger lines, and changes to files between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Outcome;
use crate::error::Result;
use crate::ledger::{LedgerEntry, LedgerLine};
use crate::store::{Store, write_all};

/// A plan, in order of execution: intents, writes, removals, results.
#[derive(Default)]
pub(super) struct ReconcilePlan {
    pub intents: Vec<LedgerLine>,
    writes: Vec<(Store, PathBuf, String)>,
    /// Paths of `writes` where only links between memories change.
    links: BTreeSet<PathBuf>,
    removals: Vec<(Store, PathBuf)>,
    pub results: Vec<LedgerLine>,
    pub outcome: Outcome,
}

impl ReconcilePlan {
    /// Returns how many files change.
    pub(crate) fn changes(&self) -> usize {
        self.writes.len() + self.removals.len()
    }

    /// Changes files, at most this many of them. The first memory of a tree also creates the store's README, if the
    /// tree `wants_readme`.
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

    /// Notes beforehand that a file will be written or removed, so that it is recognised as ours,
    /// or not missed, whenever a kill comes.
    pub(crate) fn intend(&mut self, entry: &LedgerEntry) {
        self.intents.push(LedgerLine::Entry(Box::new(entry.clone())));
    }

    /// Changes keys of a person's file that link it to newer memories.
    pub(crate) fn link(&mut self, store: &Store, path: &Path, text: &str) {
        self.write(store, path, text);
        self.links.insert(path.to_owned());
    }

    /// Returns the existing files that would be rewritten or removed, except those where only links change.
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

    /// Notes how a memory stands afterwards, when that differs from before.
    pub(crate) fn result(&mut self, before: &LedgerEntry, entry: LedgerEntry) {
        if *before != entry {
            self.results.push(LedgerLine::Entry(Box::new(entry)));
        }
    }
}
