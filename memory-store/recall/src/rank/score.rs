//! Ranking of documents for a query by words, similarity in meaning, confidence, kind, age and paths.

use std::cmp::Reverse;

use crate::index::record::{FLAG_PATHS_ONLY, FLAG_STALE};
use crate::query::Query;
use crate::rank::candidate::Candidate;
use crate::rank::lexical::FoundTerms;
use crate::rank::start_rank::freshness;
use crate::rank::{gate, nearest, session_context};
use crate::search::sources::{At, Sources};
use memory_store_base::settings::Settings;
use memory_store_base::time::Timestamp;

/// Maximum number of candidates that are fully scored.
const CANDIDATES_MAX: usize = 48;
/// Maximum number of candidates that are found only by vectors.
const NEAREST_MAX: usize = 32;
/// Weight of meaning relative to words; words count 1 for the best match if it covers the whole query. The weights from
/// here to `MEANING_LENGTH` and [`HUB`], those of BM25, and those in `lexical.rs` and `session_context.rs` were found
/// by partial searches on sets of questions with known answers, and rounded. `scripts/fit-recall FOLDER` searches all
/// of them and prints its results next to the numbers in use. A complete search has not been finished.
const MEANING: f32 = 2.0;
/// Increase of that weight with the cosine of the nearest document.
const MEANING_NEAR: f32 = 3.5;
/// Decrease of that weight with the logarithm of the number of terms, because words are more reliable in longer
/// queries.
const MEANING_LENGTH: f32 = 0.92;
/// Fraction of a memory's hub value that is subtracted from its cosine.
const HUB: f32 = 0.41;
/// Share of the second space in a memory's meaning. It is one half, because no real model was available for fitting it;
/// `scripts/eval retrieval --mode second` measures the effect.
const SECOND_SPACE: f32 = 0.5;
/// Cosine assumed for the nearest document if there is no vector of the built-in model.
const SECOND_SPACE_USUAL: f32 = 0.45;
/// Minimum weight of meaning relative to words.
const MEANING_MIN: f32 = 0.2;

/// Weight of confidence relative to words, which count 1. It is the most effective weight, because it separates judged
/// memories from passing remarks.
const CONFIDENCE: f32 = 0.35;
/// Amount by which the score of a session's digest is reduced.
const SESSION: f32 = 0.25;
/// Weight of freshness.
const FRESHNESS: f32 = 0.05;
/// Amount by which the score of a stale memory is reduced.
const STALE: f32 = 0.15;
/// Gain of a pinned memory.
const PIN: f32 = 0.1;
/// Weight of the gate's score for a long prompt, of which a single paragraph may be decisive.
const LONG_GATE: f32 = 0.05;

impl Candidate {
    /// Returns the similarity in meaning, corrected by the memory's similarity to all texts; 0 if unknown.
    pub(crate) fn meaning(&self) -> f32 {
        self.near.map_or(0.0, |near| near.cosine - HUB * near.hub)
    }

    /// Returns the part of the score that does not depend on words and meaning.
    pub(crate) fn prior(&self, settings: &Settings, now: Timestamp) -> f32 {
        let kind = if self.is_digest() { -SESSION } else { 0.0 };
        let pin = if self.is_pinned() { PIN } else { 0.0 };
        let stale = if self.entry.has(FLAG_STALE) { -STALE } else { 0.0 };
        let fresh = self
            .entry
            .kind_of()
            .map_or(0.0, |kind| freshness(kind, self.entry.when, settings, now));
        CONFIDENCE * self.entry.confidence() + FRESHNESS * fresh + kind + pin + stale
    }
}

/// Sorts candidates, best first, and those with equal scores by id.
pub(crate) fn sort(candidates: &mut [Candidate]) {
    // Candidates are large, so their keys are sorted first, and each candidate is moved only once.
    candidates.sort_by_cached_key(|candidate| {
        (Reverse(ordered(candidate.fused)), candidate.entry.id, candidate.at)
    });
}

/// Maps a float to an integer that has the order of [`f32::total_cmp`].
fn ordered(number: f32) -> i32 {
    let bits = number.to_bits().cast_signed();
    if bits < 0 { bits ^ i32::MAX } else { bits }
}

/// Returns scored documents that share terms with a query or are similar in meaning. Memories restricted to their paths
/// are not included, because they match only by paths.
pub(crate) fn candidates(sources: &Sources, query: &Query, now: Timestamp) -> Vec<Candidate> {
    candidates_of(sources, query, FoundTerms::look_up(sources, &query.terms), now)
}

/// Returns candidates like [`candidates`], for a query whose terms have been looked up.
pub(crate) fn candidates_of(
    sources: &Sources,
    query: &Query,
    found: FoundTerms<'_>,
    now: Timestamp,
) -> Vec<Candidate> {
    let found = found.with_pairs(sources, &query.pairs);
    let mut candidates = find(sources, query, &found, CANDIDATES_MAX);
    candidates.retain(|candidate| !candidate.entry.has(FLAG_PATHS_ONLY));
    fuse(sources, query, &found, &mut candidates, now);
    for candidate in &mut candidates {
        gate::judge(sources, query, &found, candidate);
        if query.is_long() {
            candidate.fused += LONG_GATE * candidate.gate;
        }
    }
    candidates
}

