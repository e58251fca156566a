//! Breaking lines at words, where a terminal would break them anywhere. What goes elsewhere than to a terminal stays as
//! it is.

use std::io::{self, Write};

use dialoguer::console::{Term, measure_text_width, strip_ansi_codes, truncate_str};
use textwrap::{Options, WordSeparator, WordSplitter, fill};

/// Columns below which nothing is broken: there is no good place for it.
const COLUMNS_MIN: usize = 30;

/// Signs before a text, which its further lines stand behind.
const SIGNS: [&str; 3] = ["! ", "- ", "-> "];

/// How many columns a terminal has; `None` where it has none, or does not say.
pub fn columns(terminal: &Term) -> Option<usize> {
    let (_, columns) = terminal.size_checked()?;
    Some(usize::from(columns)).filter(|columns| *columns >= COLUMNS_MIN)
}

/// Columns of what goes elsewhere than to a terminal, where a line has to be cut.
const COLUMNS_ELSEWHERE: usize = 80;

/// How many columns there are for a line that is cut rather than broken.
pub fn room() -> usize {
    columns(&Term::stdout()).unwrap_or(COLUMNS_ELSEWHERE)
}

/// A text in one line of so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_str(&text, columns, "...").into_owned()
}

/// A writer that breaks lines at words. JSON and blocks of code stay as they are.
pub struct Wrapped<'a> {
    out: &'a mut dyn Write,
    /// `None` to break nothing.
    columns: Option<usize>,
    line: Vec<u8>,
    /// Whether a block of code is being written.
    in_code: bool,
}

impl<'a> Wrapped<'a> {
    /// Breaks what is longer than so many columns.
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
        // An answer in JSON is nothing else.
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

/// A writer that passes on an answer in JSON, and nothing else.
pub struct JsonAlone<'a> {
    out: &'a mut dyn Write,
    /// `None` before anything was written.
    is_json: Option<bool>,
}

impl<'a> JsonAlone<'a> {
    /// Waits for what is written first.
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

/// Breaks a line at words; each further one begins where its text does. A word that is longer than the line stays whole.
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
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    fill(text, options) + end
}

/// The column in which the text of a line begins: behind what is set off by two spaces in its first half, and behind a
/// sign.
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
            // Behind a name, a sign, or columns.
            ("  name  one two three", "  name  one two\n        three"),
            ("  ! one two three four", "  ! one two\n    three four"),
            ("    -> one two three", "    -> one two\n       three"),
            // Text that is set off far to the right is no column of names.
            ("one two three  four", "one two three\nfour"),
            // A word is never broken.
            ("a/very/long/path/of/a/file one two", "a/very/long/path/of/a/file\none two"),
            ("one a/very/long/path/of/a/file", "one\na/very/long/path/of/a/file"),
            // Colours take no room, and wide letters two columns.
            ("\u{1b}[1mone two\u{1b}[0m three", "\u{1b}[1mone two\u{1b}[0m three"),
            ("\u{1b}[1mone two\u{1b}[0m three four", "\u{1b}[1mone two\u{1b}[0m three\nfour"),
            (
                "\u{5bff}\u{53f8} \u{5bff}\u{53f8} \u{5bff}\u{53f8} \u{5bff}\u{53f8}",
                "\u{5bff}\u{53f8} \u{5bff}\u{53f8} \u{5bff}\u{53f8}\n\u{5bff}\u{53f8}",
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
            // However it comes.
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
