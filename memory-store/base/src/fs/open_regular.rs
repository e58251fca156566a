//! Opening files that other users or programs may have created. A pipe in place of a file would block forever, and a
//! device may never end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// How a symbolic link in place of a file is treated. Links in the path of its folder are always followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// The link is followed.
    Follow,
    /// A link is an error.
    Refuse,
}

/// Opens a regular file for reading. Anything else is refused without blocking.
///
/// # Errors
/// Those of `open(2)`; [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    let links = if links == Links::Refuse { libc::O_NOFOLLOW } else { 0 };
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | links;
    let file = options.custom_flags(flags).open(path)?;
    check(&file)?;
    Ok(file)
}

/// Maximum number of bytes of a short file that are read.
const SHORT_BYTES_MAX: u64 = 4096;

/// Returns the text of a short file, or its beginning; `None` if it is not a regular file or not text. The file may be
/// untrusted.
pub fn read_short(path: &Path) -> Option<String> {
    String::from_utf8(read_beginning(path, SHORT_BYTES_MAX)?).ok()
}

/// Returns at most `bytes_max` bytes from the start of a file; `None` if it is not a regular file.
pub fn read_beginning(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, Links::Follow).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the metadata of an open file, and fails if the file is not regular.
///
/// # Errors
/// Those of `fstat(2)`; [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub(crate) fn check(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok(metadata),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is no regular file; it is left alone",
        )),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn pipes_devices_and_folders_are_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        crate::fs::dir::symlink(at("file"), at("link")).unwrap();
        crate::fs::dir::symlink("/dev/zero", at("endless")).unwrap();
        let pipe = std::ffi::CString::new(at("pipe").into_os_string().into_encoded_bytes());
        // SAFETY: the path is a string that ends with a null byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.unwrap().as_ptr(), 0o600) }, 0);
        assert!(open(&at("file"), Links::Refuse).is_ok());
        assert!(open(&at("link"), Links::Follow).is_ok());
        assert!(open(&at("link"), Links::Refuse).is_err());
        for name in ["pipe", "endless", "."] {
            let error = open(&at(name), Links::Follow).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }
}
