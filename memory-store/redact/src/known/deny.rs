//! Deny patterns: a user's own patterns for text that is never stored.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use crate::finding::{DENIED, Finding};

/// Maximum number of patterns.
pub(crate) const PATTERNS_MAX: usize = 100;

/// Maximum length of a pattern, in bytes.
pub(crate) const PATTERN_BYTES_MAX: usize = 1_000;

/// Maximum compiled size of a pattern in bytes: even a user's own pattern must not exhaust the memory of a background
/// run.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Maximum number of characters in the counted repetitions of a pattern. Matching maintains a state for each character,
/// so a pattern with thousands takes a minute per megabyte.
const REPEATED_MAX: u64 = 500;

/// Reason why a pattern is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There are too many patterns.
    #[error("more than {PATTERNS_MAX} patterns")]
    Many,
    /// The pattern is too long.
    #[error("pattern {number} has more than {PATTERN_BYTES_MAX} bytes")]
    Long {
        /// Number of the pattern, from 1.
        number: usize,
    },
    /// The pattern also matches empty text.
    #[error("pattern {number} matches empty text, so it would match everywhere")]
    Empty {
        /// Number of the pattern, from 1.
        number: usize,
    },
    /// The counted repetitions of the pattern are too long for matching in time.
    #[error(
        "pattern {number} repeats {repeated} characters, of at most {REPEATED_MAX}; use `+` or `*`, or smaller numbers"
    )]
    Repeated {
        /// Number of the pattern, from 1.
        number: usize,
        /// Number of characters in the pattern's repetitions.
        repeated: u64,
    },
    /// The pattern is not a valid regular expression, or needs too much memory.
    #[error("pattern {number}: {reason}")]
    Wrong {
        /// Number of the pattern, from 1.
        number: usize,
        /// The problem, in one line.
        reason: String,
    },
}

/// Regular expressions for text that is never stored. They are cheap to clone.
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

    /// Returns the matches of the patterns.
    pub(crate) fn find(&self, text: &[u8]) -> Vec<Finding> {
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
            // The last line contains the message; the lines before it show the position.
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
            PatternError::Wrong { number, reason }
        })?;
    if compiled.is_match(b"") {
        return Err(PatternError::Empty { number });
    }
    // A compiled pattern can be parsed.
    let repeated = regex_syntax::parse(pattern).map_or(u64::MAX, |pattern| cost(&pattern).repeated);
    if repeated > REPEATED_MAX {
        return Err(PatternError::Repeated { number, repeated });
    }
    Ok(compiled)
}

/// Numbers of characters in a pattern.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// All characters, with repetitions expanded.
    all: u64,
    /// Characters in counted repetitions.
    repeated: u64,
}

fn cost(pattern: &Hir) -> Cost {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => Cost::default(),
        HirKind::Literal(literal) => Cost { all: literal.0.len() as u64, repeated: 0 },
        HirKind::Class(_) => Cost { all: 1, repeated: 0 },
        HirKind::Capture(group) => cost(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(cost).fold(Cost::default(), |sum, part| Cost {
                all: sum.all.saturating_add(part.all),
                repeated: sum.repeated.saturating_add(part.repeated),
            })
        }
        HirKind::Repetition(repetition) => {
            let one = cost(&repetition.sub);
            let times = u64::from(repetition.max.unwrap_or(repetition.min));
            if times <= 1 {
                return one;
            }
            let all = one.all.saturating_mul(times);
            Cost { all, repeated: all }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Redactor;
    use crate::options::RedactOptions;

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

    /// Each of these patterns would take minutes for the text, because the time of matching is proportional to the
    /// sizes of text and pattern.
    #[test]
    fn patterns_with_long_counted_repetitions_are_refused() {
        for slow in ["(?:a?){2000}a{2000}", "(?:a?){600}a{600}", "(?:(?:a?){60}){60}a{100}"] {
            let error = patterns(&[slow]).unwrap_err().to_string();
            assert!(error.contains("of at most 500"), "{error}");
        }
        let usual = [
            r"\d{1,3}(?:\.\d{1,3}){3}",
            r"(?i)project (?:zephyr|mistral)",
            r"ACME-\d{4,12}",
            ".{0,200}x",
        ];
        let deny = patterns(&usual).unwrap();
        let redactor = Redactor::new(&RedactOptions { deny, ..RedactOptions::default() });
        assert!(redactor.redact(&"a".repeat(1 << 20)).len() == 1 << 20);
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
