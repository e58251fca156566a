//! Secrets that are told in prose: "the password is ...", "API key ...", and passwords with signs that code
//! does not have in a name.

use std::ops::Range;

use super::{Promise, shape};

/// The longest value that is looked at.
const VALUE_BYTES_MAX: usize = 128;

/// Signs of Markdown that may stand right behind the name.
const MARKS_MAX: usize = 3;

/// Words that may stand between the name and its value.
const WORDS_MAX: usize = 4;

/// Signs that passwords have and names in code have not.
const SIGNS: &[u8] = b"&!#%^*?~+@$";

/// The words that say what the value is.
const COPULAS: [&[u8]; 9] = [b"is", b"was", b"are", b"=", b":", b"lautet", b"ist", b"est", b"es"];

/// Finds the value that a sentence gives to the name at `name`.
pub(super) fn find(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let lead = &text[name.start.saturating_sub(4)..name.start];
    let is_api = lead.eq_ignore_ascii_case(b"api ");
    if promise == Promise::SomeKey && !is_api {
        return None;
    }
    // The name may be emphasised: `**password** is ...`.
    let marks = text[name.end..].iter().take(MARKS_MAX).take_while(|byte| b"*`".contains(byte));
    let mut at = name.end + marks.count();
    for place in 0..=WORDS_MAX {
        let word = next_word(text, at)?;
        let value = bare(text, &word);
        let told = &text[value.clone()];
        if COPULAS.iter().any(|copula| told.eq_ignore_ascii_case(copula)) {
            let word = next_word(text, word.end)?;
            let value = bare(text, &word);
            return is_secret(&text[value.clone()], promise, true).then_some(value);
        }
        if place == 0 && is_secret(told, promise, false) {
            return Some(value);
        }
        let goes_on = told.len() <= 16
            && told.len() == word.len()
            && told.iter().all(u8::is_ascii_alphabetic);
        if !goes_on {
            return None;
        }
        at = word.end;
    }
    None
}

/// The password at `at` that has signs at which a value in code ends.
pub(super) fn with_signs(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.iter().take(VALUE_BYTES_MAX);
    let length = rest.take_while(|byte| !byte.is_ascii_whitespace()).count();
    let value = bare(text, &(at..at + length));
    let told = &text[value.clone()];
    let is_code = told.iter().any(|byte| b"(){}[]<>|\"'`\\,;=/:".contains(byte))
        || [b"&&".as_slice(), b"?."].iter().any(|sign| memchr::memmem::find(told, sign).is_some());
    let has_sign = told.iter().any(|byte| SIGNS.contains(byte));
    let begins = value.start == at && told.first().is_some_and(u8::is_ascii_alphanumeric);
    (begins && has_sign && !is_code && is_secret(told, Promise::Password, false)).then_some(value)
}

/// Whether letters change their case as in no name, and there is a digit.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 8;
    value.len() >= BYTES_MIN
        && value.iter().any(u8::is_ascii_digit)
        && shape::case_changes(value) >= 2
}

fn is_secret(value: &[u8], promise: Promise, is_told: bool) -> bool {
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    let digits = value.iter().any(u8::is_ascii_digit);
    if !letters
        || !digits
        || value.len() < 6
        || !value.iter().all(u8::is_ascii_graphic)
        || value.iter().any(|byte| b"(){}[]<>|/\\\"'`=;,".contains(byte))
        || shape::is_placeholder(value)
        || shape::is_fake(value)
        || shape::is_stop_word(value)
        || shape::is_version_or_colour(value)
        || super::is_member(value)
    {
        return false;
    }
    let turns = value.windows(2).filter(|pair| {
        pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic()
            || pair[0].is_ascii_alphabetic() && pair[1].is_ascii_digit()
    });
    let has_sign = value.iter().any(|byte| SIGNS.contains(byte));
    let is_compound = value.iter().any(|byte| b"-_.:".contains(byte)) && !has_sign;
    match promise {
        Promise::Key | Promise::SomeKey => {
            shape::is_random(value, 16) && !value.iter().all(u8::is_ascii_hexdigit)
        }
        Promise::Password if is_compound => shape::has_random_part(value, 12),
        Promise::Password if is_told => true,
        Promise::Password => {
            value.len() >= 8 && (has_sign || is_mixed(value) || turns.count() >= 3)
        }
    }
}

fn next_word(text: &[u8], at: usize) -> Option<Range<usize>> {
    const SPACES_MAX: usize = 3;
    let rest = text.get(at..)?;
    let spaces = rest.iter().take(SPACES_MAX).take_while(|byte| b" \t".contains(byte)).count();
    let word = rest[spaces..].iter().take(VALUE_BYTES_MAX);
    let length = word.take_while(|byte| !byte.is_ascii_whitespace()).count();
    (spaces > 0 && length > 0 && length < VALUE_BYTES_MAX)
        .then_some(at + spaces..at + spaces + length)
}

/// A word without the quotes around it and the signs of a sentence behind it.
fn bare(text: &[u8], word: &Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (word.start, word.end);
    while start < end && b"\"'`*(".contains(&text[start]) {
        start += 1;
    }
    while start < end && b"\"'`*).,;:".contains(&text[end - 1]) && end - start > 1 {
        end -= 1;
    }
    start..end
}
