//! Index of the model's thinking. It takes as much space as the index of the conversation and is rarely searched, so it
//! is built only after a user has searched the thinking.

use crate::error::{At, Result};
use crate::fs::disk::{Privacy, create_folder};
use crate::layout::TreeDir;

/// Returns whether a user has searched the thinking.
pub fn is_wanted(tree: &TreeDir) -> bool {
    tree.thinking_wanted.exists()
}

/// Returns whether the index of the thinking exists.
pub fn is_there(tree: &TreeDir) -> bool {
    tree.thinking.join("MANIFEST").exists()
}

/// Requests that the next sync builds the index of the thinking; later syncs update it.
///
/// # Errors
/// If the request cannot be written.
pub fn want(tree: &TreeDir) -> Result<()> {
    if is_wanted(tree) {
        return Ok(());
    }
    create_folder(&tree.folder, Privacy::Private)?;
    std::fs::write(&tree.thinking_wanted, "").at(&tree.thinking_wanted)
}
