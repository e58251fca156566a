//! The journal: what was added, changed or removed since the segments were written. One appended
//! frame each, visible to the next hook; the next published generation takes it in.
//!
//! A frame is `TLJ1`, the length of the payload, its crc32c, the payload. Frames are written by one
//! `write` to a file opened for appending, so they never mix. What a crash cut off is skipped:
//! reading goes on at the next frame whose checksum fits.

use std::io::Read;
use std::path::Path;

use memchr::memmem;

use super::document::Document;
use super::format::{Cursor, FRAME_MAGIC, checksum, fits};
use super::manifest::Manifest;
use crate::error::{At, Result};
use crate::id::MemoryId;
#[cfg(feature = "write")]
use crate::index::record::FLAG_HELD;
#[cfg(feature = "write")]
use crate::redact::Redactor;
#[cfg(feature = "write")]
use crate::store::Stored;
#[cfg(feature = "write")]
use crate::trust::Trust;

/// Bytes of a journal that are read; a longer one is overdue for folding.
pub const BYTES_MAX: u64 = 16 << 20;

const FRAME_HEADER: usize = 12;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A memory is new or changed.
    Put(Box<Document>),
    /// A memory is gone.
    Remove(MemoryId),
}

/// The changes since the segments were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// The changes, oldest first.
    pub entries: Vec<Entry>,
    /// Whether something in it could not be read.
    pub damaged: bool,
}

impl Journal {
    /// Reads the journal that a manifest names; a missing one that nothing was taken from is empty.
    pub fn read(dir: &Path, manifest: &Manifest) -> Result<Self> {
        let path = manifest.journal_path(dir);
        let file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // One that was begun and is gone may have held more than the segments do.
                let damaged = manifest.journal_start > 0;
                return Ok(Self { damaged, ..Self::default() });
            }
            Err(error) => return Err(error).at(&path),
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes).at(&path)?;
        let start = usize::try_from(manifest.journal_start).unwrap_or(usize::MAX);
        let mut journal = Self::decode(bytes.get(start..).unwrap_or_default());
        // A journal shorter than what was folded lost its end, and with it later entries perhaps.
        journal.damaged |= start > bytes.len();
        Ok(journal)
    }

    /// Reads frames; damaged stretches are skipped.
    pub fn decode(mut bytes: &[u8]) -> Self {
        let mut journal = Self::default();
        while !bytes.is_empty() {
            if let Some((entry, rest)) = frame(bytes) {
                journal.entries.extend(entry);
                bytes = rest;
                continue;
            }
            journal.damaged = true;
            let Some(next) = memmem::find(&bytes[1..], &FRAME_MAGIC) else { break };
            bytes = &bytes[1 + next..];
        }
        journal
    }
}

/// Reads the frame at the start. A change of a later version is skipped.
fn frame(bytes: &[u8]) -> Option<(Option<Entry>, &[u8])> {
    let mut cursor = Cursor(bytes);
    if cursor.array()? != FRAME_MAGIC {
        return None;
    }
    let (length, check) = (cursor.u32()?, cursor.u32()?);
    let payload = cursor.take(usize::try_from(length).ok()?)?;
    if !fits(payload, check) {
        return None;
    }
    let mut payload = Cursor(payload);
    let entry = match payload.byte()? {
        1 => Some(Entry::Put(Box::new(Document::decode(&mut payload)?))),
        2 => Some(Entry::Remove(MemoryId(payload.array()?))),
        _ => None,
    };
    Some((entry, cursor.0))
}

impl Entry {
    /// The change that a memory was saved, without its secrets; `root` as in [`super::build::document`].
    #[cfg(feature = "write")]
    pub fn put(stored: &Stored, root: &Path) -> Self {
        let mut document = super::build::document(stored, root);
        document.read();
        Self::Put(Box::new(document))
    }

    /// Marks what was saved when it is to be held, and labels what is from the repository.
    #[cfg(feature = "write")]
    fn judged(mut self, is_held: bool, from_repository: bool) -> Self {
        if let Self::Put(document) = &mut self {
            document.record.from_repository = from_repository;
            document.entry.flags |= if is_held { FLAG_HELD } else { 0 };
        }
        self
    }

    /// Adds the vector of what was saved.
    #[cfg(feature = "write")]
    pub fn embedded(mut self, vectors: &dyn super::build::Vectors) -> Self {
        if let Self::Put(document) = &mut self {
            document.vector = super::build::embed(document, vectors);
        }
        self
    }

    /// Returns the frame of this change.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; FRAME_HEADER];
        match self {
            Self::Put(document) => {
                out.push(1);
                document.encode(&mut out);
            }
            Self::Remove(id) => {
                out.push(2);
                out.extend_from_slice(&id.0);
            }
        }
        let payload = &out[FRAME_HEADER..];
        let (length, check) = (payload.len() as u32, checksum(payload));
        out[..4].copy_from_slice(&FRAME_MAGIC);
        out[4..8].copy_from_slice(&length.to_le_bytes());
        out[8..12].copy_from_slice(&check.to_le_bytes());
        out
    }
}

