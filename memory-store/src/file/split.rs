//! Finds the front matter in a memory file, as byte ranges, so that a rewrite can leave all other text unchanged.

use std::ops::Range;

use crate::error::TextPlace;

/// Maximum size in bytes of a memory file's front matter.
pub const FRONT_BYTES_MAX: usize = 64 << 10;

const BOM: &str = "\u{feff}";

/// The parts of a memory file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// The YAML between the fences.
    pub front: Range<usize>,
    /// Everything after the line of the closing fence.
    pub body: Range<usize>,
    /// Line ending of the opening fence. New lines have the same ending.
    pub line_ending: &'static str,
}

/// Problem in a file, with its byte offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileFault {
    pub offset: usize,
    pub message: String,
}

impl FileFault {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }
}

/// Finds the front matter. The first line must be `---`; the next line with `---` or `...` ends it.
pub(super) fn split(text: &str) -> Result<Split, FileFault> {
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut lines = text[start..].split_inclusive('\n');
    let opening = lines.next().unwrap_or_default();
    if opening.trim_end() != "---" {
        return Err(FileFault::new(
            start,
            "expected `---`: a memory file begins with front matter between two lines `---`",
        ));
    }
    let front_start = start + opening.len();
    let mut offset = front_start;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            let front = front_start..offset;
            if front.len() > FRONT_BYTES_MAX {
                let limit = FRONT_BYTES_MAX >> 10;
                let message = format!("the front matter is longer than {limit} KiB; shorten it");
                return Err(FileFault::new(front_start, message));
            }
            let line_ending = if opening.ends_with("\r\n") { "\r\n" } else { "\n" };
            return Ok(Split { front, body: offset + line.len()..text.len(), line_ending });
        }
        offset += line.len();
    }
    Err(FileFault::new(start, "the front matter is not closed: add a line `---` after it"))
}

/// Returns the line and column of a byte offset.
pub(super) fn place(text: &str, offset: usize) -> TextPlace {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = text[..end].strip_prefix(BOM).unwrap_or(&text[..end]);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    TextPlace {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (&str, &str) {
        let split = split(text).unwrap();
        (&text[split.front], &text[split.body])
    }

    #[test]
    fn the_front_matter_ends_at_the_first_closing_fence() {
        assert_eq!(parts("---\na: 1\n---\nb\n---\nc"), ("a: 1\n", "b\n---\nc"));
        assert_eq!(parts("\u{feff}---\r\na: 1\r\n---\r\nb\r\n"), ("a: 1\r\n", "b\r\n"));
        assert_eq!(parts("---  \n---"), ("", ""));
        assert_eq!(parts("---\na: |\n  ---\n...\n"), ("a: |\n  ---\n", ""));
    }

    #[test]
    fn a_file_without_front_matter_is_refused() {
        assert_eq!(split("# Title\n").unwrap_err().offset, 0);
        assert!(split("---\na: 1\n").unwrap_err().message.contains("not closed"));
        assert!(split("").is_err());
        let long = format!("---\na: {}\n---\n", "x".repeat(FRONT_BYTES_MAX));
        assert!(split(&long).unwrap_err().message.contains("64 KiB"));
    }

    #[test]
    fn places_count_characters_from_one() {
        let text = "\u{feff}---\nä: ö x\n";
        let at = text.find('x').unwrap();
        assert_eq!(place(text, at), TextPlace { line: 2, column: 6 });
        assert_eq!(place(text, usize::MAX), TextPlace { line: 3, column: 1 });
    }
}
