//! Columns of tables whose heading names a secret: in Markdown, in the output of a database client, in comma-separated
//! or tab-separated values.

use std::ops::Range;

use crate::context::assignment;
use crate::value::{Promise, ValuePlace, chosen, judge, stand_in};
use crate::vocabulary::WORDS;

/// Maximum number of rows below a heading.
const ROWS_MAX: usize = 2_000;

/// Maximum length in bytes of a line that is parsed.
const LINE_BYTES_MAX: usize = 4 << 10;

/// Signs that separate the cells of a table.
const SEPARATORS: &[u8] = b"|,;\t";

/// A column below a heading.
#[derive(Default)]
pub(crate) struct Column {
    /// Ranges of the column's secrets.
    pub(crate) secrets: Vec<Range<usize>>,
    /// Range of the table's rows. Names in this range are not headings of another table.
    pub(crate) rows: Range<usize>,
}

/// Returns the column whose heading is the name around `hit`.
pub(crate) fn find(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    table(text, hit)
        .filter(|column| !column.secrets.is_empty())
        .or_else(|| inserted(text, hit))
        .or_else(|| ruled(text, hit))
        .or_else(|| boxed(text, hit))
        .or_else(|| match before_name(text, hit) {
            [b' ', b' '] => indexed(text, hit),
            [_, b'|'] => stacked(text, hit),
            _ => None,
        })
        .or_else(|| listed(text, hit))
}

/// Returns the values of a column in an SQL `INSERT`: `(mail, password) VALUES ('a', 'x'), ('b', 'y')`.
fn inserted(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    const LIST_BYTES_MAX: usize = 600;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_,` \"[]\n\r\t.".contains(byte);
    // Most names are not in a list.
    let is_end = |byte: &&u8| !byte.is_ascii_alphanumeric() && !b"_` \"]\n\r\t".contains(byte);
    if !text[hit.end..].iter().take(80).find(is_end).is_some_and(|byte| b",)".contains(byte)) {
        return None;
    }
    let from = hit.start.saturating_sub(LIST_BYTES_MAX);
    let lead = text[from..hit.start].iter().rev().take_while(|byte| is_name(byte)).count();
    let open = (hit.start - lead).checked_sub(1).filter(|at| text[*at] == b'(')?;
    let rest = &text[hit.end..text.len().min(hit.end + LIST_BYTES_MAX)];
    let close = hit.end + rest.iter().take_while(|byte| is_name(byte)).count();
    let behind = text.get(close..)?.strip_prefix(b")")?.trim_ascii_start();
    if !behind.get(..6)?.eq_ignore_ascii_case(b"values") {
        return None;
    }
    let start = text.len() - behind.len() + 6;
    let names = cells(text, open + 1..close, b',');
    let index = names.iter().position(|name| name.start <= hit.start && hit.start < name.end)?;
    if !assignment::names_secret(text, &bare(text, &names[index])) {
        return None;
    }
    let (mut at, mut secrets) = (start, Vec::new());
    for _ in 0..ROWS_MAX {
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if text.get(at) != Some(&b'(') {
            break;
        }
        let (items, end) = items(text, at + 1);
        let value = items.get(index).filter(|value| {
            let place = ValuePlace::Quoted(Promise::Password, true);
            let is_quoted = value.start > 0 && b"'\"".contains(&text[value.start - 1]);
            is_quoted
                && !stand_in::is_other_thing(&text[(*value).clone()])
                && judge(&text[(*value).clone()], place).is_secret()
        });
        secrets.extend(value.cloned());
        at = end + usize::from(text.get(end) == Some(&b')'));
        at += usize::from(text.get(at) == Some(&b','));
    }
    (!secrets.is_empty()).then(|| Column { secrets, rows: start..at.min(text.len()) })
}

/// Returns the items of a list of literals at an offset, without their quotes, and the end of the list.
fn items(text: &[u8], mut at: usize) -> (Vec<Range<usize>>, usize) {
    const ITEMS_MAX: usize = 200;
    let mut items = Vec::new();
    while items.len() < ITEMS_MAX {
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let quote = text.get(at).filter(|byte| b"'\"".contains(byte));
        let start = at + usize::from(quote.is_some());
        at = start;
        while let Some(byte) = text.get(at) {
            match quote {
                // Two quotes represent one quote inside the value.
                Some(quote) if byte == quote && text.get(at + 1) == Some(quote) => at += 1,
                Some(quote) if byte == quote => break,
                None if b",)".contains(byte) => break,
                Some(_) | None => {}
            }
            at += 1;
        }
        items.push(start..at.min(text.len()));
        let rest = text.get(at..).unwrap_or_default();
        at += rest.iter().take_while(|byte| !b",)".contains(byte)).count();
        if text.get(at) != Some(&b',') {
            break;
        }
        at += 1;
    }
    (items, at)
}

