//! Documents prepared for an index: the entry, record and terms of a memory or a passage.

use std::path::Path;

use super::format::{Cursor, put_bytes, put_varint};
use super::record::{
    Entry, FLAG_DRAFT, FLAG_HELD, FLAG_PATHS_ONLY, FLAG_PINNED, FLAG_SIGNATURES, FLAG_SUPERSEDED,
    Record,
};
use super::vectors::Embedded;
use crate::embed::{DIMENSIONS, Encoder, Space, Vector, Vectors};
use memory_store_base::fs::file_stamp::Stamp;
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::memory::{CONTRADICTS, CUES_MAX, Memory, SaidBy, Scope, Status};
use memory_store_base::text::{self, term_hash};
use memory_store_base::time::Timestamp;

/// Maximum number of bytes of a memory's text in an index; a hook prints less.
pub const MEMORY_BYTES_MAX: usize = 4 << 10;
/// Maximum number of bytes of a passage's text in an index. It is slightly more than the longest passage takes.
pub const PASSAGE_BYTES_MAX: usize = 4 << 10;
/// Maximum number of bytes of a cue in an index: `CUE_CHARS_MAX` characters of up to four bytes.
const CUE_BYTES_MAX: usize = 320;
/// Maximum number of terms of a document that are counted.
const TERMS_MAX: usize = 4096;

/// Field number of the vector in a journalled document.
const FIELD_VECTOR: u64 = 1;
/// Field number of the word pairs in a journalled document.
const FIELD_PAIRS: u64 = 2;
/// Number of bytes of the vector field: space, encoder, components.
const VECTOR_FIELD: usize = 16 + 1 + DIMENSIONS;

/// A document with everything that an index stores about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Fields for ranking. Offset, length and checksum are set when the document is written.
    pub entry: Entry,
    /// Fields for printing.
    pub record: Record,
    /// Frequency of each term, sorted by hash.
    pub terms: Vec<(u64, u32)>,
    /// Hashes of the document's word pairs, sorted and unique. Passages have none, because there would be too many.
    pub pairs: Vec<u32>,
    /// Vector of the document, if it was computed.
    pub vector: Option<Embedded>,
}

impl Document {
    /// Creates the document of a memory without its words, which is enough to compare the memory with an index.
    /// [`Document::read`] extracts the words, which takes longest. `file` has the form of [`Record::file`].
    pub fn memory(memory: &Memory, file: &Path, stamp: Stamp) -> Self {
        let record = Record {
            title: memory.title.clone(),
            text: cut(memory.body.trim(), MEMORY_BYTES_MAX),
            file: file.to_owned(),
            modified_ns: stamp.modified_ns,
            file_bytes: stamp.bytes,
            paths: memory.paths.iter().map(|path| path.path.clone()).collect(),
            tags: memory.tags.clone(),
            cues: memory.cues.iter().take(CUES_MAX).map(|cue| cut(cue, CUE_BYTES_MAX)).collect(),
            signatures: memory.signatures.clone(),
            created: memory.created,
            occurred: memory.occurred,
            valid_from: memory.valid_from,
            valid_until: memory.valid_until,
            scope: memory.scope,
            status: memory.status,
            said_by: memory.source.said_by,
            noted: memory.source.is_noted(),
            author: memory.author.clone(),
            superseded_by: memory.superseded_by,
            supersedes: memory.supersedes.clone(),
            session: memory.source.session.clone(),
            agent: memory.agent.clone(),
            topic: memory.topic.clone(),
            turn: 0,
            touched: Vec::new(),
            staleness: None,
            renewed: None,
            made_from: memory.made_from().collect(),
            from_repository: false,
            differs_from: memory
                .relations
                .iter()
                .filter(|link| link.kind == CONTRADICTS)
                .map(|link| link.to)
                .collect(),
        };
        let (confidence, pinned) = (memory.confidence, memory.pinned);
        Self::unread(memory.id, memory.kind, confidence, pinned, memory.when(), record)
    }

