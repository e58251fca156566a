//! The tools: what a model is told of them, and which arguments they take.

use crate::arguments::{Argument, Takes};

/// A tool that the server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Finds memories.
    Recall,
    /// Saves or changes one.
    Remember,
    /// Puts one aside.
    Forget,
    /// Finds and reads what was said in sessions.
    SearchSessions,
    /// Tells how memory is.
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

/// Hits on a page.
pub const LIMIT_MAX: i64 = 50;

const fn argument(
    name: &'static str,
    aliases: &'static [&'static str],
    takes: Takes,
    about: &'static str,
) -> Argument {
    Argument { name, aliases, takes, about }
}

const PATHS_ALIASES: &[&str] = &["path", "files", "file", "file_path", "file_paths"];

const LIMIT: Argument = argument(
    "limit",
    &["max", "max_results", "count", "n", "top_k"],
    Takes::Number(LIMIT_MAX),
    "1 to 50, default 12.",
);
const CURSOR: Argument =
    argument("cursor", &["next_cursor"], Takes::Text, "From an answer: what comes after it.");
const FORMAT: Argument = argument(
    "format",
    &["output", "response_format"],
    Takes::One(&["text", "json"]),
    "Default text.",
);
/// [`FORMAT`] for a tool that takes it and does not offer it: the definition is in every session.
const FORMAT_UNSAID: Argument = Argument { about: "", ..FORMAT };

const RECALL: &[Argument] = &[
    argument(
        "query",
        &["q", "text", "search", "question", "keywords", "topic"],
        Takes::Text,
        "Question, words, name of a file, text of an error. AND, OR, NOT and kind:fix tag:ci \
         since:2026-10-01 before:\"last week\" narrow it.",
    ),
    argument(
        "ids",
        &["id", "memory_id", "memory_ids"],
        Takes::Ids,
        "Whole texts of these memories.",
    ),
    argument(
        "paths",
        PATHS_ALIASES,
        Takes::Texts,
        "Files: with a query theirs come first; alone, what matters for a task in them.",
    ),
    argument("kinds", &["kind", "type", "types"], Takes::Kinds, "Only these."),
    argument("detail", &[], Takes::One(&["full", "titles"]), "Default full."),
    argument("as_of", &["at", "on"], Takes::Text, "What held on that day."),
    argument("history", &["include_superseded"], Takes::Flag, "Replaced and expired ones, too."),
    argument(
        "projects",
        &["project", "scope"],
        Takes::One(&["this", "all"]),
        "all: also projects that the user shares.",
    ),
    LIMIT,
    CURSOR,
    argument("tags", &["tag"], Takes::Words, ""),
    argument("since", &["after", "from"], Takes::Text, ""),
    argument("before", &["until"], Takes::Text, ""),
    FORMAT_UNSAID,
];

const REMEMBER: &[Argument] = &[
    argument("kind", &["type", "category", "kinds"], Takes::Kind, "Default fact."),
    argument("title", &["name", "summary", "subject"], Takes::Text, "In one line."),
    argument(
        "text",
        &["content", "body", "memory", "details", "description", "note"],
        Takes::Text,
        "Self-contained sentences with the reason; a reader knows nothing of this conversation.",
    ),
    argument("tags", &["tag", "keywords"], Takes::Words, "Search words."),
    argument("paths", PATHS_ALIASES, Takes::Texts, "Files it is about."),
    argument(
        "id",
        &["memory_id"],
        Takes::Id,
        "Change this one: text, title, kind, paths, pin, valid_until, still_true.",
    ),
    argument("supersedes", &["replaces"], Takes::Ids, "Ids that this one replaces."),
    argument("both_hold", &[], Takes::Flag, "It holds beside those that an answer named."),
    argument("pin", &["pinned"], Takes::Flag, "Keep in view."),
    argument("still_true", &["confirm"], Takes::Flag, "With id: looked at and still so."),
    argument("valid_until", &["expires", "until"], Takes::Text, "Last day on which it holds."),
    argument("scope", &[], Takes::One(&["project", "user"]), ""),
    FORMAT_UNSAID,
];

const FORGET: &[Argument] =
    &[argument("id", &["memory_id", "ids"], Takes::Id, "As `recall` shows it."), FORMAT_UNSAID];

const SEARCH_SESSIONS: &[Argument] = &[
    argument(
        "query",
        &["q", "text", "search", "question"],
        Takes::Text,
        "What was said, or an error that came up. Filters as in recall.",
    ),
    argument(
        "session",
        &["session_id", "id"],
        Takes::Text,
        "Only this one, by its id or the start of it.",
    ),
    argument(
        "turns",
        &["turn", "range"],
        Takes::Text,
        "With session: read these, such as 3-7 or 8-.",
    ),
    argument("outline", &["toc"], Takes::Flag, "With session: a line for each turn."),
    argument("branch", &["git_branch"], Takes::Text, "Sessions on this branch."),
    argument(
        "file",
        &["path", "paths", "files", "file_path", "file_paths"],
        Takes::TextOrTexts,
        "Sessions that changed this file.",
    ),
    argument("since", &["after", "from"], Takes::Text, "Not earlier."),
    argument("before", &["until", "to"], Takes::Text, "Not later."),
    argument("thinking", &[], Takes::Flag, "Search what the model thought instead."),
    LIMIT,
    CURSOR,
    FORMAT,
];

const STATUS: &[Argument] = &[FORMAT];

impl Tool {
    /// All of them, in the order of their list.
    pub const ALL: [Self; 5] =
        [Self::Recall, Self::Remember, Self::Forget, Self::SearchSessions, Self::Status];

    /// The tool of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Its name.
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
                "Search this project's memory: decisions with reasons, conventions, the user's \
                 wishes, commands that work, fixes of errors, gotchas, failed approaches, open \
                 tasks. Use it before work on something new to this session, when an error \
                 appears, or when earlier work is referred to. By query, ids or paths."
            }
            Self::Remember => {
                "Save one thing that later sessions need: a lasting wish, a decision with its \
                 reason, a fix, a gotcha, a command that works. One thing in one memory. The same \
                 kind and title, or an id, updates it. The answer names what is near: say \
                 supersedes or both_hold where it asks. Secrets are taken out."
            }
            Self::Forget => {
                "Put a memory aside that is wrong or unwanted: neither recalled nor learned \
                 again. The user can restore it."
            }
            Self::SearchSessions => {
                "What was literally said and done in earlier sessions (redacted): search it; read \
                 turns or an outline of one session; or list sessions by time, branch or changed \
                 file, with what came of them."
            }
            Self::Status => "How many memories there are, what waits, and what went wrong last.",
        }
    }

    /// The words by which a client finds it that shows only its name at first. `None` where its definition is worth its
    /// tokens in every session.
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

    /// Its arguments.
    pub const fn arguments(self) -> &'static [Argument] {
        match self {
            Self::Recall => RECALL,
            Self::Remember => REMEMBER,
            Self::Forget => FORGET,
            Self::SearchSessions => SEARCH_SESSIONS,
            Self::Status => STATUS,
        }
    }

    /// Returns the names of the arguments that must be given.
    pub const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Forget => &["id"],
            Self::Recall | Self::Remember | Self::SearchSessions | Self::Status => &[],
        }
    }
}
