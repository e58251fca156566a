//! Taking secrets out of all that a store keeps, the names of its files among it.

use std::path::{Path, PathBuf};

use super::{Read, Store, free_path_in, listing};
use crate::error::{Error, Result};
use crate::file::{EXTENSION, FILE_BYTES_MAX, parts};
use crate::fs::disk::{self, refused};
use crate::ledger::{Ledger, Origin};
use crate::memory::Memory;
use crate::redact::Redactor;

/// Result of cleaning.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Files that held secrets and do not any more.
    pub files: usize,
    /// Number of them that are memories.
    pub memories: usize,
    /// Files left as they were, because they could not be read, or not be cleaned without loss.
    pub refused: Vec<Error>,
}

impl Store {
    /// Takes secrets out of memories, of those that wait or were put aside, too, and out of the
    /// ledger, which has their earlier texts. Files that are no memories are left alone, and refused where they hold one.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub fn clean(&self, redactor: &Redactor) -> Result<Cleaned> {
        let _lock = self.lock()?;
        let mut unclean: Vec<PathBuf> = Vec::new();
        let mut folders = self.folders();
        folders.push(self.home.archived_memories.clone());
        let mut cleaned = Cleaned::default();
        listing::visit(&folders, &mut |read| match read {
            Ok(Read { stored, mut file }) => {
                let is_clean = file.redact(redactor).is_ok_and(|hidden| hidden == 0);
                if !is_clean || tells(&stored.path, redactor) {
                    unclean.push(stored.path);
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
        cleaned.files = cleaned.memories + usize::from(Ledger::open(&self.home)?.clean(redactor)?);
        Ok(cleaned)
    }

    /// Takes secrets out of a memory's file and its name. Our own texts stay ours. Of another text the ledger learns
    /// only whether what stood there was of this machine: what somebody else wrote does not become the user's own by a
    /// word that was hidden in it.
    fn clean_file(&self, path: &Path, redactor: &Redactor) -> Result<()> {
        let Read { stored, mut file } = listing::read(path)?;
        let before = file.text().to_owned();
        file.redact(redactor)?;
        let mut ledger = Ledger::open(&self.home)?;
        let is_ours = ledger.entry(stored.memory.id).is_some_and(|entry| entry.wrote(&before));
        let tells = tells(path, redactor);
        if !is_ours {
            let origin = match ledger.texts().origin(&stored) {
                // Nobody has looked yet where it is from; rewritten, it would look like the user's own.
                Origin::Unknown if self.root.is_some() => Origin::Pulled,
                known => known,
            };
            ledger.inherit(file.text(), origin)?;
        }
        if tells && !is_ours {
            // By another name it would be a file that nobody has seen.
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

    /// Returns where a memory's file may be instead of where it is.
    fn telling_less(&self, path: &Path, memory: &Memory, redactor: &Redactor) -> Result<PathBuf> {
        let folder = path.parent().unwrap_or(&self.folder);
        let to = free_path_in(folder, memory)?;
        let by_id = || folder.join(format!("{}.{EXTENSION}", memory.id));
        Ok(if tells(&to, redactor) { by_id() } else { to })
    }
}

/// Returns the error to report for a file that is no memory or cannot be read; `None` if all of it was looked at, and
/// is clean.
fn unread(error: Error, redactor: &Redactor) -> Option<Error> {
    let path = error.path()?;
    // The target of a link is not ours to change.
    if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return None;
    }
    let Ok((bytes, _)) = disk::read(path, FILE_BYTES_MAX) else { return Some(error) };
    let text = String::from_utf8_lossy(&bytes);
    let holds = parts(&text).iter().any(|part| !redactor.findings(part).is_empty());
    (holds || tells(path, redactor)).then_some(error)
}

/// Returns whether the name of a file holds a secret.
fn tells(path: &Path, redactor: &Redactor) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str());
    name.is_some_and(|name| !redactor.findings(name).is_empty())
}
