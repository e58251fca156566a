//! Values that appear random as a whole, with any signs between their parts: `kP4vT9-x8mQ2zL`, `hujfyb-9kynqe-byrBax`.
//! Letters that form a word of technical texts count against this, and so do names in code that consist of such words.

use super::segments::{
    Odd, has_word, is_letter_or_digit, looks_drawn, looks_drawn_in_code, mixes, segments,
};
use super::shape;
use super::stand_in::stands_for_something;

/// Returns whether a value without spaces appears random.
pub(crate) fn is_drawn(value: &[u8]) -> bool {
    looks_drawn(value) && !stands_for_something(value)
}

/// Returns whether a value looks random even at a place that may contain code, and is not a stand-in.
pub(crate) fn is_drawn_in_code(value: &[u8]) -> bool {
    looks_drawn_in_code(value) && !stands_for_something(value)
}

/// Returns whether the case of a value's letters changes as in no name, and the value contains a digit.
pub(crate) fn is_mixed(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 8;
    value.len() >= BYTES_MIN
        && value.iter().any(u8::is_ascii_digit)
        && shape::case_changes(value) >= 2
        && !is_name_with_digits(value)
}

/// Returns whether a value looks random and mixes digits and letters within a part.
pub(crate) fn is_drawn_and_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        && value.split(|byte| !is_letter_or_digit(*byte)).any(mixes)
        && is_drawn(value)
}

/// Returns whether a value is a name in code with a digit inside: `RenderPass2D`, `Base64Encoded`,
/// `PinEntryV2Activity`. A password may also consist of two words and a number, so a value with only two words is a
/// name only if the number is a number of bits, or if it ends with `2D` or `3D`.
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

/// Returns whether a value is a number that is no count or measurement: it is not round, not a date and not a time.
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

/// Returns whether a value is two or three parts separated by spaces, each of which appears random.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_values_are_distinguished_from_names_and_code() {
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
