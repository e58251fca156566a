//! Redaction of all data of a store, including the names of its files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{By, Store, free_path_in};
use crate::error::{Error, Result};
use crate::file::{EXTENSION, FILE_BYTES_MAX, MemoryFile, parts};
use crate::fs::disk::{self, refused};
use crate::ledger::{Ledger, LedgerEntry, LedgerOrigin};
use crate::memory::Memory;
use crate::migrate;
use crate::reconcile::{Owner, OwnershipEvidence};
use crate::redact::Redactor;
use crate::reviewed::Reviewed;
use crate::stored::{self, Read, Stored};

/// A proposed redaction of a person's memory file. The file is not changed until the person decides.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The memory and its file.
    pub stored: Stored,
    /// Present text of the file.
    pub before: String,
    /// Proposed text of the file.
    pub after: String,
}

/// Returns whether git tracks the memory file at a path.
pub type IsCommitted<'a> = &'a dyn Fn(&Path) -> bool;

/// Result of a redaction.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Number of files that contained secrets and were redacted.
    pub files: usize,
    /// Number of memory files among these files.
    pub memories: usize,
    /// Memory files of a person that contain secrets. They are not changed until the person decides.
    pub kept: Vec<PathBuf>,
    /// Errors for files that were not changed because they could not be read, or because redaction would have made them
    /// invalid.
    pub refused: Vec<Error>,
}

impl Store {
    /// Redacts memories, including pending and archived memories, the ledger, and the backups of migrations, which
    /// contain earlier texts of memories. Files that are not memories are not changed. If such a file contains a
    /// secret, an error is reported.
    ///
    /// If `committed` is given, memories that a person owns are not changed. Their texts in the ledger are not changed
    /// either, because the ledger restores these files if git removes them.
    ///
    /// # Errors
    /// If the ledger cannot be read or written.
    pub fn clean(
        &self,
        redactor: &Redactor,
        committed: Option<IsCommitted<'_>>,
    ) -> Result<Cleaned> {
        let _lock = self.lock()?;
        let (mut ledger, reviewed) = (Ledger::open(&self.home)?, Reviewed::read(&self.home));
        let mut unclean: Vec<PathBuf> = Vec::new();
        let mut folders = self.folders();
        folders.push(self.home.archived_memories.clone());
        let (mut cleaned, mut owned) = (Cleaned::default(), BTreeSet::new());
        stored::visit(&folders, &mut |read| match read {
            Ok(read) => {
                let entry = ledger.entry(read.stored.memory.id);
                let is_kept = committed.is_some_and(|is_committed| {
                    is_persons(entry, &read, is_committed(&read.stored.path), &reviewed)
                });
                let Read { stored, mut file } = read;
                if is_kept {
                    owned.insert(stored.memory.id);
                }
                let is_clean = file.redact(redactor).is_ok_and(|hidden| hidden == 0);
                match (is_clean && !has_secret_in_name(&stored.path, redactor), is_kept) {
                    (true, _) => {}
                    (false, true) => cleaned.kept.push(stored.path),
                    (false, false) => unclean.push(stored.path),
                }
            }
            Err(error) => cleaned.refused.extend(unread(error, redactor)),
        });
        for path in unclean {
            match self.clean_file(&path, redactor) {
                Ok(()) => cleaned.memories += 1,
                Err(error) => cleaned.refused.push(error),
            }
        }
        ledger = Ledger::open(&self.home)?;
        let is_kept = |entry: &LedgerEntry| {
            committed.is_some() && (owned.contains(&entry.id) || is_entry_persons(entry))
        };
        cleaned.files = cleaned.memories + usize::from(ledger.clean(redactor, &is_kept)?);
        cleaned.files += migrate::redact_all(&self.home, redactor)?;
        Ok(cleaned)
    }

