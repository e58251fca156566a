//! Requests that the server can answer, without any word about MCP: plain requests, plain responses, and
//! a trait between them. [`crate::local::Local`] answers from this machine's stores.
//!
//! A response is a text for the model, and says the same as JSON to who asks for that: Claude Code
//! hands a model nothing but the structured part of an answer that has one, so no answer has one.

use memory_store::Error;
use serde::Serialize;

pub use crate::request::{ForgetRequest, Page, RecallRequest, RememberRequest, SessionsRequest};

/// Answers requests. Calls may block for as long as reading some files takes.
pub trait Backend: Send + Sync + 'static {
    /// Finds memories.
    fn recall(&self, request: &RecallRequest) -> Result<RecallResponse, ToolError>;
    /// Saves or changes a memory.
    fn remember(&self, request: RememberRequest) -> Result<RememberResponse, ToolError>;
    /// Puts a memory aside.
    fn forget(&self, id: &str) -> Result<ForgetResponse, ToolError>;
    /// Finds, reads or lists earlier sessions.
    fn search_sessions(&self, request: &SessionsRequest) -> Result<SessionsResponse, ToolError>;
    /// Says what there is and how it is.
    fn status(&self) -> Result<StatusResponse, ToolError>;
    /// Tells where the work was left.
    fn handoff(&self) -> Result<String, ToolError>;
    /// Names memories that a person should look at, and why; `None` where there are none.
    fn tidy(&self) -> Result<Option<String>, ToolError>;
    /// Lets go of what answers go faster with, when nobody asked for a while.
    fn rest(&self);
}

/// Why a request was not answered. Each variant says whose turn it is.
#[derive(Debug)]
pub enum ToolError {
    /// The folder is not trusted on this machine: nothing of it is read.
    NotSetUp {
        /// The folder that was asked about.
        folder: String,
        /// Whether there is a memory folder that came with the repository.
        untrusted: bool,
        /// Where this program looks for trusted folders.
        data: String,
    },
    /// A person turned Throughline off.
    Off,
    /// The variable says something that nobody knows.
    UnknownMode(String),
    /// Only recall is allowed here (`THROUGHLINE=read`, the default in CI and cloud sessions).
    ReadOnly,
    /// The request cannot be answered as it is; the caller can correct it.
    Request(String),
    /// The store could not be read or written.
    Store(Error),
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Remarks beside one page of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rest {
    /// Whether there are more.
    pub truncated: bool,
    /// Ask again with this as `cursor` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Reason why this answer is less good than usual, in words.
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

/// A memory that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryHit {
    /// Its short id.
    pub id: String,
    /// Kind: decision, fix, ...
    pub kind: String,
    /// The day it happened.
    pub date: String,
    /// Its title.
    pub title: String,
    /// Body; empty where titles were asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its file.
    pub file: String,
    /// The files it is about.
    pub paths: Vec<String>,
    /// Why it was found.
    pub why: String,
    /// `active`, `draft`, `undecided` (a newer memory that differs is given in its place), `replaced` or `expired`.
    pub status: &'static str,
    /// The other memories of its undecided pairs, each by its id and title.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs_from: Vec<String>,
    /// Id of the memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// The last day on which it held, where that is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<String>,
    /// `user`, `Claude`, or nobody in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Change of its files since it was learned, where that is much: it may be true no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Whether it is from the repository, and not learned, written or released by this user.
    pub from_repository: bool,
    /// The other project that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Memory that was saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RememberResponse {
    /// Its short id.
    pub id: String,
    /// `created`, `updated`, `confirmed` (it is still true, and stays as it is) or `unchanged`.
    pub change: String,
    /// Its title, as saved.
    pub title: String,
    /// Its kind.
    pub kind: String,
    /// Its file.
    pub file: String,
    /// Secrets that were taken out before saving.
    pub redacted: usize,
    /// Memories near it, those first that it seems to repeat, replace or contradict.
    pub neighbours: Vec<NeighbourHit>,
    /// These as text for the model.
    #[serde(skip)]
    pub near: String,
    /// Remark for the caller, in words.
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
    /// `user`, `Claude`, or nobody in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Whether it is from the repository, and not learned, written or released by this user.
    pub from_repository: bool,
}

/// Memory that was put aside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForgetResponse {
    /// Its short id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether that had been done before.
    pub already: bool,
    /// Whether it stays in force until the user agrees.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_user: bool,
    /// Ids of memories that it had replaced, and that hold again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hold_again: Vec<String>,
    /// Ways to undo it, or to do more.
    pub undo: String,
    /// The answer as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// Turns or sessions that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionsResponse {
    /// Passages of turns, the best first; of a session that is read its turns, in their order.
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
    /// The turn's number in it, from 1.
    pub turn: u32,
    /// The day it happened.
    pub date: String,
    /// The passage that was found, redacted; of a turn that is read, its text.
    pub excerpt: String,
}

/// A session of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionHit {
    /// Claude Code's id of it.
    pub session: String,
    /// Who gave its prompts, where that was no person: `agent` or `program`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub speaker: String,
    /// The day of its first turn.
    pub from: String,
    /// The day of its last.
    pub to: String,
    /// Its branch, where that is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// Goal of the user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// Steps that were done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    /// Steps that were left open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Files that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Memories that came of it, by id and title.
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
    /// Number of memories among them that wait for a review.
    pub drafts: usize,
    /// Number of memories among them that another one replaces.
    pub replaced: usize,
    /// Number of memories among them that are held back until the user releases them.
    pub held_back: usize,
    /// The user's own memories, for every project.
    pub user_memories: usize,
    /// Files that are no valid memory, with what is wrong; as far as that was looked at.
    pub broken: Vec<String>,
    /// How many there are; none when the store has too many files to look at each.
    pub broken_count: Option<usize>,
    /// Whether finished turns wait to be processed.
    pub unprocessed: bool,
    /// When transcripts were last processed; missing when never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<String>,
    /// Error of the last background run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Parts of the index that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// The language model that helps to extract memories, if one is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm: Option<String>,
}

/// How many memories there are of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: String,
    /// How many.
    pub count: usize,
}
