//! Texts of a line, one by one. In a line of JSON each string was written, and redacted, by itself: read as it stands,
//! names, quotes and escapes of the JSON look like parts of secrets, and hide others. In bytes that are no text each
//! stretch that is stands alone.

use std::ops::Range;

use serde::de::IgnoredAny;

/// A text, and where its bytes stand in the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text.
    pub text: String,
    /// From this byte of the text on, bytes stand from that byte of the line on.
    places: Vec<(usize, usize)>,
}

impl Text {
    fn plain(text: &str, at: usize) -> Self {
        Self { text: text.to_owned(), places: vec![(0, at)] }
    }

    /// Returns where a part of the text stands in the line, escapes whole.
    pub fn place(&self, part: &Range<usize>) -> Range<usize> {
        self.at(part.start)..self.at(part.end)
    }

    fn at(&self, at: usize) -> usize {
        let after = self.places.partition_point(|(text, _)| *text <= at);
        let (text, line) = self.places[after - 1];
        line + (at - text)
    }
}

/// The texts of a line.
pub fn of_line(line: &[u8]) -> Vec<Text> {
    match json(line) {
        // A letter may be in front that says what it is, or a checksum.
        Some(start) => strings(line, start),
        None => stretches(line),
    }
}

/// A text whose lines have numbers before them, as tools print files, without the numbers: of what is written in several
/// lines they hide how it goes on. `None` where the first two lines are not numbered.
pub(crate) fn unnumbered(text: &str) -> Option<Text> {
    let mut lines = text.split_inclusive('\n');
    let (first, _) = numbered(lines.next()?)?;
    let (second, _) = numbered(lines.next()?)?;
    if first.checked_add(1) != Some(second) {
        return None;
    }
    let mut plain = Text::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let skipped = numbered(line).map_or(0, |(_, end)| end);
        plain.places.push((plain.text.len(), at + skipped));
        plain.text.push_str(&line[skipped..]);
        at += line.len();
    }
    Some(plain)
}

/// The number before a line, and where the line itself begins.
fn numbered(line: &str) -> Option<(u32, usize)> {
    let number = line.trim_start_matches(' ');
    let behind = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let plain = behind.strip_prefix(['\t', '→'])?;
    let number = &number[..number.len() - behind.len()];
    Some((number.parse().ok()?, line.len() - plain.len()))
}

/// Returns where the JSON of a line begins, if that is all there is from there on.
fn json(line: &[u8]) -> Option<usize> {
    const MARK_BYTES_MAX: usize = 16;
    let start = line.iter().take(MARK_BYTES_MAX).position(|byte| b"{[".contains(byte))?;
    serde_json::from_slice::<IgnoredAny>(&line[start..]).is_ok().then_some(start)
}

/// The stretches of readable text.
fn stretches(line: &[u8]) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut at = 0;
    for chunk in line.utf8_chunks() {
        let mut start = at;
        for piece in chunk.valid().split_inclusive(is_binary) {
            let text = piece.trim_end_matches(is_binary);
            if !text.is_empty() {
                texts.push(Text::plain(text, start));
            }
            start += piece.len();
        }
        at += chunk.valid().len() + chunk.invalid().len();
    }
    texts
}

/// Returns whether a character stands in files of numbers only.
fn is_binary(character: char) -> bool {
    character < ' ' && !matches!(character, '\t' | '\n' | '\r' | '\x0c' | '\x1b')
}

/// The strings of valid JSON from `start` on, names of fields among them.
fn strings(line: &[u8], start: usize) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut at = start;
    while let Some(quote) = memchr::memchr(b'"', &line[at..]) {
        let (text, end) = string(line, at + quote + 1);
        if !text.text.is_empty() {
            texts.push(text);
        }
        at = end;
    }
    texts
}

/// The string that begins at `at`, and where the line goes on behind it.
fn string(line: &[u8], mut at: usize) -> (Text, usize) {
    let mut text = Text { text: String::new(), places: vec![(0, at)] };
    loop {
        let rest = &line[at..];
        let plain = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        text.text.push_str(&String::from_utf8_lossy(&rest[..plain]));
        at += plain;
        if line.get(at) != Some(&b'\\') {
            return (text, (at + 1).min(line.len()));
        }
        let (character, bytes) = escape(&line[at..]);
        text.places.push((text.text.len(), at));
        text.text.push(character);
        at = (at + bytes).min(line.len());
        text.places.push((text.text.len(), at));
    }
}

/// Returns the character of the escape at the start of these bytes, and its length (RFC 8259, 7).
fn escape(bytes: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    match bytes.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\x0c', 2),
        Some(b'u') => {
            let (Some(first), second) = (unit(0), unit(6)) else {
                return (char::REPLACEMENT_CHARACTER, 2);
            };
            let units = [first, second.unwrap_or_default()];
            match char::decode_utf16(units).next() {
                Some(Ok(character)) => (character, 6 * character.len_utf16()),
                Some(Err(_)) | None => (char::REPLACEMENT_CHARACTER, 6),
            }
        }
        // A quote, a backslash, a slash.
        Some(byte) => (char::from(*byte), 2),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(line: &str) -> Vec<String> {
        of_line(line.as_bytes()).into_iter().map(|text| text.text).collect()
    }

    #[test]
    fn numbers_before_lines_are_left_out_and_found_again() {
        let text = "     9→password: >-\n    10→  one\n\ncut\n    12→two\n";
        let plain = unnumbered(text).unwrap();
        assert_eq!(plain.text, "password: >-\n  one\n\ncut\ntwo\n");
        for word in ["one", "cut", "two", "password"] {
            let at = plain.text.find(word).unwrap();
            assert_eq!(&text[plain.place(&(at..at + word.len()))], word);
        }
        for text in ["", "1\tone", "1\tone\n3\ttwo\n", "id\tpassword\n1\tx\n2\ty\n", "1\n2\n"] {
            assert_eq!(unnumbered(text), None, "{text}");
        }
    }

    #[test]
    fn strings_stand_alone_and_escapes_are_read() {
        assert_eq!(said("{\"a\":\"b\\n\\\"c\\\"\",\"d\":[1,\"\"]}\n"), ["a", "b\n\"c\"", "d"]);
        assert_eq!(said("p{\"a\":\"\\u00e9\\ud83d\\ude00\\ud83d\"}"), ["a", "é😀\u{fffd}"]);
        // A line that was cut off, and one that is no JSON, are what they look like.
        assert_eq!(said("{\"a\":\"b"), ["{\"a\":\"b"]);
        assert_eq!(said("[redacted] x\n"), ["[redacted] x\n"]);
        assert_eq!(said("0a1b2c3d {\"a\":\"b\"}\n"), ["a", "b"]);
        let texts = of_line(b"one\0\x02two\xff\xfethree\n");
        let places: Vec<_> = texts.iter().map(|text| text.place(&(0..text.text.len()))).collect();
        assert_eq!(places, [0..3, 5..8, 10..16]);
    }

    proptest! {
        #[test]
        fn a_string_is_read_as_it_was_written(text in ".*", from in 0_usize..40) {
            let line = serde_json::to_string(&[&text]).unwrap();
            let texts = of_line(line.as_bytes());
            let Some(read) = texts.first() else {
                prop_assert_eq!(text, "");
                return Ok(());
            };
            prop_assert_eq!(&read.text, &text);
            let part = text.floor_char_boundary(from)..text.len();
            let stands = &line[read.place(&part)];
            let again: String = serde_json::from_str(&format!("\"{stands}\"")).unwrap();
            prop_assert_eq!(&again, &text[part]);
        }
    }
}
