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

const fn text(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
) -> Argument {
    Argument { name, aliases, takes: Takes::Text, about }
}

const fn flag(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
) -> Argument {
    Argument { name, aliases, takes: Takes::Flag, about }
}

const fn words(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
) -> Argument {
    Argument { name, aliases, takes: Takes::Words, about }
}

const fn ids(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
) -> Argument {
    Argument { name, aliases, takes: Takes::Ids, about }
}

const fn id(aliases: &'static [&'static str], about: &'static str) -> Argument {
    Argument { name: "id", aliases, takes: Takes::Id, about }
}

const PATHS_ALIASES: &[&str] = &["path", "files", "file", "file_path", "file_paths"];

const LIMIT: Argument = Argument {
    name: "limit",
    aliases: &["max", "max_results", "count", "n", "top_k"],
    takes: Takes::Number(LIMIT_MAX),
    about: "1 to 50, default 8.",
};
const CURSOR: Argument = text("cursor", &["next_cursor"], "From an answer: what comes after it.");
const FORMAT: Argument = Argument {
    name: "format",
    aliases: &["output", "response_format"],
    takes: Takes::One(&["text", "json"]),
    about: "Default text.",
};
/// [`FORMAT`] for a tool that takes it and does not offer it: the definition is in every session.
const FORMAT_UNSAID: Argument = Argument { about: "", ..FORMAT };

const RECALL: &[Argument] = &[
    text(
        "query",
        &["q", "text", "search", "question", "keywords", "topic"],
        "Question, words, name of a file, text of an error. AND, OR, NOT and kind:fix tag:ci \
         since:2026-10-01 before:\"last week\" narrow it.",
    ),
    ids("ids", &["id", "memory_id", "memory_ids"], "Whole texts of these memories."),
    Argument {
        name: "paths",
        aliases: PATHS_ALIASES,
        takes: Takes::Texts,
        about: "Files: with a query theirs come first; alone, what matters for a task in them.",
    },
    Argument {
        name: "kinds",
        aliases: &["kind", "type", "types"],
        takes: Takes::Kinds,
        about: "Only these.",
    },
    Argument {
        name: "detail",
        aliases: &[],
        takes: Takes::One(&["full", "titles"]),
        about: "Default full.",
    },
    text("as_of", &["at", "on"], "What held on that day."),
    flag("history", &["include_superseded"], "Replaced and expired ones, too."),
    Argument {
        name: "projects",
        aliases: &["project", "scope"],
        takes: Takes::One(&["this", "all"]),
        about: "all: also projects that the user shares.",
    },
    LIMIT,
    CURSOR,
    words("tags", &["tag"], ""),
    text("since", &["after", "from"], ""),
    text("before", &["until"], ""),
    FORMAT_UNSAID,
];

const REMEMBER: &[Argument] = &[
    Argument {
        name: "kind",
        aliases: &["type", "category", "kinds"],
        takes: Takes::Kind,
        about: "Default fact.",
    },
    text("title", &["name", "summary", "subject"], "In one line."),
    text(
        "text",
        &["content", "body", "memory", "details", "description", "note"],
        "Self-contained sentences with the reason; a reader knows nothing of this conversation.",
    ),
    words("tags", &["tag", "keywords"], "Search words."),
    Argument {
        name: "paths",
        aliases: PATHS_ALIASES,
        takes: Takes::Texts,
        about: "Files it is about.",
    },
    id(&["memory_id"], "Change this one: text, title, kind, paths, pin, valid_until, still_true."),
    ids("supersedes", &["replaces"], "Ids that this one replaces."),
    flag("both_hold", &[], "It holds beside those that an answer named."),
    flag("pin", &["pinned"], "Keep in view."),
    flag("still_true", &["confirm"], "With id: looked at and still so."),
    text("valid_until", &["expires", "until"], "Last day on which it holds."),
    Argument { name: "scope", aliases: &[], takes: Takes::One(&["project", "user"]), about: "" },
    FORMAT_UNSAID,
];

const FORGET: &[Argument] = &[id(&["memory_id", "ids"], "As `recall` shows it."), FORMAT_UNSAID];

const SEARCH_SESSIONS: &[Argument] = &[
    text(
        "query",
        &["q", "text", "search", "question"],
        "What was said or done: words, a command, an error. Filters as in recall.",
    ),
    text("session", &["session_id", "id"], "Only this one, by its id or the start of it."),
    text("turns", &["turn", "range"], "With session: read these, such as 3-7 or 8-."),
    flag("outline", &["toc"], "With session: a line for each turn."),
    text("branch", &["git_branch"], "Sessions on this branch."),
    Argument {
        name: "file",
        aliases: &["path", "paths", "files", "file_path", "file_paths"],
        takes: Takes::TextOrTexts,
        about: "Sessions that changed this file.",
    },
    text("since", &["after", "from"], "Not earlier."),
    text("before", &["until", "to"], "Not later."),
    flag("thinking", &[], "Search what the model thought instead."),
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
