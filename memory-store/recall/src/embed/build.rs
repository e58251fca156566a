//! Writing the embedder's files, for `examples/build_model.rs`.

use std::path::Path;

use super::header::{
    ALIGNMENT, FREE, HEADER, ModelHeader, ROW_FRAME, TABLE_MAGIC, TRANSFORMER_MAGIC,
};
use super::model::{self, EmbedderModel};
use super::rows::{bucket, fingerprint, slot};
use super::transformer::{WIDTH, Weights};
use super::wordpiece::{WordCut, hash};
use crate::bytes::checksum;
use crate::bytes::{DIMENSIONS, Space};
use memory_store_base::error::{At, Result};

/// Average number of pieces in a bucket. With fewer the index grows; with more no displacement is found.
const PIECES_PER_BUCKET: usize = 5;

/// Returns the bytes of a table. `rows` contains [`DIMENSIONS`] values for each piece: its vector multiplied by its
/// weight.
///
/// # Panics
/// If the number of rows is not that of the pieces, or two pieces are equal.
pub fn table_file(pieces: &[&str], rows: &[f32], space: Space, cut: WordCut) -> Vec<u8> {
    let index = TokenIndex::new(pieces);
    let mut out = index.with_rows(rows, DIMENSIONS);
    let header = index.header(TABLE_MAGIC, DIMENSIONS, space, cut, &out, out.len());
    out[..HEADER].copy_from_slice(&header.encode());
    out
}

/// Returns the bytes of a transformer's file. `rows` contains [`WIDTH`] values for each piece: its word embedding.
///
/// # Panics
/// If the number of rows is not that of the pieces, or two pieces are equal.
pub fn transformer_file(pieces: &[&str], rows: &[f32], weights: &Weights) -> Vec<u8> {
    let index = TokenIndex::new(pieces);
    let mut out = index.with_rows(rows, WIDTH);
    let start = out.len();
    weights.encode(&mut out);
    let space = space_of(&out);
    let header = index.header(TRANSFORMER_MAGIC, WIDTH, space, WordCut::default(), &out, start);
    out[..HEADER].copy_from_slice(&header.encode());
    out
}

/// Returns the id of the space of a transformer's file.
fn space_of(file: &[u8]) -> Space {
    let mut space = [0; 16];
    space.copy_from_slice(&blake3::hash(&file[HEADER..]).as_bytes()[..16]);
    Space(space)
}

/// Writes a model's files to a folder, under names that contain their hashes, and then `MODEL`. Returns the names.
pub fn place(dir: &Path, table: &[u8], transformer: &[u8]) -> Result<EmbedderModel> {
    let model = EmbedderModel {
        table: file_name("table", table),
        transformer: file_name("transformer", transformer),
    };
    std::fs::create_dir_all(dir).at(dir)?;
    let text = model.text();
    for (name, bytes) in [
        (&*model.table, table),
        (&*model.transformer, transformer),
        (model::FILE_NAME, text.as_bytes()),
    ] {
        let (new, path) = (dir.join(format!("{name}.new")), dir.join(name));
        std::fs::write(&new, bytes).at(&new)?;
        std::fs::rename(&new, &path).at(&path)?;
    }
    Ok(model)
}

/// Returns the name of a file, which consists of its purpose, the version of its format and the hash of its contents.
pub(crate) fn file_name(name: &str, bytes: &[u8]) -> String {
    let hash = blake3::hash(bytes).to_hex();
    format!("{name}-v{}-{}.bin", super::header::MAJOR, &hash[..16])
}

/// Places of the rows of all pieces.
struct TokenIndex {
    hashes: Vec<u64>,
    slots: Vec<u32>,
    slot_count: u32,
    displacements: Vec<u16>,
    piece_bytes_max: u16,
}

