//! Sealed homes: a test has its own home folder, and neither reads nor writes the home of the person who runs it.

pub mod golden;

pub use std::os::unix::fs::symlink;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use memory_store_base::layout::UserDirs;

/// `PATH` for tools such as git and bash.
pub const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A home in a temporary folder, which is removed at the end.
pub struct SealedHome {
    _folder: tempfile::TempDir,
    path: PathBuf,
    /// The folders of the user of this home. Environment variables that override one are ignored.
    pub dirs: UserDirs,
}

impl SealedHome {
    /// Creates an empty home.
    ///
    /// # Panics
    /// Panics if the temporary folder cannot be written: tests must not run without a home.
    #[expect(clippy::new_without_default, reason = "a default does not make folders")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // On macOS the temporary folder is a symbolic link, and projects are identified by their real paths.
        let path = folder.path().canonicalize().unwrap();
        let dirs = dirs_of(&path);
        Self { _folder: folder, path, dirs }
    }

    /// Returns the home folder, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a command that the user of this home runs. See [`sealed`].
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        sealed(program, &self.path)
    }
}

/// Returns the folders of a user with this home. Environment variables that override one are ignored.
///
/// # Panics
/// Panics if the path is relative.
pub fn dirs_of(home: &Path) -> UserDirs {
    UserDirs::resolve(|name| (name == "HOME").then(|| home.as_os_str().to_owned())).unwrap()
}

/// Sets the permissions of a file.
///
/// # Panics
/// Panics if this fails.
pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Variable with a folder that debug builds of the command line read in place of `/proc`.
pub const PROC_VARIABLE: &str = "THROUGHLINE_TEST_PROC";

/// Variable with a folder from which debug builds read power and load, in place of those of the machine.
pub const MACHINE_VARIABLE: &str = "THROUGHLINE_TEST_MACHINE";

/// Returns a command of a user with this home. The command inherits neither the caller's environment nor its parent
/// processes, which may include an agent. Its machine is idle and plugged in.
pub fn sealed(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", SYSTEM_PATH).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env(PROC_VARIABLE, home.join("no-processes"));
    command.env(MACHINE_VARIABLE, home.join("no-machine"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_and_its_commands_are_sealed() {
        let home = SealedHome::new();
        let dirs = &home.dirs;
        for folder in [&dirs.data, &dirs.state, &dirs.config, &dirs.claude] {
            assert!(folder.starts_with(home.path()), "{}", folder.display());
        }
        let printed = home.command("env").output().unwrap().stdout;
        let printed = String::from_utf8(printed).unwrap();
        let mut names: Vec<_> =
            printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["GIT_CONFIG_NOSYSTEM", "HOME", "PATH", MACHINE_VARIABLE, PROC_VARIABLE]);
    }

    #[test]
    fn a_home_is_gone_with_its_test() {
        let path = SealedHome::new().path().to_owned();
        assert!(!path.exists());
    }
}
