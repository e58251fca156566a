//! Vectors of a segment's documents, and the search for those nearest to a query's vector.
//!
//! Few vectors are compared one by one. If there are more, the sign codes are read first, which have an eighth of the
//! bytes. Then three steps compare fewer and fewer documents more and more precisely: code with code, the query's
//! vector with the codes that differ least, and vector with vector. Nothing is mapped into memory, because a page fault
//! costs ten times as much as reading a vector. Reads reuse a small buffer, because in a hook the first access to a
//! memory page costs more than filling the page from a file.

use super::format::{Cursor, DOC_ENTRY, SectionKind, is_believed};
use super::hub;
use super::listed::{ENTRY, SUM, in_group};
use super::segment::Segment;
use crate::bytes::kernel::{self, CODE, Code, FINE, Fine, FineWeights, KernelWeights, Sum};
use crate::embed::{DIMENSIONS, Encoder, Space, Vector};
use memory_store_base::error::{Error, Result};
use memory_store_base::settings::IndexSearch;

/// Number of bytes of the head.
pub(super) const HEAD: usize = 40;
/// Number of bytes of a document's vector with its metadata.
pub(super) const STRIDE: usize = DIMENSIONS + 16;
/// Number of bytes of the code that follows a passage's entry: the number of the encoder, the fine code and their
/// checksum.
pub(super) const ROW_CODE: usize = ENTRY + SUM;
/// A passage's code as stored.
pub(super) type RowCode = [u8; ROW_CODE];
/// Number of rows of passages (entries with codes) in one read.
const ROWS_AT_ONCE: u32 = 128;
/// Number of codes that one checksum covers.
pub(super) const CODES_GUARDED: usize = 8192;
/// Number of codes in one read.
const CODES_AT_ONCE: usize = 1024;
/// Number of vectors in one read if all are compared. In a hook, this many and the results for a thousand fit in the
/// memory that the index of the embedder's table used before, which is 28 kB.
const VECTORS_AT_ONCE: usize = 40;
/// Maximum number of vectors that are compared one by one. If there are more, it is faster to read only those with the
/// most similar codes.
const EXACT_MAX: u32 = 2500;
/// Minimum number of vectors from which on the graph is searched, unless another search is requested.
const GRAPH_MIN: u32 = 50_000;
/// Minimum percentage of vectors by the transformer from which on the graph is searched. The table's vectors are closer
/// together, so a graph of them finds less than a scan, which takes little more time. `scripts/bench index` compares
/// the two.
const GRAPH_TRANSFORMED_MIN: u64 = 75;
/// Number of codes that are compared with the query's vector, for each vector that is read.
const WEIGHED: usize = 5;

/// Cosine of a vector and the levels of its fine code, if the components are normally distributed. By this factor,
/// cosines of the code with other vectors are smaller than those of the vector.
const FINE_COSINE: f32 = 0.94;

/// Returns the number of vectors that are read to find the `count` nearest ones. `scripts/bench index` measures the
/// recall for this number.
fn rescored(count: usize) -> usize {
    count.saturating_add(64)
}

/// A vector with its space and encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Space of the vector.
    pub space: Space,
    /// Encoder of the vector.
    pub encoder: Encoder,
    /// The vector.
    pub vector: Vector,
}

/// A document with its similarity to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// Number of the document.
    pub doc: u32,
    /// Cosine of the angle between the vectors of document and query, -1 to 1.
    pub cosine: f32,
    /// Encoder of the document's vector.
    pub encoder: Encoder,
    /// Hub value: mean similarity of the document to its nearest neighbours, see [`super::hub`].
    pub hub: f32,
}

/// Description of a segment's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorHead {
    /// Space of the vectors.
    pub space: Space,
    /// Number of documents with a vector.
    pub count: u32,
    /// Number of vectors that the transformer computed.
    pub transformed: u32,
}

