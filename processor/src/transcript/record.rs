//! Records: the stored data of the lines of a transcript. The archive consists of records.

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use super::session::{Input, PromptBy};

/// Record of a line of a transcript, or of one content block in a line. Its text is redacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The uuid of the line; for a line without one, a hash of the stored data.
    #[serde(rename = "u")]
    pub uuid: String,
    /// Index of the record among the records of the line.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// The uuid of the parent line; empty if there is no parent.
    #[serde(rename = "p", default, skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// The time of the line; 0 if it has none.
    #[serde(rename = "t", default)]
    pub at: Timestamp,
    /// Whether the line belongs to a subagent that was written into the main transcript (1.0.x).
    #[serde(rename = "side", default, skip_serializing_if = "is_false")]
    pub side: bool,
    /// The content.
    #[serde(flatten)]
    pub what: RecordWhat,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "k")]
pub enum RecordWhat {
    /// No content. The record links its children to its parent.
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
        /// Number of images attached to the prompt.
        #[serde(default, skip_serializing_if = "is_zero")]
        images: u32,
    },
    /// The user interrupted the turn.
    Interrupt,
    /// A text by the assistant.
    Text {
        /// Id of the API message that contains the text.
        message: String,
        /// The text.
        text: String,
    },
    /// The model's thinking.
    Thinking {
        /// Id of the API message that contains the thinking.
        message: String,
        /// The text.
        text: String,
    },
    /// A tool call.
    Call {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        tool: String,
        /// Input of the call.
        what: Input,
        /// Change to the list of tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskChange>,
    },
    /// The result of a tool call.
    Result(Box<ToolResult>),
    /// A prompt typed while Claude was busy was added to the queue.
    Enqueue {
        /// The text; empty if no person wrote the prompt.
        text: String,
    },
    /// The first prompt of the queue was removed for processing.
    Dequeue,
    /// All prompts of the queue were moved back into the prompt field.
    PopAll,
    /// A queued prompt was sent to the model within a turn.
    Queued {
        /// The prompt.
        text: String,
    },
    /// A compaction of the conversation.
    Boundary {
        /// The uuid of the last record before the compaction.
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
        /// Priority of the title. A title by a person has a higher priority than a generated one.
        rank: u8,
        /// The uuid of the record for which the title was written; empty if there is none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        leaf: String,
    },
}

/// Result of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// Id of the call.
    pub id: String,
    /// Output for the model, truncated in the middle.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Whether the call failed.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Whether the user rejected the call.
    #[serde(skip_serializing_if = "is_false")]
    pub denied: bool,
    /// The user's words in the rejection.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Whether the call was interrupted.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// Numbers of added and removed lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<(u32, u32)>,
    /// Questions and their answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, String)>,
    /// The plan that was accepted, if the call does not contain it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// The id of a task that the call created.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
}

/// A change to the list of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum TaskChange {
    /// Adds a task. The result contains its id.
    Create {
        /// The task's text.
        text: String,
    },
    /// Changes a task.
    Update {
        /// Id of the task.
        id: String,
        /// The new state; empty if unchanged.
        state: String,
        /// The new text; empty if unchanged.
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
