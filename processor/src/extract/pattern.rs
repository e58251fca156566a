//! Patterns with ASCII classes.
//!
//! A process uses about a hundred patterns, and compiling them as written would take longer than all searches: in
//! Unicode `\w` becomes an automaton with a thousand states. `\b` of Unicode also slows the search of every text with a
//! character outside ASCII. The patterns are of English words, so characters outside ASCII may count as no word
//! characters. `\p{L}` and its like remain classes of Unicode.

pub(crate) use regex::Regex as Pattern;

/// Creates a pattern; `text` must be a valid regular expression. Patterns use `[0-9]` for digits and repetitions
/// without an upper bound, because each repetition of a Unicode class copies hundreds of ranges.
pub(super) fn pattern(text: &str) -> Pattern {
    #[expect(
        clippy::expect_used,
        reason = "the pattern is a constant of this crate, compiled by a test"
    )]
    Pattern::new(&with_ascii_classes(text)).expect("a constant pattern")
}

/// Returns a pattern with ASCII classes in place of Unicode classes.
fn with_ascii_classes(pattern: &str) -> String {
    let mut ascii = String::with_capacity(2 * pattern.len());
    let (mut depth, mut rest) = (0, pattern);
    while let Some(at) = rest.find(['\\', '[', ']']) {
        ascii.push_str(&rest[..at]);
        let (sign, behind) = rest[at..].split_at(1);
        rest = behind;
        match sign {
            "[" => depth += 1,
            "]" => depth -= i32::from(depth > 0),
            _ => {
                let length = behind.chars().next().map_or(0, char::len_utf8);
                let (escaped, behind) = behind.split_at(length);
                rest = behind;
                match (escaped, depth > 0) {
                    ("b", false) => ascii.push_str(r"(?-u:\b)"),
                    ("w", true) => ascii.push_str("0-9A-Za-z_"),
                    ("w", false) => ascii.push_str("[0-9A-Za-z_]"),
                    ("W", _) => ascii.push_str("[^0-9A-Za-z_]"),
                    ("s", true) => ascii.push_str(r"\t-\r\x20"),
                    ("s", false) => ascii.push_str(r"[\t-\r\x20]"),
                    ("S", _) => ascii.push_str(r"[^\t-\r\x20]"),
                    _ => ascii.extend(["\\", escaped]),
                }
                continue;
            }
        }
        ascii.push_str(sign);
    }
    ascii + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_a_pattern_become_those_of_ascii() {
        for (pattern, ascii) in [
            (r"\bNot\w+\b", r"(?-u:\b)Not[0-9A-Za-z_]+(?-u:\b)"),
            (r"[\w.-]+\\w\]", r"[0-9A-Za-z_.-]+\\w\]"),
            (r"(?x)^\W*[^\s\]]", r"(?x)^[^0-9A-Za-z_]*[^\t-\r\x20\]]"),
            (r"\p{Lu}[\p{L}\S]\.", r"\p{Lu}[\p{L}[^\t-\r\x20]]\."),
            (r"a\", r"a\"),
        ] {
            assert_eq!(with_ascii_classes(pattern), ascii);
        }
    }

    #[test]
    fn every_pattern_is_valid() {
        use crate::extract::{clean, own_words, prose, retold, shell, wishes, words};
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
            let made = source.matches("LazyLock<Pattern> =").count();
            assert!(source.contains("macro_rules!") || made == patterns.len(), "{made}");
            for pattern in patterns {
                assert!(!pattern.as_str().is_empty());
            }
        }
    }
}
