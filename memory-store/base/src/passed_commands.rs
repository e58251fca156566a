//! Commands that passed in sessions. The processor writes the list; an explicit search reads it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Command that passed, over all sessions of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PassedCommand {
    /// The command line.
    pub line: String,
    /// Its folder below the root of the working tree; `.` is the root.
    pub folder: String,
    /// Its purpose in one word, such as `test`, if its program has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// Number of sessions in which it passed.
    pub sessions: usize,
    /// Time of its last success.
    pub last: Timestamp,
    /// The session of its last success.
    pub session: String,
}

impl PassedCommand {
    /// Reads the list; a missing or damaged file is an empty list.
    pub fn read_all(path: &Path) -> Vec<Self> {
        let bytes = std::fs::read(path).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Returns the line and its folder for display.
    pub fn shown(&self) -> String {
        match self.folder.as_str() {
            "." | "" => format!("`{}`", self.line),
            folder => format!("`{}` (in `{folder}`)", self.line),
        }
    }
}
