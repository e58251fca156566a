//! A record: the stored data of one line of a transcript. The archive consists of these.

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use super::session::{Input, PromptBy};

/// Record of a line, or of one content block of it. Its text is redacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The line's uuid; for lines without one, a hash of the stored data.
    #[serde(rename = "u")]
    pub uuid: String,
    /// Counts the records of one line.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// The uuid of the line it follows; empty at a root.
    #[serde(rename = "p", default, skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// Its time; 0 if the line has none.
    #[serde(rename = "t", default)]
    pub at: Timestamp,
    /// Whether it belongs to a subagent that was written into the main transcript (1.0.x).
    #[serde(rename = "side", default, skip_serializing_if = "is_false")]
    pub side: bool,
    /// Its content.
    #[serde(flatten)]
    pub what: RecordWhat,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "k")]
pub enum RecordWhat {
    /// Without content; it links its child records to its parent.
    Link,
    /// A prompt.
    Prompt {
        /// The working directory.
        cwd: String,
        /// The branch.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        branch: String,
        /// The text.
        text: String,
        /// Author of the prompt.
        by: PromptBy,
        /// Number of images attached to it.
        #[serde(default, skip_serializing_if = "is_zero")]
        images: u32,
    },
    /// The user interrupted.
    Interrupt,
    /// Text of the assistant.
    Text {
        /// The API message that it is part of.
        message: String,
        /// The text.
        text: String,
    },
    /// The model's reasoning.
    Thinking {
        /// The API message that it is part of.
        message: String,
        /// The text.
        text: String,
    },
    /// A call of a tool.
    Call {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// Input of the call.
        what: Input,
        /// Change to the list of tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskChange>,
    },
    /// A tool gave a result.
    Result(Box<ToolResult>),
    /// A prompt typed while Claude was busy was added to the queue.
    Enqueue {
        /// The prompt; empty if no person wrote it.
        text: String,
    },
    /// The first prompt of the queue was removed for processing.
    Dequeue,
    /// The queue was moved back into the prompt field.
    PopAll,
    /// A queued prompt reached the model within a turn.
    Queued {
        /// The prompt.
        text: String,
    },
    /// The conversation was compacted here.
    Boundary {
        /// The last record before it.
        after: String,
    },
    /// The summary after a compaction.
    Summary {
        /// The working directory.
        cwd: String,
        /// The branch.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        branch: String,
        /// The text.
        text: String,
    },
    /// A title of the conversation, from a line that is not about a single record.
    Title {
        /// The title.
        text: String,
        /// How much it counts: the person's own beats a generated one.
        rank: u8,
        /// The record that it was written for, if it names one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        leaf: String,
    },
}

/// Result of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// The call.
    pub id: String,
    /// Output for the model, cut in the middle.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Whether it failed.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Whether the user refused it.
    #[serde(skip_serializing_if = "is_false")]
    pub denied: bool,
    /// The user's words when refusing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Whether it was interrupted.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// Lines added and removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<(u32, u32)>,
    /// Questions and their answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, String)>,
    /// The plan that was accepted, if the call does not contain it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// The id of the task that was created.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
}

/// A change to the list of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum TaskChange {
    /// A task is added; the result contains its id.
    Create {
        /// The task's text.
        text: String,
    },
    /// A task changes.
    Update {
        /// The task.
        id: String,
        /// Its new state, or empty.
        state: String,
        /// Its new text, or empty.
        text: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}
