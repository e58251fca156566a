//! Common parts of the embedder's two files: the header, and rows that are found by a hash.

use std::path::Path;

use super::wordpiece::WordCut;
use crate::bytes::Space;
use crate::bytes::{Cursor, checksum};
use memory_store_base::error::{Error, Result};

/// Version of both files. Readers reject another major version. A higher minor version only adds parts that older
/// readers may skip.
///
/// - 1.0: table and transformer.
pub(crate) const MAJOR: u16 = 1;
/// Minor version; see [`MAJOR`].
pub(crate) const MINOR: u16 = 0;

/// First bytes of the table of token vectors.
pub(crate) const TABLE_MAGIC: [u8; 8] = *b"TLTABLE\0";
/// First bytes of the transformer.
pub(crate) const TRANSFORMER_MAGIC: [u8; 8] = *b"TLTRANSF";

/// Number of bytes of a header.
pub(crate) const HEADER: usize = 128;
/// Alignment of sections in bytes.
pub(crate) const ALIGNMENT: usize = 64;
/// Number of bytes of a row besides its values: hash, number and scale before the values, checksum after them.
pub(crate) const ROW_FRAME: usize = 8 + 4 + 4 + 4;
/// Token number of a free row.
pub(crate) const FREE: u32 = u32::MAX;

/// Maximum number of rows of a file.
const SLOTS_MAX: u32 = 1 << 20;
/// Maximum number of values of a row.
const VALUES_MAX: u16 = 4096;

/// Header of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelHeader {
    /// Magic bytes, which distinguish the two files.
    pub magic: [u8; 8],
    /// Number of values of a row.
    pub values: u16,
    /// Rule for cutting words.
    pub cut: WordCut,
    /// Number of tokens of the vocabulary.
    pub tokens: u32,
    /// Number of rows, including free ones.
    pub slots: u32,
    /// Number of buckets of the hash function; see [`super::rows`].
    pub buckets: u32,
    /// Number of bytes of the vocabulary's longest piece.
    pub piece_bytes_max: u16,
    /// Space of the vectors.
    pub space: Space,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Start of the buckets, which are followed by the fingerprints of the rows.
    pub index: u64,
    /// Start of the rows.
    pub rows: u64,
    /// Start of the transformer's weights; in a table, the end of the rows.
    pub weights: u64,
    /// Checksum of buckets and fingerprints.
    pub index_checksum: u32,
    /// Checksum of the weights.
    pub weights_checksum: u32,
}

impl ModelHeader {
    /// Returns the number of bytes of buckets and fingerprints.
    pub(crate) fn index_bytes(&self) -> usize {
        self.buckets as usize * 2 + (self.slots as usize).div_ceil(2)
    }

    /// Returns the number of bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        usize::from(self.values) + ROW_FRAME
    }

    /// Returns the bytes of the header.
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut out = Vec::with_capacity(HEADER);
        out.extend_from_slice(&self.magic);
        out.extend_from_slice(&MAJOR.to_le_bytes());
        out.extend_from_slice(&MINOR.to_le_bytes());
        out.extend_from_slice(&self.values.to_le_bytes());
        out.extend_from_slice(&self.cut.bits().to_le_bytes());
        out.extend_from_slice(&self.tokens.to_le_bytes());
        out.extend_from_slice(&self.slots.to_le_bytes());
        out.extend_from_slice(&self.buckets.to_le_bytes());
        out.extend_from_slice(&self.piece_bytes_max.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.space.0);
        for offset in [self.bytes, self.index, self.rows, self.weights] {
            out.extend_from_slice(&offset.to_le_bytes());
        }
        out.extend_from_slice(&self.index_checksum.to_le_bytes());
        out.extend_from_slice(&self.weights_checksum.to_le_bytes());
        out.resize(HEADER - 4, 0);
        let check = checksum(&out);
        out.extend_from_slice(&check.to_le_bytes());
        let mut header = [0; HEADER];
        header.copy_from_slice(&out);
        header
    }

    /// Decodes the header of the file `path`, which has `file_bytes` bytes and must start with `magic`.
    pub(crate) fn decode(
        path: &Path,
        bytes: &[u8],
        magic: [u8; 8],
        file_bytes: u64,
    ) -> Result<Self> {
        let header = bytes.get(..HEADER).ok_or_else(|| damaged(path, "the file is cut off"))?;
        let mut cursor = Cursor(header);
        if cursor.array() != Some(magic) {
            return Err(damaged(path, "this is not the expected kind of file"));
        }
        // The version is checked before the checksum, because later versions may have another layout.
        let major = cursor.u16().unwrap_or(0);
        if major != MAJOR {
            return Err(damaged(path, format!("format version {major}, expected {MAJOR}")));
        }
        if Cursor(&header[HEADER - 4..]).u32() != Some(checksum(&header[..HEADER - 4])) {
            return Err(damaged(path, "the header's checksum does not fit"));
        }
        let header = Self::fields(magic, cursor).filter(Self::is_sound);
        let header = header.ok_or_else(|| damaged(path, "the header makes no sense"))?;
        if header.bytes != file_bytes {
            let message = format!("the file has {file_bytes} bytes, expected {}", header.bytes);
            return Err(damaged(path, message));
        }
        Ok(header)
    }

    fn fields(magic: [u8; 8], mut cursor: Cursor<'_>) -> Option<Self> {
        let _minor = cursor.u16()?;
        let values = cursor.u16()?;
        let cut = WordCut::of_bits(cursor.u16()?)?;
        let (tokens, slots, buckets) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let (piece_bytes_max, _reserved) = (cursor.u16()?, cursor.u16()?);
        let space = Space(cursor.array()?);
        let (bytes, index) = (cursor.u64()?, cursor.u64()?);
        let (rows, weights) = (cursor.u64()?, cursor.u64()?);
        let (index_checksum, weights_checksum) = (cursor.u32()?, cursor.u32()?);
        Some(Self {
            magic,
            values,
            cut,
            tokens,
            slots,
            buckets,
            piece_bytes_max,
            space,
            bytes,
            index,
            rows,
            weights,
            index_checksum,
            weights_checksum,
        })
    }

    /// Returns whether all numbers are within bounds and the sections are in order inside the file.
    fn is_sound(&self) -> bool {
        let counts = (1..=VALUES_MAX).contains(&self.values)
            && (1..=SLOTS_MAX).contains(&self.slots)
            && (1..=self.slots).contains(&self.buckets)
            && self.tokens <= self.slots;
        let index_end = self.index.checked_add(self.index_bytes() as u64);
        let rows_end = self.rows.checked_add(u64::from(self.slots) * self.row_bytes() as u64);
        counts
            && self.index >= HEADER as u64
            && index_end.is_some_and(|end| end <= self.rows)
            && rows_end.is_some_and(|end| end <= self.weights)
            && self.weights <= self.bytes
    }
}

/// Returns the error for a file of the embedder that is damaged or of another kind.
pub(crate) fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::Model { path: path.to_owned(), message: message.into() }
}
