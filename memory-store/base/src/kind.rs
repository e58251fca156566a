//! The kinds of memory.

use serde::{Deserialize, Serialize};

/// Kind of a memory. It determines the half-life of a memory and the occasions on which it is recalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Kind {
    /// A choice and its reason.
    #[serde(alias = "architecture")]
    Decision = 0,
    /// A way of working in this project.
    Convention = 1,
    /// A lasting preference of the user.
    Preference = 2,
    /// A true statement about the project or its environment.
    Fact = 3,
    /// Steps that work.
    Procedure = 4,
    /// A verified command, with its line, folder, exit status and number of successes.
    #[serde(alias = "verified-command")]
    Command = 5,
    /// A surprise that costs time.
    Gotcha = 6,
    /// The signature of an error, and the error's cure.
    Fix = 7,
    /// An approach that was tried and did not work, with the reason.
    FailedApproach = 8,
    /// An open task or question.
    #[serde(alias = "todo")]
    Task = 9,
    /// A session's requests, results and open items.
    #[serde(alias = "episodic")]
    Session = 10,
    /// A synthesis of several memories about one subject.
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

    /// Returns the name as in memory files and on the command line.
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

    /// Returns a number of memories of this kind in words.
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

    /// Returns whether this kind is a wish, which is valid until the user withdraws it.
    pub const fn is_wish(self) -> bool {
        matches!(self, Self::Preference | Self::Convention)
    }

    /// Returns whether memories of this kind describe a failure or its cure.
    pub const fn is_of_failure(self) -> bool {
        matches!(self, Self::Fix | Self::Gotcha | Self::FailedApproach)
    }

    /// Returns whether memories of this kind limit what may be done: choices, wishes, surprises and failed approaches.
    pub const fn is_constraint(self) -> bool {
        matches!(self, Self::Decision | Self::Gotcha | Self::FailedApproach) || self.is_wish()
    }

    /// Returns the kind with this name or alias, in any case; `None` if there is none. `_`, `-` and a space are equal.
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

    /// Returns the default half-life of a memory's weight in ranking, in days since its last renewal.
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
