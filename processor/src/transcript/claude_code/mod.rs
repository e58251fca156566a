//! Claude Code's transcripts: JSONL files below `projects` in its configuration folder.

mod convert;
mod name;
mod plain;
mod prompt;
mod repair;
mod scan;
mod time;
mod tool;

use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::name::TranscriptName;
use super::record::Record;
use super::redact::Redact;
use super::source::{LineOutcome, RecordedPlace, TranscriptSource};

pub use convert::prompt_by;

/// Claude Code as a source of transcripts.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl TranscriptSource for ClaudeCode {
    fn folder(&self, configuration: &Path) -> PathBuf {
        configuration.join("projects")
    }

    fn name(&self, path: &Path) -> Option<TranscriptName> {
        name::name(path)
    }

    fn place(&self, line: &[u8]) -> Option<RecordedPlace> {
        let head = scan::place(line);
        let text = |raw: &[u8]| {
            let quoted = [b"\"", raw, b"\""].concat();
            serde_json::from_slice::<String>(&quoted).unwrap_or_default()
        };
        let place = RecordedPlace { cwd: text(head.cwd), session: text(head.session) };
        (!place.cwd.is_empty()).then_some(place)
    }

    fn time(&self, line: &[u8]) -> Option<Timestamp> {
        #[derive(Deserialize)]
        struct Line {
            timestamp: Value,
        }
        time::parse(&serde_json::from_slice::<Line>(line).ok()?.timestamp)
    }

    fn convert(&self, line: &[u8], redact: &dyn Redact, out: &mut Vec<Record>) -> LineOutcome {
        convert::convert(line, redact, out)
    }
}
