//! A session: the turns of one transcript, without machine text, with tool calls and their results. Sessions are
//! assembled from records of the archive, and are the input of extraction.

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

/// The turns of one session, or of one subagent of it, in file order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Claude Code's id of the session.
    pub id: String,
    /// The subagent's id, if this is a subagent's transcript.
    pub agent: Option<String>,
    /// The last title.
    pub title: Option<String>,
    /// The turns.
    pub turns: Vec<Turn>,
    /// The last steps of the previous part, if that part ends with a failure. They are not part of this session's text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Step>,
}

/// A prompt and everything until the assistant stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// The uuid of the record of the prompt.
    pub uuid: String,
    /// Time of the prompt.
    pub at: Timestamp,
    /// The working directory at the beginning of the turn, absolute, as recorded.
    pub cwd: String,
    /// The git branch at the beginning of the turn; empty outside git.
    pub branch: String,
    /// The prompt.
    pub prompt: Prompt,
    /// The steps, in file order.
    pub steps: Vec<Step>,
    /// Whether the user interrupted the turn.
    pub interrupted: bool,
    /// Whether the user rewound the session to a point before this turn, which means that its result was unwanted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
}

/// Prompt that opened a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// The text, without reminders and wrappers.
    pub text: String,
    /// Author of the prompt.
    pub by: PromptBy,
    /// Number of images attached to the prompt.
    pub images: u32,
}

/// Author of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    /// The person at the keyboard.
    #[default]
    User,
    /// A program through the SDK or `claude -p`. Its words are instructions and never the user's wishes.
    Sdk,
    /// Another agent: the lead of a team, or another session. Its words are never the user's wishes.
    Agent,
    /// A slash command that the person typed; the text is the command and its arguments.
    Command,
    /// Claude Code itself, a hook or a notification.
    Machine,
    /// The summary after a compaction, if the archive does not contain the summarised turns.
    Summary,
}

/// An event in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The uuid of the transcript record.
    pub uuid: String,
    /// Time of the event.
    pub at: Timestamp,
    /// The event.
    #[serde(flatten)]
    pub what: StepKind,
}

/// Kind and data of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum StepKind {
    /// A text by the assistant. The last one of a turn is its final message.
    Text {
        /// The text.
        text: String,
    },
    /// The model's thinking, if the transcript contains it.
    Thinking {
        /// The text.
        text: String,
    },
    /// A prompt that the user typed while Claude was busy.
    Queued {
        /// The text.
        text: String,
    },
    /// A tool call with its result.
    Call(Box<Call>),
}

/// A tool call with its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The call's id (`toolu_...`).
    pub id: String,
    /// Name of the tool: `Bash`, `Edit`, `mcp__server__tool`, ...
    pub tool: String,
    /// The uuid of the record with the result, if there is one.
    pub result_uuid: Option<String>,
    /// Input of the call.
    pub input: Input,
    /// Output for the model, truncated in the middle if it is long.
    pub output: String,
    /// Whether the call failed.
    pub failed: bool,
    /// Whether the user rejected the call.
    pub denied: bool,
    /// Whether the call was interrupted.
    pub interrupted: bool,
    /// Numbers of added and removed lines of an edit.
    pub changed: Option<(u32, u32)>,
}

/// Input of a tool call, in the form that extraction uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "input")]
pub enum Input {
    /// A shell command.
    Shell {
        /// The command line.
        command: String,
        /// The model's description of the command's purpose.
        description: String,
    },
    /// Reading a file.
    Read {
        /// The path, unchanged from the call.
        path: String,
    },
    /// Editing or writing a file.
    Edit {
        /// The path, unchanged from the call.
        path: String,
        /// The replaced text, truncated; empty if the whole file was written.
        old: String,
        /// The new text, truncated.
        new: String,
    },
    /// A search for files or text.
    Search {
        /// The pattern.
        pattern: String,
        /// The path in which to search.
        path: String,
    },
    /// Questions to the user, with the answers.
    Question {
        /// Pairs of a question (with its options) and the answer.
        asked: Vec<(String, String)>,
    },
    /// A plan presented to the user. It was accepted unless the call failed or was denied.
    Plan {
        /// The plan in Markdown.
        plan: String,
    },
    /// The todo list after this call.
    Todos {
        /// The items.
        items: Vec<Todo>,
    },
    /// Starting a subagent. The output of the call is its report.
    Agent {
        /// Type of the subagent.
        agent: String,
        /// The subagent's prompt.
        prompt: String,
    },
    /// Any other call: its input as JSON, truncated.
    Other {
        /// The JSON.
        json: String,
    },
    /// An unknown input.
    #[default]
    Unknown,
}

/// An item of a todo list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Todo {
    /// The text of the item.
    pub text: String,
    /// `pending`, `in_progress` or `completed`.
    pub state: String,
}
