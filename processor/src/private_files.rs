//! Private files of the processor. They are read up to a maximum size, replaced atomically, and stored in folders that
//! only their owner may enter.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use memory_store::fs::file_stamp;
use memory_store::fs::open_regular::{self, Links};
use memory_store::store::{Privacy, create_folder};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum number of bytes of a private file, also after unpacking.
pub const FILE_BYTES_MAX: u64 = 256 << 20;

/// First bytes of a compressed file (RFC 1952).
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads a JSON file; `None` if it is missing, damaged or too large.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_bounded(path)?).ok()
}

/// Text before the checksum at the end of a JSON object. A reader that does not support the checksum ignores this
/// field.
const CHECK: &str = ",\"check\":\"";

/// Error for a file with a wrong checksum or invalid content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Reads a file written by [`write_checked`] or [`write_packed`]; `None` if it is missing. Files of older versions have
/// no checksum.
pub fn read_checked<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Damaged> {
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let bytes = read_bounded(path).and_then(unpack).ok_or(Damaged)?;
    if let Some(at) = memchr::memmem::rfind(&bytes, CHECK.as_bytes())
        && bytes[at..] != *check(&bytes[..at]).as_bytes()
    {
        return Err(Damaged);
    }
    // A line may follow the object, in which older versions wrote the checksum of mined data.
    let value = T::deserialize(&mut serde_json::Deserializer::from_slice(&bytes));
    value.map(Some).map_err(|_| Damaged)
}

/// Replaces the file of a JSON object atomically, with a checksum. An unchanged file is not written.
pub fn write_checked<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    write_whole(path, &checked(path, value)?)
}

/// Like [`write_checked`], but compressed, for large objects with repetitions.
pub fn write_packed<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let packed = pack(&checked(path, value)?, Compression::fast());
    write_whole(path, &packed.with_context(|| path.display().to_string())?)
}

/// Returns the JSON of an object with its checksum.
fn checked<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value).with_context(|| path.display().to_string())?;
    anyhow::ensure!(bytes.pop() == Some(b'}'), "{}: this is no object", path.display());
    let check = check(&bytes);
    bytes.extend(check.into_bytes());
    Ok(bytes)
}

/// Compresses the content of a file.
pub fn pack(bytes: &[u8], level: Compression) -> io::Result<Vec<u8>> {
    // The header has no time and no name, so equal content results in equal bytes.
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), level);
    gzip.write_all(bytes)?;
    gzip.finish()
}

/// Decompresses the content of a file, and returns other content unchanged; `None` if it is damaged.
pub fn unpack(bytes: Vec<u8>) -> Option<Vec<u8>> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Some(bytes);
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).take(FILE_BYTES_MAX).read_to_end(&mut unpacked).ok()?;
    Some(unpacked)
}

/// Returns the end of a JSON object with the checksum of its beginning.
fn check(begin: &[u8]) -> String {
    format!("{CHECK}{}\"}}\n", &blake3::hash(begin).to_hex()[..16])
}

/// Removes a file. Returns whether it existed.
pub fn remove_if_there(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Reads a private file; `None` if it is missing, too large, or not a regular file.
pub fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    let file = open_regular::open(path, Links::Follow).ok()?;
    let len = file.metadata().ok()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(len.min(FILE_BYTES_MAX)).ok()?);
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes)
}

/// Replaces a JSON file atomically. An unchanged file is not written.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let mut bytes = serde_json::to_vec(value).with_context(|| path.display().to_string())?;
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

/// Replaces a file atomically, without waiting for the disk, because its content can be derived again. An unchanged
/// file is not written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let folder = path.parent().context("a file has a folder")?;
    create_private(folder)?;
    let mut temporary = tempfile::Builder::new()
        .prefix(".writing-")
        .tempfile_in(folder)
        .with_context(|| folder.display().to_string())?;
    temporary.write_all(bytes).with_context(|| path.display().to_string())?;
    temporary.persist(path).with_context(|| path.display().to_string())?;
    Ok(())
}

/// Creates a folder that only its owner may enter.
pub fn create_private(folder: &Path) -> Result<()> {
    Ok(create_folder(folder, Privacy::Private)?)
}

/// Returns the time of the last change of a file, in nanoseconds since 1970.
pub fn modified_ns(metadata: &fs::Metadata) -> i128 {
    file_stamp::modified_ns(metadata).map_or(0, i128::from)
}
