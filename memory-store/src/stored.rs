//! Memory files in folders: reads one file, lists many, and locks a store for changes. The modules for the ledger,
//! identity, trust and the store depend on this module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unicode_normalization::UnicodeNormalization;
use walkdir::{DirEntry, WalkDir};

use crate::error::{At, Error, Result, shown};
use crate::file::{EXTENSION, FILE_BYTES_MAX, MemoryFile};
use crate::format_version;
use crate::fs::disk::{FileReader, Privacy, create_folder, private_options, refused};
use crate::fs::file_name;
use crate::fs::file_stamp::{Stamp, modified_ns};
use crate::fs::lock::{self, LOCK_WAIT};
use crate::id::{MemoryId, abbreviated};
use crate::layout::ProjectDir;
use crate::memory::Memory;

/// Maximum number of files that are read in one store. Further files are reported as errors.
pub const FILES_MAX: usize = 200_000;

/// Maximum size in bytes of all files that are read in one store. Further files are reported as errors. The limit
/// suffices for about 200,000 memories of the usual length; a larger store is probably malicious.
pub(crate) const STORE_BYTES_MAX: u64 = 128 << 20;

/// Remedy for a store that is too large to read.
const FEWER: &str = "Remove what is no memory, or keep fewer of them.";

/// Minimum number of characters of an id with which a memory can be found.
pub const SHORT_ID_CHARS_MIN: usize = 4;

/// Maximum depth of folders in a store. A person may sort memories into folders.
pub(crate) const LEVELS_MAX: usize = 4;

/// A memory and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The file.
    pub path: PathBuf,
    /// The memory.
    pub memory: Memory,
    /// Size and modification time of the file when it was read.
    pub stamp: Stamp,
    /// Hash of the file's text (see [`text_hash`]).
    pub text: String,
}

/// Contents of a store.
#[derive(Debug, Default)]
pub struct Listing {
    /// The memories, by id.
    pub memories: Vec<Stored>,
    /// Files that have the same id or name as a selected file.
    pub repeats: Vec<Stored>,
    /// Errors about files that are not valid memories, or that have the same id or name as a selected file. Such files
    /// are not changed.
    pub broken: Vec<Error>,
}

/// A memory file as read from the disk.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub stored: Stored,
    pub file: MemoryFile,
}

/// Lists the memories in folders. Several files may have the same id or name (see [`refuse_twins`]). Of these, the
/// first file by folder and path for which `is_held` returns false is selected, so that a withheld file hides no other
/// file. If `is_held` returns true for all of them, the first file is selected. A file with the same id in a later
/// folder is not an error, because the file of a draft may be in the working tree again.
pub(crate) fn list<P: AsRef<Path>>(
    folders: &[P],
    is_held: &mut dyn FnMut(&Stored) -> bool,
) -> Listing {
    let mut listing = Listing::default();
    let mut all = Vec::new();
    visit(folders, &mut |read| match read {
        Ok(read) => all.push(read.stored),
        Err(error) => listing.broken.push(error),
    });
    for (twin, error) in refuse_twins(folders, &mut all, |stored| &stored.path, is_held) {
        listing.repeats.push(twin);
        listing.broken.push(error);
    }
    let mut by_id: BTreeMap<MemoryId, Vec<Stored>> = BTreeMap::new();
    for stored in all {
        by_id.entry(stored.memory.id).or_default().push(stored);
    }
    for (_, mut files) in by_id {
        let number = counting(&files, &mut *is_held);
        let counts = files.remove(number);
        let repeats = files.iter().enumerate().filter(|(before, other)| {
            *before < number || same_folder(folders, &counts.path, &other.path)
        });
        listing.broken.extend(repeats.map(|(_, other)| repeated(&other.path, &counts.path)));
        listing.repeats.extend(files);
        listing.memories.push(counts);
    }
    listing
}

impl Listing {
    /// Finds a memory by its id, or by the first or last characters of its id.
    ///
    /// # Errors
    /// [`Error::NotFound`] unless exactly one memory matches.
    pub fn find(&self, id: &str) -> Result<Stored> {
        let memories = self.memories.iter().filter(|_| id.trim().len() >= SHORT_ID_CHARS_MIN);
        let found = abbreviated(id, memories.map(|stored| (stored.memory.id, stored)));
        match found[..] {
            [stored] => Ok(stored.clone()),
            _ => Err(Error::NotFound { id: id.to_owned(), found: found.len() }),
        }
    }

    /// Returns all valid memory files, including those with a duplicate id or name.
    pub fn files(&self) -> impl Iterator<Item = &Stored> {
        self.memories.iter().chain(&self.repeats)
    }
}

/// Returns the index of the file to select from several files with the same id or name: the first file for which
/// `is_held` returns false, or else the first file. `is_held` is called only if there are several files.
fn counting<T>(files: &[T], mut is_held: impl FnMut(&T) -> bool) -> usize {
    match files.len() {
        1 => 0,
        _ => files.iter().position(|file| !is_held(file)).unwrap_or_default(),
    }
}

