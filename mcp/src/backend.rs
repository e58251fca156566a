//! Requests that the server can answer, and responses to them, independent of MCP. [`crate::local::Local`] answers them
//! from the stores of this machine.
//!
//! Every response is a text for the model, and the same as JSON on request. Claude Code passes only the structured
//! part of an answer to a model if there is one, so no answer has one.

use memory_store::Error;
use serde::Serialize;

pub use crate::request::{ForgetRequest, Page, RecallRequest, RememberRequest, SessionsRequest};

/// Reason why a request was not answered. The variants show whose action is required.
#[derive(Debug)]
pub enum ToolError {
    /// The folder is not trusted on this machine: nothing of it is read.
    NotSetUp {
        /// The requested folder.
        folder: String,
        /// Whether there is a memory folder that came with the repository.
        untrusted: bool,
        /// Folder in which this program records trusted folders.
        data: String,
    },
    /// The user turned Throughline off.
    Off,
    /// The value of the variable is not a known mode.
    UnknownMode(String),
    /// Only recall is allowed (`THROUGHLINE=read`, the default in CI and cloud sessions).
    ReadOnly,
    /// The request is invalid; the caller can correct it.
    Request(String),
    /// The store could not be read or written.
    Store(Error),
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Position and notes of one page of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rest {
    /// Whether there are more.
    pub truncated: bool,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Reason why this answer is degraded, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Memories and passages of sessions that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecallResponse {
    /// The memories, the best first.
    pub hits: Vec<MemoryHit>,
    /// Passages of sessions, the best first, those of a turn together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<TurnHit>,
    /// What is known about a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Neighbourhood>,
    /// The last sessions that changed the files of a brief, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// Position of the next page.
    #[serde(flatten)]
    pub rest: Rest,
    /// The hits as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// A name with its facts and connections, in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Neighbourhood {
    /// The name.
    pub name: String,
    /// Its type, or the kind of its node.
    pub kind: String,
    /// Date of the answer.
    pub as_of: String,
    /// Other names of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Facts that are true then.
    pub facts: Vec<String>,
    /// Connected names, memories, files and sessions, nearest first.
    pub connections: Vec<String>,
}

/// A memory that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryHit {
    /// Its short id.
    pub id: String,
    /// Kind: decision, fix, ...
    pub kind: String,
    /// Date of the event.
    pub date: String,
    /// Its title.
    pub title: String,
    /// Body; empty where titles were asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its file.
    pub file: String,
    /// Files that it concerns.
    pub paths: Vec<String>,
    /// Why it was found.
    pub why: String,
    /// `active`, `draft`, `undecided` (a newer memory that differs is returned in its place), `replaced` or `expired`.
    pub status: &'static str,
    /// The other memories of its undecided pairs, each by its id and title.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs_from: Vec<String>,
    /// Id of the memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// Last day of its validity, if that has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<String>,
    /// Speaker: `user` or `Claude`; `None` if unspecified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Changes to its files since it was learned, if they are large enough to make it doubtful.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Whether it is from the repository, and not learned, written or released by this user.
    pub from_repository: bool,
    /// The other project that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Memory that was saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RememberResponse {
    /// Its short id.
    pub id: String,
    /// `created`, `updated`, `confirmed` (still true and unchanged), `unchanged`, `checked` (not saved), `ended` (facts
    /// alone) or `recorded` (an outcome).
    pub change: String,
    /// Its title, as saved.
    pub title: String,
    /// Its kind.
    pub kind: String,
    /// Its file.
    pub file: String,
    /// Notes of an outcome, each as saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<Self>,
    /// Number of secrets redacted before saving.
    pub redacted: usize,
    /// Memories near it; likely duplicates, replacements and contradictions come first.
    pub neighbours: Vec<NeighbourHit>,
    /// The neighbours as text for the model.
    #[serde(skip)]
    pub near: String,
    /// Note for the caller, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A memory near one that was saved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeighbourHit {
    /// Its short id.
    pub id: String,
    /// Kind: decision, fix, ...
    pub kind: String,
    /// Its title.
    pub title: String,
    /// How the saved memory relates to it: `duplicate`, `within`, `covers`, `update`, `newer-value`, `contradiction` or
    /// `near`.
    pub relation: &'static str,
    /// Speaker: `user` or `Claude`; `None` if unspecified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Whether it is from the repository, and not learned, written or released by this user.
    pub from_repository: bool,
}

/// Memory that was archived.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForgetResponse {
    /// Its short id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether it had been archived before.
    pub already: bool,
    /// Whether it stays active until the user agrees.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_user: bool,
    /// Ids of memories that it had replaced and that are active again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hold_again: Vec<String>,
    /// How to undo or extend it.
    pub undo: String,
    /// The answer as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// Turns or sessions that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionsResponse {
    /// Passages of turns, best first; of a session that is read, its turns in order.
    pub hits: Vec<TurnHit>,
    /// Memories that a search found, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryHit>,
    /// The sessions of a list, the latest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionHit>,
    /// Position of the next page.
    #[serde(flatten)]
    pub rest: Rest,
    /// The hits as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// A turn of an earlier session, or a passage of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TurnHit {
    /// Claude Code's id of the session.
    pub session: String,
    /// Number of the turn in the session, from 1.
    pub turn: u32,
    /// Date of the turn.
    pub date: String,
    /// The passage, redacted; the whole text if the turn is read.
    pub excerpt: String,
}

/// A session of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionHit {
    /// Claude Code's id of it.
    pub session: String,
    /// Author of its prompts if not a person: `agent` or `program`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub speaker: String,
    /// The day of its first turn.
    pub from: String,
    /// The day of its last turn.
    pub to: String,
    /// Its branch, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The user's goal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// Completed steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    /// Open steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Files that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Memories derived from it, by id and title.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<String>,
}

/// Counts and health of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusResponse {
    /// The working tree.
    pub root: String,
    /// `off`, `read` or `full`.
    pub mode: String,
    /// Memories of the project.
    pub memories: usize,
    /// Count by kind.
    pub kinds: Vec<KindCount>,
    /// Number of these memories that await review.
    pub drafts: usize,
    /// Number of these memories that another one replaces.
    pub replaced: usize,
    /// Number of these memories that are withheld until the user releases them.
    pub held_back: usize,
    /// The user's own memories, for every project.
    pub user_memories: usize,
    /// Files that are not valid memories, with the errors, as far as files were checked.
    pub broken: Vec<String>,
    /// Number of invalid files; `None` if the store has too many files to check each.
    pub broken_count: Option<usize>,
    /// Whether finished turns await processing.
    pub unprocessed: bool,
    /// Time of the last processing of transcripts; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<String>,
    /// Error of the last background run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Unreadable parts of the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// The language model used to extract memories, if one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm: Option<String>,
}

/// Number of memories of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: String,
    /// The number.
    pub count: usize,
}
