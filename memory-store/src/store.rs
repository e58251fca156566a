//! A store: a folder of memory files, and the operations of people and models on them.
//!
//! A person may edit, rename or delete any of these files at any moment, so each operation reads the files again.

mod clean;
mod gate;
mod joined_names;
mod mend;
mod one;
mod pending;
mod purge;
pub mod readme;
mod sweep;
mod undo;

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

pub use crate::fs::disk::{
    Privacy, create_folder, open_below, read as read_bounded, read_below, read_if_there, remove,
    replace,
};
pub use crate::stored::{FILES_MAX, Listing, SHORT_ID_CHARS_MIN, Stored};
pub use clean::{Cleaned, IsCommitted, Proposal};
pub use gate::places;
pub(crate) use pending::mark_as_claudes_note;
pub use pending::{Claims, Written};
pub use purge::{Gone, Unlearned};
pub use undo::{MemoryState, PutBack};

use crate::error::{Error, Result};
use crate::field_lines::put_fact;
use crate::file::{FILE_BYTES_MAX, MemoryFile, file_name};
use crate::format_version;
use crate::fs::dir::Folder;
use crate::fs::disk;
use crate::fs::lock::LOCK_WAIT;
use crate::id::MemoryId;
use crate::identity::{self, Mode};
use crate::layout::{ProjectDir, STORE_DIR, Tree, UserDirs, memory_folder};
use crate::ledger::{Ledger, LedgerEntry, LedgerOrigin, Lookup, Reason, Tombstone, redacted_file};
use crate::memory::{HeldFor, Memory, SaidBy, Scope, Status};
use crate::migrate;
use crate::neighbour::CONTRADICTS;
use crate::redact::known::Known;
use crate::redact::{MemorySuspect, RedactOptions, Redactor};
use crate::reviewed::Reviewed;
use crate::settings::Settings;
use crate::stored::{self, Read};
use crate::text::folded_title;
use crate::time::Timestamp;
use crate::trust::Trust;

/// A trusted store.
#[derive(Clone, Debug)]
pub struct Store {
    dirs: UserDirs,
    /// The private, permanent folder of the store. It contains the ledger, drafts and archived memories.
    pub home: ProjectDir,
    /// The folder of memory files.
    pub folder: PathBuf,
    /// The working tree in which the files are committed; `None` if the store is private.
    pub root: Option<PathBuf>,
    /// Root of the current linked worktree, if the store was opened there. Memory files in this worktree are read as
    /// well. New files are written to the main working tree, because `git worktree remove` refuses to remove a worktree
    /// that contains an untracked file.
    checkout: Option<PathBuf>,
    /// Trust and redaction settings, if [`Store::judged`] attached them.
    judged: Option<Arc<(Trust, Settings)>>,
    /// True if a person accepted likely credentials, so that they may be written to the folder.
    accepts_credentials: bool,
    /// Maximum time to wait for other writers of the project's files.
    pub lock_wait: Duration,
}

/// Result of saving a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The memory after saving.
    pub stored: Stored,
    /// Whether the file was created, updated or left unchanged.
    pub change: Change,
    /// Number of redacted secrets.
    pub hidden: usize,
    /// Likely credentials in the memory. If there are any, the memory is pending.
    pub suspects: Vec<MemorySuspect>,
}

/// Change to a memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file was written for the first time.
    Created,
    /// The content changed.
    Updated,
    /// The content was equal, so the file was not written.
    Unchanged,
}

/// Author of a change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A person, whose text the file's text now is.
    Person,
    /// A model. Text that Claude's tool calls wrote does not become a person's text by such a change.
    Model,
    /// Only a link to another memory changed. The author of the remaining text stays the same.
    Link,
    /// A secret was redacted. The author of the remaining text and all links stay the same.
    Redaction,
}

impl By {
    /// Returns the author of a new memory.
    fn author(memory: &Memory) -> Self {
        match memory.source.said_by {
            Some(SaidBy::Assistant) => Self::Model,
            Some(SaidBy::User | SaidBy::Tool) | None => Self::Person,
        }
    }
}

/// Kind of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// The file is archived. [`Store::restore`] restores it.
    Archive,
    /// The file and every copy of its text are deleted permanently.
    Delete,
}

impl Store {
    /// Opens the store of a working tree. It consists either of the committed folders of the main working tree and of
    /// this tree, or of the project's private folder.
    pub fn open(dirs: &UserDirs, tree: &Tree) -> Result<Self> {
        let mode = identity::mode(dirs, tree.project)?;
        let home = dirs.project(tree.project);
        Ok(match mode {
            Mode::Committed => Self {
                checkout: Some(tree.root.clone()).filter(|root| *root != tree.main_root),
                ..Self::committed(dirs, home, &tree.main_root)
            },
            Mode::Private => {
                let folder = home.private_memories.clone();
                Self::new(dirs, home, folder, None)
            }
        })
    }

