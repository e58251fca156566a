//! Transcripts: the files that a client writes for each session.
//!
//! [`source::TranscriptSource`] is the interface of a client; [`claude_code`] is the only implementation. Each line is
//! converted to redacted [`record::Record`]s with its useful content. The records of a session are assembled into a
//! [`session::Session`]. Lines are converted independently of each other, so reading a transcript in portions results
//! in the same records as reading it as a whole.

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
/// Maximum length in bytes of a line. Claude Code writes lines of 10 MB, for a tool result that contains a file and its
/// original. Longer lines are skipped, because they contain no conversation.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Returns the complete lines of a transcript.
pub fn lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines::new(reader, LINE_BYTES_MAX)
}

/// The source of all transcripts.
pub static SOURCE: &dyn TranscriptSource = &claude_code::ClaudeCode;
/// Returns the working directory and the session of a line, without parsing the whole line; `None` if the line does not
/// contain them.
pub fn place(line: &[u8]) -> Option<RecordedPlace> {
    SOURCE.place(line)
}
