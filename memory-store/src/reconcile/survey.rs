//! Survey before a reconciliation: the files of every working tree, pending files, and the state of git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::GitState;
use super::missing::{MissingFile, Traces};
use super::ownership::{Owner, OwnershipEvidence};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::ledger::{Aside, KnownTexts, Ledger, LedgerEntry, Reason, SeenTree, hashes};
use crate::memory::Memory;
use crate::reviewed::Reviewed;
use crate::store::Store;
use crate::stored::{Read, refuse_twins, visit};

/// Files on the disk.
struct Disk {
    /// Files by tree and id. An id has several files if a person copied a file.
    files: BTreeMap<(PathBuf, MemoryId), Vec<Read>>,
    /// Files in the private folder of pending memories, by id.
    aside: BTreeMap<MemoryId, Read>,
    /// Files that could not be parsed as memories, for example during an edit.
    unreadable: BTreeSet<PathBuf>,
}

/// State of a project before anything is changed.
pub(super) struct FileSurvey<'a> {
    store: &'a Store,
    stores: BTreeMap<PathBuf, Store>,
    main_root: PathBuf,
    disk: Disk,
    /// Files that a sparse checkout omits.
    left_out: BTreeSet<PathBuf>,
    /// Files from the repository or from Claude's tool calls.
    foreign: BTreeSet<PathBuf>,
    /// Files in `foreign` that Claude's tool calls wrote.
    claudes: BTreeSet<PathBuf>,
    /// Files that Claude's tool calls removed.
    removed: BTreeSet<&'a Path>,
    /// Hashes of texts that were written to files on this machine.
    written: BTreeSet<String>,
    traces: BTreeMap<PathBuf, Traces<'a>>,
    /// Memories that a person decided about in a review.
    reviewed: Reviewed,
}

