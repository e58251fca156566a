//! A set on disk of the keys of all sessions. It determines quickly that no session contains a key.
//!
//! The set is a Bloom filter in blocks ("Cache-, Hash- and Space-Efficient Bloom Filters", Putze, Sanders and Singler
//! 2007). All bits of a key are in one block, so a lookup or an insertion needs one read or write, regardless of the
//! set's size. For about one in ten thousand new keys the set answers that it may contain the key; then the keys
//! themselves are read. A block with a wrong checksum is an error, because a lost bit would hide a key.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use memory_store::bytes::{checksum, mixed};
use memory_store::fs::disk::{read_exact_at, write_all_at};
use memory_store::store::{Privacy, replace};

use super::key_file::HASH_BYTES;

/// First bytes of the file, with the version of its format. The id and the number of blocks follow. In version 1, keys
/// had eight bytes and different bits.
const MAGIC: [u8; 8] = *b"TLKEYS\x002";

/// Size of an id in bytes.
pub const ID: usize = 16;

/// Offset of the number of blocks.
const BLOCKS_AT: usize = 8 + ID;

/// Size in bytes of the header before the blocks.
const HEADER: usize = BLOCKS_AT + 8;

/// Size of a block in bytes. The last four are a checksum.
const BLOCK: usize = 64;

/// Number of bits in a block.
const BITS: u64 = (BLOCK as u64 - 4) * 8;

/// Average number of keys in a block if the set is full.
const KEYS_OF_BLOCK: usize = 20;

/// Number of bits that are set for a key.
const BITS_OF_KEY: usize = 8;

/// Quarters by which the capacity of a new set exceeds its keys: capacity is 5/4 of the number of keys. While a project
/// doubles its sessions, its set is rebuilt three or four times.
const ROOM_FOR_FOUR: usize = 5;
/// Minimum capacity of a set in keys.
const ROOM_MIN: usize = 1 << 14;

/// An open set.
#[derive(Debug)]
pub struct KeySet {
    file: File,
    blocks: u64,
}

impl KeySet {
    /// Creates a set of some keys with the name `id`.
    pub fn create(path: &Path, id: [u8; ID], keys: &[u64]) -> Result<()> {
        let blocks = (keys.len() * ROOM_FOR_FOUR / 4).max(ROOM_MIN).div_ceil(KEYS_OF_BLOCK);
        let mut bytes = vec![0; HEADER + blocks * BLOCK];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..BLOCKS_AT].copy_from_slice(&id);
        bytes[BLOCKS_AT..HEADER].copy_from_slice(&(blocks as u64).to_le_bytes());
        for &key in keys {
            let at = place(key, blocks as u64) as usize;
            set(&mut bytes[at..at + BLOCK], key);
        }
        for block in bytes[HEADER..].chunks_exact_mut(BLOCK) {
            seal(block);
        }
        // The file is replaced durably, because it must be on disk before the state that refers to it.
        Ok(replace(path, &bytes, Privacy::Private)?)
    }

    /// Opens the set with the name `id`; `None` if the file is missing, incomplete or has another name. An incomplete
    /// file is rejected, because keys would be searched in the wrong blocks.
    pub fn open(path: &Path, id: [u8; ID]) -> Result<Option<Self>> {
        let context = || path.display().to_string();
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(context),
        };
        let mut header = [0; HEADER];
        if read_exact_at(&file, &mut header, 0).is_err() {
            return Ok(None);
        }
        let mut blocks = [0; HEADER - BLOCKS_AT];
        blocks.copy_from_slice(&header[BLOCKS_AT..]);
        let blocks = u64::from_le_bytes(blocks);
        let length =
            blocks.checked_mul(BLOCK as u64).and_then(|sum| sum.checked_add(HEADER as u64));
        let is_whole = blocks > 0 && length == Some(file.metadata()?.len());
        let fits = is_whole && header[..8] == MAGIC && header[8..BLOCKS_AT] == id;
        Ok(fits.then_some(Self { file, blocks }))
    }

    /// Returns the capacity of the set in keys.
    pub fn room(&self) -> usize {
        self.blocks as usize * KEYS_OF_BLOCK
    }

    /// Returns whether any session may contain a key. If the result is false, no session contains it.
    ///
    /// # Errors
    /// If the block of the key cannot be read or is damaged.
    pub fn may_hold(&self, key: u64) -> Result<bool> {
        let block = self.block(key)?;
        Ok(bits(key).all(|bit| block[(bit / 8) as usize] & 1 << (bit % 8) != 0))
    }

    /// Adds a key.
    pub fn add(&self, key: u64) -> Result<()> {
        let mut block = self.block(key)?;
        set(&mut block, key);
        seal(&mut block);
        Ok(write_all_at(&self.file, &block, place(key, self.blocks))?)
    }

    /// Waits until the additions are on disk. The state that refers to them is written afterwards.
    pub fn sync(&self) -> Result<()> {
        Ok(self.file.sync_data()?)
    }

    fn block(&self, key: u64) -> Result<[u8; BLOCK]> {
        let mut block = [0; BLOCK];
        read_exact_at(&self.file, &mut block, place(key, self.blocks))?;
        let (bits, check) = block.split_at(BLOCK - 4);
        ensure!(check == checksum(bits).to_le_bytes(), "a block of the set of keys is damaged");
        Ok(block)
    }
}

