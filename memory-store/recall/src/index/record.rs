//! Parts of an indexed document: an entry of fixed size for ranking, and a packed record for printing. A record is a
//! list of tagged fields, so that later versions can add fields.

use std::cmp::Ordering;
use std::path::PathBuf;

use super::format::{Cursor, DOC_ENTRY, checksum, fits, put_bytes, put_varint};
use crate::rank::staleness::Staleness;
use memory_store_base::fs::dir::path_of_bytes;
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::memory::{CUES_MAX, SaidBy, Scope, Status};
use memory_store_base::time::Timestamp;

/// Maximum number of values of a repeated field in a record.
pub const REPEATED_MAX: usize = 64;

/// The memory is superseded.
pub const FLAG_SUPERSEDED: u8 = 1;
/// A person pinned the memory.
pub(crate) const FLAG_PINNED: u8 = 2;
/// The memory is pending.
pub const FLAG_DRAFT: u8 = 4;
/// The memory has error signatures.
pub(crate) const FLAG_SIGNATURES: u8 = 8;
/// The memory applies only to certain paths.
pub(crate) const FLAG_PATHS_ONLY: u8 = 16;

/// The memory is in CLAUDE.md, which Claude Code adds to every session.
pub const FLAG_SAID: u8 = 32;
/// The memory is in quarantine, so it is returned only on explicit request.
pub const FLAG_HELD: u8 = 64;
/// The memory is stale.
pub const FLAG_STALE: u8 = 128;

/// Maximum value of an entry's `before` and `after` counts.
pub(crate) const BESIDE_MAX: u8 = 15;

/// Fields of a document for ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// For a memory its id; for a passage the session's hash, the turn's number and the passage's number in the turn.
    pub id: MemoryId,
    /// Start of the record in its section, in bytes.
    pub offset: u64,
    /// Length of the record in bytes.
    pub length: u32,
    /// Checksum of the record.
    pub checksum: u32,
    /// Time of the event or of its last confirmation.
    pub when: Timestamp,
    /// Confidence, 0 to 255.
    pub confidence: u8,
    /// Number of the kind.
    pub kind: u8,
    /// Flags; see the `FLAG_` constants.
    pub flags: u8,
    /// Number of documents of the same session that directly precede this one in the segment, at most [`BESIDE_MAX`].
    pub before: u8,
    /// Number of documents of the same session that directly follow this one, at most [`BESIDE_MAX`].
    pub after: u8,
}

impl Entry {
    /// Returns the kind of the memory; `None` for kinds of later versions.
    pub(crate) fn kind_of(&self) -> Option<Kind> {
        Kind::ALL.get(usize::from(self.kind)).copied()
    }

    /// Returns the confidence, 0 to 1.
    pub(crate) fn confidence(&self) -> f32 {
        f32::from(self.confidence) / 255.0
    }

    /// Returns whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Appends the bytes of the entry.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out.extend_from_slice(&self.when.0.to_le_bytes());
        out.extend_from_slice(&[
            self.confidence,
            self.kind,
            self.flags,
            self.after << 4 | self.before,
        ]);
        let check = checksum(&out[start..]);
        out.extend_from_slice(&check.to_le_bytes());
    }

    /// Decodes an entry; `None` if its checksum does not match.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(bytes.get(..DOC_ENTRY)?);
        let id = MemoryId(cursor.array()?);
        let offset = cursor.u64()?;
        let (length, record_checksum) = (cursor.u32()?, cursor.u32()?);
        let when = Timestamp(cursor.i64()?);
        let [confidence, kind, flags, beside] = cursor.array()?;
        let check = cursor.u32()?;
        fits(&bytes[..DOC_ENTRY - 4], check).then_some(Self {
            id,
            offset,
            length,
            checksum: record_checksum,
            when,
            confidence,
            kind,
            flags,
            before: beside & 0xf,
            after: beside >> 4,
        })
    }
}