    /// Opens the user's own store, which applies to every project.
    pub fn user(dirs: &UserDirs) -> Result<Self> {
        Ok(Self::new(dirs, dirs.user_dir(), dirs.user_memories(), None))
    }

    fn committed(dirs: &UserDirs, home: ProjectDir, root: &Path) -> Self {
        Self::new(dirs, home, memory_folder(root), Some(root.to_owned()))
    }

    fn new(dirs: &UserDirs, home: ProjectDir, folder: PathBuf, root: Option<PathBuf>) -> Self {
        Self {
            dirs: dirs.clone(),
            home,
            folder,
            root,
            checkout: None,
            judged: None,
            accepts_credentials: false,
            lock_wait: LOCK_WAIT,
        }
    }

    /// Attaches trust and settings. If several files have the same id, a file of this machine that is not withheld then
    /// takes precedence. Unreleased files cannot be changed.
    #[must_use]
    pub fn judged(self, trust: Trust, settings: &Settings) -> Self {
        Self { judged: Some(Arc::new((trust, settings.clone()))), ..self }
    }

    /// Returns the store of the same project in another working tree.
    pub fn at(&self, root: &Path) -> Self {
        match self.root {
            Some(_) => Self {
                judged: self.judged.clone(),
                accepts_credentials: self.accepts_credentials,
                lock_wait: self.lock_wait,
                ..Self::committed(&self.dirs, self.home.clone(), root)
            },
            None => self.clone(),
        }
    }

    /// Creates the folder of memory files and, in a repository, a README. In a repository, writing the first memory
    /// file calls this function.
    pub fn create(&self) -> Result<()> {
        self.check_folder()?;
        if let Some(root) = &self.root {
            readme::write(root, &self.folder)?;
        }
        let privacy = self.privacy_of(&self.folder);
        Folder::create(self.root_of(&self.folder), &self.folder, privacy).map(drop)
    }

    /// Returns the redactor for output of this store's memories. It redacts committed files more strictly than private
    /// files. It also redacts known secrets that no person has decided about.
    pub fn redactor(&self, settings: &Settings) -> Redactor {
        self.redactor_with(settings, Known::read_file(&self.dirs, &self.home).as_given())
    }

    fn redactor_with(&self, settings: &Settings, known: Known) -> Redactor {
        let options = RedactOptions::for_store(settings, self.root.is_some());
        Redactor::new(&RedactOptions { known, ..options })
    }

    /// Returns the redactor for text that the caller is about to write.
    ///
    /// # Errors
    /// If the files are committed and the user's redaction settings could not be read completely. Files for other
    /// people are not written under a partial policy.
    pub fn redactor_for_writing(&self, settings: &Settings) -> Result<Redactor> {
        match (&self.root, &settings.redact.broken) {
            (Some(_), Some((path, message))) => Err(Error::Settings {
                path: path.clone(),
                message: format!(
                    "{message}; nothing is written into the repository until this is mended, for what \
                     you want hidden is not known"
                ),
            }),
            (Some(_) | None, _) => {
                Ok(self.redactor_with(settings, Known::read_file(&self.dirs, &self.home)))
            }
        }
    }

    /// Lists the memories, including pending ones.
    pub fn list(&self) -> Result<Listing> {
        let mut redactor = None;
        let own = self.owner();
        let mut gives_way = |stored: &Stored| match self.judged.as_deref() {
            None => !own(stored),
            Some((trust, settings)) => {
                trust.gives_way(stored, redactor.get_or_insert_with(|| self.redactor(settings)))
            }
        };
        let mut listing = stored::list(&self.folders(), &mut gives_way);
        listing.broken.extend(self.check_folder().err());
        self.mark_claudes_notes(&mut listing)?;
        Ok(listing)
    }

    /// Returns a predicate that is true for files of this machine and false for files from the repository or from
    /// Claude's tool calls. The predicate reads the ledger at its first call.
    fn owner(&self) -> impl Fn(&Stored) -> bool {
        let texts = LazyLock::new(|| {
            Ledger::open(&self.home).map(|ledger| ledger.texts()).unwrap_or_default()
        });
        move |stored| match self.is_private(&stored.path) {
            true => !texts.is_of_claude(stored),
            false => texts.owns(stored),
        }
    }

    /// Returns whether only this user can write a file, because the store is private or the file is a draft.
    fn is_private(&self, path: &Path) -> bool {
        self.root.is_none() || path.starts_with(&self.home.drafts)
    }

    /// Returns all memory files, including those with a duplicate id or name.
    pub fn files(&self) -> Vec<Stored> {
        let mut files = Vec::new();
        stored::visit(&self.folders(), &mut |read| files.extend(read.map(|read| read.stored)));
        files
    }

