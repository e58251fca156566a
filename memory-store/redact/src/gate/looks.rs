//! The form of a word, regardless of its context.

use memory_store_base::text::{self, is_unspaced, rarity};

use crate::value::spread::{SpreadEvidence, may_spread, trimmed};
use crate::value::{drawn, segments, shape, stand_in};
use crate::vocabulary::WORDS;

/// Maximum length of a word in bytes.
const WORD_BYTES_MAX: usize = 512;

/// The form of a word, regardless of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// Letters and digits with a sign between them that does not occur in names and code.
    Sign,
    /// Letters and digits with a sign between them that can occur in code.
    CodeSign,
    /// A random string.
    Drawn,
    /// A random string after the name of a kind: `cus_Nff8dGh2kL`.
    DrawnId,
    /// A long run of hexadecimal digits or base 64.
    Encoded,
    /// A short run of hexadecimal digits or base 64, or a UUID.
    Digits,
    /// Words with a number, joined as in a password that a person chose.
    Words,
    /// A word with digits in place of letters, or two rare words with a sign between them.
    Spelled,
    /// A number.
    Number,
}

impl Looks {
    /// Returns the form of a word; `None` for plain words, paths, addresses, placeholders, versions and names.
    pub(super) fn of(value: &str) -> Option<Self> {
        const BYTES_MIN: usize = 4;
        const DRAWN_BYTES_MIN: usize = 8;
        // `pwsh.go:19-27`
        let is_place = |c: char| c.is_ascii_digit() || ":-/".contains(c);
        let value = match value.split_once(':') {
            Some((file, place)) if file.contains('.') && place.chars().all(is_place) => file,
            _ => value,
        };
        let bytes = value.as_bytes();
        if !(BYTES_MIN..=WORD_BYTES_MAX).contains(&bytes.len()) || is_named_thing(value) {
            return None;
        }
        if is_number(bytes) {
            return Some(Self::Number);
        }
        let (letters, digits) = count(value);
        if letters == 0
            || stand_in::is_version_or_colour(bytes)
            || stand_in::is_numbered_algorithm(bytes)
        {
            return None;
        }
        match sign(value) {
            Some(true) => return Some(Self::Sign),
            Some(false) => return Some(Self::CodeSign),
            None => {}
        }
        if let Some(looks) = encoded(bytes) {
            return Some(looks);
        }
        // `fmt.Fprintf`, `670µs/op`, a short commit
        let is_short_hash = bytes.len() <= 12 && bytes.iter().all(u8::is_ascii_hexdigit);
        if digits == 0 && value.contains('.') || value.contains('/') || is_short_hash {
            return None;
        }
        let is_drawn = bytes.len() >= DRAWN_BYTES_MIN
            && !is_numbered_name(bytes)
            && may_spread(trimmed(value), SpreadEvidence::Rule)
            && drawn::is_drawn(bytes);
        if is_drawn {
            return Some(if has_kind(bytes) { Self::DrawnId } else { Self::Drawn });
        }
        match is_spelled(value) {
            true => Some(Self::Spelled),
            false => is_chosen_words(value, digits).then_some(Self::Words),
        }
    }

    pub(super) const fn points(self) -> i32 {
        match self {
            Self::Sign | Self::Drawn => 3,
            Self::CodeSign | Self::DrawnId | Self::Encoded => 2,
            Self::Digits | Self::Words | Self::Spelled => 1,
            Self::Number => 0,
        }
    }

    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Sign | Self::CodeSign => "signs between letters and digits",
            Self::Drawn | Self::DrawnId => "it looks drawn at random",
            Self::Encoded | Self::Digits => "a long run of digits",
            Self::Words => "words with a number",
            Self::Spelled => "a word spelled with digits or signs",
            Self::Number => "a number",
        }
    }
}

/// Returns whether a word certainly has none of these forms, because it consists of letters, at most with a sign that
/// occurs in names, and does not appear random. This applies to most words, and is faster to determine than
/// [`Looks::of`].
pub(super) fn is_plain(word: &str) -> bool {
    const CONSONANTS_MIN: usize = 5;
    let (mut signs, mut consonants) = (0, 0);
    for byte in word.bytes() {
        match byte.to_ascii_lowercase() {
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y' => consonants = 0,
            b'a'..=b'z' => consonants += 1,
            b'-' | b'_' => (signs, consonants) = (signs + 1, 0),
            _ => return false,
        }
        if signs > 1 || consonants >= CONSONANTS_MIN {
            return false;
        }
    }
    shape::case_changes(word.as_bytes()) == 0
}

