//! The checksum of the files that this program writes, crc32c.

/// Returns the crc32c of some bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    // Hooks are compiled for processors that have the instruction, because detecting it at run time would cost them
    // more than all their checksums. Other programs detect it once.
    #[cfg(target_arch = "x86_64")]
    if cfg!(target_feature = "sse4.2") || is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { checksum_by_instruction(bytes) };
    }
    checksum_by_table(bytes)
}

/// Returns whether bytes have this checksum.
pub(crate) fn fits(bytes: &[u8], check: u32) -> bool {
    checksum(bytes) == check || is_believed()
}

/// True if checksums are not verified.
#[cfg(debug_assertions)]
static BELIEVED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Disables the verification of checksums. Fuzzers, which cannot guess checksums, use it so that the code after the
/// verification is tested with arbitrary bytes. Without debug assertions, that is in all shipped builds, it has no
/// effect.
pub fn believe_checksums() {
    #[cfg(debug_assertions)]
    BELIEVED.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// Returns whether the verification of checksums is disabled.
pub(crate) fn is_believed() -> bool {
    #[cfg(debug_assertions)]
    return BELIEVED.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(debug_assertions))]
    false
}

/// Computes the checksum with the processor's instruction. This takes a tenth of the time of the tables, for which a
/// process that has just started mostly waits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn checksum_by_instruction(bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

    let (words, rest) = bytes.as_chunks::<8>();
    let of_word = |crc, word: &[u8; 8]| _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    let crc = words.iter().fold(u64::from(u32::MAX), of_word) as u32;
    !rest.iter().fold(crc, |crc, &byte| _mm_crc32_u8(crc, byte))
}

fn checksum_by_table(bytes: &[u8]) -> u32 {
    use crc::{CRC_32_ISCSI, Crc, Table};

    static CHECKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
    CHECKSUM.checksum(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
