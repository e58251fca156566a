//! Matching of globs, in bounded time.

/// Maximum number of steps for matching a glob.
const STEPS_MAX: u32 = 10_000;

/// Returns whether a path matches a glob. `*` and `?` match within one path component, `**` across several.
pub(crate) fn path_matches(pattern: &str, path: &str) -> bool {
    matches_from(pattern.as_bytes(), path.as_bytes(), Some(b'/'), &mut STEPS_MAX.clone())
}

/// Returns whether a text matches a glob. `*` matches any characters, and `?` one byte.
pub(crate) fn text_matches(pattern: &str, text: &str) -> bool {
    matches_from(pattern.as_bytes(), text.as_bytes(), None, &mut STEPS_MAX.clone())
}

/// Returns whether a text matches a glob in which `*` and `?` do not match the separator.
fn matches_from(pattern: &[u8], text: &[u8], separator: Option<u8>, steps: &mut u32) -> bool {
    if *steps == 0 {
        return false;
    }
    *steps -= 1;
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', b'/', rest @ ..] if separator.is_some() => {
            matches_from(rest, text, separator, steps)
                || (0..text.len()).any(|at| {
                    text[at] == b'/' && matches_from(rest, &text[at + 1..], separator, steps)
                })
        }
        [b'*', b'*', rest @ ..] => {
            (0..=text.len()).any(|at| matches_from(rest, &text[at..], separator, steps))
        }
        [b'*', rest @ ..] => {
            let end = separator.and_then(|separator| text.iter().position(|&b| b == separator));
            let end = end.unwrap_or(text.len());
            (0..=end).any(|at| matches_from(rest, &text[at..], separator, steps))
        }
        [b'?', rest @ ..] => {
            text.first().is_some_and(|&b| Some(b) != separator)
                && matches_from(rest, &text[1..], separator, steps)
        }
        [byte, rest @ ..] => {
            text.first() == Some(byte) && matches_from(rest, &text[1..], separator, steps)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_a_separator_only_in_texts() {
        assert!(
            path_matches("src/**/*.rs", "src/a/b.rs") && path_matches("src/**/*.rs", "src/b.rs")
        );
        assert!(!path_matches("src/*.rs", "src/a/b.rs"));
        assert!(text_matches("orig*/main", "origin/x/main") && text_matches("--force*", "--force"));
        assert!(!text_matches("--force", "--force-with-lease"));
    }

    #[test]
    fn a_hostile_glob_ends() {
        assert!(!path_matches(&"*a*b".repeat(40), &"a".repeat(200)));
        assert!(!text_matches(&"*a*b".repeat(40), &"a".repeat(200)));
    }
}
