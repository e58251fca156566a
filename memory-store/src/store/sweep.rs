//! Removal of abandoned temporary files.

use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use crate::fs::disk;

/// Removes temporary files that killed processes left below a folder. The caller must hold the writers' lock, so that
/// no process uses these files.
pub(crate) fn sweep(folder: &Path, levels: usize) {
    let walk = WalkDir::new(folder).max_depth(levels).follow_root_links(false);
    for entry in walk.into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let name = entry.file_name().to_string_lossy();
        if disk::is_temporary(&name) {
            // A temporary file that cannot be removed is harmless, because it is hidden and not a memory file.
            let _ = fs::remove_file(entry.path());
        }
    }
}