    /// Returns the changes that `redactor` would make to memory files that a person owns. Files that would be invalid
    /// after the redaction are omitted.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn proposals(
        &self,
        redactor: &Redactor,
        is_committed: IsCommitted<'_>,
    ) -> Result<Vec<Proposal>> {
        let (ledger, reviewed) = (Ledger::open(&self.home)?, Reviewed::read(&self.home));
        let mut proposals = Vec::new();
        stored::visit(&self.folders(), &mut |read| {
            let Ok(read) = read else { return };
            let mut file = read.file.clone();
            let entry = ledger.entry(read.stored.memory.id);
            let hides = file.redact(redactor);
            if hides
                .is_ok_and(|hidden| hidden > 0 || has_secret_in_name(&read.stored.path, redactor))
                && is_persons(entry, &read, is_committed(&read.stored.path), &reviewed)
            {
                let (before, after) = (read.file.text().to_owned(), file.text().to_owned());
                proposals.push(Proposal { stored: read.stored, before, after });
            }
        });
        Ok(proposals)
    }

    /// Redacts a file as proposed, after the person agreed. The person still owns the file. Returns the memory after
    /// the change, or `None` if the file no longer has the text that was shown to the person.
    ///
    /// # Errors
    /// If files cannot be read or written.
    pub fn make(&self, proposal: &Proposal, redactor: &Redactor) -> Result<Option<Stored>> {
        let _lock = self.lock()?;
        let path = &proposal.stored.path;
        let Read { stored, file } = stored::read(path)?;
        if file.text() != proposal.before {
            return Ok(None);
        }
        let after = MemoryFile::parse(path, proposal.after.clone().into_bytes())?;
        let before = proposal.before.as_bytes();
        let as_it_is = Redactor { only_known: true, ..Redactor::default() };
        let mut saved = self.put(stored, before, By::Redaction, after, &as_it_is)?.stored;
        if has_secret_in_name(path, redactor) {
            let to = self.telling_less(path, &saved.memory, redactor)?;
            self.write(&to, proposal.after.as_bytes())?;
            self.remove(path)?;
            let read = stored::read(&to)?;
            self.note_saved(&to, &read.file, By::Redaction)?;
            saved = read.stored;
        }
        Ok(Some(saved))
    }

    /// Returns the paths of the memory files that a person owns.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn owned(&self, is_committed: IsCommitted<'_>) -> Result<Vec<PathBuf>> {
        let (ledger, reviewed) = (Ledger::open(&self.home)?, Reviewed::read(&self.home));
        let mut owned = Vec::new();
        stored::visit(&self.folders(), &mut |read| {
            if let Ok(read) = read {
                let entry = ledger.entry(read.stored.memory.id);
                if is_persons(entry, &read, is_committed(&read.stored.path), &reviewed) {
                    owned.push(read.stored.path);
                }
            }
        });
        Ok(owned)
    }

    /// Redacts a memory's file and the file's name. If the program wrote the text, the ledger also lists the redacted
    /// text as written by the program. Otherwise the redacted text gets the origin of the earlier text, so that a text
    /// by another person does not become the user's own.
    fn clean_file(&self, path: &Path, redactor: &Redactor) -> Result<()> {
        let Read { stored, mut file } = stored::read(path)?;
        let before = file.text().to_owned();
        file.redact(redactor)?;
        let mut ledger = Ledger::open(&self.home)?;
        let is_ours = ledger.entry(stored.memory.id).is_some_and(|entry| entry.wrote(&before));
        let tells = has_secret_in_name(path, redactor);
        if !is_ours {
            let origin = match ledger.texts().origin(&stored) {
                // No survey has determined the origin of the text yet. Without this line, the redacted text would count
                // as the user's own.
                LedgerOrigin::Unknown if self.root.is_some() => LedgerOrigin::Pulled,
                known => known,
            };
            ledger.inherit(file.text(), origin)?;
        }
        if tells && !is_ours {
            // The program does not rename a file that it did not write.
            if file.text() != before {
                self.write(path, file.text().as_bytes())?;
            }
            return Err(refused(path, "its name holds a secret", "Give it another name."));
        }
        let to =
            if tells { self.telling_less(path, &file.memory, redactor)? } else { path.to_owned() };
        if is_ours {
            ledger.cleaned(file.memory.id, self.relative(&to).as_deref(), file.text())?;
        }
        self.write(&to, file.text().as_bytes())?;
        if to == *path { Ok(()) } else { self.remove(path) }
    }

    /// Returns a path for a memory's file with a name that contains no secret.
    fn telling_less(&self, path: &Path, memory: &Memory, redactor: &Redactor) -> Result<PathBuf> {
        let folder = path.parent().unwrap_or(&self.folder);
        let to = free_path_in(folder, memory)?;
        let by_id = || folder.join(format!("{}.{EXTENSION}", memory.id));
        Ok(if has_secret_in_name(&to, redactor) { by_id() } else { to })
    }
}

/// Returns whether a person owns a memory's file. A person wrote a file that the ledger does not contain.
fn is_persons(
    entry: Option<&LedgerEntry>,
    read: &Read,
    tracked: bool,
    reviewed: &Reviewed,
) -> bool {
    let Some(entry) = entry else { return true };
    let edited = !entry.wrote(read.file.text());
    let kept = entry.was_kept(reviewed);
    Owner::of(entry, &read.stored.memory, OwnershipEvidence { tracked, edited, kept })
        == Owner::Person
}

/// Returns whether, according to the ledger, a person owns the memory of an entry.
fn is_entry_persons(entry: &LedgerEntry) -> bool {
    entry.owned || entry.committed || entry.promoted || entry.saved || entry.is_edited()
}

/// Returns the error to report for a file that is not a memory or cannot be read. Returns `None` if the whole file was
/// searched and contains no secret.
fn unread(error: Error, redactor: &Redactor) -> Option<Error> {
    let path = error.path()?;
    // The target of a symbolic link is not changed.
    if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return None;
    }
    let Ok((bytes, _)) = disk::read(path, FILE_BYTES_MAX) else { return Some(error) };
    let text = String::from_utf8_lossy(&bytes);
    let holds = parts(&text).iter().any(|part| !redactor.findings(part).is_empty());
    (holds || has_secret_in_name(path, redactor)).then_some(error)
}

/// Returns whether the name of a file contains a secret.
fn has_secret_in_name(path: &Path, redactor: &Redactor) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str());
    name.is_some_and(|name| !redactor.findings(name).is_empty())
}
