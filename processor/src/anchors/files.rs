//! Current state of the files of one working tree that memories refer to.
//!
//! A file that did not change since the last run is not read again. No link below the root is followed. Files that git
//! or the settings ignore, or that belong to another repository, are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::fs::file_stamp::modified_ns;
use memory_store::git_dirs::has_git_entry;
use memory_store::store::open_below;
use memory_store::{Error, Timestamp, suspicion};
use serde::{Deserialize, Serialize};

use super::sketch::{ContentHash, Sketch, SketchedContent};
use super::words::Searched;
use crate::collect::ignore::Ignore;
use crate::git::blobs;
use crate::private_files::{read_json, write_json};

/// Maximum size in bytes of a file whose content is compared. Larger files are not examined.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum number of files of a working tree that are read for one publication. The next publication reads the others.
const READ_FILES_MAX: usize = 400;
/// Maximum number of bytes that are read from these files.
const READ_BYTES_MAX: u64 = 32 << 20;
/// Nanoseconds of a millisecond.
const NS_OF_MS: i64 = 1_000_000;

/// Current state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// The file exists; the hash of its content.
    Content(ContentHash),
    /// The file does not exist.
    Missing,
    /// The file was not examined, or has no text to compare.
    Unknown,
}

/// Cached state of the files of a working tree, which makes the next run faster.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComparedFile {
    files: BTreeMap<String, ReadFile>,
    /// Whether the second of two contents is a rewritten form of the first; the key is the two hashes.
    rewritten: BTreeMap<String, bool>,
    /// The commit for which `moved` was determined.
    head: Option<String>,
    /// Files that are not in the commit, each with its new path; `None` if the file was removed.
    moved: BTreeMap<String, Option<String>>,
    /// Result of the last search for names.
    pub searched: Searched,
}

/// State of a file when it was last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReadFile {
    bytes: u64,
    modified_ns: i64,
    /// Hash of the content; `None` if the file is not text.
    hash: Option<ContentHash>,
}

/// Result of the search for a missing file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// HEAD still contains the file, or git gave no answer.
    Undecided,
    /// The file was moved to this path.
    Moved(String),
    /// The file was removed.
    Gone,
}

/// Access to the files of one working tree.
pub struct Files<'a> {
    pub(super) root: &'a Path,
    pub(super) ignore: &'a Ignore,
    path: PathBuf,
    pub(super) compared: ComparedFile,
    now: BTreeMap<String, Now>,
    contents: BTreeMap<String, SketchedContent>,
    read_files: usize,
    read_bytes: u64,
    used: BTreeSet<String>,
}

impl<'a> Files<'a> {
    /// Reads the stored state of the tree at `root` from `path`.
    pub fn open(root: &'a Path, ignore: &'a Ignore, path: PathBuf) -> Self {
        let compared = read_json(&path).unwrap_or_default();
        let (now, contents, used) = Default::default();
        Self { root, ignore, path, compared, now, contents, read_files: 0, read_bytes: 0, used }
    }