impl VectorHead {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD);
        out.extend_from_slice(&self.space.0);
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.transformed.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        let sum = kernel::sum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Returns whether a graph is the best search for this number and kind of vectors.
    fn is_for_graph(&self) -> bool {
        self.count >= GRAPH_MIN && self.is_transformed()
    }

    /// Returns whether the transformer computed enough of the vectors for a graph.
    pub fn is_transformed(&self) -> bool {
        let transformed = u64::from(self.transformed) * 100;
        transformed >= u64::from(self.count) * GRAPH_TRANSFORMED_MIN
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(guarded(bytes.get(..HEAD)?)?);
        let space = Space(cursor.array()?);
        Some(Self { space, count: cursor.u32()?, transformed: cursor.u32()? })
    }
}

/// A document's stored vector.
struct Item<'a> {
    encoder: Option<Encoder>,
    hub: f32,
    /// Dot product of the vector with itself.
    square: u32,
    components: &'a [u8; DIMENSIONS],
}

/// Appends the vector of a document in its stored form.
pub(super) fn put_item(out: &mut Vec<u8>, embedded: Option<&Embedded>, hub: u8) {
    let start = out.len();
    match embedded {
        Some(Embedded { encoder, vector, .. }) => {
            out.extend(vector.0.iter().map(|component| component.cast_unsigned()));
            out.extend_from_slice(&[*encoder as u8, hub, 0, 0]);
            let square = kernel::dot(&vector.0, &vector.0).cast_unsigned();
            out.extend_from_slice(&square.to_le_bytes());
        }
        None => out.resize(start + STRIDE - 8, 0),
    }
    let sum = kernel::sum(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

impl<'a> Item<'a> {
    /// Decodes an item; `None` if its checksum does not match.
    fn decode(bytes: &'a [u8]) -> Option<Self> {
        let bytes = guarded(bytes.get(..STRIDE)?)?;
        let (components, rest) = bytes.split_first_chunk()?;
        let mut cursor = Cursor(rest);
        let [encoder, hub, ..] = cursor.array::<4>()?;
        let (encoder, hub) = (Encoder::from_number(encoder), hub::of_byte(hub));
        Some(Self { encoder, hub, square: cursor.u32()?, components })
    }

    fn vector(&self) -> Vector {
        Vector(*kernel::components(self.components))
    }
}

/// Returns the bytes before the checksum at the end; `None` if the checksum does not match.
pub(super) fn guarded(bytes: &[u8]) -> Option<&[u8]> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    (kernel::sum(body) == u64::from_le_bytes(*sum) || is_believed()).then_some(body)
}

/// A query's vector with its length.
pub(super) struct QueryVector<'a> {
    vector: &'a Vector,
    length: f32,
}

impl<'a> QueryVector<'a> {
    pub(super) fn new(vector: &'a Vector) -> Self {
        Self { vector, length: (kernel::dot(&vector.0, &vector.0) as f32).sqrt() }
    }

    /// Returns the cosine of the query's vector with the vector that a fine code represents.
    pub(super) fn fine_cosine(&self, weights: &FineWeights, code: &[u8; FINE]) -> f32 {
        let lengths = self.length * (Fine::square(code) as f32).sqrt() * FINE_COSINE;
        let cosine = if lengths > 0.0 { weights.dot(code) as f32 / lengths } else { 0.0 };
        cosine.clamp(-1.0, 1.0)
    }

    fn near(&self, doc: u32, item: &Item<'_>) -> Option<Near> {
        let encoder = item.encoder?;
        let lengths = self.length * (item.square as f32).sqrt();
        let dot = kernel::dot(&self.vector.0, kernel::components(item.components)) as f32;
        let cosine = if lengths > 0.0 { dot / lengths } else { 0.0 };
        Some(Near { doc, cosine, encoder, hub: item.hub })
    }
}

impl Segment {
    /// Reads the description of the documents' vectors; `None` if there are no vectors.
    pub fn vector_head(&self) -> Result<Option<VectorHead>> {
        if let Some(head) = self.vector_head.get() {
            return Ok(Some(*head));
        }
        let section = self.length(SectionKind::VectorHead);
        if section == 0 {
            return Ok(None);
        }
        let docs = u64::from(self.docs());
        let head = (section == HEAD as u64)
            .then(|| self.read(SectionKind::VectorHead, 0, section))
            .transpose()?
            .and_then(|bytes| VectorHead::decode(&bytes))
            .filter(|head| head.transformed <= head.count && u64::from(head.count) <= docs)
            .filter(|_| {
                let has_vectors = self.length(SectionKind::Vectors) == docs * STRIDE as u64
                    && self.length(SectionKind::Codes) == codes_bytes(docs);
                self.has_fine_codes() || has_vectors
            });
        let head = head.ok_or_else(|| self.damaged("the head of the vectors makes no sense"))?;
        Ok(Some(*self.vector_head.get_or_init(|| head)))
    }