    /// Adds the effect of a memory's use: a change of its confidence, and the time of its last confirmation or use.
    pub fn renew(&mut self, confidence: f32, renewed: Option<Timestamp>) {
        self.entry.confidence = confidence_byte(self.entry.confidence() + confidence);
        self.record.renewed = renewed.filter(|at| *at > self.entry.when);
    }

    /// Returns the commands that a memory about a failure or a constraint names, to match prompts and command lines.
    pub(crate) fn commands(&self) -> Vec<String> {
        let is_kept = |kind: Kind| kind.is_of_failure() || kind.is_constraint();
        if !self.entry.kind_of().is_some_and(is_kept) {
            return Vec::new();
        }
        crate::signature::named_commands(&format!("{}\n{}", self.record.title, self.record.text))
    }

    /// Creates a memory from its record, with its words.
    #[cfg(test)]
    pub(crate) fn of_record(
        id: MemoryId,
        kind: Kind,
        confidence: f32,
        pinned: bool,
        when: Timestamp,
        record: Record,
    ) -> Self {
        let mut document = Self::unread(id, kind, confidence, pinned, when, record);
        document.read();
        document
    }

    fn unread(
        id: MemoryId,
        kind: Kind,
        confidence: f32,
        pinned: bool,
        when: Timestamp,
        record: Record,
    ) -> Self {
        let flags = [
            (FLAG_SUPERSEDED, record.superseded_by.is_some()),
            (FLAG_PINNED, pinned),
            (FLAG_DRAFT, record.status == Status::Held),
            (FLAG_SIGNATURES, !record.signatures.is_empty()),
            (FLAG_PATHS_ONLY, record.scope == Scope::Paths),
        ];
        let flags = flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag).sum();
        let entry = Entry {
            id,
            offset: 0,
            length: 0,
            checksum: 0,
            when,
            confidence: confidence_byte(confidence),
            kind: kind as u8,
            flags,
            before: 0,
            after: 0,
        };
        Self { entry, record, terms: Vec::new(), pairs: Vec::new(), vector: None }
    }

    /// Creates a passage without its words, which [`Document::read_terms`] extracts.
    pub fn passage(passage: &Passage) -> Self {
        let record = Record {
            title: passage.title.clone(),
            text: cut(&passage.text, PASSAGE_BYTES_MAX),
            created: passage.at,
            session: Some(passage.session.clone()),
            agent: passage.agent.clone(),
            turn: passage.turn,
            said_by: passage.said_by,
            paths: passage.paths.clone(),
            signatures: passage.errors.clone(),
            touched: passage.touched.clone(),
            ..Record::default()
        };
        let kind = if passage.is_cure { Kind::Fix } else { Kind::Session };
        Self::unread(passage.id(), kind, 0.0, false, passage.at, record)
    }

    /// Creates a passage as stored in an index, without its words.
    pub fn stored_passage(entry: &Entry, record: Record) -> Self {
        let kind = entry.kind_of().unwrap_or(Kind::Session);
        let mut document = Self::unread(entry.id, kind, 0.0, false, entry.when, record);
        document.entry.flags |= entry.flags & FLAG_HELD;
        document
    }

    /// Extracts a memory's terms and word pairs.
    pub fn read(&mut self) {
        self.read_terms();
        let mut pairs = text::pairs(&self.record.title);
        pairs.extend(text::pairs(&self.record.text));
        pairs.sort_unstable();
        pairs.dedup();
        pairs.truncate(TERMS_MAX);
        self.pairs = pairs;
    }

    /// Extracts the record's terms. A passage can be found only by these.
    pub fn read_terms(&mut self) {
        let record = &self.record;
        let mut terms = Terms::default();
        terms.add(&record.title);
        terms.add(&record.text);
        record.tags.iter().for_each(|tag| terms.add(tag));
        record.cues.iter().for_each(|cue| terms.add(cue));
        record.paths.iter().for_each(|path| terms.add(path));
        terms.add(&record.date().date());
        terms.add(record.author.as_deref().unwrap_or_default());
        self.terms = terms.counted();
    }

    /// Adds the best vector that is available without delay.
    pub(crate) fn embed(&mut self, vectors: &dyn Vectors) {
        let embedded = |(encoder, vector)| Embedded { space: vectors.space(), encoder, vector };
        self.vector = vectors.of(&self.record.embedding_text()).map(embedded);
    }

    /// Returns the number of the document's terms, with repetitions.
    pub(crate) fn length(&self) -> u32 {
        self.terms.iter().map(|&(_, count)| count).sum()
    }

    /// Returns how often the document contains a term.
    pub(crate) fn count(&self, term: u64) -> u32 {
        self.terms.binary_search_by_key(&term, |&(hash, _)| hash).map_or(0, |at| self.terms[at].1)
    }

    /// Appends the document in the format of a journal frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.entry.encode(out);
        let mut record = Vec::new();
        self.record.encode(&mut record);
        put_bytes(out, &record);
        put_varint(out, self.terms.len() as u64);
        for &(hash, count) in &self.terms {
            out.extend_from_slice(&hash.to_le_bytes());
            put_varint(out, u64::from(count));
        }
        if !self.pairs.is_empty() {
            put_varint(out, FIELD_PAIRS);
            put_bytes(
                out,
                &self.pairs.iter().flat_map(|pair| pair.to_le_bytes()).collect::<Vec<_>>(),
            );
        }
        if let Some(embedded) = &self.vector {
            let mut value = Vec::with_capacity(VECTOR_FIELD);
            value.extend_from_slice(&embedded.space.0);
            value.push(embedded.encoder as u8);
            value.extend(embedded.vector.0.iter().map(|component| component.cast_unsigned()));
            put_varint(out, FIELD_VECTOR);
            put_bytes(out, &value);
        }
    }

    /// Reads a field that was added after the first version. Fields of later versions are skipped.
    fn field(&mut self, field: u64, value: &[u8]) -> Option<()> {
        if field == FIELD_PAIRS {
            let pairs = value.as_chunks().0.iter().take(TERMS_MAX);
            self.pairs = pairs.map(|&pair| u32::from_le_bytes(pair)).collect();
            self.pairs.sort_unstable();
        }
        if field == FIELD_VECTOR {
            let mut cursor = Cursor(value);
            let space = Space(cursor.array()?);
            let encoder = Encoder::from_number(cursor.byte()?);
            let vector = Vector(cursor.array::<DIMENSIONS>()?.map(u8::cast_signed));
            self.vector = encoder.map(|encoder| Embedded { space, encoder, vector });
        }
        Some(())
    }

    /// Decodes a document; `None` if it is invalid.
    pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        let entry = Entry::decode(cursor.take(super::format::DOC_ENTRY)?)?;
        let record = Record::decode(cursor.bytes()?)?;
        let count = usize::try_from(cursor.varint()?).ok().filter(|&count| count <= TERMS_MAX)?;
        let terms = (0..count)
            .map(|_| Some((cursor.u64()?, u32::try_from(cursor.varint()?).ok()?)))
            .collect::<Option<_>>()?;
        let mut document = Self { entry, record, terms, pairs: Vec::new(), vector: None };
        while !cursor.is_empty() {
            let field = cursor.varint()?;
            document.field(field, cursor.bytes()?)?;
        }
        Some(document)
    }
}

