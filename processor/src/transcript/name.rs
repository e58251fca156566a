//! Name of a transcript: the session and the subagent that it is of.

/// The session and the subagent that a transcript is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptName {
    /// The session; empty if only the records contain it (subagents of 2.0.x).
    pub session: String,
    /// The subagent.
    pub agent: Option<String>,
}