/// Fields of a document for printing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Title. The first passage of a session has the session's title, other passages have none.
    pub title: String,
    /// Text, which may be cut.
    pub text: String,
    /// Path of the memory's file, relative to the root of the working tree if the file is inside.
    pub file: PathBuf,
    /// Modification time of the file, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Files that the memory is about.
    pub paths: Vec<String>,
    /// Additional search words.
    pub tags: Vec<String>,
    /// Likely queries, which are searched but never shown.
    pub cues: Vec<String>,
    /// Error signatures of a fix.
    pub signatures: Vec<String>,
    /// Creation time.
    pub created: Timestamp,
    /// Time of the event.
    pub occurred: Option<Timestamp>,
    /// Start of validity.
    pub valid_from: Option<Timestamp>,
    /// End of validity.
    pub valid_until: Option<Timestamp>,
    /// Where the memory applies.
    pub scope: Scope,
    /// Status of the memory.
    pub status: Status,
    /// Speaker of the statement.
    pub said_by: Option<SaidBy>,
    /// True if a model chose to save the memory.
    pub noted: bool,
    /// Name of the author.
    pub author: Option<String>,
    /// Id of the memory that supersedes this one, if any.
    pub superseded_by: Option<MemoryId>,
    /// Ids of the memories that this one supersedes.
    pub supersedes: Vec<MemoryId>,
    /// Id of the session in which the statement was made.
    pub session: Option<String>,
    /// For a passage: the subagent. For a memory: the name of the only subagent into whose sessions it is injected.
    pub agent: Option<String>,
    /// Topic of a memory, `area/topic`.
    pub topic: Option<String>,
    /// For a passage: the number of its turn in the session.
    pub turn: u32,
    /// For the first passage of a turn: the files that the turn used. They are not indexed as terms.
    pub touched: Vec<String>,
    /// Evidence that the memory is stale, if any.
    pub staleness: Option<Staleness>,
    /// Whether the memory was not derived, written or released on this machine.
    pub from_repository: bool,
    /// Earlier memories that this one contradicts, until a user decides which is true.
    pub differs_from: Vec<MemoryId>,
    /// Time when the memory was last confirmed or used, if that is later than its event.
    pub renewed: Option<Timestamp>,
    /// For a synthesis: the memories that it was made from.
    pub made_from: Vec<MemoryId>,
}

/// Numbers of the fields, which are never reused.
mod tag {
    pub(crate) const TITLE: u64 = 1;
    pub(crate) const TEXT: u64 = 2;
    pub(crate) const FILE: u64 = 3;
    pub(crate) const MODIFIED: u64 = 4;
    pub(crate) const FILE_BYTES: u64 = 5;
    pub(crate) const PATH: u64 = 6;
    pub(crate) const TAG: u64 = 7;
    pub(crate) const SIGNATURE: u64 = 8;
    pub(crate) const CREATED: u64 = 9;
    pub(crate) const OCCURRED: u64 = 10;
    pub(crate) const VALID_FROM: u64 = 11;
    pub(crate) const VALID_UNTIL: u64 = 12;
    pub(crate) const SCOPE: u64 = 13;
    pub(crate) const STATUS: u64 = 14;
    pub(crate) const SAID_BY: u64 = 15;
    pub(crate) const AUTHOR: u64 = 16;
    pub(crate) const SUPERSEDED_BY: u64 = 17;
    pub(crate) const SUPERSEDES: u64 = 18;
    pub(crate) const SESSION: u64 = 19;
    pub(crate) const AGENT: u64 = 20;
    pub(crate) const TURN: u64 = 21;
    pub(crate) const CUE: u64 = 22;
    pub(crate) const STALENESS: u64 = 23;
    pub(crate) const NOTED: u64 = 24;
    pub(crate) const FROM_REPOSITORY: u64 = 25;
    pub(crate) const TOUCHED: u64 = 26;
    pub(crate) const DIFFERS_FROM: u64 = 27;
    pub(crate) const TOPIC: u64 = 28;
    pub(crate) const RENEWED: u64 = 29;
    pub(crate) const MADE_FROM: u64 = 30;
}

