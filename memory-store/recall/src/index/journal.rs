//! The journal: changes since the segments were written, each appended as a frame. The next hook reads the changes, and
//! publishing adds them to the segments of the next generation.
//!
//! A frame consists of `TLJ1`, the length of the payload, its crc32c, and the payload. Each frame is written by one
//! `write` to a file opened for appending, so frames never mix. A frame that a crash truncated is skipped; reading
//! continues with the next frame whose checksum matches.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;

use super::document::Document;
use super::format::{Cursor, FRAME_MAGIC, checksum, fits};
use super::manifest::Manifest;
use crate::embed::Vectors;
use memory_store_base::error::{At, Result};
use memory_store_base::fs::disk::{read_at, read_exact_at};
use memory_store_base::fs::file_stamp::file_number;
use memory_store_base::id::MemoryId;

/// Maximum number of bytes of a journal that are read. A longer journal should have been folded into segments.
pub const BYTES_MAX: u64 = 16 << 20;

const FRAME_HEADER: usize = 12;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A new or changed memory.
    Put(Arc<Document>),
    /// A removed memory.
    Remove(MemoryId),
}

/// The changes since the segments were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// The changes, oldest first.
    pub entries: Vec<Entry>,
    /// True if a part of the journal could not be read.
    pub damaged: bool,
}

impl Journal {
    /// Reads the journal that a manifest names. A missing journal is empty if nothing of it was folded into segments.
    /// If the journal is in `known`, only the appended bytes are read.
    pub(crate) fn read(
        dir: &Path,
        manifest: &Manifest,
        known: Option<&KnownJournals>,
    ) -> Result<Self> {
        let path = manifest.journal_path(dir);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A missing journal that was partly folded may have contained entries that the segments lack.
                let damaged = manifest.journal_start > 0;
                return Ok(Self { damaged, ..Self::default() });
            }
            Err(error) => return Err(error).at(&path),
        };
        match known {
            Some(known) => known.read(path, &file, manifest.journal_start),
            None => Self::read_whole(&path, &file, manifest.journal_start).map(|(whole, _)| whole),
        }
    }

    /// Reads the part of a journal that the segments do not contain. Returns it with the end of the file.
    fn read_whole(path: &Path, file: &File, start: u64) -> Result<(Self, u64)> {
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes).at(path)?;
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let mut journal = Self::decode(bytes.get(start..).unwrap_or_default());
        // A journal that is shorter than its folded part has lost its end, and possibly later entries.
        journal.damaged |= start > bytes.len();
        Ok((journal, bytes.len() as u64))
    }

    /// Decodes frames. Damaged parts are skipped.
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

/// Cache of journals, one for each folder of an index. Journals are only appended to, so a server reads and decodes
/// only the new part. Files are read without holding the lock, so that a hanging file system does not block queries of
/// other indexes.
#[derive(Debug, Default)]
pub struct KnownJournals(Mutex<HashMap<PathBuf, Arc<KnownJournal>>>);

/// Maximum number of bytes of all cached journals in encoded form.
const KNOWN_BYTES_MAX: u64 = 16 << 20;

/// An undamaged journal, up to the end of the last read.
#[derive(Debug)]
struct KnownJournal {
    path: PathBuf,
    /// Device and inode of the journal's file, because a restored file may have the same name.
    file: (u64, u64),
    start: u64,
    /// End of the last frame that was read.
    end: u64,
    /// The bytes before that end, by which a rewritten file is detected.
    last: [u8; LAST_BYTES],
    entries: Vec<Entry>,
}

/// Number of bytes before the end of the last read that must be unchanged. Usually they include the whole last frame
/// with its checksum. The ends of two frames are equal if both save the same text with different labels.
const LAST_BYTES: usize = 4 << 10;

impl KnownJournals {
    /// Drops all cached journals.
    pub fn release(&self) {
        *self.all() = HashMap::new();
    }

