//! Finds neighbours in an index: only what shares words with a statement or is near it in meaning is looked
//! at, and no memory file is read.

use std::path::PathBuf;

use super::{CONTRADICTS, Statement, Verdict, judge_by};
use crate::id::MemoryId;
use crate::kind::Kind;
use crate::memory::Relation;
use crate::recall::{Hit, Recall};
use crate::time::Timestamp;

/// Neighbours that are told of.
pub const NEIGHBOURS_MAX: usize = 3;

/// A memory near a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Its name.
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

/// Finds the memories near a statement, those that a decision is due about first. Memories that are held back
/// or replaced already are not among them, nor is `own`, the memory that the statement is of.
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
    // Of one verdict, the best match stays in front.
    neighbours.sort_by_key(|neighbour| neighbour.verdict);
    neighbours.truncate(NEIGHBOURS_MAX);
    neighbours
}

impl Neighbour {
    /// Returns whether somebody should say how the two relate: they are not merely near.
    pub fn asks(&self) -> bool {
        self.verdict != Verdict::Near
    }
}

/// Returns the links of a memory to the neighbours that it differs from, as far as nobody decided about them:
/// `settled` are those that it replaces.
pub fn contradictions(neighbours: &[Neighbour], settled: &[MemoryId]) -> Vec<Relation> {
    let unsettled = neighbours
        .iter()
        .filter(|neighbour| neighbour.verdict.differs() && !settled.contains(&neighbour.id));
    unsettled.map(|neighbour| Relation { kind: CONTRADICTS.to_owned(), to: neighbour.id }).collect()
}
