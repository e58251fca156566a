//! Values that appear random as a whole, with any signs between their parts: `kP4vT9-x8mQ2zL`, `hujfyb-9kynqe-byrBax`.
//! Letters that form a word of technical texts count against this, and so do names in code that consist of such words.

use super::shape;
use crate::vocabulary::WORDS;
use memory_store_base::text::{self, rarity};

/// Minimum and maximum length of a random value.
const VALUE_BYTES_MIN: usize = 8;
const VALUE_BYTES_MAX: usize = 128;

/// Minimum number of letters of a word.
const WORD_LETTERS_MIN: usize = 3;

/// Returns whether a value without spaces appears random.
pub(crate) fn is_drawn(value: &[u8]) -> bool {
    let Some(odd) = Odd::of(value) else { return false };
    let is_mixed = value.iter().any(u8::is_ascii_digit) || shape::case_changes(value) > 0;
    odd.bytes >= VALUE_BYTES_MIN - 1
        && odd.bytes * 2 >= odd.core
        && odd.letters >= 3
        && (is_mixed || odd.has_consonants)
        && !stands_for_something(value)
        && shape::entropy(value) >= 2.6
}

/// Returns whether a value appears random and mixes digits and letters within a part.
pub(crate) fn is_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        && value.split(|byte| !is_letter_or_digit(*byte)).any(mixes)
        && is_drawn(value)
}

/// Returns whether a value appears random even where code is possible: it has digits and letters of both cases, and
/// mixes them within parts between its signs.
pub(crate) fn is_drawn_in_code(value: &[u8]) -> bool {
    const MIXED_PARTS_BYTES_MIN: usize = 3;
    const TURNS_MIN: usize = 5;
    const CALLS: [&[u8]; 14] = [
        b"()", b"[]", b"{}", b"=>", b"->", b"||", b"&&", b"::", b"?.", b"==", b"!=", b");", b"],",
        b"${",
    ];
    // `Argon2Id{salt}`
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
    // `m41PB2qs353f2` has its upper-case letters between digits.
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
        && is_drawn(value)
}

/// Returns whether a value in the place of a name, such as that of a variable, is random.
pub(crate) fn is_scrambled(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 10;
    value.len() >= BYTES_MIN && is_drawn_in_code(value) && !has_word(value)
}

/// Returns whether this is a name in code with a digit inside: `RenderPass2D`, `Base64Encoded`, `PinEntryV2Activity`.
/// Passwords also consist of two words and a number, so the number must then be a number of bits.
pub(crate) fn is_name_with_digits(value: &[u8]) -> bool {
    const PARTS_MIN: usize = 3;
    const BITS: [&[u8]; 7] = [b"8", b"16", b"32", b"64", b"128", b"256", b"512"];
    let name = value.split(|byte| *byte == b'.').next().unwrap_or_default();
    let segments = || segments(name);
    let mut numbers = segments().filter(|segment| segment[0].is_ascii_digit());
    let Some(number) = numbers.next() else { return false };
    let parts = segments().filter(|it| it.len() >= 2 && !it[0].is_ascii_digit()).count();
    let is_plane = name.ends_with(b"2D") || name.ends_with(b"3D");
    numbers.next().is_none()
        && !name.ends_with(number)
        && (parts >= PARTS_MIN && number.len() == 1
            || parts + 1 >= PARTS_MIN && (is_plane || BITS.contains(&number)))
        && name[0].is_ascii_uppercase()
        && name.iter().all(u8::is_ascii_alphanumeric)
        && Odd::of(name).is_some_and(|odd| odd.bytes * 2 <= odd.core)
}

/// Bytes of a value outside of words.
struct Odd {
    bytes: usize,
    /// Letters among them.
    letters: usize,
    /// Letters and digits of the value.
    core: usize,
    /// True if it has a sequence of consonants that no language has.
    has_consonants: bool,
}