/// Returns whether the first memory of an undecided pair, which names the other one in `differs_from`, is the newer one.
/// Of two memories of one time, it is unless the other one names it too and has the higher id.
pub fn is_newer(entry: &Entry, (other, record): (&Entry, &Record)) -> bool {
    match entry.when.cmp(&other.when) {
        Ordering::Equal => !record.differs_from.contains(&entry.id) || entry.id > other.id,
        order => order.is_gt(),
    }
}

impl Record {
    /// Returns the date that is shown to users.
    pub(crate) fn date(&self) -> Timestamp {
        self.occurred.unwrap_or(self.created)
    }

    /// Returns whether the memory's validity has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| until < now)
    }

    /// Returns whether this memory is returned in place of an earlier memory that it contradicts. A statement of the
    /// user is not displaced by a note of Claude. A memory from the repository displaces only others from the
    /// repository, and a memory of a subagent only others of the same subagent.
    pub fn displaces(&self, older: &Self) -> bool {
        let is_users =
            |record: &Self| !record.noted && matches!(record.said_by, None | Some(SaidBy::User));
        (is_users(self) || !is_users(older))
            && (!self.from_repository || older.from_repository)
            && self.agent == older.agent
    }

    /// Returns the text from which the document's vector is computed.
    pub fn embedding_text(&self) -> String {
        let mut text = match self.title.as_str() {
            "" => self.text.clone(),
            title => format!("{title}\n{}", self.text),
        };
        for cue in &self.cues {
            text.push('\n');
            text.push_str(cue);
        }
        text
    }

    /// Appends the bytes of the record.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_text(out, tag::TITLE, &self.title);
        put_text(out, tag::TEXT, &self.text);
        put_field(out, tag::FILE, self.file.as_os_str().as_encoded_bytes());
        put_number(out, tag::MODIFIED, self.modified_ns);
        put_number(out, tag::FILE_BYTES, self.file_bytes as i64);
        self.paths.iter().take(REPEATED_MAX).for_each(|path| put_text(out, tag::PATH, path));
        self.tags.iter().take(REPEATED_MAX).for_each(|word| put_text(out, tag::TAG, word));
        self.cues.iter().take(CUES_MAX).for_each(|cue| put_text(out, tag::CUE, cue));
        for signature in self.signatures.iter().take(REPEATED_MAX) {
            put_text(out, tag::SIGNATURE, signature);
        }
        put_number(out, tag::CREATED, self.created.0);
        let times = [
            (tag::OCCURRED, self.occurred),
            (tag::VALID_FROM, self.valid_from),
            (tag::VALID_UNTIL, self.valid_until),
        ];
        for (tag, time) in times {
            if let Some(time) = time {
                put_field(out, tag, &time.0.to_le_bytes());
            }
        }
        put_number(out, tag::SCOPE, scope_number(self.scope));
        put_number(out, tag::STATUS, status_number(self.status));
        put_number(out, tag::SAID_BY, self.said_by.map_or(0, speaker_number));
        put_text(out, tag::AUTHOR, self.author.as_deref().unwrap_or_default());
        if let Some(id) = self.superseded_by {
            put_field(out, tag::SUPERSEDED_BY, &id.0);
        }
        for id in self.supersedes.iter().take(REPEATED_MAX) {
            put_field(out, tag::SUPERSEDES, &id.0);
        }
        put_text(out, tag::SESSION, self.session.as_deref().unwrap_or_default());
        put_text(out, tag::AGENT, self.agent.as_deref().unwrap_or_default());
        put_number(out, tag::TURN, i64::from(self.turn));
        self.touched.iter().take(REPEATED_MAX).for_each(|path| put_text(out, tag::TOUCHED, path));
        if let Some(staleness) = &self.staleness {
            put_field(out, tag::STALENESS, &staleness.encode());
        }
        if self.noted {
            put_number(out, tag::NOTED, 1);
        }
        put_number(out, tag::FROM_REPOSITORY, i64::from(self.from_repository));
        for id in self.differs_from.iter().take(REPEATED_MAX) {
            put_field(out, tag::DIFFERS_FROM, &id.0);
        }
        put_text(out, tag::TOPIC, self.topic.as_deref().unwrap_or_default());
        put_number(out, tag::RENEWED, self.renewed.map_or(0, |at| at.0));
        for id in self.made_from.iter().take(REPEATED_MAX) {
            put_field(out, tag::MADE_FROM, &id.0);
        }
    }

    /// Decodes a record; `None` if it is invalid. Fields of later versions are skipped.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        let mut cursor = Cursor(bytes);
        while !cursor.is_empty() {
            let tag = cursor.varint()?;
            record.field(tag, cursor.bytes()?)?;
        }
        Some(record)
    }

    /// Decodes only the file path, file stamp and origin of a record; `None` if it is invalid.
    pub(crate) fn decode_file(bytes: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        let mut cursor = Cursor(bytes);
        while !cursor.is_empty() {
            let (tag, value) = (cursor.varint()?, cursor.bytes()?);
            if matches!(tag, tag::FILE | tag::MODIFIED | tag::FILE_BYTES | tag::FROM_REPOSITORY) {
                record.field(tag, value)?;
            }
        }
        Some(record)
    }

    fn field(&mut self, tag: u64, value: &[u8]) -> Option<()> {
        match tag {
            tag::TITLE => self.title = text(value)?,
            tag::TEXT => self.text = text(value)?,
            tag::FILE => self.file = path(value)?,
            tag::MODIFIED => self.modified_ns = number(value)?,
            tag::FILE_BYTES => self.file_bytes = number(value)? as u64,
            tag::PATH => self.paths.push(text(value)?),
            tag::TAG => self.tags.push(text(value)?),
            tag::CUE => self.cues.push(text(value)?),
            tag::SIGNATURE => self.signatures.push(text(value)?),
            tag::CREATED => self.created = Timestamp(number(value)?),
            tag::OCCURRED => self.occurred = Some(Timestamp(number(value)?)),
            tag::VALID_FROM => self.valid_from = Some(Timestamp(number(value)?)),
            tag::VALID_UNTIL => self.valid_until = Some(Timestamp(number(value)?)),
            tag::SCOPE => self.scope = scope(number(value)?),
            tag::STATUS => self.status = status(number(value)?),
            tag::SAID_BY => self.said_by = speaker(number(value)?),
            tag::AUTHOR => self.author = Some(text(value)?),
            tag::SUPERSEDED_BY => self.superseded_by = Some(MemoryId(value.try_into().ok()?)),
            tag::SUPERSEDES => self.supersedes.push(MemoryId(value.try_into().ok()?)),
            tag::SESSION => self.session = Some(text(value)?),
            tag::AGENT => self.agent = Some(text(value)?),
            tag::TURN => self.turn = u32::try_from(number(value)?).ok()?,
            tag::STALENESS => self.staleness = Staleness::decode(value),
            tag::NOTED => self.noted = number(value)? != 0,
            tag::FROM_REPOSITORY => self.from_repository = number(value)? != 0,
            tag::TOUCHED => self.touched.push(text(value)?),
            tag::TOPIC => self.topic = Some(text(value)?),
            tag::RENEWED => self.renewed = Some(Timestamp(number(value)?)),
            tag::MADE_FROM => self.made_from.push(MemoryId(value.try_into().ok()?)),
            tag::DIFFERS_FROM => self.differs_from.push(MemoryId(value.try_into().ok()?)),
            _ => {}
        }
        Some(())
    }
}

