//! Loops over every vector or every byte: dot products, distances of sign codes, and the checksum of vectors.
//!
//! The loops use the instructions that every processor of their architecture has (SSE2, NEON), and AVX2 if the program
//! is built for processors with AVX2. The hooks are built that way: run-time detection would cost a hook 7 to 50 us
//! where CPUID traps, which is longer than the loops of a hook take. All kernels of an operation return the same number
//! to the last bit. Other architectures use the portable kernels.

#[cfg(all(target_arch = "x86_64", any(test, target_feature = "avx2")))]
mod avx2;

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use avx2 as best;
#[cfg(target_arch = "aarch64")]
use neon as best;
#[cfg(all(
    target_arch = "x86_64",
    not(all(target_feature = "avx2", target_feature = "popcnt"))
))]
use sse2 as best;

use super::{DIMENSIONS, Vector};

/// Number of bytes of a sign code.
pub(crate) const CODE: usize = DIMENSIONS / 8;
/// Number of bytes of a fine code.
pub(crate) const FINE: usize = DIMENSIONS / 4;
/// Size of a component for each level of a fine code.
const FINE_STEP: i8 = 14;
/// Number of bytes of a lane, in all kernels.
const LANE: usize = 16;
/// Number of bytes after which the keys of [`sum`] repeat.
const CHUNK: usize = 1024;
/// An odd number whose bits have no pattern.
const MULTIPLIER: u64 = 0x9fb2_1c65_1e98_df25;

/// The keys of [`sum`]: splitmix64 of 1, 2, 3 and so on, each of which yields two keys.
static KEYS: [u32; CHUNK / 4] = keys();

const fn keys() -> [u32; CHUNK / 4] {
    let mut keys = [0; CHUNK / 4];
    let mut at = 0;
    while at < CHUNK / 8 {
        let mixed = mixed(at as u64 + 1);
        keys[2 * at] = mixed as u32;
        keys[2 * at + 1] = (mixed >> 32) as u32;
        at += 1;
    }
    keys
}

/// Returns the number with this index in the splitmix64 sequence (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014), which has no pattern.
pub const fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Sign code: one bit for each component, low bits first, which is set if the component is above zero. The angle
/// between two vectors, as a fraction of 180 degrees, is about the share of bits in which their codes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub [u8; CODE]);

impl Code {
    /// Returns the code of a vector.
    pub(crate) fn of(vector: &Vector) -> Self {
        let mut code = [0; CODE];
        for (at, &component) in vector.0.iter().enumerate() {
            code[at / 8] |= u8::from(component > 0) << (at % 8);
        }
        Self(code)
    }
}

/// Fine code: two bits for each component, which contain its level. Levels 0 and 1 are below zero, 2 and 3 above; 0 and
/// 3 are far from zero. It is twice as long as a [`Code`], and so much more precise that a search in fine codes finds
/// about as much as a comparison of the vectors themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fine(pub [u8; FINE]);

impl Fine {
    /// Returns the fine code of a vector. A component is far from zero if it exceeds .98 of the components' root mean
    /// square, which is the bound with the least error for a normal distribution.
    pub(crate) fn of(vector: &Vector) -> Self {
        let square = dot(&vector.0, &vector.0);
        let mut code = [0; FINE];
        for (at, &component) in vector.0.iter().enumerate() {
            let is_far = 25 * DIMENSIONS as i32 * i32::from(component).pow(2) > 24 * square;
            let level = match (component > 0, is_far) {
                (false, true) => 0,
                (false, false) => 1,
                (true, false) => 2,
                (true, true) => 3,
            };
            let (half, place) = (at / (DIMENSIONS / 2), at % (DIMENSIONS / 2));
            code[half * FINE / 2 + place % (FINE / 2)] |= level << (place / (FINE / 2) * 2);
        }
        Self(code)
    }

    /// Returns a vector that has this code and about the usual length of vectors.
    pub(crate) fn vector(&self) -> Vector {
        let component = |at: usize| {
            let (half, place) = (at / (DIMENSIONS / 2), at % (DIMENSIONS / 2));
            let levels = self.0[half * FINE / 2 + place % (FINE / 2)];
            FINE_STEP * (2 * (levels >> (place / (FINE / 2) * 2) & 3) as i8 - 3)
        };
        Vector(std::array::from_fn(component))
    }

