//! Lines of a file or stream by other writers, one at a time, through a bounded buffer. A line that is too long is
//! handled in the same way everywhere: the rest of it is skipped, which is reported, and the next one is read.

use std::fs::File;
use std::io::{self, BufRead, Read as _, Seek as _, SeekFrom};

/// One complete line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes, without the line feed.
    Whole(&'a [u8]),
    /// It exceeded the limit and is skipped.
    TooLong,
}

/// Returns whether a file ends within a line: a killed process, or a full disk, truncated it.
pub fn ends_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Reads lines that end in a line feed; an incomplete last one is left for the next time, unless the file is complete.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    max: usize,
    /// Bytes of the complete lines read so far.
    pub consumed: u64,
    /// True if the end of the file counts as the end of its last line, for files that are no longer appended to.
    pub is_last_whole: bool,
}

impl<R: BufRead> Lines<R> {
    /// Reads from `reader`, keeping lines of at most `max` bytes.
    pub fn new(reader: R, max: usize) -> Self {
        Self { reader, buffer: Vec::new(), max, consumed: 0, is_last_whole: false }
    }

    /// Returns the next complete line that is not too long.
    pub fn next_whole(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match self.next_line()? {
                None => return Ok(None),
                Some(Line::TooLong) => {}
                // Taken from the buffer again: the borrow checker does not follow a returned loan
                // through a loop.
                Some(Line::Whole(_)) => break,
            }
        }
        Ok(Some(&self.buffer))
    }

    /// Returns the next complete line; `None` if there is no further one.
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
