//! Secrets written in several pieces: across a `\` at the end of a line, as concatenated strings, in folded blocks of
//! YAML, as a wrapped token; or with emphasis, terminal colours, invisible characters, escapes or full-width letters
//! inside, which readers of the text ignore or decode.
//!
//! A *join* separates two pieces. It is not part of the value, or encodes one byte of it. The text around joins is
//! scanned again without them; a secret found in it that extends across a join is hidden together with the join.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr_iter, memchr2_iter, memchr3_iter};

use crate::value::shape;

/// Number of bytes before the first join and after the last join that are scanned with them.
const LEAD_BYTES_MAX: usize = 256;
const TAIL_BYTES_MAX: usize = 1 << 10;

/// Maximum distance in bytes of joins that are scanned together.
const GAP_BYTES_MAX: usize = 512;

/// Maximum length in bytes of text that is scanned at once. Longer text is divided.
const CLUSTER_BYTES_MAX: usize = 32 << 10;

/// Maximum number of spaces on each side of a join.
const SPACES_MAX: usize = 120;

/// Minimum number of token characters at the end of a line for it to count as wrapped.
const WRAPPED_BYTES_MIN: usize = 12;

/// Minimum length in bytes of base 64 lines that belong to an image or an archive.
const BLOB_LINE_BYTES_MIN: usize = 60;

/// Separator of two pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Separator {
    range: Range<usize>,
    /// The byte of the value that the separator encodes.
    with: Option<u8>,
}

/// Returns the secrets that extend across joins. `scan` returns the secrets of a text.
pub(crate) fn find<T>(
    text: &[u8],
    scan: impl Fn(&[u8]) -> Vec<(T, Range<usize>)>,
) -> Vec<(T, Range<usize>)> {
    let joins = joins(text);
    let mut found = Vec::new();
    for piece in clusters(&joins).into_iter().map(|cluster| Joined::new(text, cluster)) {
        for (kind, range) in scan(&piece.text) {
            if piece.is_across(&range) || piece.is_named_in_code(&range) {
                found.push((kind, piece.original(&range)));
            }
        }
    }
    found
}

/// Returns the secrets that `scan` recognises by all their bytes. Therefore any line break and any escape may be a
/// join, and, if `are_characters`, any sign between single characters.
pub(crate) fn find_known(
    text: &[u8],
    are_characters: bool,
    scan: impl Fn(&[u8]) -> Vec<Range<usize>>,
) -> Vec<Range<usize>> {
    let line_break = |at: usize| {
        let next = skip_quote(text, at + 1);
        Separator { range: trimmed(text, at)..next, with: None }
    };
    let mut joins: Vec<Separator> = memchr_iter(b'\n', text).map(line_break).collect();
    joins.extend(memchr_iter(0x1B, text).filter_map(|at| colour(text, at)).map(plain));
    joins.extend(memchr2_iter(0xE2, 0xEF, text).filter_map(|at| invisible(text, at)).map(plain));
    // After `\`, it is a literal sign.
    let signs = memchr_iter(b'%', text).filter(|at| !text[..*at].ends_with(b"\\"));
    joins.extend(signs.filter_map(|at| percent(text, at)));
    joins.extend(
        memchr2_iter(b'"', b'\'', text).filter_map(|at| between_strings(text, at)).map(plain),
    );
    if are_characters {
        let signs = memchr3_iter(b' ', b'-', b'.', text).filter(|at| is_spaced(text, *at));
        joins.extend(signs.map(|at| plain(at..at + 1)));
    }
    joins.extend(memchr_iter(b'&', text).filter_map(|at| entity(text, at)));
    joins.extend(memchr_iter(b'\\', text).filter_map(|at| {
        let is_sign = text.get(at + 1).is_some_and(|b| b.is_ascii_punctuation() || *b == b' ');
        escaped(text, at).or_else(|| octal(text, at)).or_else(|| is_sign.then(|| plain(at..at + 1)))
    }));
    joins.sort_by_key(|join| join.range.start);
    joins.dedup_by(|next, known| next.range.start < known.range.end);
    let mut found = Vec::new();
    for piece in clusters(&joins).into_iter().map(|cluster| Joined::new(text, cluster)) {
        let across = scan(&piece.text).into_iter().filter(|range| piece.is_across(range));
        found.extend(across.map(|range| piece.original(&range)));
    }
    found
}

fn plain(range: Range<usize>) -> Separator {
    Separator { range, with: None }
}

