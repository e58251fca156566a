//! The file of a second space, which is stored next to its index. `FORMAT.md` illustrates the file.

use std::io::Read;
use std::path::Path;

use super::{Direction, TextHash, dot};
use crate::bytes::Cursor;
use crate::bytes::kernel::sum;
use crate::index::format::damaged;
use memory_store_base::error::{At, Result};
use memory_store_base::id::MemoryId;

/// First bytes of the file.
const MAGIC: [u8; 8] = *b"TLSECOND";
/// Version of the file. Readers reject any other major version.
///
/// - 1.0: a vector for each memory.
const MAJOR: u16 = 1;
/// Minor version; see [`MAJOR`].
const MINOR: u16 = 0;
/// Number of bytes before the model's name.
const HEADER: usize = 48;
/// Number of bytes of an entry before its components: id, hash of the text, and length of the vector.
const ENTRY_FRAME: usize = 16 + 16 + 4;
/// Number of bytes of the checksum at the end.
const SUM: usize = 8;
/// Flag of a file that contains a vector of every memory of the index.
const COMPLETE: u32 = 1;
/// Maximum length of a model's name in bytes.
const MODEL_BYTES_MAX: usize = 256;

/// Maximum number of components of a vector; the models that Ollama offers have up to 4,096.
pub(crate) const DIMENSIONS_MAX: usize = 8_192;
/// Maximum length of the file in bytes.
pub const BYTES_MAX: u64 = 1 << 30;

/// The vectors of an index's memories in a second space.
#[derive(Debug)]
pub struct Second {
    /// Name of the model.
    pub model: String,
    /// Digest of the index with these memories, as in the index's manifest.
    pub digest: [u8; 16],
    /// True if every memory of that index has a vector here.
    pub complete: bool,
    /// Number of components of a vector.
    pub dimensions: usize,
    /// Number of memories with a vector.
    pub count: usize,
    bytes: Vec<u8>,
    /// Byte range of the entries.
    entries: std::ops::Range<usize>,
}

impl Second {
    /// Reads the file; `None` if it is missing.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or has another major version.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at(path),
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes).at(path)?;
        match Self::parse(bytes) {
            Some(second) => Ok(Some(second)),
            None => Err(damaged(path, "is no file of vectors that this version reads")),
        }
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (body, expected) = bytes.split_last_chunk::<SUM>()?;
        let mut header = Cursor(body.get(..HEADER)?);
        let fits = header.array()? == MAGIC && header.u16()? == MAJOR;
        let _minor = header.u16()?;
        if !fits || u64::from_le_bytes(*expected) != sum(body) {
            return None;
        }
        let dimensions = header.u32()? as usize;
        let (count, flags) = (header.u32()? as usize, header.u32()?);
        let digest = header.array()?;
        let model_bytes = header.u32()? as usize;
        if model_bytes > MODEL_BYTES_MAX || !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return None;
        }
        let start = HEADER + model_bytes;
        let model = str::from_utf8(body.get(HEADER..start)?).ok()?.to_owned();
        if (dimensions + ENTRY_FRAME).checked_mul(count)? != body.len() - start {
            return None;
        }
        let entries = start..body.len();
        let complete = flags & COMPLETE != 0;
        let second = Self { model, digest, complete, dimensions, count, bytes, entries };
        // Binary search requires sorted ids.
        let sorted = (1..second.count).all(|at| second.id(at - 1) < second.id(at));
        sorted.then_some(second)
    }

    /// Returns the memory at a place, and the hash of the text from which its vector was made. Places are in the order
    /// of ids.
    pub fn memory(&self, at: usize) -> (MemoryId, TextHash) {
        let mut hash = [0; 16];
        hash.copy_from_slice(&self.entry(at)[16..32]);
        (self.id(at), TextHash(hash))
    }

    /// Returns the id of the memory at a place.
    pub(crate) fn id(&self, at: usize) -> MemoryId {
        let mut id = [0; 16];
        id.copy_from_slice(&self.entry(at)[..16]);
        MemoryId(id)
    }

    /// Returns the vector at a place; `None` if all its components are zero.
    pub fn direction(&self, at: usize) -> Option<Direction> {
        Direction::of_components(self.components(at).collect())
    }

    /// Returns for each place the cosine of its vector with a query's vector. Returns `None` if the query's vector has
    /// another number of components, so that it is from another model.
    pub(crate) fn cosines(&self, query: &Direction) -> Option<Vec<f32>> {
        if query.components().len() != self.dimensions {
            return None;
        }
        let norm = query.norm();
        let mut components = vec![0i8; self.dimensions];
        let cosine = |at: usize| {
            let [.., a, b, c, d] = self.entry(at)[..ENTRY_FRAME] else { return 0.0 };
            let scale = f32::from_le_bytes([a, b, c, d]) * norm;
            components.iter_mut().zip(self.components(at)).for_each(|(to, from)| *to = from);
            let cosine = dot(&components, query.components()) as f32 / scale;
            if cosine.is_finite() { cosine.clamp(-1.0, 1.0) } else { 0.0 }
        };
        Some((0..self.count).map(cosine).collect())
    }

    fn components(&self, at: usize) -> impl Iterator<Item = i8> {
        self.entry(at)[ENTRY_FRAME..].iter().map(|byte| byte.cast_signed())
    }

    fn entry(&self, at: usize) -> &[u8] {
        let bytes = self.dimensions + ENTRY_FRAME;
        &self.bytes[self.entries.clone()][at * bytes..(at + 1) * bytes]
    }
}

