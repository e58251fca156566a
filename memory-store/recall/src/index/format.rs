//! Numbers and layouts that every index file shares. `FORMAT.md` draws the picture.

use std::path::Path;

pub(crate) use crate::bytes::{Cursor, checksum, fits, is_believed, put_bytes, put_varint};
use memory_store_base::error::{Error, Result};

/// Version of the format. A reader refuses a higher major; a higher minor only adds sections and
/// fields that an older reader may skip.
///
/// - 1.0: manifest, memories and turns segments, journal.
/// - 1.1: vectors in segments and in the journal, graphs.
/// - 1.2: graphs some of whose nodes stand for no document any more, in sections of their own.
/// - 1.3: graphs with fine codes, in sections of their own.
/// - 1.4: what the user's settings file was like, in the manifest.
/// - 2.0: of turns, records in pages, terms in buckets, and fine codes in place of vectors. All of 1 is read.
/// - 2.1: what the project is called, in the manifest; commands beside signatures of errors.
/// - 3.0: passages of sessions in place of turns, with a gate of their own. All of 1 and 2 is read but their turns.
/// - 3.1: of passages, which may be given, fine codes in small groups, and graphs. Passages of 3.0 are passed over.
/// - 3.2: of passages, fine codes beside the entries, clusters, and long lists of postings outside the buckets. Passages of 3.1
///   are passed over.
pub const MAJOR: u16 = 3;
/// See [`MAJOR`].
pub const MINOR: u16 = 2;

/// First bytes of a manifest.
pub(crate) const MANIFEST_MAGIC: [u8; 8] = *b"TLMANIFT";
/// First bytes of a segment.
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"TLSEGMNT";
/// First bytes of each journal frame, so that reading can resume after a damaged one.
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"TLJ1";

/// Sections start at multiples of this.
pub(crate) const ALIGNMENT: usize = 64;

/// Bytes of a segment's header.
pub(crate) const SEGMENT_HEADER: usize = 64;
/// Bytes of an entry of the section table.
pub(crate) const TABLE_ENTRY: usize = 24;
/// Sections that a segment may have.
pub(crate) const SECTIONS_MAX: usize = 64;
/// Bytes of an entry of the document table.
pub(crate) const DOC_ENTRY: usize = 48;
/// Bytes of a slot of a hashed map.
pub(crate) const SLOT: usize = 32;

/// Documents that a segment may hold.
pub(crate) const DOCS_MAX: u32 = 1 << 28;

/// BM25: how fast repeated terms stop counting.
pub(crate) const K1: f32 = 1.2;
/// BM25: how much a long text is held back. Little: with the usual 0.75 short throw-away lines win.
pub(crate) const B: f32 = 0.5;
/// The highest weight a term can have in a document, quantised to 255.
pub(crate) const IMPACT_MAX: f32 = K1 + 1.0;

/// The kinds of section. Numbers 16 to 31 are kept for vectors. Numbers 32 and 33 were bounds over long postings,
/// which earlier builds of 1.2 to 1.4 wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SectionKind {
    /// One row a document, in the order of their ids: its entry, and of passages with vectors its fine code.
    Docs = 1,
    /// The packed records.
    Records = 2,
    /// Hashed map from term to postings: its slots.
    TermSlots = 3,
    /// Its blocks.
    TermBlocks = 4,
    /// Hashed map from file name to the paths of documents: its slots.
    PathSlots = 5,
    /// Its blocks.
    PathBlocks = 6,
    /// Hashed map from error signature to documents: its slots.
    ErrorSlots = 7,
    /// Its blocks.
    ErrorBlocks = 8,
    /// The documents of the session-start block, in order.
    Start = 9,
    /// Starts of the buckets of neighbouring words.
    PairBuckets = 10,
    /// The buckets.
    Pairs = 11,
    /// Starts of the pages in which records lie; without it they lie plain.
    RecordPages = 12,
    /// Starts of the buckets of terms, which are the terms' blocks; without it there are slots.
    TermBuckets = 13,
    /// Space and number of the vectors.
    VectorHead = 16,
    /// A sign code a document.
    Codes = 17,
    /// An int8 vector a document.
    Vectors = 18,
    /// Entry points of the graph. Numbers 19 to 23 were those of graphs until 1.2.
    Seeds = 24,
    /// The graph's nodes.
    Graph = 25,
    /// Documents with a vector that are no node of the graph.
    Unlinked = 26,
    /// Neighbours of each document in a graph of passages.
    Links = 29,
    /// Centres of clusters of passages, each with the number of members before it.
    Clusters = 30,
    /// Members of these clusters with their fine codes.
    Members = 31,
}

/// One more than the highest kind of section.
pub(crate) const KINDS: usize = 32;

/// Returns whether files of a version can be read; later ones may be laid out otherwise.
pub(crate) fn check_major(path: &Path, major: u16) -> Result<()> {
    match major {
        1..=MAJOR => Ok(()),
        _ => Err(damaged(path, format!("format version {major}, expected {MAJOR}"))),
    }
}

/// An error about a damaged or foreign index file.
pub fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::Index { path: path.to_owned(), message: message.into() }
}

/// The weight of a term that occurs `count` times in a document of `length` terms, quantised.
pub(crate) fn impact(count: u32, length: u32, average: f32) -> u8 {
    let count = count as f32;
    let relative = if average > 0.0 { length as f32 / average } else { 1.0 };
    let weight = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * relative));
    (weight / IMPACT_MAX * 255.0).round().clamp(1.0, 255.0) as u8
}

/// The weight that a quantised one stands for.
pub(crate) fn impact_weight(impact: u8) -> f32 {
    f32::from(impact) * (IMPACT_MAX / 255.0)
}
