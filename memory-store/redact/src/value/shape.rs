//! Measures of a value: entropy, changes of case, and whether the sequence of characters is random.

/// Returns the Shannon entropy in bits per byte.
pub(crate) fn entropy(text: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// Returns whether a short piece mixes digits and letters of both cases as no name does: `9Kq`, `aB3`. In `Pass123` and
/// `userId1`, the digits are after a word.
pub(crate) fn is_scrambled(word: &[u8]) -> bool {
    const NAME_BYTES_MIN: usize = 4;
    let has = |is_kind: fn(&u8) -> bool| word.iter().any(is_kind);
    let letters = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_numbered = word[letters..].iter().all(u8::is_ascii_digit)
        && (letters >= NAME_BYTES_MIN || case_changes(&word[..letters]) == 0);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && !is_numbered
}

/// Returns whether a value consists of words: letters with `.`, `-`, `_`, `/`, `:` or spaces between them, as in
/// `auth.password.label`, `access-token`, `DB_PASSWORD` or `Token::Ident`.
pub(crate) fn is_several_words(value: &[u8]) -> bool {
    let separator = |byte: &u8| b".-_/:# ?!".contains(byte);
    value.iter().any(separator)
        && value.iter().all(|byte| byte.is_ascii_alphabetic() || separator(byte))
        && value.split(separator).all(|word| word.len() <= 16 && case_changes(word) <= 3)
}

/// Returns whether a value is a number, a version or a date.
pub(crate) fn is_numeric(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_digit() || b".,_-:+".contains(byte))
}

/// Returns whether a value appears random. It must have at least `bytes_min` bytes, with digits among letters, or be
/// long and have upper-case letters at places that are unusual for a name.
pub(crate) fn is_random(value: &[u8], bytes_min: usize) -> bool {
    const ONLY_LETTERS_BYTES_MIN: usize = 20;
    if value.len() < bytes_min {
        return false;
    }
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 && value.len() < ONLY_LETTERS_BYTES_MIN {
        return false;
    }
    let has_letters = || value.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 2;
    let changes = case_changes(value);
    let has_capitals = || {
        let pairs = value.windows(2).filter(|pair| pair.iter().all(u8::is_ascii_uppercase));
        pairs.count() >= 2
    };
    let is_mixed = (digits >= 3 || digits >= 1 && changes >= 2) && has_letters()
        || value.len() >= ONLY_LETTERS_BYTES_MIN && changes >= 6 && has_capitals();
    // This test is last, because a logarithm for each character takes longer than all other tests.
    is_mixed && entropy(value) >= 2.6
}

/// Returns whether a part between signs appears random, in a value of at least `bytes_min` bytes. A chain of words and
/// versions does not.
pub(crate) fn has_random_part(value: &[u8], bytes_min: usize) -> bool {
    const PART_BYTES_MIN: usize = 8;
    value.len() >= bytes_min
        && value
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(|part| is_random(part, PART_BYTES_MIN))
        && entropy(value) >= 3.2
}

/// Returns the number of case changes between adjacent letters, beyond `Word` and `WORD`.
pub(crate) fn case_changes(value: &[u8]) -> usize {
    let changes = value
        .windows(2)
        .filter(|pair| {
            pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
                || pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase()
        })
        .count();
    changes.saturating_sub(usize::from(value.first().is_some_and(u8::is_ascii_uppercase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_text_is_distinguished_from_names() {
        for text in ["a9b8c7d6e5f4", "qWeRTyUIoPaSdFgHjKLz", "3f2a91bc77e0", "Zx81kQp09Lm"] {
            assert!(is_random(text.as_bytes(), 8), "{text}");
        }
        for text in ["getAccessToken", "next_token", "Uint8Array", "CamelCaseName", "token_v2"] {
            assert!(!is_random(text.as_bytes(), 8), "{text}");
        }
    }
}
