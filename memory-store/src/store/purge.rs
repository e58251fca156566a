//! Removes the data of purged sessions from memories.
//!
//! The next reconciliation removes unchanged derived memories of a purged session, because they have no source any
//! more. Memories that a person changed or wrote are kept without their evidence (session, records and quote) and
//! without their cues, which may quote the user's words in the session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Store, disk};
use crate::error::{Error, Result};
use crate::file::{FILE_BYTES_MAX, MemoryFile};
use crate::id::MemoryId;
use crate::ledger::Ledger;
use crate::memory::{Memory, Source};
use crate::stored::{self, Read, Stored};
use crate::time::Timestamp;

/// Purged sources.
pub struct Gone<'a> {
    /// Returns whether the session with this id is purged.
    pub session: &'a dyn Fn(&str) -> bool,
    /// Returns whether the record with this id is purged.
    pub record: &'a dyn Fn(&str) -> bool,
    /// Time before which all memories of this machine are purged.
    pub before: Option<Timestamp>,
    /// Memories that were learned only or first from purged sources.
    pub ids: &'a BTreeSet<MemoryId>,
}

/// Outcome for memories with purged sources.
#[derive(Debug, Default)]
pub struct Unlearned {
    /// Memories that the next reconciliation removes, with their files.
    pub learned: Vec<(PathBuf, Memory)>,
    /// Unchanged derived memories that are removed from the archive.
    pub removed: Vec<(PathBuf, Memory)>,
    /// Memories that are kept without their evidence.
    pub kept: Vec<(PathBuf, Memory)>,
    /// Memories that could not be changed, with the errors.
    pub refused: Vec<(PathBuf, Error)>,
}

/// A memory's file with purged evidence, and the memory that remains.
struct FoundTraces {
    read: Read,
    /// A person's memory without the purged evidence; `None` if the file is removed.
    rest: Option<Memory>,
}

impl Gone<'_> {
    /// Returns whether a memory was first learned from a purged source. The memory's time is compared only if the
    /// ledger lists the memory (`is_known`). Memories of other people come from sessions that are not purged on this
    /// machine.
    pub(crate) fn bore(&self, memory: &Memory, is_known: bool) -> bool {
        let Source { session, turns, quote, .. } = &memory.source;
        let has_evidence = session.is_some() || !turns.is_empty() || quote.is_some();
        session.as_deref().is_some_and(self.session)
            || turns.first().is_some_and(|first| (self.record)(first))
            || has_evidence && is_known && self.has_time(memory.created)
    }

    /// Returns a memory without its purged evidence; `None` if no evidence is purged.
    pub(crate) fn rest(&self, memory: &Memory, is_known: bool) -> Option<Memory> {
        let mut rest = memory.clone();
        rest.source.turns.retain(|record| !(self.record)(record));
        if self.bore(memory, is_known) {
            rest.source.session = None;
            rest.source.quote = None;
            // If no model extracted the memory, its cues are the user's words from the session.
            rest.cues.clear();
            if is_known && self.has_time(memory.created) {
                rest.source.turns.clear();
            }
        }
        (rest != *memory).then_some(rest)
    }

    /// Returns whether the id of a memory shows that it is from a purged source.
    pub(crate) fn has_id(&self, id: MemoryId) -> bool {
        self.ids.contains(&id) || self.has_time(id.time())
    }

    fn has_time(&self, at: Timestamp) -> bool {
        self.before.is_some_and(|before| at < before)
    }
}

impl Store {
    /// Removes purged evidence from the ledger and from memories that a person changed or wrote. Also returns the
    /// memories that the next reconciliation removes.
    ///
    /// # Errors
    /// If the ledger cannot be read or written.
    pub fn unlearn(&self, gone: &Gone<'_>) -> Result<Unlearned> {
        let _lock = self.lock()?;
        let mut ledger = Ledger::open(&self.home)?;
        let (mut done, mut aside) = (Unlearned::default(), BTreeSet::new());
        for FoundTraces { read, rest } in self.of(gone, &ledger) {
            let Read { stored, file } = read;
            let is_aside = stored.path.starts_with(&self.home.archived_memories);
            let (path, memory) = (stored.path.clone(), stored.memory.clone());
            let Some(rest) = rest else {
                if is_aside {
                    match check_unchanged(&path, &file).and_then(|()| disk::remove(&path)) {
                        Ok(()) => done.removed.push((path, memory)),
                        Err(error) => done.refused.push((path, error)),
                    }
                } else {
                    done.learned.push((path, memory));
                }
                continue;
            };
            if is_aside {
                aside.insert(memory.id);
            }
            match self.strip(&mut ledger, &stored, file, &rest) {
                Ok(()) => done.kept.push((path, rest)),
                Err(error) => done.refused.push((path, error)),
            }
        }
        let archived = self.archived()?.memories.into_iter();
        aside.extend(archived.map(|stored| stored.memory.id));
        let mut ids = gone.ids.clone();
        ids.extend(done.removed.iter().map(|(_, memory)| memory.id));
        ledger.unlearn(&Gone { ids: &ids, ..*gone }, &aside)?;
        Ok(done)
    }

    /// Returns what [`Self::unlearn`] would return, without changing anything.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn would_unlearn(&self, gone: &Gone<'_>) -> Result<Unlearned> {
        let ledger = Ledger::open(&self.home)?;
        let mut would = Unlearned::default();
        for FoundTraces { read, rest } in self.of(gone, &ledger) {
            let list = if rest.is_some() { &mut would.kept } else { &mut would.learned };
            list.push((read.stored.path, read.stored.memory));
        }
        Ok(would)
    }

    /// Returns the memory files with purged evidence, including archived files.
    fn of(&self, gone: &Gone<'_>, ledger: &Ledger) -> Vec<FoundTraces> {
        let mut folders = self.folders();
        folders.push(self.home.archived_memories.clone());
        let mut found = Vec::new();
        stored::visit(&folders, &mut |read| {
            let Ok(read) = read else { return };
            let memory = &read.stored.memory;
            let entry = ledger.entry(memory.id);
            let is_known = entry.is_some() || ledger.tombstone(memory.id).is_some();
            let is_as_learned =
                entry.is_some_and(|entry| !entry.saved && entry.wrote(read.file.text()));
            let rest = gone.rest(memory, is_known);
            if !is_as_learned && rest.is_some() {
                found.push(FoundTraces { read, rest });
            } else if is_as_learned && gone.bore(memory, is_known) {
                found.push(FoundTraces { read, rest: None });
            }
        });
        found
    }

    /// Writes a memory's file in place without the purged evidence. The owner of the file does not change.
    fn strip(
        &self,
        ledger: &mut Ledger,
        stored: &Stored,
        mut file: MemoryFile,
        rest: &Memory,
    ) -> Result<()> {
        let path = &stored.path;
        check_unchanged(path, &file)?;
        let origin = ledger.texts().origin(stored);
        file.set(rest)?;
        ledger.inherit(file.text(), origin)?;
        self.write(path, file.text().as_bytes())
    }
}

/// Returns an error if a file changed after it was read, because editors and git do not take the store's lock.
fn check_unchanged(path: &Path, file: &MemoryFile) -> Result<()> {
    let (now, _) = super::read_bounded(path, FILE_BYTES_MAX)?;
    if now == file.text().as_bytes() {
        return Ok(());
    }
    Err(disk::refused(path, "it was changed meanwhile", "Run this again."))
}
