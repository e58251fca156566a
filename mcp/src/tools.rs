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
    /// Saves or changes one.
    Remember,
    /// Archives one.
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
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether it may take something away.
    pub destructive: bool,
    /// Whether a second call like the first changes nothing more.
    pub idempotent: bool,
}

impl Tool {
    /// All of them, in the order of their list.
    pub const ALL: [Self; 5] =
        [Self::Recall, Self::Remember, Self::Forget, Self::SearchSessions, Self::Status];

    /// Returns the tool of this name.
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

    /// Returns search terms for clients that show only the name of a tool at first. `None` where the definition is worth
    /// its tokens in every session.
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
