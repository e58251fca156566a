//! Progress of background work in a working tree: a small file that hooks read at each stop.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::time::{MINUTE_MS, Timestamp};

/// Progress of the processor. Its file is replaced atomically, by a rename.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Number of bytes of the inbox that the processor has read.
    pub inbox_bytes: u64,
    /// End time of the last run.
    pub last_run: Timestamp,
    /// The setting `due_minutes` at that time, so that the stop hook needs no other file. `None` means the default.
    pub due_minutes: Option<u32>,
    /// Number of consecutive failed runs.
    pub failures: u32,
    /// Error of the last failed run, as one redacted line.
    pub failure: Option<String>,
    /// True if the user was informed of this failure.
    pub announced: bool,
}

impl Progress {
    /// Returns whether an inbox of this length contains unread notes. An inbox shorter than the part that was read is a
    /// new inbox.
    pub const fn leaves(&self, inbox_bytes: u64) -> bool {
        self.inbox_bytes != inbox_bytes
    }

    /// Returns the minimum time between the last run and the next one, in milliseconds.
    pub fn due_ms(&self) -> i64 {
        let minutes = self.due_minutes.unwrap_or_else(|| Settings::default().due_minutes);
        i64::from(minutes) * MINUTE_MS
    }

    /// Reads the progress. A missing or damaged file means no progress.
    pub fn read(path: &Path) -> Self {
        std::fs::read(path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }
}
