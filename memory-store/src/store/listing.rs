//! What a folder of memory files holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::disk;
use crate::error::{Error, Place, Result};
use crate::file::{EXTENSION, FILE_BYTES_MAX, MemoryFile};
use crate::id::MemoryId;
use crate::memory::Memory;

/// Files of one store that are read; what is beyond is reported.
pub const FILES_MAX: usize = 200_000;

/// Levels of folders in a store: a person may sort memories into a few.
pub(super) const LEVELS_MAX: usize = 4;

/// A memory and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub memory: Memory,
    /// When it was last modified, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Its length in bytes.
    pub len: u64,
}

/// What a store holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// The memories, by id.
    pub memories: Vec<Stored>,
    /// Files that are no valid memory, or that repeat another's id. They are left alone.
    pub broken: Vec<Error>,
}

/// A file as it was read, with its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub stored: Stored,
    pub file: MemoryFile,
}

/// Lists folders; of several files with one id the first by folder and path counts. That a later
/// folder repeats an earlier one is no fault: a draft may be in the tree again.
pub(crate) fn list(folders: &[&Path]) -> Listing {
    let mut listing = Listing::default();
    let mut by_id: BTreeMap<MemoryId, Stored> = BTreeMap::new();
    visit(folders, &mut |read| match read {
        Ok(read) => match by_id.get(&read.stored.memory.id) {
            Some(first) if !same_folder(folders, &first.path, &read.stored.path) => {}
            Some(first) => listing.broken.push(repeated(&read.stored.path, &first.path)),
            None => {
                by_id.insert(read.stored.memory.id, read.stored);
            }
        },
        Err(error) => listing.broken.push(error),
    });
    listing.memories = by_id.into_values().collect();
    listing
}

fn same_folder(folders: &[&Path], a: &Path, b: &Path) -> bool {
    folders.iter().any(|folder| a.starts_with(folder) && b.starts_with(folder))
}

/// Reads every memory file, in the order of folders and paths.
pub(crate) fn visit(folders: &[&Path], each: &mut dyn FnMut(Result<Read>)) {
    let mut files = 0;
    for folder in folders {
        let walk = WalkDir::new(folder)
            .min_depth(1)
            .max_depth(LEVELS_MAX)
            .follow_links(false)
            .follow_root_links(false)
            .sort_by_file_name();
        for entry in walk.into_iter().filter_entry(|entry| !is_hidden(entry)) {
            match entry {
                Ok(entry) if is_memory_name(&entry) => {
                    files += 1;
                    if files > FILES_MAX {
                        let message = format!("more than {FILES_MAX} files; the rest is not read");
                        each(Err(at_start(folder, message)));
                        return;
                    }
                    each(read(entry.path()));
                }
                Ok(_) => {}
                Err(error) if is_missing(&error) => {}
                Err(error) => {
                    let path = error.path().unwrap_or(folder).to_owned();
                    each(Err(Error::Io { path, source: error.into() }));
                }
            }
        }
    }
}

/// Reads one memory file.
pub(crate) fn read(path: &Path) -> Result<Read> {
    let (bytes, metadata) = disk::read(path, FILE_BYTES_MAX)?;
    let file = MemoryFile::parse(path, bytes)?;
    let stored = Stored {
        path: path.to_owned(),
        memory: file.memory.clone(),
        modified_ns: modified_ns(&metadata),
        len: metadata.len(),
    };
    Ok(Read { stored, file })
}

#[cfg(unix)]
fn modified_ns(metadata: &std::fs::Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt;
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

#[cfg(not(unix))]
fn modified_ns(metadata: &std::fs::Metadata) -> i128 {
    let since =
        metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as i128)
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().as_encoded_bytes().first() == Some(&b'.')
}

fn is_memory_name(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
    !entry.file_type().is_dir()
        && Path::new(&name).extension().is_some_and(|extension| extension == EXTENSION)
        && name != "readme.md"
}

fn is_missing(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn repeated(path: &Path, first: &Path) -> Error {
    at_start(path, format!("has the same id as {}; only that one is read", first.display()))
}

fn at_start(path: &Path, message: String) -> Error {
    Error::Memory { path: path.to_owned(), place: Place { line: 1, column: 1 }, message }
}