    /// Returns the space of the vectors; `None` if there are no vectors.
    pub(crate) fn space(&self) -> Result<Option<Space>> {
        Ok(self.vector_head()?.map(|head| head.space))
    }

    /// Returns whether the segment contains fine codes instead of vectors.
    pub(super) fn has_fine_codes(&self) -> bool {
        self.row() > DOC_ENTRY
    }

    /// Reads the fine code of a document, with the number of the encoder of its vector.
    fn fine_code(&self, doc: u32) -> Result<(u32, Fine)> {
        let kept = self.codes.borrow();
        let mut code = [0; ROW_CODE];
        match kept.binary_search_by_key(&doc, |(kept, _)| *kept) {
            Ok(place) => code = kept[place].1,
            Err(_) => {
                let offset = u64::from(doc) * self.row() as u64 + DOC_ENTRY as u64;
                self.read_into(SectionKind::Docs, offset, &mut code)?;
            }
        }
        let mut found = None;
        let whole = in_group(&code, &mut |encoder, code| found = Some((encoder, Fine(*code))));
        whole.and(found).ok_or_else(|| self.no_codes())
    }

    /// Returns the vector of a document, or the approximation that its fine code represents; `None` if it has no
    /// vector.
    pub fn vector(&self, doc: u32) -> Result<Option<Embedded>> {
        let Some(head) = self.vector_head()? else { return Ok(None) };
        if self.has_fine_codes() {
            let (encoder, code) = self.fine_code(doc)?;
            let embedded = |encoder| Embedded { space: head.space, encoder, vector: code.vector() };
            return Ok(coder(encoder).map(embedded));
        }
        let mut bytes = [0; STRIDE];
        self.read_items(doc, &mut bytes)?;
        let item = self.item(&bytes)?;
        let embedded = item.encoder.map(|encoder| Embedded {
            space: head.space,
            encoder,
            vector: item.vector(),
        });
        Ok(embedded)
    }

    /// Returns the documents whose vector was computed by the table. If the segment has vectors in another space or
    /// none, returns all documents.
    pub fn waiting(&self, space: Space) -> Result<Vec<u32>> {
        if self.space()? != Some(space) {
            return Ok((0..self.docs()).filter(|&doc| !self.is_dead(doc)).collect());
        }
        let mut waiting = Vec::new();
        let mut each = |doc, encoder| {
            if encoder == Some(Encoder::Static) && !self.is_dead(doc) {
                waiting.push(doc);
            }
        };
        if self.has_fine_codes() {
            self.each_fine_code(|doc, encoder, _| each(doc, encoder))?;
        } else {
            self.each_item(&mut |doc, item| each(doc, item.encoder))?;
        }
        Ok(waiting)
    }

    /// Returns the cosines of some documents; `None` for documents without a vector. The query's vector must be in the
    /// space [`Segment::space`].
    pub(crate) fn cosines(&self, query: &Vector, docs: &[u32]) -> Result<Vec<Option<Near>>> {
        if self.vector_head()?.is_none() {
            return Ok(vec![None; docs.len()]);
        }
        let query = QueryVector::new(query);
        let mut bytes = [0; STRIDE];
        if self.has_fine_codes() {
            let weights = FineWeights::of(query.vector);
            let near = |&doc: &u32| match self.is_dead(doc) {
                true => Ok(None),
                false => self.fine_near(&query, &weights, doc),
            };
            return docs.iter().map(near).collect();
        }
        let cosine = |&doc: &u32| {
            self.read_items(doc, &mut bytes)?;
            Ok(query.near(doc, &self.item(&bytes)?))
        };
        docs.iter().map(cosine).collect()
    }

