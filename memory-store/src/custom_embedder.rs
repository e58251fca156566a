//! The second space, and the writing of its file.

use std::path::Path;

pub use memory_store_recall::custom_embedder::*;

use crate::error::{Error, Result};
use crate::fs::disk::{Privacy, replace};

/// Replaces the file.
///
/// # Errors
/// When it cannot be written, or would be larger than [`BYTES_MAX`].
pub fn write(path: &Path, given: &Given<'_>) -> Result<()> {
    let bytes = encode(given).ok_or_else(|| too_large(path))?;
    replace(path, &bytes, Privacy::Private)
}

fn too_large(path: &Path) -> Error {
    let message = format!("vectors of more than {} MiB are not written", BYTES_MAX >> 20);
    Error::Index { path: path.to_owned(), message }
}