impl Odd {
    /// Counts them; `None` if the length or the characters exclude a random value.
    fn of(value: &[u8]) -> Option<Self> {
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
            // More digits hardly increase the randomness of a number.
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

/// Returns whether a value is a random number: no count or measure, no round number, no date, no time.
pub(crate) fn is_drawn_number(value: &[u8]) -> bool {
    const DIGITS_MIN: usize = 9;
    const DIGITS_MAX: usize = 20;
    const KINDS_MIN: usize = 5;
    let is_next = |pair: &&[u8]| pair[0].abs_diff(pair[1]) <= 1;
    let is_time = matches!(value.len(), 10 | 13 | 16) && value.starts_with(b"1")
        || value.len() >= 12 && (value.starts_with(b"19") || value.starts_with(b"20"));
    let kinds = (b'0'..=b'9').filter(|digit| value.contains(digit)).count();
    (DIGITS_MIN..=DIGITS_MAX).contains(&value.len())
        && value.iter().all(u8::is_ascii_digit)
        && !is_time
        && kinds >= KINDS_MIN
        && value.windows(2).filter(is_next).count() * 2 < value.len()
}

/// Returns whether a value of two or three parts with spaces between them appears random, each part of it.
pub(crate) fn is_drawn_phrase(value: &[u8]) -> bool {
    const PARTS_MAX: usize = 3;
    const PART_BYTES_MIN: usize = 4;
    let parts = || value.split(|byte| *byte == b' ');
    let is_part = |part: &[u8]| {
        let has = |is_kind: fn(&u8) -> bool| part.iter().any(is_kind);
        part.len() >= PART_BYTES_MIN
            && part.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'`<>(){}=;\\".contains(byte))
            && has(u8::is_ascii_alphabetic)
            && (has(u8::is_ascii_digit) || shape::case_changes(part) > 0)
            && !has_word(part)
            && !stands_for_something(part)
    };
    (2..=PARTS_MAX).contains(&parts().count())
        && parts().all(is_part)
        && parts().any(|part| mixes(part) && part.iter().any(u8::is_ascii_digit))
        && shape::entropy(value) >= 3.0
}

/// Returns whether a part of a value is a longer word of technical texts.
pub(crate) fn has_word(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 4;
    segments(value).any(|segment| segment.len() >= LETTERS_MIN && is_word(segment))
}

/// Returns the runs of digits and of letters of a value; names in code are split at upper-case letters that begin a
/// word.
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

fn is_letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Returns whether letters form a word of technical texts.
fn is_word(segment: &[u8]) -> bool {
    let Ok(word) = str::from_utf8(segment) else { return false };
    segment.len() >= WORD_LETTERS_MIN
        && !segment[0].is_ascii_digit()
        && text::tokens(word).iter().all(|token| !rarity::is_unknown(&token.term))
}

/// Returns whether these are random words joined by one sign, as generated by password managers (Reinhold, Diceware):
/// `granite-maple-pepper-coffee-33`. Names in code have this form too, but with words of technical texts.
pub(crate) fn is_joined_phrase(value: &[u8]) -> bool {
    const PARTS: std::ops::RangeInclusive<usize> = 4..=8;
    const LETTERS: std::ops::RangeInclusive<usize> = 3..=10;
    const END_BYTES_MAX: usize = 4;
    // Minimum rarity in technical texts of three words in four, and of each: `correct` has 4.2, `not` and `the` have
    // less.
    const IDF_UNCOMMON: f32 = 6.0;
    const IDF_MIN: f32 = 3.5;
    let Some(sign) = value.iter().copied().find(|byte| b"-_.".contains(byte)) else { return false };
    let mut parts: Vec<&[u8]> = value.split(|byte| *byte == sign).collect();
    // A number, a sign or a letter, as required by password rules, may be at the end.
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

/// Signs that people put after the number of a password, or between a word and its number.
const CHOSEN_SIGNS: &[u8] = b"!*#$%?^~+.";

/// Returns whether a value has the form of a chosen password with a required sign: `Copper-Tiger1987!`, `Granite$482`.
/// In text a sentence may end so, so it counts as a password in quotes only.
pub(crate) fn is_chosen(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 4;
    const LETTERS_MAX: usize = 24;
    const DIGITS: std::ops::RangeInclusive<usize> = 2..=4;
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
        // `marked1.` ends a sentence.
        && !(is_dotted && (digits < INNER_DIGITS_MIN || !words.iter().any(u8::is_ascii_uppercase)))
        && !stands_for_something(value)
}

/// Returns whether these are random words even where a name of several words is possible: joined by dashes, none of
/// them short or common.
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

/// Returns whether a word is at least this rare in technical texts.
fn is_rarer(word: &[u8], idf: f32) -> bool {
    let Ok(word) = str::from_utf8(word) else { return false };
    text::tokens(word).iter().all(|token| rarity::idf(text::term_hash(&token.term)) >= idf)
}

/// Returns whether a part has digits before letters, or upper-case letters after lower-case ones.
fn mixes(part: &[u8]) -> bool {
    part.windows(2).any(|pair| {
        pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic()
            || pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
    })
}

/// Returns whether this is a placeholder, a path, an address, a number or an id.
pub(crate) fn stands_for_something(value: &[u8]) -> bool {
    shape::is_placeholder(value)
        || shape::is_fake(value)
        || shape::is_stop_word(value)
        || shape::is_numeric(value)
        || shape::is_version_or_colour(value)
        || shape::is_path(value)
        || memchr::memmem::find(value, b"://").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_values_are_told_from_names_and_code() {
        for value in [
            "hujfyb-9kynqe-byrBax",
            "Tirxoq-4wumza-kebvyp",
            "kP4vT9-x8mQ2zL",
            "v<T4k>Qe#9(zN_pM2w",
            "Xk3.p9Qz.L0vT7",
            "aB3PQvv9PBm/x1",
            "GrüßeK4öln9x",
            "Wq7_Lp2_Zx9",
            "QwZkRtPlMnBx",
            "qzkvmwrtplxn",
        ] {
            assert!(is_drawn(value.as_bytes()), "{value}");
        }
        for value in [
            "x86_64-unknown-linux-gnu",
            "user@host1.test",
            "foo(bar1234)",
            "TestTruncateTranscript",
            "npm:@scope/name-2",
            "my_db_pass_1",
            "user-service-v2",
            "getAccessToken",
            "PinEntryV2Activity",
            "Passw0rdValidatorTest",
            "RenderPass2D",
            "Base64Encoded",
            "release-2024-11",
            "correcthorsebattery",
            "req.body.password",
            "Option<Base64Url>",
        ] {
            assert!(!is_drawn(value.as_bytes()), "{value}");
        }
    }
}