/// Removes files whose names differ only in case or in composed letters, because other systems treat such names as
/// equal. Returns an error for each of them. The caller must have read all files, including withheld files, because a
/// file that is not selected occupies no name.
pub(crate) fn refuse_twins<P: AsRef<Path>, T>(
    folders: &[P],
    files: &mut Vec<T>,
    path: fn(&T) -> &Path,
    is_held: &mut dyn FnMut(&T) -> bool,
) -> Vec<(T, Error)> {
    let mut by_name: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        let below = |(folder, at): (usize, &P)| Some((folder, path(file).strip_prefix(at).ok()?));
        let (folder, name) = folders.iter().enumerate().find_map(below).unwrap_or((0, path(file)));
        by_name.entry((folder, folded(name))).or_default().push(number);
    }
    let mut errors: BTreeMap<usize, Error> = BTreeMap::new();
    for mut twins in by_name.into_values() {
        let counts = twins.remove(counting(&twins, |number| is_held(&files[*number])));
        let refuse = |twin| (twin, same_name(path(&files[twin]), path(&files[counts])));
        errors.extend(twins.into_iter().map(refuse));
    }
    let mut refused = Vec::new();
    for (number, file) in std::mem::take(files).into_iter().enumerate() {
        match errors.remove(&number) {
            Some(error) => refused.push((file, error)),
            None => files.push(file),
        }
    }
    refused
}

/// Returns a path in a form that does not depend on case and composed letters.
pub(crate) fn folded(path: &Path) -> String {
    let path = path.to_string_lossy();
    match path.is_ascii() {
        true => path.to_ascii_lowercase(),
        false => path.nfc().flat_map(char::to_lowercase).collect(),
    }
}

fn same_folder<P: AsRef<Path>>(folders: &[P], a: &Path, b: &Path) -> bool {
    folders.iter().any(|folder| a.starts_with(folder) && b.starts_with(folder))
}

/// Reads every memory file in the order of folders and paths, including duplicates (see [`refuse_twins`]). An error
/// about a folder means that not all files of the folder were read.
pub(crate) fn visit<P: AsRef<Path>>(folders: &[P], each: &mut dyn FnMut(Result<Read>)) {
    visit_up_to(STORE_BYTES_MAX, folders, each);
}

