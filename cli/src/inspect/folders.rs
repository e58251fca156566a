//! Checks whether folders can be read and written by trying both. Modes, owners and mount options are not sufficient to
//! determine that.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use memory_store::layout::STORE_DIR;

use crate::failure::{Failure, Result};

/// Fails if the contents of a folder cannot be listed.
pub fn check_readable(folder: &Path) -> Result {
    match fs::read_dir(folder) {
        Ok(_) => Ok(()),
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) => Err(failure(folder, "cannot be read", &error)),
    }
}

/// Fails if a file is in place of a folder or of one above it.
pub fn check_place(folder: &Path) -> Result {
    match folder.ancestors().find_map(|above| Some((above, fs::metadata(above).ok()?))) {
        Some((above, found)) if !found.is_dir() => Err(Failure::new(format!(
            "{} is a file, but {} is to be a folder",
            above.display(),
            folder.display()
        ))
        .hint("Move the file away, or name another folder with XDG_DATA_HOME.")),
        _ => Ok(()),
    }
}

/// Fails if no file can be created in a folder, or if a missing folder could not be created. The check leaves no file
/// behind.
pub fn check_writable(folder: &Path) -> Result {
    let there = folder.ancestors().find(|above| match fs::metadata(above) {
        Ok(_) => true,
        Err(error) => !is_missing(&error),
    });
    let Some(there) = there else { return Ok(()) };
    match tempfile::tempfile_in(there) {
        Ok(_) => Ok(()),
        Err(error) => Err(failure(there, "cannot be written", &error)),
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn failure(folder: &Path, what: &str, error: &std::io::Error) -> Failure {
    // The message is made from the error code, since the message of the library for temporary files contains a path.
    let why = match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code).to_string(),
        None => error.kind().to_string(),
    };
    let is_own = folder.iter().any(|part| part == "throughline" || part == STORE_DIR);
    let folder = folder.display();
    Failure::new(format!("{folder} {what}: {why}")).hint(match is_own {
        true => format!(
            "Give yourself the right to read and write it; where another user owns it, run `sudo chown -R \"$USER\" {folder}`."
        ),
        // Changing the owner of a folder of the system would damage it.
        false => "Give yourself the right to read and write it, or name other folders with XDG_DATA_HOME, XDG_STATE_HOME \
                  and XDG_CONFIG_HOME."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_asked_of_what_is_above() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        check_readable(&deep).unwrap();
        check_writable(&deep).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // No user can create files in /proc, regardless of permissions.
        let said = check_writable(Path::new("/proc/throughline")).unwrap_err();
        assert!(said.to_string().starts_with("/proc cannot be written: "), "{said}");
    }
}
