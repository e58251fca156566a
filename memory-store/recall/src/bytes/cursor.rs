//! Decoding of numbers and lengths from untrusted bytes.

/// Checked reader of untrusted bytes. Every method returns `None` if too few bytes are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// Takes the next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes the next bytes as an array.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Takes one byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Takes a little-endian `u16`.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Takes a little-endian `u32`.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes a little-endian `u64`.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Takes a little-endian `i64`.
    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Takes a finite little-endian `f32`; `None` if the number is not finite.
    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes).filter(|number| number.is_finite())
    }

    /// Takes a number with 7 bits in each byte, low bits first.
    #[inline]
    pub(crate) fn varint(&mut self) -> Option<u64> {
        // Most numbers are small.
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

    /// Takes a length, and as many bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.take(count)
    }

    /// Returns whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Takes a number with 7 bits in each byte, low bits first, from the front of some bytes. Returns `None` if the number
/// does not end.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut cursor = Cursor(bytes);
    let number = cursor.varint()?;
    *bytes = cursor.0;
    Some(number)
}

/// Appends a number with 7 bits in each byte, low bits first.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the number of bytes, and then the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
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
}
