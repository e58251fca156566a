//! Session cookies: the values in `Cookie:` and `Set-Cookie:` headers, of cookies that a program sets or sends, and of
//! `curl -b`. They are detected by code, because one header has many values, most of which are harmless: a theme, a
//! language, an expiry.

use std::ops::Range;

use memchr::memmem;

use crate::value::{shape, stand_in};
use crate::vocabulary::WORDS;

/// Maximum number of other option letters before `b` in the same word.
const FLAGS_MAX: usize = 8;

/// Number of bytes before a header that are searched for its opening quote.
const BEFORE_BYTES_MAX: usize = 512;

/// Maximum distance in bytes between the start of a cookie's object and its domain.
const OBJECT_BYTES_MAX: usize = 1 << 10;

/// Maximum length of one header or call in bytes.
const COOKIES_BYTES_MAX: usize = 16 << 10;

/// Maximum length in bytes of text in brackets, because brackets in a program may never be closed.
const BRACKETS_BYTES_MAX: usize = 4 << 10;

/// Maximum length in bytes of the rest of a name after `cookie`: `cookieHeader`, `cookie_jar`.
const TAIL_BYTES_MAX: usize = 16;

/// Maximum number of spaces and line breaks before the cookies.
const SPACES_MAX: usize = 80;

/// Maximum number of quotes and brackets that close a name: `\"Cookie\":`, `headers["Cookie"] =`.
const CLOSING_MAX: usize = 6;

/// Maximum number of calls that are read inside a call that was already read.
const NESTED_MAX: usize = 3;

/// The cookies around a keyword.
struct Cookies {
    /// Ranges of the secret values, in order.
    secrets: Vec<Range<usize>>,
    /// End of the text that was read.
    end: usize,
    /// True if keywords inside this text are skipped. A header contains only cookies, but a call may contain another
    /// call.
    is_whole: bool,
}

/// Reads the cookies of a text from start to end. Each header is read once, however many keywords it contains.
#[derive(Default)]
pub(crate) struct CookieReader {
    /// End of the text that must not be read again.
    done: usize,
    /// End of the text that was read.
    read: usize,
    /// Number of calls before `read` that were read again.
    nested: usize,
}

impl CookieReader {
    /// Returns the secret cookies around a keyword; `None` if nothing was read. Keywords must be passed in order.
    pub(crate) fn next(&mut self, text: &[u8], hit: &Range<usize>) -> Option<Vec<Range<usize>>> {
        let is_nested = hit.start < self.read;
        if hit.start < self.done || is_nested && self.nested >= NESTED_MAX {
            return None;
        }
        let Cookies { secrets, end, is_whole } = find(text, hit)?;
        self.nested = if is_nested { self.nested + 1 } else { 0 };
        self.read = self.read.max(end);
        let last = secrets.last().map(|secret| secret.end);
        self.done = if is_whole { end } else { last.unwrap_or(self.done) };
        Some(secrets)
    }
}

/// Container of cookies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CookiePlace {
    /// A header, which extends to the end of its line.
    Header,
    /// An option or an assignment. It contains one word, unless it is in quotes or brackets.
    Value,
    /// A call whose first argument may be the name of a cookie.
    Call,
}

/// Returns the secret cookies of the header, call or option whose name contains the keyword at `hit`.
fn find(text: &[u8], hit: &Range<usize>) -> Option<Cookies> {
    let (at, place) = match text[hit.start] {
        b'b' | b'B' => (option(text, hit)?, CookiePlace::Value),
        b'"' => return exported(text, hit),
        b's' | b'S' | b'p' | b'P' => return named(text, hit),
        _ => behind_name(text, hit)?,
    };
    let quote = (place == CookiePlace::Header).then(|| open_quote(&text[..hit.start])).flatten();
    let range = extent(text, at, place, quote)?;
    let secrets = secrets(text, &range, place == CookiePlace::Call);
    let first = text.get(range.start);
    let is_quoted = matches!(first, Some(b'"' | b'\'' | b'`'));
    let is_whole = place == CookiePlace::Header || place == CookiePlace::Value && is_quoted;
    let is_cut = matches!(first, Some(b'[' | b'{'))
        && !matches!(text.get(range.end), Some(b']' | b'}' | b')'));
    // The last object of a truncated list is read separately.
    let last = is_cut.then(|| text[range.clone()].iter().rposition(|byte| *byte == b'{')).flatten();
    let end = last.map_or(range.end, |last| range.start + last).max(hit.end);
    Some(Cookies { secrets, end, is_whole })
}

