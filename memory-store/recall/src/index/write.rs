//! Writing of segments.

use std::collections::BTreeMap;

use super::buckets;
use super::clusters;
use super::document::{Document, path_key};
use super::format::{
    ALIGNMENT, DOC_ENTRY, SEGMENT_HEADER, SLOT, SectionKind, TABLE_ENTRY, checksum, impact,
    put_bytes, put_varint,
};
use super::freeze::{Frozen, freeze_passages};
use super::hub;
use super::listed::put_group;
use super::manifest::Collection;
use super::pages;
use super::pairs;
use super::record::BESIDE_MAX;
use super::segment::{Segment, SegmentHeader};
use super::vectors::{self, CODES_GUARDED, Embedded, ROW_CODE, STRIDE, VectorHead};
use crate::bytes::kernel::{self, CODE, Code, FINE, Fine};
use crate::embed::{Encoder, Space, Vector};
use crate::signature::{command_hash, signature_hash};
use memory_store_base::error::Result;
use memory_store_base::id::MemoryId;

/// Returns the bytes of a segment with these documents, which must be sorted by unique id. Equal documents result in
/// equal bytes. Vectors in another space than `space` are dropped.
pub fn segment(
    collection: Collection,
    documents: &[Document],
    start: &[MemoryId],
    space: Option<Space>,
    graph: Frozen,
) -> Vec<u8> {
    let terms: u64 = documents.iter().map(|document| u64::from(document.length())).sum();
    let average = if documents.is_empty() { 0.0 } else { terms as f32 / documents.len() as f32 };
    let (docs, records) = docs_and_records(documents);
    let postings = postings(documents, average);
    // Hooks search memories and have no time to decompress a page or to scan a bucket.
    let (term_heads, (term_starts, term_blocks), (record_pages, records)) = match collection {
        Collection::Memories => {
            (SectionKind::TermSlots, hashed_map(&postings), (Vec::new(), records))
        }
        Collection::Passages => {
            (SectionKind::TermBuckets, buckets::sections(&postings), pages::sections(&records))
        }
    };
    let (path_slots, path_blocks) = hashed_map(&paths(documents));
    let (error_slots, error_blocks) = hashed_map(&errors(documents));
    let (pair_buckets, pairs) =
        pairs::sections(documents.iter().map(|document| document.pairs.as_slice()));
    let embedded: Vec<Option<&Embedded>> =
        documents.iter().map(|document| document.vector.as_ref()).collect();
    let vectors = space.map(|space| vectors(collection, &embedded, space)).unwrap_or_default();
    let sections = [
        (SectionKind::Docs, with_codes(&docs, DOC_ENTRY, &vectors.fine)),
        (term_heads, term_starts),
        (SectionKind::PathSlots, path_slots),
        (SectionKind::ErrorSlots, error_slots),
        (SectionKind::Start, start_plan(documents, start)),
        (SectionKind::PairBuckets, pair_buckets),
        (SectionKind::TermBlocks, term_blocks),
        (SectionKind::PathBlocks, path_blocks),
        (SectionKind::ErrorBlocks, error_blocks),
        (SectionKind::Pairs, pairs),
        (SectionKind::VectorHead, vectors.head),
        (SectionKind::Codes, vectors.codes),
        (SectionKind::Vectors, vectors.items),
        (SectionKind::Seeds, graph.seeds),
        (nodes_in(collection), graph.graph),
        (SectionKind::Unlinked, graph.unlinked),
        (SectionKind::Clusters, vectors.clusters),
        (SectionKind::Members, vectors.members),
        (SectionKind::RecordPages, record_pages),
        (SectionKind::Records, records),
    ];
    assemble(collection, documents.len() as u32, terms, &sections)
}

/// Sections that do not depend on vectors.
const OF_WORDS: [SectionKind; 12] = [
    SectionKind::TermSlots,
    SectionKind::TermBuckets,
    SectionKind::PathSlots,
    SectionKind::ErrorSlots,
    SectionKind::Start,
    SectionKind::PairBuckets,
    SectionKind::TermBlocks,
    SectionKind::PathBlocks,
    SectionKind::ErrorBlocks,
    SectionKind::Pairs,
    SectionKind::RecordPages,
    SectionKind::Records,
];

