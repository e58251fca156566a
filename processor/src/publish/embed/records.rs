//! Caches of values that are computed from texts. A value is not computed again, for example, for another working tree
//! or for a restored memory.
//!
//! A file consists of records of equal size, and records are only appended. If a crash truncated a record, or a record
//! is damaged, its value is computed again. Only one process at a time writes a file: the holder of the project's lock.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memory_store::bytes::checksum;
use memory_store::custom_embedder::TextHash;
use memory_store::fs::disk::{private_options, read_exact_at, write_all_at};
use memory_store::store::{Privacy, create_folder};

/// Size in bytes of the header before the records. It contains the format and the source of the values.
pub const HEADER: usize = 24;
/// Size in bytes of a record without its value: the hash of the text and a checksum.
const FRAME: usize = KEY + 4;
/// Size in bytes of a text's hash.
const KEY: usize = 16;
/// Maximum size of a file's records in bytes. If it is reached, the older half is removed.
const BYTES_MAX: usize = 140 << 20;

/// An open file of records.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    file: File,
    header: [u8; HEADER],
    /// Size of a value in bytes.
    value: usize,
    /// Offset of the record of each text.
    places: HashMap<TextHash, u64>,
    /// Size of the file in bytes.
    length: u64,
    records_max: usize,
}

impl Records {
    /// Opens the file `path` with values of `value` bytes. A file with another header is emptied.
    pub fn open(path: &Path, header: [u8; HEADER], value: usize) -> Result<Self> {
        Self::with_limit(path, header, value, BYTES_MAX / (value + FRAME))
            .with_context(|| path.display().to_string())
    }

    /// Returns the header of the file `path`; `None` if it cannot be read.
    pub fn header(path: &Path) -> Option<[u8; HEADER]> {
        let mut header = [0; HEADER];
        File::open(path).ok()?.read_exact(&mut header).ok()?;
        Some(header)
    }

    fn with_limit(
        path: &Path,
        header: [u8; HEADER],
        value: usize,
        records_max: usize,
    ) -> Result<Self> {
        if let Some(folder) = path.parent() {
            create_folder(folder, Privacy::Private)?;
        }
        let file =
            private_options().read(true).write(true).create(true).truncate(false).open(path)?;
        let (path, places) = (path.to_owned(), HashMap::new());
        let mut records = Self { path, file, header, value, places, length: 0, records_max };
        records.read()?;
        Ok(records)
    }

    fn read(&mut self) -> Result<()> {
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut found = [0; HEADER];
        self.length = HEADER as u64;
        if reader.read_exact(&mut found).is_err() || found != self.header {
            self.file.set_len(0)?;
            write_all_at(&self.file, &self.header, 0)?;
            return Ok(());
        }
        let mut record = vec![0; self.value + FRAME];
        while reader.read_exact(&mut record).is_ok() {
            if let Some((key, _)) = parse(&record) {
                self.places.insert(key, self.length);
            }
            self.length += record.len() as u64;
        }
        // The next record overwrites a record that a crash truncated.
        Ok(())
    }

    /// Returns the value that was computed from a text.
    pub fn get(&self, text: TextHash) -> Option<Vec<u8>> {
        let place = *self.places.get(&text)?;
        let mut record = vec![0; self.value + FRAME];
        read_exact_at(&self.file, &mut record, place).ok()?;
        parse(&record).map(|(_, value)| value.to_vec())
    }

    /// Returns whether there is a value for a text.
    pub fn has(&self, text: TextHash) -> bool {
        self.places.contains_key(&text)
    }

    /// Adds the values of some texts. Values of another size are ignored.
    pub fn add<'a>(&mut self, made: impl Iterator<Item = (TextHash, &'a [u8])>) -> Result<()> {
        let made: Vec<_> = made.filter(|(_, value)| value.len() == self.value).collect();
        if self.places.len() + made.len() > self.records_max {
            self.shrink()?;
        }
        let mut bytes = Vec::with_capacity(made.len() * (self.value + FRAME));
        let mut places = Vec::with_capacity(made.len());
        for (text, value) in made {
            places.push((text, self.length + bytes.len() as u64));
            put(&mut bytes, text, value);
        }
        write_all_at(&self.file, &bytes, self.length)
            .with_context(|| self.path.display().to_string())?;
        self.length += bytes.len() as u64;
        self.places.extend(places);
        Ok(())
    }

    /// Removes the older half of the records.
    fn shrink(&mut self) -> Result<()> {
        let mut places: Vec<u64> = self.places.values().copied().collect();
        places.sort_unstable();
        let kept = &places[places.len() - self.records_max.min(places.len()) / 2..];
        let beside = self.path.with_extension("new");
        let mut out = BufWriter::new(
            private_options().write(true).create(true).truncate(true).open(&beside)?,
        );
        out.write_all(&self.header)?;
        let mut record = vec![0; self.value + FRAME];
        for &place in kept {
            read_exact_at(&self.file, &mut record, place)?;
            out.write_all(&record)?;
        }
        out.flush()?;
        drop(out);
        fs::rename(&beside, &self.path)?;
        *self = Self::with_limit(&self.path, self.header, self.value, self.records_max)?;
        Ok(())
    }
}

