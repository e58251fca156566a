//! Notes of hooks in the inbox for the processor. A note contains only names and numbers, never text of the
//! conversation, which the processor reads from the transcript and redacts first. Nor does it contain the folder of the
//! session, because the inbox belongs to the working tree, and a folder may have any name.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One line of the inbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// Time of the hook.
    pub at: Timestamp,
    /// The event: `UserPromptSubmit`, `PostToolUse`, `PostToolUseFailure`, `Stop`, ...
    pub event: String,
    /// The Claude Code session.
    pub session: String,
    /// The subagent in which the event occurred, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session's transcript.
    pub transcript: String,
    /// The tool call, for tool events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
}