    /// Determines the current state of files. Each file is examined only once.
    pub fn look<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) {
        let mut unread: Vec<(&str, File, ReadFile)> = Vec::new();
        for path in paths {
            if self.now.contains_key(path) {
                continue;
            }
            let now = match self.open_file(path) {
                Ok((_, is)) if self.is_known(path, &is) => match &self.compared.files[path].hash {
                    Some(hash) => Now::Content(hash.clone()),
                    None => Now::Unknown,
                },
                Ok((file, is)) => {
                    unread.push((path, file, is));
                    Now::Unknown
                }
                Err(now) => now,
            };
            self.now.insert(path.to_owned(), now);
        }
        let paths: Vec<&str> = unread.iter().map(|(path, ..)| *path).collect();
        let open = self.open_to_us(&paths);
        for (path, file, is) in unread.into_iter().filter(|(path, ..)| open.contains(*path)) {
            let Some(content) = self.read(file, &is) else { continue };
            let hash = content.as_ref().map(|content| content.hash.clone());
            if let Some(hash) = &hash {
                self.now.insert(path.to_owned(), Now::Content(hash.clone()));
            }
            self.contents.extend(content.map(|content| (path.to_owned(), content)));
            self.compared.files.insert(path.to_owned(), ReadFile { hash, ..is });
        }
    }

    /// Returns the state of a file as [`Self::look`] found it.
    pub fn now(&self, path: &str) -> &Now {
        self.now.get(path).unwrap_or(&Now::Unknown)
    }

    /// Returns the time of a file's last change.
    pub fn modified(&self, path: &str) -> Option<Timestamp> {
        self.compared.files.get(path).map(|known| Timestamp(known.modified_ns / NS_OF_MS))
    }

    /// Returns the content of a file if it can be read.
    pub fn content(&mut self, path: &str) -> Option<&SketchedContent> {
        let Now::Content(hash) = self.now(path).clone() else { return None };
        if !self.contents.contains_key(path) {
            let (file, is) = self.open_file(path).ok()?;
            let content = self.read(file, &is)??;
            self.contents.insert(path.to_owned(), content);
        }
        self.contents.get(path).filter(|content| content.hash == hash)
    }

    /// Whether less than half of a file's former content remains; `None` if this cannot be determined now.
    pub fn is_rewritten(&mut self, path: &str, was: &ContentHash, sketch: &Sketch) -> Option<bool> {
        let Now::Content(hash) = self.now(path) else { return None };
        let key = format!("{was} {hash}");
        let known = self.compared.rewritten.get(&key).copied();
        let is_rewritten = known.or_else(|| Some(sketch.is_rewritten(self.content(path)?)))?;
        self.compared.rewritten.insert(key.clone(), is_rewritten);
        self.used.insert(key);
        Some(is_rewritten)
    }

    /// Returns, for each missing file, whether it was moved or removed. The time for each path is the earliest at which
    /// the file may have been moved.
    pub fn absent(&mut self, paths: &BTreeMap<&str, Timestamp>) -> BTreeMap<String, Absent> {
        let all = |absent: Absent| {
            paths.keys().map(|path| ((*path).to_owned(), absent.clone())).collect()
        };
        if paths.is_empty() {
            return BTreeMap::new();
        }
        if !self.is_in_repository() {
            return all(Absent::Gone);
        }
        let Some(head) = blobs::head(self.root) else { return all(Absent::Undecided) };
        let asked: Vec<&str> = paths.keys().copied().collect();
        let Some(there) = blobs::has(self.root, &head, &asked) else {
            return all(Absent::Undecided);
        };
        let gone = || paths.iter().filter(|(path, _)| !there.contains(**path));
        let known = &mut self.compared;
        if known.head.as_ref() != Some(&head) || gone().any(|(p, _)| !known.moved.contains_key(*p))
        {
            let is_known = gone().all(|(path, _)| known.moved.contains_key(*path));
            let since = known.head.as_deref().filter(|_| is_known);
            let renames = blobs::renames(self.root, since);
            let before = std::mem::take(&mut known.moved);
            for (&path, &at) in gone() {
                let found = before.get(path).filter(|_| is_known).cloned().flatten();
                let target = renames.iter().filter(|rename| rename.at >= at).fold(
                    found.unwrap_or_else(|| path.to_owned()),
                    |now, rename| {
                        if rename.source == now { rename.target.clone() } else { now }
                    },
                );
                // A file name that another person chose may contain an instruction to the model; such a name is not
                // reported.
                let moved = target != path && suspicion::of_name(&target).is_none();
                known.moved.insert(path.to_owned(), moved.then_some(target));
            }
            known.head = Some(head);
        }
        let moved = self.compared.moved.clone();
        self.look(moved.values().flatten().map(String::as_str));
        let absent = |path: &&str| {
            if there.contains(*path) {
                return Absent::Undecided;
            }
            let target = moved.get(*path).cloned().flatten();
            let target = target.filter(|target| *self.now(target) != Now::Missing);
            target.map_or(Absent::Gone, Absent::Moved)
        };
        paths.keys().map(|path| ((*path).to_owned(), absent(path))).collect()
    }

    /// Writes the state to the cache file.
    pub fn write(self) -> Result<()> {
        let Self { path, mut compared, now, used, .. } = self;
        compared.files.retain(|path, _| now.contains_key(path));
        compared.rewritten.retain(|key, _| used.contains(key));
        write_json(&path, &compared)
    }

    /// Opens a file, or returns the state that follows from the error.
    fn open_file(&self, path: &str) -> Result<(File, ReadFile), Now> {
        match open_below(self.root, &self.root.join(path)) {
            Ok((file, metadata)) => {
                let modified_ns = modified_ns(&metadata).ok_or(Now::Unknown)?;
                Ok((file, ReadFile { bytes: metadata.len(), modified_ns, hash: None }))
            }
            Err(Error::Io { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Err(Now::Missing)
            }
            Err(_) => Err(Now::Unknown),
        }
    }

    fn is_known(&self, path: &str, is: &ReadFile) -> bool {
        let known = self.compared.files.get(path);
        known.is_some_and(|known| (known.bytes, known.modified_ns) == (is.bytes, is.modified_ns))
    }

    /// Returns the paths that may be read: ignored files and files of another repository are excluded.
    fn open_to_us<'p>(&self, paths: &[&'p str]) -> BTreeSet<&'p str> {
        let own = paths.iter().copied();
        let own: Vec<&str> =
            own.filter(|path| !self.ignore.covers(path) && self.is_ours(path)).collect();
        if own.is_empty() || !self.is_in_repository() {
            return own.into_iter().collect();
        }
        // Without an answer from git, no file is read.
        let Some(ignored) = blobs::ignored(self.root, &own) else { return BTreeSet::new() };
        own.into_iter().filter(|path| !ignored.contains(*path)).collect()
    }

    /// Whether no folder on the path to a file is the root of another repository.
    fn is_ours(&self, path: &str) -> bool {
        let mut folders = Path::new(path).ancestors().skip(1);
        let begins =
            |folder: &Path| folder != Path::new("") && has_git_entry(&self.root.join(folder));
        !folders.any(begins)
    }

    pub(super) fn is_in_repository(&self) -> bool {
        self.root.ancestors().any(has_git_entry)
    }

    /// Reads a file, unless a limit is exceeded. Returns `Some(None)` if the file is not text.
    fn read(&mut self, file: File, is: &ReadFile) -> Option<Option<SketchedContent>> {
        let fits = is.bytes <= FILE_BYTES_MAX && self.read_bytes + is.bytes <= READ_BYTES_MAX;
        if !fits || self.read_files == READ_FILES_MAX {
            return None;
        }
        self.read_files += 1;
        self.read_bytes += is.bytes;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(SketchedContent::of(&bytes))
    }
}
