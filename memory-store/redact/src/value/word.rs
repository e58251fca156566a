//! Words of a text: where they begin and end, and the text around them.

use super::chosen;
use std::ops::Range;

use crate::value::{self, Promise, SIGNS, ValuePlace, judge};

/// Maximum length of a value in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 128;

/// Non-ASCII quotes before a value.
const QUOTES: [&[u8]; 8] = [
    "「".as_bytes(),
    "『".as_bytes(),
    "“".as_bytes(),
    "„".as_bytes(),
    "«".as_bytes(),
    "‘".as_bytes(),
    "”".as_bytes(),
    "👉".as_bytes(),
];

/// Returns whether a value, together with the sign after it, is a password that a person chose.
pub(crate) fn is_chosen_with_sign(text: &[u8], value: &Range<usize>) -> bool {
    const SIGNS: &[u8] = b"!#$%?^~*";
    let next = text.get(value.end + 1);
    let ends = next.is_none_or(|next| next.is_ascii_whitespace() || b"\"'`,.;:)".contains(next));
    ends && text.get(value.end).is_some_and(|sign| SIGNS.contains(sign))
        && chosen::is_chosen(&text[value.start..=value.end])
}

/// Returns the value that begins at `start` after a quote and ends before the next quote of the same kind.
pub(crate) fn quoted(text: &[u8], start: usize) -> Option<Range<usize>> {
    const VALUE_BYTES_MAX: usize = 64;
    let quote = text.get(start.checked_sub(1)?).filter(|byte| b"\"'`".contains(byte))?;
    let rest = text.get(start..)?;
    let rest = &rest[..rest.len().min(VALUE_BYTES_MAX)];
    let length = memchr::memchr(*quote, rest)?;
    let value = &rest[..length];
    let is_word = length > 0 && value.iter().all(u8::is_ascii_graphic) && !value.contains(&b'\\');
    is_word.then_some(start..start + length)
}

/// Returns the password at `at` if it appears random; it may contain any signs.
pub(crate) fn drawn(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = at..at + length(text.get(at..)?);
    let value = &text[word.clone()];
    let begins = value.first().is_some_and(|byte| !b"&*!?@#.-$".contains(byte));
    (begins && value::is_drawn_beside_name(value)).then_some(word)
}

/// Returns the length of the word at the start of a text. The word ends before a space, a quote, the next assignment, a
/// tag, or a bracket that closes one opened before the word.
pub(crate) fn length(text: &[u8]) -> usize {
    const TAG_BYTES_MAX: usize = 12;
    let text = &text[..text.len().min(VALUE_BYTES_MAX)];
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at + 1..];
        let name = rest.iter().take_while(|byte| is_name(byte)).count();
        let ends = match byte {
            // Inside a value, a quote is an ordinary sign.
            b'"' | b'\'' | b'`' => !is_inside(text, at),
            b'\\' => !is_inside(text, at) || b"nrtux".contains(&rest[0]),
            b'&' | b',' | b';' | b'|' => name > 0 && matches!(rest.get(name), Some(b'=' | b':')),
            b'<' => {
                let tag = rest.strip_prefix(b"/").unwrap_or(rest);
                let letters = tag.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
                (1..=TAG_BYTES_MAX).contains(&letters)
                    && matches!(tag.get(letters), Some(b'>' | b'/'))
            }
            b')' | b']' | b'}' => {
                opening(byte).is_some_and(|open| !text[..at].contains(&open))
                    && rest.first().is_none_or(|next| b".,;:)]}|>\"'`".contains(next))
            }
            _ => !byte.is_ascii_graphic() && letter_bytes(&text[at..]).is_none(),
        };
        if ends {
            break;
        }
        at += letter_bytes(&text[at..]).unwrap_or(1);
    }
    while let Some(last) = text[..at].last() {
        let closes = opening(*last).is_some_and(|open| !text[..at].contains(&open));
        if !closes && !b".,;:!?|*_".contains(last) {
            break;
        }
        at -= 1;
    }
    at
}

/// Returns whether a sign is inside a random string.
fn is_inside(text: &[u8], at: usize) -> bool {
    const BEFORE_BYTES_MIN: usize = 3;
    const BEHIND_BYTES_MIN: usize = 4;
    let behind = &text[at + 1..];
    let length = behind.iter().take_while(|byte| byte.is_ascii_graphic()).count();
    let has_both = |part: &[u8]| {
        part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    };
    at >= BEFORE_BYTES_MIN
        && length >= BEHIND_BYTES_MIN
        && behind[..BEHIND_BYTES_MIN - 1].iter().all(u8::is_ascii_alphanumeric)
        && has_both(&text[..at])
        && has_both(&behind[..BEHIND_BYTES_MIN])
        && text[at - 1].is_ascii_graphic()
}

