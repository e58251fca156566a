//! The README in a memory folder, for teammates who do not know this program.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::format_version;
use crate::fs::disk::{self, Privacy};
use crate::fs::open_regular::{self, Links};

const README: &str = "\
# What this folder is

These are memories of work on this project: decisions, commands that work, fixes, wishes.
A program named Throughline learned them from Claude Code sessions and puts the few that matter in
front of the model again. You need not install it to read them.

Each file in `memories/` is one memory: plain Markdown with a few fields on top. Treat them like
code: review them in pull requests, correct them, rename them, merge them. Delete a file and it stays
deleted. This README is no memory; change it or delete it as you like.

With Throughline installed:

- `throughline trust` shows the memories here and lets your own sessions read them; `throughline init` lets them
  write here, too.
- `throughline diff main..branch` says in sentences what a branch adds, changes and removes.
- `throughline check` names what should not be committed: broken files, secrets, paths of one machine.
- `throughline why` shows what was used.

Settings of this project may go into `config.toml`. What people said in sessions, and what waits for
review, is not here: it stays on each machine.
";

/// The first 16 hexadecimal digits of the blake3 hash of READMEs by earlier versions.
const EARLIER: [&str; 1] = ["4ae74453f851ec4d"];

/// Maximum size in bytes of a README that is compared.
const README_BYTES_MAX: u64 = 16 << 10;

/// State of the README of a memory folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadmeState {
    /// There is no README.
    Missing,
    /// The README has the text of this version or of an earlier version.
    Ours,
    /// A person changed the README.
    Changed,
}

/// Name of the README, which is next to the folder of memory files.
pub const NAME: &str = "README.md";

fn path(memories: &Path) -> Option<PathBuf> {
    Some(memories.parent()?.join(NAME))
}

/// Returns the state of the README next to a folder of memory files.
pub fn state(memories: &Path) -> ReadmeState {
    let Some(path) = path(memories).filter(|path| fs::symlink_metadata(path).is_ok()) else {
        return ReadmeState::Missing;
    };
    match read(&path) {
        Some(text) if text == README || is_earlier(&text) => ReadmeState::Ours,
        Some(_) | None => ReadmeState::Changed,
    }
}

fn read(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = open_regular::open(path, Links::Refuse).ok()?;
    file.take(README_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text.replace("\r\n", "\n"))
}

fn is_earlier(text: &str) -> bool {
    EARLIER.contains(&&blake3::hash(text.as_bytes()).to_hex()[..16])
}

/// Writes the README next to the folder of memory files. An existing README is replaced only if an earlier version of
/// the program wrote it.
pub(super) fn write(root: &Path, memories: &Path) -> Result<()> {
    let Some(path) = path(memories) else { return Ok(()) };
    let is_there = fs::symlink_metadata(&path).is_ok();
    if is_there && !read(&path).is_some_and(|text| is_earlier(&text)) {
        return Ok(());
    }
    let (bytes, privacy) = (README.as_bytes(), Privacy::Shared);
    disk::replace_all(&[disk::Write { root, path: &path, bytes, privacy }])
}

/// Removes an unchanged README and the folders, if they contain neither memories nor other files. Returns the removed
/// folder, if any.
pub fn remove_alone(memories: &Path) -> Option<PathBuf> {
    let folder = memories.parent()?;
    let is_empty = |folder: &Path| {
        fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
            && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
    };
    let others = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let is_ours = |name: &OsStr| name == NAME || name == "memories" || name == format_version::FILE;
    let is_alone = others.into_iter().all(|name| is_ours(&name));
    if state(memories) != ReadmeState::Ours || !is_alone || !is_empty(memories) && memories.exists()
    {
        return None;
    }
    let _ = fs::remove_dir(memories);
    let _ = fs::remove_file(format_version::path(folder));
    fs::remove_file(path(memories)?).ok()?;
    fs::remove_dir(folder).ok()?;
    Some(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_written_once_renewed_and_never_taken_from_a_person() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let memories = root.join(".throughline/memories");
        fs::create_dir_all(&memories).unwrap();
        assert_eq!(state(&memories), ReadmeState::Missing);
        write(&root, &memories).unwrap();
        assert_eq!(state(&memories), ReadmeState::Ours);
        let readme = path(&memories).unwrap();
        fs::write(&readme, README.replace('\n', "\r\n")).unwrap();
        assert_eq!(state(&memories), ReadmeState::Ours);
        fs::write(&readme, "Ours, by hand.\n").unwrap();
        write(&root, &memories).unwrap();
        assert_eq!(state(&memories), ReadmeState::Changed);
        assert_eq!(fs::read_to_string(&readme).unwrap(), "Ours, by hand.\n");
        assert_eq!(remove_alone(&memories), None);
        fs::write(&readme, README).unwrap();
        fs::write(memories.join("a.md"), "x").unwrap();
        assert_eq!(remove_alone(&memories), None);
        fs::remove_file(memories.join("a.md")).unwrap();
        fs::write(format_version::path(&root.join(".throughline")), "2 0.2.0\n").unwrap();
        assert_eq!(remove_alone(&memories), Some(root.join(".throughline")));
        assert!(!root.join(".throughline").exists());
    }
}
