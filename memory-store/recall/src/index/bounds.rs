//! Bounds over the postings of terms that many documents have: how much the term weighs at most in
//! each *range* of documents, and where the postings of each *window* of ranges lie, so that a reader
//! passes over what cannot be among the best and reads only the rest. (Ding and Suel, "Faster top-k
//! document retrieval using block-max indexes", 2011; blocks are ranges of documents here, the same for
//! all terms, so that their bounds simply add up.)

use std::borrow::Cow;

use super::format::checksum;
use super::format::{Cursor, SectionKind, fits};
use super::segment::{Postings, Segment, Slot};
use memory_store_base::error::Result;

/// Documents of a range.
pub(crate) const RANGE: u32 = 128;
/// Ranges of a window.
pub(crate) const RANGES: usize = 16;
/// Documents of a window.
pub(crate) const WINDOW: u32 = RANGE * RANGES as u32;
/// Segments of no more documents have no bounds: all of it is walked through sooner, for each window has
/// something that might be among the best. Tests have less patience.
pub(crate) const UNBOUNDED_DOCS_MAX: u32 = if cfg!(test) { 8 } else { 64 } * WINDOW;
/// Documents that a term has at least which has bounds, and for each window so many: shorter lists are read
/// sooner than their bounds.
const POSTINGS_MIN: u32 = 1024;
/// See [`POSTINGS_MIN`].
const POSTINGS_OF_WINDOW: u32 = 4;
/// Bytes of an entry: offset, checksum, first document, number of documents, bounds.
const ENTRY: usize = 4 + 4 + 2 + 2 + RANGES;

/// Returns whether a term that occurs so often has bounds in a segment of so many documents.
pub(crate) fn has_bounds(count: u32, docs: u32) -> bool {
    let windows = docs.div_ceil(WINDOW);
    docs > UNBOUNDED_DOCS_MAX && count > POSTINGS_MIN.max(POSTINGS_OF_WINDOW * windows)
}

/// Bounds of the postings of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WindowBound {
    /// Start in the term's block, after the number of the first document.
    offset: u32,
    checksum: u32,
    /// The first document, counted from the window's first.
    first: u16,
    count: u16,
    /// The highest weight in each range.
    bounds: [u8; RANGES],
}

impl WindowBound {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(bytes);
        Some(Self {
            offset: cursor.u32()?,
            checksum: cursor.u32()?,
            first: cursor.u16()?,
            count: cursor.u16()?,
            bounds: cursor.array()?,
        })
    }
}

/// The documents that have a term, left in the file.
#[derive(Debug)]
pub(crate) struct Bounded<'a> {
    segment: &'a Segment,
    slot: Slot,
    entries: Cow<'a, [u8]>,
}

/// Bytes of postings that were read, of some windows.
#[derive(Debug, Default)]
pub(crate) struct Part {
    bytes: Vec<u8>,
    /// Start in the block.
    start: u32,
}

/// Bytes of postings read at once where many windows are looked at.
const READ_AT_ONCE: u32 = 16 << 10;

impl Segment {
    /// The postings of a term with their bounds; `None` when it has none.
    pub(crate) fn bounded(&self, hash: u64, slot: Slot) -> Result<Option<Bounded<'_>>> {
        if !has_bounds(slot.count, self.docs()) {
            return Ok(None);
        }
        let Some(found) = self.slot(SectionKind::BoundSlots, hash)? else { return Ok(None) };
        let entries = self.block(SectionKind::BoundBlocks, &found)?;
        if entries.len() != self.docs().div_ceil(WINDOW) as usize * ENTRY {
            return Err(self.damaged("the bounds of a term make no sense"));
        }
        Ok(Some(Bounded { segment: self, slot, entries }))
    }
}

