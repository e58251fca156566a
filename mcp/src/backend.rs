//! Errors and responses of the server, independent of MCP. [`crate::local::Local`] answers requests from the stores of
//! this machine.
//!
//! Every response contains a text for the model; on request the caller receives the same data as JSON. Answers have no
//! structured part, because Claude Code passes only this part to a model if there is one.

use memory_store::Error;
use serde::Serialize;

pub use crate::request::{ForgetRequest, Page, RecallRequest, RememberRequest, SessionsRequest};

/// Reason why a request was not answered. The variant determines who has to act: the user or the caller.
#[derive(Debug)]
pub enum ToolError {
    /// The folder is not trusted on this machine, so none of its files is read.
    NotSetUp {
        /// The requested folder.
        folder: String,
        /// Whether the folder contains a memory folder from the repository.
        untrusted: bool,
        /// Folder in which this program records trusted folders.
        data: String,
    },
    /// The user turned Throughline off.
    Off,
    /// `THROUGHLINE` has this value, which is not a known mode.
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

/// Position of the next page of a list, and notes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rest {
    /// Whether there are more results.
    pub truncated: bool,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Reason why this answer may be incomplete, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Memories and passages of sessions that a call of `recall` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecallResponse {
    /// The memories, best first.
    pub hits: Vec<MemoryHit>,
    /// Passages of sessions, best first; passages of the same turn are adjacent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<TurnHit>,
    /// Facts and connections of a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Neighbourhood>,
    /// Lines about the last sessions that changed the files of a brief.
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
    /// Type of the name, or kind of its node.
    pub kind: String,
    /// Date for which the facts are returned.
    pub as_of: String,
    /// Other names of the entity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Facts that are true at this date.
    pub facts: Vec<String>,
    /// Connected names, memories, files and sessions, nearest first.
    pub connections: Vec<String>,
}

/// A memory that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryHit {
    /// Short id of the memory.
    pub id: String,
    /// Kind: decision, fix, ...
    pub kind: String,
    /// Date of the event.
    pub date: String,
    /// Title of the memory.
    pub title: String,
    /// Body; empty if only titles were requested.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// File of the memory.
    pub file: String,
    /// Files that the memory concerns.
    pub paths: Vec<String>,
    /// Reason why the memory was found.
    pub why: String,
    /// `active`, `draft`, `undecided` (a newer memory that contradicts or repeats this one is returned in its place),
    /// `replaced` or `expired`.
    pub status: &'static str,
    /// The other memories of its undecided pairs, as id and title.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs_from: Vec<String>,
    /// Id of the memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// Last day on which the memory is valid, if this day has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<String>,
    /// Speaker: `user` or `Claude`; `None` if unspecified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Changes to the memory's files since it was learned, if they are large enough to make the memory doubtful.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Whether the memory is from the repository and was not learned, written or released by this user.
    pub from_repository: bool,
    /// Name of the project, if the memory is of another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// The memory that a call of `remember` saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RememberResponse {
    /// Short id of the memory.
    pub id: String,
    /// `created`, `updated`, `confirmed` (still true, without a change), `unchanged`, `checked` (not saved), `ended`
    /// (only facts) or `recorded` (an outcome).
    pub change: String,
    /// Title of the memory, as saved.
    pub title: String,
    /// Kind of the memory.
    pub kind: String,
    /// File of the memory.
    pub file: String,
    /// Notes saved from an outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<Self>,
    /// Number of secrets redacted before saving.
    pub redacted: usize,
    /// Neighbours of the memory; likely duplicates, replacements and contradictions are first.
    pub neighbours: Vec<NeighbourHit>,
    /// The neighbours as text for the model.
    #[serde(skip)]
    pub near: String,
    /// Note for the caller, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A neighbour of a saved memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeighbourHit {
    /// Short id of the memory.
    pub id: String,
    /// Kind: decision, fix, ...
    pub kind: String,
    /// Title of the memory.
    pub title: String,
    /// Relation of the saved memory to this one: `duplicate`, `within`, `covers`, `update`, `newer-value`,
    /// `contradiction` or `near`.
    pub relation: &'static str,
    /// Speaker: `user` or `Claude`; `None` if unspecified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Whether the memory is from the repository and was not learned, written or released by this user.
    pub from_repository: bool,
}

/// The memory that a call of `forget` archived.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForgetResponse {
    /// Short id of the memory.
    pub id: String,
    /// Title of the memory.
    pub title: String,
    /// Whether the memory had been archived before.
    pub already: bool,
    /// Whether the memory stays active until the user agrees.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_user: bool,
    /// Ids of memories that this memory had replaced and that are active again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hold_again: Vec<String>,
    /// How to undo or extend the archiving.
    pub undo: String,
    /// The answer as text for the model.
    #[serde(skip)]
    pub text: String,
}

/// Turns or sessions that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionsResponse {
    /// Passages of turns, best first. If a session is read, its turns in order.
    pub hits: Vec<TurnHit>,
    /// Memories that a search found, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryHit>,
    /// Sessions of a list, latest first.
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
    /// Number of the turn in the session, counted from 1.
    pub turn: u32,
    /// Date of the turn.
    pub date: String,
    /// The passage in redacted form; if the turn is read, its whole text.
    pub excerpt: String,
}

/// A session of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionHit {
    /// Claude Code's id of the session.
    pub session: String,
    /// Author of the session's prompts if this is not a person: `agent` or `program`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub speaker: String,
    /// The day of its first turn.
    pub from: String,
    /// The day of its last turn.
    pub to: String,
    /// Git branch of the session, if known.
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
    /// Files that the session changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Memories derived from the session, by id and title.
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
    /// Number of pending memories among them.
    pub drafts: usize,
    /// Number of replaced memories among them.
    pub replaced: usize,
    /// Number of withheld memories among them.
    pub held_back: usize,
    /// Number of the user's own memories, which apply to every project.
    pub user_memories: usize,
    /// Files that are not valid memories, with the errors. Only as many files as the limit allows are checked.
    pub broken: Vec<String>,
    /// Number of invalid files; `None` if the store has too many files to check all.
    pub broken_count: Option<usize>,
    /// Whether finished turns await processing.
    pub unprocessed: bool,
    /// Time at which transcripts were last processed; `None` if never.
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
