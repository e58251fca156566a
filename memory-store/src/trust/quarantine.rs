//! Releases from quarantine. Text that resembles an instruction to the model is quarantined, regardless of its origin,
//! until a person releases it. A release is recorded by the text's hash in a private file of the project. A repository
//! therefore cannot release its own files, and an edited text is judged again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use crate::error::{At, Error, Result};
use crate::format_version;
use crate::fs::disk::private_options;
use crate::fs::file_stamp::Stamp;
use crate::index::document::Document;
use crate::index::record::Record;
use crate::layout::ProjectDir;
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::stored::Stored;
use crate::suspicion::judged_text;

/// Maximum size in bytes of the file of releases: about 60,000 releases.
pub(crate) const RELEASED_BYTES_MAX: usize = 2 << 20;

/// Hashes of released texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Releases(BTreeSet<String>);

impl Releases {
    /// Reads the releases of a project's stores.
    pub(crate) fn read(home: &ProjectDir) -> Result<Self> {
        let path = &home.released;
        let mut text = String::new();
        match fs::File::open(path) {
            Ok(file) => file.take(RELEASED_BYTES_MAX as u64).read_to_string(&mut text).at(path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error).at(path),
        };
        Ok(Self(text.lines().map(str::to_owned).collect()))
    }

    /// Returns whether a person released the text of a record.
    pub(crate) fn have(&self, record: &Record) -> bool {
        self.0.contains(&hash(record))
    }

    /// Includes the releases in a digest.
    pub(crate) fn update(&self, hasher: &mut blake3::Hasher) {
        for hash in &self.0 {
            hasher.update(hash.as_bytes());
        }
    }
}

/// Releases the present text of a memory from quarantine. `redactor` is the redactor of the memory's store.
///
/// # Errors
/// If the file cannot be written.
pub fn let_out(home: &ProjectDir, stored: &Stored, redactor: &Redactor) -> Result<()> {
    format_version::check_private(home)?;
    let path = &home.released;
    let line = hash(&document(&stored.memory, redactor).record) + "\n";
    let mut options = private_options();
    let mut file = options.create(true).append(true).open(path).at(path)?;
    if file.metadata().at(path)?.len() + line.len() as u64 > RELEASED_BYTES_MAX as u64 {
        // Releases beyond this size would not be read, so an error is returned instead.
        return Err(Error::Refused {
            path: path.clone(),
            message: "too much was released before; what is beyond is not read".to_owned(),
            remedy: "Remove the first lines of this file, the oldest releases.",
        });
    }
    file.write_all(line.as_bytes()).at(path)?;
    file.sync_all().at(path)
}

/// Returns the document of a memory for an index.
pub(super) fn document(memory: &Memory, redactor: &Redactor) -> Document {
    document_of(&redactor.redacted(memory))
}

/// Returns the document of a redacted memory for an index.
pub(super) fn document_of(redacted: &Memory) -> Document {
    Document::memory(redacted, Path::new(""), Stamp::default())
}

fn hash(record: &Record) -> String {
    let (title, body) = judged_text(record);
    let mut hasher = blake3::Hasher::new();
    hasher.update(title.as_bytes());
    hasher.update(&[0]);
    hasher.update(body.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}