    /// Returns the folders that contain memory files: the folder in the worktree's checkout, the store's own folder,
    /// the folder with copies of files that a sparse checkout omits, and the drafts. Of the first two, folders that are
    /// symbolic links are left out.
    fn folders(&self) -> Vec<PathBuf> {
        let checkout = self.checkout.as_deref().filter(|root| check_folder(root).is_ok());
        let own = self.check_folder().is_ok().then(|| self.folder.clone());
        let left_out = self.root.as_ref().map(|_| self.home.left_out.clone());
        let folders = checkout.map(memory_folder).into_iter().chain(own).chain(left_out);
        folders.chain([self.home.drafts.clone()]).collect()
    }

    /// Returns the working tree whose memory folder contains `path`; `None` if there is none.
    fn tree_of(&self, path: &Path) -> Option<&Path> {
        let mut roots = self.root.iter().chain(&self.checkout).map(PathBuf::as_path);
        roots.find(|root| path.starts_with(memory_folder(root)))
    }

    /// Saves a memory by a person or a model, redacted by `redactor`. If a memory of the same kind and title exists, it
    /// is updated: its text is replaced, and the tags and paths of both are merged.
    pub fn save(&self, mut memory: Memory, redactor: &Redactor, now: Timestamp) -> Result<Saved> {
        if memory.scope == Scope::User && self.folder != self.dirs.user_memories() {
            let user = Self { lock_wait: self.lock_wait, ..Self::user(&self.dirs)? };
            return user.save(memory, redactor, now);
        }
        let hidden = redactor.redact_memory(&mut memory);
        let suspects = self.gate(&mut memory, redactor);
        // All files are read before the lock is taken. Under the lock, only the candidates and files that appeared in
        // between are read.
        let known = stored::paths(&self.folders());
        let mut same: Vec<PathBuf> = self
            .list()?
            .memories
            .into_iter()
            .filter(|stored| is_same(stored, &memory))
            .map(|stored| stored.path)
            .collect();
        let _lock = self.lock()?;
        same.extend(stored::paths(&self.folders()).difference(&known).cloned());
        let now_there = same.iter().filter_map(|path| Some(stored::read(path).ok()?.stored));
        let mut same = now_there.filter(|stored| is_same(stored, &memory));
        // A save does not merge with a memory from the repository or from one of Claude's tool calls. Otherwise the
        // parts of the old memory that `memory` does not replace would count as text of this machine.
        let own = self.owner();
        let by = By::author(&memory);
        match same.find(|stored| own(stored) && self.may_merge(stored, by, &suspects)) {
            Some(stored) => {
                let saved =
                    self.update(&stored.path, by, redactor, |old| unite(old, memory, now))?;
                Ok(Saved { hidden: saved.hidden + hidden, suspects, ..saved })
            }
            None => {
                self.check_folder()?;
                let mut file = MemoryFile::new(memory)?;
                let hidden = hidden + file.redact(redactor)?;
                let path = self.free_path(&file.memory)?;
                self.write(&path, file.text().as_bytes())?;
                self.note_saved(&path, &file, by)?;
                let stored = stored::read_back(&path, &file)?;
                Ok(Saved { stored, change: Change::Created, hidden, suspects })
            }
        }
    }

    /// Changes a memory but not its id. The file is edited in place, and the whole file is redacted by `redactor`.
    pub fn edit(
        &self,
        id: &str,
        redactor: &Redactor,
        change: impl FnOnce(&mut Memory),
    ) -> Result<Saved> {
        let _lock = self.lock()?;
        let stored = self.list()?.find(id)?;
        self.update(&stored.path, By::Person, redactor, change)
    }

    /// Changes the memory in this file. No other file is read.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the file now contains another memory. Other errors if the file is missing or not
    /// released.
    pub fn edit_at(
        &self,
        path: &Path,
        id: MemoryId,
        by: By,
        redactor: &Redactor,
        change: impl FnOnce(&mut Memory),
    ) -> Result<Saved> {
        let _lock = self.lock()?;
        let is_it = self.folders().iter().any(|folder| path.starts_with(folder))
            && stored::read(path)?.stored.memory.id == id;
        if !is_it {
            return Err(Error::NotFound { id: id.to_string(), found: 0 });
        }
        self.update(path, by, redactor, change)
    }

    /// Marks the memory in this file as superseded by another memory, or by none. Also removes the reverse link, if
    /// there is one. A file that other people read must not name a memory that they do not have. If the newer memory is
    /// in another folder, this file therefore stays unchanged, and only the newer memory contains the link.
    ///
    /// # Errors
    /// See [`Store::edit_at`].
    pub fn supersede(
        &self,
        path: &Path,
        id: MemoryId,
        by: Option<MemoryId>,
        redactor: &Redactor,
    ) -> Result<Saved> {
        if path.starts_with(&self.folder) && by.is_some_and(|by| !self.has_in_folder(by)) {
            let stored = self.read_one(path, id)?;
            let change = Change::Unchanged;
            return Ok(Saved { stored, change, hidden: 0, suspects: Vec::new() });
        }
        self.edit_at(path, id, By::Link, redactor, |memory| {
            memory.superseded_by = by;
            memory.supersedes.retain(|&older| Some(older) != by);
        })
    }

