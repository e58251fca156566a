//! Which documents of an index have no vector by the transformer yet.

use std::cmp::Reverse;
use std::path::Path;

use super::Index;
use super::segment::Segment;
use crate::embed::{Encoder, Space};
use crate::error::Result;

/// Whether any document of the index in `dir` waits for a vector of this space by the transformer.
/// A segment that cannot be read waits for nothing but the next sync.
pub fn is_waiting(dir: &Path, space: Space) -> Result<bool> {
    let Some(index) = Index::open(dir)? else { return Ok(false) };
    let (turns, _) = index.turns();
    let mut segments = index.memories.iter().chain(&turns);
    Ok(segments.any(|segment| missing(segment, space).is_ok_and(|missing| missing > 0)))
}

/// The texts of turns in the index in `dir` that wait, at most `most`, the latest first.
pub fn turns(dir: &Path, space: Space, most: usize) -> Result<Vec<String>> {
    let Some(index) = Index::open(dir)? else { return Ok(Vec::new()) };
    let (segments, _) = index.turns();
    let mut waiting = Vec::new();
    for (place, segment) in segments.iter().enumerate() {
        if missing(segment, space)? == 0 {
            continue;
        }
        for doc in (0..segment.docs()).filter(|&doc| !segment.is_dead(doc)) {
            let done = segment.vector(doc)?.is_some_and(|vector| {
                vector.space == space && vector.encoder == Encoder::Transformer
            });
            if !done {
                waiting.push((segment.entry(doc)?.when, place, doc));
            }
        }
    }
    waiting.sort_unstable_by_key(|&(when, place, doc)| Reverse((when, place, doc)));
    waiting.truncate(most);
    waiting
        .into_iter()
        .map(|(_, place, doc)| {
            let segment = &segments[place];
            Ok(segment.record(&segment.entry(doc)?)?.embedding_text())
        })
        .collect()
}

/// How many documents of a segment wait.
fn missing(segment: &Segment, space: Space) -> Result<u32> {
    let head = segment.vector_head()?.filter(|head| head.space == space);
    Ok(head.map_or(segment.docs(), |head| head.count - head.transformed))
}
