//! The tools: their names, descriptions for a model, and properties.

use serde_json::{Map, Value};

use crate::arguments::schema;
use crate::request::{
    ForgetRequest, RecallRequest, RememberRequest, SessionsRequest, StatusRequest,
};

/// A tool that the server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Finds memories.
    Recall,
    /// Saves or changes a memory.
    Remember,
    /// Archives a memory.
    Forget,
    /// Finds and reads turns of earlier sessions.
    SearchSessions,
    /// Reports counts and health of the store.
    Status,
}

/// Properties of a tool that a client may rely on.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// Its name for people.
    pub title: &'static str,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether it may remove data.
    pub destructive: bool,
    /// Whether repeated calls have no further effect.
    pub idempotent: bool,
}

impl Tool {
    /// All tools, in the order of the list.
    pub const ALL: [Self; 5] =
        [Self::Recall, Self::Remember, Self::Forget, Self::SearchSessions, Self::Status];

    /// Returns the tool with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Remember => "remember",
            Self::Forget => "forget",
            Self::SearchSessions => "search_sessions",
            Self::Status => "status",
        }
    }

    /// Returns its description for the model.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Recall => {
                "Search this project's memory: decisions with reasons, conventions, user preferences, \
                 working commands, fixes, gotchas, failed approaches, open tasks. Use it before \
                 work that is new to this session, when an error appears, or when the user refers \
                 to earlier work. By query, ids or paths."
            }
            Self::Remember => {
                "Save one thing that later sessions need: a lasting preference, a decision with its \
                 reason, a fix, a gotcha, a working command. The same kind and title, or an id, \
                 updates a memory. If the answer names a conflict, call again with supersedes or \
                 both_hold. Secrets are redacted."
            }
            Self::Forget => {
                "Archive a wrong or unwanted memory: it is no longer recalled or relearned. The user \
                 can restore it."
            }
            Self::SearchSessions => {
                "Search what was said and done in earlier sessions (redacted), read turns or an \
                 outline of one session, or list sessions by date, branch or changed file."
            }
            Self::Status => "Show memory counts, pending work and the last error.",
        }
    }

    /// Returns search terms for clients that initially show only the name of a tool. `None` if the whole definition
    /// should be in every session.
    pub const fn search_hint(self) -> Option<&'static str> {
        match self {
            Self::Recall | Self::Remember => None,
            Self::Forget => Some("forget delete remove wrong memory"),
            Self::SearchSessions => {
                Some("earlier sessions conversation history transcript last time who changed file")
            }
            Self::Status => Some("memory status health counts waiting failed"),
        }
    }

    /// Returns the properties that a client may rely on.
    pub const fn hints(self) -> Hints {
        let (title, read_only, destructive) = match self {
            Self::Recall => ("Recall memories", true, false),
            Self::Remember => ("Remember", false, false),
            Self::Forget => ("Forget a memory", false, true),
            Self::SearchSessions => ("Search earlier sessions", true, false),
            Self::Status => ("Memory status", true, false),
        };
        Hints { title, read_only, destructive, idempotent: true }
    }

    /// Returns the schema of its arguments.
    pub fn schema(self) -> Map<String, Value> {
        match self {
            Self::Recall => schema::<RecallRequest>(),
            Self::Remember => schema::<RememberRequest>(),
            Self::Forget => schema::<ForgetRequest>(),
            Self::SearchSessions => schema::<SessionsRequest>(),
            Self::Status => schema::<StatusRequest>(),
        }
    }
}
