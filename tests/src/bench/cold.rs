//! Drops files from the page cache of the operating system, for measurements with cold files.

use std::fs::File;
use std::io;
use std::path::Path;

/// Drops the cached pages of a file as far as possible. Names and attributes of files stay cached, because dropping
/// them requires a permission that would slow down the whole machine.
pub fn forget(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Only pages that were written to the disk can be dropped.
    file.sync_data()?;
    advise(&file)
}

#[cfg(target_os = "linux")]
fn advise(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    // SAFETY: the handle is open, and the call only gives advice.
    let error = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(not(target_os = "linux"))]
fn advise(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether the first page of a file is cached; `None` if this is unknown.
#[cfg(target_os = "linux")]
pub fn is_kept(path: &Path) -> Option<bool> {
    use std::os::fd::AsRawFd;
    use std::ptr::null_mut;

    const PAGE: usize = 4096;
    let file = File::open(path).ok()?;
    let mut kept = 0u8;
    // SAFETY: one page of an open file is mapped, queried and unmapped; it is never accessed.
    let answered = unsafe {
        let page =
            libc::mmap(null_mut(), PAGE, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        let answered = libc::mincore(page, PAGE, &raw mut kept) == 0;
        libc::munmap(page, PAGE);
        answered
    };
    answered.then_some(kept & 1 == 1)
}

/// Returns whether the first page of a file is cached; `None` if this is unknown.
#[cfg(not(target_os = "linux"))]
pub fn is_kept(_path: &Path) -> Option<bool> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_kept_and_can_be_dropped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1; 9000]).unwrap();
        assert_eq!(is_kept(file.path()), Some(true));
        forget(file.path()).unwrap();
        // On file systems in memory, pages always stay cached.
        assert!(is_kept(file.path()).is_some());
        assert_eq!(std::fs::read(file.path()).unwrap(), [1; 9000]);
    }
}