/// Contents of a file of vectors that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Digest of the index with these memories.
    pub digest: [u8; 16],
    /// True if all memories of that index are included.
    pub complete: bool,
    /// Each memory with the hash of its text and its vector. Vectors whose number of components differs from that of
    /// the first one are dropped.
    pub vectors: &'a [(MemoryId, TextHash, Direction)],
}

/// Returns the bytes of a file; `None` if there would be more than [`BYTES_MAX`].
pub fn encode(given: &Given<'_>) -> Option<Vec<u8>> {
    let dimensions = given.vectors.first().map_or(1, |(_, _, first)| first.components().len());
    let mut vectors: Vec<_> = given
        .vectors
        .iter()
        .filter(|(_, _, direction)| direction.components().len() == dimensions)
        .collect();
    vectors.sort_by_key(|(id, ..)| *id);
    vectors.dedup_by_key(|(id, ..)| *id);
    let model = &given.model[..given.model.floor_char_boundary(MODEL_BYTES_MAX)];
    let length = HEADER + model.len() + vectors.len() * (dimensions + ENTRY_FRAME) + SUM;
    if length as u64 > BYTES_MAX {
        return None;
    }
    let mut out = Vec::with_capacity(length);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&MAJOR.to_le_bytes());
    out.extend_from_slice(&MINOR.to_le_bytes());
    let flags = if given.complete { COMPLETE } else { 0 };
    for number in [dimensions as u32, vectors.len() as u32, flags] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&given.digest);
    out.extend_from_slice(&(model.len() as u32).to_le_bytes());
    out.resize(HEADER, 0);
    out.extend_from_slice(model.as_bytes());
    for (id, text, direction) in vectors {
        out.extend_from_slice(&id.0);
        out.extend_from_slice(&text.0);
        out.extend_from_slice(&direction.norm().to_le_bytes());
        out.extend(direction.components().iter().map(|component| component.cast_unsigned()));
    }
    let check = sum(&out);
    out.extend_from_slice(&check.to_le_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use memory_store_base::time::Timestamp;

    fn id(number: i64) -> MemoryId {
        MemoryId::new(Timestamp(number), [0; 10])
    }

    fn direction(angle: f32) -> Direction {
        Direction::of(&[angle.cos(), angle.sin(), 0.0]).unwrap()
    }

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("tree/second.vectors");
        let vectors: Vec<_> = [3, 1, 2]
            .map(|number| (id(number), TextHash::of("a"), direction(number as f32 * 0.3)))
            .into();
        let given =
            Given { model: "nomic-embed-text", digest: [7; 16], complete: true, vectors: &vectors };
        std::fs::create_dir_all(folder.join("tree")).unwrap();
        std::fs::write(&path, encode(&given).unwrap()).unwrap();
        path
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Second::open(&folder.path().join("none")).unwrap().is_none());
        let second = Second::open(&written(folder.path())).unwrap().unwrap();
        assert_eq!((second.model.as_str(), second.digest), ("nomic-embed-text", [7; 16]));
        assert_eq!((second.count, second.dimensions, second.complete), (3, 3, true));
        assert_eq!([0, 1, 2].map(|at| second.id(at)), [1, 2, 3].map(id));
        assert_eq!(second.memory(1), (id(2), TextHash::of("a")));
        assert_eq!(second.direction(0), Some(direction(0.3)));
        for (at, cosine) in second.cosines(&direction(0.6)).unwrap().into_iter().enumerate() {
            let expected = (0.3 * (at as f32 + 1.0) - 0.6).cos();
            assert!((cosine - expected).abs() < 0.01, "{at}: {cosine} {expected}");
        }
        assert_eq!(second.cosines(&Direction::of(&[1.0, 0.0]).unwrap()), None);
    }

    #[test]
    fn no_damaged_byte_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let bytes = std::fs::read(&path).unwrap();
        // The minor version may differ, but it is covered by the checksum.
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 4;
            assert!(Second::parse(wrong).is_none(), "{at}");
        }
        for length in 0..bytes.len() {
            assert!(Second::parse(bytes[..length].to_vec()).is_none(), "{length}");
        }
        // Bytes with a valid checksum may still be invalid.
        for (at, value) in [(12, 0u8), (12, 255), (16, 200), (16, 2), (40, 255), (40, 1)] {
            let mut wrong = bytes[..bytes.len() - SUM].to_vec();
            wrong[at] = value;
            let check = sum(&wrong);
            wrong.extend_from_slice(&check.to_le_bytes());
            assert!(Second::parse(wrong).is_none(), "{at} {value}");
        }
        std::fs::write(&path, b"TLSECOND").unwrap();
        assert!(Second::open(&path).is_err());
    }
}
