//! Memories similar to the text of a new memory. There is no gate, there are no operators, and near-duplicates are
//! kept.

use crate::query::Query;
use crate::rank::lexical::FoundTerms;
use crate::rank::score;
use crate::search::hit::{Hit, Recalled};
use crate::search::reader::Recall;
use memory_store_base::time::Timestamp;

/// Maximum number of candidates by words.
const CANDIDATES_MAX: usize = 48;
/// Maximum number of candidates whose records are read.
const READ_MAX: usize = 32;

impl Recall {
    /// Returns the memories that have most in common with a text, best first, each with the cosine of the vectors if
    /// both have one. Withheld memories are excluded, and superseded ones unless they belong to an undecided pair.
    pub fn near(&self, text: &str, now: Timestamp) -> Vec<(Hit, Option<f32>)> {
        let sources = &self.sources;
        let query = Query::search(text);
        if query.terms.is_empty() {
            return Vec::new();
        }
        self.open_transformer(sources);
        let query = self.with_vector(query, sources);
        let found =
            FoundTerms::look_up_all(sources, &query.terms).with_pairs(sources, &query.pairs);
        let mut candidates = score::find(sources, &query, &found, CANDIDATES_MAX);
        score::fuse(sources, &query, &found, &mut candidates, now);
        score::sort(&mut candidates);
        let mut recalled = Recalled::default();
        let read = candidates.iter().take(READ_MAX).filter_map(|candidate| {
            let hit = self.read(candidate, now, &mut recalled).ok()?;
            let cosine = candidate.near.map(|near| near.cosine);
            let is_current = !hit.superseded || !hit.undecided.is_empty();
            (!hit.held && is_current).then_some((hit, cosine))
        });
        read.collect()
    }
}
