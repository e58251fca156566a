//! Bytes of an embedder's file, owned or mapped into memory.

use std::ops::{Deref, Range};
use std::sync::Arc;

use memory_store_base::fs::disk::MappedFile;

/// Owned bytes, or a part of a mapped file.
#[derive(Clone, Debug)]
pub enum FilePiece {
    /// Owned bytes.
    Owned(Vec<u8>),
    /// A byte range of a mapped file.
    Mapped(Arc<MappedFile>, Range<usize>),
}

impl Deref for FilePiece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(map, range) => map.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl From<Vec<u8>> for FilePiece {
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
        let map = Arc::new(MappedFile::open(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let piece = FilePiece::Mapped(Arc::clone(&map), 5..10);
        drop(map);
        assert_eq!(&*piece, b"bytes");
        std::fs::write(&path, b"").unwrap();
        assert!(MappedFile::open(&path).unwrap().is_empty());
        assert!(MappedFile::open(&folder.path().join("missing")).is_err());
    }
}
