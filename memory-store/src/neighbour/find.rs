//! Finds neighbours in an index: only memories that share words with a statement or have a similar vector are read, and
//! no memory file.

use std::path::PathBuf;

use super::{CONTRADICTS, Statement, Verdict, judge_by};
use crate::id::MemoryId;
use crate::kind::Kind;
use crate::memory::Relation;
use crate::recall::{Hit, Recall};
use crate::time::Timestamp;

/// Maximum number of neighbours returned.
pub const NEIGHBOURS_MAX: usize = 3;

/// A memory near a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Its id.
    pub id: MemoryId,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// Its file, absolute.
    pub file: PathBuf,
    /// Relation of the statement to it.
    pub verdict: Verdict,
}

/// Finds the memories near a statement, those that require a decision first. Held and superseded memories are excluded,
/// and `own`, the memory of the statement.
pub fn find(
    recall: &Recall,
    statement: &Statement,
    own: Option<MemoryId>,
    now: Timestamp,
) -> Vec<Neighbour> {
    let near = recall.near(&statement.query(), now);
    let mut neighbours: Vec<Neighbour> = near
        .into_iter()
        .filter(|(hit, _)| Some(hit.id) != own)
        .filter_map(|(hit, cosine)| {
            let Hit { id, kind, title, text, paths, file, .. } = hit;
            let older = Statement::new(kind, &title, &text, paths);
            let likeness = || statement.likeness(&older, cosine);
            let verdict = judge_by(statement, &older, likeness)?;
            Some(Neighbour { id, kind, title, file, verdict })
        })
        .collect();
    // Within a verdict, the best match stays first.
    neighbours.sort_by_key(|neighbour| neighbour.verdict);
    neighbours.truncate(NEIGHBOURS_MAX);
    neighbours
}

impl Neighbour {
    /// Returns whether a decision on the relation is due: the two are not merely near.
    pub fn asks(&self) -> bool {
        self.verdict != Verdict::Near
    }
}

/// Returns the links of a memory to the neighbours that it differs from and that are undecided: it supersedes those in
/// `settled`.
pub fn contradictions(neighbours: &[Neighbour], settled: &[MemoryId]) -> Vec<Relation> {
    let unsettled = neighbours
        .iter()
        .filter(|neighbour| neighbour.verdict.differs() && !settled.contains(&neighbour.id));
    unsettled.map(|neighbour| Relation { kind: CONTRADICTS.to_owned(), to: neighbour.id }).collect()
}