/// Returns the end of a string and the start of the next, with an operator or a comma in between: `' + '`, `''`, `',
/// '`.
fn between_strings(text: &[u8], at: usize) -> Option<Range<usize>> {
    const BETWEEN_BYTES_MAX: usize = 4;
    let quote = text[at];
    if at == 0 || !text[at - 1].is_ascii_graphic() {
        return None;
    }
    let rest = &text[at + 1..text.len().min(at + 2 + BETWEEN_BYTES_MAX)];
    let length = memchr::memchr(quote, rest)?;
    let end = at + 2 + length;
    let is_part = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric())
    };
    let is_quote = |at: Option<usize>| at.and_then(|at| text.get(at)) == Some(&quote);
    let is_character = || is_quote(at.checked_sub(2)) && is_quote(Some(end + 1));
    let is_between = match rest[..length].trim_ascii() {
        b"," => is_character(),
        b"" | b"+" | b"." | b"&" | b".." => is_part(at.checked_sub(1)) && is_part(Some(end)),
        _ => false,
    };
    is_between.then_some(at..end)
}

/// Returns whether a sign is between single characters: `S w o r d`, `S-w-o-r-d`.
fn is_spaced(text: &[u8], at: usize) -> bool {
    let sign = text[at];
    let is = |at: Option<usize>| at.is_some_and(|at| text.get(at) == Some(&sign));
    let is_character = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let before = at.checked_sub(1).and_then(|at| text.get(at));
    is_character(before)
        && is_character(text.get(at + 1))
        && (is(Some(at + 2)) && (is(Some(at + 4)) || is(at.checked_sub(2)))
            || is(at.checked_sub(2)) && is(at.checked_sub(4)))
}

/// Searchers for operators between two strings in a line. They are built once, because most texts are short.
static GLUES: LazyLock<[Finder<'static>; 5]> =
    LazyLock::new(|| ["\" + \"", "' + '", "\" . \"", "' . '", "\" .. \""].map(Finder::new));

/// Searchers for the start of a list of strings.
static OPENS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| ["[\"", "['"].map(Finder::new));

/// Returns the joins of a text in order, without overlaps.
fn joins(text: &[u8]) -> Vec<Separator> {
    let mut joins: Vec<Range<usize>> = Vec::new();
    let mut folded = None;
    for line_end in memchr_iter(b'\n', text) {
        let Some(end) = content_end(text, line_end) else { continue };
        // Every line is tested, and most end with none of these.
        let join = match text[end - 1] {
            b'\\' => continuation(text, end, line_end),
            b'"' | b'\'' | b'`' | b'.' | b'&' => strings_around(text, end, line_end + 1),
            b'+' | b'|' => strings_around(text, end, line_end + 1)
                .or_else(|| fold(text, end, line_end, &mut folded)),
            last if is_token(last) || last == b'>' => wrapped(text, end, line_end, joins.last())
                .or_else(|| fold(text, end, line_end, &mut folded)),
            _ => None,
        };
        joins.extend(join);
    }
    for glue in GLUES.iter() {
        joins.extend(glue.find_iter(text).map(|start| start..start + glue.needle().len()));
    }
    joins.extend(memchr2_iter(b'*', b'`', text).filter_map(|at| emphasis(text, at)));
    joins.extend(memchr2_iter(0xE2, 0xEF, text).filter_map(|at| invisible(text, at)));
    joins.extend(memchr_iter(0xC2, text).filter_map(|at| invisible(text, at)));
    joins.extend(memchr_iter(0x1B, text).filter_map(|at| colour(text, at)));
    let mut joins: Vec<Separator> = joins.into_iter().map(plain).collect();
    joins.extend(memchr_iter(b'%', text).filter_map(|at| encoded(text, at)));
    joins.extend(memchr_iter(b'\\', text).filter_map(|at| escaped(text, at)));
    joins.extend(memchr_iter(b'&', text).filter_map(|at| entity(text, at)));
    joins.extend(memchr_iter(0xEF, text).filter_map(|at| wide(text, at)));
    for open in OPENS.iter() {
        joins.extend(open.find_iter(text).flat_map(|at| arguments(text, at + 1)));
    }
    joins.sort_by_key(|join| join.range.start);
    joins.dedup_by(|next, known| next.range.start < known.range.end);
    joins
}

