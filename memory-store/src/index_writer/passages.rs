//! Passages of sessions, in segments whose number grows slowly.
//!
//! New passages are written to a small segment. A segment that is not much larger than the segments after it is merged
//! with them, so that the number of segments is about the logarithm of the number of passages. Publishing performs only
//! merges that take milliseconds, regardless of the length of the history. The rest is *settled* in the background, one
//! step at a time: larger merges, rewriting segments with many replaced documents, and better vectors.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

use super::build::{Graphs, Vectors};
use crate::bytes::mixed;
use crate::embed::{Encoder, Space};
use crate::error::Result;
use crate::id::MemoryId;
use memory_store_recall::index::document::{Document, Passage, passage_id, turn_in_id};
use memory_store_recall::index::freeze::Frozen;
use memory_store_recall::index::manifest::{Collection, SegmentRef};
use memory_store_recall::index::record::{Entry, FLAG_HELD};
use memory_store_recall::index::segment::Segment;
use memory_store_recall::index::vectors::Embedded;
use memory_store_recall::index::write;
use memory_store_recall::passages::may_be_given;

/// Factor of size: a segment is merged with the segments after it if it is smaller than this multiple of their total
/// size.
const TIER_RATIO: u32 = 2;
/// Maximum number of passages in a segment, and therefore the maximum number that a merge or better vectors rewrite.
pub const SEGMENT_PASSAGES_MAX: u32 = 1 << 16;
/// Maximum number of passages merged while publishing. It is low because merged passages are tokenized again.
const MERGED_AT_ONCE: u32 = 256;
/// Number of segments from which on publishing merges segments, because each reader opens all of them.
const SEGMENTS_MANY: usize = 64;
/// Divisor: a segment is rewritten if at least this fraction of its documents is dead.
const DEAD_SHARE: usize = 4;
/// Number of dead documents from which on a segment is rewritten in any case, because each hook reads their numbers in
/// the manifest.
const DEAD_MAX: usize = 1024;
/// Number of dead documents from which on a segment is rewritten while publishing.
const DEAD_MANY: usize = 8 * DEAD_MAX;
/// Divisor: a segment gets better vectors if these are available for at least this fraction of its documents, or for
/// all documents without them. Each time, the segment is rewritten.
const BETTER_SHARE: usize = 4;
/// Maximum number of documents of a segment that gets every better vector immediately.
const BETTER_SMALL: u32 = 4096;
/// Number of steps of a search for one id. If a segment has fewer entries per new passage, all its entries are scanned
/// instead.
const WALKED: usize = 16;
/// Number of documents in the sample of a large segment that estimates the gain of better vectors.
const SAMPLE: usize = 512;

/// A segment of passages of the next generation.
pub(crate) enum SettlePart {
    /// An existing segment.
    Kept(SegmentRef),
    /// A new segment.
    New {
        /// Number of documents.
        docs: u32,
        /// Numbers of documents that were replaced.
        dead: Vec<u32>,
        /// Contents of the segment's file.
        bytes: Vec<u8>,
    },
}

impl SettlePart {
    /// Returns the same segment with other contents.
    fn rewritten(reference: &SegmentRef, bytes: Vec<u8>) -> Self {
        Self::New { docs: reference.docs, dead: reference.dead.clone(), bytes }
    }
}

/// Builder of the segments of passages of an index.
pub(crate) struct Maker<'a> {
    /// Folder of the index.
    pub dir: &'a Path,
    /// Source of vectors.
    pub vectors: Option<&'a dyn Vectors>,
    /// Builder of graphs.
    pub graphs: Option<&'a dyn Graphs>,
}

