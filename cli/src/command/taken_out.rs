//! The account of `uninstall`: each part that it took out, and each that it could not.

use std::path::PathBuf;

use super::view;
use crate::failure::{Failure, Result};

/// Parts that were taken out. One that fails keeps no other, nor does an output that nobody reads any more.
#[derive(Default)]
pub struct TakenOut {
    /// Sentences to the person.
    pub told: Vec<String>,
    /// Files that were changed or removed.
    pub changed: Vec<PathBuf>,
    /// Failures, each once: several parts may lie in one file.
    failures: Vec<Failure>,
}

impl TakenOut {
    /// Adds a part by the file that it changed, if any.
    pub fn add(&mut self, done: &str, part: Result<Option<PathBuf>>) {
        match part {
            Ok(Some(path)) => {
                self.told.push(format!("{done} {}", view::path(&path)));
                self.changed.push(path);
            }
            Ok(None) => {}
            Err(failure) => self.fail(failure),
        }
    }

    /// Returns whether a part is there; one that cannot be read would fail.
    pub fn is_there(&mut self, found: Result<bool>) -> bool {
        found.unwrap_or_else(|failure| {
            self.fail(failure);
            false
        })
    }

    /// Adds a failure.
    pub fn fail(&mut self, failure: Failure) {
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }

    /// Returns one failure that tells all of them, with what to do about it.
    pub fn failure(mut self, remedy: &str) -> Option<Failure> {
        let first = self.failures.first()?;
        let (code, count) = (first.code, self.failures.len());
        if count == 1 {
            let failure = self.failures.pop()?;
            let hint = failure.hint.as_ref().map(|hint| format!("{hint} ")).unwrap_or_default();
            return Some(failure.hint(hint + remedy));
        }
        let told = |failure: &Failure| match &failure.hint {
            Some(hint) => format!("{failure} ({})", hint.trim_end_matches('.')),
            None => failure.to_string(),
        };
        let causes = self.failures.iter().map(told).collect();
        let failure = Failure::new(format!("{count} parts cannot be taken out")).code(code);
        Some(Failure { causes, ..failure.hint(remedy) })
    }
}