/// Returns the start of the value of the option `-b`, which may be joined to other options. In a shell, a sign is
/// possible before the value's quotes.
fn option(text: &[u8], hit: &Range<usize>) -> Option<usize> {
    let before = &text[..hit.start];
    let letters = before.iter().rev().take(FLAGS_MAX + 1);
    let flags = letters.take_while(|byte| byte.is_ascii_alphabetic()).count();
    let rest = before[..before.len() - flags].strip_suffix(b"-")?;
    let begins =
        rest.last().is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`".contains(byte));
    if flags > FLAGS_MAX || text[hit.start] != b'b' || !begins {
        return None;
    }
    let at = skip(text, hit.start + 1, SPACES_MAX, b" \t");
    Some(skip(text, at, 1, b"$^"))
}

/// Returns a cookie that is given by its own name: `;jsessionid=...`. (`sessionId=` has many other uses.)
fn named(text: &[u8], hit: &Range<usize>) -> Option<Cookies> {
    const WORD_BYTES_MAX: usize = 512;
    let name = &text[hit.start..hit.end - 1];
    let text = &text[..text.len().min(hit.end + WORD_BYTES_MAX)];
    let range = extent(text, hit.end, CookiePlace::Value, None).filter(|_| name != b"sessionId")?;
    let word = words(text, &range).next()?;
    let end = text[word.clone()].iter().position(|byte| b"?#".contains(byte));
    let value = word.start..end.map_or(word.end, |end| word.start + end);
    let secrets = if is_secret(name, &text[value.clone()]) { vec![value] } else { Vec::new() };
    Some(Cookies { secrets, end: hit.end, is_whole: false })
}

/// Returns a cookie in a list that a browser exported: `{"domain": ..., "name": "sid", "value": "..."}`.
fn exported(text: &[u8], hit: &Range<usize>) -> Option<Cookies> {
    /// Keys that occur only in cookies.
    const TELLING_KEYS: [&[u8]; 4] = [b"httponly", b"samesite", b"hostonly", b"session"];
    let from = hit.start.saturating_sub(OBJECT_BYTES_MAX);
    let start = from + text[from..hit.start].iter().rposition(|byte| *byte == b'{')?;
    let end = start + bracketed(&text[start..]);
    if end <= hit.end {
        return None;
    }
    let object = text[start..end].to_ascii_lowercase();
    let has = |key: &[u8]| memmem::find(&object, key).is_some();
    let is_cookie = has(b"name") && has(b"value") && TELLING_KEYS.iter().any(|key| has(key));
    let secrets = if is_cookie { secrets(text, &(start..end), false) } else { Vec::new() };
    Some(Cookies { secrets, end, is_whole: text.get(end) == Some(&b'}') })
}

/// Returns the quote that was opened before the name at the end of a text, on the same line.
fn open_quote(before: &[u8]) -> Option<u8> {
    let is_quote = |byte: &u8| b"\"'`".contains(byte);
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let line = &before[before.len().saturating_sub(BEFORE_BYTES_MAX)..];
    let line = line.rsplit(|byte| b"\n\r".contains(byte)).next().unwrap_or_default();
    let name = line.iter().rev().take_while(is_name).count();
    let line = &line[..line.len() - name];
    if let Some(last) = line.last().filter(|byte| is_quote(byte)) {
        return Some(*last);
    }
    line.iter().filter(|byte| is_quote(byte)).fold(None, |open, byte| match open {
        None => Some(*byte),
        Some(open) if open == *byte => None,
        Some(open) => Some(open),
    })
}

