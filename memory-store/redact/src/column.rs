//! Columns of tables whose heading names a secret: of Markdown, of a database's client, of comma- or
//! tab-separated values.

use std::ops::Range;

use super::assignment;

/// Rows that are looked at below a heading.
const ROWS_MAX: usize = 2_000;

/// The longest line that is taken apart.
const LINE_BYTES_MAX: usize = 4 << 10;

/// The signs between the cells of a table.
const SEPARATORS: &[u8] = b"|,;\t";

/// A column below a heading.
#[derive(Default)]
pub(super) struct Column {
    /// Places of its secrets.
    pub(super) secrets: Vec<Range<usize>>,
    /// Range of its table's rows: names in them head no other table.
    pub(super) rows: Range<usize>,
}

/// Finds the column that is headed by the name around `hit`.
pub(super) fn find(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    let (separator, name) = heading(text, hit)?;
    if !assignment::names_secret(text, &name) {
        return None;
    }
    let from = text[..name.start].iter().rev().take(LINE_BYTES_MAX).take_while(|b| **b != b'\n');
    let line_start = name.start - from.count();
    let line_end = line_end(text, name.end);
    let cells = cells(text, line_start..line_end, separator);
    let place = cells.iter().position(|cell| cell.start <= name.start && name.end <= cell.end)?;
    if cells.len() < 2 {
        return None;
    }
    let mut found = Vec::new();
    let mut at = line_end + 1;
    for _ in 0..ROWS_MAX {
        let Some(first) = text.get(at) else { break };
        let end = self::line_end(text, at);
        // A rule of dashes, between the heading and the rows.
        let is_rule = text[at..end].iter().all(|byte| b"|-+=: \t\r".contains(byte));
        if !(is_rule && (end > at) && b"|-+=: ".contains(first)) {
            let row = self::cells(text, at..end, separator);
            if row.len() != cells.len() {
                break;
            }
            let cell = bare(text, &row[place]);
            if assignment::is_told_secret(&text[cell.clone()]) {
                found.push(cell);
            }
        }
        at = end + 1;
    }
    Some(Column { secrets: found, rows: line_end + 1..at })
}

/// The separator of the line in which the name around `hit` is a cell of its own, and that name.
fn heading(text: &[u8], hit: &Range<usize>) -> Option<(u8, Range<usize>)> {
    const NAME_BYTES_MAX: usize = 48;
    const SPACES_MAX: usize = 40;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_- ".contains(byte);
    let before = text[..hit.start].iter().rev().take(NAME_BYTES_MAX).take_while(is_name).count();
    let after = text[hit.end..].iter().take(SPACES_MAX).take_while(is_name).count();
    let (start, end) = (hit.start - before, hit.end + after);
    let around = |byte: Option<&u8>| byte.copied().unwrap_or(b'\n');
    let is_mark = |byte: u8| b"\"'`*".contains(&byte);
    let (mut left, mut right) = (start, end);
    while left > 0 && is_mark(text[left - 1]) && start - left < 3 {
        left -= 1;
    }
    while right < text.len() && is_mark(text[right]) && right - end < 3 {
        right += 1;
    }
    let (before, after) =
        (around(left.checked_sub(1).and_then(|at| text.get(at))), around(text.get(right)));
    let after = if after == b'\r' { b'\n' } else { after };
    let separator = match (before, after) {
        (sign, b'\n') | (b'\n', sign) if SEPARATORS.contains(&sign) => sign,
        (sign, other) if sign == other && SEPARATORS.contains(&sign) => sign,
        _ => return None,
    };
    let name = &text[start..end];
    let spaces = name.iter().take_while(|byte| **byte == b' ').count();
    let name = start + spaces..start + name.trim_ascii_end().len().max(spaces);
    (name.start <= hit.start && hit.end <= name.end).then_some((separator, name))
}

fn line_end(text: &[u8], at: usize) -> usize {
    let rest = &text[at..text.len().min(at + LINE_BYTES_MAX)];
    at + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
}

/// The cells of a line; a separator in quotes separates nothing.
fn cells(text: &[u8], line: Range<usize>, separator: u8) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    let (mut start, mut is_quoted) = (line.start, false);
    for at in line.clone() {
        match text[at] {
            b'"' if separator != b'|' => is_quoted = !is_quoted,
            sign if sign == separator && !is_quoted => {
                cells.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    cells.push(start..line.end);
    cells
}

/// A cell without spaces, quotes and emphasis.
fn bare(text: &[u8], cell: &Range<usize>) -> Range<usize> {
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`*".contains(byte);
    let inner = &text[cell.clone()];
    let before = inner.iter().take_while(|byte| is_edge(byte)).count();
    let after = inner[before..].iter().rev().take_while(|byte| is_edge(byte)).count();
    cell.start + before..cell.end - after
}