fn visit_up_to<P: AsRef<Path>>(bytes_max: u64, folders: &[P], each: &mut dyn FnMut(Result<Read>)) {
    let (mut files, mut bytes) = (0, 0);
    let mut reader = FileReader::default();
    for folder in folders {
        let folder = folder.as_ref();
        for entry in walk(folder) {
            match entry {
                Ok(entry) if is_memory_name(&entry) => {
                    files += 1;
                    if files > FILES_MAX {
                        let message = format!("more than {FILES_MAX} files; the rest is not read");
                        each(Err(refused(folder, &message, FEWER)));
                        return;
                    }
                    let read = check_name(folder, entry.path())
                        .and_then(|()| read_with(&mut reader, entry.path()));
                    bytes += match &read {
                        Ok(read) => read.stored.stamp.bytes,
                        // Only this many bytes of a larger file were read.
                        Err(_) => entry
                            .metadata()
                            .map_or(0, |metadata| metadata.len().min(FILE_BYTES_MAX as u64)),
                    };
                    each(read);
                    if bytes > bytes_max {
                        let limit = bytes_max >> 20;
                        let message =
                            format!("the files have more than {limit} MiB; the rest is not read");
                        each(Err(refused(folder, &message, FEWER)));
                        return;
                    }
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

fn walk(folder: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> {
    WalkDir::new(folder)
        .min_depth(1)
        .max_depth(LEVELS_MAX)
        .follow_links(false)
        .follow_root_links(false)
        // All compared entries are in the same folder, so comparing whole paths gives the order of the names.
        // Extracting the name from each path is slower.
        .sort_by(|a, b| a.path().as_os_str().cmp(b.path().as_os_str()))
        .into_iter()
        .filter_entry(|entry| !is_hidden(entry))
}

/// Returns the paths of the memory files in folders, without reading the files.
pub(crate) fn paths<P: AsRef<Path>>(folders: &[P]) -> BTreeSet<PathBuf> {
    found(folders).take(FILES_MAX).collect()
}

/// Returns the paths of the memory files in folders, in the order of the walk.
pub(crate) fn found<P: AsRef<Path>>(folders: &[P]) -> impl Iterator<Item = PathBuf> {
    let entries = folders.iter().flat_map(|folder| walk(folder.as_ref()));
    let files = entries.filter_map(|entry| entry.ok().filter(is_memory_name));
    files.map(DirEntry::into_path)
}

/// Returns an error for a file whose name is not portable.
pub(crate) fn check_name(folder: &Path, path: &Path) -> Result<()> {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let mut names = relative.components().map(|part| part.as_os_str().to_string_lossy());
    let why = names.find_map(|name| file_name::refused(&name));
    why.map_or(Ok(()), |why| Err(refused(path, why, "Rename it.")))
}

/// Reads one memory file.
pub(crate) fn read(path: &Path) -> Result<Read> {
    read_with(&mut FileReader::default(), path)
}

fn read_with(reader: &mut FileReader, path: &Path) -> Result<Read> {
    let (bytes, metadata) = reader.read(path, FILE_BYTES_MAX)?;
    let file = MemoryFile::parse(path, bytes)?;
    let stored = Stored {
        path: path.to_owned(),
        memory: file.memory.clone(),
        stamp: Stamp {
            bytes: metadata.len(),
            modified_ns: modified_ns(&metadata).unwrap_or_default(),
        },
        text: text_hash(file.text()),
    };
    Ok(Read { stored, file })
}

/// Reads a file that was just written. If git has removed the file in between, returns the memory as written. The
/// memory is still saved, because the ledger contains it.
pub(crate) fn read_back(path: &Path, written: &MemoryFile) -> Result<Stored> {
    match read(path) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Stored {
                path: path.to_owned(),
                memory: written.memory.clone(),
                stamp: Stamp { bytes: written.text().len() as u64, modified_ns: 0 },
                text: text_hash(written.text()),
            })
        }
        read => read.map(|read| read.stored),
    }
}

/// Returns the hash of a memory file's text. The hash does not depend on line endings, which git may convert.
pub(crate) fn text_hash(text: &str) -> String {
    const HASH_CHARS: usize = 32;
    let hash = match text.contains('\r') {
        true => blake3::hash(text.replace("\r\n", "\n").as_bytes()),
        false => blake3::hash(text.as_bytes()),
    };
    hash.to_hex()[..HASH_CHARS].to_owned()
}

/// Takes the lock for changes to a project's files, including its record. See `Store::lock`.
pub(crate) fn lock(home: &ProjectDir) -> Result<File> {
    lock_within(home, LOCK_WAIT)
}

/// Takes the store's lock, and waits at most `most` for it. Returns an error for a store of an unsupported format.
pub(crate) fn lock_within(home: &ProjectDir, most: Duration) -> Result<File> {
    create_folder(&home.folder, Privacy::Private)?;
    let path = home.folder.join("store.lock");
    let mut options = private_options();
    let lock = options.create(true).truncate(false).write(true).open(&path).at(&path)?;
    lock::take(&lock, &path, lock::Hold::Alone, most)?;
    format_version::check_private(home)?;
    Ok(lock)
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().as_encoded_bytes().first() == Some(&b'.')
}

fn is_memory_name(entry: &DirEntry) -> bool {
    let name = entry.file_name().as_encoded_bytes();
    let ends_with = |end: &[u8]| {
        let start = name.len().checked_sub(end.len());
        start.is_some_and(|start| name[start..].eq_ignore_ascii_case(end))
    };
    let has_extension = ends_with(EXTENSION.as_bytes())
        && name[..name.len() - EXTENSION.len()].strip_suffix(b".").is_some_and(|stem| stem != b"");
    !entry.file_type().is_dir() && has_extension && !name.eq_ignore_ascii_case(b"readme.md")
}

fn is_missing(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn same_name(path: &Path, counts: &Path) -> Error {
    let message = format!(
        "where case and composed letters make no difference it is the same file as {}",
        shown(counts)
    );
    refused(path, &message, "Rename one of them.")
}

fn repeated(path: &Path, first: &Path) -> Error {
    let message = format!("has the same id as {}; only that one is read", first.display());
    refused(path, &message, "Remove one of the two, or give this one another `id`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_a_store_is_bounded_and_the_excess_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "c", "d", "e"] {
            let file = folder.path().join(name).with_extension("md");
            std::fs::write(file, format!("# {name}\n\n{}", "x".repeat(1 << 19))).unwrap();
        }
        // The first file is larger than a store may be. This must not hide the other files.
        let hole = File::create(folder.path().join("a.md")).unwrap();
        hole.set_len(STORE_BYTES_MAX + 1).unwrap();
        let read = |bytes_max| {
            let mut errors = Vec::new();
            visit_up_to(bytes_max, &[folder.path()], &mut |read| errors.extend(read.err()));
            errors
        };
        // Each file is too long for a memory. It counts with the number of bytes that were read.
        assert_eq!(read(5 * FILE_BYTES_MAX as u64).len(), 5);
        let errors = read(1 << 20);
        assert_eq!(errors.len(), 6, "all five, and that it was too much");
        let Error::Refused { path, message, .. } = &errors[5] else { panic!("{errors:?}") };
        assert_eq!(path, folder.path());
        assert_eq!(message, "the files have more than 1 MiB; the rest is not read");
    }
}
