//! Where this program lies.
//!
//! The operating system tells in `/proc/self/exe`, but makes an inode for the asking, which takes as long
//! as forty small reads. Claude Code starts hooks by their whole path, and that is told for nothing.

use std::path::{Path, PathBuf};

/// The path of this program.
pub fn path() -> Option<PathBuf> {
    started_as().filter(|path| is_real(path)).or_else(|| std::env::current_exe().ok())
}

/// The path that it was started by.
#[cfg(target_os = "linux")]
fn started_as() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr, c_char};
    use std::os::unix::ffi::OsStrExt;

    // SAFETY: the call reads what the operating system left for the process.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const c_char;
    if path.is_null() {
        return None;
    }
    // SAFETY: it is a string that ends with a null byte and stays as long as the process.
    let path = unsafe { CStr::from_ptr(path) };
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

/// The path that it was started by; elsewhere it is not told.
#[cfg(not(target_os = "linux"))]
fn started_as() -> Option<PathBuf> {
    None
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
        std::os::unix::fs::symlink(at("bin/program"), at("bin/link")).unwrap();
        std::os::unix::fs::symlink(at("bin"), at("folder")).unwrap();
        let real = ["bin/program", "bin/link", "folder/program", "bin/none"]
            .map(|path| is_real(&at(path)));
        assert_eq!(real, [true, false, false, false]);
        assert!(!is_real(Path::new("bin/program")));
    }
}
