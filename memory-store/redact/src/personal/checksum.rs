//! Checksums in formats of secrets and of personal data.

use serde::Deserialize;

/// Kind of checksum in a provider's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChecksumKind {
    /// The last six characters are the CRC-32, in base 62, of the characters before them and after a prefix that ends
    /// with `_`. Not all issuers of the prefix use the checksum, so a wrong one proves nothing.
    Crc32,
    /// The checksum of BIP-173.
    Bech32,
    /// The last four bytes are the start of the double SHA-256 of the other bytes.
    Base58,
}

/// Result of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChecksumVerdict {
    /// The checksum is right, which cannot be chance.
    Right,
    /// The checksum is wrong, so the value has another format.
    Wrong,
    /// The checksum is wrong, which proves nothing.
    Unsure,
}

impl ChecksumKind {
    pub(crate) fn verify(self, secret: &[u8]) -> ChecksumVerdict {
        let sure = |right| if right { ChecksumVerdict::Right } else { ChecksumVerdict::Wrong };
        match self {
            Self::Crc32 if crc32(secret) => ChecksumVerdict::Right,
            Self::Crc32 => ChecksumVerdict::Unsure,
            Self::Bech32 => sure(bech32(secret).is_some()),
            Self::Base58 => sure(base58check(secret)),
        }
    }
}

fn crc32(secret: &[u8]) -> bool {
    const SUM_BYTES: usize = 6;
    let start = memchr::memrchr(b'_', secret).map_or(0, |at| at + 1);
    let token = &secret[start..];
    let Some(split) = token.len().checked_sub(SUM_BYTES) else { return false };
    let (payload, sum) = token.split_at(split);
    let expected = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(payload);
    base62(sum) == Some(u64::from(expected))
}

fn base62(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |sum, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'Z' => byte - b'A' + 10,
            b'a'..=b'z' => byte - b'a' + 36,
            _ => return None,
        };
        sum.checked_mul(62)?.checked_add(u64::from(digit))
    })
}

/// Returns the constant of the checksum, which is 1 for bech32 and another number for bech32m (BIP-173 and BIP-350).
/// `None` if the text has neither checksum.
pub(crate) fn bech32(text: &[u8]) -> Option<u32> {
    const ALPHABET: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const BECH32M: u32 = 0x2bc8_30a3;
    let lower = text.to_ascii_lowercase();
    if text != lower && text != text.to_ascii_uppercase() {
        return None;
    }
    let split = memchr::memrchr(b'1', &lower)?;
    let (prefix, data) = (&lower[..split], &lower[split + 1..]);
    if prefix.is_empty() || data.len() < 6 {
        return None;
    }
    let mut sum = 1u32;
    for byte in prefix {
        sum = bech32_step(sum, byte >> 5);
    }
    sum = bech32_step(sum, 0);
    for byte in prefix {
        sum = bech32_step(sum, byte & 31);
    }
    for byte in data {
        let value = memchr::memchr(*byte, ALPHABET)?;
        sum = bech32_step(sum, value as u8);
    }
    (sum == 1 || sum == BECH32M).then_some(sum)
}

fn bech32_step(sum: u32, value: u8) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let top = sum >> 25;
    let shifted = ((sum & 0x01ff_ffff) << 5) ^ u32::from(value);
    (0..5).filter(|bit| top >> bit & 1 == 1).fold(shifted, |sum, bit| sum ^ GENERATOR[bit])
}