/// Appends a change to the journal of the index in `dir`, so that the next hook sees it. Without
/// an index there is nothing to do: the first one will be made from the files.
///
/// ```text
/// journal::append(&dirs.tree(&tree.root).index(), &Entry::put(&stored, &tree.root))?;
/// journal::append(&dirs.user_state().index(), &Entry::put(&stored, &dirs.data))?;
/// ```
#[cfg(feature = "write")]
pub fn append(dir: &Path, entry: &Entry) -> Result<()> {
    append_within(dir, entry, crate::lock::LOCK_WAIT)
}

/// The same for who waits this long at most while somebody publishes.
#[cfg(feature = "write")]
pub fn append_within(dir: &Path, entry: &Entry, most: std::time::Duration) -> Result<()> {
    use std::io::Write;

    if !dir.join(super::manifest::FILE_NAME).exists() {
        return Ok(());
    }
    let _lock = super::lock::shared(dir, most)?;
    let Some(manifest) = super::read_manifest(dir)? else { return Ok(()) };
    let path = manifest.journal_path(dir);
    let mut options = crate::fs::disk::private_options();
    let mut file = options.create(true).append(true).open(&path).at(&path)?;
    file.write_all(&entry.encode()).at(&path)
}

/// What happened to a memory.
#[cfg(feature = "write")]
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// It was saved in the store that this redactor belongs to: files come from editors and from
    /// pulls, so that what hooks print is redacted here too. What is held there is held here.
    Saved(&'a Stored, &'a Redactor, &'a Trust),
    /// It is gone.
    Gone(MemoryId),
}

/// Lets the next hook in a working tree see what happened to a memory: appends it to the journal of
/// the index that recall reads there, with the table's vector where there is a table.
#[cfg(feature = "write")]
pub fn note(
    dirs: &crate::layout::UserDirs,
    tree: &crate::layout::Tree,
    scope: crate::memory::Scope,
    change: Change<'_>,
) -> Result<()> {
    use crate::embed::Table;
    use crate::memory::Scope;

    let (index, root) = match scope {
        Scope::User => (dirs.user_state().index(), dirs.data.as_path()),
        Scope::Project | Scope::Paths => {
            // A worktree without an index of its own is served by the main tree's.
            let own = dirs.tree(&tree.root).index();
            if own.join(super::manifest::FILE_NAME).exists() {
                (own, tree.root.as_path())
            } else {
                (dirs.tree(&tree.main_root).index(), tree.main_root.as_path())
            }
        }
    };
    let entry = match change {
        Change::Saved(stored, redactor, trust) => {
            // The ledger learned of it a moment ago.
            let trust = trust.clone().renewed();
            let is_held = trust.held(stored, redactor).is_some();
            let from_repository = trust.is_from_repository(stored);
            let memory = redactor.redacted(&stored.memory);
            let stored = Stored { memory, ..stored.clone() };
            let entry = Entry::put(&stored, root).judged(is_held, from_repository);
            match Table::installed(dirs) {
                Some(table) => entry.embedded(&table),
                None => entry,
            }
        }
        Change::Gone(id) => Entry::Remove(id),
    };
    append(&index, &entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::record::Record;
    use crate::kind::Kind;
    use crate::time::Timestamp;

    fn put(number: u8) -> Entry {
        let record = Record { title: format!("Memory {number}"), ..Record::default() };
        Entry::Put(Box::new(Document::of_record(
            MemoryId([number; 16]),
            Kind::Fact,
            0.5,
            false,
            Timestamp(0),
            record,
        )))
    }

    #[test]
    fn entries_are_read_back() {
        let entries = [put(1), Entry::Remove(MemoryId([1; 16])), put(2)];
        let bytes: Vec<u8> = entries.iter().flat_map(Entry::encode).collect();
        assert_eq!(Journal::decode(&bytes), Journal { entries: entries.into(), damaged: false });
    }

    #[test]
    fn a_torn_tail_costs_only_the_torn_frame() {
        let (first, second, third) = (put(1).encode(), put(2).encode(), put(3).encode());
        for cut in 1..second.len() {
            let bytes = [&first, &second[..cut], &third].concat();
            let journal = Journal::decode(&bytes);
            assert!(journal.damaged);
            assert_eq!(journal.entries, [put(1), put(3)], "cut at {cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes: Vec<u8>, at: usize) {
            let _ = Journal::decode(&bytes);
            let mut frame = put(1).encode();
            let at = at % frame.len();
            frame[at] ^= 1;
            bytes.extend(frame);
            let _ = Journal::decode(&bytes);
        }
    }
}
