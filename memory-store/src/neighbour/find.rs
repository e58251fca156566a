//! Finds neighbours in an index. Reads only memories that have words in common with a statement, or a similar vector.
//! Reads no memory file.

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
    /// Id of the memory.
    pub id: MemoryId,
    /// Kind of the memory.
    pub kind: Kind,
    /// Title of the memory.
    pub title: String,
    /// Absolute path of the memory's file.
    pub file: PathBuf,
    /// Relation of the statement to the memory.
    pub verdict: Verdict,
}

/// Finds the memories near a statement. Those that require a decision come first. Withheld memories, superseded
/// memories and `own`, the memory of the statement, are excluded.
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
    // The sort is stable: among neighbours with the same verdict, the best match remains first.
    neighbours.sort_by_key(|neighbour| neighbour.verdict);
    neighbours.truncate(NEIGHBOURS_MAX);
    neighbours
}

impl Neighbour {
    /// Returns whether a decision about the relation is required, because the two are not merely near each other.
    pub fn asks(&self) -> bool {
        self.verdict != Verdict::Near
    }
}

/// Returns links from a memory to the neighbours that differ from it. Neighbours in `settled` get no link, because the
/// memory supersedes them.
pub fn contradictions(neighbours: &[Neighbour], settled: &[MemoryId]) -> Vec<Relation> {
    let unsettled = neighbours
        .iter()
        .filter(|neighbour| neighbour.verdict.differs() && !settled.contains(&neighbour.id));
    unsettled.map(|neighbour| Relation { kind: CONTRADICTS.to_owned(), to: neighbour.id }).collect()
}
