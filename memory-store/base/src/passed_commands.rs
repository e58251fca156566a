//! Commands that succeeded in sessions. The processor writes the list; explicit search reads it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A command that succeeded in the sessions of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PassedCommand {
    /// The command line.
    pub line: String,
    /// Folder in which the command ran, relative to the root of the working tree; `.` is the root.
    pub folder: String,
    /// Purpose of the command in one word, such as `test`; empty if its program has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// Number of sessions in which the command succeeded.
    pub sessions: usize,
    /// Time of the last success.
    pub last: Timestamp,
    /// Id of the session with the last success.
    pub session: String,
}

impl PassedCommand {
    /// Reads the list; empty if the file is missing or damaged.
    pub fn read_all(path: &Path) -> Vec<Self> {
        let bytes = std::fs::read(path).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Returns the command line and its folder for display.
    pub fn shown(&self) -> String {
        match self.folder.as_str() {
            "." | "" => format!("`{}`", self.line),
            folder => format!("`{}` (in `{folder}`)", self.line),
        }
    }
}
