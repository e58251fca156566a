//! What the tool calls of a session proved: commands that passed, and failures with their cures. They are kept with the
//! session and are no memories: `throughline fixes` and the start block read them.

use std::collections::{BTreeMap, BTreeSet};

use memory_store::Timestamp;
use memory_store::memory::CommandRecord;
use memory_store::suspicion::{Origin, suspicion};
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

/// Sessions in which a command passed before it is shown where a session starts.
const SESSIONS_MIN: usize = 3;

/// Commands that are shown.
const SHOWN_MAX: usize = 3;

/// Returns the commands that passed in at least [`SESSIONS_MIN`] of some sessions, as they are shown: the line, and its
/// folder unless that is the root. Of a line that passed in several folders the one of most sessions is shown.
pub fn often<'a>(sessions: impl Iterator<Item = (&'a str, &'a Proven)>) -> Vec<String> {
    let mut seen: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (session, proven) in sessions {
        for command in &proven.commands {
            seen.entry((&command.line, &command.directory)).or_default().insert(session);
        }
    }
    let mut often: Vec<(usize, &str, &str)> = seen
        .into_iter()
        .map(|((line, folder), sessions)| (sessions.len(), line, folder))
        .filter(|(sessions, line, _)| {
            *sessions >= SESSIONS_MIN && suspicion("", line, Origin::Own).is_none()
        })
        .collect();
    often.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.cmp(other)));
    let mut lines = BTreeSet::new();
    often.retain(|(_, line, _)| lines.insert(*line));
    let shown = often.into_iter().take(SHOWN_MAX).map(|(_, line, folder)| match folder {
        "." => format!("`{line}`"),
        folder => format!("`{line}` (in `{folder}`)"),
    });
    shown.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_once_it_passed_in_three_sessions() {
        let of = |line: &str, folder: &str| CommandRecord {
            line: line.to_owned(),
            directory: folder.to_owned(),
            exit_status: 0,
            passed: 9,
            last: Timestamp(0),
        };
        let proven = |commands: &[(&str, &str)]| Proven {
            commands: commands.iter().map(|(line, folder)| of(line, folder)).collect(),
            ..Proven::default()
        };
        let sessions = [
            ("a", proven(&[("make test", "."), ("npm test", "web"), ("npm test", ".")])),
            ("b", proven(&[("make test", "."), ("npm test", "web"), ("make lint", ".")])),
            ("c", proven(&[("make test", "."), ("npm test", "web"), ("make lint", ".")])),
            ("c", proven(&[("make lint", ".")])),
            ("d", proven(&[("make test", ".")])),
        ];
        let shown = often(sessions.iter().map(|(session, proven)| (*session, proven)));
        assert_eq!(shown, ["`make test`", "`npm test` (in `web`)"]);
    }
}
