//! Determines why a file is missing: a person deleted it, or it disappeared when the working tree changed.
//!
//! Deletions by a person must be permanent, but files removed by `git clean`, `git stash -u`, a branch switch or the
//! removal of a worktree must not be lost. Only indirect evidence distinguishes the two cases. In doubt the memory is
//! kept, because a deletion can be repeated but a lost memory cannot be recovered.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::GitState;
use crate::layout::{STORE_DIR, memory_folder};
use crate::ledger::{LedgerEntry, Reason, SeenTree};

/// Reason for a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingFile {
    /// A person deleted the file.
    Deleted(Reason),
    /// The file disappeared when the working tree changed.
    Moved,
    /// git is changing files, or did so during the survey; the next survey decides.
    Unclear,
}

/// The earlier and the present state of a working tree.
pub(super) struct Traces<'a> {
    git: &'a GitState,
    seen: SeenTree,
    committed: HashSet<&'a Path>,
    removed: HashSet<&'a Path>,
    held: HashSet<&'a Path>,
    indexed: HashSet<&'a Path>,
    /// True if git changed anything since the queries.
    has_moved: bool,
    /// True if the folder of memory files exists.
    has_folder: bool,
    /// The store's README.
    readme: PathBuf,
    /// Memories that were in HEAD, and the number of their files that still exist.
    were_committed: FileCount,
    /// Memories that were not in HEAD, and the number of their files that still exist.
    were_loose: FileCount,
}

#[derive(Clone, Copy, Default)]
struct FileCount {
    present: usize,
    missing: usize,
}

impl<'a> Traces<'a> {
    /// Collects the evidence after the disk was read. `known` lists the memories that were in this tree, each with
    /// whether its file still exists.
    pub(crate) fn gather<'e>(
        git: &'a GitState,
        seen: Option<&SeenTree>,
        folder: &Path,
        known: impl Iterator<Item = (&'e LedgerEntry, bool)>,
    ) -> Self {
        let (mut were_committed, mut were_loose) = (FileCount::default(), FileCount::default());
        for (entry, is_present) in known {
            let count = if entry.committed { &mut were_committed } else { &mut were_loose };
            // A file saved since the last survey is not counted if it exists, because it may be newer than the removal
            // of the other files.
            let is_new = entry.saved && !entry.owned;
            match (is_present, is_new) {
                (true, true) => {}
                (true, false) => count.present += 1,
                (false, _) => count.missing += 1,
            }
        }
        let set = |paths: &'a [PathBuf]| paths.iter().map(PathBuf::as_path).collect();
        Self {
            git,
            seen: seen.cloned().unwrap_or_default(),
            committed: set(&git.committed),
            removed: set(&git.removed_in_commits),
            held: set(&git.held),
            indexed: set(&git.indexed),
            has_moved: git.marks.have_moved(),
            has_folder: folder.is_dir(),
            readme: folder.with_file_name("README.md"),
            were_committed,
            were_loose,
        }
    }

    /// Returns whether git changed anything during the survey, so that git's answers and the disk are from different
    /// times.
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Returns whether git has changed anything since the queries, up to now.
    pub(crate) fn moves(&self) -> bool {
        self.has_moved || self.git.marks.have_moved()
    }

    /// Returns why a memory's file is missing.
    pub(crate) fn why_missing(&self, entry: &LedgerEntry) -> MissingFile {
        if self.has_moved {
            return MissingFile::Unclear;
        }
        match self.why_at_rest(entry) {
            // If the person aborts the merge or rebase, git restores the file.
            MissingFile::Deleted(_) if self.git.marks.is_unfinished => MissingFile::Unclear,
            certain => certain,
        }
    }

    fn why_at_rest(&self, entry: &LedgerEntry) -> MissingFile {
        let path = repository_path(&entry.name);
        if self.changed_branch() && entry.committed && !self.committed.contains(path.as_path()) {
            // The file was removed on another branch, perhaps by another person.
            return MissingFile::Moved;
        }
        if self.removed.contains(path.as_path()) {
            return MissingFile::Deleted(Reason::RemovedInCommit);
        }
        if !self.has_folder || self.was_stashed() {
            return MissingFile::Moved;
        }
        let is_committed = self.committed.contains(path.as_path());
        match (entry.committed, is_committed) {
            // HEAD contains the file and the working tree does not, as after `rm`. If several files were committed and
            // all are missing, an incomplete checkout is more likely.
            (true, true) if self.were_committed.all_of_several_missing() => MissingFile::Moved,
            // git removes a file from the index before it moves HEAD, and so does a person who is about to commit the
            // removal.
            (_, true) if !self.indexed.contains(path.as_path()) => MissingFile::Unclear,
            (_, true) => MissingFile::Deleted(Reason::Deleted),
            (true, false) if self.is_forward() => MissingFile::Deleted(Reason::RemovedInCommit),
            (true, false) => MissingFile::Moved,
            (false, false) => self.why_loose(entry, &path),
        }
    }

