//! Reads and changes one memory whose file is known. No other memory file is read, and only the ledger lines about this
//! memory are parsed, so the time does not depend on the size of the store.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::{By, Change, Saved, Store, is_same, mark_as_claudes_note, unite};
use crate::error::{Error, Result};
use crate::file::MemoryFile;
use crate::fs::disk::UnnamedFile;
use crate::fs::file_stamp::Stamps;
use crate::id::MemoryId;
use crate::index::document::Document;
use crate::layout::Tree;
use crate::ledger::{LedgerEntry, LedgerOrigin, Lookup, Unsynced, redacted_file};
use crate::memory::Memory;
use crate::recall::{Collection, IndexedFile, Recall};
use crate::redact::Redactor;
use crate::settings::Settings;
use crate::store::{Privacy, replace};
use crate::stored::{self, Read, Stored};
use crate::text::folded_title;
use crate::time::Timestamp;
use crate::trust::Trust;

/// Maximum number of files that differ from the index and are read one by one. If there are more, all files are read.
const OTHERS_MAX: usize = 100;

/// Maximum number of free names that are tried for a new file.
const NAMES_TRIED_MAX: usize = 3;

/// A memory file to be created.
struct NewFile {
    file: MemoryFile,
    /// The file without a name, if it was written before the lock was taken.
    unnamed: Option<UnnamedFile>,
    /// Number of redacted secrets.
    hidden: usize,
}

impl Store {
    /// Reads the memory in this file.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the file now contains another memory or is outside of the store. Other errors if the file
    /// is missing.
    pub fn read_one(&self, path: &Path, id: MemoryId) -> Result<Stored> {
        let is_here = self.folders().iter().any(|folder| path.starts_with(folder));
        let stored = if is_here { Some(stored::read(path)?.stored) } else { None };
        let missing = || Error::NotFound { id: id.to_string(), found: 0 };
        let mut stored = stored.filter(|stored| stored.memory.id == id).ok_or_else(missing)?;
        if Lookup::new(&self.home).origin(&stored)? == LedgerOrigin::Claude {
            mark_as_claudes_note(&mut stored.memory);
        }
        Ok(stored)
    }

    /// Finds memories of several stores by the ends of their ids. Searches the index for files that are unchanged since
    /// the index was built. Reads the other files, and checks them for equal ids and names. Returns `None` if a memory
    /// is not found in this way or is ambiguous; the caller must then read all files.
    pub fn find_indexed(
        stores: &[&Self],
        ids: &[impl AsRef<str>],
        index: &HashMap<OsString, IndexedFile>,
    ) -> Option<Vec<Stored>> {
        let asked: Vec<_> = ids.iter().map(|id| id.as_ref().trim().to_ascii_lowercase()).collect();
        if asked.iter().any(|asked| asked.len() < stored::SHORT_ID_CHARS_MIN) {
            return None;
        }
        let mut found: Vec<Option<(PathBuf, MemoryId)>> = vec![None; asked.len()];
        let (stamps, mut others) = (Stamps::default(), Vec::new());
        let folders: Vec<PathBuf> = stores.iter().flat_map(|store| store.folders()).collect();
        for path in stored::found(&folders).take(stored::FILES_MAX) {
            match index.get(path.as_os_str()) {
                Some(known) if stamps.of(&path) == Some(known.stamp) => {
                    let id = known.id.to_string();
                    for (asked, found) in asked.iter().zip(&mut found) {
                        if id.ends_with(asked) && found.replace((path.clone(), known.id)).is_some()
                        {
                            return None;
                        }
                    }
                }
                _ if others.len() == OTHERS_MAX => return None,
                _ => others.push(path),
            }
        }
        let found: Vec<(PathBuf, MemoryId)> = found.into_iter().collect::<Option<_>>()?;
        let names: Vec<_> = found.iter().map(|(path, _)| stored::folded(path)).collect();
        let is_asked = |id: String| asked.iter().any(|asked| id.ends_with(asked));
        let is_like = |other: &PathBuf| {
            names.contains(&stored::folded(other))
                || stored::read(other).is_ok_and(|it| is_asked(it.stored.memory.id.to_string()))
        };
        if others.iter().any(is_like) {
            return None;
        }
        let read = |(path, id): &(PathBuf, MemoryId)| {
            stores.iter().find_map(|store| store.read_one(path, *id).ok())
        };
        found.iter().map(read).collect()
    }

