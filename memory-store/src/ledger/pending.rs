//! Pending changes: what Claude changed, or asked to change, of what the user said. The user's words stay in force until
//! the user decides.

use serde::{Deserialize, Serialize};

use super::More;
use crate::id::MemoryId;
use crate::time::Timestamp;

/// A change of Claude's that the user has not decided about. A memory has one at most, the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// The memory that it would change; of a new file of Claude's, that memory.
    pub id: MemoryId,
    /// The change.
    pub change: Asked,
    /// The session in which Claude made it, or asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Fields of a later version of the program.
    #[serde(flatten)]
    pub(crate) more: More,
}

/// Change that Claude made or asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// A note of Claude's is to replace the user's memory.
    Replace(MemoryId),
    /// The user's memory is to be forgotten.
    Forget,
    /// A tool call changed the file of the user's memory.
    Edit,
    /// A tool call removed the file of the user's memory, which was written again.
    Remove,
    /// A tool call wrote a memory file.
    Add,
    /// A command below Claude Code saved a note. It is the person's, if the transcript shows that they typed it.
    Save,
}

impl PendingChange {
    /// Makes one.
    pub fn new(id: MemoryId, change: Asked, session: Option<String>, at: Timestamp) -> Self {
        Self { id, change, session, at, more: More::new() }
    }
}