    /// Returns the sum of the squares of a code's levels (-3, -1, 1 and 3).
    pub(crate) fn square(code: &[u8; FINE]) -> i32 {
        let inner = code.as_chunks::<8>().0.iter().map(|levels| {
            let levels = u64::from_le_bytes(*levels);
            // In levels 1 and 2 the two bits differ.
            ((levels ^ levels >> 1) & 0x5555_5555_5555_5555).count_ones()
        });
        9 * DIMENSIONS as i32 - 8 * inner.sum::<u32>() as i32
    }
}

/// A vector prepared for the comparison with fine codes.
#[derive(Clone, Debug)]
pub(crate) struct FineWeights {
    components: [i8; DIMENSIONS],
    total: i32,
}

impl FineWeights {
    /// Prepares a vector.
    pub(crate) fn of(vector: &Vector) -> Self {
        let total = vector.0.iter().map(|&component| i32::from(component)).sum();
        Self { components: vector.0, total }
    }

    /// Returns the dot product of the vector with the levels of a code, which are -3, -1, 1 and 3.
    pub(crate) fn dot(&self, code: &[u8; FINE]) -> i32 {
        2 * self.levels(code) - 3 * self.total
    }

    /// Returns the sum of the components, each multiplied by its level from 0 to 3.
    fn levels(&self, code: &[u8; FINE]) -> i32 {
        // SAFETY: every processor of these architectures, or of the build's target features, has the instructions.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        return unsafe { best::levels(&self.components, code) };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        portable::levels(&self.components, code)
    }
}

/// Returns the components of a stored vector.
pub(crate) fn components(stored: &[u8; DIMENSIONS]) -> &[i8; DIMENSIONS] {
    // SAFETY: both types have the same size, need no alignment, and each bit pattern is valid in both.
    unsafe { &*stored.as_ptr().cast() }
}

/// Returns the dot product of two vectors.
pub(crate) fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    // SAFETY: every processor of these architectures, or of the build's target features, has the instructions.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return unsafe { best::dot(a, b) };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    portable::dot(a, b)
}

/// Adds a vector, multiplied by `scale`, to a sum.
pub(crate) fn add(sum: &mut [f32; DIMENSIONS], scale: f32, vector: &[i8; DIMENSIONS]) {
    // SAFETY: the build's target features include AVX2.
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    return unsafe { avx2::add(sum, scale, vector) };
    // Compilers vectorise this loop like the AVX2 version, unless they optimise for size.
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
    portable::add(sum, scale, vector)
}

/// Returns the number of bits in which two codes differ.
pub(crate) fn differing(a: &[u8; CODE], b: &[u8; CODE]) -> u32 {
    // SAFETY: every processor of these architectures, or of the build's target features, has the instructions.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return unsafe { best::differing(a, b) };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    portable::differing(a, b)
}

/// A vector prepared for the comparison with sign codes. The dot product of a vector with the signs of another
/// estimates their angle better than two sign codes do: on sentence vectors it finds as much with half the candidates.
#[derive(Clone, Debug)]
pub(crate) struct KernelWeights {
    /// The components in the order in which the kernels read the bits of a code.
    places: [i8; DIMENSIONS],
    total: i32,
}

impl KernelWeights {
    /// Prepares a vector.
    pub(crate) fn of(vector: &Vector) -> Self {
        // A kernel fills a lane with two alternating bytes of the code and tests one bit of each.
        let place = |at: usize| vector.0[at / LANE * LANE + at % 2 * 8 + at % LANE / 2];
        let total = vector.0.iter().map(|&component| i32::from(component)).sum();
        Self { places: std::array::from_fn(place), total }
    }

    /// Returns the dot product of the vector with the signs of a code: 1 for a set bit, -1 for an unset one.
    pub(crate) fn dot(&self, code: &[u8; CODE]) -> i32 {
        2 * self.set(code) - self.total
    }

    /// Returns the sum of the components whose bits are set.
    fn set(&self, code: &[u8; CODE]) -> i32 {
        // SAFETY: every processor of these architectures, or of the build's target features, has the instructions.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        return unsafe { best::set(&self.places, code) };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        portable::set(&self.places, code)
    }
}

