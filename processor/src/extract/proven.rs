//! What the tool calls of a session proved: commands that passed, and failures with their cures. They are kept with the
//! session and are no memories: `throughline fixes` and the start block read them.

use memory_store::Timestamp;
use memory_store::memory::CommandRecord;
use serde::{Deserialize, Serialize};

/// Commands and cures of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proven {
    /// Commands that passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// Calls that failed and what was done until they passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cures: Vec<Cure>,
}

impl Proven {
    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.cures.is_empty()
    }

    /// Adds what another part of the session proved.
    pub fn extend(&mut self, other: Self) {
        self.commands.extend(other.commands);
        self.cures.extend(other.cures);
    }

    /// Returns every text, to hide what must not be stored.
    pub fn texts(&mut self) -> Vec<&mut String> {
        let commands = self.commands.iter_mut();
        let mut texts: Vec<&mut String> =
            commands.flat_map(|command| [&mut command.line, &mut command.directory]).collect();
        for cure in &mut self.cures {
            texts.extend([&mut cure.call, &mut cure.error, &mut cure.cure]);
            texts.extend(&mut cure.signature);
            texts.extend(&mut cure.paths);
        }
        texts
    }
}

/// A call that failed and passed later, or a command that did its work instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cure {
    /// When it failed.
    pub at: Timestamp,
    /// The records of the failure and of its end.
    pub turns: Vec<String>,
    /// The call: a command line, or a tool and a file.
    pub call: String,
    /// The line of its output that names the error.
    pub error: String,
    /// The error's signature, where it tells one error from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// What was done, in one sentence.
    pub cure: String,
    /// The files that were changed, and those that the call names.
    pub paths: Vec<String>,
}
