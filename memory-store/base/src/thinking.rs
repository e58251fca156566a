//! Whether there is an index of what the model thought. It takes as much room as that of what was said, and few ever
//! search it: it is made once somebody did.

use crate::error::{At, Result};
use crate::fs::disk::{Privacy, create_folder};
use crate::layout::TreeDir;

/// Returns whether somebody searched it.
pub fn is_wanted(tree: &TreeDir) -> bool {
    tree.thinking_wanted.exists()
}

/// Returns whether it was made.
pub fn is_there(tree: &TreeDir) -> bool {
    tree.thinking.join("MANIFEST").exists()
}

/// Has the next sync make it, and each one after that go on with it.
///
/// # Errors
/// When that cannot be written down.
pub fn want(tree: &TreeDir) -> Result<()> {
    if is_wanted(tree) {
        return Ok(());
    }
    create_folder(&tree.folder, Privacy::Private)?;
    std::fs::write(&tree.thinking_wanted, "").at(&tree.thinking_wanted)
}