/// The bit that is tested at each place of a lane.
const BITS: [u8; LANE] = [1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128];

/// Returns a checksum that detects damage at memory speed; crc32c without its instruction would take longer than the
/// search. Each 1,024 bytes are hashed by the NH hash of UMAC (RFC 4418, 5.2.2) with fixed keys and 32-bit words. For
/// each pair of words, the key is added to each word, the results are multiplied, and the products are added. The data
/// is padded with zeros to a multiple of 16 bytes. The hashes are chained by xor and multiplication.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut sum = Sum::of(bytes.len());
    sum.add(bytes);
    sum.finish()
}

/// A [`sum`] computed incrementally.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Starts the sum of `count` bytes.
    pub(crate) fn of(count: usize) -> Self {
        Self(count as u64)
    }

    /// Adds the next bytes. Their number must be a multiple of 1,024, unless they are the last ones.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(CHUNK) {
            self.0 = (self.0 ^ pairs(chunk)).wrapping_mul(MULTIPLIER);
            self.0 ^= self.0 >> 32;
        }
    }

    /// Returns the sum.
    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

/// Returns the NH hash of at most [`CHUNK`] bytes.
fn pairs(chunk: &[u8]) -> u64 {
    let (lanes, rest) = chunk.as_chunks::<LANE>();
    let mut last = [0; LANE];
    last[..rest.len()].copy_from_slice(rest);
    let last = if rest.is_empty() { &[][..] } else { std::slice::from_ref(&last) };
    let (keys, _) = KEYS.as_chunks::<4>();
    let (keys, more) = keys.split_at(lanes.len());
    whole_pairs(lanes, keys).wrapping_add(whole_pairs(last, more))
}

fn whole_pairs(lanes: &[[u8; LANE]], keys: &[[u32; 4]]) -> u64 {
    // SAFETY: every processor of these architectures, or of the build's target features, has the instructions.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return unsafe { best::pairs(lanes, keys) };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    portable::pairs(lanes, keys)
}

#[cfg_attr(
    all(any(target_arch = "x86_64", target_arch = "aarch64"), not(test)),
    expect(dead_code, reason = "other architectures, tests and other kernels use it")
)]
mod portable {
    use super::{BITS, CODE, DIMENSIONS, FINE, LANE};

    pub(crate) fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
        a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
    }

    pub(crate) fn add(sum: &mut [f32; DIMENSIONS], scale: f32, vector: &[i8; DIMENSIONS]) {
        sum.iter_mut().zip(vector).for_each(|(sum, &value)| *sum += scale * f32::from(value));
    }

    pub(crate) fn differing(a: &[u8; CODE], b: &[u8; CODE]) -> u32 {
        let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        let words = a.iter().zip(b).map(|(a, b)| u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b));
        words.map(u64::count_ones).sum()
    }

    pub(crate) fn set(places: &[i8; DIMENSIONS], code: &[u8; CODE]) -> i32 {
        let component = |(at, &component): (usize, &i8)| {
            let byte = code[at / LANE * 2 + at % 2];
            if byte & BITS[at % LANE] != 0 { i32::from(component) } else { 0 }
        };
        places.iter().enumerate().map(component).sum()
    }

    pub(crate) fn levels(components: &[i8; DIMENSIONS], code: &[u8; FINE]) -> i32 {
        let halves = components.as_chunks::<{ DIMENSIONS / 2 }>().0.iter();
        let halves = halves.zip(code.as_chunks::<{ FINE / 2 }>().0);
        let of_half = |(components, code): (&[i8; DIMENSIONS / 2], &[u8; FINE / 2])| {
            let quarters = components.as_chunks::<{ FINE / 2 }>().0.iter().enumerate();
            let of_quarter = |(quarter, components): (usize, &[i8; FINE / 2])| -> i32 {
                let level = |byte: u8| i32::from(byte >> (2 * quarter) & 3);
                components.iter().zip(code).map(|(&it, &byte)| i32::from(it) * level(byte)).sum()
            };
            quarters.map(of_quarter).sum::<i32>()
        };
        halves.map(of_half).sum()
    }

    pub(crate) fn pairs(lanes: &[[u8; LANE]], keys: &[[u32; 4]]) -> u64 {
        let mut sum = 0u64;
        for (lane, keys) in lanes.iter().zip(keys) {
            let mut words = [0u32; 4];
            for ((word, bytes), key) in words.iter_mut().zip(lane.as_chunks::<4>().0).zip(keys) {
                *word = u32::from_le_bytes(*bytes).wrapping_add(*key);
            }
            let [a, b, c, d] = words.map(u64::from);
            sum = sum.wrapping_add(a * b).wrapping_add(c * d);
        }
        sum
    }
}

