//! Commits that were made in a session. Later questions to a model compare them with earlier memories.

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use super::clean::cut;
use super::episode::commits_of;
use crate::transcript::session::Session;

/// Maximum number of characters of the message after its subject.
const BODY_CHARS_MAX: usize = 400;
/// Maximum number of commits of a session. The last are kept.
const COMMITS_MAX: usize = 100;

/// A commit that was made in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Landed {
    /// Id of the session.
    pub session: String,
    /// The time of the commit.
    pub at: Timestamp,
    /// The first line of the commit message.
    pub subject: String,
    /// The beginning of the commit message after the first line.
    pub body: String,
}

impl Landed {
    /// Returns the commits of a session ordered by time. Of an amended commit, only the last version is returned.
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