    /// Returns whether the folder of memory files contains the memory with this id.
    fn has_in_folder(&self, id: MemoryId) -> bool {
        self.files().iter().any(|it| it.memory.id == id && it.path.starts_with(&self.folder))
    }

    /// Saves a memory file that a person changed in an editor, redacted by `redactor`; the id does not change. Returns
    /// `None`, without writing, if the file's text has changed since the person opened it.
    pub fn rewrite(
        &self,
        id: &str,
        before: &[u8],
        mut file: MemoryFile,
        redactor: &Redactor,
    ) -> Result<Option<Saved>> {
        let _lock = self.lock()?;
        let stored = self.list()?.find(id)?;
        if read_bounded(&stored.path, FILE_BYTES_MAX)?.0 != before {
            return Ok(None);
        }
        self.check_given(&stored)?;
        file.set(&Memory { id: stored.memory.id, ..file.memory.clone() })?;
        self.put(stored, before, By::Person, file, redactor).map(Some)
    }

    /// Removes a memory from recall and writes a tombstone, so that the memory is not learned again. The archived copy
    /// is redacted by `redactor`.
    pub fn forget(
        &self,
        id: &str,
        how: Forget,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Stored> {
        let _lock = self.lock()?;
        let stored = self.list()?.find(id)?;
        let memory = &stored.memory;
        let archived = self.archived_path(memory);
        let mut ledger = Ledger::open(&self.home)?;
        // Because of this order, a crash leaves a complete file in the memory folder, in the archive, or in both.
        if how == Forget::Archive {
            let Read { stored: now, file } = stored::read(&stored.path)?;
            let text = redacted_file(file.text(), redactor);
            // The ledger must list the same origin for the archived text: this machine, the repository or a tool call.
            ledger.inherit(&text, ledger.texts().origin(&now))?;
            replace(&archived, text.as_bytes(), Privacy::Private)?;
        }
        let name = self.relative(&stored.path);
        let title = redactor.redact(&memory.title);
        ledger.bury(memory.id, &title, Reason::Forgotten, name.as_deref(), now)?;
        if how == Forget::Delete {
            ledger.scrub(memory.id)?;
            migrate::remove_backups(&self.home)?;
            remove(&archived)?;
        }
        // Other files with the same id are removed as well, for example a copy by a person. Files from the repository
        // are not removed, because they may contain any id.
        let own = self.owner();
        for copy in self.copies(memory.id) {
            if copy.path == stored.path || own(&copy) {
                self.remove(&copy.path)?;
            }
        }
        Ok(stored)
    }

    /// Marks the memory in this file as pending if [`Store::gate`] finds likely credentials in it.
    fn hold_file(&self, file: &mut MemoryFile, redactor: &Redactor) -> Result<()> {
        let mut memory = file.memory.clone();
        match self.gate(&mut memory, redactor).is_empty() {
            true => Ok(()),
            false => file.set(&memory),
        }
    }

    /// Restores an archived memory, redacted by `redactor`. If there is no archived copy, removes the tombstone of a
    /// deleted memory, so that the next sync can learn the memory again.
    pub fn restore(&self, id: &str, redactor: &Redactor) -> Result<Option<Stored>> {
        let _lock = self.lock()?;
        let mut ledger = Ledger::open(&self.home)?;
        let stored = match self.archived().and_then(|archived| archived.find(id)) {
            Ok(stored) => stored,
            Err(missing) => {
                // A memory whose file was deleted has no archived copy, but may have a tombstone.
                let Some(found) = ledger.find_tombstone(id) else { return Err(missing) };
                return self.restore_deleted(&mut ledger, id, found, redactor);
            }
        };
        self.check_folder()?;
        let mut file = stored::read(&stored.path)?.file;
        let origin = ledger.texts().origin(&stored);
        file.redact(redactor)?;
        self.hold_file(&mut file, redactor)?;
        // A memory that was removed meanwhile replaces no other.
        let newer = file.memory.superseded_by;
        if newer.is_some_and(|newer| ledger.tombstone(newer).is_some()) {
            file.set(&Memory { superseded_by: None, ..file.memory.clone() })?;
        }
        ledger.inherit(file.text(), origin)?;
        let tombstone = ledger.tombstone(stored.memory.id);
        // The former file of a pending memory was not in the memory folder. The memory becomes pending again.
        let was_at = tombstone
            .filter(|_| file.memory.status != Status::Held)
            .and_then(|tombstone| tombstone.name.clone());
        let path = match was_at.map(|name| self.folder.join(name)) {
            Some(path) if self.may_create(&path) => path,
            Some(_) | None => self.free_path(&file.memory)?,
        };
        self.write(&path, file.text().as_bytes())?;
        ledger.revive(stored.memory.id, self.relative(&path).as_deref())?;
        remove(&stored.path)?;
        Ok(Some(stored::read(&path)?.stored))
    }

    /// Restores a deleted memory. A memory that a person or a model wrote is restored from the ledger's copy. The next
    /// sync writes a learned memory again.
    fn restore_deleted(
        &self,
        ledger: &mut Ledger,
        asked: &str,
        id: MemoryId,
        redactor: &Redactor,
    ) -> Result<Option<Stored>> {
        let text = ledger.entry(id).filter(|entry| entry.saved && !entry.text.is_empty());
        if let Some(text) = text.map(|entry| entry.text.clone()) {
            self.check_folder()?;
            let mut file = MemoryFile::parse(Path::new(""), text.into_bytes())?;
            file.redact(redactor)?;
            self.hold_file(&mut file, redactor)?;
            ledger.inherit(file.text(), LedgerOrigin::Own)?;
            let path = self.free_path(&file.memory)?;
            self.write(&path, file.text().as_bytes())?;
            ledger.revive(id, self.relative(&path).as_deref())?;
            return Ok(Some(stored::read(&path)?.stored));
        }
        match ledger.tombstone(id).and_then(|tombstone| tombstone.written) {
            Some(true) => Err(Error::Gone { id: asked.to_owned() }),
            Some(false) | None => ledger.revive(id, None).map(|()| None),
        }
    }

    /// Deletes an archived memory permanently; it is not learned again.
    pub fn delete_archived(&self, id: &str) -> Result<Stored> {
        let _lock = self.lock()?;
        let stored = self.archived()?.find(id)?;
        Ledger::open(&self.home)?.scrub(stored.memory.id)?;
        migrate::remove_backups(&self.home)?;
        remove(&stored.path)?;
        Ok(stored)
    }

    /// Moves a draft to the folder of memory files after a review. It is redacted by `redactor`, because it may be
    /// older than a redaction setting or may have been edited by hand.
    pub fn promote(&self, id: &str, redactor: &Redactor) -> Result<Stored> {
        let _lock = self.lock()?;
        let draft = self.find_draft(id)?;
        self.check_folder()?;
        let Read { mut file, .. } = stored::read(&draft.path)?;
        let mut ledger = Ledger::open(&self.home)?;
        let entry = ledger.entry(draft.memory.id).cloned();
        let entry = entry.unwrap_or_else(|| LedgerEntry::new(draft.memory.id, self.ledger_root()));
        let was_changed = !entry.wrote(file.text());
        let mut released = file.memory.clone();
        released.release();
        file.set(&released)?;
        file.redact(redactor)?;
        let path = self.free_path(&file.memory)?;
        self.check_gate(&path, None, &file.memory, redactor)?;
        self.write(&path, file.text().as_bytes())?;
        let name = self.relative(&path).unwrap_or_default();
        ledger.promoted(
            LedgerEntry { root: self.ledger_root().to_owned(), ..entry },
            &name,
            (file.text(), was_changed),
        )?;
        remove(&draft.path)?;
        Ok(stored::read(&path)?.stored)
    }

    /// Rejects a draft: removes its file and writes a tombstone, so that the memory is not learned again. The tombstone
    /// contains the title, redacted by `redactor`.
    pub fn reject(&self, id: &str, redactor: &Redactor, now: Timestamp) -> Result<Stored> {
        let _lock = self.lock()?;
        let draft = self.find_draft(id)?;
        let mut ledger = Ledger::open(&self.home)?;
        let title = redactor.redact(&draft.memory.title);
        ledger.bury(draft.memory.id, &title, Reason::Rejected, None, now)?;
        remove(&draft.path)?;
        Ok(draft)
    }

    /// Makes an accepted memory pending again, with its id and text. The file becomes private. Syncs do not change it
    /// until a review accepts the memory. The caller must check that git does not have the file, because other clones
    /// would keep a copy.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the folder of memory files contains no memory with this id. Other errors if the file is
    /// not released or cannot be moved.
    pub fn hold(&self, id: MemoryId) -> Result<Stored> {
        let _lock = self.lock()?;
        let is_it =
            |stored: &Stored| stored.memory.id == id && stored.path.starts_with(&self.folder);
        let missing = || Error::NotFound { id: id.to_string(), found: 0 };
        let stored = self.list()?.memories.into_iter().find(is_it).ok_or_else(missing)?;
        self.check_given(&stored)?;
        let Read { mut file, .. } = stored::read(&stored.path)?;
        let mut held = file.memory.clone();
        held.hold(HeldFor::Review);
        file.set(&held)?;
        let mut ledger = Ledger::open(&self.home)?;
        let entry = ledger.entry(id).cloned();
        let entry = entry.unwrap_or_else(|| LedgerEntry::new(id, self.ledger_root()));
        // If the process is killed in between, the memory is still accepted. If both files exist, the accepted file
        // takes precedence.
        let path = free_path_in(&self.home.drafts, &file.memory)?;
        self.write(&path, file.text().as_bytes())?;
        ledger.held(entry, file.text())?;
        self.remove(&stored.path)?;
        Ok(stored::read(&path)?.stored)
    }

    /// Lists the pending memories, except superseded ones.
    pub fn drafts(&self) -> Result<Listing> {
        let mut listing = stored::list(std::slice::from_ref(&self.home.drafts), &mut |_| false);
        listing.memories.retain(|stored| stored.memory.waits());
        Ok(listing)
    }

    /// Returns the tombstones, by id.
    pub fn tombstones(&self) -> Result<Vec<Tombstone>> {
        Ok(Ledger::open(&self.home)?.tombstones())
    }

    /// Returns the ids of a person's memories that sessions no longer contain, except memories that a person decided to
    /// keep.
    pub fn unfound(&self) -> Result<Vec<MemoryId>> {
        Ok(Ledger::open(&self.home)?.unfound())
    }

    /// Returns a predicate that takes a memory's id and text. It returns true if, according to the ledger, no person
    /// changed or accepted the memory.
    pub fn undecided(&self) -> Result<impl Fn(MemoryId, &str) -> bool> {
        let ledger = Ledger::open(&self.home)?;
        Ok(move |id: MemoryId, text: &str| {
            let entry = ledger.entry(id);
            entry.is_none_or(|entry| entry.wrote(text) && !entry.promoted && !entry.saved)
        })
    }

    /// Records that a person keeps this memory although sessions no longer contain it.
    pub fn keep_unfound(&self, id: MemoryId) -> Result<()> {
        let _lock = self.lock()?;
        Ledger::open(&self.home)?.keep_unfound(id)
    }

    fn find_draft(&self, id: &str) -> Result<Stored> {
        self.drafts()?.find(id)
    }

    /// Lists the archived memories.
    pub fn archived(&self) -> Result<Listing> {
        let mut listing =
            stored::list(std::slice::from_ref(&self.home.archived_memories), &mut |_| false);
        for stored in &mut listing.memories {
            stored.memory.status = Status::Archived;
        }
        Ok(listing)
    }

    /// Locks the project's files for a change. Waits for other writers, which take at most a second. Readers take no
    /// lock. The lock is released when the returned file is dropped.
    ///
    /// # Errors
    /// [`Error::Newer`] if a later version of the program has written the store, the user's own store or the memory
    /// folder. Other errors if the lock cannot be taken.
    pub(crate) fn lock(&self) -> Result<File> {
        format_version::check_user(&self.dirs)?;
        let lock = stored::lock_within(&self.home, self.lock_wait)?;
        if let Some(root) = &self.root {
            format_version::check_memory_folder(root)?;
        }
        Ok(lock)
    }

    /// Returns an error for an unreleased file. Without this check, a changed file would count as a file of this
    /// machine.
    fn check_given(&self, stored: &Stored) -> Result<()> {
        let unreleased =
            self.judged.as_deref().is_some_and(|(trust, _)| trust.is_unreleased(stored));
        if !unreleased {
            return Ok(());
        }
        Err(disk::refused(
            &stored.path,
            "this memory is from the repository and not released yet",
            "`throughline trust` shows and releases such memories.",
        ))
    }

    /// Returns an error if the committed folder is a symbolic link. Another person's commit could make it refer to any
    /// folder.
    pub(crate) fn check_folder(&self) -> Result<()> {
        self.root.as_deref().map_or(Ok(()), check_folder)
    }

    /// Writes a memory file.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        if path.starts_with(&self.home.left_out) {
            return Err(disk::refused(
                path,
                "this is a copy of a memory file that a sparse checkout leaves out",
                "Have git check it out (`git sparse-checkout add .throughline`), and change it then.",
            ));
        }
        self.tree_of(path).map_or(Ok(()), check_folder)?;
        if path.starts_with(&self.folder) && !self.folder.exists() {
            self.create()?;
        }
        disk::replace_all(&[self.write_of(path, bytes)])
    }

    fn write_of<'a>(&'a self, path: &'a Path, bytes: &'a [u8]) -> disk::Write<'a> {
        disk::Write { root: self.root_of(path), path, bytes, privacy: self.privacy_of(path) }
    }

    /// Removes a file of the store.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        disk::remove_below(self.root_of(path), path)
    }

    /// Returns the folder below which symbolic links are not followed: the working tree that contains `path`, or the
    /// program's data folder.
    fn root_of(&self, path: &Path) -> &Path {
        self.tree_of(path).unwrap_or(&self.dirs.data)
    }

    /// Returns whether a file can be created at `path`: the path is in the folder of memory files, it does not exist,
    /// and its parents are folders or missing.
    pub(crate) fn may_create(&self, path: &Path) -> bool {
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.folder);
        let mut parts = path.strip_prefix(&self.folder).into_iter().flat_map(Path::components);
        path.starts_with(&self.folder)
            && parts.all(|part| matches!(part, Component::Normal(_)))
            && std::fs::symlink_metadata(path).is_err()
            && folders.into_iter().all(|folder| match std::fs::symlink_metadata(folder) {
                Ok(found) => found.is_dir(),
                Err(error) => error.kind() == ErrorKind::NotFound,
            })
    }

    /// Removes temporary files that killed writers left behind. The caller must hold the lock.
    pub(crate) fn sweep<'r>(&self, roots: impl Iterator<Item = &'r Path>) {
        for root in roots {
            if check_folder(root).is_ok() {
                sweep::sweep(&self.at(root).folder, stored::LEVELS_MAX);
            }
        }
        sweep::sweep(&self.folder, stored::LEVELS_MAX);
        sweep::sweep(&self.home.drafts, 1);
        sweep::sweep(&self.home.archived_memories, 1);
    }

    fn privacy_of(&self, path: &Path) -> Privacy {
        if self.tree_of(path).is_some() { Privacy::Shared } else { Privacy::Private }
    }

    /// Returns a path for a new memory's file at which no file exists.
    pub(crate) fn free_path(&self, memory: &Memory) -> Result<PathBuf> {
        let folder = match memory.status {
            Status::Held => &self.home.drafts,
            Status::Active | Status::Rejected | Status::Archived => &self.folder,
        };
        free_path_in(folder, memory)
    }

    /// Returns `path` relative to the folder of memory files; `None` if it is not below that folder.
    pub(crate) fn relative(&self, path: &Path) -> Option<String> {
        let of_tree = self.tree_of(path).map(memory_folder);
        let folder = of_tree.as_ref().unwrap_or(&self.folder);
        path.strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned)
    }

    fn update(
        &self,
        path: &Path,
        by: By,
        redactor: &Redactor,
        change: impl FnOnce(&mut Memory),
    ) -> Result<Saved> {
        let Read { stored, mut file } = stored::read(path)?;
        // The present file is checked, because a pull may have replaced it after it was listed.
        self.check_given(&stored)?;
        let mut memory = stored.memory.clone();
        change(&mut memory);
        memory.id = stored.memory.id;
        let before = file.text().as_bytes().to_vec();
        file.set(&memory)?;
        self.put(stored, &before, by, file, redactor)
    }

    /// Redacts a changed memory file and writes it in place if its content differs from `before`.
    fn put(
        &self,
        stored: Stored,
        before: &[u8],
        by: By,
        mut file: MemoryFile,
        redactor: &Redactor,
    ) -> Result<Saved> {
        let hidden = file.redact(redactor)?;
        if !stored.path.starts_with(&self.folder) {
            self.hold_file(&mut file, redactor)?;
        }
        if file.text().as_bytes() == before {
            let change = Change::Unchanged;
            return Ok(Saved { stored, change, hidden, suspects: Vec::new() });
        }
        self.check_gate(&stored.path, Some(&stored.memory), &file.memory, redactor)?;
        let lookup = Lookup::new(&self.home);
        let origin = match (by, lookup.origin(&stored)?) {
            (By::Link | By::Redaction | By::Model, LedgerOrigin::Claude) => LedgerOrigin::Claude,
            (By::Link | By::Redaction, origin) if self.root.is_some() => origin,
            (By::Link | By::Redaction | By::Model | By::Person, _) => LedgerOrigin::Own,
        };
        lookup.note(file.text(), origin)?;
        self.write(&stored.path, file.text().as_bytes())?;
        if origin == LedgerOrigin::Own {
            self.note_saved(&stored.path, &file, by)?;
        }
        let stored = stored::read_back(&stored.path, &file)?;
        Ok(Saved { stored, change: Change::Updated, hidden, suspects: Vec::new() })
    }

    /// Records a saved memory in the ledger, so that a sync restores it after `git clean`, like derived memories.
    fn note_saved(&self, path: &Path, file: &MemoryFile, by: By) -> Result<()> {
        let Some(name) = self.relative(path) else { return Ok(()) };
        let lookup = Lookup::new(&self.home);
        let root = self.tree_of(path).unwrap_or_else(|| self.ledger_root());
        let mut new = LedgerEntry::new(file.memory.id, root);
        let mut known = lookup.entry(file.memory.id)?;
        if by == By::Person && file.memory.source.said_by == Some(SaidBy::Assistant) {
            // A ledger entry does not contain the author of the last change to a note, so the change is recorded as a
            // decision.
            Reviewed::note_locked(&self.home, file.memory.id)?;
        }
        if by == By::Link {
            // If the newer memory is removed, a sync may remove the link.
            for entry in known.iter_mut().chain([&mut new]) {
                entry.linked = file.memory.superseded_by;
            }
        }
        lookup.saved(known, new, &name, file.text())
    }

    /// Returns the root that ledger entries of this store's files contain; empty for a private store.
    fn ledger_root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new(""))
    }

    pub(crate) fn archived_path(&self, memory: &Memory) -> PathBuf {
        // The name contains the whole id, because the title may have changed since the memory was archived before.
        self.home.archived_memories.join(format!("{}.md", memory.id))
    }

    fn copies(&self, id: MemoryId) -> Vec<Stored> {
        let mut copies = self.files();
        copies.retain(|stored| stored.memory.id == id);
        copies
    }
}

