//! Results of recall: hits, and the reason for their absence.

use std::path::PathBuf;

use super::sources::Collection;
use crate::rank::staleness::Staleness;
use crate::rank::trace::Traced;
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::memory::{SaidBy, Scope};
use memory_store_base::time::Timestamp;

/// A found memory with its printed fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Id of the memory.
    pub id: MemoryId,
    /// Kind of the statement; passages have `session`.
    pub kind: Kind,
    /// Title.
    pub title: String,
    /// Text below the title.
    pub text: String,
    /// Time of the event.
    pub date: Timestamp,
    /// Files that it is about.
    pub paths: Vec<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// Topic, `area/topic`.
    pub topic: Option<String>,
    /// Scope of a memory.
    pub scope: Scope,
    /// Name of the subagent that alone is given it; `None` for a passage.
    pub agent: Option<String>,
    /// Absolute path of its file; empty for a passage.
    pub file: PathBuf,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Score; only comparable within one answer.
    pub score: f32,
    /// Reason for the match, for display.
    pub why: String,
    /// Collection of the memory.
    pub collection: Collection,
    /// Speaker of the statement.
    pub said_by: Option<SaidBy>,
    /// True if a model chose to save it.
    pub noted: bool,
    /// True if it is pending review.
    pub draft: bool,
    /// True if another memory supersedes it; returned only by explicit search.
    pub superseded: bool,
    /// Id of its successor, if known.
    pub superseded_by: Option<MemoryId>,
    /// Other sides of undecided pairs with their titles: memories that it contradicts, or a newer one that is returned
    /// instead.
    pub undecided: Vec<(MemoryId, String)>,
    /// End of validity, if it has passed; such memories are returned on request only.
    pub expired: Option<Timestamp>,
    /// True if it is in quarantine, or not released; returned only by explicit search.
    pub held: bool,
    /// True if this machine did not derive, write or release it.
    pub from_repository: bool,
    /// Change of its files since it was learned, if considerable.
    pub staleness: Option<Staleness>,
    /// Error signatures of a fix.
    pub signatures: Vec<String>,
    /// Source session.
    pub session: Option<String>,
    /// For a passage: the number of its turn in the session.
    pub turn: u32,
}

/// Reason for the absence of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceReason {
    /// There are no memories.
    Empty,
    /// The text has no searchable words.
    NoWords,
    /// The text is only an acknowledgement: "ok", "continue".
    Acknowledgement,
    /// No document shares a word with it.
    NoCandidate,
    /// The candidates share too little with it.
    Gate,
    /// Every candidate was shown already, or its file has changed.
    Skipped,
}

/// Result of a recall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The first read error, in one line; hits are from the readable rest.
    pub degraded: Option<String>,
    /// True if a file was changed or removed since it was indexed, so that a new index is due.
    pub stale: bool,
    /// True if the user's settings changed since the index was published, so that a new one is due.
    pub outdated: bool,
    /// Notes on the query for the user: corrections, and conditions that were relaxed.
    pub notes: Vec<String>,
    /// True if a matching memory is held, if requested.
    pub held_back: bool,
    /// True if a matching memory was omitted because it was shown before.
    pub given_before: bool,
    /// Why there are no hits.
    pub silent: Option<SilenceReason>,
    /// Outcome of each candidate, if asked for.
    pub trace: Vec<Traced>,
}

impl Hit {
    /// Returns a hit for evidence of a session that is not a memory, without text.
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
            signatures: Vec::new(),
            session: None,
            turn: 0,
        }
    }
}

/// Returns a hit that is current again because its successor no longer applies.
pub(crate) fn holding_again(hit: Hit, why: String) -> Hit {
    Hit { superseded: false, superseded_by: None, undecided: Vec::new(), why, ..hit }
}
