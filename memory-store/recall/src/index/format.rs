//! Numbers and layouts shared by all index files. `FORMAT.md` illustrates them.

use std::path::Path;

pub(crate) use crate::bytes::{Cursor, checksum, fits, is_believed, put_bytes, put_varint};
use memory_store_base::error::{Error, Result};

/// Version of the format. Readers reject a higher major version. A higher minor version only adds sections and fields
/// that older readers may skip.
///
/// - 1.0: manifest, memories and turns segments, journal.
/// - 1.1: vectors in segments and in the journal, graphs.
/// - 1.2: graphs with nodes that no longer have a document, in sections of their own.
/// - 1.3: graphs with fine codes, in sections of their own.
/// - 1.4: the stamp of the user's settings file, in the manifest.
/// - 2.0: for turns, records in pages, terms in buckets, and fine codes in place of vectors. Version 1 is read
///   completely.
/// - 2.1: the project's names, in the manifest; commands in addition to signatures of errors.
/// - 3.0: passages of sessions in place of turns, with a gate of their own. Everything in versions 1 and 2 except turns
///   is read.
/// - 3.1: for passages, which of them may be given, fine codes in small groups, and graphs. Passages of 3.0 are
///   skipped.
/// - 3.2: for passages, fine codes next to the entries, clusters, and long lists of postings outside the buckets.
///   Passages of 3.1 are skipped.
pub const MAJOR: u16 = 3;
/// Minor version; see [`MAJOR`].
pub const MINOR: u16 = 2;

/// First bytes of a manifest.
pub(crate) const MANIFEST_MAGIC: [u8; 8] = *b"TLMANIFT";
/// First bytes of a segment.
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"TLSEGMNT";
/// First bytes of each journal frame, by which reading resumes after a damaged frame.
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"TLJ1";

/// Alignment of sections in bytes.
pub(crate) const ALIGNMENT: usize = 64;

/// Number of bytes of a segment's header.
pub(crate) const SEGMENT_HEADER: usize = 64;
/// Number of bytes of an entry of the section table.
pub(crate) const TABLE_ENTRY: usize = 24;
/// Maximum number of sections of a segment.
pub(crate) const SECTIONS_MAX: usize = 64;
/// Number of bytes of an entry of the document table.
pub(crate) const DOC_ENTRY: usize = 48;
/// Number of bytes of a slot of a hashed map.
pub(crate) const SLOT: usize = 32;

/// Maximum number of documents of a segment.
pub(crate) const DOCS_MAX: u32 = 1 << 28;

/// BM25 parameter: saturation of repeated terms.
pub(crate) const K1: f32 = 1.2;
/// BM25 parameter: normalisation by length. It is low, because with the usual 0.75 short passing remarks are ranked
/// first.
pub(crate) const B: f32 = 0.5;
/// Maximum weight of a term in a document, which is quantised to 255.
pub(crate) const IMPACT_MAX: f32 = K1 + 1.0;

/// The kinds of sections. Numbers 16 to 31 are reserved for vectors. Numbers 32 and 33 were bounds of long lists of
/// postings, written by earlier builds of 1.2 to 1.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SectionKind {
    /// One row for each document, in the order of ids: its entry, and for passages with vectors its fine code.
    Docs = 1,
    /// The packed records.
    Records = 2,
    /// Hashed map from term to postings: slots.
    TermSlots = 3,
    /// Blocks of the map from terms.
    TermBlocks = 4,
    /// Hashed map from file name to the paths of documents: slots.
    PathSlots = 5,
    /// Blocks of the map from file names.
    PathBlocks = 6,
    /// Hashed map from error signature to documents: slots.
    ErrorSlots = 7,
    /// Blocks of the map from error signatures.
    ErrorBlocks = 8,
    /// The documents of the session-start block, in order.
    Start = 9,
    /// Starts of the buckets of word pairs.
    PairBuckets = 10,
    /// The buckets of word pairs.
    Pairs = 11,
    /// Starts of the pages of records. Without this section, records are not paged.
    RecordPages = 12,
    /// Starts of the buckets of terms, which are in the section of the terms' blocks. Without this section, terms have
    /// slots.
    TermBuckets = 13,
    /// Space and number of the vectors.
    VectorHead = 16,
    /// One sign code for each document.
    Codes = 17,
    /// One int8 vector for each document.
    Vectors = 18,
    /// Seeds of the graph. Numbers 19 to 23 were graphs until 1.2.
    Seeds = 24,
    /// Nodes of the graph.
    Graph = 25,
    /// Documents with a vector but without a node of the graph.
    Unlinked = 26,
    /// Neighbours of each document, in a graph of passages.
    Links = 29,
    /// Centres of the clusters of passages, each with the number of members before it.
    Clusters = 30,
    /// Members of the clusters, with their fine codes.
    Members = 31,
}

/// One more than the highest kind of section.
pub(crate) const KINDS: usize = 32;

/// Checks that files of a version can be read. Later versions may have another layout.
pub(crate) fn check_major(path: &Path, major: u16) -> Result<()> {
    match major {
        1..=MAJOR => Ok(()),
        _ => Err(damaged(path, format!("format version {major}, expected {MAJOR}"))),
    }
}

/// Returns the error for an index file that is damaged or of another kind.
pub fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::Index { path: path.to_owned(), message: message.into() }
}

/// Returns the quantised weight of a term that occurs `count` times in a document of `length` terms.
pub(crate) fn impact(count: u32, length: u32, average: f32) -> u8 {
    let count = count as f32;
    let relative = if average > 0.0 { length as f32 / average } else { 1.0 };
    let weight = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * relative));
    (weight / IMPACT_MAX * 255.0).round().clamp(1.0, 255.0) as u8
}

/// Returns the weight that a quantised weight represents.
pub(crate) fn impact_weight(impact: u8) -> f32 {
    f32::from(impact) * (IMPACT_MAX / 255.0)
}
