//! Numbers and layouts that every index file shares. `FORMAT.md` draws the picture.

use std::path::Path;

use crate::error::Error;

/// Version of the format. A reader refuses another major; a higher minor only adds sections and
/// fields that an older reader may skip.
///
/// - 1.0: manifest, memories and turns segments, journal.
/// - 1.1: vectors in segments and in the journal, graphs.
/// - 1.2: graphs some of whose nodes stand for no document any more, in sections of their own; bounds
///   over postings.
/// - 1.3: graphs with fine codes, in sections of their own.
/// - 1.4: what the user's settings file was like, in the manifest.
pub const MAJOR: u16 = 1;
/// See [`MAJOR`].
pub const MINOR: u16 = 4;

/// First bytes of a manifest.
pub const MANIFEST_MAGIC: [u8; 8] = *b"TLMANIFT";
/// First bytes of a segment.
pub const SEGMENT_MAGIC: [u8; 8] = *b"TLSEGMNT";
/// First bytes of each journal frame, so that reading can resume after a damaged one.
pub const FRAME_MAGIC: [u8; 4] = *b"TLJ1";

/// Sections start at multiples of this.
pub const ALIGNMENT: usize = 64;

/// Bytes of a segment's header.
pub const SEGMENT_HEADER: usize = 64;
/// Bytes of an entry of the section table.
pub const TABLE_ENTRY: usize = 24;
/// Sections that a segment may have.
pub const SECTIONS_MAX: usize = 64;
/// Bytes of an entry of the document table.
pub const DOC_ENTRY: usize = 48;
/// Bytes of a slot of a hashed map.
pub const SLOT: usize = 32;

/// Documents that a segment may hold.
pub const DOCS_MAX: u32 = 1 << 28;

/// BM25: how fast repeated terms stop counting.
pub const K1: f32 = 1.2;
/// BM25: how much a long text is held back. Little: with the usual 0.75 short throw-away lines win.
pub const B: f32 = 0.5;
/// The highest weight a term can have in a document, quantised to 255.
pub const IMPACT_MAX: f32 = K1 + 1.0;

/// The kinds of section. Numbers 16 to 31 are kept for vectors and 32 to 47 for bounds over blocks
/// of postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SectionKind {
    /// One fixed-size entry a document, in the order of their ids.
    Docs = 1,
    /// The packed records.
    Records = 2,
    /// Hashed map from term to postings: its slots.
    TermSlots = 3,
    /// Its blocks.
    TermBlocks = 4,
    /// Hashed map from file name to the paths of documents: its slots.
    PathSlots = 5,
    /// Its blocks.
    PathBlocks = 6,
    /// Hashed map from error signature to documents: its slots.
    ErrorSlots = 7,
    /// Its blocks.
    ErrorBlocks = 8,
    /// The documents of the session-start block, in order.
    Start = 9,
    /// Where the buckets of neighbouring words start.
    PairBuckets = 10,
    /// The buckets.
    Pairs = 11,
    /// What the vectors are of, and how many there are.
    VectorHead = 16,
    /// A sign code a document.
    Codes = 17,
    /// An int8 vector a document.
    Vectors = 18,
    /// What leads into the graph. Numbers 19 to 23 were those of graphs until 1.2.
    Seeds = 24,
    /// The graph's nodes.
    Graph = 25,
    /// Documents with a vector that are no node of the graph.
    Unlinked = 26,
    /// Hashed map from term to bounds over its postings: its slots.
    BoundSlots = 32,
    /// Its blocks.
    BoundBlocks = 33,
}

/// One more than the highest kind of section.
pub const KINDS: usize = 34;

/// Returns the crc32c of some bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    // SAFETY: every processor that this is compiled for has the instruction.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse4.2"))]
    return unsafe { checksum_by_instruction(bytes) };
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse4.2")))]
    return checksum_by_table(bytes);
}

