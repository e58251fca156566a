//! File stamp: the size and modification time of a file, which reveal a change.
//!
//! The file of each memory is checked before the memory is printed. A session-start block has some twenty memories,
//! mostly in one folder, so the folder's path is resolved only once.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last change to the contents, in nanoseconds since 1970.
    pub modified_ns: i64,
}

impl Stamp {
    /// Returns the stamp of one file; `None` if it does not exist. Symbolic links are followed.
    pub fn of(file: &Path) -> Option<Self> {
        sys::stamp(file)
    }
}

/// Reads file stamps. A folder is kept open from its second file on.
#[derive(Debug, Default)]
pub struct Stamps {
    last: RefCell<Option<StampedFolder>>,
}

#[derive(Debug)]
struct StampedFolder {
    path: PathBuf,
    /// Handle of the folder, opened for its second file; `Some(None)` if the folder cannot be opened.
    handle: Option<Option<File>>,
}

impl Stamps {
    /// Returns the stamp of a file; `None` if it does not exist. Symbolic links are followed.
    pub fn of(&self, file: &Path) -> Option<Stamp> {
        let (folder, name) = (file.parent()?, file.file_name()?);
        let mut last = self.last.borrow_mut();
        if let Some(last) = last.as_mut().filter(|last| last.path == folder) {
            let handle = last.handle.get_or_insert_with(|| sys::open(folder));
            return match handle {
                Some(handle) => sys::stamp_in(handle, Path::new(name)),
                None => sys::stamp(file),
            };
        }
        *last = Some(StampedFolder { path: folder.to_owned(), handle: None });
        sys::stamp(file)
    }
}

/// Returns the time of the last change to a file's contents, in nanoseconds since 1970.
pub fn modified_ns(meta: &Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    meta.mtime().checked_mul(1_000_000_000)?.checked_add(meta.mtime_nsec())
}

/// Returns the device and inode numbers of a file, which identify it independently of its name.
pub fn file_number(meta: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

/// Returns the time of the last change to a file's contents, name or permissions (`st_ctime`), in nanoseconds since
/// 1970. Programs cannot set this time.
pub fn status_changed_ns(meta: &Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    meta.ctime().checked_mul(1_000_000_000)?.checked_add(meta.ctime_nsec())
}

mod sys {
    use std::ffi::CString;
    use std::fs::{File, OpenOptions};
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    use super::Stamp;

    /// Opens a folder for looking up files in it, not for reading.
    pub(crate) fn open(folder: &Path) -> Option<File> {
        #[cfg(target_os = "linux")]
        const WAY: libc::c_int = libc::O_PATH;
        #[cfg(not(target_os = "linux"))]
        const WAY: libc::c_int = 0;
        OpenOptions::new().read(true).custom_flags(WAY | libc::O_DIRECTORY).open(folder).ok()
    }

    pub(crate) fn stamp(file: &Path) -> Option<Stamp> {
        stamp_at(libc::AT_FDCWD, file)
    }

    pub(crate) fn stamp_in(folder: &File, name: &Path) -> Option<Stamp> {
        stamp_at(folder.as_raw_fd(), name)
    }

    fn stamp_at(folder: libc::c_int, path: &Path) -> Option<Stamp> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let mut stat = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the path ends with a zero byte, and the structure is valid for writes.
        let missing = unsafe { libc::fstatat(folder, path.as_ptr(), stat.as_mut_ptr(), 0) } != 0;
        if missing {
            return None;
        }
        // SAFETY: the call succeeded, so it filled the structure.
        let stat = unsafe { stat.assume_init() };
        let seconds_ns = stat.st_mtime.checked_mul(1_000_000_000)?;
        Some(Stamp {
            bytes: u64::try_from(stat.st_size).ok()?,
            modified_ns: seconds_ns.checked_add(stat.st_mtime_nsec)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_folder_are_looked_at_as_they_are() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir(at("folder")).unwrap();
        for (path, text) in [("folder/a", "12"), ("folder/b", "123"), ("c", "1234")] {
            std::fs::write(at(path), text).unwrap();
        }
        let stamps = Stamps::default();
        let bytes = |path: &str| stamps.of(&at(path)).map(|stamp| stamp.bytes);
        for _ in 0..2 {
            let found =
                ["folder/a", "folder/b", "folder/none", "folder/a", "c", "folder/b"].map(bytes);
            assert_eq!(found, [Some(2), Some(3), None, Some(2), Some(4), Some(3)]);
        }
        assert_eq!(stamps.of(&at("gone/x")), None);
        assert_eq!(stamps.of(&at("gone/y")), None);
        let before = stamps.of(&at("folder/a")).unwrap();
        File::open(at("folder/a"))
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 123))
            .unwrap();
        let after = stamps.of(&at("folder/a")).unwrap();
        assert_ne!(after, before);
        assert_eq!(after.modified_ns, 1_700_000_000_000_000_123);
    }
}