/// Returns the opening bracket for a closing one.
fn opening(close: u8) -> Option<u8> {
    const PAIRS: [(u8, u8); 4] = [(b')', b'('), (b']', b'['), (b'}', b'{'), (b'>', b'<')];
    PAIRS.iter().find(|pair| pair.0 == close).map(|pair| pair.1)
}

/// Returns the length in bytes of a Latin letter that is not ASCII, or of such a sign on European keyboards; `None` for
/// other characters.
pub(crate) fn letter_bytes(text: &[u8]) -> Option<usize> {
    matches!(text, [0xC3..=0xC9, _, ..] | [0xC2, 0xA3 | 0xA7 | 0xB0 | 0xB5, ..]).then_some(2)
}

/// Returns the password at `at` that contains braces, which would end a value in code.
pub(crate) fn with_braces(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.iter().take(VALUE_BYTES_MAX);
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;&<>|".contains(byte);
    let length = rest.take_while(|byte| !is_end(byte)).count();
    let value = bare(text, &(at..at + length));
    value::has_braces_inside(&text[value.clone()]).then_some(value)
}

pub(crate) fn next(text: &[u8], at: usize) -> Option<Range<usize>> {
    const SPACES_MAX: usize = 3;
    let rest = text.get(at..)?;
    let spaces = rest.iter().take(SPACES_MAX).take_while(|byte| b" \t".contains(byte)).count();
    let word = rest[spaces..].iter().take(VALUE_BYTES_MAX);
    let length = word.take_while(|byte| !byte.is_ascii_whitespace()).count();
    (spaces > 0 && length > 0 && length < VALUE_BYTES_MAX)
        .then_some(at + spaces..at + spaces + length)
}

/// Returns a word without the quotes around it and the punctuation after it. If a word begins with ASCII, only its
/// ASCII part is returned.
pub(crate) fn bare(text: &[u8], word: &Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (skip_quote(text, word.start).min(word.end), word.end);
    while start < end && b"\"'`*(".contains(&text[start]) {
        start += 1;
    }
    let mut latin = start;
    while latin < end && (text[latin].is_ascii() || letter_bytes(&text[latin..end]).is_some()) {
        latin += if text[latin].is_ascii() { 1 } else { 2 };
    }
    if text[start..latin].iter().any(u8::is_ascii_digit) {
        end = latin;
    }
    while start < end && b"\"'`*).,;:!?".contains(&text[end - 1]) && end - start > 1 {
        end -= 1;
    }
    start..end
}

pub(crate) fn skip_quote(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + QUOTES.iter().find(|quote| rest.starts_with(quote)).map_or(0, |quote| quote.len())
}

/// Returns the password at `at` that contains signs which would end a value in code.
pub(crate) fn with_signs(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.iter().take(VALUE_BYTES_MAX);
    let length = rest.take_while(|byte| !byte.is_ascii_whitespace()).count();
    let value = bare(text, &(at..at + length));
    let told = &text[value.clone()];
    let is_code = told.iter().any(|byte| b"(){}[]<>|\"'`\\,;=/:".contains(byte))
        || [b"&&".as_slice(), b"?."].iter().any(|sign| memchr::memmem::find(told, sign).is_some());
    let has_sign = told.iter().any(|byte| SIGNS.contains(byte));
    let begins = value.start == at && told.first().is_some_and(u8::is_ascii_alphanumeric);
    (begins
        && has_sign
        && !is_code
        && judge(told, ValuePlace::Beside(Promise::Password)).is_secret())
    .then_some(value)
}

/// Returns whether a word mixes digits and letters, or has signs between them. Faster than judging the word.
pub(crate) fn may_be_value(word: &[u8]) -> bool {
    const BYTES: Range<usize> = 8..120;
    if !BYTES.contains(&word.len()) || !word.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let end = word.iter().rposition(|byte| !byte.is_ascii_punctuation()).map_or(0, |at| at + 1);
    let start = word.iter().position(|byte| !byte.is_ascii_punctuation()).unwrap_or(end);
    let word = &word[start..end];
    let is_code = |byte: &u8| b"()[]{}<>;\\".contains(byte);
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    let is_telling =
        |byte: &u8| byte.is_ascii_uppercase() || !byte.is_ascii() || b"!#$%^&*+=~?".contains(byte);
    let is_turn = |pair: &[u8]| pair[0].is_ascii_digit() && is_letter(&pair[1]);
    word.len() >= BYTES.start
        && word.iter().any(is_letter)
        && (word.iter().any(is_telling) || word.windows(2).any(is_turn))
        && !word.iter().any(is_code)
        && memchr::memmem::find(word, b"::").is_none()
}
