//! Stamps of files, which detect changes without reading the files.

use std::fs::{self, Metadata};
use std::path::Path;

use memory_store::store::FILES_MAX;

/// Maximum depth of folders that are listed, the same as in stores.
const LEVELS_MAX: u32 = 4;

/// Returns the stamp of one file; empty if the file does not exist.
pub fn of_file(path: &Path) -> String {
    fs::metadata(path).map(|metadata| line(path, &metadata)).unwrap_or_default()
}

/// Returns the stamps of all files in a folder and its subfolders. Links are not followed.
pub fn of_folder(folder: &Path) -> String {
    let mut stamps = Vec::new();
    // A folder that is a link is not a store, and none of its files is read.
    if fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        collect(folder, LEVELS_MAX, &mut stamps);
    }
    stamps.sort();
    stamps.join("\n")
}

fn collect(folder: &Path, levels: u32, stamps: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
        if stamps.len() > FILES_MAX {
            return;
        }
        stamps.push(line(&path, &metadata));
        if metadata.is_dir() && levels > 1 {
            collect(&path, levels - 1, stamps);
        }
    }
}

fn line(path: &Path, metadata: &Metadata) -> String {
    let modified_ns = crate::private_files::modified_ns(metadata);
    format!("{} {} {modified_ns}", path.display(), metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_a_folder_of_a_folder_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/c.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "one").unwrap();
        let before = of_folder(folder.path());
        assert_eq!(of_folder(folder.path()), before);
        fs::write(&file, "longer").unwrap();
        assert_ne!(of_folder(folder.path()), before);
        assert_eq!(of_file(&folder.path().join("none")), "");
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there");
        fs::create_dir(&there).unwrap();
        fs::write(there.join("a.md"), "one").unwrap();
        let link = folder.path().join("link");
        crate::for_tests::symlink(&there, &link).unwrap();
        assert_ne!(of_folder(&there), "");
        assert_eq!(of_folder(&link), "");
    }
}
