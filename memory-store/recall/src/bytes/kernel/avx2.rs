//! Kernels for programs built for processors with AVX2, without run-time detection.

use std::arch::x86_64::*;

use super::{BITS, CODE, DIMENSIONS, FINE, LANE};

/// Indices of the bytes, out of four bytes of a code, that fill two lanes; see [`super::KernelWeights::of`].
const BYTES: [[u8; LANE]; 2] = [
    [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
    [2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3],
];

#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; LANE]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes that are read; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn load_signed(bytes: &[i8; LANE]) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn load_two<T>(lanes: &[[T; LANE]; 2]) -> __m256i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: the reference covers the 32 bytes that are read; the load needs no alignment.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn load_words(words: &[[u32; 4]; 2]) -> __m256i {
    // SAFETY: as above.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Returns the sum of the eight 32-bit numbers.
#[target_feature(enable = "avx2")]
fn total(sums: __m256i) -> i32 {
    let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
    _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums)))
}

#[target_feature(enable = "avx2")]
pub(crate) fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    let mut sums = _mm256_setzero_si256();
    for (a, b) in a.as_chunks::<LANE>().0.iter().zip(b.as_chunks::<LANE>().0) {
        let (a, b) = (load_signed(a), load_signed(b));
        let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(a), _mm256_cvtepi8_epi16(b));
        sums = _mm256_add_epi32(sums, products);
    }
    total(sums)
}

#[target_feature(enable = "avx2")]
pub(crate) fn add(sum: &mut [f32; DIMENSIONS], scale: f32, vector: &[i8; DIMENSIONS]) {
    let scale = _mm256_set1_ps(scale);
    for (sums, values) in sum.as_chunks_mut::<8>().0.iter_mut().zip(vector.as_chunks::<8>().0) {
        let values = _mm_cvtsi64_si128(i64::from_le_bytes(values.map(i8::cast_unsigned)));
        let values = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(values));
        // SAFETY: 8 numbers are read and written within the arrays, which need no alignment. They are multiplied and
        // added in two steps, as in the portable code.
        unsafe {
            let sum = _mm256_loadu_ps(sums.as_ptr());
            _mm256_storeu_ps(sums.as_mut_ptr(), _mm256_add_ps(sum, _mm256_mul_ps(scale, values)));
        }
    }
}

#[target_feature(enable = "avx2")]
pub(crate) fn differing(a: &[u8; CODE], b: &[u8; CODE]) -> u32 {
    super::portable::differing(a, b)
}

#[target_feature(enable = "avx2")]
pub(crate) fn set(places: &[i8; DIMENSIONS], code: &[u8; CODE]) -> i32 {
    let (zero, middle) = (_mm256_setzero_si256(), _mm256_set1_epi8(-128));
    let bits = _mm256_broadcastsi128_si256(load(&BITS));
    let bytes = load_two(&BYTES);
    let mut sums = zero;
    let lanes = places.as_chunks::<LANE>().0.as_chunks::<2>().0;
    for (places, four) in lanes.iter().zip(code.as_chunks::<4>().0) {
        let four = _mm256_shuffle_epi8(_mm256_set1_epi32(i32::from_le_bytes(*four)), bytes);
        let mask = _mm256_cmpeq_epi8(_mm256_and_si256(four, bits), bits);
        // The instruction adds only unsigned numbers, so 128 is added to each component.
        let places = _mm256_xor_si256(load_two(places), middle);
        sums = _mm256_add_epi32(sums, _mm256_sad_epu8(_mm256_and_si256(places, mask), zero));
    }
    let words = code.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    total(sums) - 128 * words.map(u64::count_ones).sum::<u32>().cast_signed()
}

#[target_feature(enable = "avx2")]
pub(crate) fn levels(components: &[i8; DIMENSIONS], code: &[u8; FINE]) -> i32 {
    let lowest = _mm256_set1_epi8(3);
    // The sums have 16 bits, because each of the eight addends is at most 2 * 3 * 128.
    let mut sums = _mm256_setzero_si256();
    let halves = components.as_chunks::<{ DIMENSIONS / 2 }>().0.iter();
    for (components, code) in halves.zip(code.as_chunks::<LANE>().0.as_chunks::<2>().0) {
        let mut bytes = load_two(code);
        for components in components.as_chunks::<LANE>().0.as_chunks::<2>().0 {
            let levels = _mm256_and_si256(bytes, lowest);
            // The shift moves bits of the neighbouring byte in, which are masked out.
            bytes = _mm256_srli_epi16::<2>(bytes);
            let products = _mm256_maddubs_epi16(levels, load_two(components));
            sums = _mm256_add_epi16(sums, products);
        }
    }
    total(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)))
}

#[target_feature(enable = "avx2")]
pub(crate) fn pairs(lanes: &[[u8; LANE]], keys: &[[u32; 4]]) -> u64 {
    let (lanes, last) = lanes.as_chunks::<2>();
    let (keys, last_keys) = keys.split_at(2 * lanes.len());
    let keys = keys.as_chunks::<2>().0;
    let mut sums = _mm256_setzero_si256();
    for (lanes, keys) in lanes.iter().zip(keys) {
        let words = _mm256_add_epi32(load_two(lanes), load_words(keys));
        let odd = _mm256_srli_epi64::<32>(words);
        sums = _mm256_add_epi64(sums, _mm256_mul_epu32(words, odd));
    }
    let sums = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let high = _mm_unpackhi_epi64(sums, sums);
    let sum = _mm_cvtsi128_si64(_mm_add_epi64(sums, high)) as u64;
    sum.wrapping_add(super::portable::pairs(last, last_keys))
}
