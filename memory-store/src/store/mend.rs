//! Repairs private memory files that a power failure or a full disk truncated. The texts are restored from the ledger.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::Store;
use crate::error::{At, Error, Result};
use crate::file::FILE_BYTES_MAX;
use crate::fs::disk::{Privacy, replace};
use crate::ledger::{Ledger, LedgerEntry};
use crate::stored;

impl Store {
    /// Writes truncated private memory files again. A file is replaced only by a text that begins with the file's
    /// present contents, so text that a person may have written is not lost. Returns the number of repaired files.
    pub fn mend_private(&self) -> Result<usize> {
        let private = Some(&self.folder).filter(|_| self.root.is_none());
        let folders: Vec<&Path> =
            private.into_iter().chain([&self.home.drafts]).map(|it| it.as_path()).collect();
        let is_broken =
            |path: &std::path::PathBuf| matches!(stored::read(path), Err(Error::Memory { .. }));
        let broken: Vec<_> = stored::found(&folders).filter(is_broken).collect();
        if broken.is_empty() {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let ledger = Ledger::open(&self.home)?;
        let mut mended = 0;
        for path in broken {
            let rest = match fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                read => read.at(&path)?,
            };
            let text =
                ledger.entries().find(|entry| is_of(entry, &path)).map(|it| it.text.as_str());
            // A file system may leave zeros in blocks that were not written to the disk.
            let end = rest.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            let is_cut = |text: &&str| {
                text.len() > end
                    && text.len() <= FILE_BYTES_MAX
                    && text.as_bytes().starts_with(&rest[..end])
            };
            if let Some(text) = text.filter(is_cut) {
                replace(&path, text.as_bytes(), Privacy::Private)?;
                mended += 1;
            }
        }
        Ok(mended)
    }
}

/// Returns whether a file has the name of the entry's memory.
fn is_of(entry: &LedgerEntry, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == entry.name.as_str() || name.ends_with(&format!("-{}.md", entry.id.short()))
}
