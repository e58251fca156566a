//! Snapshot of git's own files, which change when git changes HEAD, the index or a stash. A snapshot is taken before
//! the git queries and compared with the state after the disk was read. The comparison shows, without running git,
//! whether git changed anything in between.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::fs::file_stamp::{file_number, modified_ns};
use crate::fs::open_regular::{self, Links};

/// Files in a working tree's own git folder. git replaces the index after each change of files.
const OWN: [&str; 4] = ["HEAD", "index", "logs/HEAD", "reftable/tables.list"];

/// Files in the folder that all working trees of a repository share.
const SHARED: [&str; 4] = ["refs/stash", "logs/refs/stash", "packed-refs", "reftable/tables.list"];

/// This file exists while git changes files. If a killed git left it behind, a person must remove it, as git's error
/// message explains.
const LOCK: &str = "index.lock";

/// Files that exist during an unfinished merge, rebase or similar operation, which a person may abort.
const UNFINISHED: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/// Maximum number of bytes read from the end of HEAD's log: about 400 changes of HEAD.
const LOG_BYTES_MAX: u64 = 64 << 10;

/// State of git's own files for one working tree. Without a repository, it is empty and never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitSnapshot {
    own: PathBuf,
    shared: PathBuf,
    files: Vec<Option<GitFileState>>,
    is_locked: bool,
    /// True if a merge, a rebase or a similar operation was unfinished.
    pub is_unfinished: bool,
    swept: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GitFileState {
    modified_ns: Option<i64>,
    len: u64,
    inode: u64,
}

impl GitSnapshot {
    /// Takes a snapshot. `own` is the git folder of the working tree (`git rev-parse --git-dir`), `shared` the folder
    /// that all trees of the repository share (`--git-common-dir`).
    pub fn take(own: &Path, shared: &Path) -> Self {
        let files = OWN.iter().map(|name| own.join(name));
        let files = files.chain(SHARED.iter().map(|name| shared.join(name)));
        Self {
            files: files.map(|path| GitFileState::of(&path)).collect(),
            is_locked: own.join(LOCK).exists(),
            is_unfinished: UNFINISHED.iter().any(|name| own.join(name).exists()),
            swept: last_sweep(&own.join("logs/HEAD")).ok().flatten(),
            own: own.to_owned(),
            shared: shared.to_owned(),
        }
    }

    /// Returns whether git was changing files when the snapshot was taken, is changing files now, or changed its own
    /// files in between.
    pub(crate) fn have_moved(&self) -> bool {
        let is_repository = !self.own.as_os_str().is_empty();
        is_repository && (self.is_locked || Self::take(&self.own, &self.shared) != *self)
    }

    /// Returns the last time that git discarded uncommitted files without moving HEAD, according to HEAD's log. This
    /// includes `git stash`, because it also removes files that appeared after it listed the files to stash. No stash
    /// contains such files.
    pub(super) fn swept(&self) -> Option<&str> {
        self.swept.as_deref()
    }
}

impl GitFileState {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let (_, inode) = file_number(&found);
        Some(Self { modified_ns: modified_ns(&found), len: found.len(), inode })
    }
}

/// Returns the position and time of the last line in HEAD's log that a reset or an aborted rebase wrote.
fn last_sweep(log: &Path) -> io::Result<Option<String>> {
    let mut file = open_regular::open(log, Links::Follow)?;
    let start = file.metadata()?.len().saturating_sub(LOG_BYTES_MAX);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
    let mut at = start;
    let mut last = None;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if let Some((who, what)) = text.split_once('\t')
            && (what.starts_with("reset: ") || what.contains("(abort)"))
        {
            let time = who.rsplit(' ').nth(1).unwrap_or_default();
            last = Some(format!("{at} {time}"));
        }
        at += line.len() as u64;
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sweep_is_distinguished_from_every_other_one() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("HEAD");
        let line =
            |what: &str| format!("{0} {0} Ada <ada@example.com> 1790000000 +0000\t{what}\n", "a");
        let mut text = line("commit: One") + &line("checkout: moving from main to reset");
        let mut sweep = |more: &str| {
            text += more;
            fs::write(&log, &text).unwrap();
            last_sweep(&log).unwrap()
        };
        assert_eq!(sweep(""), None);
        let first = sweep(&line("reset: moving to HEAD"));
        assert!(first.as_ref().unwrap().ends_with(" 1790000000"), "{first:?}");
        assert_eq!(sweep(&line("commit: Two")), first);
        // The second reset is in the same second as the first.
        let second = sweep(&line("reset: moving to HEAD"));
        assert_ne!(second, first);
        let third = sweep(&line("rebase (abort): returning to refs/heads/main"));
        assert_ne!(third, second);
        // Lines before the read part of the log are ignored, and so is a truncated line.
        assert_eq!(sweep(&line(&"x".repeat(LOG_BYTES_MAX as usize))), None);
    }

    #[test]
    fn without_a_repository_nothing_moves() {
        assert!(!GitSnapshot::default().have_moved());
    }

    #[test]
    fn whatever_git_does_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("worktrees/side");
        let shared = folder.path();
        fs::create_dir_all(own.join("logs")).unwrap();
        fs::create_dir_all(shared.join("refs")).unwrap();
        for path in [own.join("index"), own.join("HEAD"), shared.join("refs/stash"), own.join(LOCK)]
        {
            let before = GitSnapshot::take(&own, shared);
            assert!(!before.have_moved());
            fs::write(&path, "1").unwrap();
            assert!(before.have_moved(), "{}", path.display());
        }
        // git was changing files during the git queries, and no longer is.
        let before = GitSnapshot::take(&own, shared);
        fs::remove_file(own.join(LOCK)).unwrap();
        assert!(before.have_moved());
        assert!(!GitSnapshot::take(&own, shared).have_moved());
        assert!(!GitSnapshot::take(&own, shared).is_unfinished);
        fs::create_dir(own.join("rebase-merge")).unwrap();
        assert!(GitSnapshot::take(&own, shared).is_unfinished);
    }
}