impl Maker<'_> {
    /// Returns the segments after the passages, which must be sorted by id, replace all existing passages of the same
    /// turns. If all passages are already present, nothing changes.
    pub(crate) fn with(
        &self,
        mut segments: Vec<SegmentRef>,
        passages: &[Passage],
    ) -> Result<Vec<SettlePart>> {
        let mut new: Vec<Document> = passages.iter().map(Document::passage).collect();
        let ids: BTreeSet<MemoryId> = new.iter().map(|document| document.entry.id).collect();
        for segment in &mut segments {
            self.take_over(segment, &ids, &mut new)?;
        }
        if new.is_empty() {
            return Ok(segments.into_iter().map(SettlePart::Kept).collect());
        }
        for document in &mut new {
            if !may_be_given(&document.record.embedding_text()) {
                document.entry.flags |= FLAG_HELD;
            }
        }
        let many = segments.len() >= SEGMENTS_MANY;
        let mut docs = new.len() as u32;
        let mut merged = vec![new];
        while let Some(last) = segments.last()
            && may_merge(last, docs)
            && (many || living(last) + docs <= MERGED_AT_ONCE)
        {
            docs += living(last);
            merged.push(self.documents(last)?);
            segments.pop();
        }
        let mut parts = Vec::with_capacity(segments.len() + 1);
        for segment in segments {
            let many_dead = segment.dead.len() > DEAD_MANY;
            parts.push(if many_dead {
                self.segment(self.documents(&segment)?)
            } else {
                SettlePart::Kept(segment)
            });
        }
        let mut merged = merged.concat();
        // A caller may add more passages at once than a segment may contain.
        while !merged.is_empty() {
            let rest = merged.split_off(merged.len().min(SEGMENT_PASSAGES_MAX as usize));
            parts.push(self.segment(merged));
            merged = rest;
        }
        Ok(parts)
    }

    /// Runs one postponed step. If no step is due, all segments are kept.
    pub(crate) fn settled(&self, segments: Vec<SegmentRef>) -> Result<Vec<SettlePart>> {
        let step = match uneven(&segments) {
            Some((first, last)) => {
                let merged = segments[first..=last].iter().map(|segment| self.documents(segment));
                let merged = merged.collect::<Result<Vec<_>>>()?.concat();
                // All documents of the segments may be dead.
                let part = (!merged.is_empty()).then(|| self.segment(merged));
                Some((first, last, part))
            }
            None => {
                let step = match self.better(&segments)? {
                    Some(better) => Some(better),
                    None => self.linked(&segments)?,
                };
                step.map(|(place, part)| (place, place, Some(part)))
            }
        };
        let mut parts: Vec<SettlePart> = segments.into_iter().map(SettlePart::Kept).collect();
        if let Some((first, last, part)) = step {
            parts.splice(first..=last, part);
        }
        Ok(parts)
    }

    /// Removes new passages that the segment already contains unchanged. Marks replaced passages as dead, including
    /// those that their turns no longer contain.
    fn take_over(
        &self,
        reference: &mut SegmentRef,
        ids: &BTreeSet<MemoryId>,
        new: &mut Vec<Document>,
    ) -> Result<()> {
        let segment = Segment::open(self.dir, reference)?;
        let mut replaced = BTreeSet::new();
        let mut known = BTreeSet::new();
        // Many new passages are not searched individually. Both lists are sorted by id, so one scan is sufficient.
        let walks = new.len().saturating_mul(WALKED) >= segment.docs() as usize;
        let mut next = 0;
        for document in new.iter() {
            let id = document.entry.id;
            let found = if walks { walk_to(&segment, &mut next, id) } else { segment.find(id) };
            let Some((doc, entry)) = found? else { continue };
            if segment.is_dead(doc) {
                continue;
            }
            let is_same = entry.kind == document.entry.kind;
            if is_same && segment.record(&entry).is_ok_and(|record| record == document.record) {
                known.insert(document.entry.id);
            } else {
                replaced.insert(doc);
            }
        }
        let mut last = None;
        for &id in ids {
            let turn = turn_in_id(id);
            if last.replace(turn) != Some(turn) {
                bury_others(&segment, turn, ids, &mut replaced)?;
            }
        }
        new.retain(|document| !known.contains(&document.entry.id));
        replaced.extend(&reference.dead);
        reference.dead = replaced.into_iter().collect();
        Ok(())
    }

    /// Returns a new segment of some passages.
    fn segment(&self, mut documents: Vec<Document>) -> SettlePart {
        documents.sort_by_key(|document| document.entry.id);
        for document in &mut documents {
            document.read_terms();
            document.vector = self.best(document);
        }
        let space = space(self.vectors, &documents);
        let graph = Frozen::default();
        let bytes = write::segment(Collection::Passages, &documents, &[], space, graph);
        SettlePart::New { docs: documents.len() as u32, dead: Vec::new(), bytes }
    }

    /// Returns the best vector available for a document.
    fn best(&self, document: &Document) -> Option<Embedded> {
        let Some(vectors) = self.vectors else { return document.vector };
        let space = vectors.space();
        let known = document.vector.filter(|known| known.space == space);
        if known.is_some_and(|known| known.encoder == Encoder::Transformer) {
            return known;
        }
        let text = document.record.embedding_text();
        let made = if known.is_some() { vectors.best(&text) } else { vectors.of(&text) };
        made.map(|(encoder, vector)| Embedded { space, encoder, vector }).or(known)
    }

    /// Returns the live documents of a segment with their vectors. The caller must tokenize the documents again.
    fn documents(&self, reference: &SegmentRef) -> Result<Vec<Document>> {
        let segment = Segment::open(self.dir, reference)?;
        let living = (0..segment.docs()).filter(|&doc| !segment.is_dead(doc));
        living.map(|doc| document(&segment, doc)).collect()
    }

    /// Returns a segment for which enough better vectors are available, rewritten with these, and its position. The
    /// latest segments are examined first, because their texts are embedded first.
    fn better(&self, segments: &[SegmentRef]) -> Result<Option<(usize, SettlePart)>> {
        let Some(vectors) = self.vectors else { return Ok(None) };
        for (place, reference) in segments.iter().enumerate().rev() {
            let segment = Segment::open(self.dir, reference)?;
            let head = segment.vector_head()?.filter(|head| head.space == vectors.space());
            if head.is_some_and(|head| head.transformed == head.count) {
                continue;
            }
            let waiting = segment.waiting(vectors.space())?;
            let gains = |doc: u32| -> Result<Option<Embedded>> {
                let text = segment.record(&segment.entry(doc)?)?.embedding_text();
                // A vector of another space cannot be used.
                let made = if head.is_some() { vectors.best(&text) } else { vectors.of(&text) };
                let space = vectors.space();
                Ok(made.map(|(encoder, vector)| Embedded { space, encoder, vector }))
            };
            if head.is_some() && !is_worth_it(segment.docs(), &waiting, &gains)? {
                continue;
            }
            let mut all: Vec<Option<Embedded>> = match head {
                Some(_) => {
                    (0..segment.docs()).map(|doc| segment.vector(doc)).collect::<Result<_>>()?
                }
                None => vec![None; segment.docs() as usize],
            };
            let mut gained = 0;
            for doc in waiting {
                if let Some(better) = gains(doc)? {
                    all[doc as usize] = Some(better);
                    gained += 1;
                }
            }
            if gained > 0 {
                let keeps = head.is_some() && gained * BETTER_SHARE <= all.len();
                let bytes = write::with_vectors(&segment, &all, vectors.space(), keeps)?;
                return Ok(Some((place, SettlePart::rewritten(reference, bytes))));
            }
        }
        Ok(None)
    }

    /// Returns a segment without a graph, rewritten with its graph, and its position.
    fn linked(&self, segments: &[SegmentRef]) -> Result<Option<(usize, SettlePart)>> {
        let Some(graphs) = self.graphs else { return Ok(None) };
        let Some((place, segment)) = without_graph(self.dir, segments, graphs)? else {
            return Ok(None);
        };
        let bytes = write::with_graph(&segment, &|vectors| graphs.link(vectors))?;
        Ok(Some((place, SettlePart::rewritten(&segments[place], bytes))))
    }
}