/// A redacted passage of a session, for indexing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Id of the session.
    pub session: String,
    /// Id of the subagent, if any.
    pub agent: Option<String>,
    /// Number of the passage's turn in the session, counted from 0.
    pub turn: u32,
    /// Number of the passage in the turn, counted from 0.
    pub place: u16,
    /// Start time of the turn.
    pub at: Timestamp,
    /// Title of the session. Only the session's first passage has it, and only if the passage does not contain the same
    /// words.
    pub title: String,
    /// Text.
    pub text: String,
    /// True if the passage is a failure with its cure.
    pub is_cure: bool,
    /// Speaker.
    pub said_by: Option<SaidBy>,
    /// Files that the passage is about, relative to the working tree if they are inside.
    pub paths: Vec<String>,
    /// Signatures of the errors that the passage is about.
    pub errors: Vec<String>,
    /// Files that the passage's turn used, in the form of `paths`. Only the first passage of a turn has them.
    pub touched: Vec<String>,
}

/// Number of bytes of a passage's id that identify its session.
pub(crate) const SESSION_BYTES: usize = 10;

impl Passage {
    /// Returns the id of the passage in the index: 80 bits for the session, 32 for the turn and 16 for the place in the
    /// turn. Neighbouring passages are thus adjacent.
    pub fn id(&self) -> MemoryId {
        passage_id(session_bits(&self.session, self.agent.as_deref()), self.turn, self.place)
    }
}