    /// Returns the errors of memory files that differ from the index. All other files were valid when the index was
    /// built. `known` contains the files in the index. Returns `None` if there are more than `most` files.
    pub fn broken_beside(
        &self,
        known: &HashMap<OsString, IndexedFile>,
        most: usize,
    ) -> Option<Vec<Error>> {
        let paths: Vec<PathBuf> = stored::found(&self.folders()).take(most + 1).collect();
        if paths.len() > most {
            return None;
        }
        let stamps = Stamps::default();
        let is_other = |path: &PathBuf| match known.get(path.as_os_str()) {
            Some(known) => stamps.of(path) != Some(known.stamp),
            None => true,
        };
        let mut changed: Vec<PathBuf> = paths.into_iter().filter(is_other).collect();
        changed.sort();
        let problems = changed.iter().filter_map(|path| self.problem(path));
        let mut broken: Vec<Error> = problems.collect();
        broken.extend(self.check_folder().err());
        Some(broken)
    }

    /// Reads the memories whose files are not in an index, because they are expired or newer than the index. `known`
    /// contains the files in the index. Unreadable files are skipped.
    pub fn unlisted(&self, known: &BTreeSet<PathBuf>) -> Vec<Stored> {
        let paths = stored::paths(&self.folders()).into_iter();
        let read = paths.filter(|path| !known.contains(path)).filter_map(|path| {
            let folder = self.folders().into_iter().find(|folder| path.starts_with(folder))?;
            stored::check_name(&folder, &path).ok()?;
            Some(stored::read(&path).ok()?.stored)
        });
        read.collect()
    }

    /// Returns the documents of memories that are expired at a given time, for a search in the past. An index does not
    /// contain such memories. Reads only files that are not in the index.
    pub fn expired(
        &self,
        trust: &Trust,
        settings: &Settings,
        recall: &Recall,
        tree: &Tree,
        now: Timestamp,
    ) -> Vec<Document> {
        let redactor = self.redactor(settings);
        let named = recall.files(&[Collection::Memories], usize::MAX).unwrap_or_default();
        let named = named.keys().map(|file| tree.own_file(Path::new(file))).collect();
        let mut memories = self.unlisted(&named);
        memories.retain(|stored| stored.memory.is_expired(now));
        // If several files have the same id, a file of this machine that is not withheld takes precedence.
        memories
            .sort_by_cached_key(|stored| (stored.memory.id, trust.gives_way(stored, &redactor)));
        memories.dedup_by_key(|stored| stored.memory.id);
        let documents = memories.iter().map(|stored| {
            let memory = redactor.redacted(&stored.memory);
            let file = stored.path.strip_prefix(&tree.root).unwrap_or(&stored.path);
            let mut document = Document::memory(&memory, file, stored.stamp);
            document.record.from_repository = trust.is_from_repository(stored);
            trust.judge(&mut document);
            document.read();
            document
        });
        documents.collect()
    }

    fn problem(&self, path: &Path) -> Option<Error> {
        let folder = self.folders().into_iter().find(|folder| path.starts_with(folder))?;
        match stored::check_name(&folder, path).and_then(|()| stored::read(path)) {
            // The file was removed in the meantime.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            read => read.err(),
        }
    }