/// Sections with the graph of passages.
const OF_GRAPH: [SectionKind; 2] = [SectionKind::Seeds, SectionKind::Links];

/// Sections with the vectors of passages.
const OF_VECTORS: [SectionKind; 4] =
    [SectionKind::Docs, SectionKind::VectorHead, SectionKind::Clusters, SectionKind::Members];

/// Returns the kind of section that contains the nodes of a graph.
fn nodes_in(collection: Collection) -> SectionKind {
    match collection {
        Collection::Memories => SectionKind::Graph,
        Collection::Passages => SectionKind::Links,
    }
}

/// Returns the bytes of a segment of passages with other vectors, given by document. The sections of words are copied
/// without being decoded. The graph is kept if `with_graph` is set. It finds as much as before while few vectors are
/// new, because a search compares the new ones.
pub fn with_vectors(
    segment: &Segment,
    embedded: &[Option<Embedded>],
    space: Space,
    with_graph: bool,
) -> Result<Vec<u8>> {
    let embedded: Vec<Option<&Embedded>> = embedded.iter().map(Option::as_ref).collect();
    let vectors = vectors(Collection::Passages, &embedded, space);
    let docs = segment.read(SectionKind::Docs, 0, segment.length(SectionKind::Docs))?;
    let new = vec![
        (SectionKind::VectorHead, vectors.head),
        (SectionKind::Docs, with_codes(&docs, segment.row(), &vectors.fine)),
        (SectionKind::Clusters, vectors.clusters),
        (SectionKind::Members, vectors.members),
    ];
    rewritten(segment, new, if with_graph { &OF_GRAPH } else { &[] })
}

/// Returns the bytes of a segment of passages with a new graph over its vectors. `link` returns for each vector the
/// numbers of its neighbours, nearest first.
pub fn with_graph(
    segment: &Segment,
    link: &dyn Fn(&[&Vector]) -> Vec<Vec<u32>>,
) -> Result<Vec<u8>> {
    let embedded = (0..segment.docs()).map(|doc| segment.vector(doc));
    let embedded = embedded.collect::<Result<Vec<Option<Embedded>>>>()?;
    let vectored = (0..).zip(&embedded).filter_map(|(doc, it)| Some((doc, &it.as_ref()?.vector)));
    let vectored: Vec<(u32, &Vector)> = vectored.collect();
    let vectors: Vec<&Vector> = vectored.iter().map(|&(_, vector)| vector).collect();
    let links = link(&vectors);
    // Without this check the segment would have no graph, and one would be requested again and again.
    if links.len() != vectors.len() {
        let (lists, vectors) = (links.len(), vectors.len());
        let message = format!("a graph of {vectors} vectors was linked with {lists} lists");
        return Err(segment.damaged(&message));
    }
    let graph = freeze_passages(&vectored, links, segment.docs());
    let new = vec![(SectionKind::Seeds, graph.seeds), (SectionKind::Links, graph.graph)];
    rewritten(segment, new, &OF_VECTORS)
}

/// Returns the bytes of a segment of passages with its sections of words, its `kept` sections and new sections.
fn rewritten(
    segment: &Segment,
    mut sections: Vec<(SectionKind, Vec<u8>)>,
    kept: &[SectionKind],
) -> Result<Vec<u8>> {
    for &kind in kept.iter().chain(&OF_WORDS) {
        sections.push((kind, segment.read(kind, 0, segment.length(kind))?.into_owned()));
    }
    Ok(assemble(Collection::Passages, segment.docs(), segment.terms(), &sections))
}