/// Returns the id of a passage, given the bits of its session.
pub fn passage_id(session: [u8; SESSION_BYTES], turn: u32, place: u16) -> MemoryId {
    let mut id = [0; 16];
    id[..SESSION_BYTES].copy_from_slice(&session);
    id[SESSION_BYTES..14].copy_from_slice(&turn.to_be_bytes());
    id[14..].copy_from_slice(&place.to_be_bytes());
    MemoryId(id)
}

/// Returns the session's bits and the turn from a passage's id.
pub fn turn_in_id(id: MemoryId) -> ([u8; SESSION_BYTES], u32) {
    let [a, b, c, d, e, f, g, h, i, j, turn @ .., _, _] = id.0;
    ([a, b, c, d, e, f, g, h, i, j], u32::from_be_bytes(turn))
}

/// Returns the common prefix of the ids of all passages of a session or a subagent.
pub fn session_bits(session: &str, agent: Option<&str>) -> [u8; SESSION_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.as_bytes());
    hasher.update(&[0]);
    hasher.update(agent.unwrap_or_default().as_bytes());
    let mut bits = [0; SESSION_BYTES];
    bits.copy_from_slice(&hasher.finalize().as_bytes()[..SESSION_BYTES]);
    bits
}

fn cut(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}

/// Terms of a document while they are extracted.
#[derive(Default)]
struct Terms(Vec<u64>);

impl Terms {
    fn add(&mut self, text: &str) {
        text::each_term(text, &mut |term, _| {
            if self.0.len() < TERMS_MAX {
                self.0.push(term_hash(term));
            }
        });
    }

    fn counted(mut self) -> Vec<(u64, u32)> {
        self.0.sort_unstable();
        let mut counted: Vec<(u64, u32)> = Vec::new();
        for hash in self.0 {
            match counted.last_mut() {
                Some((last, count)) if *last == hash => *count += 1,
                _ => counted.push((hash, 1)),
            }
        }
        counted
    }
}

/// Returns the key of a memory's path in a path map: the key of its file name, or [`GLOB_KEY`] for a glob.
pub(crate) fn path_key(path: &str) -> u64 {
    if is_glob(path) { GLOB_KEY } else { name_key(path) }
}

/// Returns the key of a file in a path map, made from the last component of its path in lower case.
pub(crate) fn name_key(path: &str) -> u64 {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    term_hash(&name.to_lowercase())
}

/// Returns whether a memory's path is a glob. `[` does not count, because names of routes contain it, as in
/// `app/[id]/page.tsx`.
pub fn is_glob(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// Key of globs in a path map.
pub(crate) const GLOB_KEY: u64 = 1;
fn confidence_byte(confidence: f32) -> u8 {
    (confidence.clamp(0.0, 1.0) * 255.0).round() as u8
}