    /// Compares a document with a query by its fine code. Returns `None` if the document has no vector.
    pub(super) fn fine_near(
        &self,
        query: &QueryVector<'_>,
        weights: &FineWeights,
        doc: u32,
    ) -> Result<Option<Near>> {
        let (encoder, Fine(code)) = self.fine_code(doc)?;
        let encoder = coder(encoder);
        let cosine = query.fine_cosine(weights, &code);
        Ok(encoder.map(|encoder| Near { doc, cosine, encoder, hub: 0.0 }))
    }

    /// Compares all documents with a query, in order, if no other search would be faster; otherwise returns `None`.
    /// Replaced documents are skipped. The query's vector must be in the space [`Segment::space`].
    pub(crate) fn nearness(
        &self,
        query: &Vector,
        search: IndexSearch,
    ) -> Result<Option<Vec<Near>>> {
        let by_graph = search == IndexSearch::Graph && self.has_graph();
        // Passages are numerous, and storing all similarities takes a hook longer than reading some vectors again.
        let few = self.docs() <= EXACT_MAX && !self.has_fine_codes();
        if by_graph || !few || self.vector_head()?.is_none() {
            return Ok(None);
        }
        self.nearness_of_all(query).map(Some)
    }

    /// Returns the `count` documents nearest to a query, nearest first; documents that are equally near are in document
    /// order. Replaced documents are skipped. The query's vector must be in the space [`Segment::space`].
    pub fn nearest(&self, query: &Vector, count: usize, search: IndexSearch) -> Result<Vec<Near>> {
        let Some(head) = self.vector_head()? else { return Ok(Vec::new()) };
        if head.count == 0 || count == 0 {
            return Ok(Vec::new());
        }
        if let Some(all) = self.nearness(query, search)? {
            return Ok(nearest(&all, count));
        }
        if self.has_fine_codes() {
            return match search == IndexSearch::Graph && self.has_graph() {
                // More than `count` nodes are not kept, because each code costs a read; `scripts/bench index` measures
                // the recall.
                true => Ok(nearest(&self.nearest_by_links(query, count)?, count)),
                false => self.nearest_by_fine_code(query, count),
            };
        }
        let by_graph = match search {
            IndexSearch::Auto => head.is_for_graph(),
            IndexSearch::Graph => true,
            IndexSearch::Scan => false,
        };
        let near = if by_graph && self.has_graph() {
            self.nearest_by_graph(query, count)?
        } else {
            self.nearest_by_code(query, count)?
        };
        Ok(nearest(&near, count))
    }

    /// Compares all vectors with a query.
    fn nearness_of_all(&self, query: &Vector) -> Result<Vec<Near>> {
        let mut near = Vec::with_capacity(self.docs() as usize);
        let query = QueryVector::new(query);
        self.each_item(&mut |doc, item| near.extend(query.near(doc, item)))?;
        near.retain(|near| !self.is_dead(near.doc));
        Ok(near)
    }

    /// Compares all fine codes with a query. Returns the `count` nearest documents.
    fn nearest_by_fine_code(&self, query: &Vector, count: usize) -> Result<Vec<Near>> {
        let (query, weights) = (QueryVector::new(query), FineWeights::of(query));
        let mut best = NearestSoFar::new(count, self.docs() as usize);
        self.each_fine_code(|doc, encoder, code| {
            let Some(encoder) = encoder else { return };
            let cosine = query.fine_cosine(&weights, code);
            if best.may_be(cosine) && !self.is_dead(doc) {
                // The hub values of passages are unknown.
                best.add(Near { doc, cosine, encoder, hub: 0.0 });
            }
        })?;
        Ok(best.sorted())
    }

