//! Reports invalid lines of input. The MCP library silently skips a line that is too long or not JSON, so that a client
//! would wait for an answer forever.

use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::UnboundedSender;

/// Maximum size of the buffer that is kept for the next line, in bytes.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Byte order mark, which some programs write before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reason why a line is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFault {
    /// The line is longer than a message may be.
    TooLong,
    /// The line is not valid JSON.
    Unparsable,
}

/// A reader that reports each invalid line.
pub struct WatchedInput<R> {
    inner: R,
    bytes_max: usize,
    faults: UnboundedSender<InputFault>,
    /// The part of the current line that was read, unless the line is too long.
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R> WatchedInput<R> {
    /// Watches the input that `inner` reads. A line may have `bytes_max` bytes, including its end.
    pub fn new(inner: R, bytes_max: usize, faults: UnboundedSender<InputFault>) -> Self {
        Self { inner, bytes_max, faults, line: Vec::new(), is_too_long: false }
    }

    fn scan(&mut self, read: &[u8]) {
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            if !self.is_too_long && self.line.len() + piece.len() > self.bytes_max {
                self.is_too_long = true;
                self.line.clear();
                self.report(InputFault::TooLong);
            }
            if !self.is_too_long {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                if !self.is_too_long && !is_json(&self.line) {
                    self.report(InputFault::Unparsable);
                }
                self.is_too_long = false;
                self.line.clear();
                self.line.shrink_to(KEPT_BYTES_MAX);
            }
        }
    }

    fn report(&self, fault: InputFault) {
        // If the receiver no longer exists, the fault is not reported.
        let _ = self.faults.send(fault);
    }
}

/// Returns whether a line is JSON, or empty.
fn is_json(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let line = line.trim_matches([' ', '\t', '\r', '\n']);
    // The line is parsed as a value, since a parser that ignores values would accept lone surrogates and numbers of any
    // size.
    line.is_empty() || serde_json::from_str::<serde_json::Value>(line).is_ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for WatchedInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.scan(&buffer.filled()[before..]);
        }
        read
    }
}
