//! Explicit search: for a person or a model that asked. No gate, more filters, and turns.

use super::query::Query;
use super::score::{self, Candidate, Found};
use super::sources::{At, Sources};
use super::{Collection, Hit, Recall, Recalled, collapse, named};
use crate::id::MemoryId;
use crate::index::format::impact_weight;
use crate::index::record::{Entry, FLAG_SUPERSEDED, Record};
use crate::index::segment::Segment;
use crate::kind::Kind;
use crate::time::Timestamp;

/// Hits when the caller names no limit.
const LIMIT: usize = 10;
/// Hits that may be asked for.
const LIMIT_MAX: usize = 1000;

/// What is searched for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// Words; empty lists the newest.
    pub text: String,
    /// Only these kinds; empty means all.
    pub kinds: Vec<Kind>,
    /// Only what is about one of these files; empty means all.
    pub paths: Vec<String>,
    /// How many hits; 0 means ten.
    pub limit: usize,
    /// Nothing older than this.
    pub since: Option<Timestamp>,
    /// Nothing newer than this.
    pub until: Option<Timestamp>,
    /// Only of this session, by the start of its id.
    pub session: Option<String>,
    /// Turns of sessions instead of memories.
    pub turns: bool,
    /// Superseded memories too.
    pub superseded: bool,
}

impl Search {
    fn limit(&self) -> usize {
        if self.limit == 0 { LIMIT } else { self.limit.min(LIMIT_MAX) }
    }

    fn wants(&self, hit: &Hit) -> bool {
        let of_kind = self.turns || self.kinds.is_empty() || self.kinds.contains(&hit.kind);
        let about = self.paths.is_empty()
            || self
                .paths
                .iter()
                .any(|path| hit.paths.iter().any(|known| named::is_about(known, path)));
        let session = self.session.as_deref().is_none_or(|wanted| {
            hit.session.as_deref().is_some_and(|session| session.starts_with(wanted))
        });
        let since = self.since.is_none_or(|since| hit.date >= since);
        let until = self.until.is_none_or(|until| hit.date <= until);
        of_kind && about && session && since && until && (self.superseded || !hit.superseded)
    }
}

/// Finds what a search asks for.
pub fn search(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    if search.turns { turns(recall, search) } else { memories(recall, search, now) }
}

fn memories(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let query = Query::search(&search.text);
    let sources = &recall.sources;
    let mut candidates = if query.terms.is_empty() {
        newest(sources)
    } else {
        let mut candidates = ranked(sources, &query, now);
        named::add(sources, &query, &mut candidates);
        candidates
    };
    score::sort(&mut candidates);
    let mut recalled = recall.new_answer();
    let mut kept = collapse::Kept::default();
    for candidate in candidates {
        if recalled.hits.len() >= search.limit() {
            break;
        }
        if candidate.entry.has(FLAG_SUPERSEDED) && !search.superseded {
            continue;
        }
        let Ok(mut hit) = recall.read(&candidate, now, &mut recalled) else { continue };
        if !search.wants(&hit) {
            continue;
        }
        if !query.terms.is_empty() {
            if kept.says(&recalled.hits, &hit) {
                continue;
            }
            hit.why = candidate.why(&query);
        }
        recalled.hits.push(hit);
    }
    recalled
}

/// Every document that shares a word, for filters may leave only the last of them.
fn ranked(sources: &Sources, query: &Query, now: Timestamp) -> Vec<Candidate> {
    let found = Found::look_up_all(sources, &query.terms);
    let mut candidates = found.best(sources, query, usize::MAX);
    let best = candidates.first().map_or(1.0, |candidate| candidate.lexical);
    for candidate in &mut candidates {
        candidate.fused = candidate.lexical / best + candidate.prior(&sources.settings, now);
    }
    candidates
}

fn newest(sources: &Sources) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (number, source) in sources.list.iter().enumerate() {
        for doc in 0..source.docs() {
            let at = At { source: number as u8, doc };
            let Some(entry) = sources.entry(at) else { continue };
            // Seconds since 1970 are too many for the precision of a score; rank by hand below.
            candidates.push(Candidate::new(at, entry));
        }
    }
    candidates.sort_by(|a, b| b.entry.when.cmp(&a.entry.when).then(a.entry.id.cmp(&b.entry.id)));
    let count = candidates.len() as f32;
    for (rank, candidate) in candidates.iter_mut().enumerate() {
        candidate.fused = count - rank as f32;
    }
    candidates
}

/// A turn that shares words with the query.
struct TurnHit {
    score: f32,
    segment: usize,
    doc: u32,
}