    /// Compares the codes of all documents with a query, and then the vectors of those whose codes are most similar.
    fn nearest_by_code(&self, query: &Vector, count: usize) -> Result<Vec<Near>> {
        let (code, weights) = (Code::of(query), KernelWeights::of(query));
        let rescored = rescored(count);
        let mut least = Least::new(rescored.saturating_mul(WEIGHED));
        // There is room for the best documents so far, and for some more until the list is pruned.
        let room = rescored.saturating_mul(4).min(self.docs() as usize);
        let mut weighed: Vec<(i32, u32)> = Vec::with_capacity(room);
        let keep_best = |weighed: &mut Vec<(i32, u32)>| {
            if weighed.len() > rescored {
                weighed.select_nth_unstable(rescored);
                weighed.truncate(rescored);
            }
        };
        let mut differing = Vec::with_capacity(CODES_AT_ONCE);
        self.each_code(&mut |first, codes| {
            differing.clear();
            differing.extend(codes.iter().map(|other| kernel::differing(&code.0, other) as u16));
            let limit = least.limit(&differing);
            for ((doc, other), &differing) in (first..).zip(codes).zip(&differing) {
                if differing <= limit && !self.is_dead(doc) {
                    if weighed.len() == weighed.capacity() {
                        keep_best(&mut weighed);
                    }
                    weighed.push((-weights.dot(other), doc));
                }
            }
        })?;
        keep_best(&mut weighed);
        weighed.sort_unstable_by_key(|&(_, doc)| doc);
        let docs: Vec<u32> = weighed.into_iter().map(|(_, doc)| doc).collect();
        Ok(self.cosines(query, &docs)?.into_iter().flatten().collect())
    }

    /// Calls `each` with ranges of codes, each with the number of its first document. Damage is detected only at the
    /// end of a range, after its codes were passed to `each`.
    fn each_code(&self, each: &mut dyn FnMut(u32, &[[u8; CODE]])) -> Result<()> {
        let mut buffer = vec![0; CODES_AT_ONCE * CODE];
        let mut offset = 0;
        for first in (0..self.docs()).step_by(CODES_GUARDED) {
            let end = self.docs().min(first + CODES_GUARDED as u32);
            let mut sum = Sum::of((end - first) as usize * CODE);
            for first in (first..end).step_by(CODES_AT_ONCE) {
                let count = (end - first).min(CODES_AT_ONCE as u32);
                let codes = &mut buffer[..count as usize * CODE];
                self.read_into(SectionKind::Codes, offset, codes)?;
                offset += codes.len() as u64;
                sum.add(codes);
                each(first, codes.as_chunks().0);
            }
            let mut expected = [0; 8];
            self.read_into(SectionKind::Codes, offset, &mut expected)?;
            offset += 8;
            if sum.finish() != u64::from_le_bytes(expected) && !is_believed() {
                return Err(self.no_codes());
            }
        }
        Ok(())
    }

    /// Calls `each` with every document, the encoder of its vector, and its fine code.
    fn each_fine_code(
        &self,
        mut each: impl FnMut(u32, Option<Encoder>, &[u8; FINE]),
    ) -> Result<()> {
        let row = self.row();
        let mut buffer = vec![0; self.docs().min(ROWS_AT_ONCE) as usize * row];
        for first in (0..self.docs()).step_by(ROWS_AT_ONCE as usize) {
            let count = (self.docs() - first).min(ROWS_AT_ONCE) as usize;
            let rows = &mut buffer[..count * row];
            self.read_into(SectionKind::Docs, u64::from(first) * row as u64, rows)?;
            for (doc, row) in (first..).zip(rows.chunks_exact(row)) {
                let whole = in_group(&row[DOC_ENTRY..], &mut |encoder, code| {
                    each(doc, coder(encoder), code);
                });
                whole.ok_or_else(|| self.no_codes())?;
            }
        }
        Ok(())
    }

    fn no_codes(&self) -> Error {
        self.damaged("the sum of codes does not fit")
    }

    /// Calls `each` with every document and its stored vector.
    fn each_item(&self, each: &mut dyn FnMut(u32, &Item<'_>)) -> Result<()> {
        let mut buffer = Vec::new();
        for first in (0..self.docs()).step_by(VECTORS_AT_ONCE) {
            let count = (self.docs() - first).min(VECTORS_AT_ONCE as u32);
            buffer.resize(count as usize * STRIDE, 0);
            self.read_items(first, &mut buffer)?;
            for (doc, item) in (first..).zip(buffer.chunks_exact(STRIDE)) {
                each(doc, &self.item(item)?);
            }
        }
        Ok(())
    }

    /// Reads the stored vectors of a document and of those after it.
    fn read_items(&self, first: u32, bytes: &mut [u8]) -> Result<()> {
        self.read_into(SectionKind::Vectors, u64::from(first) * STRIDE as u64, bytes)
    }

    fn item<'a>(&self, bytes: &'a [u8]) -> Result<Item<'a>> {
        Item::decode(bytes).ok_or_else(|| self.damaged("the sum of a vector does not fit"))
    }
}

