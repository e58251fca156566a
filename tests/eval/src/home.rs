//! A temporary home, so that no files of the user are read or written.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use memory_store::error::At as _;
use memory_store::layout::UserDirs;
use tempfile::TempDir;

/// A temporary home.
pub struct TemporaryHome {
    /// The folder, removed when this is dropped.
    pub folder: TempDir,
    /// Its path without links.
    pub path: PathBuf,
    /// The folders in it.
    pub dirs: UserDirs,
}

impl TemporaryHome {
    /// Creates a home for programs with the embedder's files in `models`.
    pub fn new(models: Option<PathBuf>) -> Result<Self> {
        let temp = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("throughline-eval-").tempdir_in(&temp);
        let folder = folder.at(&temp)?;
        let path = folder.path().canonicalize().at(folder.path())?;
        let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| path.clone().into()));
        let dirs = dirs.with_context(|| format!("{}: no usable home", path.display()))?;
        Ok(Self { folder, path, dirs: UserDirs { models, ..dirs } })
    }
}