/// Appends a record.
fn put(out: &mut Vec<u8>, text: TextHash, value: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&text.0);
    out.extend_from_slice(value);
    let check = checksum(&out[start..]);
    out.extend_from_slice(&check.to_le_bytes());
}

/// Reads a record; `None` if its checksum is wrong.
fn parse(record: &[u8]) -> Option<(TextHash, &[u8])> {
    let (body, check) = record.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*check) != checksum(body) {
        return None;
    }
    let (key, value) = body.split_first_chunk::<KEY>()?;
    Some((TextHash(*key), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: [u8; HEADER] = [1; HEADER];
    const VALUE: usize = 5;

    fn add(records: &mut Records, made: &[(&str, u8)]) {
        let values: Vec<[u8; VALUE]> = made.iter().map(|(_, number)| [*number; VALUE]).collect();
        let made = made.iter().zip(&values);
        records.add(made.map(|((text, _), value)| (TextHash::of(text), &value[..]))).unwrap();
    }

    fn get(records: &Records, text: &str) -> Option<u8> {
        let value = records.get(TextHash::of(text))?;
        assert_eq!(value, [value[0]; VALUE]);
        Some(value[0])
    }

    fn has(records: &Records, text: &str) -> bool {
        records.has(TextHash::of(text))
    }

    fn open(path: &Path) -> Records {
        Records::open(path, HEAD, VALUE).unwrap()
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors/turns.cache");
        (folder, path)
    }

    #[test]
    fn what_was_added_is_known_to_the_next_process_too() {
        let (_folder, path) = folder();
        let mut records = open(&path);
        add(&mut records, &[("a", 1), ("b", 2)]);
        add(&mut records, &[("c", 3)]);
        records.add([(TextHash::of("d"), &[4u8][..])].into_iter()).unwrap();
        for records in [records, open(&path)] {
            assert_eq!((get(&records, "a"), get(&records, "c")), (Some(1), Some(3)));
            assert_eq!(get(&records, "d"), None, "it was of another length");
            assert!(has(&records, "b") && !has(&records, "d"));
        }
        assert_eq!(Records::header(&path), Some(HEAD));
    }

    #[test]
    fn what_something_else_made_is_not_known() {
        let (_folder, path) = folder();
        add(&mut open(&path), &[("a", 1)]);
        assert!(!has(&Records::open(&path, [2; HEADER], VALUE).unwrap(), "a"));
        assert!(!has(&open(&path), "a"), "it was emptied");
    }

    #[test]
    fn a_torn_or_damaged_record_is_work_to_do_again() {
        let (_folder, path) = folder();
        let mut records = open(&path);
        add(&mut records, &[("a", 1), ("b", 2), ("c", 3)]);
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER + VALUE + FRAME + 18] ^= 1;
        bytes.truncate(bytes.len() - 7);
        fs::write(&path, &bytes).unwrap();

        let mut records = open(&path);
        assert_eq!(["a", "b", "c"].map(|text| get(&records, text)), [Some(1), None, None]);
        add(&mut records, &[("d", 4), ("b", 2)]);
        let records = open(&path);
        assert_eq!(["a", "b", "d"].map(|text| get(&records, text)), [1, 2, 4].map(Some));
        assert_eq!(get(&records, "c"), None);
    }

    #[test]
    fn a_full_file_loses_its_older_half() {
        let (_folder, path) = folder();
        let mut records = Records::with_limit(&path, HEAD, VALUE, 10).unwrap();
        let texts: Vec<String> = (0..14).map(|number| format!("text {number}")).collect();
        for (number, text) in texts.iter().enumerate() {
            add(&mut records, &[(text, number as u8)]);
        }
        let known: Vec<usize> = (0..14).filter(|&at| has(&records, &texts[at])).collect();
        assert_eq!(known, [5, 6, 7, 8, 9, 10, 11, 12, 13]);
        for at in known {
            assert_eq!(get(&records, &texts[at]), Some(at as u8));
        }
    }
}