/// Returns the encoder with this number; `None` if there is none.
pub(super) fn coder(number: u32) -> Option<Encoder> {
    u8::try_from(number).ok().and_then(Encoder::from_number)
}

/// Returns the number of bytes of the section of codes.
fn codes_bytes(docs: u64) -> u64 {
    docs * CODE as u64 + docs.div_ceil(CODES_GUARDED as u64) * 8
}

/// Returns the `count` nearest documents of a list, nearest first; those that are equally near are in document order.
pub(crate) fn nearest(all: &[Near], count: usize) -> Vec<Near> {
    let mut best = NearestSoFar::new(count, all.len());
    for &near in all.iter() {
        if best.may_be(near.cosine) {
            best.add(near);
        }
    }
    best.sorted()
}

/// The nearest documents so far, and some more until the list is pruned.
pub(super) struct NearestSoFar {
    count: usize,
    room: usize,
    list: Vec<Near>,
    /// Minimum cosine of a further document.
    floor: f32,
}

impl NearestSoFar {
    /// Creates a list for the `count` nearest of `all` documents.
    pub(super) fn new(count: usize, all: usize) -> Self {
        let room = count.saturating_mul(4).min(all);
        Self { count, room, list: Vec::with_capacity(room), floor: f32::NEG_INFINITY }
    }

    /// Returns whether a document with this cosine may be one of the nearest.
    pub(super) fn may_be(&self, cosine: f32) -> bool {
        cosine >= self.floor
    }

    pub(super) fn add(&mut self, near: Near) {
        if self.list.len() == self.room {
            self.keep_best();
            self.floor = self.list.iter().map(|near| near.cosine).fold(f32::INFINITY, f32::min);
        }
        if self.may_be(near.cosine) {
            self.list.push(near);
        }
    }

    fn keep_best(&mut self) {
        if self.count < self.list.len() {
            self.list.select_nth_unstable_by(self.count, Self::order);
            self.list.truncate(self.count);
        }
    }

    fn order(a: &Near, b: &Near) -> std::cmp::Ordering {
        b.cosine.total_cmp(&a.cosine).then(a.doc.cmp(&b.doc))
    }

    /// Returns the nearest documents, nearest first; those that are equally near are in document order.
    pub(super) fn sorted(mut self) -> Vec<Near> {
        self.keep_best();
        self.list.sort_unstable_by(Self::order);
        self.list
    }
}

/// Upper limit of the number of differing bits of the nearest codes so far.
struct Least {
    count: usize,
    histogram: [usize; DIMENSIONS + 1],
}

impl Least {
    fn new(count: usize) -> Self {
        Self { count, histogram: [0; DIMENSIONS + 1] }
    }