/// Returns an error if the committed folder of a working tree is a symbolic link. Callers call it before they trust the
/// tree.
pub fn check_folder(root: &Path) -> Result<()> {
    let store = root.join(STORE_DIR);
    for folder in [memory_folder(root), store] {
        if std::fs::symlink_metadata(&folder).is_ok_and(|at| at.is_symlink()) {
            return Err(disk::refused(
                &folder,
                "this folder is a symbolic link and is not followed",
                "Remove the link and put the folder itself in its place.",
            ));
        }
    }
    Ok(())
}

/// Writes files of several stores.
pub(crate) fn write_all(files: &[(Store, PathBuf, String)]) -> Result<()> {
    let mut writes = Vec::with_capacity(files.len());
    for (store, path, text) in files {
        let privacy = store.privacy_of(path);
        let root = store.root_of(path);
        writes.push(disk::Write { root, path, bytes: text.as_bytes(), privacy });
    }
    disk::replace_all(&writes)
}

/// Returns a path in this folder at which no file exists.
pub(crate) fn free_path_in(folder: &Path, memory: &Memory) -> Result<PathBuf> {
    let path = folder.join(file_name(memory));
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(path);
    }
    // Another memory with this title has the same short id, or a person gave this name to another file.
    let name = format!("{}.md", memory.id);
    let path = folder.join(name);
    match std::fs::symlink_metadata(&path) {
        Err(_) => Ok(path),
        Ok(_) => Err(disk::refused(
            &path,
            "this file stands where a memory is to be written",
            "Move it away.",
        )),
    }
}

