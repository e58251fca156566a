//! Where this program lies.
//!
//! The operating system tells in `/proc/self/exe`, but makes an inode for the asking, which takes as long
//! as forty small reads. Claude Code starts hooks by their whole path, and that is told for nothing.

use std::path::{Path, PathBuf};

use crate::platform;

/// The path of this program.
pub fn path() -> Option<PathBuf> {
    platform::started_as().filter(|path| is_real(path)).or_else(|| std::env::current_exe().ok())
}

/// Returns whether a whole path names a program and its folder themselves, and no link to one of them: what lies beside
/// a link is something else.
fn is_real(path: &Path) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().map_or(true, |meta| meta.is_symlink());
    path.is_absolute() && path.parent().is_some_and(|folder| !is_link(folder)) && !is_link(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_where_the_operating_system_says() {
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