#[cfg(all(target_arch = "x86_64", any(test, not(target_feature = "avx2"))))]
mod sse2 {
    use std::arch::x86_64::*;

    use super::{BITS, CODE, DIMENSIONS, FINE, LANE};

    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; LANE]) -> __m128i {
        // SAFETY: the reference covers the 16 bytes that are read; the load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "sse2")]
    fn load_signed(bytes: &[i8; LANE]) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "sse2")]
    fn load_words(words: &[u32; 4]) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
    }

    /// Returns the sum of the four 32-bit numbers.
    #[target_feature(enable = "sse2")]
    fn total(sums: __m128i) -> i32 {
        let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
        _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums)))
    }

    #[target_feature(enable = "sse2")]
    pub(crate) fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
        let zero = _mm_setzero_si128();
        let (mut low_sums, mut high_sums) = (zero, zero);
        for (a, b) in a.as_chunks::<LANE>().0.iter().zip(b.as_chunks::<LANE>().0) {
            let (a, b) = (load_signed(a), load_signed(b));
            // A byte followed by its sign byte is the same number in 16 bits.
            let (a_sign, b_sign) = (_mm_cmpgt_epi8(zero, a), _mm_cmpgt_epi8(zero, b));
            let low = _mm_madd_epi16(_mm_unpacklo_epi8(a, a_sign), _mm_unpacklo_epi8(b, b_sign));
            let high = _mm_madd_epi16(_mm_unpackhi_epi8(a, a_sign), _mm_unpackhi_epi8(b, b_sign));
            low_sums = _mm_add_epi32(low_sums, low);
            high_sums = _mm_add_epi32(high_sums, high);
        }
        total(_mm_add_epi32(low_sums, high_sums))
    }

    /// Counts the set bits in each group of four bits.
    #[target_feature(enable = "sse2")]
    fn nibbles(bits: __m128i) -> __m128i {
        let (fives, threes) = (_mm_set1_epi8(0x55), _mm_set1_epi8(0x33));
        let pairs = _mm_sub_epi8(bits, _mm_and_si128(_mm_srli_epi64::<1>(bits), fives));
        let high = _mm_and_si128(_mm_srli_epi64::<2>(pairs), threes);
        _mm_add_epi8(_mm_and_si128(pairs, threes), high)
    }

    #[target_feature(enable = "sse2")]
    pub(crate) fn differing(a: &[u8; CODE], b: &[u8; CODE]) -> u32 {
        let (a, b) = (a.as_chunks::<LANE>().0, b.as_chunks::<LANE>().0);
        let first = nibbles(_mm_xor_si128(load(&a[0]), load(&b[0])));
        let second = nibbles(_mm_xor_si128(load(&a[1]), load(&b[1])));
        // Each group counts at most four, so a group can contain the sum of two counts.
        let both = _mm_add_epi8(first, second);
        let mask = _mm_set1_epi8(0x0f);
        let high = _mm_and_si128(_mm_srli_epi64::<4>(both), mask);
        let bytes = _mm_add_epi8(_mm_and_si128(both, mask), high);
        let sums = _mm_sad_epu8(bytes, _mm_setzero_si128());
        let high = _mm_shuffle_epi32::<0b01_00_11_10>(sums);
        _mm_cvtsi128_si32(_mm_add_epi32(sums, high)) as u32
    }

    #[target_feature(enable = "sse2")]
    pub(crate) fn set(places: &[i8; DIMENSIONS], code: &[u8; CODE]) -> i32 {
        let (zero, bits, middle) = (_mm_setzero_si128(), load(&BITS), _mm_set1_epi8(-128));
        let (mut sums, mut counts) = (zero, zero);
        for (places, bytes) in places.as_chunks::<LANE>().0.iter().zip(code.as_chunks::<2>().0) {
            let bytes = _mm_set1_epi16(i16::from_le_bytes(*bytes));
            let mask = _mm_cmpeq_epi8(_mm_and_si128(bytes, bits), bits);
            // The instruction adds only unsigned numbers, so 128 is added to each component.
            let places = _mm_xor_si128(load_signed(places), middle);
            sums = _mm_add_epi32(sums, _mm_sad_epu8(_mm_and_si128(places, mask), zero));
            counts = _mm_sub_epi8(counts, mask);
        }
        total(sums) - 128 * total(_mm_sad_epu8(counts, zero))
    }

    #[target_feature(enable = "sse2")]
    pub(crate) fn levels(components: &[i8; DIMENSIONS], code: &[u8; FINE]) -> i32 {
        let (zero, lowest) = (_mm_setzero_si128(), _mm_set1_epi8(3));
        let mut sums = zero;
        let halves = components.as_chunks::<{ DIMENSIONS / 2 }>().0.iter();
        for (components, code) in halves.zip(code.as_chunks::<{ FINE / 2 }>().0) {
            let code = code.as_chunks().0;
            let mut bytes = [load(&code[0]), load(&code[1])];
            for components in components.as_chunks::<LANE>().0.as_chunks::<2>().0 {
                for (components, bytes) in components.iter().zip(&mut bytes) {
                    let components = load_signed(components);
                    let levels = _mm_and_si128(*bytes, lowest);
                    // The shift moves bits of the neighbouring byte in, which are masked out.
                    *bytes = _mm_srli_epi16::<2>(*bytes);
                    let sign = _mm_cmpgt_epi8(zero, components);
                    let low = _mm_madd_epi16(
                        _mm_unpacklo_epi8(components, sign),
                        _mm_unpacklo_epi8(levels, zero),
                    );
                    let high = _mm_madd_epi16(
                        _mm_unpackhi_epi8(components, sign),
                        _mm_unpackhi_epi8(levels, zero),
                    );
                    sums = _mm_add_epi32(sums, _mm_add_epi32(low, high));
                }
            }
        }
        total(sums)
    }

    #[target_feature(enable = "sse2")]
    pub(crate) fn pairs(lanes: &[[u8; LANE]], keys: &[[u32; 4]]) -> u64 {
        let mut sums = _mm_setzero_si128();
        for (lane, keys) in lanes.iter().zip(keys) {
            let words = _mm_add_epi32(load(lane), load_words(keys));
            let odd = _mm_shuffle_epi32::<0b11_11_01_01>(words);
            sums = _mm_add_epi64(sums, _mm_mul_epu32(words, odd));
        }
        let high = _mm_unpackhi_epi64(sums, sums);
        _mm_cvtsi128_si64(_mm_add_epi64(sums, high)) as u64
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{BITS, CODE, DIMENSIONS, FINE, LANE};

    #[target_feature(enable = "neon")]
    fn load(bytes: &[u8; LANE]) -> uint8x16_t {
        // SAFETY: the reference covers the 16 bytes that are read; the load needs no alignment.
        unsafe { vld1q_u8(bytes.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    fn load_signed(bytes: &[i8; LANE]) -> int8x16_t {
        // SAFETY: as above.
        unsafe { vld1q_s8(bytes.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    fn load_words(words: &[u32; 4]) -> uint32x4_t {
        // SAFETY: as above.
        unsafe { vld1q_u32(words.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    pub(crate) fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
        let mut sums = vdupq_n_s32(0);
        for (a, b) in a.as_chunks::<LANE>().0.iter().zip(b.as_chunks::<LANE>().0) {
            let (a, b) = (load_signed(a), load_signed(b));
            sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
            sums = vpadalq_s16(sums, vmull_high_s8(a, b));
        }
        vaddvq_s32(sums)
    }

    #[target_feature(enable = "neon")]
    pub(crate) fn differing(a: &[u8; CODE], b: &[u8; CODE]) -> u32 {
        let (a, b) = (a.as_chunks::<LANE>().0, b.as_chunks::<LANE>().0);
        let first = vcntq_u8(veorq_u8(load(&a[0]), load(&b[0])));
        let second = vcntq_u8(veorq_u8(load(&a[1]), load(&b[1])));
        u32::from(vaddlvq_u8(vaddq_u8(first, second)))
    }

    #[target_feature(enable = "neon")]
    pub(crate) fn set(places: &[i8; DIMENSIONS], code: &[u8; CODE]) -> i32 {
        let bits = load(&BITS);
        let mut sums = vdupq_n_s16(0);
        for (places, bytes) in places.as_chunks::<LANE>().0.iter().zip(code.as_chunks::<2>().0) {
            let bytes = vreinterpretq_u8_u16(vdupq_n_u16(u16::from_le_bytes(*bytes)));
            let mask = vreinterpretq_s8_u8(vtstq_u8(bytes, bits));
            sums = vpadalq_s8(sums, vandq_s8(load_signed(places), mask));
        }
        vaddlvq_s16(sums)
    }

    #[target_feature(enable = "neon")]
    pub(crate) fn levels(components: &[i8; DIMENSIONS], code: &[u8; FINE]) -> i32 {
        let lowest = vdupq_n_u8(3);
        let mut sums = vdupq_n_s32(0);
        let halves = components.as_chunks::<{ DIMENSIONS / 2 }>().0.iter();
        for (components, code) in halves.zip(code.as_chunks::<{ FINE / 2 }>().0) {
            for (lane, bytes) in code.as_chunks::<LANE>().0.iter().enumerate() {
                let mut bytes = load(bytes);
                let lanes = components.as_chunks::<LANE>().0.iter();
                for components in lanes.skip(lane).step_by(2) {
                    let levels = vreinterpretq_s8_u8(vandq_u8(bytes, lowest));
                    bytes = vshrq_n_u8::<2>(bytes);
                    let components = load_signed(components);
                    let low = vmull_s8(vget_low_s8(components), vget_low_s8(levels));
                    let both = vmlal_high_s8(low, components, levels);
                    sums = vpadalq_s16(sums, both);
                }
            }
        }
        vaddvq_s32(sums)
    }

    #[target_feature(enable = "neon")]
    pub(crate) fn pairs(lanes: &[[u8; LANE]], keys: &[[u32; 4]]) -> u64 {
        let mut sums = vdupq_n_u64(0);
        for (lane, keys) in lanes.iter().zip(keys) {
            let words = vaddq_u32(vreinterpretq_u32_u8(load(lane)), load_words(keys));
            let words = vreinterpretq_u64_u32(words);
            sums = vmlal_u32(sums, vmovn_u64(words), vshrn_n_u64::<32>(words));
        }
        vaddvq_u64(sums)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_components() -> impl Strategy<Value = [i8; DIMENSIONS]> {
        prop::collection::vec(any::<i8>(), DIMENSIONS)
            .prop_map(|components| components.try_into().unwrap())
    }

    proptest! {
        #[test]
        fn kernels_agree_on_dot_products(a in any_components(), b in any_components()) {
            prop_assert_eq!(dot(&a, &b), portable::dot(&a, &b));
        }

        #[test]
        fn kernels_agree_on_codes(a: [u8; CODE], b: [u8; CODE]) {
            prop_assert_eq!(differing(&a, &b), portable::differing(&a, &b));
        }

        #[cfg(target_arch = "x86_64")]
        #[test]
        fn the_kernels_of_later_processors_agree(
            a in any_components(),
            b in any_components(),
            code: [u8; CODE],
            fine: [u8; FINE],
            scale in -2f32..2.0,
            lanes in prop::collection::vec(any::<[u8; LANE]>(), 0..CHUNK / LANE),
        ) {
            if is_x86_feature_detected!("avx2") {
                let keys = KEYS.as_chunks().0;
                // SAFETY: the check above found that this processor has the instructions.
                unsafe {
                    prop_assert_eq!(avx2::dot(&a, &b), portable::dot(&a, &b));
                    let mut sums = [b.map(|value| 1.3 * f32::from(value)); 2];
                    portable::add(&mut sums[0], scale, &a);
                    avx2::add(&mut sums[1], scale, &a);
                    prop_assert_eq!(sums[0], sums[1]);
                    prop_assert_eq!(avx2::set(&a, &code), portable::set(&a, &code));
                    prop_assert_eq!(avx2::levels(&a, &fine), portable::levels(&a, &fine));
                    let other = code.map(|byte| byte.wrapping_mul(7));
                    let differing = portable::differing(&code, &other);
                    prop_assert_eq!(avx2::differing(&code, &other), differing);
                    prop_assert_eq!(avx2::pairs(&lanes, keys), portable::pairs(&lanes, keys));
                }
            }
        }

        #[test]
        fn kernels_agree_on_signs(vector in any_components(), code: [u8; CODE]) {
            let weights = KernelWeights::of(&Vector(vector));
            prop_assert_eq!(weights.set(&code), portable::set(&weights.places, &code));
            let signs: i32 = (0..DIMENSIONS)
                .map(|at| match code[at / 8] >> (at % 8) & 1 {
                    1 => i32::from(vector[at]),
                    _ => -i32::from(vector[at]),
                })
                .sum();
            prop_assert_eq!(weights.dot(&code), signs);
        }

        #[test]
        fn kernels_agree_on_levels(vector in any_components(), other in any_components()) {
            let weights = FineWeights::of(&Vector(vector));
            let code = Fine::of(&Vector(other)).0;
            prop_assert_eq!(weights.levels(&code), portable::levels(&vector, &code));
            let mean = other.iter().map(|&it| f64::from(it).powi(2)).sum::<f64>() / DIMENSIONS as f64;
            let levels = other.iter().map(|&component| {
                let size = if f64::from(component).powi(2) > 0.96 * mean { 3 } else { 1 };
                if component > 0 { size } else { -size }
            });
            let product: i32 = levels.zip(vector).map(|(level, it)| level * i32::from(it)).sum();
            prop_assert_eq!(weights.dot(&code), product);
        }

        #[test]
        fn kernels_agree_on_sums(bytes in prop::collection::vec(any::<u8>(), 0..CHUNK)) {
            let mut padded = bytes.clone();
            padded.resize(bytes.len().next_multiple_of(LANE), 0);
            let expected = portable::pairs(padded.as_chunks().0, KEYS.as_chunks().0);
            prop_assert_eq!(pairs(&bytes), expected);
        }

        #[test]
        fn a_changed_byte_changes_the_sum(
            mut bytes in prop::collection::vec(any::<u8>(), 1..3 * CHUNK),
            at: prop::sample::Index,
            change in 1u8..,
        ) {
            let before = sum(&bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert_ne!(sum(&bytes), before);
        }
    }

    #[test]
    fn the_largest_products_fit() {
        for (a, b) in [(-128, -128), (-128, 127), (127, 127)] {
            let product = dot(&[a; DIMENSIONS], &[b; DIMENSIONS]);
            assert_eq!(product, i32::from(a) * i32::from(b) * DIMENSIONS as i32);
        }
        assert_eq!(differing(&[0xff; CODE], &[0; CODE]), DIMENSIONS as u32);
        for extreme in [-128, 127] {
            let weights = FineWeights::of(&Vector([extreme; DIMENSIONS]));
            assert_eq!(weights.dot(&[0xff; FINE]), 3 * i32::from(extreme) * DIMENSIONS as i32);
        }
    }

    #[test]
    fn the_sum_is_the_one_of_the_format() {
        assert_eq!(KEYS[..2], [0x7b1d_cdaf, 0xe220_a839]);
        assert_eq!(sum(b""), 0);
        assert_eq!(
            [sum(b"throughline"), sum(&[7; 2000])],
            [0x24b6_03f6_54ca_67b5, 0xdf4e_91c2_e30e_3a6f]
        );
    }

    #[test]
    fn bytes_cut_off_or_moved_change_the_sum() {
        let bytes: Vec<u8> = (0..2 * CHUNK).map(|at| (at / 7) as u8).collect();
        let mut seen = std::collections::BTreeSet::new();
        for end in 0..bytes.len() {
            assert!(seen.insert(sum(&bytes[..end])), "cut at {end}");
        }
        let (head, tail) = bytes.split_at(CHUNK);
        assert_ne!(sum(&[tail, head].concat()), sum(&bytes));
    }

    #[test]
    fn a_code_holds_the_signs() {
        let mut vector = Vector([0; DIMENSIONS]);
        (vector.0[0], vector.0[9], vector.0[255]) = (5, 1, -3);
        let code = Code::of(&vector);
        assert_eq!((code.0[0], code.0[1], code.0[31]), (1, 2, 0));
    }
}