/// Returns the column of a table without separators, in which the line below the heading consists of runs of dashes
/// that are as wide as the columns.
fn ruled(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    let letters = text[hit.end..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if !text.get(hit.end + letters).is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    let heading_end = line_end(text, hit.end);
    if !text.get(heading_end + 1).is_some_and(|byte| b"-= ".contains(byte)) {
        return None;
    }
    let rule_end = line_end(text, heading_end + 1);
    let rule = text.get(heading_end + 1..rule_end)?.trim_ascii_end();
    let is_rule = |line: &[u8]| {
        line.len() > 4 && line.iter().all(|byte| b"-= ".contains(byte)) && line.contains(&b' ')
    };
    if !is_rule(rule) {
        return None;
    }
    let heading_start = line_start(text, hit.start);
    let at = hit.start - heading_start;
    let from = rule.get(..=at)?.iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
    let width = rule[from..].iter().take_while(|byte| **byte != b' ').count();
    let is_last = from + width == rule.len();
    let to = from + width + rule[from + width..].iter().take_while(|byte| **byte == b' ').count();
    let cell = |line: Range<usize>| {
        let end = if is_last { line.end } else { line.end.min(line.start + to) };
        bare(text, &(line.start + from.min(line.len())..end.max(line.start + from.min(line.len()))))
    };
    let name = cell(heading_start..heading_end);
    if width == 0 || !assignment::names_secret(text, &name) {
        return None;
    }
    below(text, rule_end + 1, |_, row| {
        let line = text[row.clone()].trim_ascii();
        if line.is_empty() || is_rule(line) {
            return None;
        }
        // The first word of the cell, because text longer than the column shifts the others.
        let value = cell(row.clone());
        let rest = &text[value.start..row.end];
        let length = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let value = value.start..value.start + length;
        Some(Some(value).filter(|value| judge(&text[value.clone()], ValuePlace::Rule).is_secret()))
    })
}

/// Reads the rows from `start` on. `row` returns the secrets of a line, given its number; it returns `None` after the
/// last row.
fn below<S: IntoIterator<Item = Range<usize>>>(
    text: &[u8],
    start: usize,
    mut row: impl FnMut(usize, Range<usize>) -> Option<S>,
) -> Option<Column> {
    let (mut at, mut secrets) = (start, Vec::new());
    for number in 0..ROWS_MAX {
        if at >= text.len() {
            break;
        }
        let end = line_end(text, at);
        let Some(found) = row(number, at..end) else { break };
        secrets.extend(found);
        at = end + 1;
    }
    (!secrets.is_empty()).then(|| Column { secrets, rows: start..at.min(text.len()) })
}

/// Returns the column of a table whose rows are numbered from 0, as data frames are printed.
fn indexed(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    const INDENT: &[u8] = b"  ";
    let heading_end = line_end(text, hit.end);
    if !text.get(heading_end + 1).is_some_and(|byte| b" 0".contains(byte)) {
        return None;
    }
    let is_first = text.get(heading_end + 1..)?.trim_ascii_start().starts_with(b"0 ");
    let heading_start = line_start(text, hit.start);
    if !is_first || !text[heading_start..].starts_with(INDENT) {
        return None;
    }
    let names = words(text, heading_start..heading_end);
    let place = names.iter().position(|name| name.start <= hit.start && hit.end <= name.end)?;
    if !assignment::names_secret(text, &names[place]) {
        return None;
    }
    below(text, heading_end + 1, |number, line| {
        let row = words(text, line);
        let is_row =
            row.len() == names.len() + 1 && text[row[0].clone()] == *number.to_string().as_bytes();
        is_row.then(|| Some(row[place + 1].clone()).filter(|cell| is_cell(&text[cell.clone()])))
    })
}

/// Returns the two bytes before the name around `hit`.
fn before_name<'t>(text: &'t [u8], hit: &Range<usize>) -> &'t [u8] {
    const NAME_BYTES_MAX: usize = 24;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let before = text[..hit.start].iter().rev().take(NAME_BYTES_MAX).take_while(is_name).count();
    let start = hit.start - before;
    &text[start.saturating_sub(2)..start]
}

/// Returns the words of a line.
fn words(text: &[u8], line: Range<usize>) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for at in line.filter(|at| !text[*at].is_ascii_whitespace()) {
        match words.last_mut().filter(|word| word.end == at) {
            Some(word) => word.end += 1,
            None => words.push(at..at + 1),
        }
    }
    words
}

/// Returns whether a whole cell in a column of secrets is a secret.
fn is_cell(value: &[u8]) -> bool {
    judge(value, ValuePlace::Rule).is_secret() || chosen::is_chosen(value)
}

