//! Helpers for the tests of several sections: segments in memory, and changed bytes.

use std::fmt::Debug;
use std::path::Path;

use proptest::prelude::*;

use super::document::{Document, Passage};
use super::manifest::{Collection, SegmentRef};
use super::segment::Segment;
use super::{freeze, write};
use memory_store_base::error::Result;

/// Returns the bytes of a segment of memories.
pub(crate) fn segment_bytes(documents: &[Document]) -> Vec<u8> {
    let space = documents.iter().find_map(|document| Some(document.vector?.space));
    write::segment(Collection::Memories, documents, &[], space, freeze::Frozen::default())
}

/// Returns the bytes of a segment of passages that have these texts, in order.
pub(crate) fn passages(texts: &[String]) -> Vec<u8> {
    let document = |(number, text): (u32, &String)| {
        let mut document = Document::passage(&Passage { turn: number, ..Passage::default() });
        document.record.text.clone_from(text);
        document.read_terms();
        document
    };
    let documents: Vec<Document> = (0..).zip(texts).map(document).collect();
    write::segment(Collection::Passages, &documents, &[], None, freeze::Frozen::default())
}

/// Opens a segment of passages in memory.
pub(crate) fn open_passages(bytes: Vec<u8>, docs: u32) -> Result<Segment> {
    open(Collection::Passages, bytes, docs, &[])
}

/// Opens a segment in memory.
pub(crate) fn open(
    collection: Collection,
    bytes: Vec<u8>,
    docs: u32,
    dead: &[u32],
) -> Result<Segment> {
    let length = bytes.len() as u64;
    let dead = dead.to_vec();
    let reference = SegmentRef { collection, generation: 1, bytes: length, docs, dead };
    Segment::from_bytes(Path::new("test.seg"), bytes, &reference)
}

/// Asserts that a changed byte causes an error or does not change the result.
pub(crate) fn notice_a_changed_byte<T: PartialEq + Debug>(
    mut bytes: Vec<u8>,
    at: prop::sample::Index,
    change: u8,
    ask: impl Fn(Vec<u8>) -> Result<T>,
) -> std::result::Result<(), TestCaseError> {
    let sound = ask(bytes.clone()).unwrap();
    let at = at.index(bytes.len());
    bytes[at] ^= change;
    if let Ok(answer) = ask(bytes) {
        prop_assert_eq!(answer, sound);
    }
    Ok(())
}
