//! Sources of transcripts: the seam between the files of one client and everything that reads records.

use std::path::{Path, PathBuf};

use memory_store::Timestamp;

use super::name::TranscriptName;
use super::record::Record;
use super::redact::Redact;

/// A client whose sessions are read. It handles files and lines of that client; records are independent of clients.
/// Words and folders of Claude Code also occur in `extract/words.rs`, `memory_echo.rs` and `publish/claude_md.rs`.
pub trait TranscriptSource: Sync {
    /// Returns the folder below which the client writes the transcripts of all projects, in one of its configuration
    /// folders.
    fn folder(&self, configuration: &Path) -> PathBuf;

    /// Parses the session and the subagent from the path of a transcript; `None` for other files.
    fn name(&self, path: &Path) -> Option<TranscriptName>;

    /// Tells where a line was recorded, without parsing all of it; `None` when it does not say.
    fn place(&self, line: &[u8]) -> Option<RecordedPlace>;

    /// Returns the time when a line was recorded; `None` if it has none.
    fn time(&self, line: &[u8]) -> Option<Timestamp>;

    /// Adds the stored records of a line to `out`, redacted. It depends only on the line, so that slices of a
    /// transcript give the records of the whole.
    fn convert(&self, line: &[u8], redact: &dyn Redact, out: &mut Vec<Record>) -> LineOutcome;
}

/// Place where a line was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPlace {
    /// The working directory.
    pub cwd: String,
    /// The session.
    pub session: String,
}

/// Outcome of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// Its objects were read.
    Read,
    /// It is damaged; the readable part was read.
    Damaged,
}