impl Bounded<'_> {
    /// Returns the number of documents.
    pub(crate) fn docs(&self) -> usize {
        self.slot.count as usize
    }

    /// Calls `each` with each range that has the term, in order, and the highest weight in it.
    pub(crate) fn bounds(&self, mut each: impl FnMut(u32, u8)) {
        for (window, entry) in (0u32..).zip(self.entries.chunks_exact(ENTRY)) {
            for (range, &bound) in (0u32..).zip(&entry[ENTRY - RANGES..]) {
                if bound > 0 {
                    each(window * RANGES as u32 + range, bound);
                }
            }
        }
    }

    /// Calls `each` with the documents of a window, in order, and the term's weight in them; `None`
    /// when the postings make no sense. `part` is what was read before; what is missing is read, up
    /// to and with the window `last` where it is little enough.
    pub(crate) fn window(
        &self,
        number: u32,
        last: u32,
        part: &mut Part,
        each: impl FnMut(u32, u8),
    ) -> Option<()> {
        let (entry, end) = self.entry(number)?;
        if entry.count == 0 {
            return Some(());
        }
        let held = part.start..part.start.saturating_add(part.bytes.len() as u32);
        if entry.offset < held.start || end > held.end {
            let mut until = end;
            for further in number + 1..=last {
                let (_, end) = self.entry(further)?;
                if end.checked_sub(entry.offset)? > READ_AT_ONCE {
                    break;
                }
                until = end;
            }
            part.start = entry.offset;
            part.bytes.resize(until.checked_sub(entry.offset)? as usize, 0);
            let offset = self.slot.offset().checked_add(u64::from(entry.offset))?;
            let read = self.segment.read_into(SectionKind::TermBlocks, offset, &mut part.bytes);
            read.ok()?;
        }
        let start = (entry.offset - part.start) as usize;
        let bytes = part.bytes.get(start..(end - part.start) as usize)?;
        if !fits(bytes, entry.checksum) {
            return None;
        }
        let first = number.checked_mul(WINDOW)?.checked_add(u32::from(entry.first))?;
        let docs = self.segment.docs();
        Postings::from_first(bytes, first, u32::from(entry.count), docs)?.below(docs, each)
    }

    /// Returns the bounds of a window, and the end of its postings.
    fn entry(&self, number: u32) -> Option<(WindowBound, u32)> {
        let at = number as usize * ENTRY;
        let entry = WindowBound::decode(self.entries.get(at..)?)?;
        let end = match self.entries.get(at + ENTRY..).filter(|rest| !rest.is_empty()) {
            Some(next) => WindowBound::decode(next)?.offset,
            None => self.slot.length(),
        };
        (entry.offset <= end && end <= self.slot.length()).then_some((entry, end))
    }
}

