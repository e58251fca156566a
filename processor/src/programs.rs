//! External programs, such as git and Claude Code. They are searched only in absolute folders of `PATH`: a relative or
//! empty entry means the current folder, which may be an untrusted project.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use memory_store::fs::disk::is_executable;

pub use memory_store::fs::process::has_reader;

/// The environment variable with the folders of programs.
const VARIABLE: &str = "PATH";
/// Value of `PATH` if no entry is left. An empty `PATH` would mean the current folder.
const NO_FOLDER: &str = "/dev/null";

/// Removes entries that are not absolute from this process's `PATH`. Child processes inherit the result. Therefore
/// neither this process nor the `#!/usr/bin/env` line of a script finds a program in a project.
///
/// # Safety
/// No other thread of the process may be running, so this must be called first in `main`.
pub unsafe fn keep_absolute_folders() {
    #[expect(clippy::disallowed_methods, reason = "the environment is made safe before it is read")]
    let path = std::env::var_os(VARIABLE);
    if let Some(path) = path {
        // SAFETY: the caller guarantees that no other thread is running, so none reads the environment.
        unsafe { std::env::set_var(VARIABLE, absolute_folders(&path)) };
    }
}

/// Returns a `PATH` without the entries that are not absolute.
fn absolute_folders(path: &OsStr) -> OsString {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    // Joining cannot fail, because the folders are parts of a valid `PATH`.
    let joined = std::env::join_paths(folders).unwrap_or_default();
    if joined.is_empty() { NO_FOLDER.into() } else { joined }
}

/// Returns the program with this name in the first absolute folder of a `PATH` that contains it.
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
        // Tests run in the package's folder, so `src/lib.rs` exists relative to the current folder.
        assert!(PathBuf::from("src/lib.rs").is_file());
        assert_eq!(find(Some(OsStr::new("src:./src")), "lib.rs"), None);
    }
}