    /// Returns the memories whose file names contain the end of this id. The names of new memories contain the short
    /// id.
    pub fn named_by(&self, id: &str) -> Vec<Stored> {
        let end = id.trim().to_ascii_lowercase();
        let short = end.get(end.len().saturating_sub(crate::id::SHORT_ID_CHARS)..).unwrap_or("");
        if short.len() < crate::id::SHORT_ID_CHARS {
            return Vec::new();
        }
        let is_named = |path: &PathBuf| {
            path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(short))
        };
        let paths = stored::paths(&self.folders()).into_iter().filter(is_named);
        let read = paths.filter_map(|path| Some(stored::read(&path).ok()?.stored));
        read.filter(|stored| stored.memory.id.to_string().ends_with(&end)).collect()
    }

    /// Saves a memory like [`Store::save`]. `near` contains the files that an index lists for the memory's kind and
    /// title. Files that other processes saved since the index was built are looked up in the ledger. To keep the time
    /// under the lock short, a new file is redacted and written before the lock is taken, without a name, and the file
    /// and the ledger are synced to the disk after the lock is released.
    pub fn save_beside(
        &self,
        mut memory: Memory,
        near: &[PathBuf],
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Saved> {
        let hidden = redactor.redact_memory(&mut memory);
        let suspects = self.gate(&mut memory, redactor);
        // If an index lists a memory with this title, that memory is changed and no new file is needed.
        let new = if near.is_empty() { Some(self.new_file(&memory, redactor)?) } else { None };
        let (lookup, title) = (Lookup::new(&self.home), folded_title(&memory.title));
        let by = By::author(&memory);
        let mut latest = lookup.latest_with(&title)?;
        let lock = self.lock()?;
        lookup.read_on(&title, &mut latest)?;
        let mut paths = near.to_vec();
        for name in latest.names {
            let name = Path::new(&name);
            if name.components().all(|part| matches!(part, Component::Normal(_))) {
                paths.push(self.folder.join(name));
            }
        }
        for path in paths {
            let is_here = self.folders().iter().any(|folder| path.starts_with(folder));
            let Some(Read { stored, .. }) = is_here.then(|| stored::read(&path).ok()).flatten()
            else {
                continue;
            };
            // The same conditions as in `Store::save`.
            if is_same(&stored, &memory)
                && self.may_merge(&stored, by, &suspects)
                && self.is_of_machine(&stored, &lookup)?
            {
                let saved =
                    self.update(&stored.path, by, redactor, |old| unite(old, memory, now))?;
                return Ok(Saved { hidden: saved.hidden + hidden, suspects, ..saved });
            }
        }
        let new = new.map_or_else(|| self.new_file(&memory, redactor), Ok)?;
        let (path, noted) = self.create_one(&new)?;
        drop(lock);
        let synced = new.unnamed.as_ref().map_or(Ok(()), |file| file.sync(&path));
        // The file exists, so its ledger line must be synced even if the file could not be synced.
        noted.map_or(Ok(()), Unsynced::sync).and(synced)?;
        let stored = stored::read_back(&path, &new.file)?;
        Ok(Saved { stored, change: Change::Created, hidden: hidden + new.hidden, suspects })
    }

    /// Returns whether a file is neither from the repository nor from one of Claude's tool calls.
    fn is_of_machine(&self, stored: &Stored, lookup: &Lookup) -> Result<bool> {
        Ok(match (self.is_private(&stored.path), lookup.origin(stored)?) {
            (true, origin) => origin != LedgerOrigin::Claude,
            (false, origin) => origin == LedgerOrigin::Own,
        })
    }

    fn new_file(&self, memory: &Memory, redactor: &Redactor) -> Result<NewFile> {
        let mut file = MemoryFile::new(memory.clone())?;
        let hidden = file.redact(redactor)?;
        let path = self.free_path(&file.memory)?;
        let unnamed = UnnamedFile::write(&self.write_of(&path, file.text().as_bytes()));
        Ok(NewFile { file, unnamed, hidden })
    }

    /// Creates a new file, records it in the ledger, and returns its path. The file and the ledger are not synced to
    /// the disk yet. The caller must hold the lock. A file created without the lock could be committed, or could remain
    /// in a folder that is moved in the meantime.
    fn create_one(&self, new: &NewFile) -> Result<(PathBuf, Option<Unsynced>)> {
        self.check_folder()?;
        let path = match self.place(new)? {
            Some(path) => path,
            None => {
                let path = self.free_path(&new.file.memory)?;
                self.write(&path, new.file.text().as_bytes())?;
                path
            }
        };
        // The id is new, so the ledger contains no entry for it.
        let entry = LedgerEntry::new(new.file.memory.id, self.ledger_root());
        let (name, lookup) = (self.relative(&path), Lookup::new(&self.home));
        let noted = name.map(|name| lookup.created(entry, &name, new.file.text())).transpose()?;
        Ok((path, noted))
    }

    /// Links a written, unnamed file to a free name and returns the path. Returns `None` if no name is free, or if the
    /// file system does not support this. The folder is synced to the disk as well. If a power failure left a ledger
    /// line without a file, the memory would count as deleted by a person.
    fn place(&self, new: &NewFile) -> Result<Option<PathBuf>> {
        let Some(file) = &new.unnamed else { return Ok(None) };
        for _ in 0..NAMES_TRIED_MAX {
            let path = self.free_path(&new.file.memory)?;
            match file.place(self.root_of(&path), &path) {
                Ok(folder) => {
                    folder.sync()?;
                    return Ok(Some(path));
                }
                // A program that does not take the lock, such as git or an editor, has created a file with this name in
                // the meantime.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Archives the memory in this file like [`Store::forget`]. Does not search for copies that a person made since the
    /// last sync; the command `forget` finds them.
    ///
    /// # Errors
    /// See [`Store::read_one`].
    pub fn forget_one(
        &self,
        path: &Path,
        id: MemoryId,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Stored> {
        let _lock = self.lock()?;
        let stored = self.read_one(path, id)?;
        let lookup = Lookup::new(&self.home);
        let Read { stored: at_hand, file } = stored::read(path)?;
        let text = redacted_file(file.text(), redactor);
        // The ledger must list the same origin for the archived text: this machine, the repository or a tool call.
        lookup.inherit(&text, &at_hand)?;
        let archived = self.archived_path(&stored.memory);
        replace(&archived, text.as_bytes(), Privacy::Private)?;
        let name = self.relative(path);
        let title = redactor.redact(&stored.memory.title);
        let known = lookup.entry(id)?;
        lookup.bury(id, known.as_ref(), &title, name.as_deref(), now)?;
        self.remove(path)?;
        Ok(stored)
    }
}
