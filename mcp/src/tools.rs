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

/// Definition of a tool for clients.
#[derive(Clone, Copy)]
pub struct ToolDefinition {
    /// Its name for models.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its description for models.
    pub description: &'static str,
    /// Search terms for clients that initially show only the name of a tool. `None` if the whole definition should be
    /// in every session.
    pub search_hint: Option<&'static str>,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether it may remove data.
    pub destructive: bool,
    /// Returns the schema of its arguments.
    pub schema: fn() -> Map<String, Value>,
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
        self.definition().name
    }

    /// Returns its definition.
    pub const fn definition(self) -> ToolDefinition {
        match self {
            Self::Recall => ToolDefinition {
                name: "recall",
                title: "Recall memories",
                description: "Search this project's memory: decisions with reasons, conventions, user preferences, \
                              verified commands, fixes, gotchas, failed approaches, open tasks. Call it before work \
                              that is new to this session, when an error appears, or when the user refers to earlier \
                              work. Pass query, ids or paths.",
                search_hint: None,
                read_only: true,
                destructive: false,
                schema: schema::<RecallRequest>,
            },
            Self::Remember => ToolDefinition {
                name: "remember",
                title: "Remember",
                description: "Save one thing for later sessions: a lasting preference, a decision with its reason, a \
                              fix, a gotcha, a verified command. To update a memory, pass its id, or repeat its kind \
                              and title. If the answer reports a conflict, the memory is already saved: call again with its \
                              id and supersedes or both_hold. Secrets are redacted.",
                search_hint: None,
                read_only: false,
                destructive: false,
                schema: schema::<RememberRequest>,
            },
            Self::Forget => ToolDefinition {
                name: "forget",
                title: "Forget a memory",
                description: "Archive wrong memories: they are not recalled or relearned. The user can restore \
                              them.",
                search_hint: Some("forget delete remove wrong memory"),
                read_only: false,
                destructive: true,
                schema: schema::<ForgetRequest>,
            },
            Self::SearchSessions => ToolDefinition {
                name: "search_sessions",
                title: "Search earlier sessions",
                description: "Search earlier sessions (redacted) by query, best first; read turns or an outline of one session; or \
                              list sessions, latest first.",
                search_hint: Some(
                    "earlier sessions conversation history transcript last time who changed file",
                ),
                read_only: true,
                destructive: false,
                schema: schema::<SessionsRequest>,
            },
            Self::Status => ToolDefinition {
                name: "status",
                title: "Memory status",
                description: "Report memory counts, pending work and the last error.",
                search_hint: Some("memory status health counts waiting failed"),
                read_only: true,
                destructive: false,
                schema: schema::<StatusRequest>,
            },
        }
    }
}