    /// Returns why a file is missing that was in no commit at the last survey. Switching branches does not remove such
    /// files. Either a person deleted the file, or `git clean` or `git stash -u` removed all such files.
    fn why_loose(&self, entry: &LedgerEntry, path: &Path) -> MissingFile {
        // The file may have been committed since, on a branch that is no longer checked out.
        if self.held.contains(path) || !self.is_forward() || self.changed_branch() {
            return MissingFile::Moved;
        }
        // A reset discards staged files. A stash discards files that appeared while it was created.
        if self.was_swept() {
            return MissingFile::Moved;
        }
        let lost_readme = self.seen.loose_readme && !self.readme.exists();
        if lost_readme || self.were_loose.all_of_several_missing() || self.may_be_cleaned(entry) {
            MissingFile::Moved
        } else {
            MissingFile::Deleted(Reason::Deleted)
        }
    }

    /// Returns whether `git clean` may have removed the only untracked memory. `git clean` leaves no untracked file. A
    /// person who intended to delete the memory can delete it again.
    pub(crate) fn may_be_cleaned(&self, entry: &LedgerEntry) -> bool {
        let has_readme = self.seen.loose_readme && self.readme.exists();
        let is_alone = self.were_loose.present == 0 && self.git.has_untracked == Some(false);
        is_alone && !has_readme && !entry.returned && !entry.committed
    }

    /// Returns whether git has a file at a path elsewhere. An untracked file at this path would then block git.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.held.contains(repository_path(name).as_path())
    }

    /// Returns whether git has a memory file: in HEAD, in the index, in another branch or a stash.
    pub(crate) fn tracks(&self, name: &str) -> bool {
        let path = repository_path(name);
        let places = [&self.committed, &self.indexed, &self.held];
        places.iter().any(|paths| paths.contains(path.as_path()))
    }

    /// Returns whether HEAD contains a memory file.
    pub(crate) fn commits(&self, name: &str) -> bool {
        self.committed.contains(repository_path(name).as_path())
    }

    /// Returns whether to write the store's README. It is written together with the first memory, unless it would block
    /// git.
    pub(crate) fn wants_readme(&self) -> bool {
        let readme = Path::new(STORE_DIR).join("README.md");
        !self.has_folder && !self.held.contains(readme.as_path())
    }

    /// Returns the state of this tree to record after all changes. Returns `None` if git changed anything during the
    /// survey; the next survey then decides about missing files by the state that is already recorded.
    pub(crate) fn seen_now(&self, root: &Path) -> Option<SeenTree> {
        if self.has_moved {
            return None;
        }
        let readme = Path::new(STORE_DIR).join("README.md");
        Some(SeenTree {
            root: root.to_owned(),
            head: self.git.head.clone(),
            branch: self.git.branch.clone(),
            stash: self.git.stash.clone(),
            swept: self.git.marks.swept().map(str::to_owned),
            loose_readme: self.readme.exists() && !self.committed.contains(readme.as_path()),
            more: self.seen.more.clone(),
        })
    }

    /// Returns whether the present HEAD descends from the HEAD of the last survey.
    pub(crate) fn is_forward(&self) -> bool {
        self.git.forward || self.seen.head == self.git.head
    }

    /// Returns whether the branch differs from the branch of the last survey.
    pub(crate) fn changed_branch(&self) -> bool {
        self.seen.branch != self.git.branch
    }

    fn was_stashed(&self) -> bool {
        self.git.stash.is_some() && self.git.stash != self.seen.stash
    }

    fn was_swept(&self) -> bool {
        let swept = self.git.marks.swept();
        swept.is_some() && swept != self.seen.swept.as_deref()
    }
}

impl FileCount {
    fn all_of_several_missing(self) -> bool {
        self.present == 0 && self.missing > 1
    }
}

/// Returns the path of a memory file in its repository.
fn repository_path(name: &str) -> PathBuf {
    memory_folder(Path::new("")).join(name)
}
