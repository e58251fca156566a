//! The names that a person joined or kept apart, in `entities.toml` next to the folder of memory files. The file is
//! trusted like memory files: it is read only in a trusted working tree. If memories from the repository require a
//! release, this file requires a release as well.

use std::path::{Path, PathBuf};

use super::{Store, check_folder};
use crate::error::{Error, Result};
use crate::fs::disk::{self, Privacy, Write};
use crate::knowledge::confirmed::{CONFIRMED_BYTES_MAX, ConfirmedNames, NAME};
use crate::redact::Redactor;

/// Name of the file with the hash of the released text, in the private folder.
const RELEASED: &str = "entities.released";

/// Maximum size in bytes of the file with the released hash.
const RELEASED_BYTES_MAX: usize = 64;

impl Store {
    /// Returns the path of `entities.toml`.
    pub fn names_file(&self) -> PathBuf {
        self.folder.parent().unwrap_or(&self.folder).join(NAME)
    }

    /// Reads the names. Also returns the errors of single lines, or the reason why the whole file is not used.
    pub fn names(&self) -> (ConfirmedNames, Vec<Error>) {
        let path = self.names_file();
        match self.read_names(&path) {
            Ok(None) => (ConfirmedNames::default(), Vec::new()),
            Ok(Some(text)) if self.are_names_released(&text) => ConfirmedNames::parse(&path, &text),
            Ok(Some(_)) => {
                let message =
                    "these names are from the repository and not released; they are not used";
                let remedy = "Read the file, then run `throughline graph --release-names`.";
                (ConfirmedNames::default(), vec![disk::refused(&path, message, remedy)])
            }
            Err(error) => (ConfirmedNames::default(), vec![error]),
        }
    }

    /// Changes the names. The text of the file is redacted by `redactor`. Returns false if nothing changes.
    ///
    /// # Errors
    /// If a line is invalid, the names are not released, a name resembles a secret, or the file cannot be written.
    pub fn change_names(
        &self,
        redactor: &Redactor,
        change: impl FnOnce(&mut ConfirmedNames) -> bool,
    ) -> Result<bool> {
        let _lock = self.lock()?;
        let (mut names, mut broken) = self.names();
        if let Some(error) = broken.pop() {
            return Err(error);
        }
        let path = self.names_file();
        if !change(&mut names) {
            return Ok(false);
        }
        let text = names.text();
        if redactor.redact(&text) != text {
            let remedy = "Choose another name, or see `throughline redact`.";
            return Err(disk::refused(&path, "a name contains what looks like a secret", remedy));
        }
        let (root, privacy) = match &self.root {
            Some(root) => {
                check_folder(root)?;
                (root.as_path(), Privacy::Shared)
            }
            None => (self.home.folder.as_path(), Privacy::Private),
        };
        self.create()?;
        disk::replace_all(&[Write { root, path: &path, bytes: text.as_bytes(), privacy }])?;
        self.note_released(&text)?;
        Ok(true)
    }

    /// Releases the present `entities.toml` from the repository.
    ///
    /// # Errors
    /// If the file cannot be read, or the release cannot be recorded.
    pub fn release_names(&self) -> Result<()> {
        let text = self.read_names(&self.names_file())?;
        text.map_or(Ok(()), |text| self.note_released(&text))
    }

    fn read_names(&self, path: &Path) -> Result<Option<String>> {
        let root = self.root.as_deref().unwrap_or(&self.home.folder);
        let bytes = disk::if_there(disk::read_below(root, path, CONFIRMED_BYTES_MAX))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn are_names_released(&self, text: &str) -> bool {
        let waits = self.root.is_some()
            && self.judged.as_deref().is_some_and(|(trust, _)| trust.holds_unreleased());
        let released = || disk::read_if_there(&self.home.folder.join(RELEASED), RELEASED_BYTES_MAX);
        !waits || released().is_ok_and(|known| known.as_deref() == Some(hash(text).as_bytes()))
    }

    fn note_released(&self, text: &str) -> Result<()> {
        let path = self.home.folder.join(RELEASED);
        disk::replace(&path, hash(text).as_bytes(), Privacy::Private)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
