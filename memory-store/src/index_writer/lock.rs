//! The lock `writer.lock` prevents two writers from publishing at the same time, and prevents the loss of entries that
//! are appended while a journal is replaced.
//!
//! To append, a writer takes the lock shared, for one write. To publish, a writer takes it exclusively, from reading
//! the generation until the manifest is replaced. Both wait for a limited time. Removing files that no manifest names
//! also requires the exclusive lock. Readers never take it. The lock is released when its process ends. The file is not
//! removed, but may be deleted while no process uses the index.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use crate::error::{At, Result};
use crate::fs::disk::private_options;
use crate::fs::lock::{self, Hold, LOCK_WAIT};

/// Name of the lock file in an index.
pub(crate) const FILE_NAME: &str = "writer.lock";

/// Takes the lock for appending. Waits up to `most`.
pub(crate) fn shared(dir: &Path, most: Duration) -> Result<File> {
    let (path, file) = open(dir)?;
    lock::take(&file, &path, Hold::Shared, most)?;
    Ok(file)
}

/// Takes the lock for publishing. Waits if necessary.
pub(crate) fn exclusive(dir: &Path) -> Result<File> {
    let (path, file) = open(dir)?;
    lock::take(&file, &path, Hold::Alone, LOCK_WAIT)?;
    Ok(file)
}

/// Takes the lock for publishing if it is free; returns `None` otherwise.
pub(crate) fn try_exclusive(dir: &Path) -> Result<Option<File>> {
    let (path, file) = open(dir)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).at(&path),
    }
}

fn open(dir: &Path) -> Result<(std::path::PathBuf, File)> {
    let path = dir.join(FILE_NAME);
    super::build::clear_folder(&path);
    let file = private_options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .at(&path)?;
    Ok((path, file))
}