impl TokenIndex {
    fn new(pieces: &[&str]) -> Self {
        let hashes: Vec<u64> = pieces.iter().map(|piece| hash(piece)).collect();
        // Some rows stay free, so that the last pieces find free rows.
        let slot_count = (pieces.len() + pieces.len() / 32 + 4) as u32;
        let buckets = (pieces.len() / PIECES_PER_BUCKET + 1) as u32;
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); buckets as usize];
        for (piece, &hash) in hashes.iter().enumerate() {
            members[bucket(hash, buckets) as usize].push(piece);
        }
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|&bucket| (std::cmp::Reverse(members[bucket].len()), bucket));
        let mut taken = vec![false; slot_count as usize];
        let mut slots = vec![0; pieces.len()];
        let mut displacements = vec![0; members.len()];
        for bucket in order {
            let inside: Vec<u64> = members[bucket].iter().map(|&piece| hashes[piece]).collect();
            let displacement = displacement(&inside, slot_count, &taken)
                .expect("no two pieces are the same and some rows are free");
            displacements[bucket] = displacement;
            for &piece in &members[bucket] {
                slots[piece] = slot(hashes[piece], displacement, slot_count);
                taken[slots[piece] as usize] = true;
            }
        }
        let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
        Self { hashes, slots, slot_count, displacements, piece_bytes_max: longest as u16 }
    }

    /// Returns the bytes of a file with an empty header, the index and the rows.
    fn with_rows(&self, rows: &[f32], width: usize) -> Vec<u8> {
        assert_eq!(rows.len(), self.hashes.len() * width, "a row for each piece");
        let mut out = vec![0; HEADER];
        out.extend_from_slice(&self.bytes());
        align(&mut out);
        let start = out.len();
        let row_bytes = width + ROW_FRAME;
        let free = row_of(0, FREE, &vec![0.0; width]);
        (0..self.slot_count).for_each(|_| out.extend_from_slice(&free));
        for (number, values) in rows.chunks_exact(width).enumerate() {
            let row = row_of(self.hashes[number], number as u32, values);
            let at = start + self.slots[number] as usize * row_bytes;
            out[at..at + row_bytes].copy_from_slice(&row);
        }
        align(&mut out);
        out
    }

    /// Returns the bytes of displacements and fingerprints.
    fn bytes(&self) -> Vec<u8> {
        let mut out: Vec<u8> =
            self.displacements.iter().flat_map(|displacement| displacement.to_le_bytes()).collect();
        let start = out.len();
        out.resize(start + (self.slot_count as usize).div_ceil(2), 0);
        for (&hash, &slot) in self.hashes.iter().zip(&self.slots) {
            out[start + slot as usize / 2] |= fingerprint(hash) << (slot % 2 * 4);
        }
        out
    }

    fn header(
        &self,
        magic: [u8; 8],
        width: usize,
        space: Space,
        cut: WordCut,
        file: &[u8],
        weights: usize,
    ) -> ModelHeader {
        let index = self.bytes();
        ModelHeader {
            magic,
            values: width as u16,
            cut,
            tokens: self.hashes.len() as u32,
            slots: self.slot_count,
            buckets: self.displacements.len() as u32,
            piece_bytes_max: self.piece_bytes_max,
            space,
            bytes: file.len() as u64,
            index: HEADER as u64,
            rows: (HEADER + index.len()).next_multiple_of(ALIGNMENT) as u64,
            weights: weights as u64,
            index_checksum: checksum(&index),
            weights_checksum: checksum(&file[weights..]),
        }
    }
}

/// Returns the first displacement that maps all of these hashes to free rows; `None` if there is none.
fn displacement(hashes: &[u64], slots: u32, taken: &[bool]) -> Option<u16> {
    (0..=u16::MAX).find(|&displacement| {
        let mut chosen: Vec<u32> =
            hashes.iter().map(|&hash| slot(hash, displacement, slots)).collect();
        chosen.sort_unstable();
        chosen.iter().all(|&slot| !taken[slot as usize])
            && chosen.windows(2).all(|pair| pair[0] != pair[1])
    })
}

/// Returns the bytes of a row, with its values as multiples of a 127th of the largest one.
fn row_of(hash: u64, number: u32, values: &[f32]) -> Vec<u8> {
    let (scale, steps) = steps(values);
    let mut out = Vec::with_capacity(values.len() + ROW_FRAME);
    out.extend_from_slice(&hash.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&scale.to_le_bytes());
    out.extend(steps.iter().map(|&step| step as u8));
    let check = checksum(&out);
    out.extend_from_slice(&check.to_le_bytes());
    out
}

/// Returns values as a scale and int8 multiples of that scale. (The scale with the least squared error, which clips the
/// largest values, did not bring the transformer's vectors closer to the reference's.)
pub(super) fn steps(values: &[f32]) -> (f32, Vec<i8>) {
    let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    (scale, values.iter().map(|value| (value / scale).round() as i8).collect())
}

/// Pads with zeros to the next multiple of [`ALIGNMENT`].
pub(super) fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
}
