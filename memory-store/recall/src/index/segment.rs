//! Reading of segments, which are immutable files of documents with their search structures. Nothing is used before its
//! checksum is verified, and only the parts that a query needs are read.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::path::{Path, PathBuf};

use super::format::checksum;
use super::format::{
    Cursor, DOC_ENTRY, DOCS_MAX, KINDS, MAJOR, SECTIONS_MAX, SEGMENT_HEADER, SEGMENT_MAGIC, SLOT,
    SectionKind, TABLE_ENTRY, check_major, damaged, fits,
};
use super::manifest::{Collection, SegmentRef};
use super::pages::EntryPage;
use super::record::{Entry, Record};
use super::vectors::{ROW_CODE, RowCode, VectorHead};
use memory_store_base::error::{At, Error, Result};
use memory_store_base::fs::disk::read_exact_at;
use memory_store_base::id::MemoryId;

/// Maximum size in bytes of a segment that is read completely: one read takes less time than many.
const WHOLE_BYTES_MAX: u64 = 48 * 1024;
/// Number of bytes of the first read of a larger segment: header and section table.
const HEAD_BYTES: usize = SEGMENT_HEADER + 16 * TABLE_ENTRY;
/// Number of bytes of entries in one read. The next needed entry is often among them, and reading a page of entries
/// takes hardly longer than reading one entry.
const ENTRIES_BYTES: usize = 4096;
/// Maximum number of unneeded entries between two needed ones in one read. Reading this many takes as long as another
/// read.
const ENTRIES_BETWEEN: u32 = 16;
/// Message for an entry with a wrong checksum.
const WRONG_ENTRY: &str = "an entry's checksum does not fit";
/// Number of entries in one read if only their ids are compared.
const IDS_AT_ONCE: u32 = 512;
/// Number of slots in one read. As at most half of the slots are used, most keys are found or missed in one read.
const SLOTS_AT_ONCE: u64 = 4;
/// Maximum number of slots that are searched for a key.
const PROBES_MAX: u64 = 256;
/// Number of bytes in one read when a whole file is hashed.
const VERIFY_BYTES: usize = 256 << 10;
/// Maximum number of bytes of a block.
pub(super) const BLOCK_BYTES_MAX: u32 = 64 << 20;

/// Place of a section in the file.
#[derive(Clone, Copy, Debug, Default)]
struct Section {
    offset: u64,
    length: u64,
}

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    source: SegmentBytes,
    docs: u32,
    terms: u64,
    bytes: u64,
    sections: [Section; KINDS],
    entries: RefCell<Entries>,
    pub(super) codes: RefCell<Vec<(u32, RowCode)>>,
    pub(super) page: RefCell<EntryPage>,
    pub(super) vector_head: OnceCell<VectorHead>,
    dead: Vec<u32>,
}

/// Cache of the entries that were read last.
#[derive(Debug, Default)]
struct Entries {
    first: u32,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum SegmentBytes {
    Whole(Vec<u8>),
    File(File),
}

/// Slot of a hashed map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Start of the slot's block in the section of blocks.
    pub(super) offset: u64,
    pub(super) length: u32,
    /// Number of items in the block.
    pub count: u32,
    pub(super) checksum: u32,
}

/// Encoded postings of a term in a segment.
#[derive(Debug)]
pub(crate) struct TermBlock<'a> {
    bytes: Cow<'a, [u8]>,
    count: u32,
    docs: u32,
}

impl TermBlock<'_> {
    /// Returns the number of documents that contain the term.
    pub(crate) fn docs(&self) -> usize {
        self.count as usize
    }

    /// Returns an iterator over the documents that contain the term.
    pub(crate) fn postings(&self) -> Postings<'_> {
        let mut postings =
            Postings { rest: Cursor(&self.bytes), left: self.count, doc: 0, docs: self.docs };
        postings.step();
        postings
    }
}

/// Iterator over the documents that contain a term, in ascending order.
#[derive(Debug)]
pub(crate) struct Postings<'a> {
    /// Bytes after the next document's number.
    rest: Cursor<'a>,
    /// Number of remaining documents.
    left: u32,
    /// The next document; [`u32::MAX`] if the list is invalid.
    doc: u32,
    docs: u32,
}