/// Returns whether a text is base 58 with the checksum of Bitcoin addresses and keys.
pub(crate) fn base58check(text: &[u8]) -> bool {
    const ALPHABET: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    const TEXT_BYTES_MAX: usize = 128;
    const SUM_BYTES: usize = 4;
    if text.len() > TEXT_BYTES_MAX {
        return false;
    }
    // The digits in base 256, least significant first.
    let mut bytes: Vec<u8> = Vec::new();
    for byte in text {
        let Some(digit) = memchr::memchr(*byte, ALPHABET) else { return false };
        let mut carry = digit as u32;
        for place in &mut bytes {
            carry += u32::from(*place) * 58;
            *place = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry as u8);
            carry >>= 8;
        }
    }
    bytes.extend(text.iter().take_while(|byte| **byte == b'1').map(|_| 0));
    bytes.reverse();
    let Some(split) = bytes.len().checked_sub(SUM_BYTES) else { return false };
    let (payload, sum) = bytes.split_at(split);
    payload.len() >= 20 && sha256(&sha256(payload))[..SUM_BYTES] == *sum
}

/// SHA-256 (FIPS 180-4). Implemented here because a few hundred bytes a day do not justify a
/// dependency.
fn sha256(message: &[u8]) -> [u8; 32] {
    let constants = sha256_constants();
    let mut state: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - message.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len();
    padded[end - 8..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        sha256_block(&mut state, block, &constants);
    }
    let mut digest = [0; 32];
    for (place, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *place = word.to_be_bytes();
    }
    digest
}

fn sha256_block(state: &mut [u32; 8], block: &[u8; 64], constants: &[u32; 64]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let first = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let second = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[at] =
            words[at - 16].wrapping_add(first).wrapping_add(words[at - 7]).wrapping_add(second);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(constants) {
        let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first =
            h.wrapping_add(high).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = low.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) =
            (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    for (place, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *place = place.wrapping_add(value);
    }
}

/// Returns the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
fn sha256_constants() -> [u32; 64] {
    let mut primes = (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d > 0));
    std::array::from_fn(|_| primes.next().map_or(0, cube_root_fraction))
}

/// Returns the first 32 bits of the fractional part of a cube root, without floats.
fn cube_root_fraction(number: u64) -> u32 {
    let target = u128::from(number) << 96;
    let mut root = 0u128;
    for bit in (0..36).rev() {
        let next = root | 1 << bit;
        if next * next * next <= target {
            root = next;
        }
    }
    root as u32
}

/// Returns whether digits satisfy the Luhn formula (ISO/IEC 7812-1).
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(digit - b'0')) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => 2 * digit - 9,
            (_, digit) => 2 * digit,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Returns whether letters and digits have the checksum of an IBAN (ISO 13616, ISO 7064 MOD 97-10).
pub(crate) fn iban(text: &[u8]) -> bool {
    let Some((head, rest)) = text.split_at_checked(4) else { return false };
    let mut remainder = 0u32;
    for byte in rest.iter().chain(head) {
        remainder = match byte {
            b'0'..=b'9' => remainder * 10 + u32::from(byte - b'0'),
            b'A'..=b'Z' => remainder * 100 + u32::from(byte - b'A') + 10,
            b'a'..=b'z' => remainder * 100 + u32::from(byte - b'a') + 10,
            _ => return false,
        } % 97;
    }
    remainder == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_is_that_of_the_standard() {
        let hex = |digest: [u8; 32]| digest.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(
            hex(sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(sha256(b"")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        // The padding of this message needs an additional block.
        assert_eq!(
            hex(sha256(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }

    #[test]
    fn sums_are_right_or_wrong() {
        assert!(luhn(b"79927398713") && !luhn(b"79927398710"));
        assert!(iban(b"GB82WEST12345698765432") && !iban(b"GB83WEST12345698765432"));
        assert!(!iban(b"") && !iban(b"GB8"));
        // The examples of BIP-173 and BIP-350.
        assert_eq!(bech32(b"A12UEL5L"), Some(1));
        assert_eq!(bech32(b"a1lqfn3a"), Some(0x2bc8_30a3));
        assert_eq!(bech32(b"A12uel5l"), None);
        assert_eq!(bech32(b"a12uel5k"), None);
        // The address of the genesis block.
        assert!(base58check(b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"));
        assert!(!base58check(b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"));
    }
}