/// Returns the signs of emphasis or code inside a word, which Markdown removes when rendered.
fn emphasis(text: &[u8], at: usize) -> Option<Range<usize>> {
    const SIGNS_MAX: usize = 3;
    let is_sign = |byte: &&u8| b"*`".contains(byte);
    let length = text[at..].iter().take(SIGNS_MAX + 1).take_while(is_sign).count();
    let is_inside =
        at > 0 && is_token(text[at - 1]) && text.get(at + length).is_some_and(|b| is_token(*b));
    (is_inside && length <= SIGNS_MAX).then_some(at..at + length)
}

/// Returns invisible characters inside a word.
fn invisible(text: &[u8], at: usize) -> Option<Range<usize>> {
    let length = match text.get(at..)? {
        [0xC2, 0xAD, ..] => 2,
        [0xE2, 0x80, 0x8B..=0x8F | 0xAA..=0xAE, ..]
        | [0xE2, 0x81, 0xA0..=0xAF, ..]
        | [0xEF, 0xBB, 0xBF, ..] => 3,
        _ => return None,
    };
    Some(at..at + length)
}

/// Returns a terminal colour or style (ECMA-48, `ESC [ ... m`, and erasure of a line).
fn colour(text: &[u8], at: usize) -> Option<Range<usize>> {
    const PARAMETERS_MAX: usize = 24;
    let rest = text.get(at..)?.strip_prefix(b"\x1b[")?;
    let parameters = rest.iter().take(PARAMETERS_MAX);
    let length =
        parameters.take_while(|byte| byte.is_ascii_digit() || b";:".contains(byte)).count();
    rest.get(length).is_some_and(|byte| b"mK".contains(byte)).then_some(at..at + 3 + length)
}

/// Returns the separators between the arguments of a command in list form: `["redis-cli", "-a"`. Each separator is read
/// as a space.
fn arguments(text: &[u8], mut at: usize) -> Vec<Separator> {
    const ARGUMENTS_MAX: usize = 40;
    const ARGUMENT_BYTES_MAX: usize = 200;
    let mut joins = Vec::new();
    let mut has_option = false;
    let quote = text[at];
    while joins.len() < ARGUMENTS_MAX {
        let argument = &text[at + 1..text.len().min(at + 1 + ARGUMENT_BYTES_MAX)];
        has_option |= argument.starts_with(b"-");
        let Some(length) = argument.iter().position(|byte| [quote, b'\n'].contains(byte)) else {
            break;
        };
        let close = at + 1 + length;
        let Some(b',') = text.get(close + 1) else { break };
        let open = skip_spaces(text, close + 2);
        if text.get(open) != Some(&quote) {
            break;
        }
        joins.push(Separator { range: close..open + 1, with: Some(b' ') });
        at = open;
    }
    if has_option { joins } else { Vec::new() }
}

/// Returns a full-width letter, digit or sign.
fn wide(text: &[u8], at: usize) -> Option<Separator> {
    let with = match text.get(at..at + 3)? {
        [0xEF, 0xBC, low @ 0x81..=0xBF] => low - 0x81 + b'!',
        [0xEF, 0xBD, low @ 0x80..=0x9E] => low - 0x80 + b'`',
        _ => return None,
    };
    Some(Separator { range: at..at + 3, with: Some(with) })
}

/// Returns a letter, digit or sign that is escaped without need in JSON or a programming language: `\u0077`, `\x70`.
fn escaped(text: &[u8], at: usize) -> Option<Separator> {
    let length = match text.get(at + 1)? {
        b'u' => 6,
        b'x' => 4,
        _ => return None,
    };
    let digits = str::from_utf8(text.get(at + 2..at + length)?).ok()?;
    let with = u8::try_from(u32::from_str_radix(digits, 16).ok()?).ok()?;
    with.is_ascii_graphic().then_some(Separator { range: at..at + length, with: Some(with) })
}

/// Returns a character that is written as three octal digits.
fn octal(text: &[u8], at: usize) -> Option<Separator> {
    let digits = str::from_utf8(text.get(at + 1..at + 4)?).ok()?;
    let with = u8::from_str_radix(digits, 8).ok()?;
    with.is_ascii_graphic().then_some(Separator { range: at..at + 4, with: Some(with) })
}

