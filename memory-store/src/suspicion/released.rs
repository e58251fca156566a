//! What a person let out of quarantine: the hashes of what these memories say, in a private file of the
//! project, so that a repository cannot release what it brings, and what was edited is judged again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::{Suspicion, VERSION, judged_text, of_record};
use crate::error::{At, Result};
use crate::index::document::Document;
use crate::index::record::{FLAG_HELD, Record};
use crate::layout::ProjectDir;
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::store::private_options;

/// Bytes of the file that are read: some 60,000 releases.
const FILE_BYTES_MAX: u64 = 2 << 20;

/// The releases of one store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released(BTreeSet<String>);

impl Released {
    /// Reads them; none where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(home: &ProjectDir) -> Result<Self> {
        use std::io::Read;

        let path = home.released();
        let mut text = String::new();
        match fs::File::open(&path) {
            Ok(file) => file.take(FILE_BYTES_MAX).read_to_string(&mut text).at(&path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).at(&path),
        };
        Ok(Self(text.lines().map(str::to_owned).collect()))
    }

    /// Lets a memory out as it is now, without what `redactor`, that of its store, hides.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn release(home: &ProjectDir, memory: &Memory, redactor: &Redactor) -> Result<()> {
        let path = home.released();
        let mut options = private_options();
        let mut file = options.create(true).append(true).open(&path).at(&path)?;
        file.write_all(format!("{}\n", hash(&record(memory, redactor))).as_bytes()).at(&path)?;
        file.sync_all().at(&path)
    }

    /// Why a memory is held, if it is; `redactor` is that of its store.
    pub fn suspicion(&self, memory: &Memory, redactor: &Redactor) -> Option<Suspicion> {
        self.suspicion_of(&record(memory, redactor))
    }

    /// Marks a document that is to be held.
    pub fn judge(&self, document: &mut Document) {
        match self.suspicion_of(&document.record) {
            Some(_) => document.entry.flags |= FLAG_HELD,
            None => document.entry.flags &= !FLAG_HELD,
        }
    }

    fn suspicion_of(&self, record: &Record) -> Option<Suspicion> {
        of_record(record).filter(|_| !self.0.contains(&hash(record)))
    }

    /// What judging depends on besides the memories: the rules, and what was released.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        hasher.update(include_bytes!("rules.txt"));
        for hash in &self.0 {
            hasher.update(hash.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// What an index would hold of a memory.
fn record(memory: &Memory, redactor: &Redactor) -> Record {
    Document::memory(&redactor.redacted(memory), Path::new(""), 0, 0).record
}

fn hash(record: &Record) -> String {
    let (title, body) = judged_text(record);
    let mut hasher = blake3::Hasher::new();
    hasher.update(title.as_bytes());
    hasher.update(&[0]);
    hasher.update(body.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}
