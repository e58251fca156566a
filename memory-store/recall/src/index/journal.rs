//! The journal: what was added, changed or removed since the segments were written. One appended
//! frame each, visible to the next hook; the next published generation takes it in.
//!
//! A frame is `TLJ1`, the length of the payload, its crc32c, the payload. Frames are written by one `write` to a file
//! opened for appending, so they never mix. A frame that a crash cut off is skipped: reading goes on at the next frame
//! whose checksum fits.

use std::io::Read;
use std::path::Path;

use memchr::memmem;

use super::document::Document;
use super::format::{Cursor, FRAME_MAGIC, checksum, fits};
use super::manifest::Manifest;
use memory_store_base::error::{At, Result};
use memory_store_base::id::MemoryId;
use memory_store_embed::Vectors;

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
    /// True if something in it could not be read.
    pub damaged: bool,
}

impl Journal {
    /// Reads the journal that a manifest names; a missing one that nothing was taken from is empty.
    pub(crate) fn read(dir: &Path, manifest: &Manifest) -> Result<Self> {
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
    /// Adds the vector of what was saved.
    pub fn embedded(mut self, vectors: &dyn Vectors) -> Self {
        if let Self::Put(document) = &mut self {
            document.embed(vectors);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::record::Record;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

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
