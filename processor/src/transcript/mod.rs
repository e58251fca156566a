//! Transcripts: the JSONL files that Claude Code writes for each session.
//!
//! A line becomes [`record::Record`]s (what is worth keeping of it, redacted, one line at a time),
//! and the records of a session are assembled into a [`session::Session`]. Because a line is
//! converted without looking at its neighbours, reading a transcript in slices gives the same
//! records as reading it at once.

mod assemble;
mod convert;
mod cut;
pub mod name;
pub mod parts;
mod prompt;
mod queue;
pub mod read;
pub mod record;
mod scan;
pub mod session;
mod surrogate;
pub mod tasks;
mod tool;

use std::io::BufRead;

use memory_store::fs::lines::Lines;

pub use assemble::{Assembly, INLINE_AGENT, assemble};
pub use read::{Redact, SessionBuilder, read_folder};

/// The longest line that is kept, in bytes. Claude Code writes lines of 10 MB (a tool result with
/// a file and its original); what is longer holds no conversation worth the memory.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// The complete lines of a transcript.
pub fn lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines::new(reader, LINE_BYTES_MAX)
}

/// Where a line was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The working directory.
    pub cwd: String,
    /// The session.
    pub session: String,
}

/// Tells where a line was recorded, without parsing all of it; `None` when it does not say.
pub fn place(line: &[u8]) -> Option<Place> {
    let head = scan::scan(line);
    let text = |raw: &[u8]| {
        let quoted = [b"\"", raw, b"\""].concat();
        serde_json::from_slice::<String>(&quoted).unwrap_or_default()
    };
    let place = Place { cwd: text(head.cwd), session: text(head.session) };
    (!place.cwd.is_empty()).then_some(place)
}