    /// Locks the map. No file is read while the lock is held.
    fn all(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<KnownJournal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, path: PathBuf, file: &File, start: u64) -> Result<Journal> {
        let metadata = file.metadata().at(&path)?;
        let identity = file_number(&metadata);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let known = self.all().get(&folder).cloned();
        let known = known
            .filter(|known| known.path == path && (known.file, known.start) == (identity, start));
        if let Some(known) = known
            && let Some(followed) = known.follow(file).at(&path)?
        {
            let entries = followed.entries.clone();
            self.keep(folder, followed);
            return Ok(Journal { entries, damaged: false });
        }
        let (journal, end) = Journal::read_whole(&path, file, start)?;
        let mut last = [0; LAST_BYTES];
        let is_long = end >= start + LAST_BYTES as u64;
        if !journal.damaged && is_long {
            read_exact_at(file, &mut last, end - LAST_BYTES as u64).at(&path)?;
            let entries = journal.entries.clone();
            let known = KnownJournal { path, file: identity, start, end, last, entries };
            self.keep(folder, Arc::new(known));
        } else {
            self.all().remove(&folder);
        }
        Ok(journal)
    }

    /// Replaces the cached journal of a folder, which is of an earlier generation or shorter. If the cache exceeds
    /// [`KNOWN_BYTES_MAX`], the other journals are dropped and read completely by their next query.
    fn keep(&self, folder: PathBuf, journal: Arc<KnownJournal>) {
        let mut all = self.all();
        let others = all.iter().filter(|(other, _)| **other != folder);
        let bytes: u64 = others.map(|(_, other)| other.bytes()).sum();
        if bytes + journal.bytes() > KNOWN_BYTES_MAX {
            all.clear();
        }
        all.insert(folder, journal);
    }
}

impl KnownJournal {
    /// Returns the number of bytes that were read.
    fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Returns the journal with the appended frames. Returns `None` if the file was replaced, or if a frame cannot be
    /// read; that frame may be complete at the next read.
    fn follow(self: Arc<Self>, file: &File) -> std::io::Result<Option<Arc<Self>>> {
        let from = self.end - LAST_BYTES as u64;
        let room = usize::try_from(BYTES_MAX.saturating_sub(from)).unwrap_or_default();
        // One read is enough for the frames of one or two calls.
        let mut bytes = vec![0; FOLLOWED_BYTES.min(room)];
        let count = read_at(file, &mut bytes, from)?;
        bytes.truncate(count);
        if count == FOLLOWED_BYTES {
            let mut rest = vec![0; room - count];
            let mut read = 0;
            while let more @ 1.. = read_at(file, &mut rest[read..], from + (count + read) as u64)? {
                read += more;
            }
            bytes.extend_from_slice(&rest[..read]);
        }
        let Some(new) = bytes.strip_prefix(&self.last) else { return Ok(None) };
        if new.is_empty() {
            return Ok(Some(self));
        }
        let journal = Journal::decode(new);
        if journal.damaged {
            return Ok(None);
        }
        let mut last = [0; LAST_BYTES];
        last.copy_from_slice(&bytes[bytes.len() - LAST_BYTES..]);
        Ok(Some(Arc::new(Self {
            path: self.path.clone(),
            file: self.file,
            start: self.start,
            end: from + bytes.len() as u64,
            last,
            entries: [&self.entries[..], &journal.entries].concat(),
        })))
    }
}

/// Number of bytes of the first read of appended bytes.
const FOLLOWED_BYTES: usize = 16 << 10;

/// Reads the frame at the start. Returns the change and the remaining bytes; `None` if the frame is damaged. A change
/// of a later version is read as no change.
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
        1 => Some(Entry::Put(Arc::new(Document::decode(&mut payload)?))),
        2 => Some(Entry::Remove(MemoryId(payload.array()?))),
        _ => None,
    };
    Some((entry, cursor.0))
}

impl Entry {
    /// Returns the change with the vector of its memory.
    pub fn embedded(mut self, vectors: &dyn Vectors) -> Self {
        if let Self::Put(document) = &mut self {
            Arc::make_mut(document).embed(vectors);
        }
        self
    }

