//! What the server can be asked, without any word about MCP: plain requests, plain responses, and
//! a trait between them. [`crate::local::Local`] answers from this machine's stores.

use memory_store::memory::Scope;
use memory_store::{Error, Kind};
use schemars::JsonSchema;
use serde::Serialize;

/// Answers requests. Calls may block for as long as reading some files takes.
pub trait Backend: Send + Sync + 'static {
    /// Finds memories.
    fn recall(&self, request: &RecallRequest) -> Result<RecallResponse, Failure>;
    /// Saves a memory.
    fn remember(&self, request: RememberRequest) -> Result<RememberResponse, Failure>;
    /// Puts a memory aside.
    fn forget(&self, id: &str) -> Result<ForgetResponse, Failure>;
    /// Finds turns of earlier sessions.
    fn search_sessions(&self, request: &SessionsRequest) -> Result<SessionsResponse, Failure>;
    /// Says what there is and how it is.
    fn status(&self) -> Result<StatusResponse, Failure>;
}

/// Why a request was not answered. Each variant says whose turn it is.
#[derive(Debug)]
pub enum Failure {
    /// Nobody on this machine vouched for the folder: nothing of it is read.
    NotSetUp {
        /// The folder that was asked about.
        folder: String,
        /// Whether there is a memory folder that came with the repository.
        untrusted: bool,
    },
    /// A person turned Throughline off.
    Off,
    /// Only recall is allowed here (`THROUGHLINE=read`, the default in CI and cloud sessions).
    ReadOnly,
    /// The request cannot be answered as it is; the caller can correct it.
    Request(String),
    /// The store could not be read or written.
    Store(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// A part of a long list: how many to leave out at its start, and how many to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Hits that an earlier page gave.
    pub skip: usize,
    /// Hits of this page at most.
    pub limit: usize,
}

/// What an answer with a part of a list says beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rest {
    /// Whether there are more.
    pub truncated: bool,
    /// Ask again with this as `cursor` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What is less good than usual about this answer, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What to find memories for.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallRequest {
    /// Words, a question, or the text of an error.
    pub query: String,
    /// Only these kinds; empty means all.
    pub kinds: Vec<Kind>,
    /// Memories about these files come first.
    pub paths: Vec<String>,
    /// Which part of the list.
    pub page: Page,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RecallResponse {
    /// The memories, the best first.
    pub hits: Vec<MemoryHit>,
    /// What comes after them.
    #[serde(flatten)]
    pub rest: Rest,
    /// The hits as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryHit {
    /// Its short id.
    pub id: String,
    /// What it says: decision, fix, ...
    pub kind: String,
    /// The day it happened.
    pub date: String,
    /// Its title.
    pub title: String,
    /// What it says.
    pub text: String,
    /// Its file.
    pub file: String,
    /// The files it is about.
    pub paths: Vec<String>,
    /// Why it was found.
    pub why: String,
    /// Change of its files since it was learned, where that is much: it may be true no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// `Claude`, where Claude chose to save it: the user did not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noted_by: Option<String>,
    /// Whether it is from the repository, and not learned, written or released by this user.
    pub from_repository: bool,
}

/// A memory to save.
#[derive(Clone, Debug, PartialEq)]
pub struct RememberRequest {
    /// What it says.
    pub kind: Kind,
    /// One line.
    pub title: String,
    /// The text below it.
    pub text: String,
    /// Search words.
    pub tags: Vec<String>,
    /// The files it is about.
    pub paths: Vec<String>,
    /// This project, or every project of this user, which is the user's to say: it is kept for this one.
    pub scope: Scope,
    /// Ids of the memories that it replaces.
    pub supersedes: Vec<String>,
    /// Whether it and what it seems to contradict or repeat both hold.
    pub both_hold: bool,
}

/// What was saved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RememberResponse {
    /// Its short id.
    pub id: String,
    /// `created`, `updated` or `unchanged`.
    pub change: String,
    /// Its title, as saved.
    pub title: String,
    /// Its file.
    pub file: String,
    /// Secrets that were taken out before saving.
    pub redacted: usize,
    /// Memories near it, those first that it seems to repeat, replace or contradict.
    pub neighbours: Vec<NeighbourHit>,
    /// What the caller should know, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A memory near one that was saved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NeighbourHit {
    /// Its short id.
    pub id: String,
    /// What it says: decision, fix, ...
    pub kind: String,
    /// Its title.
    pub title: String,
    /// How the saved memory relates to it: `duplicate`, `update`, `contradiction` or `near`.
    pub relation: String,
}

/// What was put aside.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ForgetResponse {
    /// Its short id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How to undo it.
    pub undo: String,
}

/// What to find turns of earlier sessions for.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionsRequest {
    /// Words, a question, or the text of an error.
    pub query: String,
    /// What the model thought in them instead of what was said.
    pub thinking: bool,
    /// Which part of the list.
    pub page: Page,
}

/// The turns that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SessionsResponse {
    /// The turns, the best first.
    pub hits: Vec<TurnHit>,
    /// What comes after them.
    #[serde(flatten)]
    pub rest: Rest,
    /// The hits as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// A turn of an earlier session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnHit {
    /// Claude Code's id of the session.
    pub session: String,
    /// The turn's number in it, from 0.
    pub turn: u32,
    /// The day it happened.
    pub date: String,
    /// What was said, redacted and cut around what was searched for.
    pub excerpt: String,
    /// How the turn before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How the turn after it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What there is and how it is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatusResponse {
    /// The working tree.
    pub root: String,
    /// `off`, `read` or `full`.
    pub mode: String,
    /// Memories of the project.
    pub memories: usize,
    /// The same, by kind.
    pub kinds: Vec<KindCount>,
    /// The user's own memories, for every project.
    pub user_memories: usize,
    /// Files that are no valid memory, with what is wrong.
    pub broken: Vec<String>,
    /// Whether finished turns wait to be processed.
    pub unprocessed: bool,
    /// When transcripts were last processed; missing when never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<String>,
    /// What the last background run failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The language model that helps to extract memories, if one is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm: Option<String>,
}

/// How many memories there are of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindCount {
    /// The kind.
    pub kind: String,
    /// How many.
    pub count: usize,
}
