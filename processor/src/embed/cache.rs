//! What the transformer made of texts, so that no text is embedded twice: not after a rebuild, not
//! for another working tree, not when a memory comes back.
//!
//! A cache is a file of records of one size, appended to; a record that a crash cut off or that is
//! damaged is a text to embed again, nothing more. One process at a time writes it, the holder of
//! the project's lock.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memory_store::embed::{DIMENSIONS, Space, Vector};
use memory_store::index::format::checksum;
use memory_store::store::{Privacy, create_folder};

/// First bytes of a cache, with the version of its format.
const MAGIC: [u8; 8] = *b"TLVECS\x001";
/// Bytes before the records: the magic and the space.
const HEADER: usize = 24;
/// Bytes of a text's hash that are kept.
const KEY: usize = 16;
/// Bytes of a record: key, vector, checksum.
const RECORD: usize = KEY + DIMENSIONS + 4;
/// Records of a cache, some 140 MB; when there are as many, the older half goes.
const RECORDS_MAX: usize = 500_000;

/// An open cache.
#[derive(Debug)]
pub struct Cache {
    path: PathBuf,
    file: File,
    /// Where the record of a text starts.
    places: HashMap<[u8; KEY], u64>,
    /// Bytes of the file.
    length: u64,
    records_max: usize,
}

impl Cache {
    /// Opens the cache in the file `path`; one of another space is emptied.
    pub fn open(path: &Path, space: Space) -> Result<Self> {
        Self::with_limit(path, space, RECORDS_MAX).with_context(|| path.display().to_string())
    }

    fn with_limit(path: &Path, space: Space, records_max: usize) -> Result<Self> {
        if let Some(folder) = path.parent() {
            create_folder(folder, Privacy::Private)?;
        }
        let file = private().read(true).create(true).truncate(false).open(path)?;
        let mut cache =
            Self { path: path.to_owned(), file, places: HashMap::new(), length: 0, records_max };
        cache.read(space)?;
        Ok(cache)
    }

    fn read(&mut self, space: Space) -> Result<()> {
        let header = header(space);
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut found = [0; HEADER];
        if reader.read_exact(&mut found).is_err() || found != header {
            self.file.set_len(0)?;
            self.file.write_all_at(&header, 0)?;
            self.length = HEADER as u64;
            return Ok(());
        }
        self.length = HEADER as u64;
        let mut record = [0; RECORD];
        while reader.read_exact(&mut record).is_ok() {
            if let Some((key, _)) = parse(&record) {
                self.places.insert(key, self.length);
            }
            self.length += RECORD as u64;
        }
        // What a crash cut off is written over by the next record.
        Ok(())
    }

    /// What the transformer made of a text.
    pub fn get(&self, text: &str) -> Option<Vector> {
        let place = *self.places.get(&key(text))?;
        let mut record = [0; RECORD];
        self.file.read_exact_at(&mut record, place).ok()?;
        parse(&record).map(|(_, vector)| vector)
    }

    /// Whether a text is known.
    pub fn has(&self, text: &str) -> bool {
        self.places.contains_key(&key(text))
    }

    /// Adds what the transformer made of some texts.
    pub fn add(&mut self, made: &[(&str, Vector)]) -> Result<()> {
        if self.places.len() + made.len() > self.records_max {
            self.shrink()?;
        }
        let mut bytes = Vec::with_capacity(made.len() * RECORD);
        let mut places = Vec::with_capacity(made.len());
        for (text, vector) in made {
            places.push((key(text), self.length + bytes.len() as u64));
            bytes.extend_from_slice(&record(key(text), vector));
        }
        self.file
            .write_all_at(&bytes, self.length)
            .with_context(|| self.path.display().to_string())?;
        self.length += bytes.len() as u64;
        self.places.extend(places);
        Ok(())
    }

    /// Keeps the newer half.
    fn shrink(&mut self) -> Result<()> {
        let mut places: Vec<u64> = self.places.values().copied().collect();
        places.sort_unstable();
        let kept = &places[places.len() - self.records_max.min(places.len()) / 2..];
        let beside = self.path.with_extension("new");
        let mut head = [0; HEADER];
        self.file.read_exact_at(&mut head, 0)?;
        let mut out = BufWriter::new(private().create(true).truncate(true).open(&beside)?);
        out.write_all(&head)?;
        let mut record = [0; RECORD];
        for &place in kept {
            self.file.read_exact_at(&mut record, place)?;
            out.write_all(&record)?;
        }
        out.flush()?;
        drop(out);
        fs::rename(&beside, &self.path)?;
        *self = Self::with_limit(&self.path, Space(space_of(&head)), self.records_max)?;
        Ok(())
    }
}

