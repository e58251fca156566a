//! Notes that hooks write to the inbox for the processor. A note contains only names and numbers, never text of the
//! conversation: the processor reads such text from the transcript and redacts it first. A note does not contain the
//! session's folder either, because the inbox belongs to the working tree, and a folder may have any name.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One line of the inbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// Time at which the hook ran.
    pub at: Timestamp,
    /// Name of the event: `UserPromptSubmit`, `PostToolUse`, `PostToolUseFailure`, `Stop`, ...
    pub event: String,
    /// Id of the Claude Code session.
    pub session: String,
    /// Id of the subagent in which the event occurred, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Path of the session's transcript.
    pub transcript: String,
    /// Id of the tool call, for tool events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
}