/// Returns the byte offset of a key's block.
fn place(key: u64, blocks: u64) -> u64 {
    let number = (u128::from(key) * u128::from(blocks)) >> (8 * HASH_BYTES);
    HEADER as u64 + number as u64 * BLOCK as u64
}

/// Returns the bits of a key in its block. Each bit is computed from a new mix of the whole key. If only a start and a
/// step were computed, many keys of a block would have the same bits.
fn bits(key: u64) -> impl Iterator<Item = u64> {
    let chosen = std::iter::successors(Some(mixed(key)), |&before| Some(mixed(before)));
    chosen.take(BITS_OF_KEY).map(|random| ((random >> 32) * BITS) >> 32)
}

fn set(block: &mut [u8], key: u64) {
    for bit in bits(key) {
        block[(bit / 8) as usize] |= 1 << (bit % 8);
    }
}

fn seal(block: &mut [u8]) {
    let (bits, check) = block.split_at_mut(BLOCK - 4);
    check.copy_from_slice(&checksum(bits).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn keys(from: u64, count: u64) -> Vec<u64> {
        let hash = |number: u64| blake3::hash(&number.to_le_bytes());
        let key =
            |number| u64::from_le_bytes(hash(number).as_bytes()[..8].try_into().unwrap()) >> 8;
        (from..from + count).map(key).collect()
    }

    #[test]
    fn what_is_in_it_is_known_and_hardly_anything_else() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys.set");
        assert!(KeySet::open(&path, [7; ID]).unwrap().is_none());
        let (first, more) = (keys(0, 32_000), keys(32_000, 8_000));
        KeySet::create(&path, [7; ID], &first).unwrap();
        assert!(KeySet::open(&path, [8; ID]).unwrap().is_none());
        let set = KeySet::open(&path, [7; ID]).unwrap().unwrap();
        assert!(set.room() >= 40_000);
        more.iter().for_each(|&key| set.add(key).unwrap());
        let known = |keys: &[u64]| keys.iter().filter(|&&key| set.may_hold(key).unwrap()).count();
        assert_eq!((known(&first), known(&more)), (32_000, 8_000));
        // A set with the maximum number of keys for its size.
        assert!(known(&keys(100_000, 50_000)) < 10);
    }

    #[test]
    fn a_lost_bit_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys.set");
        let key = keys(0, 1);
        KeySet::create(&path, [7; ID], &key).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = place(key[0], ((bytes.len() - HEADER) / BLOCK) as u64) as usize;
        let changed = bytes[at..at + BLOCK].iter().position(|byte| *byte != 0).unwrap();
        bytes[at + changed] = 0;
        fs::write(&path, bytes).unwrap();
        let set = KeySet::open(&path, [7; ID]).unwrap().unwrap();
        assert!(set.may_hold(key[0]).is_err() && set.add(key[0]).is_err());
    }

    #[test]
    fn one_of_another_length_than_it_was_made_with_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys.set");
        KeySet::create(&path, [7; ID], &keys(0, 1)).unwrap();
        let bytes = fs::read(&path).unwrap();
        let is_open = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            KeySet::open(&path, [7; ID]).unwrap().is_some()
        };
        assert!(is_open(&bytes));
        // The remaining blocks have correct checksums, but the number of blocks is wrong.
        assert!(!is_open(&bytes[..bytes.len() - BLOCK]));
        assert!(!is_open(&[&bytes[..], &bytes[HEADER..HEADER + BLOCK]].concat()));
        assert!(!is_open(&bytes[..HEADER]));
        assert!(!is_open(&bytes[..HEADER - 1]));
        let uncounted = [&bytes[..BLOCKS_AT], &[0; HEADER - BLOCKS_AT]].concat();
        assert!(!is_open(&uncounted));
        assert!(!is_open(&[&uncounted, &bytes[HEADER..]].concat()));
    }
}
