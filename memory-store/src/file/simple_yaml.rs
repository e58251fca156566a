//! Parser for the simplest form of front matter, which nearly all memory files have: keys with values of one line, and
//! lists and maps as blocks indented by two spaces per level. It is faster than the YAML library, and every listing
//! parses a store of thousands of files. Texts with anything else, even a comment or an escape, are left to the
//! library.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Lines;

use gray_matter::Pod;

/// Spaces of indentation per level.
const INDENT: usize = 2;

/// Maximum number of lines. Each has three values at most (a key, a map and a text), which is below the limit of the
/// library's reader.
const LINES_MAX: usize = 3_000;

/// Maximum length of a key: the library refuses keys of more than 1,024.
const KEY_LENGTH_MAX: usize = 100;

/// Maximum number of levels of blocks.
const LEVELS_MAX: usize = 4;

/// Parses front matter; `None` if it is not of the simplest form, or invalid.
pub(super) fn read(front: &str) -> Option<Pod> {
    let is_printable = |byte: u8| byte == b'\n' || (b' '..=b'~').contains(&byte);
    if front.is_empty()
        || !front.bytes().all(is_printable)
        || front.lines().nth(LINES_MAX).is_some()
    {
        return None;
    }
    let mut reader = Reader { lines: front.lines().peekable() };
    let map = reader.map(0, None)?;
    reader.lines.next().is_none().then_some(map)
}

struct Reader<'a> {
    lines: Peekable<Lines<'a>>,
}

impl<'a> Reader<'a> {
    /// Returns the next line without its indentation, if that is equal to `indent`.
    fn next(&mut self, indent: usize) -> Option<&'a str> {
        self.lines.next_if(|line| indent_of(line) == indent).map(|line| &line[indent..])
    }

    /// Parses a map whose keys have this indentation. Its first line may follow the dash of a list.
    fn map(&mut self, indent: usize, first: Option<&'a str>) -> Option<Pod> {
        let mut entries = HashMap::new();
        let mut line = first.or_else(|| self.next(indent));
        while let Some(text) = line {
            let (key, value) = entry(text)?;
            let value = match value {
                "" => self.block(indent)?,
                value => scalar(value)?,
            };
            if entries.insert(key.to_owned(), value).is_some() {
                return None;
            }
            line = self.next(indent);
        }
        (!entries.is_empty()).then_some(Pod::Hash(entries))
    }

    /// Parses the value below a key: a list, a map, or nothing.
    fn block(&mut self, above: usize) -> Option<Pod> {
        let Some(line) = self.lines.peek().copied() else { return Some(Pod::Null) };
        let indent = indent_of(line);
        if indent < above || indent == above && !line[indent..].starts_with('-') {
            return Some(Pod::Null);
        }
        if indent != above + INDENT || indent > LEVELS_MAX * INDENT {
            return None;
        }
        match line[indent..].starts_with('-') {
            true => self.list(indent),
            false => self.map(indent, None),
        }
    }

    fn list(&mut self, indent: usize) -> Option<Pod> {
        let mut items = Vec::new();
        while let Some(line) = self.next(indent) {
            let item = line.strip_prefix("- ")?;
            items.push(match entry(item) {
                Some(_) => self.map(indent + INDENT, Some(item))?,
                None => scalar(item)?,
            });
        }
        Some(Pod::Array(items))
    }
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// Splits `key: value`, or `key:`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let end = line.bytes().position(|byte| !(byte.is_ascii_lowercase() || byte == b'_'))?;
    let (key, rest) = line.split_at(end);
    let value = rest.strip_prefix(':')?;
    match value.strip_prefix(' ') {
        _ if key.is_empty() || key.len() > KEY_LENGTH_MAX => None,
        Some("") => None,
        Some(value) => Some((key, value)),
        None => value.is_empty().then_some((key, "")),
    }
}

/// Parses a text of one line: quoted without an escape, or plain without a significant character.
fn scalar(text: &str) -> Option<Pod> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote)?;
            let has_sign = inner.contains([quote, '\\']);
            return (!has_sign).then(|| Pod::String(inner.to_owned()));
        }
    }
    if matches!(text, "null" | "Null" | "NULL") {
        return Some(Pod::Null);
    }
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b" _./-+@(),;=".contains(&byte);
    let begins = text.bytes().next()?.is_ascii_alphanumeric();
    (begins && text.bytes().all(is_bare) && !text.ends_with(' '))
        .then(|| Pod::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::engine;

    #[test]
    fn the_usual_front_matter_is_read_as_the_library_reads_it() {
        let usual = [
            "id: 01kgt0mg1j000f8sdsm5n9wy3e\nkind: decision\ncreated: \"2026-02-06T17:40:12.978Z\"\nconfidence: 0.91\ntags:\n  - build\n  - 'a: b'\npaths:\n  - src/a.rs\nsource:\n  session: x\n  turns:\n    - a-1\n    - b-2\n  said_by: user\n",
            "paths:\n  - path: src/a.rs\n    seen: 1f\n  - path: b\nauthor:\npinned: true",
            "topic: null\nfacts:\n  - subject: a b, c; (d)\n    object: \"x # y\"\n",
        ];
        for front in usual {
            assert_eq!(read(front).as_ref(), engine::by_library(front).ok().as_ref(), "{front}");
            assert!(read(front).is_some(), "{front}");
        }
    }

    #[test]
    fn what_may_mean_something_else_is_left_to_the_library() {
        for front in [
            "",
            "\n",
            "a: b\n\nc: d",
            "a: b # c",
            "a: b\n  c",
            "a:\n- b",
            "a: [b]",
            "a: |\n  b",
            "a: 'it''s'",
            "a: \"b\\n\"",
            "a: b: c",
            "a: b \n",
            "a: \n",
            "a: b\na: c",
            "a: ~",
            "a: &b c",
            "a:\n   - b",
            "a:\n  -\n",
            "- a",
            "a: b\r\n",
            "a: \u{e9}",
            "? a\n: b",
            "A: b",
        ] {
            assert_eq!(read(front), None, "{front:?}");
        }
        let long = format!("{}: b", "a".repeat(1_100));
        assert_eq!(read(&long), None);
        assert!(engine::by_library(&long).is_err());
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_read_is_what_the_library_reads(
            lines in proptest::collection::vec(
                "( {0,5})(- |-|)((a|b|c_d|null):( |)|)([a-c0-9 .#:'\"/~&*!?,-]{0,6}|null|\"a b\"|'c: d')",
                0..7,
            ),
            indents in proptest::collection::vec(0usize..3, 7),
        ) {
            // Lines as generated, and some of them reformatted.
            let formed = lines.iter().zip(indents).map(|(line, level)| {
                format!("{}{}", " ".repeat(INDENT * level), line.trim())
            });
            for front in [lines.join("\n"), formed.collect::<Vec<_>>().join("\n")] {
                if let Some(pod) = read(&front) {
                    proptest::prop_assert_eq!(engine::by_library(&front), Ok(pod), "{}", front);
                }
            }
        }
    }
}
