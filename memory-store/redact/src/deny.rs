//! Deny patterns: a person's own patterns of text that is never kept.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use super::Finding;

/// The name of what a person's own pattern hid.
pub(super) const DENIED: &str = "denied";

/// Patterns that a person may have.
pub(crate) const PATTERNS_MAX: usize = 100;

/// Bytes that one pattern may have.
pub(crate) const PATTERN_BYTES_MAX: usize = 1_000;

/// Bytes that a pattern may take compiled: it is a person's own, and still must not eat the memory
/// of a background run.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There are too many.
    #[error("more than {PATTERNS_MAX} patterns")]
    Many,
    /// It is too long.
    #[error("pattern {number} has more than {PATTERN_BYTES_MAX} bytes")]
    Long {
        /// Which one, counted from 1.
        number: usize,
    },
    /// It also matches where nothing stands.
    #[error("pattern {number} matches empty text, so it would match everywhere")]
    Empty {
        /// Which one, counted from 1.
        number: usize,
    },
    /// It is no regular expression, or takes too much memory.
    #[error("pattern {number}: {reason}")]
    Wrong {
        /// Which one, counted from 1.
        number: usize,
        /// The problem, in one line.
        reason: String,
    },
}

/// Regular expressions for what is never kept. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct DenyPatterns(Arc<[Regex]>);

impl DenyPatterns {
    /// Compiles patterns.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, PatternError> {
        if patterns.len() > PATTERNS_MAX {
            return Err(PatternError::Many);
        }
        let compiled = patterns.iter().enumerate().map(|(at, pattern)| compile(at + 1, pattern));
        Ok(Self(compiled.collect::<Result<_, _>>()?))
    }

    /// Returns where the patterns match.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Finding> {
        self.0
            .iter()
            .flat_map(|pattern| pattern.find_iter(text))
            .filter(|found| !found.is_empty())
            .map(|found| Finding { rule: DENIED, range: found.range() })
            .collect()
    }
}

fn compile(number: usize, pattern: &str) -> Result<Regex, PatternError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(PatternError::Long { number });
    }
    let compiled = RegexBuilder::new(pattern)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| {
            // The last line says what is wrong; those before it draw the place.
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
            PatternError::Wrong { number, reason }
        })?;
    if compiled.is_match(b"") {
        return Err(PatternError::Empty { number });
    }
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedactOptions, Redactor};

    fn patterns(patterns: &[&str]) -> Result<DenyPatterns, PatternError> {
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        DenyPatterns::new(&patterns)
    }

    #[test]
    fn a_person_s_own_words_are_hidden() {
        let deny = patterns(&["(?i)project zephyr", r"ACME-\d{4}"]).unwrap();
        let redactor = Redactor::new(&RedactOptions { deny, ..RedactOptions::default() });
        assert_eq!(
            redactor.redact("Project Zephyr, see ACME-1234 and ACME-12"),
            "[redacted:denied], see [redacted:denied] and ACME-12"
        );
    }

    #[test]
    fn patterns_that_cannot_be_used_say_which_and_why() {
        let wrong = |given: &[&str]| patterns(given).unwrap_err().to_string();
        assert_eq!(wrong(&["a", "("]), "pattern 2: error: unclosed group");
        assert_eq!(wrong(&["x*"]), "pattern 1 matches empty text, so it would match everywhere");
        assert!(wrong(&[r"(\w{500}){500}"]).starts_with("pattern 1: "));
        assert!(wrong(&[&"a".repeat(2_000)]).contains("more than 1000 bytes"));
        assert!(wrong(&vec!["a"; 101]).contains("more than 100"));
    }
}
