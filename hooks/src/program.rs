//! Path of this program.
//!
//! `/proc/self/exe` contains the path, but reading that link creates an inode, which takes as long as forty small
//! reads. Claude Code starts hooks by their absolute path, which the kernel provides without a system call.

use std::path::{Path, PathBuf};

use crate::platform;

/// Returns the path of this program; `None` if it cannot be determined.
pub fn path() -> Option<PathBuf> {
    platform::started_as().filter(|path| is_real(path)).or_else(|| std::env::current_exe().ok())
}

/// Returns whether a path is absolute and neither the program nor its folder is a symbolic link. In the folder of a
/// link, the other programs may be missing or different.
fn is_real(path: &Path) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().map_or(true, |meta| meta.is_symlink());
    path.is_absolute() && path.parent().is_some_and(|folder| !is_link(folder)) && !is_link(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_current_executable() {
        assert_eq!(path(), std::env::current_exe().ok());
    }

    #[test]
    fn a_link_is_not_what_it_points_at() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        std::fs::create_dir(at("bin")).unwrap();
        std::fs::write(at("bin/program"), "").unwrap();
        testutils::symlink(at("bin/program"), at("bin/link")).unwrap();
        testutils::symlink(at("bin"), at("folder")).unwrap();
        let real = ["bin/program", "bin/link", "folder/program", "bin/none"]
            .map(|path| is_real(&at(path)));
        assert_eq!(real, [true, false, false, false]);
        assert!(!is_real(Path::new("bin/program")));
    }
}
