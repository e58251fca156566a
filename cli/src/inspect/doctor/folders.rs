//! Whether folders can be read and written, asked by trying: modes, owners and how a disk is mounted say too little.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::failure::{Failure, Result};

/// Fails where what lies in a folder cannot be listed.
pub fn check_readable(folder: &Path) -> Result {
    match fs::read_dir(folder) {
        Ok(_) => Ok(()),
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) => Err(failure(folder, "cannot be read", &error)),
    }
}

/// Fails where nothing can be put into a folder, or, if it is not there, where it could not be made. No trace is left.
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
    // The library of temporary files names one in its message.
    let why = match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code).to_string(),
        None => error.kind().to_string(),
    };
    let folder = folder.display();
    Failure::new(format!("{folder} {what}: {why}")).hint(format!(
        "Give yourself the right to read and write it; where another user owns it, run `sudo chown -R \"$USER\" {folder}`."
    ))
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
        // Nobody, whatever their rights, makes a file there.
        let said = check_writable(Path::new("/proc/throughline")).unwrap_err();
        assert!(said.to_string().starts_with("/proc cannot be written: "), "{said}");
    }
}
