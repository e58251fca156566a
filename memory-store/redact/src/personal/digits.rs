//! Detection of card numbers, personal numbers and telephone numbers among other numbers.

use std::ops::Range;

use crate::personal::checksum::luhn;
use crate::vocabulary::{WORDS, WordList};

/// Number of bytes before a number that are searched for words that explain the number.
const LEAD_BYTES: usize = 40;

/// Maximum length in bytes of a telephone number with its signs.
pub(crate) const DIALLED_BYTES_MAX: usize = 26;

/// A run of digits, with at most one sign between two digits.
struct DigitRun {
    digits: Vec<u8>,
    /// Lengths of the groups between signs.
    groups: Vec<usize>,
    end: usize,
}

/// Reads digits, and those of `signs` that a digit follows. Returns `None` if there is no such run.
fn run(text: &[u8], start: usize, signs: &[u8], digits_max: usize) -> Option<DigitRun> {
    let mut digits = Vec::new();
    let mut groups = vec![0];
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        if byte.is_ascii_digit() {
            if digits.len() == digits_max {
                return None;
            }
            digits.push(byte);
            if let Some(group) = groups.last_mut() {
                *group += 1;
            }
        } else if signs.contains(&byte)
            && text.get(at + 1).is_some_and(u8::is_ascii_digit)
            && !digits.is_empty()
        {
            groups.push(0);
        } else {
            break;
        }
        at += 1;
    }
    let goes_on = text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        || text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit);
    let before = start.checked_sub(1).map(|at| text[at]);
    let comes_from = before.is_some_and(|byte| b".-/#".contains(&byte));
    (!goes_on && !comes_from).then_some(DigitRun { digits, groups, end: at })
}

/// Returns whether one of the words is shortly before `start`.
fn is_after(text: &[u8], start: usize, words: &WordList) -> bool {
    words.occur_in(&text[start.saturating_sub(LEAD_BYTES)..start])
}

/// Returns whether there are enough digits for a card number or a personal number. This check is fast, and few numbers
/// are long enough.
pub(crate) fn are_many(text: &[u8], start: usize) -> bool {
    // The shortest number is `536-90-4399`; the first bytes of a grouped number contain at least as many digits.
    const BYTES: usize = 11;
    const DIGITS_MIN: usize = 7;
    text.get(start..start + BYTES).is_some_and(|begin| {
        begin.iter().filter(|byte| byte.is_ascii_digit()).count() >= DIGITS_MIN
    })
}

/// Returns a payment card number. It is validated by an issuer's range (ISO/IEC 7812), its length, the Luhn formula,
/// and the groups in which cards print it.
pub(crate) fn card(text: &[u8], start: usize, strict: bool) -> Option<Range<usize>> {
    let run = run(text, start, b" -", 19)?;
    let groups = matches!(
        run.groups.as_slice(),
        [_] | [4, 4, 4, 4] | [4, 6, 5] | [4, 6, 4] | [4, 4, 4, 1..=3] | [4, 4, 4, 4, 1..=3]
    );
    let is_card = is_issued(&run.digits)
        || run.digits.len() == 15
            && run.digits[0] == b'1'
            && (strict || is_after(text, start, &WORDS.card_number));
    (groups && is_card && luhn(&run.digits) && !is_round(&run.digits, strict))
        .then_some(start..run.end)
}

/// Returns whether nearly all digits are zeros, as in a size or a time.
fn is_round(digits: &[u8], strict: bool) -> bool {
    !strict && digits.iter().rev().take_while(|digit| **digit == b'0').count() >= 6
}