/// Presence of a memory in a working tree.
pub(super) enum InTree<'s> {
    /// The memory's own files. There are several if a person copied the file.
    Files(Vec<&'s Read>),
    /// A file from the repository that replaced the memory's own file.
    Replaced(&'s Read),
    /// No file. A memory from the repository that has the same id at another path does not count.
    Nothing,
}

impl<'a> FileSurvey<'a> {
    /// Reads all files and the state of git once. `texts` contains the texts of this machine, including texts that this
    /// run derives.
    pub(crate) fn look(
        store: &'a Store,
        ledger: &Ledger,
        texts: &KnownTexts,
        trees: &'a [GitState],
    ) -> Result<Self> {
        let is_private = store.root.is_none();
        let main_root = match (store.root.as_deref(), trees.first()) {
            (None, _) => PathBuf::new(),
            (Some(_), Some(main)) => main.root.clone(),
            (Some(root), None) => root.to_owned(),
        };
        let mut stores = BTreeMap::new();
        if is_private || trees.is_empty() {
            stores.insert(main_root.clone(), store.clone());
        } else {
            stores.extend(trees.iter().map(|tree| (tree.root.clone(), store.at(&tree.root))));
        }
        let is_claudes = |read: &Read| texts.is_of_claude(&read.stored);
        let is_unknown = |read: &Read| is_claudes(read) || !is_private && !texts.owns(&read.stored);
        let is_pulled = |read: &Read| texts.pulls(&read.stored) || is_claudes(read);
        let disk = Disk::read(store, &stores, &|read| is_pulled(read) && is_unknown(read))?;
        // A file of unknown origin counts as written on this machine, unless it was recorded as pulled. While git is
        // changing files, it may also have been pulled just now.
        let is_moving =
            trees.iter().any(|tree| tree.marks.have_moved() || tree.marks.is_unfinished);
        let is_doubtful = is_moving || texts.forgets();
        let (foreign, written) = disk.unknown(is_unknown, |read| is_doubtful || is_pulled(read));
        let left_out = |tree: &GitState| -> Vec<PathBuf> {
            tree.left_out.iter().map(|path| tree.root.join(path)).collect()
        };
        let left_out = trees.iter().flat_map(left_out).filter(|_| !is_private).collect();
        let claudes = disk.reads().filter(|read| is_claudes(read));
        let claudes = claudes.map(|read| read.stored.path.clone()).collect();
        let traces = BTreeMap::new();
        let reviewed = Reviewed::read(&store.home);
        let removed = trees.iter().flat_map(|tree| &tree.removed_by_tools);
        let mut survey = Self {
            removed: removed.map(PathBuf::as_path).collect(),
            store,
            stores,
            main_root,
            disk,
            left_out,
            foreign,
            claudes,
            written,
            traces,
            reviewed,
        };
        for (root, store) in &survey.stores {
            let git = trees.iter().find(|tree| !is_private && tree.root == *root);
            let known = ledger
                .entries()
                .filter(|entry| entry.root == *root && entry.placed && entry.aside == Aside::No);
            // A deletion that is already recorded is not evidence of a new removal.
            let known = known
                .map(|entry| (entry, survey.is_there(entry)))
                .filter(|(entry, is_there)| *is_there || ledger.tombstone(entry.id).is_none());
            let seen = ledger.seen(root);
            let traces = Traces::gather(git.unwrap_or(&NO_GIT), seen, &store.folder, known);
            survey.traces.insert(root.clone(), traces);
        }
        Ok(survey)
    }

    /// Returns whether memories are private, outside of all working trees.
    pub(crate) const fn is_private(&self) -> bool {
        self.store.root.is_none()
    }

    /// Returns whether the memory's file, readable or not, or a replacement of it is at the recorded place.
    fn is_there(&self, entry: &LedgerEntry) -> bool {
        let has_file = |read: &Read| self.is_own(read);
        self.files(&entry.root, entry.id).iter().any(has_file)
            || self.replacement(entry).is_some()
            || self.is_unreadable(entry)
            || self.is_left_out(entry)
    }

    /// Returns whether a memory's file must be left unchanged because it cannot be read, for example during an edit, or
    /// because a sparse checkout omits it from the tree. After git switched to another branch, an unreadable file at
    /// the path need not belong to this memory.
    pub(crate) fn is_out_of_reach(&self, entry: &LedgerEntry) -> bool {
        let has_left = entry.aside == Aside::No && entry.committed && !self.is_forward(&entry.root);
        self.is_unreadable(entry) && !has_left || self.is_left_out(entry)
    }

    fn is_left_out(&self, entry: &LedgerEntry) -> bool {
        let folder = &self.stores.get(&entry.root).unwrap_or(self.store).folder;
        entry.aside == Aside::No && self.left_out.contains(&folder.join(&entry.name))
    }

    fn is_unreadable(&self, entry: &LedgerEntry) -> bool {
        self.stores.get(&entry.root).is_some_and(|store| {
            let folder = match entry.aside {
                Aside::No => store.folder.clone(),
                Aside::Review | Aside::Parked => store.home.drafts.clone(),
            };
            let suffix = format!("-{}.md", entry.id.short());
            self.disk.unreadable.iter().filter(|path| path.starts_with(&folder)).any(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                *path == folder.join(&entry.name) || name.ends_with(&suffix)
            })
        })
    }

    /// Returns the root of the tree that should contain the memory's file.
    pub(crate) fn root_for(
        &self,
        id: MemoryId,
        entry: Option<&LedgerEntry>,
        asked: Option<&Path>,
    ) -> PathBuf {
        if let Some(entry) = entry
            && self.stores.contains_key(&entry.root)
        {
            return entry.root.clone();
        }
        let asked = asked.filter(|root| self.stores.contains_key(*root));
        let first = asked.unwrap_or(&self.main_root);
        let others = self.stores.keys().map(PathBuf::as_path);
        let places = [first, &self.main_root].into_iter().chain(others);
        let found = places.filter(|root| self.has_own(root, id)).map(Path::to_owned).next();
        found.unwrap_or_else(|| first.to_owned())
    }

    /// Returns the files in one tree that contain a memory with this id, of any origin.
    pub(crate) fn files(&self, root: &Path, id: MemoryId) -> &[Read] {
        self.disk.files.get(&(root.to_owned(), id)).map_or(&[], Vec::as_slice)
    }

    /// Returns which files a memory has in one tree.
    pub(crate) fn in_tree(&self, entry: &LedgerEntry, root: &Path) -> InTree<'_> {
        let files = self.files(root, entry.id);
        let own: Vec<&Read> = files.iter().filter(|file| self.is_own(file)).collect();
        if !own.is_empty() {
            return InTree::Files(own);
        }
        // On another branch, the file at this path is a different file, which never belonged to the memory.
        let was_there = entry.root == root && entry.placed;
        let may_be_replaced = was_there && self.is_forward(root) && !self.changed_branch(root);
        match self.replacement(entry).filter(|_| may_be_replaced) {
            // A file that one of Claude's tool calls wrote replaces nothing, because the change is pending and the
            // memory is still valid.
            Some(file) if !self.claudes.contains(&file.stored.path) => InTree::Replaced(file),
            Some(_) | None => InTree::Nothing,
        }
    }

    /// Returns the hashes of texts that were written to files on this machine since the last survey.
    pub(crate) fn written(&self) -> impl Iterator<Item = &String> {
        self.written.iter()
    }

    /// Returns whether a file, in a tree or pending, has a text of this machine.
    pub(crate) fn is_own(&self, file: &Read) -> bool {
        !self.foreign.contains(&file.stored.path)
    }

    fn has_own(&self, root: &Path, id: MemoryId) -> bool {
        self.files(root, id).iter().any(|file| self.is_own(file))
    }

    /// Returns the memory from the repository whose file is at the path of this memory's own file.
    fn replacement(&self, entry: &LedgerEntry) -> Option<&Read> {
        let path = self.stores.get(&entry.root)?.folder.join(&entry.name);
        let mut files = self.files(&entry.root, entry.id).iter();
        let file = files.find(|file| file.stored.path == path)?;
        Some(file).filter(|file| entry.aside == Aside::No && !self.is_own(file))
    }

    /// Returns the private file of a pending memory.
    pub(crate) fn aside(&self, id: MemoryId) -> Option<&Read> {
        self.disk.aside.get(&id)
    }

    /// Returns the private folder of pending files.
    pub(crate) fn aside_folder(&self) -> PathBuf {
        self.store.home.drafts.clone()
    }

    /// Returns the store of a tree.
    pub(crate) fn store(&self, root: &Path) -> &Store {
        self.stores.get(root).unwrap_or(self.store)
    }

    /// Returns why a memory's file is missing; `None` if the file never existed.
    pub(crate) fn why_missing(&self, entry: &LedgerEntry) -> Option<MissingFile> {
        if !entry.placed {
            return None;
        }
        Some(match entry.aside {
            Aside::No if self.has_moved(&entry.root) => MissingFile::Unclear,
            // A file that does not belong to this machine, or that is not a memory, is at the memory's path.
            Aside::No if self.is_displaced(entry) => MissingFile::Moved,
            Aside::No if self.has_come(entry) => MissingFile::Unclear,
            // If one of Claude's tool calls removed the file, the memory may be learned again.
            Aside::No if self.removed.contains(Path::new(&entry.name)) => MissingFile::Moved,
            Aside::No => self
                .traces
                .get(&entry.root)
                .map_or(MissingFile::Moved, |tree| tree.why_missing(entry)),
            // The private folder is not a working tree, so a person deleted a file that is missing in it.
            Aside::Review if self.aside_folder().is_dir() => MissingFile::Deleted(Reason::Deleted),
            Aside::Review | Aside::Parked => MissingFile::Moved,
        })
    }

    /// Returns whether `git clean` may have removed the only untracked memory, see [`Traces::may_be_cleaned`].
    pub(crate) fn may_be_cleaned(&self, entry: &LedgerEntry) -> bool {
        self.traces.get(&entry.root).is_some_and(|tree| tree.may_be_cleaned(entry))
    }

    /// Returns whether a file that was missing during the survey exists now.
    fn has_come(&self, entry: &LedgerEntry) -> bool {
        let folder = &self.stores.get(&entry.root).unwrap_or(self.store).folder;
        let path = folder.join(&entry.name);
        // The survey has already read a replacement at this path.
        let was_read = || self.disk.files.values().flatten().any(|read| read.stored.path == path);
        path.exists() && !was_read()
    }

    /// Returns whether the program must not write to the memory's path in the tree. Either git has the file elsewhere
    /// and an untracked file would block git, or another file is at the path.
    pub(crate) fn holds(&self, entry: &LedgerEntry) -> bool {
        let tree = self.traces.get(&entry.root).or_else(|| self.traces.get(&self.main_root));
        tree.is_some_and(|tree| tree.holds(&entry.name)) || self.is_displaced(entry)
    }

    /// Returns whether the file at a memory's path does not belong to this machine, or is not a memory.
    fn is_displaced(&self, entry: &LedgerEntry) -> bool {
        let folder = &self.stores.get(&entry.root).unwrap_or(self.store).folder;
        let path = folder.join(&entry.name);
        self.disk.unreadable.contains(&path) || self.foreign.contains(&path)
    }

    /// Returns whether the HEAD of a tree descends from the HEAD at the last survey.
    fn is_forward(&self, root: &Path) -> bool {
        self.traces.get(root).is_none_or(Traces::is_forward)
    }

    fn changed_branch(&self, root: &Path) -> bool {
        self.traces.get(root).is_some_and(Traces::changed_branch)
    }

    /// Returns whether HEAD contains a memory's file. If git changed the tree during the survey, returns the recorded
    /// value, which matches the recorded HEAD.
    pub(crate) fn commits(&self, entry: &LedgerEntry) -> bool {
        match self.traces.get(&entry.root) {
            Some(tree) if tree.has_moved() => entry.committed,
            tree => tree.is_some_and(|tree| tree.commits(&entry.name)),
        }
    }

    /// Returns the owner of a memory's file. `is_ours` is true if the program wrote the file's text.
    pub(crate) fn owner(&self, entry: &LedgerEntry, file: &Read, is_ours: bool) -> Owner {
        let tracked = self.tracks(&file.stored.path);
        let kept = entry.was_kept(&self.reviewed);
        Owner::of(entry, &file.file.memory, OwnershipEvidence { tracked, edited: !is_ours, kept })
    }

    /// Returns the files of this machine's memories in all working trees, each with its tree and id.
    pub(crate) fn own_files(&self) -> impl Iterator<Item = (&Path, MemoryId, &Read)> {
        let files = self.disk.files.iter();
        let all = files.flat_map(|((root, id), reads)| {
            reads.iter().map(move |read| (root.as_path(), *id, read))
        });
        all.filter(|(_, _, read)| self.is_own(read))
    }

    /// Returns the memories of this machine that a person owns.
    pub(crate) fn owned(&self, ledger: &Ledger) -> impl Iterator<Item = &Memory> {
        let persons = self.own_files().filter(|(_, id, read)| {
            let is_persons = |entry: &LedgerEntry| {
                self.owner(entry, read, entry.wrote(read.file.text())) == Owner::Person
            };
            ledger.entry(*id).is_some_and(is_persons)
        });
        persons.map(|(_, _, read)| &read.file.memory)
    }

    /// Returns whether git has a memory's file: in HEAD, in the index, in another branch or in a stash.
    pub(crate) fn tracks(&self, path: &Path) -> bool {
        self.stores.iter().any(|(root, store)| {
            let name = store.relative(path);
            let tree = self.traces.get(root);
            name.zip(tree).is_some_and(|(name, tree)| tree.tracks(&name))
        })
    }

    fn has_moved(&self, root: &Path) -> bool {
        self.traces.get(root).is_some_and(Traces::has_moved)
    }

    /// Returns whether git changed one of the trees since the survey.
    pub(crate) fn moves(&self) -> bool {
        self.traces.values().any(Traces::moves)
    }

    /// Returns whether a tree lacks the store's README.
    pub(crate) fn wants_readme(&self, root: &Path) -> bool {
        self.traces.get(root).is_some_and(Traces::wants_readme)
    }

    /// Returns the state of each tree to record in the ledger.
    pub(crate) fn seen_now(&self) -> Vec<SeenTree> {
        self.traces.iter().filter_map(|(root, tree)| tree.seen_now(root)).collect()
    }

    /// Returns another tree that contains a file of this memory; `None` if there is none.
    pub(crate) fn elsewhere(&self, id: MemoryId, root: &Path) -> Option<PathBuf> {
        self.stores.keys().find(|other| *other != root && self.has_own(other, id)).cloned()
    }
}

