//! What the client writes, with a bound: the protocol's library keeps a message until its line ends. A line that is
//! too long gets the answer of `memory_store::lines`: the rest of it is passed over, which is told, and the next
//! one is read. What came of it is no JSON, which the library passes over, too.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one message. The largest that makes sense, a text to remember, has a hundredth of it.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// A reader that passes over the rest of a line that does not end in time.
#[derive(Debug)]
pub struct Bounded<R> {
    input: R,
    /// Bytes since the last line ended.
    line_bytes: usize,
}

impl<R> Bounded<R> {
    /// The same input, bounded.
    pub const fn new(input: R) -> Self {
        Self { input, line_bytes: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let before = room.filled().len();
            ready!(Pin::new(&mut self.input).poll_read(context, room))?;
            let read = &mut room.filled_mut()[before..];
            if read.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let kept = self.keep(read);
            room.set_filled(before + kept);
            // To have read nothing would be the end.
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<R> Bounded<R> {
    /// Moves what is kept to the front; returns how much that is.
    fn keep(&mut self, read: &mut [u8]) -> usize {
        let mut kept = 0;
        for at in 0..read.len() {
            let is_end = read[at] == b'\n';
            if self.line_bytes == MESSAGE_BYTES_MAX && !is_end {
                let mib = MESSAGE_BYTES_MAX >> 20;
                eprintln!("throughline-mcp: a message is longer than {mib} MiB and is passed over");
            }
            if is_end || self.line_bytes < MESSAGE_BYTES_MAX {
                read[kept] = read[at];
                kept += 1;
            }
            self.line_bytes = if is_end { 0 } else { self.line_bytes.saturating_add(1) };
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn read(input: &[u8]) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut kept = Vec::new();
        runtime.block_on(Bounded::new(input).read_to_end(&mut kept)).unwrap();
        kept
    }

    #[test]
    fn a_line_without_an_end_is_passed_over_and_the_next_one_is_read() {
        let long = vec![b'x'; MESSAGE_BYTES_MAX];
        let longer = [long.as_slice(), b"y".repeat(100_000).as_slice()].concat();
        let lines = [longer.as_slice(), b"\nnext\n", &long, b"\n", &longer].concat();
        let kept = [long.as_slice(), b"\nnext\n", &long, b"\n", &long].concat();
        assert!(read(&lines) == kept);
    }
}