/// Returns whether a value is like `s3cret-garden` or `walnut#tide`.
fn is_spelled(value: &str) -> bool {
    const LETTERS_MIN: usize = 5;
    const PART_MIN: usize = 4;
    let plain = |c: char| match c {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        c => c,
    };
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let has_digit_inside = |word: &str| {
        let inner = word.trim_matches(|c: char| c.is_ascii_digit());
        inner.len() >= LETTERS_MIN && inner.contains(|c: char| c.is_ascii_digit())
    };
    let is_known = |word: &str| !is_rare(word.as_bytes());
    let is_word_in_digits = |word: &str| {
        let spelled: String = word.to_lowercase().chars().map(plain).collect();
        let ends = PART_MIN..=spelled.len().saturating_sub(PART_MIN);
        has_digit_inside(word)
            && spelled.chars().all(is_letter)
            && (is_known(&spelled)
                || ends.into_iter().any(|at| is_known(&spelled[..at]) && is_known(&spelled[at..])))
    };
    let parts = || value.split(|c: char| !c.is_alphanumeric());
    let is_small = |part: &str| part.len() > 2 && part.chars().all(char::is_lowercase);
    let has_rare = || parts().any(|part| is_rare(part.as_bytes()));
    value.split(['-', '_', '.']).any(is_word_in_digits)
        || has_inner_sign(value) && parts().all(is_small) && has_rare()
}

/// Returns the number of letters and the number of digits in a word.
pub(super) fn count(value: &str) -> (usize, usize) {
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    (letters, value.chars().filter(char::is_ascii_digit).count())
}