impl Postings<'_> {
    /// Calls `each` with the remaining documents below `end`, and the term's weight in each. Returns `None` if the list
    /// is invalid from there on.
    pub(crate) fn below(&mut self, end: u32, mut each: impl FnMut(u32, u8)) -> Option<()> {
        while self.left > 0 && self.doc < end {
            let impact = self.rest.byte()?;
            each(self.doc, impact);
            self.left -= 1;
            self.step();
        }
        (self.left == 0 || self.doc < self.docs).then_some(())
    }

    /// Reads the number of the next document.
    fn step(&mut self) {
        if self.left > 0 {
            let distance = self.rest.varint().and_then(|distance| u32::try_from(distance).ok());
            let doc = distance.and_then(|distance| self.doc.checked_add(distance));
            self.doc = doc.filter(|&doc| doc < self.docs).unwrap_or(u32::MAX);
        }
    }
}

impl Segment {
    /// Opens the segment that a manifest in `dir` names.
    pub fn open(dir: &Path, reference: &SegmentRef) -> Result<Self> {
        let path = reference.path(dir);
        let file = File::open(&path).at(&path)?;
        // The length of the file reveals a truncated file before it is used.
        if file.metadata().at(&path)?.len() != reference.bytes {
            return Err(damaged(&path, "the file has another length than the manifest says"));
        }
        let (source, head) = if reference.bytes <= WHOLE_BYTES_MAX {
            let mut bytes = vec![0; reference.bytes as usize];
            read_exact_at(&file, &mut bytes, 0).at(&path)?;
            (SegmentBytes::Whole(bytes), Vec::new())
        } else {
            let mut head = vec![0; HEAD_BYTES];
            read_exact_at(&file, &mut head, 0).at(&path)?;
            (SegmentBytes::File(file), head)
        };
        Self::from_source(path, source, &head, reference)
    }

