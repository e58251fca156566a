//! The ledger on disk, with one line and checksum per event. Lines are appended, and the last line about an item is
//! valid. A kill at any moment leaves at most one torn line, which is skipped.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bytes::checksum;
use crate::error::{At, Error, Result};
use crate::fs::disk::{Privacy, open_with_folders, private_options, read_if_there, replace};
use crate::fs::lines::ends_torn;

/// Maximum number of bytes that are read from a ledger. No project needs nearly as many.
const LEDGER_BYTES_MAX: usize = 1 << 30;

/// Number of hexadecimal digits of the checksum before each line.
const CHECKSUM_CHARS: usize = 8;

/// Contents of a ledger file.
pub(super) struct LedgerLines<T> {
    pub events: Vec<T>,
    /// Complete lines of an unknown kind, which a later version of the program wrote.
    pub foreign: Vec<Vec<u8>>,
    /// Number of torn or damaged lines, which are skipped.
    pub damaged: usize,
}

/// Returns the raw contents of the file.
pub(super) fn text(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    Ok(read_if_there(path, LEDGER_BYTES_MAX)?.unwrap_or_default())
}

/// Reads all lines.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<LedgerLines<T>> {
    let bytes = bytes(path)?;
    let mut lines = LedgerLines { events: Vec::new(), foreign: Vec::new(), damaged: 0 };
    for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        match whole(line).map(serde_json::from_slice) {
            Some(Ok(event)) => lines.events.push(event),
            Some(Err(_)) => lines.foreign.push(line.to_vec()),
            None => lines.damaged += 1,
        }
    }
    Ok(lines)
}

/// Appended lines that readers can see but that may not be on disk yet.
#[derive(Debug)]
#[must_use = "they are not on the disk yet"]
pub(crate) struct Unsynced {
    file: File,
    path: PathBuf,
}

impl Unsynced {
    /// Waits until the lines are on disk. Other writers need not wait, because a process that replaces the file has
    /// read these lines and syncs the new file.
    pub(crate) fn sync(self) -> Result<()> {
        self.file.sync_data().at(&self.path)
    }
}

/// Appends lines in one write, and waits until they are on disk.
pub(super) fn append<T: Serialize>(path: &Path, events: &[T]) -> Result<()> {
    match events {
        [] => Ok(()),
        _ => write(path, events)?.sync(),
    }
}

/// Appends lines in one write.
pub(super) fn write<T: Serialize>(path: &Path, events: &[T]) -> Result<Unsynced> {
    let mut options = private_options();
    options.read(true).append(true).create(true);
    let mut file = open_with_folders(path, &options).at(path)?;
    let mut bytes = Vec::new();
    if ends_torn(&mut file).at(path)? {
        bytes.push(b'\n');
    }
    encode(path, events, &mut bytes)?;
    file.write_all(&bytes).at(path)?;
    Ok(Unsynced { file, path: path.to_owned() })
}

/// Replaces the file with these lines, the foreign ones first.
pub(super) fn rewrite<T: Serialize>(path: &Path, foreign: &[Vec<u8>], events: &[T]) -> Result<()> {
    let mut bytes = Vec::new();
    for line in foreign {
        bytes.extend(line);
        bytes.push(b'\n');
    }
    encode(path, events, &mut bytes)?;
    replace(path, &bytes, Privacy::Private)
}

fn encode<T: Serialize>(path: &Path, events: &[T], bytes: &mut Vec<u8>) -> Result<()> {
    for event in events {
        let json = serde_json::to_vec(event)
            .map_err(|error| Error::Io { path: path.to_owned(), source: error.into() })?;
        bytes.extend(format!("{:08x} ", checksum(&json)).bytes());
        bytes.extend(json);
        bytes.push(b'\n');
    }
    Ok(())
}

/// Returns the JSON of a line; `None` if the checksum does not match.
pub(super) fn whole(line: &[u8]) -> Option<&[u8]> {
    let (check, json) = line.split_at_checked(CHECKSUM_CHARS)?;
    let check = u32::from_str_radix(str::from_utf8(check).ok()?, 16).ok()?;
    let json = json.strip_prefix(b" ")?;
    (checksum(json) == check).then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_cut_anywhere_keeps_every_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/ledger");
        let texts = ["one", "two\nlines", "three"].map(str::to_owned);
        append(&path, &texts[..2]).unwrap();
        append(&path, &texts[2..]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let kept = read::<String>(&path).unwrap().events;
            assert_eq!(kept, texts[..kept.len()]);
            append(&path, &["next".to_owned()]).unwrap();
            let mut wanted = kept;
            wanted.push("next".to_owned());
            assert_eq!(read::<String>(&path).unwrap().events, wanted, "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[12] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let lines = read::<String>(&path).unwrap();
        assert_eq!((lines.events.as_slice(), lines.damaged), (&texts[1..], 1));
    }
}
