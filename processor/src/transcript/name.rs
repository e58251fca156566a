//! Identity of a transcript: its session and its subagent.

/// The session and the subagent of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptName {
    /// The session id; empty if only the records contain it (subagents of 2.0.x).
    pub session: String,
    /// The subagent's id; `None` for the session itself.
    pub agent: Option<String>,
}
