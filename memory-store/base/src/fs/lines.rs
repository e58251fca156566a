//! Reads lines of a file or stream by other writers through a bounded buffer. A line that is too long is treated in the
//! same way everywhere: it is reported and skipped, and reading continues with the next line.

use std::fs::File;
use std::io::{self, BufRead, Read as _, Seek as _, SeekFrom};

/// One complete line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Bytes of the line, without the line feed.
    Whole(&'a [u8]),
    /// The line exceeded the limit and was skipped.
    TooLong,
}

/// Returns whether a file ends within a line, because a killed process or a full disk truncated it.
pub fn ends_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Reads lines that end in a line feed. An incomplete last line is not read, unless the file is known to be complete.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    max: usize,
    /// Number of bytes of the complete lines read so far.
    pub consumed: u64,
    /// True if the end of the file also ends its last line, for files to which nothing more is appended.
    pub is_last_whole: bool,
}

impl<R: BufRead> Lines<R> {
    /// Reads from `reader`. Lines of more than `max` bytes are skipped.
    pub fn new(reader: R, max: usize) -> Self {
        Self { reader, buffer: Vec::new(), max, consumed: 0, is_last_whole: false }
    }

    /// Returns the next complete line that is not too long; `None` if there is none.
    pub fn next_whole(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match self.next_line()? {
                None => return Ok(None),
                Some(Line::TooLong) => {}
                // The line is taken from the buffer again, because the borrow checker cannot follow a loan that is
                // returned from a loop.
                Some(Line::Whole(_)) => break,
            }
        }
        Ok(Some(&self.buffer))
    }

    /// Returns the next complete line; `None` if there is none.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let mut length = 0_u64;
        let mut too_long = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() && (length == 0 || !self.is_last_whole) {
                return Ok(None);
            }
            let is_end = chunk.is_empty();
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            too_long = too_long || self.buffer.len() + part.len() > self.max;
            if too_long {
                self.buffer = Vec::new();
            } else {
                self.buffer.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            length += taken as u64;
            self.reader.consume(taken);
            if end.is_some() || is_end {
                self.consumed += length;
                return Ok(Some(if too_long { Line::TooLong } else { Line::Whole(&self.buffer) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_skipped_and_a_half_written_one_is_left() {
        let text = b"one\n0123456789\ntwo\nhal";
        for buffer in [1, 2, 5, 100] {
            let reader = io::BufReader::with_capacity(buffer, &text[..]);
            let mut lines = Lines::new(reader, 5);
            assert_eq!(lines.next_line().unwrap(), Some(Line::Whole(b"one")));
            assert_eq!(lines.next_line().unwrap(), Some(Line::TooLong));
            assert_eq!(lines.next_line().unwrap(), Some(Line::Whole(b"two")));
            assert_eq!(lines.next_line().unwrap(), None);
            assert_eq!(lines.consumed, 19);
            let reader = io::BufReader::with_capacity(buffer, &text[..]);
            let mut lines = Lines::new(reader, 5);
            lines.is_last_whole = true;
            assert_eq!(lines.next_whole().unwrap(), Some(&b"one"[..]));
            assert_eq!(lines.next_whole().unwrap(), Some(&b"two"[..]));
            assert_eq!(lines.next_line().unwrap(), Some(Line::Whole(b"hal")));
            assert_eq!(lines.next_line().unwrap(), None);
            assert_eq!(lines.consumed, text.len() as u64);
        }
    }
}
