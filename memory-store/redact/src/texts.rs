//! Splitting of lines into texts. In a line of JSON, each string was written separately and is redacted separately: in
//! the raw line, the names, quotes and escapes of JSON resemble parts of secrets or conceal them. The same applies to
//! texts and attributes in the page that `throughline report` writes. In binary data, each run of readable characters
//! is a text.

use std::ops::Range;

use serde::de::IgnoredAny;

/// A text, with the position of each of its bytes in the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Pairs of an offset in the text and the corresponding offset in the line. A pair applies to all bytes up to the
    /// next pair.
    places: Vec<(usize, usize)>,
}

impl Text {
    fn plain(text: &str, at: usize) -> Self {
        Self { text: text.to_owned(), places: vec![(0, at)] }
    }

    /// Returns the range in the line that corresponds to a part of the text. Escapes are included as a whole.
    pub fn place(&self, part: &Range<usize>) -> Range<usize> {
        self.at(part.start)..self.at(part.end)
    }

    fn at(&self, at: usize) -> usize {
        let after = self.places.partition_point(|(text, _)| *text <= at);
        let (text, line) = self.places[after - 1];
        line + (at - text)
    }
}

/// The first two lines of the page that `throughline report` writes.
pub const PAGE_START: &str = "<!doctype html>\n<!-- throughline report -->\n";

/// Splits the lines of a file into texts.
#[derive(Clone, Debug, Default)]
pub struct FileTexts {
    /// Number of lines read so far, at most the number of lines in [`PAGE_START`].
    start: usize,
    /// True if all lines so far match the start of a page.
    is_page: bool,
}

impl FileTexts {
    /// Returns the texts of the next line.
    pub fn of_line(&mut self, line: &[u8]) -> Vec<Text> {
        let mut starts = PAGE_START.split_inclusive('\n').map(str::as_bytes);
        if let Some(expected) = starts.nth(self.start) {
            self.is_page = (self.start == 0 || self.is_page) && line == expected;
            self.start += 1;
        }
        if self.is_page { of_page_line(line) } else { of_line(line) }
    }
}

/// Returns the texts of a line.
pub fn of_line(line: &[u8]) -> Vec<Text> {
    match json(line) {
        // The JSON may follow a letter for the line's type, or a checksum.
        Some(start) => strings(line, start),
        None => stretches(line),
    }
}

/// Returns a text without the line numbers that tools print, because the numbers separate the lines of a secret.
/// Returns `None` if one of the first two lines has no number.
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

/// Returns the number at the start of a line, and the offset at which the line itself starts. `None` if there is no
/// number.
fn numbered(line: &str) -> Option<(u32, usize)> {
    let number = line.trim_start_matches(' ');
    let behind = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let plain = behind.strip_prefix(['\t', '→'])?;
    let number = &number[..number.len() - behind.len()];
    Some((number.parse().ok()?, line.len() - plain.len()))
}

/// Returns the offset from which the rest of the line is JSON; `None` if no such offset is near the start.
fn json(line: &[u8]) -> Option<usize> {
    const MARK_BYTES_MAX: usize = 16;
    let start = line.iter().take(MARK_BYTES_MAX).position(|byte| b"{[".contains(byte))?;
    serde_json::from_slice::<IgnoredAny>(&line[start..]).is_ok().then_some(start)
}

/// Returns the texts in a line of a page: the text between tags, the values of attributes, and the rest of each tag.
/// Each byte is in one of the texts, so none is skipped, and each text is as it was before the page was written.
fn of_page_line(line: &[u8]) -> Vec<Text> {
    // A list of objects, one per line.
    let object = line.trim_ascii_end();
    let object = object.strip_suffix(b",").unwrap_or(object);
    if let Some(start) = json(object) {
        return strings(object, start);
    }
    let mut texts = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let end = match tag(&line[at..]) {
            Some(tag) => {
                let mut start = at;
                for part in line[at..at + tag].split_inclusive(|byte| *byte == b'"') {
                    push_unescaped(&mut texts, part.strip_suffix(b"\"").unwrap_or(part), start);
                    start += part.len();
                }
                at + tag
            }
            None => {
                let next = (at + 1..line.len()).find(|next| tag(&line[*next..]).is_some());
                let end = next.unwrap_or(line.len());
                push_unescaped(&mut texts, &line[at..end], at);
                end
            }
        };
        at = end;
    }
    texts
}

/// Returns the length of the tag or comment at the start of `bytes`; `None` if there is none, or if it does not end in
/// this line.
fn tag(bytes: &[u8]) -> Option<usize> {
    let second = bytes.strip_prefix(b"<")?.first()?;
    (second.is_ascii_alphabetic() || b"/!".contains(second)).then_some(())?;
    let mut is_quoted = false;
    let end = bytes.iter().position(|byte| {
        is_quoted ^= *byte == b'"';
        *byte == b'>' && !is_quoted
    });
    Some(end? + 1)
}

