//! Searches secrets in files that the program wrote. Reports file, line and rule, but never the secret.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memory_store::file::parts;
use memory_store::redact::Redactor;
use memory_store::redact::texts::FileTexts;
use serde::Serialize;

use super::files::{self, FILE_BYTES_MAX};
use super::pieces::{LINE_BYTES_MAX, LinePiece, looked_at};

/// Maximum number of secrets that are reported.
const FOUND_MAX: usize = 1_000;

/// A secret in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FoundSecret {
    /// Path of the file.
    pub path: PathBuf,
    /// Number of the line, counted from 1.
    pub line: usize,
    /// The rule that matched.
    pub rule: &'static str,
}

/// Result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AuditReport {
    /// Number of files that were searched.
    pub files: usize,
    /// Secrets in files, after cleaning if requested.
    pub found: Vec<FoundSecret>,
    /// Number of files that were cleaned.
    pub cleaned: usize,
    /// Number of cleaned memory files in a committed folder.
    #[serde(skip)]
    pub committed: usize,
    /// A person's memory files that contain secrets. They are unchanged until that person decides.
    #[serde(skip)]
    pub kept: BTreeSet<PathBuf>,
    /// Files that could not be searched or cleaned, one line each with the reason.
    pub failed: Vec<String>,
    /// Paths of these files, as far as known.
    #[serde(skip)]
    pub left: BTreeSet<PathBuf>,
    /// Whether there are more secrets than reported.
    pub truncated: bool,
}

/// A running audit.
pub struct SecretSearch<'a> {
    /// The redactor of private texts.
    pub private: &'a Redactor,
    /// The result so far.
    pub report: AuditReport,
}

impl<'a> SecretSearch<'a> {
    /// Creates an audit without results.
    pub fn new(private: &'a Redactor) -> Self {
        Self { private, report: AuditReport::default() }
    }

    /// Searches the files below a folder. `is_prose` returns whether people write a file.
    pub fn folder(
        &mut self,
        folder: &Path,
        redactor: &Redactor,
        left_out: Option<&Path>,
        is_prose: impl Fn(&Path) -> bool,
    ) {
        for file in files::files(folder) {
            let looked = file.and_then(|file| match left_out {
                Some(left_out) if file.starts_with(left_out) => Ok(()),
                Some(_) | None => self.file(&file, redactor, is_prose(&file)),
            });
            if let Err(error) = looked {
                self.report.failed.push(format!("{error:#}"));
            }
        }
    }

    fn file(&mut self, path: &Path, redactor: &Redactor, is_prose: bool) -> Result<()> {
        let found = &mut self.report.found;
        let mut more = false;
        let looked = each_text(path, is_prose, |line, text| {
            let at = |rule, line| FoundSecret { path: path.to_owned(), line, rule };
            more |= note(found, redactor, text, |rule, below| at(rule, line + below));
        })?;
        self.report.files += usize::from(looked);
        self.report.truncated |= more;
        Ok(())
    }
}

/// Adds the secrets of a text to `found`; `at` converts a rule and the number of lines above the secret. Returns
/// whether the list is full and a secret was omitted.
fn note(
    found: &mut Vec<FoundSecret>,
    redactor: &Redactor,
    text: &str,
    at: impl Fn(&'static str, usize) -> FoundSecret,
) -> bool {
    let findings = redactor.findings(text);
    let room = FOUND_MAX.saturating_sub(found.len());
    let told = findings.iter().take(room);
    found.extend(told.map(|finding| at(finding.rule, newlines(&text[..finding.range.start]))));
    findings.len() > room
}

/// Returns whether a file contains a secret.
pub fn holds(path: &Path, redactor: &Redactor) -> Result<bool> {
    let mut found = false;
    each_text(path, false, |_, text| found = found || !redactor.findings(text).is_empty())?;
    Ok(found)
}

/// Reads a file and calls `each` with each text and its line number; `false` if the file does not exist. A file written
/// by people is one text, because a private key has several lines. In a file written by programs, each line is a text.
fn each_text(path: &Path, is_prose: bool, mut each: impl FnMut(usize, &str)) -> Result<bool> {
    let Some(file) = files::open(path)? else { return Ok(false) };
    let (mut reader, mut line, mut number) = (BufReader::new(file), LinePiece::default(), 0);
    let mut file_texts = FileTexts::default();
    let (mut prose, mut above) = (String::new(), 0);
    let context = || format!("{}: it cannot be read to its end", path.display());
    while line.next(&mut reader).with_context(context)? {
        number += usize::from(line.repeated == 0);
        if is_prose {
            prose.push_str(&String::from_utf8_lossy(line.news()));
            if prose.len() as u64 >= LINE_BYTES_MAX {
                each_part(&prose, |below, part| each(above + below + 1, part));
                let looked_at = looked_at(&prose);
                above += newlines(&prose[..looked_at]);
                prose.drain(..looked_at);
            }
        } else {
            for text in file_texts.of_line(&line.bytes) {
                each_part(&text.text, |_, part| each(number, part));
            }
        }
    }
    each_part(&prose, |below, part| each(above + below + 1, part));
    anyhow::ensure!(
        reader.get_ref().limit() > 0,
        "{}: only its first {} MiB were looked through",
        path.display(),
        FILE_BYTES_MAX >> 20
    );
    Ok(true)
}

/// Splits a text into parts and calls `each` with each part and the number of lines above it.
fn each_part(text: &str, mut each: impl FnMut(usize, &str)) {
    let mut above = 0;
    for part in parts(text) {
        each(above, part);
        above += newlines(part);
    }
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}
