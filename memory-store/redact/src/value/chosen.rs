//! Values as people choose them: words with a number or a sign, and words that were drawn by lot.

use std::ops::RangeInclusive;

use super::{segments, shape, stand_in};
use crate::vocabulary::WORDS;
use memory_store_base::text::{self, rarity};

/// Signs that people put after the number of a password, or between a word and its number.
const CHOSEN_SIGNS: &[u8] = b"!*#$%?^~+.";

/// Returns whether a value looks like a password that a person chose where a sign was required: `Copper-Tiger1987!`,
/// `Granite$482`. A sentence may end like this too, so in prose a value counts as a password only in quotes.
pub(crate) fn is_chosen(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 4;
    const LETTERS_MAX: usize = 24;
    const DIGITS: RangeInclusive<usize> = 2..=4;
    const INNER_DIGITS_MIN: usize = 3;
    let is_sign = |byte: &u8| CHOSEN_SIGNS.contains(byte);
    let core = value.split_last().filter(|(last, _)| is_sign(last)).map(|(_, core)| core);
    let has_end = core.is_some();
    let core = core.unwrap_or(value);
    let digits = core.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let words = &core[..core.len() - digits];
    let has_inner = words.last().is_some_and(is_sign) && digits >= INNER_DIGITS_MIN;
    let words = if has_inner { &words[..words.len() - 1] } else { words };
    let is_word = |word: &[u8]| word.len() >= 3 && word.iter().all(u8::is_ascii_alphabetic);
    let is_dotted =
        value.contains(&b'.') && !value.iter().any(|byte| *byte != b'.' && is_sign(byte));
    (LETTERS_MIN..=LETTERS_MAX).contains(&words.len())
        && DIGITS.contains(&digits)
        && (has_end || has_inner)
        && words.split(|byte| *byte == b'-').all(is_word)
        // In `marked1.`, the dot ends a sentence.
        && !(is_dotted && (digits < INNER_DIGITS_MIN || !words.iter().any(u8::is_ascii_uppercase)))
        && !stand_in::stands_for_something(value)
}

/// Returns whether a value is words drawn by lot and joined by one sign, as password managers make them (Reinhold,
/// Diceware): `granite-maple-pepper-coffee-33`. Names in code are joined in the same way, but their words occur in
/// technical texts.
pub(crate) fn is_joined_phrase(value: &[u8]) -> bool {
    const PARTS: RangeInclusive<usize> = 4..=8;
    const LETTERS: RangeInclusive<usize> = 3..=10;
    const END_BYTES_MAX: usize = 4;
    // Minimum rarity in technical texts, for three of four words and for every word: `correct` has 4.2, `not` and `the`
    // have less.
    const IDF_UNCOMMON: f32 = 6.0;
    const IDF_MIN: f32 = 3.5;
    let Some(sign) = value.iter().copied().find(|byte| b"-_.".contains(byte)) else { return false };
    let mut parts: Vec<&[u8]> = value.split(|byte| *byte == sign).collect();
    // The last part may be a number, a sign or a letter that a policy requires.
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    if let Some(last) = parts.pop() {
        let small = last.iter().skip(1).take_while(|byte| byte.is_ascii_lowercase()).count();
        let letters = if last.first().is_some_and(is_letter) { small + 1 } else { 0 };
        if last.len() - letters > END_BYTES_MAX {
            return false;
        }
        parts.extend(Some(&last[..letters]).filter(|letters| !letters.is_empty()));
    }
    let is_told = |part: &&[u8]| {
        LETTERS.contains(&part.len())
            && part.iter().all(is_letter)
            && part[1..].iter().all(u8::is_ascii_lowercase)
    };
    let uncommon = parts.iter().filter(|part| is_rarer(part, IDF_UNCOMMON)).count();
    let differ = parts.iter().enumerate().all(|(at, part)| !parts[..at].contains(part));
    PARTS.contains(&parts.len())
        && parts.iter().all(is_told)
        && differ
        && !parts.iter().any(|part| WORDS.naming.has(part))
        && uncommon * 4 >= parts.len() * 3
        && parts.iter().all(|part| is_rarer(part, IDF_MIN))
}