/// Returns a sign that is written as an HTML entity.
fn entity(text: &[u8], at: usize) -> Option<Separator> {
    const NAMES: [(&[u8], u8); 6] = [
        (b"lt;", b'<'),
        (b"gt;", b'>'),
        (b"quot;", b'"'),
        (b"apos;", b'\''),
        (b"amp;", b'&'),
        (b"equals;", b'='),
    ];
    const DIGITS_MAX: usize = 4;
    let rest = text.get(at + 1..)?;
    if let Some((name, with)) = NAMES.iter().find(|(name, _)| rest.starts_with(name)) {
        return Some(Separator { range: at..at + 1 + name.len(), with: Some(*with) });
    }
    let rest = rest.strip_prefix(b"#")?;
    let (radix, mark) = if rest.first()?.eq_ignore_ascii_case(&b'x') { (16, 1) } else { (10, 0) };
    let length =
        rest[mark..].iter().take(DIGITS_MAX).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let digits = str::from_utf8(&rest[mark..mark + length]).ok()?;
    let with = u8::try_from(u32::from_str_radix(digits, radix).ok()?).ok()?;
    (with.is_ascii_graphic() && rest.get(mark + length) == Some(&b';'))
        .then_some(Separator { range: at..at + 3 + mark + length, with: Some(with) })
}

/// Returns a percent-encoded character that needs no encoding in a token, or a percent-encoded sign between a name and
/// its value.
fn encoded(text: &[u8], at: usize) -> Option<Separator> {
    percent(text, at).filter(|join| {
        join.with.is_some_and(|with| with.is_ascii_alphanumeric() || b"_-.~=:&\"'".contains(&with))
    })
}

/// Returns any percent-encoded byte.
fn percent(text: &[u8], at: usize) -> Option<Separator> {
    let digits = str::from_utf8(text.get(at + 1..at + 3)?).ok()?;
    let with = u8::from_str_radix(digits, 16).ok()?;
    Some(Separator { range: at..at + 3, with: Some(with) })
}