    /// Opens the segment in a file, even if no manifest names it.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let file = File::open(path).at(path)?;
        let mut head = vec![0; SEGMENT_HEADER];
        read_exact_at(&file, &mut head, 0).at(path)?;
        let SegmentHeader { collection, bytes, docs, .. } = SegmentHeader::decode(path, &head)?;
        let collection = Collection::from_number(collection)
            .ok_or_else(|| damaged(path, "the header makes no sense"))?;
        let reference = SegmentRef { collection, generation: 0, bytes, docs, dead: Vec::new() };
        Self::from_source(path.to_owned(), SegmentBytes::File(file), &head, &reference)
    }

    #[cfg(test)]
    pub(super) fn from_bytes(path: &Path, bytes: Vec<u8>, reference: &SegmentRef) -> Result<Self> {
        Self::from_source(path.to_owned(), SegmentBytes::Whole(bytes), &[], reference)
    }

    fn from_source(
        path: PathBuf,
        source: SegmentBytes,
        head: &[u8],
        reference: &SegmentRef,
    ) -> Result<Self> {
        let head = match &source {
            SegmentBytes::Whole(bytes) => bytes,
            SegmentBytes::File(_) => head,
        };
        let header = SegmentHeader::decode(&path, head)?;
        let agrees = header.bytes == reference.bytes
            && header.docs == reference.docs
            && header.collection == reference.collection as u8;
        if !agrees {
            return Err(damaged(&path, "the segment is not the one the manifest names"));
        }
        let table_end = SEGMENT_HEADER + header.sections as usize * TABLE_ENTRY;
        let table = match (&source, head.get(SEGMENT_HEADER..table_end)) {
            (_, Some(table)) => Cow::Borrowed(table),
            (SegmentBytes::File(file), None) => {
                let mut table = vec![0; table_end - SEGMENT_HEADER];
                read_exact_at(file, &mut table, SEGMENT_HEADER as u64).at(&path)?;
                Cow::Owned(table)
            }
            (SegmentBytes::Whole(_), None) => {
                return Err(damaged(&path, "the section table is cut off"));
            }
        };
        if !fits(&table, header.table_checksum) {
            return Err(damaged(&path, "the section table's checksum does not fit"));
        }
        let sections = sections(&table, header.bytes)
            .ok_or_else(|| damaged(&path, "the section table makes no sense"))?;
        Ok(Self {
            path,
            source,
            docs: header.docs,
            terms: header.terms,
            bytes: header.bytes,
            sections,
            entries: RefCell::default(),
            codes: RefCell::default(),
            page: RefCell::default(),
            vector_head: OnceCell::new(),
            dead: reference.dead.clone(),
        })
    }

    /// Returns the number of documents in the segment.
    pub fn docs(&self) -> u32 {
        self.docs
    }

    /// Returns the number of terms of all documents, with repetitions.
    pub(super) fn terms(&self) -> u64 {
        self.terms
    }

    /// Returns the mean number of terms of a document.
    pub(crate) fn average_length(&self) -> f32 {
        if self.docs == 0 { 0.0 } else { self.terms as f32 / self.docs as f32 }
    }

    /// Returns the number of documents that later segments replaced.
    pub(crate) fn dead(&self) -> usize {
        self.dead.len()
    }

    /// Returns whether a later segment replaced a document.
    pub fn is_dead(&self, doc: u32) -> bool {
        self.dead.binary_search(&doc).is_ok()
    }

    /// Reads the entry of a document. For neighbouring documents, this is fastest in ascending order.
    pub fn entry(&self, doc: u32) -> Result<Entry> {
        let at_once = (ENTRIES_BYTES / self.row()) as u32;
        let first = doc / at_once * at_once;
        let mut read = self.entries.borrow_mut();
        if read.bytes.is_empty() || read.first != first {
            let count = self.docs.saturating_sub(first).min(at_once) as usize;
            read.bytes.resize(count * self.row(), 0);
            read.first = first;
            let offset = u64::from(first) * self.row() as u64;
            let filled = self.read_into(SectionKind::Docs, offset, &mut read.bytes);
            if let Err(error) = filled {
                read.bytes.clear();
                return Err(error);
            }
        }
        let entry = read.bytes.get((doc - first) as usize * self.row()..).and_then(Entry::decode);
        entry.ok_or_else(|| self.damaged(WRONG_ENTRY))
    }

    /// Reads the entries of documents, which are in ascending order. Near entries are read together, but no others,
    /// because in a large segment few are near. Their codes are kept, because they are compared next.
    pub(crate) fn entries(&self, docs: &[u32]) -> Result<Vec<Entry>> {
        let (mut entries, mut bytes) = (Vec::with_capacity(docs.len()), Vec::new());
        let (row, mut codes) = (self.row(), self.codes.borrow_mut());
        codes.clear();
        for near in docs.chunk_by(|a, b| b - a <= ENTRIES_BETWEEN) {
            let (first, last) = (near[0], near[near.len() - 1]);
            bytes.resize((last - first + 1) as usize * row, 0);
            self.read_into(SectionKind::Docs, u64::from(first) * row as u64, &mut bytes)?;
            for &doc in near {
                let (entry, code) =
                    bytes[(doc - first) as usize * row..][..row].split_at(DOC_ENTRY);
                entries.push(Entry::decode(entry).ok_or_else(|| self.damaged(WRONG_ENTRY))?);
                codes.extend(code.first_chunk().map(|code| (doc, *code)));
            }
        }
        Ok(entries)
    }

    /// Returns the number of bytes of a row in the table of documents: an entry, and for passages with vectors a code.
    pub(super) fn row(&self) -> usize {
        let coded = DOC_ENTRY + ROW_CODE;
        let is_coded = self.length(SectionKind::Docs) == u64::from(self.docs) * coded as u64;
        if is_coded && self.docs > 0 { coded } else { DOC_ENTRY }
    }

    /// Returns the document with this id; `None` if there is none. Documents are sorted by id.
    pub fn find(&self, id: MemoryId) -> Result<Option<(u32, Entry)>> {
        let doc = self.first_from(id)?;
        if doc == self.docs {
            return Ok(None);
        }
        let entry = self.entry(doc)?;
        Ok((entry.id == id).then_some((doc, entry)))
    }

    /// Returns the first document with this id or a higher one, or the number of documents if there is none.
    pub fn first_from(&self, id: MemoryId) -> Result<u32> {
        let (mut low, mut high) = (0, self.docs);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle)?.id < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Returns the documents whose ids have these bits under `mask`. The checksums of their entries are not verified;
    /// this happens when the caller reads the few entries that it needs.
    pub(crate) fn docs_of_ids(&self, bits: u128, mask: u128) -> Result<Vec<u32>> {
        let mut docs = Vec::new();
        let row = self.row();
        let mut bytes = vec![0; self.docs.min(IDS_AT_ONCE) as usize * row];
        for first in (0..self.docs).step_by(IDS_AT_ONCE as usize) {
            let count = (self.docs - first).min(IDS_AT_ONCE) as usize;
            let bytes = &mut bytes[..count * row];
            self.read_into(SectionKind::Docs, u64::from(first) * row as u64, bytes)?;
            let entries = (first..).zip(bytes.chunks_exact(row));
            docs.extend(entries.filter_map(|(doc, entry)| {
                let id = u128::from_be_bytes(*entry.first_chunk()?);
                (id & mask == bits).then_some(doc)
            }));
        }
        Ok(docs)
    }

    /// Reads the record of an entry.
    pub fn record(&self, entry: &Entry) -> Result<Record> {
        self.record_with(entry, Record::decode)
    }

    /// Reads only the file path, file stamp and origin of a record.
    pub(crate) fn record_file(&self, entry: &Entry) -> Result<Record> {
        self.record_with(entry, Record::decode_file)
    }

    fn record_with(&self, entry: &Entry, decode: fn(&[u8]) -> Option<Record>) -> Result<Record> {
        let bytes = match self.length(SectionKind::RecordPages) {
            0 => self.read(SectionKind::Records, entry.offset, u64::from(entry.length))?,
            _ => self.inflated(entry)?.into(),
        };
        if !fits(&bytes, entry.checksum) {
            return Err(self.damaged("a record's checksum does not fit"));
        }
        decode(&bytes).ok_or_else(|| self.damaged("a record makes no sense"))
    }

    /// Looks up a term; `None` if the segment lacks the term.
    pub(crate) fn term(&self, hash: u64) -> Result<Option<Slot>> {
        match self.length(SectionKind::TermBuckets) {
            0 => self.slot(SectionKind::TermSlots, hash),
            _ => self.in_bucket(hash),
        }
    }

    /// Reads the postings of a term.
    pub(crate) fn term_block(&self, slot: &Slot) -> Result<TermBlock<'_>> {
        let bytes = self.block(SectionKind::TermBlocks, slot)?;
        Ok(TermBlock { bytes, count: slot.count, docs: self.docs })
    }

    /// Calls `each` with every document that contains the term, in order, and the term's weight in that document.
    pub(crate) fn postings(&self, slot: &Slot, each: impl FnMut(u32, u8)) -> Result<()> {
        self.term_block(slot)?.postings().below(self.docs, each).ok_or_else(|| self.no_postings())
    }

    /// Returns the error for an invalid list of postings, which [`Postings::below`] detects.
    pub(crate) fn no_postings(&self) -> Error {
        self.damaged("a list of postings makes no sense")
    }

    /// Calls `each` with every document about a file with this name, and the path that the document contains. `key` is
    /// made by [`super::document::path_key`].
    pub(crate) fn paths(&self, key: u64, mut each: impl FnMut(u32, &str)) -> Result<()> {
        let Some(slot) = self.slot(SectionKind::PathSlots, key)? else { return Ok(()) };
        let block = self.block(SectionKind::PathBlocks, &slot)?;
        let mut cursor = Cursor(&block);
        let mut doc = 0;
        for _ in 0..slot.count {
            let next = self.next_doc(&mut cursor, &mut doc);
            let path = cursor.bytes().and_then(|path| str::from_utf8(path).ok());
            let (Some(doc), Some(path)) = (next, path) else {
                return Err(self.damaged("a list of paths makes no sense"));
            };
            each(doc, path);
        }
        Ok(())
    }

    /// Calls `each` with every document that has the error signature with this hash.
    pub(crate) fn errors(&self, signature: u64, mut each: impl FnMut(u32)) -> Result<()> {
        let Some(slot) = self.slot(SectionKind::ErrorSlots, signature)? else { return Ok(()) };
        let block = self.block(SectionKind::ErrorBlocks, &slot)?;
        let mut cursor = Cursor(&block);
        let mut doc = 0;
        for _ in 0..slot.count {
            let next = self.next_doc(&mut cursor, &mut doc);
            each(next.ok_or_else(|| self.damaged("a list of errors makes no sense"))?);
        }
        Ok(())
    }

    /// Returns the documents of the session-start block, in order.
    pub(crate) fn start(&self) -> Result<Vec<u32>> {
        let section = self.section(SectionKind::Start);
        if section.length == 0 {
            return Ok(Vec::new());
        }
        let bytes = self.read(SectionKind::Start, 0, section.length)?;
        let cut = || self.damaged("the start plan's checksum does not fit");
        let (body, check) = bytes.split_last_chunk::<4>().ok_or_else(cut)?;
        if !fits(body, u32::from_le_bytes(*check)) {
            return Err(cut());
        }
        let docs = body.chunks_exact(4).filter_map(|doc| Cursor(doc).u32());
        Ok(docs.filter(|&doc| doc < self.docs).collect())
    }

    /// Compares the whole file with the hash in its header. This takes too long for hooks.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn verify(&self) -> Result<()> {
        let mut head = [0; SEGMENT_HEADER];
        let mut hasher = blake3::Hasher::new();
        let length = match &self.source {
            SegmentBytes::Whole(bytes) => {
                let (start, body) = bytes
                    .split_first_chunk()
                    .ok_or_else(|| self.damaged("the segment's header is cut off"))?;
                head = *start;
                hasher.update(body);
                bytes.len() as u64
            }
            SegmentBytes::File(file) => {
                read_exact_at(file, &mut head, 0).at(&self.path)?;
                let mut piece = vec![0; VERIFY_BYTES];
                let mut at = SEGMENT_HEADER as u64;
                while at < self.bytes {
                    let length = (self.bytes - at).min(VERIFY_BYTES as u64) as usize;
                    read_exact_at(file, &mut piece[..length], at).at(&self.path)?;
                    hasher.update(&piece[..length]);
                    at += length as u64;
                }
                at
            }
        };
        let header = SegmentHeader::decode(&self.path, &head)?;
        let fits = length == header.bytes && hasher.finalize().as_bytes()[..16] == header.hash;
        if fits { Ok(()) } else { Err(self.damaged("the file's hash does not fit")) }
    }

    /// Adds an increment to the number of the last document. Returns `None` if the result is outside the segment.
    fn next_doc(&self, cursor: &mut Cursor<'_>, doc: &mut u32) -> Option<u32> {
        let delta = u32::try_from(cursor.varint()?).ok()?;
        *doc = doc.checked_add(delta).filter(|&doc| doc < self.docs)?;
        Some(*doc)
    }

    fn slot(&self, kind: SectionKind, key: u64) -> Result<Option<Slot>> {
        let slots = self.section(kind).length / SLOT as u64;
        if slots == 0 {
            return Ok(None);
        }
        if !slots.is_power_of_two() {
            return Err(self.damaged("a hashed map has a wrong size"));
        }
        let mut at = key & (slots - 1);
        let mut probed = 0;
        while probed < slots.min(PROBES_MAX) {
            let count = SLOTS_AT_ONCE.min(slots - at);
            let bytes = self.read(kind, at * SLOT as u64, count * SLOT as u64)?;
            for slot in bytes.chunks_exact(SLOT) {
                match self.decode_slot(slot)? {
                    None => return Ok(None),
                    Some((hash, slot)) if hash == key => return Ok(Some(slot)),
                    Some(_) => {}
                }
            }
            probed += count;
            at = (at + count) & (slots - 1);
        }
        Ok(None)
    }

    fn decode_slot(&self, bytes: &[u8]) -> Result<Option<(u64, Slot)>> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let mut cursor = Cursor(bytes);
        let decoded = (|| {
            let hash = cursor.u64()?;
            let offset = cursor.u64()?;
            let (length, count) = (cursor.u32()?, cursor.u32()?);
            let slot = Slot { offset, length, count, checksum: cursor.u32()? };
            fits(&bytes[..SLOT - 4], cursor.u32()?).then_some((hash, slot))
        })();
        match decoded {
            // Each item has at least one byte. This is checked because readers allocate memory for the counted number
            // of items.
            Some((_, slot)) if slot.count > slot.length => {
                Err(self.damaged("a slot counts more items than its block has bytes"))
            }
            Some(found) => Ok(Some(found)),
            None => Err(self.damaged("a slot's checksum does not fit")),
        }
    }

    fn block(&self, kind: SectionKind, slot: &Slot) -> Result<Cow<'_, [u8]>> {
        if slot.length > BLOCK_BYTES_MAX {
            return Err(self.damaged("a block is too long"));
        }
        let block = self.read(kind, slot.offset, u64::from(slot.length))?;
        if fits(&block, slot.checksum) {
            Ok(block)
        } else {
            Err(self.damaged("a block's checksum does not fit"))
        }
    }

    /// Returns the byte range of the graph of passages in the file.
    #[cfg(test)]
    pub(crate) fn place_of_links(&self) -> std::ops::Range<usize> {
        let Section { offset, length } = self.section(SectionKind::Links);
        offset as usize..(offset + length) as usize
    }

    fn section(&self, kind: SectionKind) -> Section {
        self.sections[kind as usize]
    }

    /// Returns the number of bytes of a section; 0 if there is none.
    pub(super) fn length(&self, kind: SectionKind) -> u64 {
        self.section(kind).length
    }

    /// Reads a part of a section.
    pub(super) fn read(
        &self,
        kind: SectionKind,
        offset: u64,
        length: u64,
    ) -> Result<Cow<'_, [u8]>> {
        let start = self.place(kind, offset, length)?;
        match &self.source {
            SegmentBytes::Whole(bytes) => bytes
                .get(start as usize..(start + length) as usize)
                .map(Cow::Borrowed)
                .ok_or_else(|| self.damaged("the file is cut off")),
            SegmentBytes::File(file) => {
                let mut bytes = vec![0; length as usize];
                read_exact_at(file, &mut bytes, start).at(&self.path)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Reads a part of a section into a reused buffer.
    pub(super) fn read_into(
        &self,
        kind: SectionKind,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<()> {
        let start = self.place(kind, offset, buffer.len() as u64)?;
        match &self.source {
            SegmentBytes::Whole(bytes) => {
                let part = bytes.get(start as usize..start as usize + buffer.len());
                buffer.copy_from_slice(part.ok_or_else(|| self.damaged("the file is cut off"))?);
                Ok(())
            }
            SegmentBytes::File(file) => read_exact_at(file, buffer, start).at(&self.path),
        }
    }

    /// Returns the offset in the file of a part of a section.
    fn place(&self, kind: SectionKind, offset: u64, length: u64) -> Result<u64> {
        let section = self.section(kind);
        match offset.checked_add(length).filter(|&end| end <= section.length) {
            Some(_) => Ok(section.offset + offset),
            None => Err(self.damaged("something points outside its section")),
        }
    }

    pub(super) fn damaged(&self, message: &str) -> Error {
        damaged(&self.path, message)
    }
}

/// A segment's header.
pub(super) struct SegmentHeader {
    pub collection: u8,
    pub bytes: u64,
    pub docs: u32,
    pub sections: u32,
    pub terms: u64,
    pub hash: [u8; 16],
    pub table_checksum: u32,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut out = Vec::with_capacity(SEGMENT_HEADER);
        out.extend_from_slice(&SEGMENT_MAGIC);
        out.extend_from_slice(&MAJOR.to_le_bytes());
        out.extend_from_slice(&super::format::MINOR.to_le_bytes());
        out.extend_from_slice(&[self.collection, 0, 0, 0]);
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(&self.docs.to_le_bytes());
        out.extend_from_slice(&self.sections.to_le_bytes());
        out.extend_from_slice(&self.terms.to_le_bytes());
        out.extend_from_slice(&self.hash);
        out.extend_from_slice(&self.table_checksum.to_le_bytes());
        let check = checksum(&out);
        out.extend_from_slice(&check.to_le_bytes());
        let mut header = [0; SEGMENT_HEADER];
        header.copy_from_slice(&out);
        header
    }

    fn decode(path: &Path, bytes: &[u8]) -> Result<Self> {
        let header = bytes
            .get(..SEGMENT_HEADER)
            .ok_or_else(|| damaged(path, "the segment's header is cut off"))?;
        let mut cursor = Cursor(header);
        if cursor.array() != Some(SEGMENT_MAGIC) {
            return Err(damaged(path, "this is no segment"));
        }
        let major = cursor.u16().unwrap_or(0);
        check_major(path, major)?;
        let check = Cursor(&header[SEGMENT_HEADER - 4..]).u32();
        if !check.is_some_and(|check| fits(&header[..SEGMENT_HEADER - 4], check)) {
            return Err(damaged(path, "the header's checksum does not fit"));
        }
        Self::fields(cursor).ok_or_else(|| damaged(path, "the header makes no sense"))
    }

    fn fields(mut cursor: Cursor<'_>) -> Option<Self> {
        let _minor = cursor.u16()?;
        let [collection, ..] = cursor.array::<4>()?;
        Some(Self {
            collection,
            bytes: cursor.u64()?,
            docs: cursor.u32().filter(|&docs| docs <= DOCS_MAX)?,
            sections: cursor.u32().filter(|&count| count as usize <= SECTIONS_MAX)?,
            terms: cursor.u64()?,
            hash: cursor.array()?,
            table_checksum: cursor.u32()?,
        })
    }
}

/// Decodes the section table; `None` if it is invalid. Kinds of later versions are skipped.
fn sections(table: &[u8], file_bytes: u64) -> Option<[Section; KINDS]> {
    let mut sections = [Section::default(); KINDS];
    for entry in table.chunks_exact(TABLE_ENTRY) {
        let mut cursor = Cursor(entry);
        let (kind, _reserved) = (cursor.u32()?, cursor.u32()?);
        let section = Section { offset: cursor.u64()?, length: cursor.u64()? };
        section.offset.checked_add(section.length).filter(|&end| end <= file_bytes)?;
        if let Some(known) = sections.get_mut(kind as usize) {
            *known = section;
        }
    }
    Some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::document::{Document, path_key};
    use crate::index::record::Record;
    use crate::index::testing;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    /// Test data in `fuzz/corpus/index/items`, for which readers allocated memory for as many postings as a slot
    /// counted.
    #[test]
    fn a_slot_counts_no_more_items_than_its_block_can_hold() {
        const LENGTH_AT: usize = 16;
        const COUNT_AT: usize = 20;
        let record = Record { title: "anchor".into(), ..Record::default() };
        let id = MemoryId::new(Timestamp(1), [0; 10]);
        let document = Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
        let sound = testing::segment_bytes(&[document]);
        let open = |bytes| testing::open(Collection::Memories, bytes, 1, &[]).unwrap();
        let section = open(sound.clone()).section(SectionKind::TermSlots);
        let slots = (section.offset as usize..).step_by(SLOT);
        let is_used = |at: &usize| sound[*at..*at + SLOT].iter().any(|&byte| byte != 0);
        let at = slots.take(section.length as usize / SLOT).find(is_used).unwrap();
        let hash = Cursor(&sound[at..]).u64().unwrap();
        let length = Cursor(&sound[at + LENGTH_AT..]).u32().unwrap();
        assert!(open(sound.clone()).term(hash).unwrap().is_some());
        for count in [length + 1, u32::MAX] {
            let mut bytes = sound.clone();
            bytes[at + COUNT_AT..at + COUNT_AT + 4].copy_from_slice(&count.to_le_bytes());
            let sum = checksum(&bytes[at..at + SLOT - 4]);
            bytes[at + SLOT - 4..at + SLOT].copy_from_slice(&sum.to_le_bytes());
            let error = open(bytes).term(hash).unwrap_err().to_string();
            assert!(error.contains("more items"), "{error}");
        }
    }

    /// Builds until 1.4 wrote sections 32 and 33, which are no longer read.
    #[test]
    fn sections_of_unknown_kinds_are_skipped() {
        const KIND_BYTES: usize = 4;
        let record =
            Record { title: "anchor".into(), paths: vec!["a.rs".into()], ..Record::default() };
        let id = MemoryId::new(Timestamp(1), [0; 10]);
        let document = Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
        let mut bytes = testing::segment_bytes(std::slice::from_ref(&document));
        let hash = document.terms[0].0;
        let mut header = SegmentHeader::decode(Path::new("test.seg"), &bytes).unwrap();
        let table = SEGMENT_HEADER..SEGMENT_HEADER + header.sections as usize * TABLE_ENTRY;
        let renamed = [(SectionKind::PathSlots, 32), (SectionKind::PathBlocks, u32::MAX)];
        for (kind, unknown) in renamed {
            let mut entries = bytes[table.clone()].chunks_exact_mut(TABLE_ENTRY);
            let is_it = |entry: &&mut [u8]| Cursor(entry).u32() == Some(kind as u32);
            let entry = entries.find(is_it).unwrap();
            entry[..KIND_BYTES].copy_from_slice(&u32::to_le_bytes(unknown));
        }
        header.table_checksum = checksum(&bytes[table]);
        bytes[..SEGMENT_HEADER].copy_from_slice(&header.encode());
        let segment = testing::open(Collection::Memories, bytes, 1, &[]).unwrap();
        assert!(segment.term(hash).unwrap().is_some());
        let mut paths = 0;
        segment.paths(path_key("a.rs"), |_, _| paths += 1).unwrap();
        assert_eq!(paths, 0);
    }
}
