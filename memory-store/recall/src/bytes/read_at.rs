//! Reading of a part of a file without moving its position.

use std::fs::File;
use std::io;

/// Reads exactly the length of `bytes`.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}
