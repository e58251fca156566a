//! Products of int8 weights and 13-bit activations, summed as 32-bit integers. The sums are exact, so every code path
//! returns the same ones. These products take most of the transformer's time.

/// Number of output channels of a panel of weights.
pub(crate) const PANEL: usize = 16;

/// Maximum number of rows of activations that are multiplied at once.
pub(crate) const TILE: usize = 6;

/// Largest activation after quantisation. With this value, a sum of 1,536 products with 127 is below 2^31.
pub(crate) const ACTIVATION_MAX: f32 = 4095.0;

/// Instruction set of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Works on every processor.
    Portable,
    /// AVX2 on x86-64.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 on x86-64, with the dot products of VNNI.
    #[cfg(target_arch = "x86_64")]
    Vnni,
    /// NEON on 64-bit ARM.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Path {
    /// Returns the code paths that this processor supports, from the slowest to the fastest.
    pub fn available() -> Vec<Self> {
        let mut paths = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            paths.push(Self::Avx2);
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
                paths.push(Self::Vnni);
            }
        }
        #[cfg(target_arch = "aarch64")]
        paths.push(Self::Neon);
        paths
    }

    /// Returns the fastest code path that this processor supports.
    pub(crate) fn fastest() -> Self {
        Self::available().pop().unwrap_or(Self::Portable)
    }
}

/// Implementation of the multiplication for one instruction set.
pub(crate) trait Kernel {
    /// Multiplies `R` rows of activations by a panel of weights. Returns the sums for each row and channel.
    ///
    /// A word of activations contains two neighbouring values of a row as `i16`, the first in the low half. The words
    /// of all rows for the same pair are adjacent, so a loop follows two pointers without bounds checks. For each pair,
    /// a panel contains 32 bytes: two weights for each of its [`PANEL`] channels.
    fn tile<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R];
}

/// Kernel of [`Path::Portable`].
pub(crate) struct Portable;

impl Kernel for Portable {
    #[inline(always)]
    fn tile<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
        let mut sums = [[0i32; PANEL]; R];
        for (words, weights) in pairs.iter().zip(panel.as_chunks::<{ 2 * PANEL }>().0) {
            for (sums, word) in sums.iter_mut().zip(words) {
                let (a, b) = (*word as i16, (word >> 16) as i16);
                for channel in 0..PANEL {
                    let (v, w) = (weights[2 * channel] as i8, weights[2 * channel + 1] as i8);
                    sums[channel] += i32::from(a) * i32::from(v) + i32::from(b) * i32::from(w);
                }
            }
        }
        sums
    }
}

/// Kernel of [`Path::Avx2`], which is used only if [`Path::available`] detected AVX2.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Kernel for Avx2 {
    #[inline(always)]
    fn tile<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
        // SAFETY: this kernel is only chosen on a processor with AVX2.
        unsafe { tile_avx2(panel, pairs) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepi8_epi16,
        _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
    };

    let mut sums = [[_mm256_setzero_si256(); 2]; R];
    for (words, weights) in pairs.iter().zip(panel.as_chunks::<{ 2 * PANEL }>().0) {
        let start: *const __m128i = weights.as_ptr().cast();
        // SAFETY: the array has 32 bytes, which are two loads of 16 bytes. The loads need no alignment.
        let halves = unsafe { [_mm_loadu_si128(start), _mm_loadu_si128(start.add(1))] };
        let halves = [_mm256_cvtepi8_epi16(halves[0]), _mm256_cvtepi8_epi16(halves[1])];
        for r in 0..R {
            let both = _mm256_set1_epi32(words[r].cast_signed());
            sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(halves[0], both));
            sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(halves[1], both));
        }
    }
    let mut out = [[0i32; PANEL]; R];
    for (out, sums) in out.iter_mut().zip(sums) {
        let start: *mut __m256i = out.as_mut_ptr().cast();
        // SAFETY: the array has 64 bytes, which are two stores of 32 bytes. The stores need no alignment.
        unsafe {
            _mm256_storeu_si256(start, sums[0]);
            _mm256_storeu_si256(start.add(1), sums[1]);
        }
    }
    out
}

/// Kernel of [`Path::Vnni`], which is used only if [`Path::available`] detected AVX-512 with VNNI.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Vnni;

