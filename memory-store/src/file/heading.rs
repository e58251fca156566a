//! The title and the text of a body: the first heading, and the text without it.

use std::ops::Range;

/// Maximum number of characters of a title. Longer titles are truncated.
const TITLE_CHARS_MAX: usize = 300;

/// The parts of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub title: String,
    /// The byte range of the title's text in the body; `None` if the body has no heading.
    pub heading: Option<Range<usize>>,
    /// The Markdown without the heading.
    pub text: String,
}

/// Separates the title from the text. The title is the first heading outside of code, or else the first line.
pub(super) fn read(body: &str) -> Body {
    if let Some((line, title)) = first_heading(body) {
        let above = plain_text(&body[..line.start]);
        let below = plain_text(&body[line.end..]);
        let text = match (above.is_empty(), below.is_empty()) {
            (true, _) => below,
            (false, true) => above,
            (false, false) => format!("{above}\n\n{below}"),
        };
        return Body { title: one_line(&body[title.clone()]), heading: Some(title), text };
    }
    let text = plain_text(body);
    let title = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Body {
        title: one_line(title.trim_start_matches(['-', '*', '>', '#', ' '])),
        heading: None,
        text,
    }
}

/// Returns the body of a new file.
pub(super) fn write(title: &str, text: &str, line_ending: &str) -> String {
    let body = match text {
        "" => format!("\n# {title}\n"),
        text => format!("\n# {title}\n\n{text}\n"),
    };
    if line_ending == "\n" { body } else { body.replace('\n', line_ending) }
}

/// Returns a title for a heading: one line without control characters. The result is never empty.
pub(super) fn one_line(text: &str) -> String {
    let mut title = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    if let Some((cut, _)) = title.char_indices().nth(TITLE_CHARS_MAX) {
        title.truncate(cut);
        title.truncate(title.trim_end().len());
    }
    if title.is_empty() { "Untitled".to_owned() } else { title }
}

/// Returns a text in the normal form of a body: lines end with `\n`, and there are no blank lines at the start or end.
pub(super) fn plain_text(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => {
                let line = line.trim_end_matches('\r');
                // Blank lines before the text are dropped, but not the text's indentation.
                if !(lines.is_empty() && line.trim().is_empty()) {
                    lines.push_str(line);
                    lines.push('\n');
                }
            }
            None => lines.push_str(line),
        }
    }
    lines.truncate(lines.trim_end().len());
    lines
}

fn first_heading(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let mut fence: Option<&str> = None;
    let mut offset = 0;
    for line in body.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent > 3 {
            continue;
        }
        let text = line[indent..].trim_end();
        if let Some(mark) = fence_mark(text) {
            fence = match fence {
                None => Some(mark),
                Some(open) if mark.starts_with(open) => None,
                Some(open) => Some(open),
            };
            continue;
        }
        if fence.is_some() {
            continue;
        }
        if let Some(title) = heading_text(text) {
            let at = start + indent + (text.len() - title.len());
            return Some((start..offset, at..at + title.len()));
        }
    }
    None
}

fn fence_mark(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = text.len() - text.trim_start_matches(mark).len();
    (len >= 3).then(|| &text[..len])
}

fn heading_text(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    let spaced = rest.starts_with([' ', '\t']);
    let title = rest.trim_start();
    ((1..=6).contains(&level) && spaced && !title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_heading_outside_of_code_is_the_title() {
        let body =
            "\nBefore.\n\n```sh\n# no title\n```\n\n## The *title* #1\n\n    code\n\nEnd\n\n";
        let read = read(body);
        assert_eq!(read.title, "The *title* #1");
        assert_eq!(&body[read.heading.unwrap()], "The *title* #1");
        assert_eq!(read.text, "Before.\n\n```sh\n# no title\n```\n\n    code\n\nEnd");
    }

    #[test]
    fn a_body_without_heading_is_named_by_its_first_line() {
        assert_eq!(read("\n- First thing\nmore\n").title, "First thing");
        assert_eq!(read("").title, "Untitled");
        assert_eq!(read("#hashtag only").heading, None);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (title, text) in [("# x", "    code"), ("a ##", ""), ("C#", "---\nx\n# y")] {
            for ending in ["\n", "\r\n"] {
                let read = read(&write(title, text, ending));
                assert_eq!((read.title.as_str(), read.text.as_str()), (title, text));
            }
        }
        assert_eq!(one_line(" a\n\u{2028}b\0 c "), "a b c");
        assert_eq!(plain_text("\r\n \n  a\r\r\n b \n\n"), "  a\n b");
    }
}
