//! Spare files, which the processor creates. A hook that needs a new file then only has to rename one.
//!
//! Creating a file takes up to 0.4 ms on a fragmented disk, because the file system searches for space. Renaming takes
//! a twentieth of that time.

use std::path::{Path, PathBuf};

/// Number of spare files in a folder.
pub const COUNT: u64 = 8;

/// Prefix of the names of spare files.
pub const START: &str = "spare-";

/// Returns the path of the spare file with this number.
pub fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{START}{}", number % COUNT))
}

/// Creates a folder and the spare files that are missing in it.
pub fn refill(folder: &Path) -> crate::Result<()> {
    use crate::error::At;
    use crate::fs::disk::{Privacy, create_folder, private_options};

    create_folder(folder, Privacy::Private)?;
    for number in 0..COUNT {
        let path = path(folder, number);
        match private_options().create_new(true).write(true).open(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error).at(&path);
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_made() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        let count = || std::fs::read_dir(&folder).unwrap().count() as u64;
        refill(&folder).unwrap();
        assert_eq!(count(), COUNT);
        std::fs::rename(path(&folder, 3), folder.join("taken")).unwrap();
        refill(&folder).unwrap();
        assert_eq!(count(), COUNT + 1);
        let spares = std::fs::read_dir(&folder).unwrap().flatten();
        assert_eq!(
            spares.filter(|file| file.file_name().to_string_lossy().starts_with(START)).count()
                as u64,
            COUNT
        );
    }
}
