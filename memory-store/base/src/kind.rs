//! The kinds of memory.

use serde::{Deserialize, Serialize};

/// Kind of a memory's statement. The kind determines its half-life and the occasions of its recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Kind {
    /// A choice and its reason.
    #[serde(alias = "architecture")]
    Decision = 0,
    /// A way of working in this project.
    Convention = 1,
    /// A standing wish of the user.
    Preference = 2,
    /// True about the project or its world.
    Fact = 3,
    /// Steps that work.
    Procedure = 4,
    /// A verified command: line, folder, exit status, count.
    #[serde(alias = "verified-command")]
    Command = 5,
    /// Surprising, costs time.
    Gotcha = 6,
    /// The signature of an error and its cure.
    Fix = 7,
    /// Tried, did not work, and why.
    FailedApproach = 8,
    /// Open: a todo or a question.
    #[serde(alias = "todo")]
    Task = 9,
    /// A session's requests, results and open ends.
    #[serde(alias = "episodic")]
    Session = 10,
    /// Several memories of one subject in one.
    Synthesis = 11,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Decision,
        Self::Convention,
        Self::Preference,
        Self::Fact,
        Self::Procedure,
        Self::Command,
        Self::Gotcha,
        Self::Fix,
        Self::FailedApproach,
        Self::Task,
        Self::Session,
        Self::Synthesis,
    ];

    /// Returns the name for memory files and the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Convention => "convention",
            Self::Preference => "preference",
            Self::Fact => "fact",
            Self::Procedure => "procedure",
            Self::Command => "command",
            Self::Gotcha => "gotcha",
            Self::Fix => "fix",
            Self::FailedApproach => "failed-approach",
            Self::Task => "task",
            Self::Session => "session",
            Self::Synthesis => "synthesis",
        }
    }

    /// Returns a count of memories of a kind, in words.
    pub fn counted(self, count: usize) -> String {
        let name = match self {
            Self::FailedApproach => "failed approach",
            Self::Session => "session summary",
            kind => kind.name(),
        };
        match (name.strip_suffix("is"), name.strip_suffix('y')) {
            _ if count == 1 => format!("1 {name}"),
            (Some(stem), _) => format!("{count} {stem}es"),
            (_, Some(stem)) => format!("{count} {stem}ies"),
            _ if name.ends_with(['x', 'h']) => format!("{count} {name}es"),
            _ => format!("{count} {name}s"),
        }
    }

    /// Returns whether it is a standing wish, which is valid until the user withdraws it.
    pub const fn is_wish(self) -> bool {
        matches!(self, Self::Preference | Self::Convention)
    }

    /// Returns whether it describes a failure or its cure.
    pub const fn is_of_failure(self) -> bool {
        matches!(self, Self::Fix | Self::Gotcha | Self::FailedApproach)
    }

    /// Returns the kind of this name or alias; `_` and `-` are equal.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase().replace(['_', ' '], "-");
        let alias = match name.as_str() {
            "architecture" => Some(Self::Decision),
            "verified-command" => Some(Self::Command),
            "todo" => Some(Self::Task),
            "episodic" => Some(Self::Session),
            _ => None,
        };
        alias.or_else(|| Self::ALL.into_iter().find(|kind| kind.name() == name))
    }

    /// Returns the half-life of a memory's weight in ranking, in days since its last renewal.
    pub(crate) const fn half_life_days(self) -> u32 {
        match self {
            Self::Procedure | Self::Command => 365,
            Self::Fix | Self::Task | Self::Session => 30,
            Self::Decision
            | Self::Convention
            | Self::Preference
            | Self::Fact
            | Self::Gotcha
            | Self::FailedApproach
            | Self::Synthesis => 180,
        }
    }
}
