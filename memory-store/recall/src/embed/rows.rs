//! Rows of int8 values, one for each token of a vocabulary, which are found by the hash of the token's piece.
//!
//! The hash function is perfect in the sense of "Hash, displace, and compress" (Belazzougui, Botelho and Dietzfelbinger
//! 2009): the bucket of a piece has a displacement that maps the piece to a row of its own. All data of a token is thus
//! found by one access to a small index, which is completely in memory, and one read of a row. The index also contains
//! four bits of each row's hash. Of the many substrings that the tokeniser tries and that are not in the vocabulary,
//! therefore only one in sixteen costs a read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::header::{FREE, HEADER, ModelHeader, damaged};
use super::piece::FilePiece;
use super::wordpiece::{PIECE_BYTES_MAX, WordPieces};
use crate::bytes::{Cursor, checksum};
use memory_store_base::error::{At, Result};
use memory_store_base::fs::disk::MappedFile;
use memory_store_base::fs::disk::read_exact_at;

/// The rows of an open file, with `N` values each.
#[derive(Debug)]
pub(crate) struct Rows<const N: usize> {
    path: PathBuf,
    source: RowSource,
    header: ModelHeader,
    /// The displacements of the buckets with 2 bytes each, followed by the fingerprints of the rows with 4 bits each.
    index: Vec<u8>,
}

/// Where the bytes of a file are.
#[derive(Debug)]
enum RowSource {
    /// In the file, read on demand, because a hook needs few rows.
    File(File),
    /// In memory, read when opened, for embedding many texts, which needs all rows.
    Memory(Vec<u8>),
    /// Mapped into memory, because other processes need them too.
    Mapped(Arc<MappedFile>),
}

/// A token's row.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddingRow<const N: usize> {
    /// Number of the token.
    pub number: u32,
    /// Factor by which the values are multiplied.
    pub scale: f32,
    /// The quantised values.
    pub values: [i8; N],
}

impl<const N: usize> Rows<N> {
    /// Opens a file that starts with `magic`, and reads only its header and its index.
    pub(crate) fn open(path: &Path, magic: [u8; 8]) -> Result<Self> {
        let file = File::open(path).at(path)?;
        let bytes = file.metadata().at(path)?.len();
        let mut head = [0; HEADER];
        let there = usize::try_from(bytes).unwrap_or(HEADER).min(HEADER);
        read_exact_at(&file, &mut head[..there], 0).at(path)?;
        let header = ModelHeader::decode(path, &head[..there], magic, bytes)?;
        let mut index = vec![0; header.index_bytes()];
        read_exact_at(&file, &mut index, header.index).at(path)?;
        Self::new(path, RowSource::File(file), header, index)
    }

    /// Opens a file that starts with `magic`, and reads all of it.
    pub(crate) fn load(path: &Path, magic: [u8; 8]) -> Result<Self> {
        let bytes = std::fs::read(path).at(path)?;
        let header = ModelHeader::decode(path, &bytes, magic, bytes.len() as u64)?;
        let start = header.index as usize;
        let index = bytes[start..start + header.index_bytes()].to_vec();
        Self::new(path, RowSource::Memory(bytes), header, index)
    }

    fn new(path: &Path, source: RowSource, header: ModelHeader, index: Vec<u8>) -> Result<Self> {
        if usize::from(header.values) != N {
            let message = format!("rows of {} values, expected {N}", header.values);
            return Err(damaged(path, message));
        }
        if usize::from(header.piece_bytes_max) > PIECE_BYTES_MAX {
            return Err(damaged(path, "its pieces are too long"));
        }
        if checksum(&index) != header.index_checksum {
            return Err(damaged(path, "the checksum of its index does not fit"));
        }
        Ok(Self { path: path.to_owned(), source, header, index })
    }

    /// Returns the file's header.
    pub(crate) fn header(&self) -> &ModelHeader {
        &self.header
    }

    /// Opens a file that starts with `magic`, and maps all of it into memory.
    pub(crate) fn map(path: &Path, magic: [u8; 8]) -> Result<Self> {
        let map = MappedFile::open(path)?;
        let header = ModelHeader::decode(path, &map, magic, map.len() as u64)?;
        let start = header.index as usize;
        let index = map[start..start + header.index_bytes()].to_vec();
        Self::new(path, RowSource::Mapped(Arc::new(map)), header, index)
    }