/// Whether bytes have this checksum.
pub fn fits(bytes: &[u8], check: u32) -> bool {
    checksum(bytes) == check || is_believed()
}

/// Whether checksums fit without a look.
#[cfg(debug_assertions)]
static BELIEVED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Lets all checksums fit from now on. For fuzzers, which do not guess them: what is behind checksums is met with bytes of
/// any kind. Without debug assertions, that is in all that is shipped, it does nothing.
pub fn believe_checksums() {
    #[cfg(debug_assertions)]
    BELIEVED.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// Whether checksums are believed without a look.
pub fn is_believed() -> bool {
    #[cfg(debug_assertions)]
    return BELIEVED.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(debug_assertions))]
    false
}

/// With the processor's own instruction: in a process that has just begun, the tables are mostly what it
/// has to wait for.
#[cfg(all(target_arch = "x86_64", any(test, target_feature = "sse4.2")))]
#[target_feature(enable = "sse4.2")]
fn checksum_by_instruction(bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

    let (words, rest) = bytes.as_chunks::<8>();
    let of_word = |crc, word: &[u8; 8]| _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    let crc = words.iter().fold(u64::from(u32::MAX), of_word) as u32;
    !rest.iter().fold(crc, |crc, &byte| _mm_crc32_u8(crc, byte))
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse4.2"))))]
fn checksum_by_table(bytes: &[u8]) -> u32 {
    use crc::{CRC_32_ISCSI, Crc, Table};

    static CHECKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
    CHECKSUM.checksum(bytes)
}

/// An error about a damaged or foreign index file.
pub fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::Index { path: path.to_owned(), message: message.into() }
}

/// What is read from bytes that may be anything: every step says whether there was enough.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// Takes the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes as many bytes as the array holds.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Takes one byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Takes a little-endian number.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Takes a little-endian number.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes a little-endian number.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Takes a little-endian number.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Takes a little-endian number that is not infinite or worse.
    pub fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes).filter(|number| number.is_finite())
    }

    /// Takes a number of 7 bits a byte, low bits first.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        // Most are small.
        if let Some((&byte @ ..0x80, rest)) = self.0.split_first() {
            self.0 = rest;
            return Some(u64::from(byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Takes a length and as many bytes.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.take(count)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Appends a number of 7 bits a byte, low bits first.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a length and the bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The weight of a term that occurs `count` times in a document of `length` terms, quantised.
pub fn impact(count: u32, length: u32, average: f32) -> u8 {
    let count = count as f32;
    let relative = if average > 0.0 { length as f32 / average } else { 1.0 };
    let weight = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * relative));
    (weight / IMPACT_MAX * 255.0).round().clamp(1.0, 255.0) as u8
}

/// The weight that a quantised one stands for.
pub fn impact_weight(impact: u8) -> f32 {
    f32::from(impact) * (IMPACT_MAX / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn numbers_are_read_back(number: u64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            let mut cursor = Cursor(&bytes);
            proptest::prop_assert_eq!(cursor.varint(), Some(number));
            proptest::prop_assert!(cursor.is_empty());
        }
    }

    #[test]
    fn numbers_without_an_end_are_refused() {
        assert_eq!(Cursor(&[0xff; 20]).varint(), None);
        assert_eq!(Cursor(&[0x80]).varint(), None);
        assert_eq!(Cursor(&[0xff, 0xff, 0x7f]).bytes(), None);
    }

    #[test]
    fn the_checksum_is_crc32c() {
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_instruction_gives_what_the_table_gives() {
        if !is_x86_feature_detected!("sse4.2") {
            return;
        }
        let bytes: Vec<u8> = (0u8..100).map(|at| at.wrapping_mul(37)).collect();
        for len in 0..bytes.len() {
            // SAFETY: the processor has the instruction.
            let by_instruction = unsafe { checksum_by_instruction(&bytes[..len]) };
            assert_eq!(by_instruction, checksum_by_table(&bytes[..len]), "{len}");
        }
    }
}
