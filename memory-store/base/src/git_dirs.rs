//! Git directories of a working tree. They are read from git's own files (gitrepository-layout(5)), because a hook has
//! no time to start a process.
//!
//! In an ordinary checkout, the directory is `.git`. In a linked worktree, a submodule or a checkout made with
//! `--separate-git-dir`, `.git` is a file that names the directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fs::open_regular::{read_beginning, read_short};

/// Name of a git directory in its working tree, or of the file that names the directory.
const DOT_GIT: &str = ".git";
/// Folder with the git directories of linked worktrees.
const WORKTREES_DIR: &str = "worktrees";
/// Maximum number of bytes of a repository's configuration that are read; the settings for paths are near its start.
const CONFIG_BYTES_MAX: u64 = 64 << 10;
/// Maximum number of linked worktrees that are listed.
const WORKTREES_MAX: usize = 1000;

/// Git directories of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirs {
    /// Directory with the state of this working tree, such as HEAD and index.
    pub own: PathBuf,
    /// Directory that all working trees of the repository share. It equals `own` unless the working tree is linked.
    pub common: PathBuf,
}

impl GitDirs {
    /// Returns the git directories of the working tree with this root; `None` if there is no repository. Also `None` if
    /// the folder claims to be a linked worktree of a repository that does not list it, because a hostile folder may
    /// claim anything.
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

    /// Returns whether the repository is bare, so that none of its working trees is the main one.
    pub fn is_bare(&self) -> bool {
        CoreSettings::read(&self.common).is_bare
    }

    /// Returns the root of the main working tree; `None` if the repository's files do not name it, as in a bare
    /// repository or one made with `--separate-git-dir`.
    pub fn main_root(&self) -> Option<PathBuf> {
        let settings = CoreSettings::read(&self.common);
        if settings.is_bare {
            return None;
        }
        let named = settings.worktree.and_then(|root| self.common.join(root).canonicalize().ok());
        let root = named.or_else(|| self.folder_around().map(Path::to_owned))?;
        // The repository may name any folder, so the folder must name the repository too.
        let back = Self::of(&root)?.common;
        (back.canonicalize().ok()? == self.common.canonicalize().ok()?).then_some(root)
    }

    /// Returns the folder whose `.git` is the shared directory; `None` if the shared directory has another name.
    pub fn folder_around(&self) -> Option<&Path> {
        self.common.parent().filter(|_| self.common.ends_with(DOT_GIT))
    }

    /// Returns the roots of the linked worktrees, sorted. Some of the folders may be missing.
    pub fn linked_roots(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.common.join(WORKTREES_DIR)) else { return Vec::new() };
        let entries = entries.flatten().take(WORKTREES_MAX);
        let mut roots: Vec<PathBuf> =
            entries.filter_map(|entry| linked_root(&entry.path())).collect();
        roots.sort();
        roots
    }

    /// Returns the branch that is checked out; `None` if there is none.
    pub fn branch(&self) -> Option<String> {
        let head = read_short(&self.own.join("HEAD"))?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }
}

/// Returns whether a folder is the root of a repository or of one of its working trees.
pub fn is_root(folder: &Path) -> bool {
    GitDirs::of(folder).is_some()
}

/// Returns whether a folder contains a `.git`, even if git cannot read it.
pub fn has_git_entry(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Returns the shared directory for `own`, the directory of a linked worktree (`<common>/worktrees/<name>`); `None` for
/// other directories.
fn common_of(own: &Path) -> Option<PathBuf> {
    let worktrees = own.parent().filter(|folder| folder.ends_with(WORKTREES_DIR))?;
    own.join("gitdir").is_file().then(|| worktrees.parent().map(Path::to_owned))?
}

fn is_linked_back(own: &Path, root: &Path) -> bool {
    let back = linked_root(own).and_then(|back| back.canonicalize().ok());
    back.is_some() && back == root.canonicalize().ok()
}

/// Returns the root of a linked worktree. A file in its git directory names its `.git` by an absolute path or by one
/// relative to that directory (`worktree.useRelativePaths`).
fn linked_root(own: &Path) -> Option<PathBuf> {
    let link = read_short(&own.join("gitdir"))?;
    let root = Path::new(link.trim_end()).parent()?;
    if root.is_absolute() { Some(root.to_owned()) } else { own.join(root).canonicalize().ok() }
}

/// Settings of a repository that concern the path of its working tree.
#[derive(Debug, Default)]
struct CoreSettings {
    is_bare: bool,
    worktree: Option<String>,
}

impl CoreSettings {
    /// Reads the settings from the shared configuration. If each working tree has its own configuration
    /// (`extensions.worktreeConfig`), that of the main one is read too.
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

    /// Takes the settings from the text of a file. Returns whether each working tree has its own configuration.
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
        // The link from the git directory to the working tree may have two notations.
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
