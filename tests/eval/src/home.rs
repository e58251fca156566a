//! A temporary home, so that a measurement reads and writes no files of the user.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use memory_store::error::At as _;
use memory_store::layout::UserDirs;
use tempfile::TempDir;

/// A temporary home.
pub struct TemporaryHome {
    /// The folder, which is removed when this value is dropped.
    pub folder: TempDir,
    /// The path of the folder, with symbolic links resolved.
    pub path: PathBuf,
    /// Throughline's folders in the home.
    pub dirs: UserDirs,
}

impl TemporaryHome {
    /// Creates a home. `models` is the folder of the embedder's files.
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
