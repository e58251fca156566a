//! Claude Code's transcripts: JSONL files below `projects` in its configuration folder.

mod convert;
mod name;
mod prompt;
mod scan;
mod surrogate;
mod tool;

use std::path::{Path, PathBuf};

use memory_store::layout::UserDirs;

use super::name::TranscriptName;
use super::read::Redact;
use super::record::Record;
use super::source::{LineOutcome, Place, TranscriptSource};

/// Claude Code as a source of transcripts.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl TranscriptSource for ClaudeCode {
    fn folder(&self, dirs: &UserDirs) -> PathBuf {
        dirs.claude.join("projects")
    }

    fn name(&self, path: &Path) -> Option<TranscriptName> {
        name::name(path)
    }

    fn mark(&self, root: &Path) -> Option<Vec<u8>> {
        let text = serde_json::to_string(root.to_str()?).ok()?;
        Some(format!("\"cwd\":{}", text.strip_suffix('"')?).into_bytes())
    }

    fn place(&self, line: &[u8]) -> Option<Place> {
        let head = scan::scan(line);
        let text = |raw: &[u8]| {
            let quoted = [b"\"", raw, b"\""].concat();
            serde_json::from_slice::<String>(&quoted).unwrap_or_default()
        };
        let place = Place { cwd: text(head.cwd), session: text(head.session) };
        (!place.cwd.is_empty()).then_some(place)
    }

    fn convert(&self, line: &[u8], redact: &dyn Redact, out: &mut Vec<Record>) -> LineOutcome {
        convert::convert(line, redact, out)
    }
}
