//! The account of `uninstall`: removed parts, failures, and the lines and files that the user has to delete by hand. In
//! a dry run, the parts that would be removed.

use std::path::PathBuf;

use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::setup::claude::replace::RunMode;
use crate::view;

/// A line or file that the user has to delete by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ByHand {
    /// The file.
    pub path: PathBuf,
    /// Number of the line, counted from 1; `None` for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Text of the line, or an instruction about the file.
    pub text: String,
}

impl ByHand {
    /// Returns the place and the text as one line.
    pub fn to_line(&self) -> String {
        let path = view::path(&self.path);
        let text = view::plain(&self.text);
        match self.line {
            Some(line) => format!("{path}:{line}: {text}"),
            None => format!("{path}: {text}"),
        }
    }
}

/// How a part is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalWay {
    /// The part is removed from a file that is kept.
    Out,
    /// The part is a whole file, which is removed.
    Whole,
}

/// The account of a run. Neither a failure nor a closed output prevents the removal of further parts.
pub struct Account {
    /// Whether files are changed.
    pub run: RunMode,
    /// Sentences for the user; in a dry run, without the leading `Would`.
    pub told: Vec<String>,
    /// Files that were changed or removed.
    pub changed: Vec<PathBuf>,
    /// Lines and files that the user has to delete by hand.
    pub by_hand: Vec<ByHand>,
    /// Failures without duplicates, since several parts may be in one file.
    failures: Vec<Failure>,
}

impl Account {
    pub fn new(run: RunMode) -> Self {
        Self {
            run,
            told: Vec::new(),
            changed: Vec::new(),
            by_hand: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Adds a part, given the file that contained it. Does nothing if no file contained the part.
    pub fn add(&mut self, what: &str, way: RemovalWay, part: Result<Option<PathBuf>>) {
        let path = match part {
            Ok(Some(path)) => path,
            Ok(None) => return,
            Err(failure) => return self.fail(failure),
        };
        let file = view::path(&path);
        let told = match (self.run, way) {
            (RunMode::Real, RemovalWay::Out) => format!("Taken out of {file}"),
            (RunMode::Real, RemovalWay::Whole) => format!("Removed {file}"),
            (RunMode::Dry, RemovalWay::Out) => format!("take {what} out of {file}"),
            (RunMode::Dry, RemovalWay::Whole) => format!("remove {file}"),
        };
        if !self.told.contains(&told) {
            self.told.push(told);
            self.changed.push(path);
        }
    }

    pub fn fail(&mut self, failure: Failure) {
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }

    /// Combines all failures into one, whose hint contains `remedy`.
    pub fn failure(&mut self, remedy: &str) -> Option<Failure> {
        let mut failures = std::mem::take(&mut self.failures);
        let first = failures.first()?;
        let (code, count) = (first.code, failures.len());
        if count == 1 {
            let failure = failures.pop()?;
            let hint = failure.hint.as_ref().map(|hint| format!("{hint} ")).unwrap_or_default();
            return Some(failure.hint(hint + remedy));
        }
        let told = |failure: &Failure| match &failure.hint {
            Some(hint) => format!("{failure} ({})", hint.trim_end_matches('.')),
            None => failure.to_string(),
        };
        let causes = failures.iter().map(told).collect();
        let failure = Failure::new(format!("{count} parts cannot be taken out")).code(code);
        Some(Failure { causes, ..failure.hint(remedy) })
    }
}