    /// Returns the change as a frame.
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
        Entry::Put(Arc::new(Document::of_record(
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

    #[test]
    fn a_known_journal_is_followed_and_one_that_was_written_anew_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let known = KnownJournals::default();
        let read = || known.read(path.clone(), &File::open(&path).unwrap(), 0).unwrap();
        let frames = |numbers: std::ops::Range<u8>| -> Vec<u8> {
            numbers.flat_map(|number| put(number).encode()).collect()
        };
        let puts = |numbers: std::ops::Range<u8>| numbers.map(put).collect::<Vec<_>>();
        // Numbers of frames: none, few, more than one read takes, and many.
        for end in [0, 1, 1, 3, 250] {
            std::fs::write(&path, frames(0..end)).unwrap();
            assert_eq!(read(), Journal { entries: puts(0..end), damaged: false }, "{end}");
        }
        assert!(frames(3..250).len() > FOLLOWED_BYTES);
        // First, half of a frame is written, then its other half.
        let whole = [frames(0..250), put(251).encode()].concat();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert_eq!(read(), Journal { entries: puts(0..250), damaged: true });
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(
            read(),
            Journal { entries: [puts(0..250), vec![put(251)]].concat(), damaged: false }
        );
        // The file is rewritten with more frames, and then with fewer.
        std::fs::write(&path, frames(1..255)).unwrap();
        assert_eq!(read().entries, puts(1..255));
        std::fs::write(&path, frames(5..7)).unwrap();
        assert_eq!(read().entries, puts(5..7));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, frames(5..8)).unwrap();
        assert_eq!(read().entries, puts(5..8));
        known.release();
        assert_eq!(read().entries, puts(5..8));
    }

    #[test]
    fn of_each_index_the_latest_generation_is_known_within_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let known = KnownJournals::default();
        let frames: Vec<u8> = (0..100).flat_map(|number| put(number).encode()).collect();
        let read = |index: &str, generation: &str, times: usize| {
            let index = folder.path().join(index);
            std::fs::create_dir_all(&index).unwrap();
            let path = index.join(generation);
            std::fs::write(&path, frames.repeat(times)).unwrap();
            let journal = known.read(path.clone(), &File::open(path).unwrap(), 0).unwrap();
            assert_eq!(journal.entries.len(), 100 * times);
        };
        let names = || {
            let all = known.all();
            let mut names: Vec<PathBuf> = all
                .values()
                .map(|journal| journal.path.strip_prefix(folder.path()).unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        read("a", "1", 1);
        read("b", "1", 1);
        read("a", "2", 1);
        assert_eq!(names(), [Path::new("a/2"), Path::new("b/1")]);
        // Each journal has half of the limit, so a third one exceeds it.
        let half = KNOWN_BYTES_MAX as usize / frames.len() / 2;
        read("a", "3", half);
        read("b", "2", half);
        assert_eq!(names(), [Path::new("a/3"), Path::new("b/2")]);
        read("c", "1", half);
        assert_eq!(names(), [Path::new("c/1")]);
    }

    #[test]
    fn a_file_system_that_hangs_keeps_no_other_index_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("hung").join("journal");
        std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let known = KnownJournals::default();
        std::thread::scope(|scope| {
            let (opened, is_open) = std::sync::mpsc::channel();
            let (known, pipe) = (&known, &pipe);
            scope.spawn(move || {
                // The pipe is opened for reading and writing, so that reading blocks forever.
                let file = File::options().read(true).write(true).open(pipe).unwrap();
                opened.send(file.try_clone().unwrap()).unwrap();
                known.read(pipe.clone(), &file, 0)
            });
            let writer = is_open.recv().unwrap();
            let path = folder.path().join("journal");
            std::fs::write(&path, put(1).encode()).unwrap();
            for _ in 0..100 {
                let journal = known.read(path.clone(), &File::open(&path).unwrap(), 0).unwrap();
                assert_eq!(journal.entries, [put(1)]);
                std::thread::yield_now();
            }
            // The zeros make the read reach its limit.
            let zeros = vec![0; BYTES_MAX as usize];
            std::io::Write::write_all(&mut &writer, &zeros).unwrap();
        });
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
