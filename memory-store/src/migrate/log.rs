//! The log of migrations: one line of JSON is appended for each step that ran.

use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{At, Result};
use crate::fs::disk::{open_with_folders, private_options, read_if_there, refuse_links};
use crate::fs::lines::ends_torn;
use crate::layout::ProjectDir;
use crate::time::Timestamp;

/// Name of the log in a private folder.
const FILE: &str = "migrations.jsonl";

/// Maximum size of the log in bytes.
const FILE_BYTES_MAX: usize = 4 << 20;

/// Outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepResult {
    /// The step is about to change files. If the log contains no later line about the step, the process was killed.
    Begun,
    /// The step ran to completion.
    Done,
    /// The step failed, and all its changes were reverted.
    Restored,
    /// The step failed, and a file could not be restored. The backup contains the file's former bytes.
    Failed,
    /// The store cannot be changed in its present state. The step is retried later.
    Waits,
    /// A person restored the store from the backup.
    WentBack,
}

impl StepResult {
    /// Returns the result as a phrase for a person.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Restored => "failed, and put back",
            Self::Failed => "failed",
            Self::Waits => "waits",
            Self::WentBack => "went back",
        }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationLine {
    /// Time at which the line was written.
    pub at: Timestamp,
    /// The folder of the store.
    pub folder: PathBuf,
    /// Format before the step.
    pub from: u32,
    /// Format after the step if the step succeeds.
    pub to: u32,
    /// Name of the step.
    pub name: String,
    /// Version of the program that ran the step.
    pub program: String,
    /// Result of the step.
    pub result: StepResult,
    /// Number of files that the step changed, or is about to change.
    pub files: usize,
    /// Name of the backup in the folder `backups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// Reason why the step failed or will be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl MigrationLine {
    /// Returns whether two lines differ only in their times.
    fn repeats(&self, other: &Self) -> bool {
        Self { at: other.at, ..self.clone() } == *other
    }
}

/// Appends a line, unless it repeats the last line about the store, so that a recurring failure is logged only once.
pub(super) fn append(home: &ProjectDir, line: &MigrationLine) -> Result<()> {
    let before = read(home);
    let last = before.iter().rev().find(|known| known.folder == line.folder);
    if last.is_some_and(|last| last.repeats(line)) {
        return Ok(());
    }
    let path = home.folder.join(FILE);
    let mut options = private_options();
    refuse_links(options.read(true).append(true).create(true));
    let mut file = open_with_folders(&path, &options).at(&path)?;
    let mut bytes = Vec::new();
    // A killed process may have left an incomplete last line.
    if ends_torn(&mut file).at(&path)? {
        bytes.push(b'\n');
    }
    serde_json::to_writer(&mut bytes, line).map_err(std::io::Error::from).at(&path)?;
    bytes.push(b'\n');
    file.write_all(&bytes).at(&path)?;
    file.sync_data().at(&path)
}

/// Reads the log, oldest line first. Skips lines that cannot be parsed.
pub(super) fn read(home: &ProjectDir) -> Vec<MigrationLine> {
    let bytes = read_if_there(&home.folder.join(FILE), FILE_BYTES_MAX).ok().flatten();
    let bytes = bytes.unwrap_or_default();
    let lines = bytes.split(|&byte| byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