/// Returns the offset at which the cookies after a name begin, and their container.
fn behind_name(text: &[u8], hit: &Range<usize>) -> Option<(usize, CookiePlace)> {
    let is_flag = text[..hit.start].ends_with(b"--");
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let tail = text[hit.end..].iter().take(TAIL_BYTES_MAX).take_while(is_name).count();
    let name_end = hit.end + tail;
    match text.get(name_end..)? {
        // `cookies["sid"] = "..."`
        [b'[', b'"' | b'\'', ..] => return Some((name_end + 1, CookiePlace::Call)),
        // Go: `http.Cookie{Name: "sid", Value: "..."}`
        [b'{', ..] => return Some((name_end, CookiePlace::Call)),
        [b'(' | b'.' | b':', ..] => {
            if let Some(at) = arguments(text, name_end) {
                return Some((at, CookiePlace::Call));
            }
        }
        _ => {}
    }
    let closed = skip(text, name_end, CLOSING_MAX, b"\\\"'`])");
    let spaced = skip(text, closed, SPACES_MAX, b" \t");
    let signs = text[spaced..].iter().take(4).take_while(|byte| b":=>,|?+".contains(byte)).count();
    let at = spaced + signs;
    match &text[spaced..at] {
        b"" if is_flag && spaced > closed => Some((skip(text, at, 1, b"$^"), CookiePlace::Value)),
        b"" => None,
        b"," if closed == name_end => None,
        b"," => {
            // `{"name": "Cookie", "value": "..."}`
            let next = skip(text, at, SPACES_MAX, b" \t\r\n\\\"'");
            let value = text[next..].strip_prefix(b"value");
            let behind = value.map(|_| skip(text, next + "value".len(), SPACES_MAX, b" \t\\\"':="));
            Some((
                behind.map_or(skip(text, at, SPACES_MAX, b" \t"), |at| at - 1),
                CookiePlace::Value,
            ))
        }
        b":" => Some((skip(text, at, SPACES_MAX, b" \t"), CookiePlace::Header)),
        _ => Some((skip(text, at, SPACES_MAX, b" \t"), CookiePlace::Value)),
    }
}

/// Returns the opening bracket of a call whose first argument may be the name of a cookie. The bracket follows
/// directly, or after `().set`, `.add` or `::new`.
fn arguments(text: &[u8], from: usize) -> Option<usize> {
    const CALL_BYTES_MAX: usize = 32;
    let is_call = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.:()".contains(byte);
    let length = text[from..].iter().take(CALL_BYTES_MAX).take_while(is_call).count();
    text[from..from + length].ends_with(b"(").then_some(from + length - 1)
}

/// Returns the range of the cookies that begin at `at`. They extend to the end of the quotes, brackets, line or word.
fn extent(text: &[u8], at: usize, place: CookiePlace, quote: Option<u8>) -> Option<Range<usize>> {
    let end_max = text.len().min(at + COOKIES_BYTES_MAX);
    let escapes = text.get(at..end_max)?.iter().take(4).take_while(|byte| **byte == b'\\').count();
    let open = at + escapes;
    let rest = &text[open..end_max];
    let length = match *rest.first()? {
        b'[' | b'{' | b'(' => bracketed(rest),
        quote @ (b'"' | b'\'' | b'`') if place != CookiePlace::Call => {
            let ends = |byte: &u8| *byte == quote || b"\n\r".contains(byte);
            1 + rest[1..].iter().position(ends).unwrap_or(rest.len() - 1)
        }
        _ if rest.starts_with(b"dict(") => bracketed(rest),
        _ if place == CookiePlace::Value => {
            rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len())
        }
        _ if place == CookiePlace::Call => {
            rest.iter().position(|byte| b"\n\r".contains(byte)).unwrap_or(rest.len())
        }
        _ => line_length(rest, quote),
    };
    Some(open..open + length)
}

