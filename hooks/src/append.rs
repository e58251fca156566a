//! Files that several hooks write concurrently without a lock. Nothing is flushed to disk (`fsync`), because the files
//! are disposable.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use memory_store_base::exchange::file_pool;
use memory_store_base::fs::disk::{open_with_folders, private_options};

use crate::platform::rename_new;

/// Opens a new file for appending and reading. If its folder has a spare file, that file is renamed to `path`;
/// otherwise the file is created. `claimant` makes concurrent hooks start with different spare files.
pub fn open_new(path: &Path, claimant: u64) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        for number in 0..file_pool::COUNT {
            match rename_new(&file_pool::path(folder, claimant.wrapping_add(number)), path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // The file was renamed, another hook renamed it first, or renaming is not supported here.
                Ok(()) | Err(_) => break,
            }
        }
    }
    open_with_folders(path, private_options().read(true).append(true).create(true))
}

/// Creates a file with these contents. Returns `false` if it exists already; of several concurrent callers, only one
/// receives `true`.
pub fn create_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    match open_with_folders(path, private_options().write(true).create_new(true)) {
        Ok(mut file) => file.write_all(bytes).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Replaces a file atomically, so that readers never see it incomplete.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    // A temporary file that a killed hook left behind may be incomplete.
    drop(std::fs::remove_file(&temporary));
    if !create_new(&temporary, bytes)? {
        // Another writer is using the temporary file for other contents.
        return Err(ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(&temporary, path).inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_file_takes_the_name_unless_it_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sessions");
        let at = |name: &str| folder.join(name);
        let left = || std::fs::read_dir(&folder).unwrap().count();
        // If there is no spare file, the file and its folder are created.
        open_new(&at("first"), 5).unwrap().write_all(b"1").unwrap();
        file_pool::refill(&folder).unwrap();
        let all = left();
        for claimant in [3, 3, u64::MAX] {
            open_new(&at(&format!("{claimant}-{}", left())), claimant).unwrap();
        }
        open_new(&at("first"), 7).unwrap().write_all(b"2").unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(left(), all);
        }
        assert_eq!(std::fs::read(at("first")).unwrap(), b"12");
        (0..9).for_each(|number| drop(open_new(&at(&number.to_string()), number).unwrap()));
        assert!((0..9).all(|number| at(&number.to_string()).exists()));
    }

    #[test]
    fn only_the_first_creates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/file");
        assert!(create_new(&path, b"first").unwrap());
        assert!(!create_new(&path, b"second").unwrap());
        replace(&path, b"third").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"third");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
