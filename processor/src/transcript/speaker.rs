//! Speaker of a session: the author of its prompts, who is a person, another agent, or a program.

use serde::{Deserialize, Serialize};

use super::record::{Record, RecordWhat};
use super::session::PromptBy;

/// Speaker of a session. Only sessions of people determine the handoff, and only people have wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Speaker {
    /// A person, at least in some prompts.
    #[default]
    Person,
    /// Another agent: the lead of a team, or another session.
    Agent,
    /// A program, by `claude -p` or the SDK.
    Program,
}

impl Speaker {
    /// Returns the speaker of these records; `None` if no prompt has a speaker.
    pub fn of(records: &[Record]) -> Option<Self> {
        let speakers = records.iter().filter_map(|record| match &record.what {
            RecordWhat::Prompt { by, .. } => Self::of_prompt(*by),
            _ => None,
        });
        speakers.min()
    }

    /// Returns the speaker of a prompt; `None` for a prompt by a machine and for a summary.
    pub fn of_prompt(by: PromptBy) -> Option<Self> {
        match by {
            PromptBy::User | PromptBy::Command => Some(Self::Person),
            PromptBy::Agent => Some(Self::Agent),
            PromptBy::Sdk => Some(Self::Program),
            PromptBy::Machine | PromptBy::Summary => None,
        }
    }

    /// Returns whether the speaker is a person.
    pub fn is_person(&self) -> bool {
        *self == Self::Person
    }

    /// Returns the label of the speaker in a list; empty for a person.
    pub fn label(self) -> &'static str {
        match self {
            Self::Person => "",
            Self::Agent => "another agent",
            Self::Program => "a program",
        }
    }
}