/// Returns whether a word is a path, an address, a variable, a file, a placeholder or another named thing.
pub(super) fn is_named_thing(value: &str) -> bool {
    const ENDING_MAX: usize = 5;
    let bytes = value.as_bytes();
    let is_variable = bytes.first().is_some_and(u8::is_ascii_uppercase)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    // `Ctrl+Shift+F12`
    let is_shortcut = value.split_once('+').is_some_and(|(key, _)| WORDS.modifier_key.has(key));
    // `ORA-01017`
    let is_numbered = value.split_once('-').is_some_and(|(name, number)| {
        name.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    // `03:AC:5C:26:6A:0B`
    let is_serial = bytes.len() > 2
        && bytes
            .split(|byte| *byte == b':')
            .all(|part| part.len() == 2 && part.iter().all(u8::is_ascii_hexdigit));
    // `checkout@b4ffde65`, `prettier@3.1.0`
    let is_pinned = value.rsplit_once('@').is_some_and(|(_, pin)| {
        pin.starts_with(|c: char| c.is_ascii_digit())
            || pin.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    let is_address =
        value.contains("://") || is_pinned || value.contains('@') && value.contains('.');
    let ending = value.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_file = (1..=ENDING_MAX).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_lowercase())
        && !value.contains(['!', '#', '?', '~', '^', '&']);
    let is_host = memchr::memchr_iter(b'.', bytes).count() >= 2
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(byte));
    is_variable
        || is_numbered
        || is_shortcut
        || is_serial
        || is_address
        || is_file
        || is_host
        || value.starts_with(['-', '$', '%', '.', '/', '~', '@', '?', '&', '\\'])
        || value.contains(['(', ')', '[', ']', '…', '\\'])
        || is_template(value)
        || memchr::memchr_iter(b'/', bytes).count() >= 2
        || ["&lt;", "&gt;", "&amp;", "&quot;"].iter().any(|entity| value.contains(entity))
        || has_public_prefix(value)
        || is_slug(value)
        || has_unit(value)
        || stand_in::is_stand_in(bytes)
        || stand_in::is_path(bytes)
        || value.starts_with("eyJ") && !value.contains('.')
        || ["sha1-", "sha256-", "sha384-", "sha512-", "SHA256:", "sha256:", "data:", "h1:", "md5:"]
            .iter()
            .any(|kind| value.starts_with(kind))
}

/// Returns whether a word begins like a public id.
fn has_public_prefix(value: &str) -> bool {
    WORDS.gate_prefixes.begin(value.as_bytes())
}

/// Returns whether a value consists of words followed by a short hash: `heuristic-robinson-e44709`.
fn is_slug(value: &str) -> bool {
    const HASH_BYTES: std::ops::RangeInclusive<usize> = 5..=12;
    let Some((words, hash)) = value.rsplit_once(['-', '_', '.']) else { return false };
    HASH_BYTES.contains(&hash.len())
        && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && words.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
}

/// Returns whether a value is a template, such as `user:{id}:v5`.
pub(super) fn is_template(value: &str) -> bool {
    value.split_once('{').is_some_and(|(before, rest)| {
        let name = rest.split_once('}').map_or("", |(name, _)| name);
        !before.ends_with(char::is_alphanumeric)
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    })
}

/// Returns whether a value is a number with its unit, in a script that has no space between them: `10분에`.
fn has_unit(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < value.len() && !unit.is_empty() && unit.chars().all(is_unspaced)
}

/// Returns whether a value is a name from code with a number: `qa_bot_07`.
fn is_numbered_name(value: &[u8]) -> bool {
    let name = value.iter().rposition(|byte| !byte.is_ascii_digit());
    name.is_some_and(|at| value[at] == b'_')
        && value.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
}

/// Returns whether a value is four to eight digits, either together, one by one (`5-2-9-0`) or in pairs (`90-12-44`).
pub(super) fn is_number(value: &[u8]) -> bool {
    // `7731#`
    let value = value.strip_suffix(b"#").or_else(|| value.strip_suffix(b"*")).unwrap_or(value);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_in_groups = |bytes: usize| {
        let groups = value.split(|byte| b"-*#".contains(byte));
        groups.clone().count() >= 3
            && groups
                .clone()
                .all(|group| group.len() == bytes && group.iter().all(u8::is_ascii_digit))
    };
    // `48A17`
    let letters = value.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let is_with_letter = (1..=2).contains(&letters)
        && digits >= 3
        && digits + letters == value.len()
        && value.first().is_some_and(u8::is_ascii_digit);
    (3..=8).contains(&digits) && is_with_letter
        || (4..=8).contains(&digits)
            && (digits == value.len() || is_in_groups(1) || is_in_groups(2))
}

pub(super) fn is_year(value: &str) -> bool {
    value.len() == 4 && (value.starts_with("19") || value.starts_with("20"))
}

/// Returns whether a word has a sign between letters and digits: `true` if the sign is rare in code, `false` if it is
/// not, and `None` if there is no such sign.
fn sign(value: &str) -> Option<bool> {
    const STRONG: &[char] = &['!', '#', '^', '&', '~', '?'];
    const WEAK: &[char] = &['*', '%', '$', '|', '{', '}', '+', ';', '@', '='];
    const CODE: [&str; 17] = [
        "&&", "||", "=>", "->", "::", "!=", "==", "${", "{{", "}}", "**", "?.", "??", "</", "/>",
        "+=", "<=",
    ];
    const LETTERS_MIN: usize = 5;
    let (letters, digits) = count(value);
    let has_cases = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    if letters < LETTERS_MIN
        || digits == 0
        || value.contains('/')
        || CODE.iter().any(|code| value.contains(code))
    {
        return None;
    }
    let inner = value.trim_matches(|c: char| !c.is_alphanumeric());
    if inner.contains(STRONG) {
        let is_one_hash = inner.matches(STRONG).eq(["#"]);
        let (before, behind) = inner.split_once('#').unwrap_or_default();
        let is_name = behind.starts_with(|c: char| c.is_lowercase())
            && behind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_number =
            behind.trim_start_matches(['L', '-']).bytes().all(|byte| byte.is_ascii_digit());
        // `LogSanitizer#mask2`
        if is_one_hash && is_name && before.matches(char::is_uppercase).count() > 1 {
            return None;
        }
        // `page#L12`, `project#42`
        return Some(has_cases && !(is_one_hash && (is_name || is_number)));
    }
    // `beginWork$1`
    let is_numbered = inner
        .rsplit_once('$')
        .is_some_and(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    (inner.contains(WEAK) && !is_numbered).then_some(false)
}

/// Returns the form of a word that is a run of digits in some encoding; `None` for other words.
fn encoded(value: &[u8]) -> Option<Looks> {
    const HEX_BYTES_MIN: usize = 16;
    const LONG_BYTES_MIN: usize = 32;
    const BASE64_BYTES_MIN: usize = 24;
    let has = |is_kind: fn(&u8) -> bool| value.iter().any(is_kind);
    let is_hex = value.iter().all(u8::is_ascii_hexdigit)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic);
    if is_hex && value.len() >= HEX_BYTES_MIN {
        return Some(if value.len() >= LONG_BYTES_MIN { Looks::Encoded } else { Looks::Digits });
    }
    // `ami-0b7c21d94e3f6a858`, a UUID.
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'-').collect();
    if parts.len() == 5 && value.len() == 36 && parts.iter().all(|part| is_part(part)) {
        return Some(Looks::Digits);
    }
    let is_base64 =
        value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte));
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_random = || {
        let text = str::from_utf8(value).unwrap_or_default();
        may_spread(trimmed(text), SpreadEvidence::Rule) && shape::has_random_part(value, 16)
    };
    (is_base64
        && is_mixed
        && value.len() >= BASE64_BYTES_MIN
        && shape::entropy(value) >= 4.0
        && is_random())
    .then_some(Looks::Encoded)
}

