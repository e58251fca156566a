//! Results of recall: hits, or the reason why there are none.

use std::path::PathBuf;

use super::sources::Collection;
use crate::query::shape::QueryShape;
use crate::rank::staleness::Staleness;
use crate::rank::start_rank::Age;
use crate::rank::trace::{CandidateOutcome, Traced};
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::memory::{SaidBy, Scope};
use memory_store_base::time::Timestamp;

/// A memory or passage that was found, with the fields that are printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Id of the memory or passage.
    pub id: MemoryId,
    /// Kind of the memory; `session` for a passage.
    pub kind: Kind,
    /// Title.
    pub title: String,
    /// Text below the title.
    pub text: String,
    /// Time of the event.
    pub date: Timestamp,
    /// Files that the memory is about.
    pub paths: Vec<String>,
    /// Additional search words.
    pub tags: Vec<String>,
    /// Topic, `area/topic`.
    pub topic: Option<String>,
    /// Scope of a memory.
    pub scope: Scope,
    /// Name of the only subagent that receives the memory; `None` for a passage.
    pub agent: Option<String>,
    /// Absolute path of the memory's file; empty for a passage.
    pub file: PathBuf,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Score, which is comparable only within one answer.
    pub score: f32,
    /// Why the memory matches, for display.
    pub why: String,
    /// Collection that contains the memory.
    pub collection: Collection,
    /// Speaker of the statement.
    pub said_by: Option<SaidBy>,
    /// True if a model chose to save the memory.
    pub noted: bool,
    /// True if the memory is pending.
    pub draft: bool,
    /// True if another memory supersedes this one. Such a memory is returned only by explicit search.
    pub superseded: bool,
    /// Id of the successor, if known.
    pub superseded_by: Option<MemoryId>,
    /// Other memories of undecided pairs with this one, with their titles: memories that it contradicts, or a newer
    /// memory that is returned instead.
    pub undecided: Vec<(MemoryId, String)>,
    /// End of the memory's validity, if it has passed. Such a memory is returned only on request.
    pub expired: Option<Timestamp>,
    /// True if the memory is withheld. Such a memory is returned only by explicit search.
    pub held: bool,
    /// True if the memory was not derived, written or released on this machine.
    pub from_repository: bool,
    /// Evidence that the memory is stale, if any.
    pub staleness: Option<Staleness>,
    /// For a synthesis: the memories that it was made from.
    pub made_from: Vec<MemoryId>,
    /// Age of a memory; a passage has none.
    pub age: Age,
    /// For a fix: the error signatures.
    pub signatures: Vec<String>,
    /// Id of the session in which the statement was made.
    pub session: Option<String>,
    /// For a passage: number of its turn in the session, counted from 0.
    pub turn: u32,
}

/// Why there are no hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceReason {
    /// There are no memories.
    Empty,
    /// The text has no searchable words.
    NoWords,
    /// The text is only an acknowledgement, such as "ok" or "continue".
    Acknowledgement,
    /// No document shares a word with the text.
    NoCandidate,
    /// The candidates share too little with the text.
    Gate,
    /// The best candidate that answers is left out for this reason.
    LeftOut(CandidateOutcome),
}

/// Result of a recall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The first read error, as one line. The hits are from the readable rest.
    pub degraded: Option<String>,
    /// True if a file was changed or removed since it was indexed, so that the index must be rebuilt.
    pub stale: bool,
    /// True if the user's settings have changed since the index was published, so that the index must be rebuilt.
    pub outdated: bool,
    /// Notes about the query for the user: corrections, and conditions that were relaxed.
    pub notes: Vec<String>,
    /// True if a matching memory was omitted because it is withheld.
    pub held_back: bool,
    /// True if a matching memory was omitted because it was shown before.
    pub given_before: bool,
    /// Why there are no hits.
    pub silent: Option<SilenceReason>,
    /// Shape of the question of an explicit search.
    pub shape: Option<QueryShape>,
    /// Outcome of each candidate, if requested.
    pub trace: Vec<Traced>,
}

impl Hit {
    /// Returns a hit without text for evidence from a session that is not a memory.
    pub(crate) fn of_session(id: MemoryId, kind: Kind, date: Timestamp) -> Self {
        Self {
            id,
            kind,
            title: String::new(),
            text: String::new(),
            date,
            paths: Vec::new(),
            tags: Vec::new(),
            topic: None,
            scope: Scope::Project,
            agent: None,
            file: PathBuf::new(),
            confidence: 0.0,
            score: 0.0,
            why: String::new(),
            collection: Collection::Passages,
            said_by: None,
            noted: false,
            draft: false,
            superseded: false,
            superseded_by: None,
            undecided: Vec::new(),
            expired: None,
            held: false,
            from_repository: false,
            staleness: None,
            made_from: Vec::new(),
            age: Age::Fresh,
            signatures: Vec::new(),
            session: None,
            turn: 0,
        }
    }
}

/// Returns a hit that is valid again because its successor no longer is.
pub(crate) fn holding_again(hit: Hit, why: String) -> Hit {
    Hit { superseded: false, superseded_by: None, undecided: Vec::new(), why, ..hit }
}
