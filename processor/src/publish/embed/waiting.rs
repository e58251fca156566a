//! Documents of an index that have no vector by the transformer yet.

use std::cmp::Reverse;
use std::path::Path;

use memory_store::Result;
use memory_store::embed::Space;
use memory_store::index::Index;
use memory_store::index::segment::Segment;

/// Returns whether any document of the index in `dir` has no vector by the transformer in this space. Unreadable
/// segments do not count, because the next sync replaces them.
pub(crate) fn is_waiting(dir: &Path, space: Space) -> Result<bool> {
    let Some(index) = Index::open(dir)? else { return Ok(false) };
    let (turns, _) = index.passages();
    let mut segments = index.memories.iter().chain(&turns);
    Ok(segments.any(|segment| missing(segment, space).is_ok_and(|missing| missing > 0)))
}

/// Returns the texts of turns in the index in `dir` that have no vector by the transformer, at most `most` texts, the
/// latest first. Texts for which `made` returns true are not returned, because their vectors exist and only the segment
/// must be written again.
pub(crate) fn turns(
    dir: &Path,
    space: Space,
    most: usize,
    made: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let Some(index) = Index::open(dir)? else { return Ok(Vec::new()) };
    let (segments, _) = index.passages();
    let mut waiting = Vec::new();
    for (place, segment) in segments.iter().enumerate() {
        if missing(segment, space)? > 0 {
            for doc in segment.waiting(space)? {
                waiting.push((segment.entry(doc)?.when, place, doc));
            }
        }
    }
    waiting.sort_unstable_by_key(|&(when, place, doc)| Reverse((when, place, doc)));
    let mut texts = Vec::new();
    for (_, place, doc) in waiting {
        if texts.len() >= most {
            break;
        }
        let segment = &segments[place];
        let text = segment.record(&segment.entry(doc)?)?.embedding_text();
        if !made(&text) {
            texts.push(text);
        }
    }
    Ok(texts)
}

/// Returns the number of documents in a segment that have no vector by the transformer.
fn missing(segment: &Segment, space: Space) -> Result<u32> {
    let head = segment.vector_head()?.filter(|head| head.space == space);
    Ok(head.map_or(segment.docs(), |head| head.count - head.transformed))
}
