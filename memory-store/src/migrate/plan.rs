//! Changes that a step plans: files with their bytes before and after.

use std::path::{Path, PathBuf};

use super::site::Site;
use crate::error::Result;
use crate::fs::disk::{self, refused};
use crate::ledger::LedgerLine;

/// Result of planning a step.
pub(super) enum Planned {
    /// The changes. If there are none, the store already has the new format.
    Changes {
        /// Files, in the order in which they change.
        files: Vec<FileChange>,
        /// Lines that are appended to the ledger before the files change, so that the ledger lists each new text as
        /// written by the program. They remain in the ledger even if the run fails.
        ledger: Vec<LedgerLine>,
    },
    /// The store cannot be changed in its present state, for this reason. The step is retried later.
    Waits(String),
}

impl Planned {
    /// Returns changes to files that the ledger does not list.
    pub(super) fn files(files: Vec<FileChange>) -> Self {
        Self::Changes { files, ledger: Vec::new() }
    }
}

/// A change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    pub path: PathBuf,
    /// Bytes before the change; `None` if the file does not exist.
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

impl FileChange {
    /// Returns a change that replaces the bytes of a file.
    pub(super) fn replace(path: PathBuf, before: Option<Vec<u8>>, after: Vec<u8>) -> Self {
        Self { path, before, after: Some(after) }
    }

    /// Makes the change, unless another program changed the file since it was read.
    pub(super) fn perform(&self, site: &Site) -> Result<()> {
        if site.read(&self.path)? != self.before {
            return Err(refused(
                &self.path,
                "this file changed while it was to be migrated",
                "Run `throughline sync` again.",
            ));
        }
        put(site, &self.path, self.after.as_deref())
    }
}

/// Writes these bytes to a file; `None` removes the file.
pub(super) fn put(site: &Site, path: &Path, bytes: Option<&[u8]>) -> Result<()> {
    let root = site.bound(path)?;
    match bytes {
        Some(bytes) => {
            disk::replace_all(&[disk::Write { root, path, bytes, privacy: site.privacy(path) }])
        }
        None => disk::remove_below(root, path),
    }
}