/// Joins header, section table and sections.
fn assemble(
    collection: Collection,
    docs: u32,
    terms: u64,
    sections: &[(SectionKind, Vec<u8>)],
) -> Vec<u8> {
    let sections: Vec<_> = sections.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    let mut out = vec![0; SEGMENT_HEADER + sections.len() * TABLE_ENTRY];
    let mut table = Vec::new();
    for (kind, bytes) in &sections {
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        table.extend_from_slice(&(*kind as u32).to_le_bytes());
        table.extend_from_slice(&0u32.to_le_bytes());
        table.extend_from_slice(&(out.len() as u64).to_le_bytes());
        table.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    }
    out[SEGMENT_HEADER..SEGMENT_HEADER + table.len()].copy_from_slice(&table);
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(&out[SEGMENT_HEADER..]).as_bytes()[..16]);
    let header = SegmentHeader {
        collection: collection as u8,
        bytes: out.len() as u64,
        docs,
        sections: sections.len() as u32,
        terms,
        hash,
        table_checksum: checksum(&table),
    };
    out[..SEGMENT_HEADER].copy_from_slice(&header.encode());
    out
}

fn docs_and_records(documents: &[Document]) -> (Vec<u8>, Vec<u8>) {
    let (mut docs, mut records) = (Vec::new(), Vec::new());
    for (at, document) in documents.iter().enumerate() {
        let offset = records.len();
        document.record.encode(&mut records);
        let mut entry = document.entry;
        entry.offset = offset as u64;
        entry.length = (records.len() - offset) as u32;
        entry.checksum = checksum(&records[offset..]);
        entry.before = beside(document, documents[..at].iter().rev());
        entry.after = beside(document, &documents[at + 1..]);
        entry.encode(&mut docs);
    }
    (docs, records)
}

/// Returns the number of consecutive neighbours that belong to a document's session.
fn beside<'a>(document: &Document, others: impl IntoIterator<Item = &'a Document>) -> u8 {
    let (session, agent) = (&document.record.session, &document.record.agent);
    let same = |other: &&Document| {
        session.is_some() && other.record.session == *session && other.record.agent == *agent
    };
    others.into_iter().take(usize::from(BESIDE_MAX)).take_while(same).count() as u8
}

/// Blocks of a hashed map by key, each with the number of its items and the encoded items.
pub(super) type Blocks = BTreeMap<u64, (u32, Vec<u8>)>;

/// Adds items to blocks. Each item starts with the difference between its document and the previous one.
#[derive(Default)]
struct BlockWriter {
    blocks: Blocks,
    last: BTreeMap<u64, u32>,
}

impl BlockWriter {
    fn add(&mut self, key: u64, doc: u32, item: impl FnOnce(&mut Vec<u8>)) {
        let (count, bytes) = self.blocks.entry(key).or_default();
        let last = self.last.insert(key, doc).unwrap_or(0);
        put_varint(bytes, u64::from(doc - last));
        item(bytes);
        *count += 1;
    }
}

fn postings(documents: &[Document], average: f32) -> Blocks {
    let mut writer = BlockWriter::default();
    for (doc, document) in (0..).zip(documents) {
        let length = document.length();
        for &(hash, count) in &document.terms {
            let weight = impact(count, length, average);
            writer.add(hash, doc, |bytes| bytes.push(weight));
        }
    }
    writer.blocks
}

fn paths(documents: &[Document]) -> Blocks {
    let mut writer = BlockWriter::default();
    for (doc, document) in (0..).zip(documents) {
        for path in &document.record.paths {
            writer.add(path_key(path), doc, |bytes| put_bytes(bytes, path.as_bytes()));
        }
    }
    writer.blocks
}

fn errors(documents: &[Document]) -> Blocks {
    let mut writer = BlockWriter::default();
    for (doc, document) in (0..).zip(documents) {
        for signature in &document.record.signatures {
            writer.add(signature_hash(signature), doc, |_| {});
        }
        for command in document.commands() {
            writer.add(command_hash(&command), doc, |_| {});
        }
    }
    writer.blocks
}