/// Adds to `buried` the live documents of a turn whose ids are not in `ids`.
fn bury_others(
    segment: &Segment,
    turn: ([u8; 10], u32),
    ids: &BTreeSet<MemoryId>,
    buried: &mut BTreeSet<u32>,
) -> Result<()> {
    for doc in segment.first_from(passage_id(turn.0, turn.1, 0))?..segment.docs() {
        let id = segment.entry(doc)?.id;
        if turn_in_id(id) != turn {
            break;
        }
        if !ids.contains(&id) && !segment.is_dead(doc) {
            buried.insert(doc);
        }
    }
    Ok(())
}

/// Returns whether the segments are the same as before.
pub(crate) fn are_kept(parts: &[SettlePart], before: &[SegmentRef]) -> bool {
    let is_one = |(part, before): (&SettlePart, &SegmentRef)| match part {
        SettlePart::Kept(segment) => segment == before,
        SettlePart::New { .. } => false,
    };
    parts.len() == before.len() && parts.iter().zip(before).all(is_one)
}

/// Returns a large segment without a graph, and its position. The latest segments are examined first.
pub(crate) fn without_graph(
    dir: &Path,
    segments: &[SegmentRef],
    graphs: &dyn Graphs,
) -> Result<Option<(usize, Segment)>> {
    for (place, reference) in segments.iter().enumerate().rev() {
        if reference.docs < graphs.passages_min() {
            continue;
        }
        let segment = Segment::open(dir, reference)?;
        let head = segment.vector_head()?;
        if head.is_some_and(|head| head.is_transformed()) && !segment.has_graph() {
            return Ok(Some((place, segment)));
        }
    }
    Ok(None)
}

