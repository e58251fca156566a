//! Name of a transcript: the session and the subagent that it is of.

use std::path::Path;

use super::SOURCE;

/// The session and the subagent that a transcript is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptName {
    /// The session; empty where only the records tell it (subagents of 2.0.x).
    pub session: String,
    /// The subagent.
    pub agent: Option<String>,
}

impl TranscriptName {
    /// Reads it from a path; `None` for files that are no transcripts.
    pub fn of(path: &Path) -> Option<Self> {
        SOURCE.name(path)
    }
}
