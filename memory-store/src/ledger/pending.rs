//! Pending changes: changes that Claude made or requested to memories that the user stated. The user's text remains
//! valid until the user decides.

use serde::{Deserialize, Serialize};

use super::More;
use crate::id::MemoryId;
use crate::time::Timestamp;

/// A change by Claude that the user has not decided about. Each memory has at most one, the latest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// The memory to be changed, or the memory of a file that Claude created.
    pub id: MemoryId,
    /// The change.
    pub change: Asked,
    /// The session in which Claude made or requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Time of the change.
    pub at: Timestamp,
    /// Fields of a later version of the program.
    #[serde(flatten)]
    pub(crate) more: More,
}

/// Kind of a change by Claude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Claude noted a memory that would replace the user's memory with this id.
    Replace(MemoryId),
    /// Claude requested that the user's memory be forgotten.
    Forget,
    /// A tool call edited the file of the user's memory.
    Edit,
    /// A tool call removed the file of the user's memory. The program wrote the file again.
    Remove,
    /// A tool call wrote a memory file.
    Add,
    /// A command that Claude Code ran saved a note. If the transcript shows that the user typed the command, the note
    /// counts as the user's.
    Save,
}

impl PendingChange {
    /// Creates a pending change.
    pub fn new(id: MemoryId, change: Asked, session: Option<String>, at: Timestamp) -> Self {
        Self { id, change, session, at, more: More::new() }
    }
}