/// A file that nobody else may read is written.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn header(space: Space) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..].copy_from_slice(&space.0);
    header
}

fn space_of(header: &[u8; HEADER]) -> [u8; 16] {
    let mut space = [0; 16];
    space.copy_from_slice(&header[8..]);
    space
}

/// The name of a text: blake3, cut.
fn key(text: &str) -> [u8; KEY] {
    let mut key = [0; KEY];
    key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..KEY]);
    key
}

fn record(key: [u8; KEY], vector: &Vector) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..KEY].copy_from_slice(&key);
    for (byte, component) in record[KEY..].iter_mut().zip(&vector.0) {
        *byte = component.cast_unsigned();
    }
    let check = checksum(&record[..RECORD - 4]);
    record[RECORD - 4..].copy_from_slice(&check.to_le_bytes());
    record
}

/// Reads a record; `None` when its checksum does not fit.
fn parse(record: &[u8; RECORD]) -> Option<([u8; KEY], Vector)> {
    let (body, check) = record.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*check) != checksum(body) {
        return None;
    }
    let (key, components) = body.split_first_chunk::<KEY>()?;
    let components: &[u8; DIMENSIONS] = components.try_into().ok()?;
    Some((*key, Vector(components.map(u8::cast_signed))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space([1; 16]);

    fn vector(number: i8) -> Vector {
        Vector([number; DIMENSIONS])
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors/turns.cache");
        (folder, path)
    }

    #[test]
    fn what_was_added_is_known_to_the_next_process_too() {
        let (_folder, path) = folder();
        let mut cache = Cache::open(&path, SPACE).unwrap();
        cache.add(&[("a", vector(1)), ("b", vector(2))]).unwrap();
        cache.add(&[("c", vector(-3))]).unwrap();
        for cache in [cache, Cache::open(&path, SPACE).unwrap()] {
            assert_eq!(cache.get("a"), Some(vector(1)));
            assert_eq!(cache.get("c"), Some(vector(-3)));
            assert_eq!(cache.get("d"), None);
            assert!(cache.has("b") && !cache.has("d"));
        }
    }

    #[test]
    fn another_space_knows_nothing() {
        let (_folder, path) = folder();
        Cache::open(&path, SPACE).unwrap().add(&[("a", vector(1))]).unwrap();
        assert!(!Cache::open(&path, Space([2; 16])).unwrap().has("a"));
        assert!(!Cache::open(&path, SPACE).unwrap().has("a"), "it was emptied");
    }

    #[test]
    fn a_torn_or_damaged_record_is_a_text_to_embed_again() {
        let (_folder, path) = folder();
        let mut cache = Cache::open(&path, SPACE).unwrap();
        cache.add(&[("a", vector(1)), ("b", vector(2)), ("c", vector(3))]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER + RECORD + 30] ^= 1;
        bytes.truncate(bytes.len() - 7);
        fs::write(&path, &bytes).unwrap();

        let mut cache = Cache::open(&path, SPACE).unwrap();
        assert_eq!((cache.get("a"), cache.get("b"), cache.get("c")), (Some(vector(1)), None, None));
        cache.add(&[("d", vector(4)), ("b", vector(2))]).unwrap();
        let cache = Cache::open(&path, SPACE).unwrap();
        for (text, number) in [("a", 1), ("b", 2), ("d", 4)] {
            assert_eq!(cache.get(text), Some(vector(number)), "{text}");
        }
        assert_eq!(cache.get("c"), None);
    }

    #[test]
    fn a_full_cache_loses_its_older_half() {
        let (_folder, path) = folder();
        let mut cache = Cache::with_limit(&path, SPACE, 10).unwrap();
        let texts: Vec<String> = (0..14).map(|number| format!("text {number}")).collect();
        for (number, text) in texts.iter().enumerate() {
            cache.add(&[(text, vector(number as i8))]).unwrap();
        }
        let known: Vec<usize> = (0..14).filter(|&at| cache.has(&texts[at])).collect();
        assert_eq!(known, [5, 6, 7, 8, 9, 10, 11, 12, 13]);
        for at in known {
            assert_eq!(cache.get(&texts[at]), Some(vector(at as i8)));
        }
    }
}
