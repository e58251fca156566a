//! Trace of each candidate of a query, which explains its rank.

use crate::query::Query;
use crate::rank::candidate::{Candidate, Features};
use crate::search::sources::Sources;
use memory_store_base::id::MemoryId;

/// A candidate with its scores and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Id of the candidate.
    pub id: MemoryId,
    /// Its title.
    pub title: String,
    /// Shared features for display: words, a path, the signature of an error.
    pub why: String,
    /// BM25.
    pub lexical: f32,
    /// Gain by the words of neighbouring memories of the same session.
    pub beside: f32,
    /// Share of both in [`Self::fused`].
    pub words: f32,
    /// Cosine of its vector and the query's, if both have one.
    pub cosine: Option<f32>,
    /// The cosine, corrected by the memory's average similarity to all texts.
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
    /// Threshold of the gate; infinite if the gate was not applied.
    pub threshold: f32,
    /// True if the query names it directly, so that the gate lets it through.
    pub named: bool,
    /// Outcome.
    pub outcome: CandidateOutcome,
    /// The memory returned instead: its successor, or a near-duplicate.
    pub instead: Option<MemoryId>,
}

/// Outcome of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// Returned as a hit.
    Hit,
    /// Rejected by the gate.
    Gate,
    /// Superseded by another memory.
    Superseded,
    /// Near-duplicate of a better hit.
    Duplicate,
    /// Scored less than half of the best.
    Cut,
    /// All places were taken by better candidates.
    Full,
    /// Shown before.
    Skipped,
    /// The file is missing or changed.
    Stale,
    /// Expired, or not yet valid.
    Expired,
    /// Claude Code already adds it to every session.
    Said,
    /// In quarantine: only a person may release it.
    Held,
    /// It belongs to another subagent.
    OtherAgent,
}

/// Records a candidate's outcome. `instead` is the hit that replaces it.
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
