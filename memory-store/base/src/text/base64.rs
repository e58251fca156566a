//! Base 64 decoding for both alphabets (RFC 4648).

/// Returns the bytes of a run of base 64 digits without padding; `None` in place of a byte that is not a digit. The
/// bits of an incomplete last byte are dropped.
pub fn bytes(digits: &[u8]) -> impl Iterator<Item = Option<u8>> {
    let (mut bits, mut held) = (0u32, 0);
    digits.iter().filter_map(move |&byte| {
        let Some(digit) = digit(byte) else { return Some(None) };
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held < 8 {
            return None;
        }
        held -= 8;
        Some(Some((bits >> held & 0xff) as u8))
    })
}

const fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard_are_read() {
        let read = |digits: &str| bytes(digits.as_bytes()).collect::<Option<Vec<u8>>>();
        for (digits, text) in
            [("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(read(digits).as_deref(), Some(text.as_bytes()), "{digits}");
        }
        assert_eq!((read("--__"), read("++//")), (read("++//"), Some(vec![0xfb, 0xef, 0xff])));
        assert_eq!(read("Zm 9v"), None);
    }
}
