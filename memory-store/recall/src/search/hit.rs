//! Answers of recall: hits, and why there are none.

use std::path::PathBuf;

use super::sources::Collection;
use crate::rank::staleness::Staleness;
use crate::rank::trace::Traced;
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::memory::SaidBy;
use memory_store_base::time::Timestamp;

/// A memory that was found, with all that is printed of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its name.
    pub id: MemoryId,
    /// Kind of its statement; passages count as `session`.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// The text below the title.
    pub text: String,
    /// When what it says happened.
    pub date: Timestamp,
    /// The files it is about.
    pub paths: Vec<String>,
    /// Its search words.
    pub tags: Vec<String>,
    /// Its file, absolute; empty for a passage.
    pub file: PathBuf,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Score; only comparable within one answer.
    pub score: f32,
    /// Why it was found, for people.
    pub why: String,
    /// Collection that it was found in.
    pub collection: Collection,
    /// Speaker of the statement.
    pub said_by: Option<SaidBy>,
    /// True if a model chose to save it.
    pub noted: bool,
    /// True if it waits for review.
    pub draft: bool,
    /// True if another memory replaces it; only an explicit search shows such ones.
    pub superseded: bool,
    /// Its successor, where known.
    pub superseded_by: Option<MemoryId>,
    /// The other sides of pairs that nobody decided about, with their titles: memories that it differs from, or a newer
    /// one that is given in its place.
    pub undecided: Vec<(MemoryId, String)>,
    /// Until when it held, where that is over; only who asks for such ones is given any.
    pub expired: Option<Timestamp>,
    /// True if it is in quarantine, or not released; only an explicit search shows such ones.
    pub held: bool,
    /// True if this machine did not derive, write or release it.
    pub from_repository: bool,
    /// Change of its files since it was learned, where that is much.
    pub staleness: Option<Staleness>,
    /// Error signatures, of a fix.
    pub signatures: Vec<String>,
    /// The session it comes from.
    pub session: Option<String>,
    /// Of a passage: the number of its turn in the session.
    pub turn: u32,
}

/// Why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceReason {
    /// There are no memories.
    Empty,
    /// The text has no words that could be looked for.
    NoWords,
    /// The text only acknowledges: "ok", "continue".
    Acknowledgement,
    /// Nothing shares a word with it.
    NoCandidate,
    /// The candidates share too little with it.
    Gate,
    /// Every candidate has been shown already, or its file has changed.
    Skipped,
}

/// Answer of recall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The first read error, in one line; hits come from the readable rest.
    pub degraded: Option<String>,
    /// True if a file had changed or gone since it was indexed, so that a new index is due.
    pub stale: bool,
    /// True if the user's settings changed since the index was published, so that a new one is due.
    pub outdated: bool,
    /// Notes on the query for people: corrections, and conditions that were relaxed.
    pub notes: Vec<String>,
    /// True if something that fits is held back, where that was asked for.
    pub held_back: bool,
    /// True if a memory that answers was left out because it was given before.
    pub given_before: bool,
    /// Why there are no hits.
    pub silent: Option<SilenceReason>,
    /// Outcome of each candidate, if asked for.
    pub trace: Vec<Traced>,
}

impl Hit {
    /// Returns evidence of a session that is no memory, without a text.
    pub(crate) fn of_session(id: MemoryId, kind: Kind, date: Timestamp) -> Self {
        Self {
            id,
            kind,
            title: String::new(),
            text: String::new(),
            date,
            paths: Vec::new(),
            tags: Vec::new(),
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

/// A memory that what replaced it no longer stands for.
pub(crate) fn holding_again(hit: Hit, why: String) -> Hit {
    Hit { superseded: false, superseded_by: None, undecided: Vec::new(), why, ..hit }
}
