//! Reads files line by line. A very long line is read in pieces that overlap, so that a secret at the boundary is
//! complete in one of them.

use std::io::{self, BufRead, Read};

use memory_store::redact::OVERLAP_BYTES;

/// Maximum number of bytes that are searched together: one line, or several that belong together.
pub(super) const LINE_BYTES_MAX: u64 = 4 << 20;

/// A line with its newline, or a piece of a long line.
#[derive(Debug, Default)]
pub(super) struct LinePiece {
    /// The bytes of the line or piece.
    pub bytes: Vec<u8>,
    /// Number of bytes at the beginning that repeat the end of the previous piece.
    pub repeated: usize,
    /// Offset in the input.
    pub start: u64,
}

impl LinePiece {
    /// Reads the next line or piece into this value; `false` at the end of the input. For the first one, the value must
    /// be empty.
    pub fn next(&mut self, reader: &mut impl BufRead) -> io::Result<bool> {
        self.start += self.bytes.len() as u64;
        self.repeated = 0;
        if self.is_torn() {
            self.repeated = self.bytes.len().min(OVERLAP_BYTES);
            self.start -= self.repeated as u64;
        }
        self.bytes.drain(..self.bytes.len() - self.repeated);
        let room = LINE_BYTES_MAX - self.repeated as u64;
        Ok(reader.take(room).read_until(b'\n', &mut self.bytes)? > 0)
    }

    /// Returns whether the line may continue in the next piece.
    pub fn is_torn(&self) -> bool {
        self.bytes.last().is_some_and(|byte| *byte != b'\n')
    }

    /// Returns the bytes that the previous piece did not contain.
    pub fn news(&self) -> &[u8] {
        &self.bytes[self.repeated..]
    }
}

/// Returns the length of the beginning of a searched text that need not be searched again with the next piece: all but
/// the last lines, or all but the end of a long line.
pub(super) fn looked_at(text: &str) -> usize {
    let end = text.floor_char_boundary(text.len().saturating_sub(OVERLAP_BYTES));
    let from = text.floor_char_boundary(end.saturating_sub(OVERLAP_BYTES));
    memchr::memrchr(b'\n', &text.as_bytes()[from..end]).map_or(end, |line| from + line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_comes_in_pieces_that_overlap() {
        let long = "x".repeat(LINE_BYTES_MAX as usize) + "yz\n";
        let text = format!("one\n{long}\ntwo");
        let mut reader = text.as_bytes();
        let (mut piece, mut read, mut pieces) = (LinePiece::default(), Vec::new(), Vec::new());
        while piece.next(&mut reader).unwrap() {
            let start = usize::try_from(piece.start).unwrap();
            assert_eq!(&text.as_bytes()[start..start + piece.bytes.len()], piece.bytes);
            read.extend_from_slice(piece.news());
            pieces.push((piece.bytes.len(), piece.repeated, piece.is_torn()));
        }
        assert_eq!(read, text.as_bytes());
        let max = LINE_BYTES_MAX as usize;
        let rest = (OVERLAP_BYTES + 3, OVERLAP_BYTES, false);
        assert_eq!(pieces, [(4, 0, false), (max, 0, true), rest, (1, 0, false), (3, 0, true)]);
    }

    #[test]
    fn what_is_looked_at_again_begins_with_a_line() {
        let line = "x".repeat(99) + "\n";
        let text = line.repeat(4_000);
        let at = looked_at(&text);
        assert!(
            at.is_multiple_of(100)
                && (OVERLAP_BYTES..OVERLAP_BYTES + 200).contains(&(text.len() - at))
        );
        assert_eq!(looked_at(&"x".repeat(300_000)), 300_000 - OVERLAP_BYTES);
        assert_eq!(looked_at("short\n"), 0);
    }
}
