//! What the client writes, with a bound: the protocol's library keeps a message until its line ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one message. The largest that makes sense, a text to remember, has a hundredth of it.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// A reader that fails where a line does not end in time.
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
        let before = room.filled().len();
        ready!(Pin::new(&mut self.input).poll_read(context, room))?;
        let read = &room.filled()[before..];
        self.line_bytes = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => self.line_bytes + read.len(),
        };
        if self.line_bytes > MESSAGE_BYTES_MAX {
            // A read that fails has read nothing.
            room.set_filled(before);
            let mib = MESSAGE_BYTES_MAX >> 20;
            let message = format!("a message is longer than {mib} MiB");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, message)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn read(input: &[u8]) -> io::Result<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(Bounded::new(input).read_to_end(&mut Vec::new()))
    }

    #[test]
    fn a_line_without_an_end_is_not_read_to_its_end() {
        let mut lines = vec![b'x'; MESSAGE_BYTES_MAX];
        assert_eq!(read(&lines).unwrap(), lines.len());
        lines.push(b'\n');
        lines.extend_from_within(..);
        assert_eq!(read(&lines).unwrap(), lines.len());
        lines.retain(|byte| *byte != b'\n');
        let error = read(&lines).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
