//! Access to a folder without following symbolic links below a root.
//!
//! A commit can replace a store's folder by a symbolic link and so redirect access to a place outside the repository.
//! Therefore the path from the trusted root is opened folder by folder, and operations in the last folder use its
//! handle. Nothing can be replaced in between.

use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use super::disk::{ELSEWHERE, Privacy, refused};
use super::open_regular;
use crate::error::{At, Result};

/// Number of bytes by which a buffer exceeds the file. With fewer, the end of the file would be searched in small
/// reads.
const END_BYTES: usize = 64;

/// Returns the path that consists of these bytes, as on POSIX systems.
pub fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    handle: File,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder below `root`, or `root` itself. Symbolic links are followed only in the path of `root`.
    pub(crate) fn open(root: &Path, folder: &Path) -> Result<Self> {
        Self::walk(root, folder, None)
    }

    /// Like [`Folder::open`], but creates missing folders.
    pub fn create(root: &Path, folder: &Path, privacy: Privacy) -> Result<Self> {
        super::disk::create_folder(root, privacy)?;
        Self::walk(root, folder, Some(privacy))
    }

    fn walk(root: &Path, folder: &Path, create: Option<Privacy>) -> Result<Self> {
        let outside =
            || refused(folder, &format!("this is not below {}", root.display()), ELSEWHERE);
        let below = folder.strip_prefix(root).map_err(|_| outside())?;
        // Without these flags, opening a pipe at this path would block.
        let options = libc::O_DIRECTORY | libc::O_NONBLOCK;
        let handle = File::options().read(true).custom_flags(options).open(root).at(root)?;
        let mut reached = Self { handle, path: root.to_owned() };
        for part in below.components() {
            let Component::Normal(name) = part else { return Err(outside()) };
            let path = reached.path.join(name);
            if let Some(privacy) = create {
                make_folder(&reached.handle, name, privacy).at(&path)?;
            }
            let handle = open_at(&reached.handle, name, libc::O_RDONLY | libc::O_DIRECTORY)
                .map_err(|error| refuse(&path, error))?;
            reached = Self { handle, path };
        }
        Ok(reached)
    }

    /// Opens a regular file for reading. A pipe or device does not block.
    pub(crate) fn open_file(&self, name: &OsStr) -> Result<(File, Metadata)> {
        let path = self.path.join(name);
        let file = open_at(&self.handle, name, libc::O_RDONLY | libc::O_NONBLOCK)
            .map_err(|error| refuse(&path, error))?;
        let metadata = open_regular::check(&file).map_err(|error| refuse(&path, error))?;
        Ok((file, metadata))
    }

    /// Reads a regular file of at most `bytes_max` bytes. A pipe or device does not block.
    pub(crate) fn read(&self, name: &OsStr, bytes_max: usize) -> Result<(Vec<u8>, Metadata)> {
        let path = self.path.join(name);
        let (file, metadata) = self.open_file(name)?;
        // Most files are read by one call, because it requests more bytes than the file has.
        let len = usize::try_from(metadata.len()).unwrap_or(bytes_max).min(bytes_max);
        let mut bytes = vec![0; len + END_BYTES.min(bytes_max - len + 1)];
        let count = loop {
            match (&file).read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.at(&path)?,
            }
        };
        let is_whole = count == len && count < bytes.len();
        bytes.truncate(count);
        if !is_whole {
            let most = (bytes_max + 1).saturating_sub(count);
            file.take(most as u64).read_to_end(&mut bytes).at(&path)?;
        }
        if bytes.len() > bytes_max {
            let message = format!("longer than {} KiB", bytes_max >> 10);
            return Err(refused(&path, &message, "Shorten it, or move it away."));
        }
        Ok((bytes, metadata))
    }

    /// Creates a file of this name with access only for its owner; fails if the name exists.
    pub(crate) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        open_at(&self.handle, name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)
    }

    /// Creates a file without a name, with access only for its owner; fails if the file system does not support that.
    #[cfg(target_os = "linux")]
    pub(crate) fn create_unnamed(&self) -> io::Result<File> {
        open_at(&self.handle, OsStr::new("."), libc::O_WRONLY | libc::O_TMPFILE)
    }

    /// Fails: only Linux supports files without a name.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn create_unnamed(&self) -> io::Result<File> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Gives a name to a file that was created without one; fails if the name exists.
    #[cfg(target_os = "linux")]
    pub(crate) fn name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        // Linking by handle alone requires root, so the path of the handle is used.
        let open = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let (name, folder) = (text(name)?, self.handle.as_raw_fd());
        // SAFETY: file and folder are open, and both names end with a zero byte.
        done(unsafe {
            libc::linkat(
                libc::AT_FDCWD,
                open.as_ptr(),
                folder,
                name.as_ptr(),
                libc::AT_SYMLINK_FOLLOW,
            )
        })
    }

    /// Fails: only Linux supports files without a name.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn name(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Renames a file; an existing file of the new name is replaced.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to, folder) = (text(from)?, text(to)?, self.handle.as_raw_fd());
        // SAFETY: the folder is open, and both names end with a zero byte.
        done(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
    }

    /// Removes a file. A symbolic link is removed itself, not its target.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        let name = text(name)?;
        // SAFETY: the folder is open, and the name ends with a zero byte.
        done(unsafe { libc::unlinkat(self.handle.as_raw_fd(), name.as_ptr(), 0) })
    }

    /// Returns the permissions of a regular file; `None` if there is no such file.
    pub(crate) fn mode(&self, name: &OsStr) -> Option<u32> {
        use std::os::unix::fs::PermissionsExt;
        let file = open_at(&self.handle, name, libc::O_RDONLY | libc::O_NONBLOCK).ok()?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        Some(metadata.permissions().mode() & 0o7777)
    }

    /// Flushes the folder's entries to the disk.
    pub fn sync(&self) -> Result<()> {
        self.handle.sync_all().at(&self.path)
    }
}