fn put_field(out: &mut Vec<u8>, tag: u64, value: &[u8]) {
    put_varint(out, tag);
    put_bytes(out, value);
}

/// Appends a text field. Empty texts and the number 0 are omitted, because they are the defaults of missing fields.
fn put_text(out: &mut Vec<u8>, tag: u64, value: &str) {
    if !value.is_empty() {
        put_field(out, tag, value.as_bytes());
    }
}

fn put_number(out: &mut Vec<u8>, tag: u64, value: i64) {
    if value != 0 {
        put_field(out, tag, &value.to_le_bytes());
    }
}

fn text(value: &[u8]) -> Option<String> {
    str::from_utf8(value).ok().map(str::to_owned)
}

fn number(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_le_bytes)
}

fn path(value: &[u8]) -> Option<PathBuf> {
    Some(path_of_bytes(value))
}

fn scope_number(scope: Scope) -> i64 {
    match scope {
        Scope::Project => 0,
        Scope::User => 1,
        Scope::Paths => 2,
    }
}

fn scope(number: i64) -> Scope {
    match number {
        1 => Scope::User,
        2 => Scope::Paths,
        _ => Scope::Project,
    }
}

fn status_number(status: Status) -> i64 {
    match status {
        Status::Active => 0,
        Status::Held => 1,
        Status::Rejected => 2,
        Status::Archived => 3,
    }
}

