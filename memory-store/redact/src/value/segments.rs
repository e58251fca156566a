//! Segments of a value: runs of digits and of letters. Determines which of them are words, and whether the rest looks
//! random.

use super::shape;
use memory_store_base::text::{self, rarity};

/// Minimum and maximum length in bytes of a value that may look random.
const VALUE_BYTES_MIN: usize = 8;

const VALUE_BYTES_MAX: usize = 128;

/// Minimum number of letters in a word.
const WORD_LETTERS_MIN: usize = 3;

/// Returns whether a value without spaces looks random and is not a stand-in for another value.
pub(crate) fn looks_drawn(value: &[u8]) -> bool {
    let Some(odd) = Odd::of(value) else { return false };
    let is_mixed = value.iter().any(u8::is_ascii_digit) || shape::case_changes(value) > 0;
    odd.bytes >= VALUE_BYTES_MIN - 1
        && odd.bytes * 2 >= odd.core
        && odd.letters >= 3
        && (is_mixed || odd.has_consonants)
        && shape::entropy(value) >= 2.6
}

/// Returns whether a value looks random even where code is possible: it has digits and letters of both cases, and mixes
/// them within the parts between its signs.
pub(crate) fn looks_drawn_in_code(value: &[u8]) -> bool {
    const MIXED_PARTS_BYTES_MIN: usize = 3;
    const TURNS_MIN: usize = 5;
    const CALLS: [&[u8]; 14] = [
        b"()", b"[]", b"{}", b"=>", b"->", b"||", b"&&", b"::", b"?.", b"==", b"!=", b");", b"],",
        b"${",
    ];
    // `Argon2Id{salt}` is a call.
    let name = value.iter().take_while(|byte| is_letter_or_digit(**byte)).count();
    let is_call = name > 1
        && value.get(name).is_some_and(|byte| b"({[<".contains(byte))
        && value.last().is_some_and(|byte| b")}]>".contains(byte));
    let has = |is_kind: fn(&u8) -> bool| value.iter().any(is_kind);
    let parts = value.split(|byte| !is_letter_or_digit(*byte));
    let changes_case = value.windows(2).any(|pair| {
        pair.iter().all(u8::is_ascii_alphabetic)
            && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()
    });
    // In `m41PB2qs353f2`, the capitals are between digits.
    let turns = value
        .windows(2)
        .filter(|pair| pair.iter().all(u8::is_ascii_alphanumeric))
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count();
    let mixed: usize = parts.filter(|part| mixes(part)).map(<[u8]>::len).sum();
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && !is_call
        && (turns >= TURNS_MIN || changes_case)
        && mixed >= MIXED_PARTS_BYTES_MIN
        && !CALLS.iter().any(|call| memchr::memmem::find(value, call).is_some())
        && looks_drawn(value)
}

/// Returns whether a value looks random at a place that usually contains a name, such as the name of a variable.
pub(crate) fn is_scrambled(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 10;
    value.len() >= BYTES_MIN && looks_drawn_in_code(value) && !has_word(value)
}

/// Number of bytes in a value that belong to no word.
pub(crate) struct Odd {
    pub(crate) bytes: usize,
    /// Number of letters among these bytes.
    letters: usize,
    /// Number of letters and digits in the value.
    pub(crate) core: usize,
    /// True if consonants follow each other as in no language.
    has_consonants: bool,
}

impl Odd {
    /// Counts the bytes; `None` if a random value cannot have this length or these characters.
    pub(crate) fn of(value: &[u8]) -> Option<Self> {
        const CONSONANTS_MIN: usize = 5;
        const DIGITS_MAX: usize = 4;
        let is_value = (VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&value.len())
            && value.iter().all(|byte| byte.is_ascii_graphic() || !byte.is_ascii());
        if !is_value {
            return None;
        }
        let mut odd = Self { bytes: 0, letters: 0, core: 0, has_consonants: false };
        for segment in segments(value) {
            odd.core += segment.len();
            if is_word(segment) {
                continue;
            }
            // Further digits hardly make a number more random.
            let is_number = segment[0].is_ascii_digit();
            odd.bytes += if is_number { segment.len().min(DIGITS_MAX) } else { segment.len() };
            odd.letters += segment.iter().filter(|byte| !byte.is_ascii_digit()).count();
            odd.has_consonants |= segment
                .split(|byte| b"aeiouyAEIOUY0123456789".contains(byte))
                .any(|run| run.len() >= CONSONANTS_MIN);
        }
        Some(odd)
    }
}

/// Returns whether a part of a value is a word that occurs in technical texts and is not short.
pub(crate) fn has_word(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 4;
    segments(value).any(|segment| segment.len() >= LETTERS_MIN && is_word(segment))
}

/// Returns the runs of digits and of letters in a value. Names in code are split where a word begins with a capital.
pub(crate) fn segments(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = value.split(|byte| !is_letter_or_digit(*byte));
    let goes_on = |byte: &u8, next: &u8| {
        byte.is_ascii_digit() == next.is_ascii_digit()
            && (!next.is_ascii_uppercase() || byte.is_ascii_uppercase())
    };
    parts.flat_map(move |part| part.chunk_by(goes_on)).flat_map(|run| {
        // `HTTPServer` is two words.
        let capitals = run.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let (acronym, word) =
            run.split_at(if capitals > 1 && capitals < run.len() { capitals - 1 } else { 0 });
        [acronym, word].into_iter().filter(|segment| !segment.is_empty())
    })
}

pub(crate) fn is_letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Returns whether letters form a word that occurs in technical texts.
pub(crate) fn is_word(segment: &[u8]) -> bool {
    let Ok(word) = str::from_utf8(segment) else { return false };
    segment.len() >= WORD_LETTERS_MIN
        && !segment[0].is_ascii_digit()
        && text::tokens(word).iter().all(|token| !rarity::is_unknown(&token.term))
}

/// Returns whether a part has digits before letters, or capitals after lower-case letters.
pub(crate) fn mixes(part: &[u8]) -> bool {
    part.windows(2).any(|pair| {
        pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic()
            || pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
    })
}
