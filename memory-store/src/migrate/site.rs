//! Stores that have a format.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::format_version::{self, StoreFormat, StoreKind};
use crate::fs::disk::{Privacy, if_there, read_below, refused};
use crate::identity::{self, Mode};
use crate::layout::{ProjectDir, STORE_DIR, Tree, UserDirs, path_hash};

/// Maximum size in bytes of a file that a step may read and change.
const FILE_BYTES_MAX: usize = 64 << 20;

/// Number of hexadecimal digits in the hash of a working tree's path, which is part of a backup's name.
const KEY_CHARS: usize = 16;

/// A store that can be migrated.
#[derive(Clone, Debug)]
pub struct Site {
    /// Kind of the store.
    pub kind: StoreKind,
    /// The user's folders.
    pub dirs: UserDirs,
    /// Private folder that contains the log and the backups; a run holds its lock.
    pub home: ProjectDir,
    /// Root of the working tree, if the store is its memory folder.
    pub root: Option<PathBuf>,
    /// Working trees of the project. A step for the project may change their memory folders.
    pub roots: Vec<PathBuf>,
}

impl Site {
    /// Returns the user's own store.
    pub fn user(dirs: &UserDirs) -> Self {
        let (dirs, home) = (dirs.clone(), dirs.user_dir());
        Self { kind: StoreKind::User, dirs, home, root: None, roots: Vec::new() }
    }

    /// Returns the store that is the private state of a project.
    pub fn project(dirs: &UserDirs, home: ProjectDir, roots: Vec<PathBuf>) -> Self {
        Self { kind: StoreKind::Project, dirs: dirs.clone(), home, root: None, roots }
    }

    /// Returns the store in the memory folder of a working tree. `home` is the private folder of the project.
    pub fn memory_folder(dirs: &UserDirs, home: ProjectDir, root: PathBuf) -> Self {
        let (dirs, roots) = (dirs.clone(), vec![root.clone()]);
        Self { kind: StoreKind::MemoryFolder, dirs, home, root: Some(root), roots }
    }

    /// Returns all stores that a sync of a project writes: the user's own, the project's, and the memory folders of its
    /// working trees.
    pub fn all(dirs: &UserDirs, tree: &Tree, roots: &[PathBuf]) -> Vec<Self> {
        let home = dirs.project(tree.project);
        let mut sites = vec![Self::user(dirs), Self::project(dirs, home.clone(), roots.to_vec())];
        // If the project's memories are private, the memory folders of its working trees are not read.
        let reads_folders =
            identity::mode(dirs, tree.project).is_ok_and(|it| it == Mode::Committed);
        let folders = roots.iter().filter(|root| reads_folders && root.join(STORE_DIR).is_dir());
        sites.extend(folders.map(|root| Self::memory_folder(dirs, home.clone(), root.clone())));
        sites
    }

    /// Like [`Site::all`], but for the recorded working trees, and without running git.
    pub fn all_known(dirs: &UserDirs, tree: &Tree) -> Vec<Self> {
        let mut roots = identity::known_roots(dirs, tree.project);
        if !roots.contains(&tree.root) {
            roots.push(tree.root.clone());
        }
        Self::all(dirs, tree, &roots)
    }

    /// Returns the folder that contains the version file.
    pub fn folder(&self) -> PathBuf {
        match &self.root {
            Some(root) => root.join(STORE_DIR),
            None => self.home.folder.clone(),
        }
    }

    /// Reads the format of the store.
    ///
    /// # Errors
    /// [`crate::Error::Newer`] for a format that this program does not support; other errors if the version file cannot
    /// be read.
    pub fn version(&self) -> Result<StoreFormat> {
        let version = self.found_version()?;
        format_version::check(self.kind, &self.folder(), version.clone())?;
        Ok(version)
    }

    /// Reads the format of the store, even if this program does not support it.
    pub(super) fn found_version(&self) -> Result<StoreFormat> {
        match &self.root {
            Some(root) => StoreFormat::read_memory_folder(root),
            None => StoreFormat::read(&self.home.folder),
        }
    }

    /// Returns whether this is the user's own store and does not exist yet, so that it needs no migration.
    pub(super) fn is_untouched(&self) -> bool {
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        self.kind == StoreKind::User
            && !exists(&self.home.folder)
            && !exists(&self.dirs.config_file())
    }

    /// Returns the part of a backup's name that identifies the store among stores with the same private folder.
    pub(super) fn key(&self) -> String {
        match (&self.root, self.kind) {
            (Some(root), _) => path_hash(root)[..KEY_CHARS].to_owned(),
            (None, kind) => kind.name().to_owned(),
        }
    }

    /// Reads a file of the store; `None` if the file does not exist.
    pub(super) fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        if_there(read_below(self.bound(path)?, path, FILE_BYTES_MAX))
    }

    /// Returns the folder below which no symbolic link on the path to a file is followed.
    ///
    /// # Errors
    /// If migrations of this store may not change the file.
    pub(super) fn bound(&self, path: &Path) -> Result<&Path> {
        let own = path.starts_with(&self.home.folder).then_some(&self.home.folder);
        let is_settings = self.kind == StoreKind::User && *path == self.dirs.config_file();
        let settings = is_settings.then_some(&self.dirs.config);
        let in_tree = || self.roots.iter().find(|root| path.starts_with(root.join(STORE_DIR)));
        own.or(settings).or_else(in_tree).map(PathBuf::as_path).ok_or_else(|| {
            refused(path, "this file is outside of the store", "Report this fault, please.")
        })
    }

    /// Returns whether a file that a migration writes is private to the user or shared.
    pub(super) fn privacy(&self, path: &Path) -> Privacy {
        match self.roots.iter().any(|root| path.starts_with(root.join(STORE_DIR))) {
            true => Privacy::Shared,
            false => Privacy::Private,
        }
    }
}
