//! Patterns of this crate, each compiled when a text is first compared with it.

use regex::Regex;

/// Compiles a constant pattern. Digits are `[0-9]` and long repetitions have no bound: with Unicode's classes each
/// repetition is a copy of hundreds of ranges.
pub(super) fn pattern(text: &str) -> Regex {
    #[expect(
        clippy::expect_used,
        reason = "the pattern is a constant of this crate, compiled by the tests"
    )]
    Regex::new(text).expect("a constant pattern")
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use crate::extract::{clean, own_words, prose, retold, shell, wishes, words};

    #[test]
    fn every_pattern_compiles() {
        let files = [
            (include_str!("clean.rs"), clean::PATTERNS),
            (include_str!("own_words.rs"), own_words::PATTERNS),
            (include_str!("prose.rs"), prose::PATTERNS),
            (include_str!("retold.rs"), retold::PATTERNS),
            (include_str!("shell.rs"), shell::PATTERNS),
            (include_str!("wishes.rs"), wishes::PATTERNS),
            (include_str!("words.rs"), words::PATTERNS),
        ];
        for (source, patterns) in files {
            let made = source.matches("LazyLock<Regex> =").count();
            assert!(source.contains("macro_rules!") || made == patterns.len(), "{made}");
            for pattern in patterns {
                assert!(!LazyLock::force(pattern).as_str().is_empty());
            }
        }
    }
}