/// Returns whether segments should be merged, or rewritten because of dead documents.
pub(crate) fn are_unsettled(segments: &[SegmentRef]) -> bool {
    uneven(segments).is_some()
}

/// Returns the space of a segment's vectors. Without a source of vectors, the space of the present ones is kept.
pub(crate) fn space(vectors: Option<&dyn Vectors>, documents: &[Document]) -> Option<Space> {
    let known = || documents.iter().find_map(|document| Some(document.vector?.space));
    vectors.map(Vectors::space).or_else(known)
}

/// Returns the document with an id, searching from `next` on. Ids must ascend from call to call.
fn walk_to(segment: &Segment, next: &mut u32, id: MemoryId) -> Result<Option<(u32, Entry)>> {
    while *next < segment.docs() {
        let entry = segment.entry(*next)?;
        match entry.id.cmp(&id) {
            Ordering::Less => *next += 1,
            Ordering::Equal => return Ok(Some((*next, entry))),
            Ordering::Greater => return Ok(None),
        }
    }
    Ok(None)
}

fn document(segment: &Segment, doc: u32) -> Result<Document> {
    let entry = segment.entry(doc)?;
    let mut document = Document::stored_passage(&entry, segment.record(&entry)?);
    document.vector = segment.vector(doc)?;
    Ok(document)
}

/// Returns the number of live documents of a segment.
fn living(segment: &SegmentRef) -> u32 {
    segment.docs - (segment.dead.len() as u32).min(segment.docs)
}

/// Returns whether a segment should be merged with the `docs` documents after it.
fn may_merge(segment: &SegmentRef, docs: u32) -> bool {
    let own = living(segment);
    own < TIER_RATIO.saturating_mul(docs) && own + docs <= SEGMENT_PASSAGES_MAX
}

/// Returns the positions of the first and last segment to merge. If both are equal, that segment is rewritten.
fn uneven(segments: &[SegmentRef]) -> Option<(usize, usize)> {
    let rotten = segments.iter().position(|segment| {
        let dead = segment.dead.len();
        dead * DEAD_SHARE > segment.docs as usize || dead > DEAD_MAX
    });
    if let Some(place) = rotten {
        return Some((place, place));
    }
    (1..segments.len()).rev().find_map(|last| {
        let (mut first, mut docs) = (last, living(&segments[last]));
        while first > 0 && may_merge(&segments[first - 1], docs) {
            first -= 1;
            docs += living(&segments[first]);
        }
        (first < last).then_some((first, last))
    })
}