    /// Adds further codes. Returns the number of differing bits that at least `count` of all codes do not exceed; this
    /// number never increases.
    fn limit(&mut self, differing: &[u16]) -> u16 {
        differing.iter().for_each(|&bits| self.histogram[usize::from(bits)] += 1);
        let mut seen = 0;
        let enough = self.histogram.iter().position(|&count| {
            seen += count;
            seen >= self.count
        });
        enough.unwrap_or(DIMENSIONS) as u16
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::document::Document;
    use super::super::manifest::Collection;
    use super::super::record::Record;
    use super::super::testing;
    use super::*;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    pub(crate) const SPACE: Space = Space([3; 16]);

    /// Returns a pseudo-random number between -0.5 and 0.5.
    fn noise(seed: u32, place: usize) -> f32 {
        let mut mixed = (u64::from(seed) << 20 | place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 31) >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }

    /// Returns a vector of a group of 25, which differs slightly from the others of its group.
    pub(crate) fn vector(number: u32) -> Vector {
        let component = |at| noise(number / 25, at) + 0.7 * noise(number | 1 << 20, at);
        Vector::of(&std::array::from_fn(component)).unwrap()
    }

    pub(crate) fn documents(vectors: impl Iterator<Item = Option<Vector>>) -> Vec<Document> {
        (0..)
            .zip(vectors)
            .map(|(number, vector)| {
                let id = MemoryId::new(Timestamp(number), [0; 10]);
                let record = Record::default();
                let encoder = Encoder::Static;
                let embedded = vector.map(|vector| Embedded { space: SPACE, encoder, vector });
                let document =
                    Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
                Document { vector: embedded, ..document }
            })
            .collect()
    }

    fn bytes(vectors: impl Iterator<Item = Option<Vector>>) -> (Vec<u8>, u32) {
        bytes_of(Collection::Memories, vectors)
    }

    fn bytes_of(
        collection: Collection,
        vectors: impl Iterator<Item = Option<Vector>>,
    ) -> (Vec<u8>, u32) {
        let documents = documents(vectors);
        let bytes = super::super::write::segment(
            collection,
            &documents,
            &[],
            Some(SPACE),
            super::super::freeze::Frozen::default(),
        );
        (bytes, documents.len() as u32)
    }

    pub(crate) fn open((bytes, docs): (Vec<u8>, u32), dead: &[u32]) -> Result<Segment> {
        testing::open(Collection::Memories, bytes, docs, dead)
    }

    pub(crate) fn exact(segment: &Segment, query: &Vector, count: usize) -> Vec<Near> {
        nearest(&segment.nearness_of_all(query).unwrap(), count)
    }

    #[test]
    fn many_vectors_that_the_transformer_made_are_for_a_graph() {
        let head = |count, transformed| VectorHead { space: SPACE, count, transformed };
        assert!(head(50_000, 37_500).is_for_graph());
        assert!(!head(50_000, 37_499).is_for_graph());
        assert!(!head(49_999, 49_999).is_for_graph());
        assert!(!head(u32::MAX, 0).is_for_graph());
    }

    #[test]
    fn codes_find_what_comparing_everything_finds() {
        // There are several blocks of codes; some documents have no vector, and some were replaced.
        let docs = CODES_GUARDED as u32 + 2500;
        let dead: Vec<u32> = (0..docs).step_by(50).collect();
        let vectors = (0..docs).map(|number| (number % 7 != 3).then(|| vector(number)));
        let segment = open(bytes(vectors), &dead).unwrap();
        let (mut found, mut all) = (0, 0);
        for number in (0..docs).step_by(911) {
            let query = vector(number);
            let (near, expected) = (
                segment.nearest(&query, 10, IndexSearch::Auto).unwrap(),
                exact(&segment, &query, 10),
            );
            all += expected.len();
            found += expected.iter().filter(|&one| near.contains(one)).count();
            assert!(near.iter().all(|near| near.doc % 50 != 0 && near.doc % 7 != 3));
        }
        assert!(found * 100 >= all * 99, "{found} of {all}");
    }

    fn open_passages(vectors: impl Iterator<Item = Option<Vector>>, dead: &[u32]) -> Segment {
        let (bytes, docs) = bytes_of(Collection::Passages, vectors);
        testing::open(Collection::Passages, bytes, docs, dead).unwrap()
    }

    #[test]
    fn fine_codes_of_passages_find_what_vectors_find() {
        let vectors = || (0..600).map(|number| (number % 7 != 3).then(|| vector(number)));
        let sound = open(bytes(vectors()), &[50]).unwrap();
        let segment = open_passages(vectors(), &[50]);
        let (mut found, mut all) = (0, 0);
        for number in (0..600).step_by(29) {
            let query = vector(number);
            let near = segment.nearest(&query, 10, IndexSearch::Auto).unwrap();
            let expected = exact(&sound, &query, 10);
            let is_found = |one: &&Near| near.iter().any(|near| near.doc == one.doc);
            all += expected.len();
            found += expected.iter().filter(is_found).count();
            let cosines = segment.cosines(&query, &[near[3].doc, 3, 50]).unwrap();
            assert_eq!(cosines, [Some(near[3]), None, None]);
            assert!((near[0].cosine - expected[0].cosine).abs() < 0.12);
        }
        assert!(found * 10 >= all * 8, "{found} of {all}");
        assert_eq!(segment.waiting(SPACE).unwrap().len(), 600 - 86 - 1);
        assert_eq!(segment.vector(3).unwrap(), None);
        let without = open_passages([None, None].into_iter(), &[]);
        assert_eq!(without.cosines(&vector(1), &[0, 1]).unwrap(), [None, None]);
    }

    /// Segments are merged again and again, so codes must not change further.
    #[test]
    fn what_fine_codes_keep_of_a_vector_is_kept_for_good() {
        let kept = |segment: &Segment| {
            let vector = |doc| segment.vector(doc).unwrap().map(|embedded| embedded.vector);
            (0..300).map(vector).collect::<Vec<_>>()
        };
        let once = kept(&open_passages((0..300).map(|number| Some(vector(number))), &[]));
        let again = kept(&open_passages(once.iter().copied(), &[]));
        assert!(once == again);
        for (number, kept) in (0..).zip(once) {
            assert!(kept.unwrap().cosine(&vector(number)) > 0.9, "{number}");
        }
    }

    #[test]
    fn equally_near_documents_keep_their_order() {
        let segment = open(bytes((0..3000).map(|_| Some(vector(1)))), &[]).unwrap();
        let docs: Vec<u32> = segment
            .nearest(&vector(1), 20, IndexSearch::Auto)
            .unwrap()
            .iter()
            .map(|near| near.doc)
            .collect();
        assert_eq!(docs, (0..20).collect::<Vec<u32>>());
    }

    proptest! {
        #[test]
        fn the_limit_lets_as_many_through_as_are_wanted(
            blocks in prop::collection::vec(prop::collection::vec(0u16..=256, 1..40), 1..5),
            count in 1usize..100,
        ) {
            let mut least = Least::new(count);
            let mut all = Vec::new();
            for block in blocks {
                let limit = least.limit(&block);
                all.extend(block);
                all.sort_unstable();
                prop_assert_eq!(limit, all.get(count - 1).copied().unwrap_or(256));
            }
        }

        #[test]
        fn a_changed_byte_is_noticed_or_harmless(
            kind in 0..3usize,
            at: prop::sample::Index,
            change in 1u8..,
        ) {
            const KINDS: [(Collection, u32); 3] =
                [(Collection::Memories, 20), (Collection::Memories, 3000), (Collection::Passages, 300)];
            static SOUND: std::sync::LazyLock<[(Vec<u8>, u32); 3]> = std::sync::LazyLock::new(|| {
                let vectors = |docs| (0..docs).map(|number| Some(vector(number)));
                KINDS.map(|(collection, docs)| bytes_of(collection, vectors(docs)))
            });
            let (bytes, docs) = SOUND[kind].clone();
            let query = vector(7);
            testing::notice_a_changed_byte(bytes, at, change, |bytes| {
                let segment = testing::open(KINDS[kind].0, bytes, docs, &[])?;
                let near = segment.nearest(&query, 5, IndexSearch::Auto)?;
                Ok((near, segment.cosines(&query, &[0])?, segment.vector(0)?))
            })?;
        }

        /// A matching checksum does not prove the origin of the data.
        #[test]
        fn any_numbers_with_sums_that_fit_are_survived(
            head in prop::collection::vec(any::<u8>(), HEAD - 8),
            mut item in prop::collection::vec(any::<u8>(), STRIDE - 8),
        ) {
            item[256] %= 4;
            let guard = |part: &[u8]| [part, &kernel::sum(part).to_le_bytes()].concat();
            let (head, item) = (guard(&head), guard(&item));
            prop_assert_eq!(&VectorHead::decode(&head).unwrap().space.0[..], &head[..16]);
            let query = vector(1);
            let near = QueryVector::new(&query).near(0, &Item::decode(&item).unwrap());
            prop_assert!(near.is_none_or(|near| near.cosine.is_finite()));
        }
    }
}
