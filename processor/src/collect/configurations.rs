//! Claude Code's configuration folders. A user may have several, for example one per account (`CLAUDE_CONFIG_DIR`).
//! Each folder that was current during a sync is stored, so that later syncs read the sessions of all accounts.

use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::layout::UserDirs;

use crate::private_files::{read_json, write_json};
use crate::transcript::SOURCE;

/// Maximum number of stored folders.
const FOLDERS_MAX: usize = 20;

/// Returns the existing configuration folders, the current one first.
pub fn known(dirs: &UserDirs) -> Vec<PathBuf> {
    let remembered: Vec<PathBuf> = read_json(&file(dirs)).unwrap_or_default();
    let mut folders: Vec<(PathBuf, PathBuf)> = Vec::new();
    for folder in std::iter::once(dirs.claude.clone()).chain(remembered) {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let is_new = folders.iter().all(|(_, known)| *known != real);
        if is_new && (folder == dirs.claude || folder.is_dir()) {
            folders.push((folder, real));
        }
    }
    folders.into_iter().map(|(folder, _)| folder).collect()
}

/// Returns the folders in which Claude Code writes transcripts, the current one first.
pub fn transcript_folders(dirs: &UserDirs) -> Vec<PathBuf> {
    known(dirs).iter().map(|folder| SOURCE.folder(folder)).collect()
}

/// Stores the current configuration folder, if it contains transcripts.
pub fn remember(dirs: &UserDirs) -> Result<()> {
    let present = absolute(&dirs.claude);
    let mut remembered: Vec<PathBuf> = read_json(&file(dirs)).unwrap_or_default();
    if remembered.contains(&present) || !SOURCE.folder(&present).is_dir() {
        return Ok(());
    }
    remembered.push(present);
    // If there are too many folders, the oldest missing one is removed first.
    while remembered.len() > FOLDERS_MAX {
        let gone = remembered.iter().position(|folder| !folder.is_dir()).unwrap_or(0);
        remembered.remove(gone);
    }
    write_json(&file(dirs), &remembered)
}

fn file(dirs: &UserDirs) -> PathBuf {
    dirs.data.join("claude-folders.json")
}

fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_remembered_once_while_it_is_there() {
        let home = tempfile::tempdir().unwrap();
        let dirs = testutils::dirs_of(home.path());
        let folder = |name: &str| home.path().join(name);
        let of = |name: &str| UserDirs { claude: folder(name), ..dirs.clone() };
        remember(&of("a")).unwrap();
        assert_eq!(known(&of("b")), [folder("b")], "nothing is in it");
        for name in ["a", "b", "a"] {
            std::fs::create_dir_all(folder(name).join("projects")).unwrap();
            remember(&of(name)).unwrap();
        }
        assert_eq!(known(&of("b")), [folder("b"), folder("a")]);
        crate::for_tests::symlink(folder("a"), folder("c")).unwrap();
        assert_eq!(known(&of("c")), [folder("c"), folder("b")]);
        std::fs::remove_dir_all(folder("b")).unwrap();
        assert_eq!(known(&of("a")), [folder("a")]);
    }
}