/// Returns whether the random part of a value follows the name of a kind: `cus_Nff8dGh2kL`, `vpce-0a1f39c4be7d2856e`.
fn has_kind(value: &[u8]) -> bool {
    const KIND_BYTES: std::ops::RangeInclusive<usize> = 2..=6;
    let sign = value.iter().position(|byte| b"_-".contains(byte)).unwrap_or_default();
    KIND_BYTES.contains(&sign) && value[..sign].iter().all(u8::is_ascii_lowercase)
}

/// Returns whether a value consists of words that do not occur in technical texts, either with a number, or at least
/// three of them joined: `Heron-Pilot-31`, `loutre.Parapluie.9`, `pelican7Quarry`.
fn is_chosen_words(value: &str, digits: usize) -> bool {
    const LETTERS_MIN: usize = 3;
    const WORD_LETTERS_MIN: usize = 4;
    const DIGITS_MAX: usize = 6;
    let bytes = value.as_bytes();
    let is_sign = |byte: &u8| b"-._".contains(byte);
    let signs = bytes.iter().filter(|byte| is_sign(byte)).count();
    let is_plain = value.chars().all(|c| c.is_alphanumeric() || "-._".contains(c));
    let segments: Vec<&[u8]> =
        segments::segments(bytes).filter(|part| !part[0].is_ascii_digit()).collect();
    let words = segments.iter().filter(|part| part.len() >= LETTERS_MIN).count();
    let rare =
        segments.iter().filter(|part| part.len() >= WORD_LETTERS_MIN && is_rare(part)).count();
    let common =
        segments.iter().filter(|part| part.len() >= WORD_LETTERS_MIN && !is_rare(part)).count();
    if !is_plain || words == 0 || digits > DIGITS_MAX || rare == 0 || is_name_with_version(bytes) {
        return false;
    }
    let has_capitals = bytes.iter().any(u8::is_ascii_uppercase);
    match (digits, signs) {
        // `vier-Dachse-im-Schnee`, `Sorbet_under_Oak`
        (0, _) => {
            let has_both = has_capitals && segments.iter().any(|part| part[0].is_ascii_lowercase());
            (signs >= 3 || signs == 2 && has_both) && rare * 2 >= words && !bytes.contains(&b'.')
        }
        // `Heron-Pilot-31`: names in code do not have capitals next to such signs.
        (_, 1..) if has_capitals => rare >= common && (digits >= 2 || words >= 2),
        // `sowa-pod-mostem-3`, `pelican7Quarry`
        _ => common == 0,
    }
}

/// Returns whether a value is at least three joined words, most of which do not occur in technical texts.
pub(super) fn is_joined_words(value: &str) -> bool {
    const WORDS_MIN: usize = 3;
    let words: Vec<&str> = value.split(['-', '_', '.']).collect();
    let rare = words.iter().filter(|word| is_rare(word.as_bytes())).count();
    words.len() >= WORDS_MIN && rare * 2 >= words.len() && words.iter().all(|w| is_plain_phrase(w))
}

pub(super) fn is_rare(word: &[u8]) -> bool {
    let Ok(word) = str::from_utf8(word) else { return true };
    text::tokens(word).iter().all(|token| rarity::is_unknown(&token.term))
}

/// Returns whether a name ends with a version: `report-v2`, `cache_v4`.
fn is_name_with_version(value: &[u8]) -> bool {
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let name = &value[..value.len() - digits];
    let (Some(letter), Some(sign)) = (name.last(), name.len().checked_sub(2).map(|at| name[at]))
    else {
        return false;
    };
    (1..=2).contains(&digits) && b"vV".contains(letter) && b"-_.".contains(&sign)
}

/// Returns whether a phrase consists of plain lower-case words.
pub(super) fn is_plain_phrase(phrase: &str) -> bool {
    phrase
        .split_whitespace()
        .all(|word| word.chars().all(|c| c.is_alphabetic() && !c.is_uppercase()))
}

/// Returns whether a value has a sign between letters that does not occur in names.
pub(super) fn has_inner_sign(value: &str) -> bool {
    let chars: Vec<char> = value.chars().collect();
    let is_inner = |three: &[char]| {
        three[0].is_alphanumeric() && "!#%^&?+*~$".contains(three[1]) && three[2].is_alphanumeric()
    };
    chars.windows(3).any(is_inner)
}
