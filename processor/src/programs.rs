//! External programs, such as git and Claude Code. They are looked up in absolute folders of `PATH` alone: a relative
//! or empty entry means the current folder, which may be an untrusted project.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use memory_store::fs::disk::is_executable;

pub use memory_store::fs::process::has_reader;

/// The variable that names the folders of programs.
const VARIABLE: &str = "PATH";
/// Value of `PATH` if no entry is left. An empty `PATH` would mean the current folder.
const NO_FOLDER: &str = "/dev/null";

/// Removes the entries that are not absolute from this process's `PATH`. Child processes inherit the result, so neither
/// look-ups of this process nor those of a script's `#!/usr/bin/env` line find a program in a project.
///
/// # Safety
/// No other thread of the process is running: call it first in `main`.
pub unsafe fn keep_absolute_folders() {
    #[expect(clippy::disallowed_methods, reason = "the environment is made safe before it is read")]
    let path = std::env::var_os(VARIABLE);
    if let Some(path) = path {
        // SAFETY: the caller guarantees that there is no other thread that could read the environment.
        unsafe { std::env::set_var(VARIABLE, absolute_folders(&path)) };
    }
}

/// Returns a `PATH` without its entries that are not absolute.
fn absolute_folders(path: &OsStr) -> OsString {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    // Folders that were split out of a `PATH` can be joined again.
    let joined = std::env::join_paths(folders).unwrap_or_default();
    if joined.is_empty() { NO_FOLDER.into() } else { joined }
}

/// Returns the program of this name in the first absolute folder of a `PATH` that has it.
pub fn find(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    let folders = path.into_iter().flat_map(std::env::split_paths);
    let files = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    files.into_iter().find(|file| file.is_file() && is_executable(file))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use memory_store::fs::disk::permissions;

    use super::*;

    #[test]
    fn entries_that_are_not_absolute_are_left_out() {
        for (path, kept) in [
            ("/usr/bin:/bin", "/usr/bin:/bin"),
            (".:/usr/bin", "/usr/bin"),
            (":/usr/bin", "/usr/bin"),
            ("/usr/bin::bin:./x:../y:/bin:", "/usr/bin:/bin"),
            ("", NO_FOLDER),
            ("bin:.", NO_FOLDER),
        ] {
            assert_eq!(absolute_folders(OsStr::new(path)), OsStr::new(kept), "{path:?}");
        }
    }

    #[test]
    fn a_program_is_a_file_that_may_be_run_in_an_absolute_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let program = |name: &str, mode: u32| {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), permissions(mode)).unwrap();
        };
        program("text/git", 0o644);
        fs::create_dir_all(at("folder/git")).unwrap();
        program("second/git", 0o755);
        let path = ["text", "folder", "missing", "second"].map(at);
        let path = std::env::join_paths(path).unwrap();
        assert_eq!(find(Some(&path), "git"), Some(at("second/git")));
        assert_eq!(find(Some(&path), "claude"), None);
        assert_eq!(find(None, "git"), None);
        // Tests run in the folder of their package.
        assert!(PathBuf::from("src/lib.rs").is_file());
        assert_eq!(find(Some(OsStr::new("src:./src")), "lib.rs"), None);
    }
}