/// Returns whether a segment should be rewritten for better vectors, estimated from a sample of the documents without
/// them.
fn is_worth_it(
    docs: u32,
    waiting: &[u32],
    gains: &dyn Fn(u32) -> Result<Option<Embedded>>,
) -> Result<bool> {
    if docs <= BETTER_SMALL {
        return Ok(true);
    }
    let every = waiting.len().div_ceil(SAMPLE).max(1);
    let (mut gaining, mut looked_at) = (0, 0);
    for (number, some) in (1..).zip(waiting.chunks(every)) {
        // One document of each group is chosen pseudo-randomly, because documents with a gain may be at regular
        // distances.
        let doc = some[(mixed(number) % some.len() as u64) as usize];
        gaining += usize::from(gains(doc)?.is_some());
        looked_at += 1;
    }
    let all = gaining == looked_at;
    Ok(all || gaining * every * BETTER_SHARE >= docs as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embed::{DIMENSIONS, Vector};

    fn segment(docs: u32, dead: u32) -> SegmentRef {
        let dead = (0..dead).collect();
        SegmentRef { collection: Collection::Passages, generation: 1, bytes: 0, docs, dead }
    }

    fn sizes(sizes: &[u32]) -> Vec<SegmentRef> {
        sizes.iter().map(|&docs| segment(docs, 0)).collect()
    }

    proptest! {
        #[test]
        fn settling_ends_with_few_segments_of_which_none_is_too_large(
            mut segments in prop::collection::vec(1u32..40_000, 1..40),
        ) {
            let all: u32 = segments.iter().sum();
            while let Some((first, last)) = uneven(&sizes(&segments)) {
                let merged = segments[first..=last].iter().sum();
                segments.splice(first..=last, [merged]);
            }
            prop_assert_eq!(segments.iter().sum::<u32>(), all);
            prop_assert!(segments.iter().all(|&docs| docs <= SEGMENT_PASSAGES_MAX));
            // Two neighbours are too large for one segment, or the first is at least twice as large as the second.
            for pair in segments.windows(2) {
                let large = pair[0] + pair[1] > SEGMENT_PASSAGES_MAX;
                prop_assert!(large || pair[0] >= TIER_RATIO * pair[1], "{pair:?}");
            }
        }

        #[test]
        fn a_segment_is_written_again_for_a_quarter_or_for_all_that_wait(
            docs in 1u32..70_000,
            waiting in 1u32..70_000,
            made in 0u32..70_000,
        ) {
            let waiting: Vec<u32> = (0..waiting.min(docs)).collect();
            // Documents with new vectors are distributed evenly among the others.
            let made = made.min(waiting.len() as u32);
            let is_made = |doc: u32| {
                let before = u64::from(doc) * u64::from(made) / waiting.len() as u64;
                let after = (u64::from(doc) + 1) * u64::from(made) / waiting.len() as u64;
                after > before
            };
            let vector = Vector([1; DIMENSIONS]);
            let better = Embedded { space: Space([0; 16]), encoder: Encoder::Transformer, vector };
            let gains = |doc| Ok(is_made(doc).then_some(better));
            let worth = is_worth_it(docs, &waiting, &gains).unwrap();
            if made as usize == waiting.len() || docs <= BETTER_SMALL {
                prop_assert!(worth);
            } else if made == 0 {
                prop_assert!(!worth);
            } else if waiting.len() >= 8 * SAMPLE {
                // A sample gives no exact result.
                let share = f64::from(made) / f64::from(docs);
                let nearly_all = f64::from(made) > 0.9 * waiting.len() as f64;
                prop_assert!(share > 0.15 || nearly_all || !worth, "{share}");
                prop_assert!(share < 0.35 || worth, "{share}");
            }
        }
    }

    #[test]
    fn walking_finds_what_searching_finds() {
        let turn = |number| Passage { session: "s".into(), turn: number, ..Passage::default() };
        let mut there: Vec<Document> =
            (0..40).step_by(3).map(|number| Document::passage(&turn(number))).collect();
        there.sort_by_key(|document| document.entry.id);
        let (collection, docs) = (Collection::Memories, there.len() as u32);
        let bytes = write::segment(collection, &there, &[], None, Frozen::default());
        let (generation, dead, length) = (1, Vec::new(), bytes.len() as u64);
        let reference = SegmentRef { collection, generation, bytes: length, docs, dead };
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(reference.path(folder.path()), bytes).unwrap();
        let segment = Segment::open(folder.path(), &reference).unwrap();
        let mut ids: Vec<MemoryId> = (0..50).map(|number| turn(number).id()).collect();
        ids.sort();
        let doc = |found: Option<(u32, Entry)>| found.map(|(doc, _)| doc);
        let mut next = 0;
        let walked = ids.iter().map(|&id| doc(walk_to(&segment, &mut next, id).unwrap()));
        let walked: Vec<Option<u32>> = walked.collect();
        let searched: Vec<Option<u32>> =
            ids.iter().map(|&id| doc(segment.find(id).unwrap())).collect();
        assert_eq!(walked, searched);
        assert_eq!(walked.iter().flatten().count(), there.len());
    }

    #[test]
    fn much_that_is_dead_is_left_behind() {
        assert_eq!(uneven(&[segment(4000, 999), segment(1000, 0)]), None);
        assert_eq!(uneven(&[segment(4000, 1001), segment(1000, 0)]), Some((0, 0)));
        assert_eq!(uneven(&[segment(60_000, 1025)]), Some((0, 0)));
        assert_eq!(uneven(&[]), None);
    }
}
