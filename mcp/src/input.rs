//! Reads messages. The protocol's library passes over a message that is too long without a word, and a client
//! that waits for its answer would never learn why none comes.

use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// A reader that says when a line gets longer than it may be, once for each.
pub struct Watched<R> {
    inner: R,
    bytes_max: usize,
    tell: fn(&str),
    /// Bytes of the line so far.
    bytes: usize,
}

impl<R> Watched<R> {
    /// Watches what `inner` reads, and tells of a line with more than `bytes_max` bytes, its end included.
    pub fn new(inner: R, bytes_max: usize, tell: fn(&str)) -> Self {
        Self { inner, bytes_max, tell, bytes: 0 }
    }

    fn look_at(&mut self, read: &[u8]) {
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            let before = self.bytes;
            self.bytes = before.saturating_add(piece.len());
            if before <= self.bytes_max && self.bytes > self.bytes_max {
                let mib = self.bytes_max >> 20;
                (self.tell)(&format!("a message of more than {mib} MiB is passed over"));
            }
            if piece.ends_with(b"\n") {
                self.bytes = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.look_at(&buffer.filled()[before..]);
        }
        read
    }
}