/// Returns the length of text in brackets.
fn bracketed(rest: &[u8]) -> usize {
    let rest = &rest[..rest.len().min(BRACKETS_BYTES_MAX)];
    let mut depth = 0usize;
    for (offset, byte) in rest.iter().enumerate() {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return offset;
                }
            }
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of an unquoted header, which extends to the end of the line, possibly an escaped one, or to the
/// quote that closes the string around it. Other quotes belong to a value.
fn line_length(rest: &[u8], quote: Option<u8>) -> usize {
    let mut inside = None;
    for (offset, &byte) in rest.iter().enumerate() {
        match byte {
            b'\n' | b'\r' => return offset,
            b'\\' if matches!(rest.get(offset + 1), Some(b'n' | b'r')) => return offset,
            b'"' | b'\'' | b'`' if inside == Some(byte) => inside = None,
            b'"' if inside.is_none() && offset > 0 && rest[offset - 1] == b'=' => {
                inside = Some(byte);
            }
            _ if inside.is_none() && quote == Some(byte) => return offset,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the secret values among the cookies of `range`.
fn secrets(text: &[u8], range: &Range<usize>, is_call: bool) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    // `name` is the name of the next value; `last` is the last word, which may turn out to be a name.
    let (mut name, mut last): (Option<Range<usize>>, Option<Range<usize>>) = (None, None);
    // A name from `Name: "sid"` belongs to the value after it.
    let mut told_name: Option<Range<usize>> = None;
    for (number, word) in words(text, range).enumerate() {
        let told = &text[word.clone()];
        let value = match (name.take(), told.iter().position(|byte| *byte == b'=')) {
            _ if matches!(told, b":" | b"=" | b"=>") => {
                name = last.take();
                continue;
            }
            (Some(name), _) => Some((name, word.clone())),
            (None, Some(sign)) => {
                let (of, value) = (word.start..word.start + sign, word.start + sign + 1..word.end);
                if value.is_empty() {
                    name = Some(of);
                    continue;
                }
                Some((of, value))
            }
            (None, None) if told.ends_with(b":") => {
                name = Some(word.start..word.end - 1);
                continue;
            }
            (None, None) => {
                let first = last.take().filter(|_| is_call && number == 1);
                first.map(|first| (first, word.clone()))
            }
        };
        if let Some((name, value)) = value {
            let of = match text[name.clone()].to_ascii_lowercase().as_slice() {
                b"name" => {
                    told_name = Some(value.clone());
                    name
                }
                b"value" => told_name.take().unwrap_or(name),
                _ => name,
            };
            if is_secret(&text[of], &text[value.clone()]) {
                secrets.push(value);
            }
        }
        last = Some(word);
    }
    secrets
}

/// Returns the words of a range, separated by spaces, quotes, brackets and the signs between cookies.
fn words<'t>(text: &'t [u8], range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let (mut at, end) = (range.start, range.end);
    let parts = |byte: u8| byte.is_ascii_whitespace() || b";,\"'`\\()[]{}<>|&".contains(&byte);
    std::iter::from_fn(move || {
        at += text[at..end].iter().take_while(|byte| parts(**byte)).count();
        let start = at;
        at += text[at..end].iter().take_while(|byte| !parts(**byte)).count();
        (start < at).then_some(start..at)
    })
}

/// Returns whether the value of a cookie grants access. It must appear random, and must be long unless its name
/// identifies it.
fn is_secret(name: &[u8], value: &[u8]) -> bool {
    const BYTES_MIN: usize = 16;
    const TOLD_BYTES_MIN: usize = 8;
    const JUDGED_BYTES_MAX: usize = 512;
    const NAME_BYTES_MAX: usize = 80;
    let value = &value[..value.len().min(JUDGED_BYTES_MAX)];
    let is_attribute = || WORDS.cookie_attribute.has(name);
    if value.len() < TOLD_BYTES_MIN
        || name.len() > NAME_BYTES_MAX
        || is_attribute()
        || WORDS.content.occur_in(name)
        || stand_in::is_stand_in(value)
        || shape::is_several_words(value)
    {
        return false;
    }
    if shape::has_random_part(value, BYTES_MIN) {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let is_part = |part: &[u8]| shape::is_random(part, TOLD_BYTES_MIN);
    let is_number = || value.len() >= BYTES_MIN && value.iter().all(u8::is_ascii_digit);
    WORDS.cookie_telling.occur_in(&name)
        && (value.split(|byte| !byte.is_ascii_alphanumeric()).any(is_part) || is_number())
}

/// Skips up to `max` of these bytes.
fn skip(text: &[u8], at: usize, max: usize, bytes: &[u8]) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    (at + rest.iter().take(max).take_while(|byte| bytes.contains(byte)).count()).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_bounded_however_often_a_text_contains_cookie() {
        let hits = |text: &str, word: &str| {
            let mut reader = CookieReader::default();
            let starts: Vec<usize> = text.match_indices(word).map(|(start, _)| start).collect();
            let mut read = |&start: &usize| {
                reader.next(text.as_bytes(), &(start..start + word.len())).is_some()
            };
            starts.iter().map(|start| usize::from(read(start))).sum::<usize>()
        };
        for (word, keyword) in [
            ("Cookie: ", "Cookie"),
            ("cookie(", "cookie"),
            ("Cookie=a", "Cookie"),
            ("cookies[\"a\"](", "cookie"),
            ("cookie.set(", "cookie"),
            ("{\"domain\"", "\"domain\""),
        ] {
            let text = word.repeat(20_000);
            let most = (NESTED_MAX + 1) * (text.len() / BRACKETS_BYTES_MAX + 1);
            let read = hits(&text, keyword);
            assert!((1..=most).contains(&read), "{word}: {read}");
        }
    }
}