    /// Returns the weights of a mapped file; empty if the file is not mapped.
    pub(crate) fn weights(&self) -> FilePiece {
        match &self.source {
            RowSource::Mapped(map) => {
                FilePiece::Mapped(Arc::clone(map), self.header.weights as usize..map.len())
            }
            RowSource::Memory(_) | RowSource::File(_) => FilePiece::Owned(Vec::new()),
        }
    }

    /// Returns the row in a slot with its hash; `None` if the row is free.
    fn row(&self, slot: u32) -> Result<Option<(u64, EmbeddingRow<N>)>> {
        let length = self.header.row_bytes();
        let offset = self.header.rows + u64::from(slot) * length as u64;
        match &self.source {
            RowSource::Memory(bytes) => self.parse(&bytes[offset as usize..][..length]),
            RowSource::Mapped(map) => self.parse(&map[offset as usize..][..length]),
            RowSource::File(file) => {
                // The header was validated, which limits the length. The buffer is on the stack, for hooks.
                let mut buffer = [0; N_MAX];
                let row = &mut buffer[..length];
                read_exact_at(file, row, offset).at(&self.path)?;
                self.parse(row)
            }
        }
    }

    fn parse(&self, bytes: &[u8]) -> Result<Option<(u64, EmbeddingRow<N>)>> {
        let parsed = bytes.split_last_chunk::<4>().and_then(|(body, check)| {
            let fits = u32::from_le_bytes(*check) == checksum(body);
            let mut cursor = Cursor(if fits { body } else { &[] });
            let (hash, number) = (cursor.u64()?, cursor.u32()?);
            let scale = cursor.f32()?;
            let values = cursor.array::<N>()?.map(|byte| byte as i8);
            Some((hash, EmbeddingRow { number, scale, values }))
        });
        match parsed {
            Some((_, row)) if row.number == FREE => Ok(None),
            Some(row) => Ok(Some(row)),
            None => Err(damaged(&self.path, "the checksum of a row does not fit")),
        }
    }
}

/// Maximum number of bytes of a row that is read from a file.
const N_MAX: usize = 512;

impl<const N: usize> WordPieces for Rows<N> {
    type Token = EmbeddingRow<N>;

    fn find(&self, hash: u64) -> Result<Option<EmbeddingRow<N>>> {
        let (buckets, slots) = (self.header.buckets, self.header.slots);
        let displacement = &self.index[bucket(hash, buckets) as usize * 2..][..2];
        let displacement = u16::from_le_bytes([displacement[0], displacement[1]]);
        let slot = slot(hash, displacement, slots);
        let fingerprints = self.index[buckets as usize * 2 + slot as usize / 2];
        if fingerprints >> (slot % 2 * 4) & 0xf != fingerprint(hash) {
            return Ok(None);
        }
        let row = self.row(slot)?;
        Ok(row.filter(|(owner, _)| *owner == hash).map(|(_, row)| row))
    }

    fn piece_bytes_max(&self) -> usize {
        usize::from(self.header.piece_bytes_max)
    }
}

/// Returns the bucket of a hash, out of `buckets`.
pub(crate) fn bucket(hash: u64, buckets: u32) -> u32 {
    below(hash as u32, buckets)
}

/// Returns the row to which a displacement maps a hash, out of `slots`.
pub(crate) fn slot(hash: u64, displacement: u16, slots: u32) -> u32 {
    let mixed = hash ^ u64::from(displacement).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    below((mixed.wrapping_mul(0x9fb2_1c65_1e98_df25) >> 32) as u32, slots)
}

/// Returns the four bits of a hash that are stored in the index.
pub(crate) fn fingerprint(hash: u64) -> u8 {
    (hash >> 60) as u8
}

/// Maps a number evenly to the range below `limit`.
fn below(number: u32, limit: u32) -> u32 {
    ((u64::from(number) * u64::from(limit)) >> 32) as u32
}