/// Returns the column of an AsciiDoc table, in which each cell may be on its own line.
fn stacked(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    const BORDER: &[u8] = b"|===";
    let heading_start = line_start(text, hit.start);
    let heading_end = line_end(text, hit.end);
    if !text[..heading_start].trim_ascii_end().ends_with(BORDER)
        || !text[heading_start..].starts_with(b"|")
    {
        return None;
    }
    let names = cells(text, heading_start + 1..heading_end, b'|');
    let place = names.iter().position(|name| name.start <= hit.start && hit.end <= name.end)?;
    if !assignment::names_secret(text, &bare(text, &names[place])) {
        return None;
    }
    let mut count = 0;
    below(text, heading_end + 1, |_, row| {
        let line = &text[row.clone()];
        if line.starts_with(BORDER) {
            return None;
        }
        let mut secrets = Vec::new();
        if line.starts_with(b"|") {
            for cell in cells(text, row.start + 1..row.end, b'|') {
                let cell = bare(text, &cell);
                if count % names.len() == place && is_cell(&text[cell.clone()]) {
                    secrets.push(cell);
                }
                count += 1;
            }
        }
        Some(secrets)
    })
}

/// The line between the cells of a table with drawn lines.
const BOX_LINE: &[u8] = "│".as_bytes();

/// Returns the column of a table with drawn lines.
fn boxed(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    const CELL_BYTES_MAX: usize = 80;
    let after = text[hit.end..].iter().take(CELL_BYTES_MAX);
    let is_name = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b' ';
    if !text[hit.end + after.take_while(is_name).count()..].starts_with(BOX_LINE) {
        return None;
    }
    let cells = |line: Range<usize>| {
        let mut starts = vec![line.start];
        let lines = memchr::memmem::find_iter(&text[line.clone()], BOX_LINE);
        starts.extend(lines.map(|at| line.start + at + BOX_LINE.len()));
        starts.push(line.end + BOX_LINE.len());
        let cells = starts
            .windows(2)
            .map(|pair| bare(text, &(pair[0]..(pair[1] - BOX_LINE.len()).max(pair[0]))));
        cells.collect::<Vec<_>>()
    };
    let heading_end = line_end(text, hit.end);
    let heading = cells(line_start(text, hit.start)..heading_end);
    let place = heading.iter().position(|cell| cell.start <= hit.start && hit.end <= cell.end)?;
    if !assignment::names_secret(text, &heading[place]) {
        return None;
    }
    below(text, heading_end + 1, |_, line| {
        // Lines between the rows begin with another box-drawing character.
        if !text[line.start..].trim_ascii_start().starts_with(&BOX_LINE[..2]) {
            return None;
        }
        let mut row = cells(line);
        let cell = (row.len() == heading.len()).then(|| row.swap_remove(place));
        Some(cell.filter(|cell| judge(&text[cell.clone()], ValuePlace::Rule).is_secret()))
    })
}

/// Returns the start of the line that contains the offset `at`.
fn line_start(text: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(LINE_BYTES_MAX);
    memchr::memrchr(b'\n', &text[from..at]).map_or(from, |line| from + line + 1)
}

/// Returns the column of a table in whose heading the separators of the rows surround each name.
fn table(text: &[u8], hit: &Range<usize>) -> Option<Column> {
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
        // A line of dashes is possible between the heading and the rows.
        let is_rule = text[at..end].iter().all(|byte| b"|-+=: \t\r".contains(byte));
        if !(is_rule && (end > at) && b"|-+=: ".contains(first)) {
            let row = self::cells(text, at..end, separator);
            if row.len() != cells.len() {
                break;
            }
            let cell = bare(text, &row[place]);
            if judge(&text[cell.clone()], ValuePlace::Rule).is_secret() {
                found.push(cell);
            }
        }
        at = end + 1;
    }
    Some(Column { secrets: found, rows: line_end + 1..at })
}

/// Separators of the fields in a line, if a heading names the fields.
const FIELD_SEPARATORS: &[u8] = b":;,\t=|/ ";

