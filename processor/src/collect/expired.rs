//! Sessions without turns: their records were removed because of their age, or lost with the archive file after Claude
//! Code had deleted the transcript. Their drafts are kept. For expired sessions, the watermarks of the transcripts are
//! kept as well.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::layout::ProjectDir;
use serde::{Deserialize, Serialize};

use crate::collect::archive::SessionHeader;
use crate::extract::draft::Draft;
use crate::extract::session_record::SessionRecord;
use crate::private_files::{read_json, remove_if_there, write_json};

/// Remains of a session whose records expired or were lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remains {
    /// The header of the session's archive file.
    pub header: SessionHeader,
    /// The time of the session's last record.
    pub last: Timestamp,
    /// The working directory of the session's first turn.
    pub cwd: String,
    /// Number of the session's turns.
    pub turns: usize,
    /// Drafts learned from the session.
    pub drafts: Vec<Draft>,
    /// Record of the session. Earlier versions stored only its commands and cures.
    #[serde(alias = "proven", skip_serializing_if = "SessionRecord::is_empty")]
    pub record: SessionRecord,
    /// Whether the turns were lost, not removed on purpose.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// Name extensions of the files: for expired sessions, and for lost sessions.
const ENDINGS: [&str; 2] = [".json", ".lost"];

impl Remains {
    /// Adds the remains of a later part of a session whose first turns were removed earlier.
    pub fn take_in(&mut self, newer: Self) {
        let key = |draft: &Draft| (draft.kind, draft.turns.first().cloned(), draft.ordinal);
        let kept = std::mem::take(&mut self.drafts);
        let mut record = std::mem::take(&mut self.record);
        record.extend(newer.record.clone());
        let turns = self.turns + newer.turns;
        let cwd = if self.cwd.is_empty() { newer.cwd.clone() } else { self.cwd.clone() };
        *self = Self { turns, cwd, record, ..newer };
        for draft in kept {
            if !self.drafts.iter().any(|known| key(known) == key(&draft)) {
                self.drafts.push(draft);
            }
        }
    }
}

/// The sessions of a project whose turns were removed.
#[derive(Clone, Debug)]
pub struct Expired {
    folder: PathBuf,
}

impl Expired {
    /// Opens the folder. A missing folder counts as empty.
    pub fn open(home: &ProjectDir) -> Self {
        Self { folder: home.archive.join("expired") }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the names of the sessions, sorted.
    pub fn names(&self) -> Vec<String> {
        let listing = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = listing
            .filter_map(|entry| {
                let name = entry.file_name();
                let name = name.to_str()?;
                let named = |ending: &&str| name.strip_suffix(*ending).map(str::to_owned);
                ENDINGS.iter().find_map(named)
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns whether the turns of a session were lost.
    pub fn is_lost(&self, name: &str) -> bool {
        self.path(name, true).exists()
    }

    /// Returns the sessions whose turns were lost, by the name of their former file.
    pub fn lost(&self) -> Vec<(String, Remains)> {
        let lost = self.names().into_iter().filter(|name| self.is_lost(name));
        lost.filter_map(|name| Some((name.clone(), self.load(&name)?))).collect()
    }

    /// Returns the remains of a session; `None` if there are none.
    pub fn load(&self, name: &str) -> Option<Remains> {
        [true, false].into_iter().find_map(|lost| read_json(&self.path(name, lost)))
    }

    /// Returns the header of a session, with the positions up to which its transcripts were read.
    pub fn header(&self, name: &str) -> Option<SessionHeader> {
        self.load(name).map(|remains| remains.header)
    }

    /// Stores the remains of a session.
    pub fn store(&self, name: &str, remains: &Remains) -> Result<()> {
        write_json(&self.path(name, remains.lost), remains)?;
        remove_if_there(&self.path(name, !remains.lost)).map(drop)
    }

    /// Removes the remains of a session. Returns whether there were any.
    pub fn remove(&self, name: &str) -> Result<bool> {
        Ok(remove_if_there(&self.path(name, true))? | remove_if_there(&self.path(name, false))?)
    }

    /// Returns the existing files of a session.
    pub fn paths(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        [true, false].map(|lost| self.path(name, lost)).into_iter().filter(|path| path.exists())
    }

    /// Returns the path of the remains of a session.
    pub fn path(&self, name: &str, lost: bool) -> PathBuf {
        self.folder.join(format!("{name}{}", ENDINGS[usize::from(lost)]))
    }
}
