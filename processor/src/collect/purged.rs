//! List of sessions and records that a person purged. They are not read again, although their transcripts may still
//! exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Result, bail};
use memory_store::Timestamp;
use memory_store::layout::ProjectDir;
use serde::{Deserialize, Serialize};

use crate::private_files::{Damaged, read_checked, write_checked};
use crate::transcript::record::{Record, RecordWhat};

/// List of purged sessions and records of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Purged {
    /// Sessions, by a hash of their id.
    pub sessions: BTreeSet<String>,
    /// Time before which all records were purged.
    pub before: Option<Timestamp>,
    /// Hashes of the uuids of purged records. Other sessions may contain copies of these records.
    pub records: BTreeSet<String>,
    /// Memories that were kept although they contain purged text word for word: the id of each, with a hash of its
    /// text.
    pub said: BTreeMap<String, String>,
}

impl Purged {
    /// Reads the list of a project, or its copy if the list is damaged. Without a list, all purged data would be read
    /// again.
    ///
    /// # Errors
    /// If the list is damaged and there is no intact copy.
    pub fn read(home: &ProjectDir) -> Result<Self> {
        let list = path(home);
        let read = read_checked(&list);
        match (read, read_checked(&copy(home))) {
            (Ok(Some(read)), _) | (Ok(None) | Err(Damaged), Ok(Some(read))) => Ok(read),
            (Ok(None), Ok(None)) => Ok(Self::default()),
            (Ok(None), Err(Damaged)) | (Err(Damaged), Ok(None) | Err(Damaged)) => bail!(
                "{}: the list of what was purged is damaged, and without it that would be read again. Put the \
                 file back, or remove it and {} to have what was purged read again",
                list.display(),
                copy(home).display()
            ),
        }
    }

    /// Writes the list, and its copy.
    pub fn write(&self, home: &ProjectDir) -> Result<()> {
        write_checked(&copy(home), self)?;
        write_checked(&path(home), self)
    }

    /// Returns whether a session was purged.
    pub fn has_session(&self, session: &str) -> bool {
        self.sessions.contains(&hash(session))
    }

    /// Returns whether a record was purged together with its session.
    pub fn has_record(&self, record: &str) -> bool {
        self.records.contains(&hash(record))
    }

    /// Removes purged records.
    pub fn screen(&self, session: &str, records: &mut Vec<Record>) {
        if *self == Self::default() {
            return;
        }
        if self.has_session(session) {
            records.clear();
            return;
        }
        let purged = |record: &Record| self.covers(record);
        if records.iter().any(purged) {
            // A summary may contain content of removed turns.
            records.retain(|record| {
                !purged(record) && !matches!(record.what, RecordWhat::Summary { .. })
            });
        }
    }

    fn covers(&self, record: &Record) -> bool {
        let old = self
            .before
            .is_some_and(|before| record.at != Timestamp::default() && record.at < before);
        old || (!self.records.is_empty() && self.has_record(&record.uuid))
    }
}

/// Returns the hash of an id, which is stored instead of the id so that the list names nothing that was purged.
pub fn hash(id: &str) -> String {
    blake3::hash(id.as_bytes()).to_hex()[..24].to_owned()
}

fn path(home: &ProjectDir) -> PathBuf {
    home.archive.join("purged.json")
}

fn copy(home: &ProjectDir) -> PathBuf {
    home.archive.join("purged.copy.json")
}
