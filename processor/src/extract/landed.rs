//! Commits that were made in a session. They are input of later questions about earlier memories.

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use super::clean::cut;
use super::episode::commits_of;
use crate::transcript::session::Session;

/// Maximum number of characters of the message below its subject.
const BODY_CHARS_MAX: usize = 400;
/// Maximum number of commits of a session; the last ones are kept.
const COMMITS_MAX: usize = 100;

/// A commit that was made in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Landed {
    /// The session.
    pub session: String,
    /// The time of the commit.
    pub at: Timestamp,
    /// The first line of its message.
    pub subject: String,
    /// The beginning of the rest of the message.
    pub body: String,
}

impl Landed {
    /// Returns the commits of a session ordered by time, without versions that were amended later.
    pub fn of(session: &Session) -> Vec<Self> {
        let steps = session.turns.iter().flat_map(|turn| &turn.steps);
        let mut landed: Vec<Self> = commits_of(steps)
            .into_iter()
            .map(|commit| Self {
                session: session.id.clone(),
                at: commit.at,
                subject: commit.message.subject,
                body: cut(&commit.message.body, BODY_CHARS_MAX),
            })
            .collect();
        landed.drain(..landed.len().saturating_sub(COMMITS_MAX));
        landed
    }
}
