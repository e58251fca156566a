//! Interface between the files of a client and all code that reads records.

use std::path::{Path, PathBuf};

use memory_store::Timestamp;

use super::name::TranscriptName;
use super::record::Record;
use super::redact::Redact;

/// A client whose sessions are read. An implementation processes the client's files and lines; records are independent
/// of clients. Words and folders of Claude Code also occur in `extract/words.rs`, `memory_echo.rs` and
/// `publish/claude_md.rs`.
pub trait TranscriptSource: Sync {
    /// Returns the folder, in one of the client's configuration folders, that contains the transcripts of all projects.
    fn folder(&self, configuration: &Path) -> PathBuf;

    /// Parses the session and the subagent from the path of a transcript; `None` for other files.
    fn name(&self, path: &Path) -> Option<TranscriptName>;

    /// Returns the working directory and the session of a line, without parsing the whole line; `None` if the line does
    /// not contain them.
    fn place(&self, line: &[u8]) -> Option<RecordedPlace>;

    /// Returns the time of a line; `None` if it has none.
    fn time(&self, line: &[u8]) -> Option<Timestamp>;

    /// Adds the redacted records of a line to `out`. The result depends only on the line, so reading a transcript in
    /// portions results in the same records as reading it as a whole.
    fn convert(&self, line: &[u8], redact: &dyn Redact, out: &mut Vec<Record>) -> LineOutcome;
}

/// Place in which a line was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPlace {
    /// The working directory.
    pub cwd: String,
    /// Id of the session.
    pub session: String,
}

/// Outcome of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// All objects of the line were read.
    Read,
    /// The line is damaged. Its readable part was read.
    Damaged,
}
