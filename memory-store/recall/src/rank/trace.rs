//! Traces of a query's candidates, which explain their ranks.

use crate::query::Query;
use crate::rank::candidate::{Candidate, Features};
use crate::search::sources::Sources;
use memory_store_base::id::MemoryId;

/// A candidate with its scores and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Id of the candidate.
    pub id: MemoryId,
    /// Title of the memory.
    pub title: String,
    /// What the candidate shares with the query, for display: words, a path, the signature of an error.
    pub why: String,
    /// BM25 score of the words.
    pub lexical: f32,
    /// Gain from words of neighbouring memories of the same session.
    pub beside: f32,
    /// Part of [`Self::fused`] that results from both.
    pub words: f32,
    /// Cosine of the vectors of memory and query, if both have one.
    pub cosine: Option<f32>,
    /// The cosine, corrected by the memory's average similarity to all texts.
    pub meaning: Option<f32>,
    /// Weight of meaning for this query. `trust * meaning` is a part of [`Self::fused`].
    pub trust: f32,
    /// Part of [`Self::fused`] from everything except words and meaning: confidence, kind, age, pin, and the names and
    /// times in the query.
    pub more: f32,
    /// Score for ranking.
    pub fused: f32,
    /// Inputs of the gate.
    pub features: Features,
    /// The gate's score.
    pub gate: f32,
    /// Minimum value of the gate's score for the candidate to pass; infinite if the gate was not applied.
    pub threshold: f32,
    /// True if the query names the memory directly, so that it passes the gate.
    pub named: bool,
    /// What happened to the candidate.
    pub outcome: CandidateOutcome,
    /// The memory that was returned instead: its successor, or a near-duplicate.
    pub instead: Option<MemoryId>,
}

/// What happened to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// It was returned as a hit.
    Hit,
    /// The gate excluded it.
    Gate,
    /// Another memory supersedes the candidate.
    Superseded,
    /// It is a near-duplicate of a better hit.
    Duplicate,
    /// The candidate's score is less than half of the best score.
    Cut,
    /// Better candidates took all places.
    Full,
    /// It was shown before.
    Skipped,
    /// The memory's file is missing or has changed.
    Stale,
    /// It has expired, or is not valid yet.
    Expired,
    /// It is in CLAUDE.md, which Claude Code adds to every session.
    Said,
    /// It is withheld until a person releases it.
    Held,
    /// It belongs to another subagent.
    OtherAgent,
}

/// Returns the trace of a candidate. `instead` is the hit that was returned in its place.
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
