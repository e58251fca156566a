//! Questions that failed repeatedly. They are kept aside and reported, and are sent again only at the user's request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use memory_store::format_version;
use memory_store::layout::ProjectDir;
use serde::{Deserialize, Serialize};

use crate::lock::{BUSY_MAX, Busy, Lock};
use crate::private_files::{read_json, write_json};

/// Number of failures, each in another sync, after which a question is kept aside.
const FAILURES_MAX: u32 = 3;
/// Maximum number of failed questions in the record. Other questions are always sent again.
const ENTRIES_MAX: usize = 10_000;

/// Failed questions of a project.
#[derive(Debug, Default)]
pub(super) struct AsideQuestions {
    path: PathBuf,
    kept: AsideFile,
}

/// The format of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AsideFile {
    /// Number of requests by the user to send all of these questions again.
    retries: u32,
    /// Number of failures of each question.
    failed: BTreeMap<String, u32>,
}

impl AsideFile {
    fn set_aside(&self) -> usize {
        self.failed.values().filter(|times| **times >= FAILURES_MAX).count()
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("aside.json")
}

impl AsideQuestions {
    /// Reads the record in the folder of answers. A missing record counts as empty.
    pub fn read(folder: &Path) -> Self {
        let path = path(folder);
        Self { kept: read_json(&path).unwrap_or_default(), path }
    }

    /// Returns whether a question is kept aside.
    pub fn holds(&self, question: &str) -> bool {
        self.kept.failed.get(question).is_some_and(|times| *times >= FAILURES_MAX)
    }

    /// Counts a failure of a question.
    pub fn failed(&mut self, question: &str) {
        if self.kept.failed.len() < ENTRIES_MAX || self.kept.failed.contains_key(question) {
            *self.kept.failed.entry(question.to_owned()).or_default() += 1;
            self.write();
        }
    }

    /// Removes a question from the record, because it was answered.
    pub fn answered(&mut self, question: &str) {
        if self.kept.failed.remove(question).is_some() {
            self.write();
        }
    }

    fn write(&self) {
        // If writing fails, the question is sent again, which only costs time.
        drop(write_json(&self.path, &self.kept));
    }
}

/// Returns the number of questions that are kept aside, for the folder of a project's answers.
pub fn count(folder: &Path) -> usize {
    read_json::<AsideFile>(&path(folder)).unwrap_or_default().set_aside()
}

/// Returns the number of requests by the user to send these questions again. If it increased, sessions that were read
/// completely are read again.
pub fn retries(folder: &Path) -> u32 {
    read_json::<AsideFile>(&path(folder)).unwrap_or_default().retries
}

/// Makes the next sync send the questions again that were kept aside. Returns their number. Waits until a running sync
/// has ended, because it may record failures.
///
/// # Errors
/// If a later version of the program has written the project's private state, or the file cannot be written.
pub fn retry(home: &ProjectDir) -> anyhow::Result<usize> {
    format_version::check_private(home)?;
    let Some(_lock) = Lock::take(&home.sync_lock, Busy::Wait(BUSY_MAX))? else {
        anyhow::bail!("another sync is at work for very long");
    };
    let path = path(&home.llm);
    let kept: AsideFile = read_json(&path).unwrap_or_default();
    let count = kept.set_aside();
    if !kept.failed.is_empty() {
        let retries = kept.retries.wrapping_add(1);
        write_json(&path, &AsideFile { retries, failed: BTreeMap::new() })?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_set_a_question_aside_until_somebody_asks() {
        let home = tempfile::tempdir().unwrap();
        let project = ProjectDir::at(home.path().to_owned());
        let folder = project.llm.clone();
        for expected in [false, false, true] {
            let mut aside = AsideQuestions::read(&folder);
            assert!(!aside.holds("a"));
            aside.failed("a");
            aside.failed("b");
            aside.answered("b");
            assert_eq!(AsideQuestions::read(&folder).holds("a"), expected);
        }
        assert_eq!((count(&folder), retries(&folder)), (1, 0));
        assert_eq!(retry(&project).unwrap(), 1);
        assert_eq!((count(&folder), retries(&folder)), (0, 1));
        assert!(!AsideQuestions::read(&folder).holds("a"));
        // No question is kept aside.
        assert_eq!(retry(&project).unwrap(), 0);
        assert_eq!(retries(&folder), 1);
    }
}
