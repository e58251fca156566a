//! Trace of each candidate of a query, for people who ask why.

use crate::query::Query;
use crate::rank::candidate::{Candidate, Features};
use crate::search::sources::Sources;
use memory_store_base::id::MemoryId;

/// A candidate, what was made of it, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// The candidate.
    pub id: MemoryId,
    /// Its title.
    pub title: String,
    /// Shared features, for people: words, a path, the signature of an error.
    pub why: String,
    /// BM25.
    pub lexical: f32,
    /// Gain by the words of neighbouring memories of its session.
    pub beside: f32,
    /// Share of both in [`Self::fused`].
    pub words: f32,
    /// The cosine of its vector with the query's, where both have one.
    pub cosine: Option<f32>,
    /// The cosine, freed of how near the memory is to everything.
    pub meaning: Option<f32>,
    /// Weight of meaning for this query: `trust * meaning` is its part of [`Self::fused`].
    pub trust: f32,
    /// Share of everything besides words and meaning: confidence, kind, age, pin, names and times in the query.
    pub more: f32,
    /// The score for ranking.
    pub fused: f32,
    /// Inputs of the gate.
    pub features: Features,
    /// Result of the gate.
    pub gate: f32,
    /// Threshold of the gate; infinite if the gate was not asked.
    pub threshold: f32,
    /// True if the query names it directly, so that the gate lets it through.
    pub named: bool,
    /// Outcome.
    pub outcome: CandidateOutcome,
    /// The memory that stands in its place: its successor, or one that says the same.
    pub instead: Option<MemoryId>,
}

/// Outcome of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// It is a hit.
    Hit,
    /// The gate stopped it.
    Gate,
    /// Another memory replaces it.
    Superseded,
    /// It says what a better one says.
    Duplicate,
    /// It scores less than half of the best.
    Cut,
    /// There were better ones for all places.
    Full,
    /// It was shown already.
    Skipped,
    /// Its file is gone or changed.
    Stale,
    /// It no longer holds, or does not yet.
    Expired,
    /// Claude Code tells it to every session anyway.
    Said,
    /// It is in quarantine: only a person may let it out.
    Held,
}

/// Says what became of a candidate. `instead` is the hit that says the same.
pub(crate) fn of(
    sources: &Sources,
    candidate: &Candidate,
    query: &Query,
    outcome: CandidateOutcome,
    instead: Option<MemoryId>,
) -> Traced {
    let record = sources.record(candidate.at, &candidate.entry).unwrap_or_default();
    let by_meaning = candidate.trust * candidate.meaning();
    Traced {
        id: candidate.entry.id,
        title: record.title,
        why: candidate.why(query),
        lexical: candidate.lexical,
        beside: candidate.beside,
        words: candidate.words,
        cosine: candidate.near.map(|near| near.cosine),
        meaning: candidate.near.map(|_| candidate.meaning()),
        trust: candidate.trust,
        more: candidate.fused - candidate.words - by_meaning,
        fused: candidate.fused,
        features: candidate.features,
        gate: candidate.gate,
        threshold: candidate.threshold,
        named: candidate.named.is_some(),
        outcome,
        instead: instead.or(record.superseded_by),
    }
}
