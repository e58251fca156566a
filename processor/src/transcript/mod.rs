//! Transcripts: the files that a client writes for each session.
//!
//! [`source::TranscriptSource`] is the interface of a client; [`claude_code`] is the only implementation. A line
//! becomes [`record::Record`]s (its useful content, redacted, one line at a time), and the records of a session are
//! assembled into a [`session::Session`]. Because a line is converted independently of its neighbours, reading a
//! transcript in slices gives the same records as reading it at once.

mod assemble;
pub mod claude_code;
mod cut;
mod memory_echo;
pub mod name;
pub mod parts;
mod queue;
pub mod read;
pub mod record;
mod redact;
pub mod session;
pub mod source;
pub mod speaker;
pub mod tasks;

use std::io::BufRead;

use memory_store::fs::lines::Lines;

pub use assemble::{Assembly, INLINE_AGENT, assemble};
pub use memory_echo::REMEMBER;
pub use read::{SessionBuilder, read_folder};
pub use redact::{FromOrigin, Redact, TextOrigin};
pub use source::{RecordedPlace, TranscriptSource};
pub use speaker::Speaker;

/// Maximum length of a line that is read, in bytes. Claude Code writes lines of 10 MB (a tool result with a file and
/// its original); longer ones contain no conversation worth the memory.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Returns the complete lines of a transcript.
pub fn lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines::new(reader, LINE_BYTES_MAX)
}

/// The source of all transcripts.
pub static SOURCE: &dyn TranscriptSource = &claude_code::ClaudeCode;

/// Tells where a line was recorded, without parsing all of it; `None` when it does not say.
pub fn place(line: &[u8]) -> Option<RecordedPlace> {
    SOURCE.place(line)
}
