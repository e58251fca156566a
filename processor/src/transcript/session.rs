//! A session as we store it: the turns of one transcript, separated from machine text, with tool calls paired with
//! their results. The archive contains it (redacted) and extraction reads it; a transcript is never read again for it.

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

/// The turns of one session, or of one subagent of it, in file order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Claude Code's id of the session.
    pub id: String,
    /// The subagent's id, when this is a subagent's transcript.
    pub agent: Option<String>,
    /// Its title, the last one written.
    pub title: Option<String>,
    /// The turns.
    pub turns: Vec<Turn>,
    /// The last steps of the preceding part if that ends with a failure. They belong to that part's text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Step>,
}

/// A prompt and everything until the assistant stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// The record that opened it.
    pub uuid: String,
    /// Time of its prompt.
    pub at: Timestamp,
    /// The working directory at its start, absolute, as recorded.
    pub cwd: String,
    /// The git branch at its start; empty outside git.
    pub branch: String,
    /// The prompt that opened it.
    pub prompt: Prompt,
    /// Its steps, in file order.
    pub steps: Vec<Step>,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether the user rewound the session to before it: its result was unwanted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
}

/// Prompt that opened a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// The text, without reminders and wrappers.
    pub text: String,
    /// Its author.
    pub by: PromptBy,
    /// Number of images attached to it.
    pub images: u32,
}

/// Author of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    /// The person at the keyboard.
    #[default]
    User,
    /// A program through the SDK or `claude -p`: its words are instructions and never the user's wishes.
    Sdk,
    /// Another agent: the lead of a team, or another session. As with a program, its words are never
    /// the user's wishes.
    Agent,
    /// A slash command that the person typed; the text is the command and its arguments.
    Command,
    /// Claude Code itself, a hook or a notification.
    Machine,
    /// The summary after a compaction whose original turns are not in the archive.
    Summary,
}

/// One thing that happened in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The transcript record.
    pub uuid: String,
    /// When.
    pub at: Timestamp,
    /// The event.
    #[serde(flatten)]
    pub what: StepKind,
}

/// Event of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum StepKind {
    /// Text of the assistant. The last one of a turn is its final message.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning, if the transcript contains it.
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
    /// The tool: `Bash`, `Edit`, `mcp__server__tool`, ...
    pub tool: String,
    /// The record of the result, if there is one.
    pub result_uuid: Option<String>,
    /// Input of the call.
    pub input: Input,
    /// Output for the model, cut in the middle if it is long.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
    /// Whether the user refused it.
    pub denied: bool,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Lines added and removed, of an edit.
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
    /// A file was read.
    Read {
        /// The file, unchanged from the call.
        path: String,
    },
    /// A file was edited or written.
    Edit {
        /// The file, unchanged from the call.
        path: String,
        /// The text that was replaced, cut; empty if the file was written whole.
        old: String,
        /// The new text, cut.
        new: String,
    },
    /// A search for files or text.
    Search {
        /// The pattern that was searched for.
        pattern: String,
        /// Where.
        path: String,
    },
    /// Questions to the user, with the answers.
    Question {
        /// Pairs of a question (with its options) and the answer.
        asked: Vec<(String, String)>,
    },
    /// A plan presented to the user; accepted unless the call failed or was denied.
    Plan {
        /// The plan, Markdown.
        plan: String,
    },
    /// The todo list after this call.
    Todos {
        /// The items.
        items: Vec<Todo>,
    },
    /// A subagent was started; the output is its report.
    Agent {
        /// Its type.
        agent: String,
        /// The subagent's prompt.
        prompt: String,
    },
    /// Anything else: the input as JSON, cut.
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
    /// The task's text.
    pub text: String,
    /// `pending`, `in_progress` or `completed`.
    pub state: String,
}
