//! Turns of sessions, found by words: what was said, word for word, or what the model thought.

use super::excerpt::hit;
use super::lexical;
use super::matching::{Matcher, Part};
use super::query::Query;
use super::search::{NOT_ALL, Search, Wanted, show};
use super::sources::Sources;
use super::typo::Typos;
use super::{Collection, Hit, Recall, Recalled};
use crate::error::Result;
use crate::id::MemoryId;
use crate::index::Index;
use crate::index::format::impact_weight;
use crate::index::segment::Segment;
use crate::layout::TreeDir;
use crate::time::Timestamp;

/// Turns that are read, newest first, in search of what a mistyped word means.
const READ_MAX: u32 = 100_000;

/// A turn that shares words with the query.
struct Scored {
    score: f32,
    segment: usize,
    doc: u32,
}

/// Finds turns.
pub fn search(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let mut recalled = recall.new_answer();
    let segments = open(&recall.sources, search.thinking);
    let parts: Vec<Part<'_>> =
        segments.iter().map(|segment| Part { segment: Some(segment), loose: &[] }).collect();
    let wanted =
        Wanted::new(recall, search, now, &parts, &|typos| read_all(recall, &segments, typos));
    let found = |wanted: &Wanted| {
        let mut hits = found(recall, search, wanted, &segments, &parts);
        if search.thinking {
            hits.iter_mut().for_each(|hit| hit.collection = Collection::Thinking);
        }
        hits
    };
    recalled.hits = found(&wanted);
    recalled.notes.clone_from(&wanted.notes);
    if recalled.hits.is_empty()
        && let Some(less) = wanted.without_wishes()
    {
        recalled.hits = found(&less);
        if !recalled.hits.is_empty() {
            recalled.notes.push(NOT_ALL.to_owned());
        }
    }
    recalled
}

/// Opens the segments of turns, or of what the model thought in them; what cannot be read is noted.
fn open(sources: &Sources, thinking: bool) -> Vec<Segment> {
    let Some(index) = sources.list.iter().find_map(|source| source.index.as_ref()) else {
        return Vec::new();
    };
    let (segments, damage) = if thinking {
        // Beside the index, and in no hook's way.
        let folder = index.dir.parent().map(|state| TreeDir(state.to_owned()).thinking());
        match folder.map(|folder| Index::open(&folder)) {
            Some(Ok(Some(index))) => index.turns(),
            Some(Ok(None)) | None => (Vec::new(), None),
            Some(Err(error)) => (Vec::new(), Some(error)),
        }
    } else {
        index.turns()
    };
    if let Some(damage) = damage {
        sources.note(&damage);
    }
    segments
}

fn found(
    recall: &Recall,
    search: &Search,
    wanted: &Wanted,
    segments: &[Segment],
    parts: &[Part<'_>],
) -> Vec<Hit> {
    let sources = &recall.sources;
    let matcher = Matcher::new(&wanted.must, parts, &|error| sources.note(error));
    let query = Query::search(&wanted.words);
    let mut scored = scored(segments, &query, wanted.operators).unwrap_or_else(|error| {
        sources.note(&error);
        Vec::new()
    });
    scored.retain(|turn| matcher.may(turn.segment, turn.doc));
    let order = |a: &Scored, b: &Scored| {
        b.score.total_cmp(&a.score).then(b.segment.cmp(&a.segment)).then(a.doc.cmp(&b.doc))
    };
    scored.sort_by(order);
    let mut hits = Vec::new();
    for turn in scored {
        if hits.len() >= search.limit() {
            break;
        }
        let segment = &segments[turn.segment];
        let read = segment.entry(turn.doc).and_then(|entry| Ok((entry, segment.record(&entry)?)));
        let (entry, record) = match read {
            Ok(read) => read,
            Err(error) => {
                sources.note(&error);
                continue;
            }
        };
        let mut hit = hit(&entry, record, turn.score);
        if matcher.is(turn.segment, turn.doc, &hit) {
            hit.neighbours = neighbours(sources, segments, entry.id);
            hits.push(hit);
        }
    }
    hits
}

/// BM25 over all segments of turns as if they were one. Without words, and with `all` behind those
/// that share some, the newest first.
fn scored(segments: &[Segment], query: &Query, all: bool) -> Result<Vec<Scored>> {
    let mut scores: Vec<Vec<f32>> =
        segments.iter().map(|segment| vec![0.0; segment.docs() as usize]).collect();
    let docs = segments.iter().map(Segment::docs).sum();
    for term in &query.terms {
        let slots: Vec<_> =
            segments.iter().map(|segment| segment.term(term.hash)).collect::<Result<_, _>>()?;
        let idf = lexical::idf(docs, slots.iter().flatten().map(|slot| slot.count).sum());
        for ((segment, slot), scores) in segments.iter().zip(slots).zip(&mut scores) {
            let Some(slot) = slot else { continue };
            segment.postings(&slot, |doc, impact| {
                scores[doc as usize] += idf * impact_weight(impact);
            })?;
        }
    }
    if query.terms.is_empty() || all {
        for (segment, scores) in segments.iter().zip(&mut scores) {
            for (doc, score) in (0..).zip(scores.iter_mut()).filter(|(_, score)| **score == 0.0) {
                // Below every score of words: the further back, the lower.
                *score = -1.0 / (segment.entry(doc)?.when.0.max(1) as f32);
            }
        }
    }
    let mut found = Vec::new();
    for (number, scores) in scores.into_iter().enumerate() {
        for (doc, score) in (0..).zip(scores) {
            if score != 0.0 && !segments[number].is_dead(doc) {
                found.push(Scored { score, segment: number, doc });
            }
        }
    }
    Ok(found)
}

/// The turn of this name, in the index of the project.
pub fn turn(sources: &Sources, id: MemoryId) -> Option<Hit> {
    read_one(sources, &open(sources, false), id)
}

/// The turns before and after one: their ids differ in the last number only.
fn neighbours(sources: &Sources, segments: &[Segment], id: MemoryId) -> Vec<Hit> {
    let [head @ .., a, b, c, d] = id.0;
    let number = u32::from_be_bytes([a, b, c, d]);
    let near = [number.checked_sub(1), number.checked_add(1)];
    let ids = near.into_iter().flatten().map(|number| {
        let mut near = [0; 16];
        near[..12].copy_from_slice(&head);
        near[12..].copy_from_slice(&number.to_be_bytes());
        MemoryId(near)
    });
    ids.filter_map(|id| read_one(sources, segments, id)).collect()
}

fn read_one(sources: &Sources, segments: &[Segment], id: MemoryId) -> Option<Hit> {
    let read = |segment: &Segment| -> Result<Option<Hit>> {
        let Some((doc, entry)) = segment.find(id)? else { return Ok(None) };
        if segment.is_dead(doc) {
            return Ok(None);
        }
        Ok(Some(hit(&entry, segment.record(&entry)?, 0.0)))
    };
    segments.iter().find_map(|segment| {
        read(segment).unwrap_or_else(|error| {
            sources.note(&error);
            None
        })
    })
}

/// Shows the texts of the newest turns.
fn read_all(recall: &Recall, segments: &[Segment], typos: &mut Typos) {
    let mut left = READ_MAX;
    for segment in segments.iter().rev() {
        for doc in 0..segment.docs().min(left) {
            match segment.entry(doc).and_then(|entry| segment.record(&entry)) {
                Ok(record) => show(&record, typos),
                Err(error) => recall.sources.note(&error),
            }
        }
        left = left.saturating_sub(segment.docs());
    }
}