/// Returns whether a value is words drawn by lot, at a place where a name of several words is also possible. The words
/// must be joined by dashes, and none may be short or common.
pub(crate) fn is_lone_phrase(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 4;
    const IDF_MIN: f32 = 4.0;
    const END_BYTES_MAX: usize = 4;
    let is_word = |part: &[u8]| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let is_end = part.len() <= END_BYTES_MAX && part.iter().any(u8::is_ascii_digit);
        is_end || letters >= LETTERS_MIN && is_rarer(&part[..letters], IDF_MIN)
    };
    memchr::memchr_iter(b'-', value).nth(2).is_some()
        && value.split(|byte| *byte == b'-').all(is_word)
        && is_joined_phrase(value)
}

/// Returns whether a word has at least this rarity in technical texts.
fn is_rarer(word: &[u8], idf: f32) -> bool {
    let Ok(word) = str::from_utf8(word) else { return false };
    text::tokens(word).iter().all(|token| rarity::idf(text::term_hash(&token.term)) >= idf)
}

/// Returns whether a value in quotes is one that people choose, or words drawn by lot.
pub(crate) fn is_chosen_or_drawn(value: &[u8]) -> bool {
    is_chosen(value) || is_joined_phrase(value)
}

/// Returns whether a value is at least two words followed by a number, with a capital or a sign between the words that
/// names do not have: `GraniteBadger33`, `Granite~badger_33`, `Granite+badger.33`.
pub(crate) fn are_words_with_number(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 3;
    const DIGITS: RangeInclusive<usize> = 2..=4;
    let segments: Vec<&[u8]> = segments::segments(value).collect();
    let Some((number, words)) = segments.split_last() else { return false };
    let is_word = |word: &&[u8]| word.len() >= LETTERS_MIN && !word[0].is_ascii_digit();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let is_part = |byte: &u8| is_letter(byte) || b"!#$%^&*+=~?_.-".contains(byte);
    let has_sign = value.iter().any(|byte| b"!#$%^&*+=~?".contains(byte));
    DIGITS.contains(&number.len())
        && number.iter().all(u8::is_ascii_digit)
        && words.len() >= 2
        && words.iter().all(is_word)
        && value.iter().all(is_part)
        && is_letter(&value[0])
        && (has_sign || value[0].is_ascii_uppercase() || !value[0].is_ascii())
}

/// Returns whether a value ends with a number and a sign, which people put there and code does not:
/// `Dragon-Lantern89*`.
pub(crate) fn ends_as_chosen(value: &[u8]) -> bool {
    const DIGITS_MIN: usize = 2;
    let Some((sign, value)) = value.split_last() else { return false };
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    b"!*#$%?^~+".contains(sign)
        && digits >= DIGITS_MIN
        && value[..value.len() - digits].iter().any(u8::is_ascii_alphabetic)
}

/// Returns the letters and the digits of a word with a number at its end; `None` for other values.
fn word_and_number(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let letters = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, number) = value.split_at(letters);
    (letters > 0 && number.iter().all(u8::is_ascii_digit)).then_some((word, number))
}

/// Returns whether a value is a word with a few digits at its end, as people choose passwords. The word must be longer
/// than names that have a version.
pub(crate) fn is_numbered(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 8;
    word_and_number(value).is_some_and(|(word, number)| {
        word.len() >= LETTERS_MIN
            && (2..=4).contains(&number.len())
            && shape::case_changes(value) == 0
    })
}

/// Returns whether a value is a long word that does not occur in technical texts, with a number of this many digits:
/// `Granitebadger3311`.
fn is_rare_word_with_number(
    value: &[u8],
    letters_min: usize,
    digits: RangeInclusive<usize>,
) -> bool {
    word_and_number(value).is_some_and(|(word, number)| {
        word.len() >= letters_min
            && digits.contains(&number.len())
            && word[1..].iter().all(u8::is_ascii_lowercase)
            && !segments::has_word(word)
    })
}

/// Returns whether a value is words that are not joined in technical texts, with a number, as people choose passwords:
/// `Granitebadger3311`.
pub(crate) fn is_long_word_with_number(value: &[u8]) -> bool {
    is_rare_word_with_number(value, 10, 3..=4)
}

/// Returns whether a value is one long word that does not occur in technical texts, with a number that is not a year:
/// `Brightotter7714`.
pub(crate) fn is_word_with_number(value: &[u8]) -> bool {
    let is_year =
        |(_, number): (&[u8], &[u8])| number.starts_with(b"19") || number.starts_with(b"20");
    is_rare_word_with_number(value, 9, 4..=4) && !word_and_number(value).is_some_and(is_year)
}