impl Disk {
    fn read(
        store: &Store,
        stores: &BTreeMap<PathBuf, Store>,
        is_foreign: &dyn Fn(&Read) -> bool,
    ) -> Result<Self> {
        let mut disk =
            Self { files: BTreeMap::new(), aside: BTreeMap::new(), unreadable: BTreeSet::new() };
        for (root, store) in stores {
            store.check_folder()?;
            for read in disk.folder(&store.folder, is_foreign)? {
                let key = (root.clone(), read.stored.memory.id);
                disk.files.entry(key).or_default().push(read);
            }
        }
        for read in disk.folder(&store.home.drafts, is_foreign)? {
            disk.aside.entry(read.stored.memory.id).or_insert(read);
        }
        Ok(disk)
    }

    /// Selects the files whose text is not recorded as a text of this machine. Returns the paths of those from the
    /// repository or from Claude's tool calls, and the hashes of the texts of the rest.
    fn unknown(
        &self,
        is_unknown: impl Fn(&Read) -> bool,
        is_foreign: impl Fn(&Read) -> bool,
    ) -> (BTreeSet<PathBuf>, BTreeSet<String>) {
        let (mut foreign, mut written) = (BTreeSet::new(), BTreeSet::new());
        for read in self.reads().filter(|read| is_unknown(read)) {
            if is_foreign(read) {
                foreign.insert(read.stored.path.clone());
            } else {
                written.extend(hashes(&read.stored));
            }
        }
        (foreign, written)
    }

