//! Taking secrets out of all that a store keeps.

use std::path::PathBuf;

use super::{Read, Store, listing};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::redact::Redactor;

/// What was cleaned.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Files that held secrets and do not any more.
    pub files: usize,
    /// Those of them that are memories.
    pub memories: usize,
    /// What could not be cleaned without losing something of it, and is as it was.
    pub refused: Vec<Error>,
}

impl Store {
    /// Takes secrets out of memories, of those that wait or were put aside, too, and out of the
    /// ledger, which has their earlier texts. Files that are no memories are left alone.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub fn clean(&self, redactor: &Redactor) -> Result<Cleaned> {
        let _lock = self.lock()?;
        let mut unclean: Vec<PathBuf> = Vec::new();
        let mut folders = self.folders();
        folders.push(self.home.archived_memories());
        listing::visit(&folders, &mut |read| {
            if let Ok(Read { stored, mut file }) = read
                && !file.redact(redactor).is_ok_and(|hidden| hidden == 0)
            {
                unclean.push(stored.path);
            }
        });
        let mut cleaned = Cleaned::default();
        for path in unclean {
            match self.clean_file(&path, redactor) {
                Ok(()) => cleaned.memories += 1,
                Err(error) => cleaned.refused.push(error),
            }
        }
        cleaned.files = cleaned.memories + usize::from(Ledger::open(&self.home)?.clean(redactor)?);
        Ok(cleaned)
    }
}
