//! Temporary files that nobody will put in place.

use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use crate::fs::disk;

/// Removes temporary files that a killed process left below a folder. The caller holds the lock that writers hold, so
/// that none of them is in use.
pub(crate) fn sweep(folder: &Path, levels: usize) {
    let walk = WalkDir::new(folder).max_depth(levels).follow_root_links(false);
    for entry in walk.into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let name = entry.file_name().to_string_lossy();
        if disk::is_temporary(&name) {
            // One that stays does no harm: it is hidden, and no memory file.
            let _ = fs::remove_file(entry.path());
        }
    }
}
