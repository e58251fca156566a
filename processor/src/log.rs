//! The log of background runs, because no user can see their errors. Each line contains the time, the kind and the
//! redacted text.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use memory_store::Timestamp;
use memory_store::fs::disk::private_options;
use memory_store::layout::TreeDir;
use memory_store::redact::Redactor;

use crate::private_files::create_private;

/// Size in bytes above which a log is renamed and a new one is started.
const LOG_BYTES_MAX: u64 = 256 << 10;
/// Maximum size of one text in bytes.
const TEXT_BYTES_MAX: usize = 300;
/// Maximum number of warnings of one run in the log.
const WARNINGS_MAX: usize = 20;
/// Number of bytes of a log's end that are searched for the last warning.
const END_BYTES_MAX: u64 = 16 << 10;

/// Severity of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// An error after which the run continued.
    Warning,
    /// The run failed.
    Failure,
}

impl LineKind {
    fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Time of the line.
    pub at: Timestamp,
    /// The text after time and kind.
    pub text: String,
}

/// Appends texts to the log of a working tree, redacted by `redactor`.
pub fn append(
    state: &TreeDir,
    what: LineKind,
    texts: &[String],
    redactor: &Redactor,
    now: Timestamp,
) -> io::Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let lines: String = texts
        .iter()
        .take(WARNINGS_MAX)
        .map(|text| format!("{now} {}: {}\n", what.name(), line(text, redactor)))
        .collect();
    let path = &state.log;
    if let Some(folder) = path.parent() {
        create_private(folder).map_err(io::Error::other)?;
    }
    let mut log = private_options().append(true).create(true).open(path)?;
    log.write_all(lines.as_bytes())?;
    rotate(path)
}

/// Renames a full log.
pub fn rotate(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(log) if log.len() > LOG_BYTES_MAX => fs::rename(path, path.with_extension("log.old")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the last warning in the log of a working tree; `None` if there is none, or it is older than `oldest`.
pub fn last_warning(state: &TreeDir, oldest: Timestamp) -> Option<LogLine> {
    let mut log = File::open(&state.log).ok()?;
    let length = log.metadata().ok()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(END_BYTES_MAX))).ok()?;
    let mut end = Vec::new();
    log.take(END_BYTES_MAX).read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    let warning = |line: &str| {
        let (at, rest) = line.split_once(' ')?;
        let text = rest.strip_prefix(LineKind::Warning.name())?.strip_prefix(": ")?;
        Some(LogLine { at: Timestamp::parse(at)?, text: text.to_owned() })
    };
    end.lines().rev().find_map(warning).filter(|warning| warning.at >= oldest)
}

/// Returns a text as one line, redacted by `redactor` and truncated.
pub fn line(text: &str, redactor: &Redactor) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = redactor.redact(&text).into_owned();
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_kept_short_without_secrets_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = TreeDir::at(folder.path().join("tree"));
        let at = |text| Timestamp::parse(text).unwrap();
        let none = Redactor::default();
        let (first, second) = (at("2026-11-20T09:00:00Z"), at("2026-11-21T09:00:00Z"));
        assert_eq!(last_warning(&state, first), None);
        append(&state, LineKind::Warning, &["one".into(), "two\nlines".into()], &none, first)
            .unwrap();
        append(&state, LineKind::Failure, &["all of it".into()], &none, second).unwrap();
        let last = LogLine { at: first, text: "two lines".into() };
        assert_eq!(last_warning(&state, first), Some(last));
        assert_eq!(last_warning(&state, second), None);
        let secret = format!("token ghp_{} {}", "a1B2c3D4e5F6".repeat(3), "long ".repeat(200));
        append(&state, LineKind::Warning, &[secret], &none, second).unwrap();
        let last = last_warning(&state, first).unwrap();
        assert!(last.text.len() <= TEXT_BYTES_MAX && !last.text.contains("a1B2"), "{}", last.text);
    }

    #[test]
    fn a_full_log_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let state = TreeDir::at(folder.path().to_owned());
        let many = vec!["x".repeat(TEXT_BYTES_MAX); WARNINGS_MAX + 5];
        for _ in 0..100 {
            append(&state, LineKind::Warning, &many, &Redactor::default(), Timestamp(0)).unwrap();
        }
        let most = LOG_BYTES_MAX + (WARNINGS_MAX * (TEXT_BYTES_MAX + 64)) as u64;
        for log in [state.log.clone(), state.log.with_extension("log.old")] {
            assert!(fs::metadata(&log).unwrap().len() <= most);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