/// The bounds over a list of postings, as the section has them.
pub(super) fn entries(postings: &[u8], count: u32, docs: u32) -> Vec<u8> {
    let mut cursor = Cursor(postings);
    let windows = docs.div_ceil(WINDOW) as usize;
    let length = postings.len() as u32;
    let mut entries =
        vec![
            WindowBound { offset: length, checksum: 0, first: 0, count: 0, bounds: [0; RANGES] };
            windows
        ];
    let mut doc = 0;
    for _ in 0..count {
        let distance = cursor.varint().unwrap_or_default() as u32;
        let offset = length - cursor.0.len() as u32;
        doc += distance;
        let weight = cursor.byte().unwrap_or_default();
        let Some(entry) = entries.get_mut((doc / WINDOW) as usize) else { continue };
        if entry.count == 0 {
            (entry.offset, entry.first) = (offset, (doc % WINDOW) as u16);
        }
        entry.count += 1;
        let bound = &mut entry.bounds[(doc % WINDOW / RANGE) as usize];
        *bound = (*bound).max(weight);
    }
    let mut out = vec![0; windows * ENTRY];
    let mut end = length;
    for (entry, bytes) in entries.iter_mut().zip(out.chunks_exact_mut(ENTRY)).rev() {
        if entry.count == 0 {
            entry.offset = end;
        }
        entry.checksum = checksum(&postings[entry.offset as usize..end as usize]);
        end = entry.offset;
        bytes[..4].copy_from_slice(&entry.offset.to_le_bytes());
        bytes[4..8].copy_from_slice(&entry.checksum.to_le_bytes());
        bytes[8..10].copy_from_slice(&entry.first.to_le_bytes());
        bytes[10..12].copy_from_slice(&entry.count.to_le_bytes());
        bytes[12..].copy_from_slice(&entry.bounds);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::document::Document;
    use super::super::format::{SEGMENT_HEADER, TABLE_ENTRY, put_varint};
    use super::super::manifest::Collection;
    use super::super::record::Record;
    use super::super::testing;
    use super::*;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    const DOCS: u32 = UNBOUNDED_DOCS_MAX + 300;
    const TERM: u64 = 77;

    /// A segment in which every third document of most windows has a term.
    fn bytes() -> Vec<u8> {
        let document = |number: u32| {
            let id = MemoryId::new(Timestamp(i64::from(number)), [0; 10]);
            let record = Record::default();
            let document = Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
            let has = number.is_multiple_of(3) && number / WINDOW != 4;
            let terms = has.then_some((TERM, 1 + number / 100 % 4)).into_iter().collect();
            Document { terms, ..document }
        };
        testing::segment_bytes(&(0..DOCS).map(document).collect::<Vec<_>>())
    }

    fn open(bytes: Vec<u8>) -> Result<Segment> {
        testing::open(Collection::Memories, bytes, DOCS, &[])
    }

    type Found = Vec<(u32, u8)>;

    /// The postings of the term by their bounds, and its ranges.
    fn found(segment: &Segment, last: u32) -> Result<Option<(Found, Found)>> {
        let Some(slot) = segment.term(TERM)? else { return Ok(None) };
        let Some(bounded) = segment.bounded(TERM, slot)? else { return Ok(None) };
        let (mut postings, mut ranges) = (Vec::new(), Vec::new());
        let mut part = Part::default();
        for number in 0..DOCS.div_ceil(WINDOW) {
            let last = last.min(DOCS.div_ceil(WINDOW) - 1);
            let walked = bounded.window(number, last, &mut part, |doc, weight| {
                postings.push((doc, weight));
            });
            walked.ok_or_else(|| segment.no_postings())?;
        }
        bounded.bounds(|range, weight| ranges.push((range, weight)));
        Ok(Some((postings, ranges)))
    }

    #[test]
    fn windows_have_what_the_whole_list_has() {
        let segment = open(bytes()).unwrap();
        let mut all = Vec::new();
        let slot = segment.term(TERM).unwrap().unwrap();
        segment.postings(&slot, |doc, weight| all.push((doc, weight))).unwrap();
        let mut highest = std::collections::BTreeMap::new();
        for &(doc, weight) in &all {
            let known = highest.entry(doc / RANGE).or_insert(weight);
            *known = weight.max(*known);
        }
        for last in [0, 3, 100] {
            let (postings, ranges) = found(&segment, last).unwrap().unwrap();
            assert_eq!(postings, all);
            assert_eq!(ranges, highest.clone().into_iter().collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn entries_tell_of_all_postings(
            distances in prop::collection::vec((1u32..900, 1u8..), 1..200),
        ) {
            let (mut bytes, mut doc) = (Vec::new(), 0);
            for &(distance, weight) in &distances {
                put_varint(&mut bytes, u64::from(distance));
                bytes.push(weight);
                doc += distance;
            }
            let entries = entries(&bytes, distances.len() as u32, doc + 1);
            let entries: Vec<WindowBound> = entries
                .chunks_exact(ENTRY)
                .map(|entry| WindowBound::decode(entry).unwrap())
                .collect();
            prop_assert_eq!(entries.len(), (doc + 1).div_ceil(WINDOW) as usize);
            let counts: usize = entries.iter().map(|entry| usize::from(entry.count)).sum();
            prop_assert_eq!(counts, distances.len());
            let highest = distances.iter().map(|&(_, weight)| weight).max();
            prop_assert_eq!(entries.iter().flat_map(|entry| entry.bounds).max(), highest);
        }

        #[test]
        fn a_changed_byte_is_noticed_or_harmless(
            section in 0usize..4,
            at: prop::sample::Index,
            change in 1u8..,
        ) {
            static SOUND: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(bytes);
            let kinds = [
                SectionKind::TermSlots,
                SectionKind::TermBlocks,
                SectionKind::BoundSlots,
                SectionKind::BoundBlocks,
            ];
            let mut changed = SOUND.clone();
            let table = changed[SEGMENT_HEADER..].chunks_exact(TABLE_ENTRY);
            let entry = table.map(Cursor).find_map(|mut entry| {
                let kind = entry.u32().filter(|&kind| kind == kinds[section] as u32);
                kind.and_then(|_| Some((entry.u32()?, entry.u64()?, entry.u64()?)))
            });
            let (_, offset, length) = entry.unwrap();
            changed[offset as usize + at.index(length as usize)] ^= change;
            let sound = found(&open(SOUND.clone()).unwrap(), 5).unwrap();
            if let Ok(answer) = open(changed).and_then(|segment| found(&segment, 5)) {
                prop_assert_eq!(answer, sound);
            }
        }
    }
}