fn make_folder(folder: &File, name: &OsStr, privacy: Privacy) -> io::Result<()> {
    let mode = match privacy {
        Privacy::Private => 0o700,
        Privacy::Shared => 0o777,
    };
    let name = text(name)?;
    // SAFETY: the folder is open, and the name ends with a zero byte.
    match done(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode) }) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Opens an entry of the folder, unless it is a symbolic link.
fn open_at(folder: &File, name: &OsStr, flags: libc::c_int) -> io::Result<File> {
    const OWNER: libc::c_uint = 0o600;
    let name = text(name)?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the folder is open, and the name ends with a zero byte.
    let file = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, OWNER) };
    done(file)?;
    // SAFETY: the handle was just opened and has no other owner.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// Returns an error that names the kind of file at the path, or the system's own error. Systems differ in the error for
/// a link that is not followed, and a socket cannot be opened at all.
fn refuse(path: &Path, error: io::Error) -> crate::Error {
    if path.is_symlink() {
        let remedy = "Remove the link, or put what it leads to in its place.";
        return refused(path, "this is a symbolic link and is not followed", remedy);
    }
    if error.kind() == ErrorKind::InvalidInput || error.raw_os_error() == Some(libc::ENXIO) {
        return refused(path, "this is no regular file", "Remove it, or move it away.");
    }
    crate::Error::Io { path: path.to_owned(), source: error }
}

#[cfg(test)]
pub(crate) use std::os::unix::fs::symlink;

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::other)
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_way_down_passes_no_link_and_never_leads_up() {
        let base = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (base.path().join("root"), base.path().join("elsewhere"));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("f"), "secret").unwrap();
        symlink(&elsewhere, root.join("a/link")).unwrap();
        symlink(elsewhere.join("f"), root.join("a/b/f")).unwrap();

        Folder::open(&root, &root.join("a/b")).unwrap();
        for folder in ["a/link", "a/link/new", "a/../../elsewhere"] {
            let folder = root.join(folder);
            assert!(Folder::open(&root, &folder).is_err(), "{}", folder.display());
            assert!(Folder::create(&root, &folder, Privacy::Shared).is_err());
        }
        let said = Folder::open(&root, &root.join("a/link")).unwrap_err().to_string();
        assert!(said.contains("a/link: this is a symbolic link"), "{said}");
        assert!(Folder::open(&root, &elsewhere).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);

        // The user may use links above the root.
        symlink(&root, base.path().join("way")).unwrap();
        let way = base.path().join("way");
        let folder = Folder::create(&way, &way.join("a/new"), Privacy::Private).unwrap();
        drop(folder.create_new(OsStr::new("x")).unwrap());
        assert!(root.join("a/new/x").is_file());
        let folder = Folder::open(&root, &root.join("a/b")).unwrap();
        assert!(folder.read(OsStr::new("f"), 100).unwrap_err().to_string().contains("link"));
        assert_eq!(folder.mode(OsStr::new("f")), None);
        folder.remove(OsStr::new("f")).unwrap();
        assert!(elsewhere.join("f").exists());
    }
}
