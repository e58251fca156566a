//! Files mapped into memory, so that programs that read the same file share its bytes.
//!
//! The embedder's files are replaced by rename and never written in place, so mapped contents do not change.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memory_store_base::error::{At, Result};

/// The mapped bytes of a file, unmapped with the last reference.
#[derive(Debug)]
pub struct Map {
    start: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the bytes are only read, and are unmapped when the last owner is dropped.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps a file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        use std::os::fd::AsRawFd;

        let file = File::open(path).at(path)?;
        let bytes = usize::try_from(file.metadata().at(path)?.len()).unwrap_or(usize::MAX);
        if bytes == 0 {
            return Ok(Self { start: std::ptr::null_mut(), bytes });
        }
        // SAFETY: a new mapping at an address chosen by the system; the file may be closed afterwards.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).at(path);
        }
        Ok(Self { start, bytes })
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: this many bytes stay mapped until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.bytes) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the mapping that `open` made; no slice of it can exist any more.
            unsafe { libc::munmap(self.start, self.bytes) };
        }
    }
}

/// Owned bytes, or a range of a mapped file.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Owned bytes.
    Owned(Vec<u8>),
    /// Range of a file.
    Mapped(Arc<Map>, Range<usize>),
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(map, range) => map.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Owned(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_outlives_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"some bytes").unwrap();
        let map = Arc::new(Map::open(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let piece = Piece::Mapped(Arc::clone(&map), 5..10);
        drop(map);
        assert_eq!(&*piece, b"bytes");
        std::fs::write(&path, b"").unwrap();
        assert!(Map::open(&path).unwrap().is_empty());
        assert!(Map::open(&folder.path().join("missing")).is_err());
    }
}