/// Returns the documents with the best words and those nearest to the query, both with their word score and similarity.
pub(crate) fn find(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
    max: usize,
) -> Vec<Candidate> {
    let likenesses = query.likenesses.as_ref();
    let mut also = likenesses.map_or_else(Vec::new, |likenesses| likenesses.best(sources));
    let mut candidates = find_also(sources, query, found, max, &mut also);
    if let Some(likenesses) = likenesses {
        for candidate in &mut candidates {
            candidate.likeness = likenesses.of(candidate.at.source, candidate.entry.id);
        }
    }
    candidates
}

/// Returns candidates of the built-in space, and the documents in `also`, which another space found.
fn find_also(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
    max: usize,
    also: &mut Vec<At>,
) -> Vec<Candidate> {
    let Some(probe) = &query.probe else { return found.best(sources, query, max, also) };
    // The nearest documents are found first, so that a single pass over the postings covers them too.
    let nearest = nearest::of_all(sources, probe, NEAREST_MAX);
    also.extend((0..).zip(&nearest).flat_map(|(source, nearest)| {
        nearest.best.iter().map(move |near| At { source, doc: near.doc })
    }));
    also.sort_unstable();
    also.dedup();
    let mut candidates = found.best(sources, query, max, also);
    for ((number, source), nearest) in (0..).zip(&sources.list).zip(&nearest) {
        let of_source = |candidate: &&mut Candidate| candidate.at.source == number;
        let mut best = nearest.best.clone();
        best.sort_unstable_by_key(|near| near.doc);
        for candidate in candidates.iter_mut().filter(of_source) {
            let place = best.binary_search_by_key(&candidate.at.doc, |near| near.doc);
            candidate.near = place.ok().map(|place| best[place]);
        }
        let others = candidates.iter_mut().filter(of_source).filter(|other| other.near.is_none());
        let mut others: Vec<&mut Candidate> = others.collect();
        let docs: Vec<u32> = others.iter().map(|candidate| candidate.at.doc).collect();
        let cosines = source.cosines(sources, probe, nearest, &docs);
        others.iter_mut().zip(cosines).for_each(|(candidate, near)| candidate.near = near);
    }
    candidates
}

/// Computes the final scores of candidates from words, scaled by the share of the query that the best candidate covers,
/// and from meaning, weighted by its reliability.
pub(crate) fn fuse(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
    candidates: &mut [Candidate],
    now: Timestamp,
) {
    let best = candidates.iter().map(|candidate| candidate.lexical).fold(0.0, f32::max);
    session_context::add(candidates);
    let with_beside = |candidate: &Candidate| candidate.lexical + candidate.beside;
    let most = candidates.iter().map(with_beside).fold(0.0, f32::max);
    let scale = if most > 0.0 { found.covered(query, best).sqrt() / most } else { 0.0 };
    let nearest = candidates.iter().map(Candidate::meaning).fold(0.0, f32::max);
    let trust = trust(query, nearest);
    for candidate in candidates {
        candidate.words = scale * (candidate.lexical + candidate.beside);
        candidate.trust = trust;
        let meaning = both_meanings(candidate, nearest);
        candidate.fused =
            candidate.words + trust * meaning + candidate.prior(&sources.settings, now);
    }
}

/// Returns the weight of meaning relative to words, given the query and the similarity of the nearest document.
fn trust(query: &Query, nearest: f32) -> f32 {
    let length = (query.terms.len().max(1) as f32).ln();
    (MEANING + MEANING_NEAR * nearest - MEANING_LENGTH * length).max(MEANING_MIN)
}

/// Returns a candidate's score for meaning by both spaces. `nearest` is the best score in the built-in space.
fn both_meanings(candidate: &Candidate, nearest: f32) -> f32 {
    let Some(likeness) = candidate.likeness else { return candidate.meaning() };
    match candidate.near {
        Some(_) => (1.0 - SECOND_SPACE) * candidate.meaning() + SECOND_SPACE * likeness * nearest,
        None => likeness * if nearest > 0.0 { nearest } else { SECOND_SPACE_USUAL },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::document::Document;
    use crate::index::manifest::Collection;
    use crate::index::record::Record;
    use crate::index::testing;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;

    fn document(number: u8, title: &str) -> Document {
        let record = Record { title: title.to_owned(), ..Record::default() };
        let id = MemoryId::new(Timestamp(i64::from(number)), [0; 10]);
        Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record)
    }

    #[test]
    fn numbers_are_ordered_as_they_are() {
        let numbers = [f32::NEG_INFINITY, -2.0, -0.5, -0.0, 0.0, 1e-9, 0.5, 2.0, f32::INFINITY];
        assert!(numbers.map(ordered).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn equal_scores_are_ordered_by_id() {
        let documents: Vec<Document> =
            (0..6).map(|number| document(number, "basket copper")).collect();
        let bytes = testing::segment_bytes(&documents);
        let segment = testing::open(Collection::Memories, bytes, 6, &[]).unwrap();
        let query = Query::search("basket copper");
        let mut found = candidates(&Sources::of_segment(segment), &query, Timestamp(0));
        found.reverse();
        sort(&mut found);
        assert!(found.is_sorted_by_key(|candidate| candidate.entry.id));
    }
}