/// Returns the slots and the blocks of a hashed map. At most half of the slots are used, so a key is found or missed
/// within few probes.
fn hashed_map(blocks: &Blocks) -> (Vec<u8>, Vec<u8>) {
    if blocks.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let count = (blocks.len() * 2).next_power_of_two().max(4);
    let mut slots = vec![0; count * SLOT];
    let mut out = Vec::new();
    for (&hash, (items, bytes)) in blocks {
        let mut slot = Vec::with_capacity(SLOT);
        slot.extend_from_slice(&hash.to_le_bytes());
        slot.extend_from_slice(&(out.len() as u64).to_le_bytes());
        slot.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        slot.extend_from_slice(&items.to_le_bytes());
        slot.extend_from_slice(&checksum(bytes).to_le_bytes());
        let check = checksum(&slot);
        slot.extend_from_slice(&check.to_le_bytes());
        let mut at = hash as usize & (count - 1);
        while slots[at * SLOT..][..SLOT].iter().any(|&byte| byte != 0) {
            at = (at + 1) & (count - 1);
        }
        slots[at * SLOT..][..SLOT].copy_from_slice(&slot);
        out.extend_from_slice(bytes);
    }
    (slots, out)
}

/// The sections of vectors; all are empty if no document has a vector.
#[derive(Default)]
struct VectorSections {
    head: Vec<u8>,
    codes: Vec<u8>,
    items: Vec<u8>,
    fine: Vec<u8>,
    clusters: Vec<u8>,
    members: Vec<u8>,
}

fn vectors(collection: Collection, embedded: &[Option<&Embedded>], space: Space) -> VectorSections {
    let embedded: Vec<Option<&Embedded>> = embedded
        .iter()
        .map(|embedded| embedded.filter(|embedded| embedded.space == space))
        .collect();
    let count = embedded.iter().flatten().count() as u32;
    if count == 0 {
        return VectorSections::default();
    }
    let transformed = embedded.iter().flatten();
    let transformed = transformed.filter(|embedded| embedded.encoder == Encoder::Transformer);
    let head = VectorHead { space, count, transformed: transformed.count() as u32 }.encode();
    if collection == Collection::Passages {
        let (fine, (clusters, members)) = (fine(&embedded), clusters::sections(&embedded));
        return VectorSections { head, fine, clusters, members, ..VectorSections::default() };
    }
    let mut codes = Vec::with_capacity(embedded.len() * CODE);
    for block in embedded.chunks(CODES_GUARDED) {
        let first = codes.len();
        for embedded in block {
            let code = embedded.map_or([0; CODE], |embedded| Code::of(&embedded.vector).0);
            codes.extend_from_slice(&code);
        }
        let sum = kernel::sum(&codes[first..]);
        codes.extend_from_slice(&sum.to_le_bytes());
    }
    let mut items = Vec::with_capacity(embedded.len() * STRIDE);
    let hubs = hub::bytes(&embedded.iter().map(|it| it.map(|it| &it.vector)).collect::<Vec<_>>());
    for (embedded, hub) in embedded.iter().zip(hubs) {
        vectors::put_item(&mut items, *embedded, hub);
    }
    VectorSections { head, codes, items, ..VectorSections::default() }
}

/// Returns the fine codes of vectors. Passages get only these, because they are numerous and the codes find as much.
fn fine(embedded: &[Option<&Embedded>]) -> Vec<u8> {
    let code = |embedded: &Option<&Embedded>| match embedded {
        Some(embedded) => (embedded.encoder as u32, Fine::of(&embedded.vector)),
        None => (0, Fine([0; FINE])),
    };
    let mut out = Vec::new();
    embedded.iter().for_each(|embedded| put_group(&mut out, &[code(embedded)]));
    out
}

/// Returns the table of documents: the entries from rows of `row` bytes, each followed by its code if there are codes.
fn with_codes(rows: &[u8], row: usize, codes: &[u8]) -> Vec<u8> {
    let mut codes = codes.chunks_exact(ROW_CODE);
    let mut out = Vec::new();
    for row in rows.chunks_exact(row) {
        out.extend_from_slice(&row[..DOC_ENTRY]);
        out.extend_from_slice(codes.next().unwrap_or_default());
    }
    out
}

fn start_plan(documents: &[Document], start: &[MemoryId]) -> Vec<u8> {
    let mut out = Vec::new();
    for id in start {
        if let Ok(doc) = documents.binary_search_by_key(id, |document| document.entry.id) {
            out.extend_from_slice(&(doc as u32).to_le_bytes());
        }
    }
    if !out.is_empty() {
        let check = checksum(&out);
        out.extend_from_slice(&check.to_le_bytes());
    }
    out
}
