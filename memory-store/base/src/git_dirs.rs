//! Git directories of a working tree, read from git's own files (gitrepository-layout(5)) without starting a process,
//! for which a hook has no time.
//!
//! The directory is `.git` in an ordinary checkout. A linked worktree, a submodule and a checkout made with
//! `--separate-git-dir` have a file of that name instead, which refers to it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fs::open_regular::{read_beginning, read_short};

/// Name of a git directory in its working tree, or of the file that refers to it.
const DOT_GIT: &str = ".git";
/// Folder of the git directories of linked worktrees.
const WORKTREES_DIR: &str = "worktrees";
/// Maximum number of bytes read of a repository's configuration; settings of the repository's paths are near its start.
const CONFIG_BYTES_MAX: u64 = 64 << 10;
/// Maximum number of linked worktrees that are read.
const WORKTREES_MAX: usize = 1000;

/// Git directories of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirs {
    /// Directory of this working tree: HEAD, index.
    pub own: PathBuf,
    /// Directory that all working trees of the repository share; the same one unless the tree is linked.
    pub common: PathBuf,
}

impl GitDirs {
    /// Reads the git directories of the working tree with this root. `None` without a repository, and for a folder that
    /// claims to be a linked worktree of a repository which does not list it: a hostile folder may claim anything.
    pub fn of(root: &Path) -> Option<Self> {
        let dot_git = root.join(DOT_GIT);
        let kind = fs::metadata(&dot_git).ok()?;
        if kind.is_dir() {
            let is_git = dot_git.join("HEAD").is_file();
            return is_git.then(|| Self { own: dot_git.clone(), common: dot_git });
        }
        let link = read_short(&dot_git)?;
        let own = root.join(link.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        match common_of(&own) {
            None => own.join("HEAD").is_file().then(|| Self { common: own.clone(), own }),
            Some(common) => is_linked_back(&own, root).then_some(Self { own, common }),
        }
    }

    /// Returns whether the working tree is a linked worktree.
    pub fn is_linked(&self) -> bool {
        self.own != self.common
    }

    /// Returns whether the repository is bare: none of its working trees is the main one.
    pub fn is_bare(&self) -> bool {
        CoreSettings::read(&self.common).is_bare
    }

    /// Returns the root of the main working tree, if the repository's files refer to it. They do not for a bare
    /// repository, and for one made with `--separate-git-dir`.
    pub fn main_root(&self) -> Option<PathBuf> {
        let settings = CoreSettings::read(&self.common);
        if settings.is_bare {
            return None;
        }
        let named = settings.worktree.and_then(|root| self.common.join(root).canonicalize().ok());
        let root = named.or_else(|| self.folder_around().map(Path::to_owned))?;
        // The repository may name any folder; the folder has to refer back.
        let back = Self::of(&root)?.common;
        (back.canonicalize().ok()? == self.common.canonicalize().ok()?).then_some(root)
    }

    /// Returns the folder that contains the shared directory as its `.git`.
    pub fn folder_around(&self) -> Option<&Path> {
        self.common.parent().filter(|_| self.common.ends_with(DOT_GIT))
    }

    /// Returns the roots of the linked worktrees, sorted; some may be missing.
    pub fn linked_roots(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.common.join(WORKTREES_DIR)) else { return Vec::new() };
        let entries = entries.flatten().take(WORKTREES_MAX);
        let mut roots: Vec<PathBuf> =
            entries.filter_map(|entry| linked_root(&entry.path())).collect();
        roots.sort();
        roots
    }

    /// Returns the branch that is checked out; `None` without one.
    pub fn branch(&self) -> Option<String> {
        let head = read_short(&self.own.join("HEAD"))?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }
}

/// Returns whether a folder is the root of a repository, or of one of its working trees.
pub fn is_root(folder: &Path) -> bool {
    GitDirs::of(folder).is_some()
}

