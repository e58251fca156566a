//! Wraps text at words for terminals, which would break lines within words. Other output is unchanged.

use std::io::{self, Write};

use dialoguer::console::{Term, measure_text_width, strip_ansi_codes, truncate_str};
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, fill};

/// Minimum columns of a terminal for which lines are wrapped; in narrower terminals the result would be harder to read.
const COLUMNS_MIN: usize = 30;

/// Signs that may precede a text. Continuation lines are indented by the width of the sign.
const SIGNS: [&str; 3] = ["! ", "- ", "-> "];

/// Returns the columns of a terminal; `None` if they are unknown.
pub fn columns(terminal: &Term) -> Option<usize> {
    let (_, columns) = terminal.size_checked()?;
    Some(usize::from(columns)).filter(|columns| *columns >= COLUMNS_MIN)
}

/// Returns the columns available for a line that may be truncated. Only output to a terminal is truncated.
pub fn room() -> usize {
    columns(&Term::stdout()).unwrap_or(usize::MAX)
}

/// Returns a text as one line, truncated to `columns` columns.
pub fn cut(text: &str, columns: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_str(&text, columns, "...").into_owned()
}

/// A writer that wraps lines at words. JSON and code blocks are not wrapped.
pub struct Wrapped<'a> {
    out: &'a mut dyn Write,
    /// Columns of the terminal; `None` disables wrapping.
    columns: Option<usize>,
    line: Vec<u8>,
    /// Whether a block of code is being written.
    in_code: bool,
}

impl<'a> Wrapped<'a> {
    /// Returns a writer that wraps lines longer than `columns`.
    pub fn new(out: &'a mut dyn Write, columns: Option<usize>) -> Self {
        Self { out, columns, line: Vec::new(), in_code: false }
    }

    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        let (Some(columns), Ok(text)) = (self.columns, std::str::from_utf8(line)) else {
            return self.out.write_all(line);
        };
        if text.trim_start().starts_with("```") {
            self.in_code = !self.in_code;
        }
        match self.in_code {
            true => self.out.write_all(line),
            false => self.out.write_all(broken(text, columns).as_bytes()),
        }
    }
}

impl Write for Wrapped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Output that begins with JSON contains nothing else, so it is not wrapped.
        if self.line.is_empty() && matches!(bytes.first(), Some(b'{' | b'[')) {
            self.columns = None;
        }
        if self.columns.is_none() {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.put(&line)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.put(&line)?;
        self.out.flush()
    }
}

/// A writer that passes on JSON output and discards other output.
pub struct JsonAlone<'a> {
    out: &'a mut dyn Write,
    /// Whether the output is JSON; `None` before the first write.
    is_json: Option<bool>,
}

impl<'a> JsonAlone<'a> {
    /// Returns a writer that decides by the first write whether the output is JSON.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_json: None }
    }
}

impl Write for JsonAlone<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let starts = || matches!(bytes.first(), Some(b'{' | b'['));
        if *self.is_json.get_or_insert_with(starts) {
            self.out.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Wraps a line at words. Continuation lines are indented like the text of the line. A word that is longer than the
/// line is not broken. Wide characters, such as Chinese ones, are written without spaces, so a line may break between
/// any two of them.
pub fn broken(line: &str, columns: usize) -> String {
    let (text, end) = match line.strip_suffix('\n') {
        Some(text) => (text, "\n"),
        None => (line, ""),
    };
    if measure_text_width(text) <= columns {
        return line.to_owned();
    }
    let indent = " ".repeat(indent(&strip_ansi_codes(text), columns));
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation);
    fill(text, options) + end
}

/// Punctuation that must not begin a line.
const CLOSING: &str = "\u{3001}\u{3002}\u{ff0c}\u{ff0e}\u{ff01}\u{ff1f}\u{ff1a}\u{ff1b}\u{300d}\u{300f}\u{ff09}\u{3011}";

