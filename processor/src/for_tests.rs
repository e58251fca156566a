//! Helpers for unit tests: a separate project in a temporary home.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use memory_store::file::MemoryFile;
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::{Tree, UserDirs};
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use testutils::SealedHome;

use crate::lock::Busy;
use crate::sync::SyncOptions;

/// Current time in tests.
pub(crate) const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// A trusted project without a repository, in a separate home.
pub(crate) struct Project {
    pub dirs: UserDirs,
    pub tree: Tree,
    _home: SealedHome,
}

impl Project {
    pub fn new(mode: Mode) -> Self {
        let home = SealedHome::new();
        let (dirs, root) = (home.dirs.clone(), home.path().join("my_work"));
        fs::create_dir(&root).unwrap();
        let observed = Observed { root, ..Observed::default() };
        let tree = identity::vouch(&dirs, &observed, Some(mode), [1; 16], NOW).unwrap();
        Self { dirs, tree, _home: home }
    }

    pub fn root(&self) -> &Path {
        &self.tree.root
    }

    pub fn sync(&self) -> SyncOptions<'_> {
        SyncOptions::new(&self.dirs, &self.tree, Busy::Leave, NOW)
    }
}

/// Writes a convention into the committed folder of a working tree.
pub(crate) fn write_memory(root: &Path, name: &str, number: u8, title: &str) {
    let id = MemoryId::new(NOW, [number; 10]);
    let memory = Memory::new(id, Kind::Convention, title, "It is so.", NOW);
    let folder = root.join(".throughline/memories");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), MemoryFile::new(memory).unwrap().text()).unwrap();
}

/// Runs git without a user's configuration.
pub(crate) fn git(root: &Path, arguments: &[&str]) {
    git_with(root, arguments, "");
}

/// Runs git like `git`, with a fixed date for commits.
pub(crate) fn git_at(root: &Path, arguments: &[&str], date: &str) {
    let mut git = of_nobody(root, arguments);
    git.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    assert!(git.status().unwrap().success(), "git {arguments:?}");
}

/// Runs git like `git`, with `input` on stdin.
pub(crate) fn git_with(root: &Path, arguments: &[&str], input: &str) {
    let mut git = of_nobody(root, arguments);
    let mut git = git.stdin(Stdio::piped()).spawn().unwrap();
    git.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success(), "git {arguments:?}");
}

fn of_nobody(root: &Path, arguments: &[&str]) -> Command {
    let mut git = crate::git::command(root);
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
    git.args(["-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false"]).args(arguments);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git.stdout(Stdio::null());
    git
}

pub use std::os::unix::fs::symlink;

/// Makes this thread access files as another user, because root may read all folders.
pub fn as_nobody() {
    const NOBODY: libc::c_long = 65534;
    // SAFETY: the call takes a number and only changes the user id with which this thread accesses files. If the thread
    // lacks the right to do so, the call has no effect.
    unsafe { libc::syscall(libc::SYS_setfsuid, NOBODY) };
}