#[cfg(target_arch = "x86_64")]
impl Kernel for Vnni {
    #[inline(always)]
    fn tile<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
        // SAFETY: this kernel is only chosen on a processor with both features.
        unsafe { tile_vnni(panel, pairs) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vnni")]
fn tile_vnni<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
    use std::arch::x86_64::{
        _mm256_loadu_si256, _mm512_add_epi32, _mm512_cvtepi8_epi16, _mm512_dpwssd_epi32,
        _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
    };

    let mut even = [_mm512_setzero_si512(); R];
    let mut odd = even;
    let add = |sums: &mut [_; R], words: &[u32; R], weights: &[u8; 2 * PANEL]| {
        // SAFETY: the array has the 32 bytes that are read; the load needs no alignment.
        let weights = unsafe { _mm256_loadu_si256(weights.as_ptr().cast()) };
        let weights = _mm512_cvtepi8_epi16(weights);
        for r in 0..R {
            let both = _mm512_set1_epi32(words[r].cast_signed());
            sums[r] = _mm512_dpwssd_epi32(sums[r], weights, both);
        }
    };
    let weights = panel.as_chunks::<{ 2 * PANEL }>().0;
    let (twos, last) = pairs.as_chunks::<2>();
    // A sum depends on the previous one for some cycles, so pairs with even and odd numbers have separate sums.
    for (words, weights) in twos.iter().zip(weights.as_chunks::<2>().0) {
        add(&mut even, &words[0], &weights[0]);
        add(&mut odd, &words[1], &weights[1]);
    }
    if let ([words], Some(weights)) = (last, weights.get(pairs.len() - 1)) {
        add(&mut even, words, weights);
    }
    let mut out = [[0i32; PANEL]; R];
    for (out, (even, odd)) in out.iter_mut().zip(even.into_iter().zip(odd)) {
        // SAFETY: the array has the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_add_epi32(even, odd)) };
    }
    out
}

/// Kernel of [`Path::Neon`].
#[cfg(target_arch = "aarch64")]
pub(crate) struct Neon;

#[cfg(target_arch = "aarch64")]
impl Kernel for Neon {
    #[inline(always)]
    fn tile<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
        // SAFETY: every 64-bit ARM processor supported by Rust's targets has NEON.
        unsafe { tile_neon(panel, pairs) }
    }
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn tile_neon<const R: usize>(panel: &[u8], pairs: &[[u32; R]]) -> [[i32; PANEL]; R] {
    use std::arch::aarch64::{
        vdupq_n_s32, vget_high_s8, vget_high_s16, vget_low_s8, vget_low_s16, vld2q_s8, vmlal_n_s16,
        vmovl_s8, vst1q_s32,
    };

    let mut sums = [[vdupq_n_s32(0); 4]; R];
    for (words, weights) in pairs.iter().zip(panel.as_chunks::<{ 2 * PANEL }>().0) {
        // SAFETY: the array has the 32 bytes that are read. The first weights of all channels are loaded into one
        // register, the second ones into another.
        let apart = unsafe { vld2q_s8(weights.as_ptr().cast()) };
        let [first, second] = [apart.0, apart.1]
            .map(|both| [vmovl_s8(vget_low_s8(both)), vmovl_s8(vget_high_s8(both))]);
        for r in 0..R {
            let (a, b) = (words[r] as i16, (words[r] >> 16) as i16);
            for half in 0..2 {
                let sum = &mut sums[r][2 * half];
                *sum = vmlal_n_s16(*sum, vget_low_s16(first[half]), a);
                *sum = vmlal_n_s16(*sum, vget_low_s16(second[half]), b);
                let sum = &mut sums[r][2 * half + 1];
                *sum = vmlal_n_s16(*sum, vget_high_s16(first[half]), a);
                *sum = vmlal_n_s16(*sum, vget_high_s16(second[half]), b);
            }
        }
    }
    let mut out = [[0i32; PANEL]; R];
    for (out, sums) in out.iter_mut().zip(sums) {
        for (four, sums) in out.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
            // SAFETY: the array has the 16 bytes that are written.
            unsafe { vst1q_s32(four.as_mut_ptr(), sums) };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile<const R: usize>(path: Path, panel: &[u8], rows: [&[u32]; R]) -> [[i32; PANEL]; R] {
        let pairs: Vec<[u32; R]> =
            (0..rows[0].len()).map(|pair| rows.map(|row| row[pair])).collect();
        match path {
            Path::Portable => Portable::tile(panel, &pairs),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => Avx2::tile(panel, &pairs),
            #[cfg(target_arch = "x86_64")]
            Path::Vnni => Vnni::tile(panel, &pairs),
            #[cfg(target_arch = "aarch64")]
            Path::Neon => Neon::tile(panel, &pairs),
        }
    }

    #[test]
    fn every_path_adds_up_the_same() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        const PAIRS: usize = 37;
        let panel: Vec<u8> = (0..PAIRS * 2 * PANEL).map(|_| next() as u8).collect();
        let activation = |n: u32| (n % 8191) as i16 - 4095;
        let values: Vec<[i16; 2]> =
            (0..3 * PAIRS).map(|_| [activation(next()), activation(next())]).collect();
        let words: Vec<u32> =
            values.iter().map(|[a, b]| u32::from(*a as u16) | u32::from(*b as u16) << 16).collect();
        let mut expected = [[0i32; PANEL]; 3];
        for (row, sums) in expected.iter_mut().enumerate() {
            for (channel, sum) in sums.iter_mut().enumerate() {
                for pair in 0..PAIRS {
                    for half in 0..2 {
                        let weight = panel[pair * 2 * PANEL + 2 * channel + half] as i8;
                        *sum += i32::from(weight) * i32::from(values[row * PAIRS + pair][half]);
                    }
                }
            }
        }
        let rows = [&words[..PAIRS], &words[PAIRS..2 * PAIRS], &words[2 * PAIRS..]];
        for path in Path::available() {
            assert_eq!(tile(path, &panel, rows), expected, "{path:?}");
            assert_eq!(tile(path, &panel, [rows[1]]), [expected[1]], "{path:?}");
        }
    }
}