/// Decodes the entities in a text of a page and adds the result to `texts`.
fn push_unescaped(texts: &mut Vec<Text>, bytes: &[u8], start: usize) {
    const ENTITIES: [(&[u8], char); 5] =
        [(b"&amp;", '&'), (b"&lt;", '<'), (b"&gt;", '>'), (b"&quot;", '"'), (b"&#39;", '\'')];
    let mut text = Text { text: String::new(), places: vec![(0, start)] };
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let plain = memchr::memchr(b'&', rest).unwrap_or(rest.len());
        text.text.push_str(&String::from_utf8_lossy(&rest[..plain]));
        at += plain;
        let rest = &bytes[at..];
        let Some(first) = rest.first() else { break };
        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        let (character, len) = entity.map_or((char::from(*first), 1), |it| (it.1, it.0.len()));
        text.places.push((text.text.len(), start + at));
        text.text.push(character);
        at += len;
        text.places.push((text.text.len(), start + at));
    }
    if !text.text.trim().is_empty() {
        texts.push(text);
    }
}

/// Returns the runs of readable text in a line.
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

/// Returns whether a character occurs only in binary files.
fn is_binary(character: char) -> bool {
    character < ' ' && !matches!(character, '\t' | '\n' | '\r' | '\x0c' | '\x1b')
}

/// Returns the strings of valid JSON from offset `start` on, including the names of members.
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

/// Returns the string that begins at offset `at`, and the offset after it.
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

/// Returns the character that the escape at the start of `bytes` represents, and the length of the escape (RFC 8259,
/// 7).
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
        // The escape of a quote, a backslash or a slash.
        Some(byte) => (char::from(*byte), 2),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line_texts(line: &str) -> Vec<String> {
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

    /// Returns the texts of a page that consists of the start of a page and these lines.
    fn page_texts(lines: &str) -> Vec<String> {
        let page = format!("{PAGE_START}{lines}");
        let mut file = FileTexts::default();
        let texts = page.split_inclusive('\n').flat_map(|line| file.of_line(line.as_bytes()));
        texts.map(|text| text.text).skip(2).collect()
    }

    #[test]
    fn texts_of_a_page_stand_alone() {
        let row = "<tr><td class=\"date\">2026-10-02</td><td>PASSWORD=</td><td>a &lt;b&gt; &amp;&quot;&#39;&x</td></tr>\n";
        assert_eq!(
            page_texts(row),
            [
                "<tr>",
                "<td class=",
                "date",
                ">",
                "2026-10-02",
                "</td>",
                "<td>",
                "PASSWORD=",
                "</td>",
                "<td>",
                "a <b> &\"'&x",
                "</td>",
                "</tr>"
            ]
        );
        assert_eq!(
            page_texts("{\"title\":\"token =\",\"kind\":\"fact\"},\n"),
            ["title", "token =", "kind", "fact"]
        );
        // A line without tags, as in a script, is one text.
        let script = "if (a < b && c > d) password = \"x\";\n";
        assert_eq!(page_texts(script), [script]);
        // Any other page is read as raw lines.
        let mut file = FileTexts::default();
        let other = ["<!doctype html>\n", "<p>a</p>\n"].map(|line| file.of_line(line.as_bytes()));
        assert_eq!(other[1][0].text.trim_end(), "<p>a</p>");
    }

    #[test]
    fn a_text_of_a_page_is_found_again_in_its_line() {
        let line = "<p title=\"a &amp; b\">one &lt;two&gt; three</p>";
        for text in of_page_line(line.as_bytes()) {
            for word in ["b", "one", "two", "three"] {
                if let Some(at) = text.text.find(word) {
                    assert_eq!(&line[text.place(&(at..at + word.len()))], word);
                }
            }
        }
    }

    #[test]
    fn strings_stand_alone_and_escapes_are_read() {
        assert_eq!(
            line_texts("{\"a\":\"b\\n\\\"c\\\"\",\"d\":[1,\"\"]}\n"),
            ["a", "b\n\"c\"", "d"]
        );
        assert_eq!(line_texts("p{\"a\":\"\\u00e9\\ud83d\\ude00\\ud83d\"}"), ["a", "é😀\u{fffd}"]);
        // A truncated line and a line that is not JSON are read raw.
        assert_eq!(line_texts("{\"a\":\"b"), ["{\"a\":\"b"]);
        assert_eq!(line_texts("[redacted] x\n"), ["[redacted] x\n"]);
        assert_eq!(line_texts("0a1b2c3d {\"a\":\"b\"}\n"), ["a", "b"]);
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
