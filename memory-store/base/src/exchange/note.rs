//! Notes: what hooks leave in the inbox for the processor. A note holds names and numbers only,
//! never text of the conversation: that is read from the transcript, and redacted first. Nor does it say where
//! the session works: the inbox is the working tree's, and a folder may be called anything.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One line of the inbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// When the hook ran.
    pub at: Timestamp,
    /// The event: `UserPromptSubmit`, `PostToolUse`, `PostToolUseFailure`, `Stop`, ...
    pub event: String,
    /// The Claude Code session.
    pub session: String,
    /// The subagent, if it fired inside one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session's transcript.
    pub transcript: String,
    /// The tool call, of the tool events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
}