fn turns(recall: &Recall, search: &Search) -> Recalled {
    let mut recalled = recall.new_answer();
    let query = Query::search(&search.text);
    let Some(index) = recall.sources.list.iter().find_map(|source| source.index.as_ref()) else {
        return recalled;
    };
    let (segments, damage) = index.turns();
    if let Some(damage) = damage {
        recalled.degraded.get_or_insert_with(|| damage.to_string());
    }
    let mut found = match score_turns(&segments, &query) {
        Ok(found) => found,
        Err(error) => {
            recalled.degraded.get_or_insert_with(|| error.to_string());
            Vec::new()
        }
    };
    found.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(b.segment.cmp(&a.segment)).then(a.doc.cmp(&b.doc))
    });
    for turn in found {
        if recalled.hits.len() >= search.limit() {
            break;
        }
        let segment = &segments[turn.segment];
        let read = segment.entry(turn.doc).and_then(|entry| Ok((entry, segment.record(&entry)?)));
        let (entry, record) = match read {
            Ok(read) => read,
            Err(error) => {
                recalled.degraded.get_or_insert_with(|| error.to_string());
                continue;
            }
        };
        let mut hit = turn_hit(&entry, record, turn.score);
        if search.wants(&hit) {
            hit.neighbours = neighbours(&segments, entry.id);
            recalled.hits.push(hit);
        }
    }
    recalled
}

/// BM25 over all segments of turns as if they were one; without words, the newest first.
fn score_turns(segments: &[Segment], query: &Query) -> crate::error::Result<Vec<TurnHit>> {
    let mut scores: Vec<Vec<f32>> =
        segments.iter().map(|segment| vec![0.0; segment.docs() as usize]).collect();
    let docs = segments.iter().map(Segment::docs).sum();
    if query.terms.is_empty() {
        for (segment, scores) in segments.iter().zip(&mut scores) {
            for (doc, score) in (0..).zip(scores.iter_mut()) {
                *score = segment.entry(doc)?.when.0 as f32;
            }
        }
    }
    for term in &query.terms {
        let slots: Vec<_> =
            segments.iter().map(|segment| segment.term(term.hash)).collect::<Result<_, _>>()?;
        let idf = score::idf(docs, slots.iter().flatten().map(|slot| slot.count).sum());
        for ((segment, slot), scores) in segments.iter().zip(slots).zip(&mut scores) {
            let Some(slot) = slot else { continue };
            segment.postings(&slot, |doc, impact| {
                scores[doc as usize] += idf * impact_weight(impact);
            })?;
        }
    }
    let mut found = Vec::new();
    for (number, scores) in scores.into_iter().enumerate() {
        for (doc, score) in (0..).zip(scores) {
            if score > 0.0 && !segments[number].is_dead(doc) {
                found.push(TurnHit { score, segment: number, doc });
            }
        }
    }
    Ok(found)
}

fn turn_hit(entry: &Entry, record: Record, score: f32) -> Hit {
    Hit {
        id: entry.id,
        kind: Kind::Session,
        title: String::new(),
        text: record.text,
        date: record.created,
        paths: Vec::new(),
        file: std::path::PathBuf::new(),
        confidence: 0.0,
        score,
        why: String::new(),
        collection: Collection::Turns,
        said_by: None,
        draft: false,
        superseded: false,
        signatures: Vec::new(),
        session: record.session,
        turn: record.turn,
        neighbours: Vec::new(),
    }
}

/// The turn of this name, in the index of the project.
pub fn turn(sources: &Sources, id: MemoryId) -> Option<Hit> {
    let index = sources.list.iter().find_map(|source| source.index.as_ref())?;
    index.turns().0.iter().find_map(|segment| {
        let (_, entry) = segment.find(id).ok()??;
        Some(turn_hit(&entry, segment.record(&entry).ok()?, 0.0))
    })
}

/// The turns before and after one: their ids differ in the last number only.
fn neighbours(segments: &[Segment], id: MemoryId) -> Vec<MemoryId> {
    let [head @ .., a, b, c, d] = id.0;
    let number = u32::from_be_bytes([a, b, c, d]);
    let near = [number.checked_sub(1), number.checked_add(1)];
    let ids = near.into_iter().flatten().map(|number| {
        let mut near = [0; 16];
        near[..12].copy_from_slice(&head);
        near[12..].copy_from_slice(&number.to_be_bytes());
        MemoryId(near)
    });
    ids.filter(|&near| segments.iter().any(|segment| matches!(segment.find(near), Ok(Some(_)))))
        .collect()
}