/// Returns whether a folder contains a `.git`, even if git cannot read it.
pub fn has_git_entry(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Returns the shared directory of a linked worktree's own one, `<common>/worktrees/<name>`.
fn common_of(own: &Path) -> Option<PathBuf> {
    let worktrees = own.parent().filter(|folder| folder.ends_with(WORKTREES_DIR))?;
    own.join("gitdir").is_file().then(|| worktrees.parent().map(Path::to_owned))?
}

fn is_linked_back(own: &Path, root: &Path) -> bool {
    let back = linked_root(own).and_then(|back| back.canonicalize().ok());
    back.is_some() && back == root.canonicalize().ok()
}

/// Returns the root of a linked worktree from the file in its git directory that refers to its `.git`, by a path that
/// is absolute or relative to that directory (`worktree.useRelativePaths`).
fn linked_root(own: &Path) -> Option<PathBuf> {
    let link = read_short(&own.join("gitdir"))?;
    let root = Path::new(link.trim_end()).parent()?;
    if root.is_absolute() { Some(root.to_owned()) } else { own.join(root).canonicalize().ok() }
}

/// Settings of a repository about the path of its working tree.
#[derive(Debug, Default)]
struct CoreSettings {
    is_bare: bool,
    worktree: Option<String>,
}

impl CoreSettings {
    /// Reads them from the shared configuration and, if each working tree has its own, from that of the main one
    /// (`extensions.worktreeConfig`).
    fn read(common: &Path) -> Self {
        let text = |name: &str| {
            let bytes = read_beginning(&common.join(name), CONFIG_BYTES_MAX);
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let mut settings = Self::default();
        if settings.take(&text("config")) {
            settings.take(&text("config.worktree"));
        }
        settings
    }

    /// Parses the settings in a file; returns whether working trees have their own files.
    fn take(&mut self, text: &str) -> bool {
        let (mut section, mut has_more) = (String::new(), false);
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.split(']').next().unwrap_or_default().trim().to_ascii_lowercase();
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let value = value.trim().trim_matches('"');
            let is_true = || {
                let value = value.to_ascii_lowercase();
                matches!(value.as_str(), "true" | "yes" | "on" | "1")
            };
            match (section.as_str(), key.trim().to_ascii_lowercase().as_str()) {
                ("core", "bare") => self.is_bare = is_true(),
                ("core", "worktree") => self.worktree = Some(value.to_owned()),
                ("extensions", "worktreeconfig") => has_more = is_true(),
                _ => {}
            }
        }
        has_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_writes_them() {
        let read = |text: &str| {
            let mut settings = CoreSettings::default();
            let has_more = settings.take(text);
            (settings.is_bare, settings.worktree, has_more)
        };
        assert_eq!(read("[core]\n\tbare = true\n"), (true, None, false));
        assert_eq!(
            read("[core]\n\tbare = false\n\tworktree = ../../../sub\n").1.unwrap(),
            "../../../sub"
        );
        assert_eq!(read("[Core]\nBare\n[remote \"bare\"]\n\tbare = false\n"), (true, None, false));
        assert_eq!(read("[extensions]\n\tworktreeConfig = yes\n"), (false, None, true));
        assert_eq!(read("# bare = true\n[core \"x\"]\nbare = true\n"), (false, None, false));
    }

    #[test]
    fn a_folder_that_is_not_linked_back_has_no_repository() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let (main, linked, evil) = (base.join("main"), base.join("linked"), base.join("evil"));
        let own = main.join(".git/worktrees/linked");
        for folder in [&own, &linked, &evil] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        for folder in [&linked, &evil] {
            fs::write(folder.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        }
        // Both notations of the link back.
        for back in
            ["../../../../linked/.git".to_owned(), linked.join(".git").display().to_string()]
        {
            fs::write(own.join("gitdir"), back + "\n").unwrap();
            let dirs = GitDirs::of(&linked).unwrap();
            assert_eq!((&dirs.own, &dirs.common), (&own, &main.join(".git")));
            assert_eq!(dirs.branch().as_deref(), Some("side"));
            assert_eq!(dirs.main_root(), Some(main.clone()));
            assert_eq!(dirs.linked_roots(), std::slice::from_ref(&linked));
            assert_eq!(GitDirs::of(&evil), None);
        }
        assert!(!GitDirs::of(&main).unwrap().is_linked());
    }
}