/// Splits a line after spaces, and before and after wide characters.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_wide = |c: char| measure_text_width(c.encode_utf8(&mut [0; 4])) == 2;
    let (mut before, mut start) = (None, 0);
    let mut found = Vec::new();
    for (at, c) in line.char_indices() {
        let is_place = before.is_some_and(|before| match (before, c) {
            (' ', c) => c != ' ',
            (_, ' ') => false,
            (before, c) => (is_wide(before) || is_wide(c)) && !CLOSING.contains(c),
        });
        if is_place {
            found.push(Word::from(&line[start..at]));
            start = at;
        }
        before = Some(c);
    }
    if start < line.len() {
        found.push(Word::from(&line[start..]));
    }
    Box::new(found.into_iter())
}

/// Returns the column in which the text of a line begins: after a sign, or after a name in the first half of the line
/// that is followed by two spaces.
fn indent(line: &str, columns: usize) -> usize {
    let text = line.trim_start_matches(' ');
    let mut indent = line.len() - text.len();
    let (mut column, mut spaces) = (indent, 0);
    for c in text.chars() {
        if c == ' ' {
            spaces += 1;
        } else {
            if spaces >= 2 && column <= columns / 2 {
                indent = column;
            }
            spaces = 0;
        }
        column += measure_text_width(c.encode_utf8(&mut [0; 4]));
    }
    let sign = SIGNS.iter().find(|sign| line.trim_start().starts_with(**sign));
    if indent == line.len() - text.len() {
        indent + sign.map_or(0, |sign| sign.len())
    } else {
        indent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        for (line, expected) in [
            ("short", "short"),
            ("one two three four\n", "one two three\nfour\n"),
            // Continuation lines are indented to the text after a name, a sign, or columns.
            ("  name  one two three", "  name  one two\n        three"),
            ("  ! one two three four", "  ! one two\n    three four"),
            ("    -> one two three", "    -> one two\n       three"),
            // Two spaces in the second half of a line do not follow a name.
            ("one two three  four", "one two three\nfour"),
            // A word is never broken.
            ("a/very/long/path/of/a/file one two", "a/very/long/path/of/a/file\none two"),
            ("one a/very/long/path/of/a/file", "one\na/very/long/path/of/a/file"),
            // Colours occupy no columns, and wide letters two.
            ("\u{1b}[1mone two\u{1b}[0m three", "\u{1b}[1mone two\u{1b}[0m three"),
            ("\u{1b}[1mone two\u{1b}[0m three four", "\u{1b}[1mone two\u{1b}[0m three\nfour"),
            (
                "\u{5bff}\u{53f8} \u{5bff}\u{53f8} \u{5bff}\u{53f8} \u{5bff}\u{53f8}",
                "\u{5bff}\u{53f8} \u{5bff}\u{53f8} \u{5bff}\u{53f8}\n\u{5bff}\u{53f8}",
            ),
            // A line may break between wide letters, but not before closing punctuation.
            (
                "\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}",
                "\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\n\u{5bff}",
            ),
            (
                "\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{3002} one",
                "\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\u{53f8}\u{5bff}\n\u{53f8}\u{3002} one",
            ),
        ] {
            assert_eq!(broken(line, 16), expected, "{line:?}");
        }
    }

    #[test]
    fn json_and_code_stay_as_they_are() {
        let written = |text: &str| {
            let mut out = Vec::new();
            let mut wrapped = Wrapped::new(&mut out, Some(8));
            // The text is written in pieces of one byte.
            text.bytes().for_each(|byte| wrapped.write_all(&[byte]).unwrap());
            wrapped.flush().unwrap();
            String::from_utf8(out).unwrap()
        };
        for text in ["{\n  \"a\": \"one two three\"\n}\n", "```\none two three\n```\n", "one two"] {
            assert_eq!(written(text), text);
        }
        assert_eq!(
            written("```\none two three\n```\none two three\n"),
            "```\none two three\n```\none two\nthree\n"
        );
    }
}
