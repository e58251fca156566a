//! A home that is gone afterwards, so that nothing of the user's is read or written.

use std::path::PathBuf;

use memory_store::layout::UserDirs;

use crate::failure::{At as _, Failure, Result};

/// Makes a temporary home, its name beginning with `prefix`, with the embedder's files in `models`: the home, its path without links,
/// and the folders in it.
pub fn temporary_home(
    prefix: &str,
    models: Option<PathBuf>,
) -> Result<(tempfile::TempDir, PathBuf, UserDirs)> {
    let temp = std::env::temp_dir();
    let home = tempfile::Builder::new().prefix(prefix).tempdir_in(&temp).at(&temp)?;
    let path = home.path().canonicalize().at(home.path())?;
    let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| path.clone().into()))
        .ok_or_else(|| Failure::new(format!("{}: no usable home", path.display())))?;
    Ok((home, path, UserDirs { models, ..dirs }))
}