/// Returns the passwords in lines whose fields are named in a comment or in the first line: `# user:password`.
fn listed(text: &[u8], hit: &Range<usize>) -> Option<Column> {
    const MARKS: &[u8] = b"#;/-%!*( \t";
    const HEADING_BYTES_MAX: usize = 120;
    const PLAIN_BYTES_MAX: usize = 60;
    const FIELDS_MAX: usize = 8;
    if !is_behind_field(&text[..hit.start]) {
        return None;
    }
    let from = hit.start.saturating_sub(HEADING_BYTES_MAX);
    let line_start = match memchr::memrchr(b'\n', &text[from..hit.start]) {
        Some(at) => from + at + 1,
        None if from == 0 => 0,
        None => return None,
    };
    let marks = text[line_start..hit.start].iter().take_while(|b| MARKS.contains(b)).count();
    let start = line_start + marks;
    let is_comment = text[line_start..start].iter().any(|byte| b"#;/%-".contains(byte));
    let line_end = line_end(text, hit.end);
    let line = &text[start..line_end];
    if line.len() > HEADING_BYTES_MAX
        || line_end >= text.len()
        || !is_comment && line.len() > PLAIN_BYTES_MAX
    {
        return None;
    }
    let separators = FIELD_SEPARATORS.iter().filter(|separator| line.contains(separator));
    separators.into_iter().find_map(|separator| {
        let names = cells(text, start..line_end, *separator);
        let place = names.iter().position(|name| name.start <= hit.start && hit.end <= name.end)?;
        let first = names[..place].iter().position(|name| is_field(&text[name.clone()]))?;
        let password = &text[names[place].clone()];
        let has_spaces = || *separator != b' ' && text[start..line_end].contains(&b' ');
        let are_all_names = || {
            names.iter().enumerate().all(|(at, name)| at == place || is_field(&text[name.clone()]))
        };
        if names.len() - first > FIELDS_MAX
            || !is_password(password)
            || !is_comment && has_spaces()
            || *separator == b' ' && !are_all_names()
        {
            return None;
        }
        let fields = names.len() - first;
        passwords(text, line_end + 1, *separator, fields, place - first)
    })
}

/// Returns whether a name may be part of a heading, according to the text before it, which must be a separator or the
/// name of a field. In most comments the name is a word in a sentence.
fn is_behind_field(before: &[u8]) -> bool {
    const NAME_BYTES_MAX: usize = 24;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let prefix = before.iter().rev().take(NAME_BYTES_MAX).take_while(is_name).count();
    let lead = before[..before.len() - prefix].trim_ascii_end();
    match lead.last() {
        Some(b':' | b';' | b',' | b'=' | b'|' | b'/') => true,
        Some(byte) if byte.is_ascii_alphanumeric() || !byte.is_ascii() => {
            let lead = &lead[lead.len().saturating_sub(NAME_BYTES_MAX)..];
            is_field(lead) || lead.ends_with(b" de")
        }
        _ => false,
    }
}

/// Returns whether a name in a heading is the name of a field, according to its last word.
fn is_field(name: &[u8]) -> bool {
    let name = name.trim_ascii();
    let word = name.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    WORDS.column_field.has(word)
}

/// Returns whether a name in a heading is the name of a password; other words may precede or follow.
fn is_password(name: &[u8]) -> bool {
    const WORDS_MAX: usize = 4;
    let words = name.split(|byte| !byte.is_ascii_alphanumeric() && byte.is_ascii());
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    let names_it = |word: &&[u8]| str::from_utf8(word).is_ok() && assignment::names_password(word);
    words.len() <= WORDS_MAX && words.iter().any(names_it)
}

/// Returns the passwords in lines that have this number of fields.
fn passwords(
    text: &[u8],
    mut at: usize,
    separator: u8,
    fields: usize,
    place: usize,
) -> Option<Column> {
    let first = at;
    let mut secrets = Vec::new();
    for _ in 0..ROWS_MAX {
        if at >= text.len() {
            break;
        }
        let end = line_end(text, at);
        let is_comment = text[at..end].first().is_some_and(|byte| b"#;".contains(byte));
        if !is_comment {
            let mut row = cells(text, at..end, separator);
            if b" \t".contains(&separator) {
                row.retain(|cell| !text[cell.clone()].trim_ascii().is_empty());
            }
            if row.len() < fields || row.len() > fields && separator != b':' {
                break;
            }
            // The last field may contain the separator.
            let end = if place + 1 == fields { end } else { row[place].end };
            let cell = bare(text, &(row[place].start..end));
            let cell = cell.start..cell.end.max(cell.start);
            if judge(&text[cell.clone()], ValuePlace::Rule).is_secret() {
                secrets.push(cell);
            }
        }
        at = end + 1;
    }
    (!secrets.is_empty()).then_some(Column { secrets, rows: first..at.min(text.len()) })
}

/// Returns the separator of the line in which the name around `hit` is a separate cell, and the range of the name.
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
    let at = at.min(text.len());
    let rest = &text[at..text.len().min(at + LINE_BYTES_MAX)];
    at + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
}

/// Returns the cells of a line. A separator inside quotes does not count.
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

/// Returns a cell without spaces, quotes and emphasis around it.
fn bare(text: &[u8], cell: &Range<usize>) -> Range<usize> {
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`*".contains(byte);
    let inner = &text[cell.clone()];
    let before = inner.iter().take_while(|byte| is_edge(byte)).count();
    let after = inner[before..].iter().rev().take_while(|byte| is_edge(byte)).count();
    cell.start + before..cell.end - after
}