    fn reads(&self) -> impl Iterator<Item = &Read> {
        self.files.values().flatten().chain(self.aside.values())
    }

    fn folder(&mut self, folder: &Path, is_foreign: &dyn Fn(&Read) -> bool) -> Result<Vec<Read>> {
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        visit(&[folder], &mut |read| match read {
            Ok(read) => files.push(read),
            Err(error) => errors.push(error),
        });
        let mut gives_way = |read: &Read| is_foreign(read);
        let twins = refuse_twins(&[folder], &mut files, |read| &read.stored.path, &mut gives_way);
        errors.extend(twins.into_iter().map(|(_, error)| error));
        for error in errors {
            match error {
                Error::Memory { path, .. }
                | Error::Refused { path, .. }
                | Error::Io { path, .. }
                    if is_file(&path) =>
                {
                    self.unreadable.insert(path);
                }
                // If a folder was not read completely, a missing file does not indicate a deletion.
                error => return Err(error),
            }
        }
        Ok(files)
    }
}

/// Returns whether an error about this path concerns a single file, not a folder.
fn is_file(path: &Path) -> bool {
    path.extension().is_some() && (path.is_symlink() || !path.is_dir())
}

/// State of a tree without git. Only the folder of memory files as a whole can move.
static NO_GIT: LazyLock<GitState> =
    LazyLock::new(|| GitState { forward: true, ..GitState::default() });