fn is_same(stored: &Stored, memory: &Memory) -> bool {
    let live = matches!(stored.memory.status, Status::Active | Status::Held);
    stored.memory.id == memory.id
        || live
            // If a superseded or expired statement is repeated, the repetition becomes a new memory.
            && stored.memory.superseded_by.is_none()
            && !stored.memory.is_expired(memory.created)
            && stored.memory.kind == memory.kind
            && stored.memory.agent == memory.agent
            && folded_title(&stored.memory.title) == folded_title(&memory.title)
            && !is_note_on_others_word(&stored.memory, memory)
}

/// Returns whether a model's note has the same title as a memory that a person stated or wrote. The note then becomes a
/// separate memory, because the person did not state it.
fn is_note_on_others_word(old: &Memory, new: &Memory) -> bool {
    new.source.is_noted() && old.source.is_users()
}

/// Replaces the text of `old` by the text of `new`, and merges the tags, paths and superseded memories of both. If
/// anything changes, the memory gets a new date of occurrence.
fn unite(old: &mut Memory, new: Memory, now: Timestamp) {
    let before = old.clone();
    let occurred = new.occurred.unwrap_or(now);
    if !new.body.trim().is_empty() {
        old.body = new.body;
        // The author of the new text becomes the author of the memory.
        old.source.said_by = new.source.said_by.or(old.source.said_by);
        old.source.extractor = new.source.extractor.or(old.source.extractor.take());
    }
    for tag in new.tags {
        if !old.tags.contains(&tag) {
            old.tags.push(tag);
        }
    }
    for path in new.paths {
        match old.paths.iter_mut().find(|known| known.path == path.path) {
            Some(known) if path.seen.is_some() => known.seen = path.seen,
            Some(_) => {}
            None => old.paths.push(path),
        }
    }
    old.confidence = old.confidence.max(new.confidence);
    old.pinned |= new.pinned;
    old.topic = new.topic.or(old.topic.take());
    for entity in new.entities {
        if !old.entities.contains(&entity) {
            old.entities.push(entity);
        }
    }
    for fact in new.facts {
        put_fact(old, &fact);
    }
    for signature in new.signatures {
        if !old.signatures.contains(&signature) {
            old.signatures.push(signature);
        }
    }
    if let Some(command) = new.command {
        old.command = Some(command);
    }
    for older in new.supersedes {
        if older != old.id && !old.supersedes.contains(&older) {
            old.supersedes.push(older);
        }
    }
    // The caller has searched for contradictions again or resolved them, so the old links are removed.
    old.relations.retain(|link| link.kind != CONTRADICTS);
    for link in new.relations {
        if link.to != old.id && !old.relations.contains(&link) {
            old.relations.push(link);
        }
    }
    // A statement that contradicts another one is the newest of them, even if its text was known.
    if *old != before || old.relations.iter().any(|link| link.kind == CONTRADICTS) {
        old.occurred = old.occurred.max(Some(occurred));
    }
}
