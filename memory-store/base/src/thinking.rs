//! Index of the model's thinking. It takes as much space as that of the conversation, and is rarely searched, so it is
//! built only after a user has searched it.

use crate::error::{At, Result};
use crate::fs::disk::{Privacy, create_folder};
use crate::layout::TreeDir;

/// Returns whether a user has searched it.
pub fn is_wanted(tree: &TreeDir) -> bool {
    tree.thinking_wanted.exists()
}

/// Returns whether it exists.
pub fn is_there(tree: &TreeDir) -> bool {
    tree.thinking.join("MANIFEST").exists()
}

/// Requests the index from the next sync; later syncs update it.
///
/// # Errors
/// When the request cannot be written.
pub fn want(tree: &TreeDir) -> Result<()> {
    if is_wanted(tree) {
        return Ok(());
    }
    create_folder(&tree.folder, Privacy::Private)?;
    std::fs::write(&tree.thinking_wanted, "").at(&tree.thinking_wanted)
}