fn status(number: i64) -> Status {
    match number {
        1 => Status::Held,
        2 => Status::Rejected,
        3 => Status::Archived,
        _ => Status::Active,
    }
}

fn speaker_number(said_by: SaidBy) -> i64 {
    match said_by {
        SaidBy::User => 1,
        SaidBy::Assistant => 2,
        SaidBy::Tool => 3,
    }
}

fn speaker(number: i64) -> Option<SaidBy> {
    match number {
        1 => Some(SaidBy::User),
        2 => Some(SaidBy::Assistant),
        3 => Some(SaidBy::Tool),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::staleness::Change;

    #[test]
    fn records_and_entries_are_read_back() {
        let record = Record {
            title: "Title".into(),
            text: "Text\nmore".into(),
            file: "a/b.md".into(),
            modified_ns: 1_700_000_000_123_456_789,
            file_bytes: 812,
            paths: vec!["src/a.rs".into(), "src/b.rs".into()],
            tags: vec!["x".into()],
            cues: vec!["when y".into()],
            signatures: vec!["error: y".into()],
            created: Timestamp(5),
            occurred: Some(Timestamp(0)),
            valid_from: None,
            valid_until: Some(Timestamp(9)),
            scope: Scope::Paths,
            status: Status::Held,
            said_by: Some(SaidBy::User),
            noted: true,
            author: Some("Ann".into()),
            differs_from: vec![MemoryId([9; 16])],
            superseded_by: Some(MemoryId([1; 16])),
            supersedes: vec![MemoryId([2; 16]), MemoryId([3; 16])],
            session: Some("s".into()),
            agent: Some("a".into()),
            topic: Some("storage/cache".into()),
            turn: 7,
            touched: vec!["src/b.rs".into()],
            staleness: Some(Staleness {
                change: Change::Moved,
                name: "src/a.rs".into(),
                target: Some("src/c.rs".into()),
            }),
            from_repository: true,
            renewed: Some(Timestamp(11)),
            made_from: vec![MemoryId([8; 16])],
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        assert_eq!(Record::decode(&bytes), Some(record));
        // A field of a later version is skipped.
        put_field(&mut bytes, 99, b"new");
        assert!(Record::decode(&bytes).is_some());

        let entry = Entry {
            id: MemoryId([9; 16]),
            offset: 3,
            length: 4,
            checksum: 5,
            when: Timestamp(-6),
            confidence: 255,
            kind: 7,
            flags: FLAG_PINNED,
            before: 1,
            after: BESIDE_MAX,
        };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        assert_eq!(bytes.len(), DOC_ENTRY);
        assert_eq!(Entry::decode(&bytes), Some(entry));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(Entry::decode(&flipped), None);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = Record::decode(&bytes);
            let _ = Entry::decode(&bytes);
        }
    }
}