/// Returns a `\` at the end of a line, with the line break and the next line's indentation. A space before it is kept.
fn continuation(text: &[u8], end: usize, line_end: usize) -> Option<Range<usize>> {
    let backslashes = text[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
    if backslashes % 2 == 0 {
        return None;
    }
    strings_around(text, end - 1, line_end + 1)
        .or_else(|| Some(end - 1..skip_spaces(text, line_end + 1)))
}

/// Returns the join between a string that ends before `left` and another that begins after `right`, with at most an
/// operator in between.
fn strings_around(text: &[u8], left: usize, right: usize) -> Option<Range<usize>> {
    let mut close = trimmed(text, left);
    let before = close;
    while close > 0 && b"+.&|".contains(&text[close - 1]) && before - close < 2 {
        close -= 1;
    }
    close = trimmed(text, close);
    let quote = *text.get(close.checked_sub(1)?)?;
    if !b"\"'`".contains(&quote) {
        return None;
    }
    let mut open = skip_spaces(text, right);
    let operator = text[open..].iter().take(2).take_while(|byte| b"+.&|".contains(byte)).count();
    open = skip_spaces(text, open + operator);
    if text.get(open).is_some_and(|byte| b"bfru@".contains(byte)) {
        open += 1;
    }
    (text.get(open) == Some(&quote)).then_some(close - 1..open + 1)
}

/// Returns a line break inside base 64, a JWT or another long token that was wrapped. A block that contains only base
/// 64 is an image or an archive, and a value does not begin in it.
fn wrapped(
    text: &[u8],
    end: usize,
    line_end: usize,
    last: Option<&Range<usize>>,
) -> Option<Range<usize>> {
    // Widths at which tools wrap text without spaces.
    const WIDTHS: [usize; 9] = [60, 64, 70, 72, 75, 76, 78, 79, 80];
    let probe = |back: usize| end >= back && is_token(text[end - back]);
    if ![1, 4, 8, WRAPPED_BYTES_MIN].into_iter().all(probe) {
        return None;
    }
    let run = text[..end].iter().rev().take(LEAD_BYTES_MAX).take_while(|b| is_token(**b)).count();
    let start = end - run;
    let begins_line =
        start == 0 || trimmed(text, start) == 0 || { text[trimmed(text, start) - 1] == b'\n' };
    let goes_on = last.is_some_and(|join| join.end == start);
    let is_blob = run >= BLOB_LINE_BYTES_MIN && !text[start..].starts_with(b"eyJ");
    if run < WRAPPED_BYTES_MIN || begins_line && !goes_on && is_blob {
        return None;
    }
    let next = skip_quote(text, line_end + 1);
    let rest = &text[next..];
    let length = rest.iter().take(LEAD_BYTES_MAX).take_while(|byte| is_token(**byte)).count();
    let length = length + rest[length..].iter().take(2).take_while(|byte| **byte == b'=').count();
    let is_whole_line =
        matches!(rest.get(length), None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`'));
    let value = &rest[..length];
    let goes_on_there = || value.ends_with(b"=") || value.len() >= 8 && shape::is_random(value, 8);
    let is_tail = || {
        let line = memchr::memrchr(b'\n', &text[..end]).map_or(end, |line| end - line - 1);
        WIDTHS.contains(&line)
            && value.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    (is_whole_line
        && length >= 2
        && shape::is_random(&text[start..end], WRAPPED_BYTES_MIN)
        && (goes_on_there() || is_tail()))
    .then_some(end..next)
}

/// Returns the breaks of a folded YAML block, which is `key: >-` and the indented lines below it, while each line is
/// one word. `folded` is the offset at which the block continues.
fn fold(
    text: &[u8],
    end: usize,
    line_end: usize,
    folded: &mut Option<usize>,
) -> Option<Range<usize>> {
    let goes_on = folded.is_some_and(|known| known == line_end);
    if !goes_on && !b">|+-123456789".contains(&text[end - 1]) {
        return None;
    }
    let next = skip_spaces(text, line_end + 1);
    let indent = next - line_end - 1;
    let word = text[next..].iter().take(LEAD_BYTES_MAX).take_while(|b| !b.is_ascii_whitespace());
    let word_end = next + word.count();
    let is_one_word = word_end > next && matches!(text.get(word_end), None | Some(b'\n' | b'\r'));
    if !is_one_word || indent == 0 {
        *folded = None;
        return None;
    }
    if goes_on {
        *folded = Some(word_end);
        return Some(end..next);
    }
    let mut sign = end;
    while sign > 0 && b"+-123456789".contains(&text[sign - 1]) && end - sign < 3 {
        sign -= 1;
    }
    let is_sign = sign > 0 && b">|".contains(&text[sign - 1]);
    let after_name = is_sign && text[..sign - 1].ends_with(b": ");
    *folded = after_name.then_some(word_end);
    after_name.then_some(sign - 1..next)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/_-.".contains(&byte)
}

/// Returns the end of a line's content without trailing spaces; `None` for an empty line.
fn content_end(text: &[u8], line_end: usize) -> Option<usize> {
    let end = trimmed(text, line_end);
    (end > 0 && text[end - 1] != b'\n').then_some(end)
}

/// Returns the first offset before `at` from which there are only spaces up to `at`.
fn trimmed(text: &[u8], at: usize) -> usize {
    let spaces = text[..at].iter().rev().take(SPACES_MAX);
    at - spaces.take_while(|byte| b" \t\r".contains(byte)).count()
}

/// Skips spaces and the `>` of a quoted line.
fn skip_quote(text: &[u8], at: usize) -> usize {
    let next = skip_spaces(text, at);
    if text.get(next) == Some(&b'>') { skip_spaces(text, next + 1) } else { next }
}

fn skip_spaces(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let spaces = rest.iter().take(SPACES_MAX).take_while(|byte| b" \t".contains(byte)).count();
    (at + spaces).min(text.len())
}

/// Groups joins that should be scanned together.
fn clusters(joins: &[Separator]) -> Vec<&[Separator]> {
    let mut clusters = Vec::new();
    let mut start = 0;
    for at in 1..=joins.len() {
        let is_end = joins.get(at).is_none_or(|next| {
            next.range.start - joins[at - 1].range.end > GAP_BYTES_MAX
                || next.range.end - joins[start].range.start > CLUSTER_BYTES_MAX
        });
        if is_end {
            clusters.push(&joins[start..at]);
            start = at;
        }
    }
    clusters
}

/// A text without the joins between its parts.
struct Joined {
    text: Vec<u8>,
    /// Starts of the parts, in this text and in the original text.
    parts: Vec<(usize, usize)>,
    /// Offsets of encoded bytes and colours.
    codes: Vec<usize>,
}

impl Joined {
    fn new(text: &[u8], joins: &[Separator]) -> Self {
        let mut joined = Self { text: Vec::new(), parts: Vec::new(), codes: Vec::new() };
        let (Some(first), Some(last)) = (joins.first(), joins.last()) else { return joined };
        let mut at = first.range.start.saturating_sub(LEAD_BYTES_MAX);
        for Separator { range, with } in joins {
            joined.push(text, at..range.start);
            at = range.end;
            if text[range.start] == 0x1B {
                joined.codes.push(joined.text.len());
            }
            if let Some(byte) = with {
                // The byte maps to the last byte of its encoding.
                joined.parts.push((joined.text.len(), range.end - 1));
                joined.codes.push(joined.text.len());
                joined.text.push(*byte);
            }
        }
        joined.push(text, at..(last.range.end + TAIL_BYTES_MAX).min(text.len()));
        joined
    }

    fn push(&mut self, text: &[u8], part: Range<usize>) {
        self.parts.push((self.text.len(), part.start));
        self.text.extend_from_slice(&text[part]);
    }

    /// Returns whether a range contains text on both sides of a join, or begins at one.
    fn is_across(&self, range: &Range<usize>) -> bool {
        self.parts.iter().skip(1).any(|(at, _)| range.start <= *at && *at < range.end)
    }

    /// Returns whether the name before a range contains an encoded character, so that the name is found only in the
    /// joined text.
    fn is_named_in_code(&self, range: &Range<usize>) -> bool {
        const NAME_BYTES_MAX: usize = 64;
        let near = range.start.saturating_sub(NAME_BYTES_MAX)..=range.start;
        self.codes.iter().any(|at| near.contains(at))
    }

    fn original(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let part = self.parts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
            self.parts.get(part).map_or(at, |(start, original)| original + at - start)
        };
        place(range.start)..place(range.end.saturating_sub(1)) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts passed to `scan`.
    fn read(text: &str) -> Vec<String> {
        let seen = std::cell::RefCell::new(Vec::new());
        find(text.as_bytes(), |piece| {
            seen.borrow_mut().push(String::from_utf8_lossy(piece).into_owned());
            Vec::<((), Range<usize>)>::new()
        });
        seen.into_inner()
    }

    #[test]
    fn pieces_are_put_together() {
        let half = "Zx81kQp09LmTr4vB7nYc2WsE5dUfG6hJ";
        for (text, joined) in [
            ("a=12\\\n   34".to_owned(), "a=1234".to_owned()),
            ("--a \\\n  34".to_owned(), "--a 34".to_owned()),
            ("'12' +\n  '34'".to_owned(), "'1234'".to_owned()),
            ("\"12\"\n  + \"34\"".to_owned(), "\"1234\"".to_owned()),
            ("(\"12\"\r\n \"34\")".to_owned(), "(\"1234\")".to_owned()),
            ("\"12\" \\\n \"34\"".to_owned(), "\"1234\"".to_owned()),
            ("'12' . '34'".to_owned(), "'1234'".to_owned()),
            ("a: >-\n  12\n  34\nb: 5".to_owned(), "a: 1234\nb: 5".to_owned()),
            (format!("a={half}\n{half}\nb"), format!("a={half}{half}\nb")),
            (format!("a={half}\nYQ==\n"), format!("a={half}YQ==\n")),
            ("a **12**34".to_owned(), "a **1234".to_owned()),
            ("a 12\u{200b}3\u{ad}4".to_owned(), "a 1234".to_owned()),
            ("a b%5F%34".to_owned(), "a b_4".to_owned()),
        ] {
            assert_eq!(read(&text), [joined], "{text}");
        }
    }

    #[test]
    fn lines_of_their_own_stay() {
        let half = "Zx81kQp09LmTr4vB7nYc2WsE5dUfG6hJ";
        for text in [
            "a\nb\n".to_owned(),
            "say \"yes\"\nor 'no'".to_owned(),
            "c:\\\\\nd".to_owned(),
            "a: >\n  two words\n".to_owned(),
            format!("a={half}\nsrc\n"),
            format!("{half}{half}\n{half}{half}\n"),
            "a * b ** c %20 `d` ****".to_owned(),
            "\n\n\\".to_owned(),
        ] {
            assert_eq!(read(&text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_finding_in_joined_pieces_has_its_range_in_the_text() {
        let text = b"x '12' + '34' y";
        let all = |piece: &[u8]| {
            let at = memchr::memmem::find(piece, b"1234").unwrap_or(0);
            vec![((), at..at + 4), ((), at + 4..at + 5), ((), at..at + 2)]
        };
        let found = find(text, all);
        assert_eq!(found.len(), 1);
        assert_eq!(&text[found[0].1.clone()], b"12' + '34");
    }
}
