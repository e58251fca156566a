//! Reason why a file is missing: a person deleted it, or it disappeared together with a change of the tree.
//!
//! Deletions by a person must be permanent, and files removed by `git clean`, `git stash -u`, a branch switch or the
//! removal of a worktree must not be lost. Only traces distinguish the two, and in doubt the memory is kept: a deletion
//! can be repeated, a lost memory cannot be recovered.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::GitState;
use crate::layout::{STORE_DIR, memory_folder};
use crate::ledger::{LedgerEntry, Reason, SeenTree};

/// Judgement of a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingFile {
    /// A person deleted it.
    Deleted(Reason),
    /// It disappeared with a change of the tree.
    Moved,
    /// git is at work, or was during the survey: the next survey decides.
    Unclear,
}

/// The earlier and present state of a working tree.
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
    /// Memories that were in HEAD, and how many of them are still there.
    were_committed: FileCount,
    /// Memories that were not in HEAD.
    were_loose: FileCount,
}

#[derive(Clone, Copy, Default)]
struct FileCount {
    present: usize,
    missing: usize,
}

impl<'a> Traces<'a> {
    /// Collects the evidence after reading the disk; `known` are the memories that were in this tree, with the presence
    /// of their files.
    pub(crate) fn gather<'e>(
        git: &'a GitState,
        seen: Option<&SeenTree>,
        folder: &Path,
        known: impl Iterator<Item = (&'e LedgerEntry, bool)>,
    ) -> Self {
        let (mut were_committed, mut were_loose) = (FileCount::default(), FileCount::default());
        for (entry, is_present) in known {
            let count = if entry.committed { &mut were_committed } else { &mut were_loose };
            // Files saved since the last survey are newer than any removal of the others.
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

    /// Returns whether git changed anything during the survey: its answers and the disk are then from different times.
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Returns whether git has changed anything by now.
    pub(crate) fn moves(&self) -> bool {
        self.has_moved || self.git.marks.have_moved()
    }

    /// Says why a memory's file is gone.
    pub(crate) fn why_missing(&self, entry: &LedgerEntry) -> MissingFile {
        if self.has_moved {
            return MissingFile::Unclear;
        }
        match self.why_at_rest(entry) {
            // Aborting a merge or rebase restores it.
            MissingFile::Deleted(_) if self.git.marks.is_unfinished => MissingFile::Unclear,
            certain => certain,
        }
    }

    fn why_at_rest(&self, entry: &LedgerEntry) -> MissingFile {
        let path = repository_path(&entry.name);
        if self.changed_branch() && entry.committed && !self.committed.contains(path.as_path()) {
            // The removal was on another branch, perhaps by another person.
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
            // HEAD contains it, the working tree does not: `rm`. If several are all missing, an incomplete checkout is
            // more likely.
            (true, true) if self.were_committed.all_of_several_missing() => MissingFile::Moved,
            // git removes a file from the index before it moves HEAD, and so does a person before committing the
            // removal.
            (_, true) if !self.indexed.contains(path.as_path()) => MissingFile::Unclear,
            (_, true) => MissingFile::Deleted(Reason::Deleted),
            (true, false) if self.is_forward() => MissingFile::Deleted(Reason::RemovedInCommit),
            (true, false) => MissingFile::Moved,
            (false, false) => self.why_loose(entry, &path),
        }
    }

    /// Of a file that no commit held when we last looked. Switching branches leaves such files
    /// alone, so it is either a person, or what removes all of them: `git clean`, `git stash -u`.
    fn why_loose(&self, entry: &LedgerEntry, path: &Path) -> MissingFile {
        // It may have been committed since, on a branch that was left again.
        if self.held.contains(path) || !self.is_forward() || self.changed_branch() {
            return MissingFile::Moved;
        }
        // A reset discards staged files, and a stash the files that appeared while it was made.
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

    /// Returns whether `git clean` may have taken the only untracked memory: it leaves no untracked file at all. A person
    /// who meant to delete it does so once more.
    pub(crate) fn may_be_cleaned(&self, entry: &LedgerEntry) -> bool {
        let has_readme = self.seen.loose_readme && self.readme.exists();
        let is_alone = self.were_loose.present == 0 && self.git.has_untracked == Some(false);
        is_alone && !has_readme && !entry.returned && !entry.committed
    }

    /// Returns whether git keeps a path elsewhere, so that an untracked file at it would be in its way.
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

    /// Returns whether to write the store's README: with the first memory, unless it would be in git's way.
    pub(crate) fn wants_readme(&self) -> bool {
        let readme = Path::new(STORE_DIR).join("README.md");
        !self.has_folder && !self.held.contains(readme.as_path())
    }

    /// Returns the state of this tree to remember, once everything is written; `None` if git was at work, since missing
    /// files are then judged later, by the state remembered before.
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

    /// Returns whether HEAD descends from the last one seen.
    pub(crate) fn is_forward(&self) -> bool {
        self.git.forward || self.seen.head == self.git.head
    }

    /// Returns whether the branch differs from the last one seen.
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