fn is_issued(digits: &[u8]) -> bool {
    let prefix = |length: usize| {
        digits.iter().take(length).fold(0u32, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    };
    match digits.len() {
        13 | 19 if digits[0] == b'4' => true,
        14 => matches!(prefix(3), 300..=305 | 309 | 360..=369 | 380..=399),
        15 => matches!(prefix(2), 34 | 37),
        16 => {
            digits[0] == b'4'
                || matches!(prefix(2), 50..=58 | 62 | 65 | 67)
                || matches!(prefix(4), 2221..=2720 | 3528..=3589 | 6011 | 6440..=6499)
        }
        17..=19 => matches!(prefix(2), 62 | 65),
        _ => false,
    }
}

/// Returns a personal number that is valid by its form or its checksum.
pub(crate) fn national_id(text: &[u8], start: usize) -> Option<Range<usize>> {
    ssn(text, start).or_else(|| cpf(text, start)).or_else(|| nir(text, start))
}

/// Returns a social security number of the United States. Only its structure is validated, because it has no checksum.
fn ssn(text: &[u8], start: usize) -> Option<Range<usize>> {
    // These numbers were printed in advertisements.
    const PRINTED: [&[u8]; 2] = [b"078051120", b"219099999"];
    let run = run(text, start, b"-", 9)?;
    if run.groups != [3, 2, 4] {
        return None;
    }
    let (area, rest) = run.digits.split_at(3);
    let (group, serial) = rest.split_at(2);
    let is_given = area != b"000"
        && area != b"666"
        && area[0] != b'9'
        && group != b"00"
        && serial != b"0000"
        && !PRINTED.contains(&run.digits.as_slice());
    is_given.then_some(start..run.end)
}

/// Returns a Brazilian personal number with valid check digits.
fn cpf(text: &[u8], start: usize) -> Option<Range<usize>> {
    let written = text.get(start..start + 14)?;
    let is_form = written.iter().enumerate().all(|(at, byte)| match at {
        3 | 7 => *byte == b'.',
        11 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if !is_form || text.get(start + 14).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let digits: Vec<u32> =
        written.iter().filter(|b| b.is_ascii_digit()).map(|b| u32::from(b - b'0')).collect();
    let check = |count: usize| {
        let weights = (2..=count as u32 + 1).rev();
        let sum: u32 =
            digits[..count].iter().zip(weights).map(|(digit, weight)| digit * weight).sum();
        sum * 10 % 11 % 10
    };
    let differs = digits.iter().any(|digit| *digit != digits[0]);
    (differs && check(9) == digits[9] && check(10) == digits[10]).then_some(start..start + 14)
}

/// Returns a French personal number in its groups, with a valid key.
fn nir(text: &[u8], start: usize) -> Option<Range<usize>> {
    let run = run(text, start, b" ", 15)?;
    if run.groups != [1, 2, 2, 2, 3, 3, 2] {
        return None;
    }
    let number =
        |digits: &[u8]| digits.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let (body, key) = run.digits.split_at(13);
    (97 - number(body) % 97 == number(key)).then_some(start..run.end)
}

/// Returns an Italian tax code with a valid check letter.
pub(crate) fn codice_fiscale(text: &[u8], start: usize) -> Option<Range<usize>> {
    const BYTES: usize = 16;
    // Values of the characters at odd positions, according to the decree of 23 December 1976.
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let code = text.get(start..start + BYTES)?;
    let is_form = code.iter().enumerate().all(|(at, byte)| match at {
        6 | 7 | 9 | 10 | 12..=14 => byte.is_ascii_digit(),
        _ => byte.is_ascii_uppercase(),
    });
    if !is_form || text.get(start + BYTES).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let index = |byte: u8| u32::from(if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' });
    let sum: u32 = code[..BYTES - 1]
        .iter()
        .enumerate()
        .map(|(at, byte)| if at % 2 == 0 { ODD[index(*byte) as usize] } else { index(*byte) })
        .sum();
    (sum % 26 == index(code[BYTES - 1])).then_some(start..start + BYTES)
}

/// Returns a telephone number, and whether it is reserved for fiction. An ambiguous form counts if a word before it
/// labels it as one, or if all classes are masked.
pub(crate) fn phone(text: &[u8], start: usize, strict: bool) -> Option<(Range<usize>, bool)> {
    const DIGITS_MIN: usize = 8;
    const DIGITS_MAX: usize = 15;
    let before = start.checked_sub(1).map(|at| text[at]);
    if before.is_some_and(|byte| b"+.-/#(".contains(&byte) || byte.is_ascii_alphanumeric()) {
        return None;
    }
    let is_international = text[start] == b'+';
    let (digits, groups, end) = dialled(text, start + usize::from(is_international))?;
    if !(DIGITS_MIN..=DIGITS_MAX).contains(&digits.len()) {
        return None;
    }
    let is_told = strict || is_after(text, start, &WORDS.phone_number);
    let is_area = |area: &[u8]| matches!(area[0], b'2'..=b'9');
    let is_phone = if is_international {
        // The first group is the country code, possibly with an area code: at most four digits.
        digits[0] != b'0' && (groups.len() > 1 && groups[0] <= 4 || is_told)
    } else {
        match groups.as_slice() {
            // The form in North America.
            [3, 3, 4] => {
                is_area(&digits)
                    && is_area(&digits[3..])
                    && (is_told || before_is_text(text, start))
            }
            [1, 3, 3, 4] => digits[0] == b'1' && is_area(&digits[1..]) && is_area(&digits[4..]),
            // The form elsewhere, where a zero replaces the country code.
            _ if digits[0] == b'0' && digits[1] != b'0' => {
                is_told && (10..=12).contains(&digits.len())
            }
            [3, 3, 2, 2] => is_told && is_area(&digits),
            _ => false,
        }
    };
    is_phone.then(|| (start..end, is_fiction(&digits)))
}

fn before_is_text(text: &[u8], start: usize) -> bool {
    start
        .checked_sub(1)
        .is_none_or(|at| text[at].is_ascii_whitespace() || b"\"'<:,;".contains(&text[at]))
}

/// Returns whether a number is between 555-0100 and 555-0199 in North America.
fn is_fiction(digits: &[u8]) -> bool {
    digits.len() >= 10 && digits[digits.len() - 7..].starts_with(b"55501")
}

/// Returns digits that are separated by common signs, the lengths of the groups, and the end.
fn dialled(text: &[u8], start: usize) -> Option<(Vec<u8>, Vec<usize>, usize)> {
    let mut digits = Vec::new();
    let mut groups = vec![0usize];
    let mut end = start;
    let mut is_open = false;
    for (offset, &byte) in text[start..].iter().take(DIALLED_BYTES_MAX).enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits.push(byte);
                if let Some(group) = groups.last_mut() {
                    *group += 1;
                }
                end = start + offset + 1;
            }
            b'(' if !is_open => is_open = true,
            b')' if is_open => is_open = false,
            b' ' | b'-' | b'.' => {}
            _ => break,
        }
        if !byte.is_ascii_digit() && groups.last() != Some(&0) {
            groups.push(0);
        }
    }
    groups.retain(|group| *group > 0);
    let goes_on = text.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (!goes_on && !digits.is_empty()).then_some((digits, groups, end))
}
