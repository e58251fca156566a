//! Encoding of index files: numbers, checksums and vectors, and the loops over vectors.

mod checksum;
mod cursor;
pub(crate) mod kernel;
mod vector;

pub use checksum::{believe_checksums, checksum};
pub(crate) use checksum::{fits, is_believed};
pub(crate) use cursor::{Cursor, put_bytes};
pub use cursor::{put_varint, take_varint};
pub use kernel::mixed;
pub use vector::{DIMENSIONS, Encoder, Space, Vector, dot};
