//! Transcripts: the files that a client writes for each session.
//!
//! [`source::TranscriptSource`] is the interface of a client; [`claude_code`] is the only implementation. Each line is
//! converted to [`record::Record`]s with its useful content, redacted, and the records of a session are assembled into
//! a [`session::Session`]. Because lines are converted independently of each other, reading a transcript in portions
//! results in the same records as reading it at once.

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
/// Maximum length in bytes of a line that is read. Claude Code writes lines of 10 MB (a tool result with a file and its
/// original). Longer lines contain no conversation that justifies the memory.
/// its original); longer ones contain no conversation worth the memory.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Returns the complete lines of a transcript.
pub fn lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines::new(reader, LINE_BYTES_MAX)
}

/// The source of all transcripts.
pub static SOURCE: &dyn TranscriptSource = &claude_code::ClaudeCode;
/// Returns the working directory and session of a line without parsing the whole line; `None` if the line does not
/// contain them.
/// Tells where a line was recorded, without parsing all of it; `None` when it does not say.
pub fn place(line: &[u8]) -> Option<RecordedPlace> {
    SOURCE.place(line)
}
