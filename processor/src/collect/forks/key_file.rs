//! Key files. A key file contains the keys of an archived session's records, so that a search for shared records does
//! not compute them again.
//!
//! For each record the file contains both hashes, [`HASH_BYTES`] each, and the time since the previous record. The time
//! is usually small, so it has a variable length.

use std::path::PathBuf;

use anyhow::Result;
use memory_store::bytes::{checksum, put_varint, take_varint};
use memory_store::layout::ProjectDir;

use super::RecordKey;
use crate::private_files::{read_bounded, write_whole};

/// Size of a hash in bytes. In a project with ten million keys, the chance that any two hashes are equal is about one
/// in a thousand.
pub(super) const HASH_BYTES: usize = 7;

/// First bytes of a key file. Older versions wrote hashes of eight bytes and absolute times, without a checksum.
const MARK: &[u8] = b"3 ";

/// Size in bytes of the checksum at the end of the file.
const CHECK: usize = 4;

/// Stores the keys of a session whose records have the hash `content`.
pub fn store_keys(home: &ProjectDir, name: &str, content: &str, keys: &[RecordKey]) -> Result<()> {
    let mut bytes = [MARK, content.as_bytes(), b"\n"].concat();
    let mut before = 0;
    for record in keys.chunks_exact(2) {
        for key in record {
            bytes.extend_from_slice(&key.hash.to_le_bytes()[..HASH_BYTES]);
        }
        let later = record[0].at.wrapping_sub(before);
        // The sign is stored in the lowest bit, so that a small negative difference also needs few bytes.
        put_varint(&mut bytes, (later << 1 ^ later >> 63).cast_unsigned());
        before = record[0].at;
    }
    let check = checksum(&bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    write_whole(&path(home, name), &bytes)
}

/// Reads the keys of a session; `None` if the file is missing, is damaged, or contains the keys of other records.
pub fn load_keys(home: &ProjectDir, name: &str, content: &str) -> Option<Vec<RecordKey>> {
    parse(&read_bounded(&path(home, name))?, content)
}

fn parse(bytes: &[u8], content: &str) -> Option<Vec<RecordKey>> {
    let (bytes, check) = bytes.split_last_chunk::<CHECK>()?;
    let rest = bytes.strip_prefix(MARK)?.strip_prefix(content.as_bytes())?.strip_prefix(b"\n")?;
    if checksum(bytes) != u32::from_le_bytes(*check) {
        return None;
    }
    let (mut keys, mut rest, mut at) = (Vec::new(), rest, 0i64);
    while !rest.is_empty() {
        let (hashes, after) = rest.split_first_chunk::<{ 2 * HASH_BYTES }>()?;
        rest = after;
        let later = take_varint(&mut rest)?;
        at = at.wrapping_add((later >> 1).cast_signed() ^ -(later & 1).cast_signed());
        keys.extend(hashes.as_chunks::<HASH_BYTES>().0.iter().map(|hash| RecordKey::new(hash, at)));
    }
    Some(keys)
}

/// Returns the path of a session's key file.
fn path(home: &ProjectDir, name: &str) -> PathBuf {
    home.mined.join(format!("{name}.keys"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn keys(times: &[i64]) -> Vec<RecordKey> {
        let record = |(number, at): (usize, &i64)| {
            [number as u8, 255].map(|byte| RecordKey::new(&[byte; HASH_BYTES], *at))
        };
        times.iter().enumerate().flat_map(record).collect()
    }

    #[test]
    fn keys_are_kept_for_the_records_they_were_made_of() {
        let home = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(home.path().to_owned());
        let keys = keys(&[-1, 2, 1_700_000_000_000, 1_700_000_005_000, i64::MIN, i64::MAX, 0]);
        store_keys(&home, "s", "content", &keys).unwrap();
        assert_eq!(load_keys(&home, "s", "content"), Some(keys));
        assert_eq!(load_keys(&home, "s", "other"), None);
        assert_eq!(load_keys(&home, "t", "content"), None);
    }

    #[test]
    fn a_flipped_bit_or_a_missing_end_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(home.path().to_owned());
        store_keys(&home, "s", "c", &keys(&[5_000, 10_000])).unwrap();
        let sound = fs::read(path(&home, "s")).unwrap();
        assert!(parse(&sound, "c").is_some());
        for at in 0..sound.len() * 8 {
            let mut damaged = sound.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert_eq!(parse(&damaged, "c"), None, "bit {at}");
        }
        for end in 0..sound.len() {
            assert_eq!(parse(&sound[..end], "c"), None, "{end}");
        }
        // A key file of an older version.
        let older = [&b"2 c\n"[..], &[7; 24]].concat();
        assert_eq!(parse(&older, "c"), None);
    }
}
