//! Secrets that are told in prose: "the password is ...", "API key ...", and passwords with signs that code
//! does not have in a name.

use std::ops::Range;

use super::super::drawn;
use super::{Promise, shape};
use crate::vocabulary::WORDS;

/// The longest value that is looked at.
const VALUE_BYTES_MAX: usize = 128;

/// Signs of Markdown that may stand right behind the name.
const MARKS_MAX: usize = 3;

/// Words that may stand between the name and its value.
const WORDS_MAX: usize = 8;

/// Signs that passwords have and names in code have not.
const SIGNS: &[u8] = b"&!#%^*?~+@$";

/// Quotes that are not ASCII, before a value.
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

/// The words that a passphrase has when it is told.
const PHRASE_WORDS_MAX: usize = 10;

/// Finds the value that a sentence gives to the name at `name`.
pub(super) fn find(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let promise = super::promise_in_prose(text, name).unwrap_or(promise);
    // The name may be emphasised: `**password** is ...`.
    let ending =
        text[name.end..].iter().take(MARKS_MAX).take_while(|byte| !byte.is_ascii()).count();
    let marks = text[name.end..].iter().take(MARKS_MAX).take_while(|byte| b"*`".contains(byte));
    let name_end = name.end + marks.count().max(ending);
    told(text, name_end, promise, is_abroad(&text[name.clone()]), is_setting(text, name))
}

/// Finds the value that a sentence gives to the name at `hit`, which is not ASCII.
pub(super) fn abroad(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    const ENDING_BYTES_MAX: usize = 24;
    let is_letter = |byte: &&u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    let rest = &text[hit.end..];
    // Where words have no spaces between them, the value may follow directly.
    let unspaced = text[hit.clone()].iter().any(|byte| *byte >= 0xE3);
    let ending = if unspaced {
        rest.iter().take(ENDING_BYTES_MAX).take_while(|byte| !byte.is_ascii()).count()
    } else {
        rest.iter().take(ENDING_BYTES_MAX).take_while(is_letter).count()
    };
    let at = hit.end + ending + purpose(&rest[ending..]);
    let says = WORDS.particle.occur_in(&rest[..ending]);
    let spaces = text[at..].iter().take(3).take_while(|byte| b" *`".contains(byte)).count();
    let assigned = text.get(at + spaces).is_some_and(|byte| b":=".contains(byte));
    let is_given = assigned || unspaced && says;
    if !is_given {
        return told(text, at, Promise::Password, true, is_setting(text, hit));
    }
    self::assigned(text, at + spaces + usize::from(assigned))
}

/// The value before a Turkish name of a password that ends as what something is done with: `x şifresiyle`.
pub(super) fn by_means_of(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    const ENDINGS: [&[u8]; 4] = [b"siyle", b"yle", b"si ile", b" ile"];
    let behind = &text[name.end..];
    let is_means = text[name.clone()].ends_with(b"ifre")
        && ENDINGS.iter().any(|ending| behind.starts_with(ending));
    let lead = text[..name.start].strip_suffix(b" ").filter(|_| is_means)?;
    let word = lead.iter().rev().take(VALUE_BYTES_MAX).take_while(|byte| byte.is_ascii_graphic());
    let value = bare(text, &(lead.len() - word.count()..lead.len()));
    is_secret(&text[value.clone()], Promise::Password, false).then_some(value)
}

/// The length of a word that is joined to a name and says where it is used, before an assignment: `-db:`.
fn purpose(rest: &[u8]) -> usize {
    const WORD: std::ops::RangeInclusive<usize> = 2..=12;
    let Some(word) = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"_")) else { return 0 };
    let letters = word.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let is_assigned = word.get(letters).is_some_and(|byte| b":=".contains(byte));
    if is_assigned && WORD.contains(&letters) { letters + 1 } else { 0 }
}

/// Returns whether this names a password in a language in which no program is written.
pub(super) fn is_abroad(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.name_foreign.end(&name)
}

/// The password at `at`, behind a name and a sign.
pub(super) fn assigned(text: &[u8], at: usize) -> Option<Range<usize>> {
    let spaces = text.get(at..)?.iter().take(3).take_while(|byte| b" \t".contains(byte)).count();
    let start = skip_quote(text, at + spaces);
    let value = bare(text, &(start..start + word_length(&text[start..])));
    let told = &text[value.clone()];
    (is_secret(told, Promise::Password, true) || is_number(told, Promise::Password))
        .then_some(value)
}

/// The value that a sentence gives to the name that ends at `at`.
fn told(
    text: &[u8],
    mut at: usize,
    promise: Promise,
    is_abroad: bool,
    is_setting: bool,
) -> Option<Range<usize>> {
    // Words that may say whose it is: "пароль от сервера x".
    const PLACE_MAX: usize = 3;
    // "my password's", "it asks for a password, type"
    let rest = text.get(at..).unwrap_or_default();
    if let Some(own) = [b"'s".as_slice(), "’s".as_bytes()].iter().find(|own| rest.starts_with(own))
    {
        return value_behind(text, at + own.len(), promise);
    }
    if rest.starts_with(b", ")
        && [b"type ".as_slice(), b"enter ", b"use "].iter().any(|word| rest[2..].starts_with(word))
    {
        at += 1;
    }
    for place in 0..=WORDS_MAX {
        let word = next_word(text, at)?;
        let value = bare(text, &word);
        let told = &text[value.clone()];
        let is_copula = WORDS.copula_told.has(told)
            || is_abroad && WORDS.copula_foreign.has(told)
            || place == 0 && matches!(told, b"use" | b"enter" | b"type")
            || is_setting && WORDS.towards.has(told);
        if is_copula {
            if let Some(value) = value_behind(text, word.end, promise) {
                return Some(value);
            }
            let is_opened = text[word.clone()].ends_with(b":") && promise == Promise::Password;
            let next = next_word(text, word.end)?;
            return if is_opened { phrase(text, next.start, PHRASE_WORDS_MIN) } else { None };
        }
        let is_given = || {
            is_chosen_with_sign(text, &value)
                || promise != Promise::SomeKey && is_secret(told, promise, false)
                || promise == Promise::Password && is_numbered(told)
        };
        let is_far = || {
            is_abroad
                && place <= PLACE_MAX
                && promise == Promise::Password
                && is_drawn(told)
                && is_secret(told, promise, false)
        };
        if place == 0 && is_given() || is_far() {
            return Some(value);
        }
        let behind = &text[value.end..word.end];
        // "Password for the panel: x"
        if matches!(behind, b":" | b"\":" | b"':" | b"`:" | b"**:" | b":**") {
            return value_behind(text, word.end, promise);
        }
        if !goes_on(told) || matches!(behind, b"." | b"!" | b"?" | b";" | b"," | b".\"" | b":") {
            return None;
        }
        at = word.end;
    }
    None
}

/// Returns whether a sentence may go on to the value behind this word.
fn goes_on(word: &[u8]) -> bool {
    const WORD_BYTES_MAX: usize = 40;
    word.len() <= WORD_BYTES_MAX
        && word.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        && word
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"@._'-".contains(byte))
}

/// The value behind a word that says that it follows, and behind those that say nothing more.
fn value_behind(text: &[u8], mut at: usize, promise: Promise) -> Option<Range<usize>> {
    const FILLERS_MAX: usize = 3;
    for _ in 0..=FILLERS_MAX {
        let word = next_word(text, at)?;
        let value = bare(text, &word);
        let told = &text[value.clone()];
        let is_plain = || {
            promise == Promise::Password
                && text[word.start] == b'"'
                && text.get(value.end) == Some(&b'"')
                && super::quoted_is_secret(told, promise, false)
                && !shape::is_stop_word(told)
                && !shape::is_placeholder(told)
        };
        if let Some(phrase) = drawn_phrase(text, word.start) {
            return Some(phrase);
        }
        if is_told_secret(told, promise) || is_plain() || is_number(told, promise) {
            return Some(value);
        }
        if !WORDS.filler.has(&text[value]) {
            return None;
        }
        at = word.end;
    }
    None
}

/// The value in quotes at `at` that has spaces and looks drawn at random.
fn drawn_phrase(text: &[u8], at: usize) -> Option<Range<usize>> {
    let quote = text.get(at).filter(|byte| b"\"'`".contains(byte))?;
    let inner = text.get(at + 1..)?;
    let inner = &inner[..inner.len().min(VALUE_BYTES_MAX)];
    let length = memchr::memchr(*quote, inner)?;
    drawn::is_drawn_phrase(&inner[..length]).then_some(at + 1..at + 1 + length)
}

/// Returns whether a password that a sentence gives is a number.
fn is_number(value: &[u8], promise: Promise) -> bool {
    promise == Promise::Password
        && (6..=20).contains(&value.len())
        && value.iter().all(u8::is_ascii_digit)
        && !shape::is_placeholder(value)
}

/// A value behind a word that says that it follows: of a key also one of hexadecimal digits.
pub(super) fn is_told_secret(value: &[u8], promise: Promise) -> bool {
    const KEY_BYTES_MIN: usize = 24;
    const SHORT_BYTES_MIN: usize = 12;
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
    let is_long = || {
        value.len() >= KEY_BYTES_MIN
            && value.iter().all(is_key)
            && !shape::is_path(value)
            && shape::has_random_part(value, KEY_BYTES_MIN)
    };
    match promise {
        Promise::Password => is_secret(value, promise, true),
        Promise::Key => {
            is_secret(value, promise, true)
                || is_long()
                || value.len() >= SHORT_BYTES_MIN && is_secret(value, Promise::Password, false)
        }
        // Of these many are names of things: a long one with letters of both cases is none.
        Promise::SomeKey => is_long() && shape::case_changes(value) >= 4,
    }
}

/// Returns whether a value is one that people choose, together with the sign behind it.
pub(super) fn is_chosen_with_sign(text: &[u8], value: &Range<usize>) -> bool {
    const SIGNS: &[u8] = b"!#$%?^~*";
    let next = text.get(value.end + 1);
    let ends = next.is_none_or(|next| next.is_ascii_whitespace() || b"\"'`,.;:)".contains(next));
    ends && text.get(value.end).is_some_and(|sign| SIGNS.contains(sign))
        && drawn::is_chosen(&text[value.start..=value.end])
}

/// `word` and a few digits, as people choose a password; no version of a thing is that long.
fn is_numbered(value: &[u8]) -> bool {
    const LETTERS_MIN: usize = 8;
    let letters = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    letters >= LETTERS_MIN
        && (2..=4).contains(&(value.len() - letters))
        && value[letters..].iter().all(u8::is_ascii_digit)
        && shape::case_changes(value) == 0
}

/// The other value that stands behind the first: "from this to that", "old this, new that".
pub(super) fn next(text: &[u8], at: usize) -> Option<Range<usize>> {
    const LINKS: [&[u8]; 11] = [
        b" to ",
        b" -> ",
        " → ".as_bytes(),
        b", new one ",
        b", new ",
        b", now ",
        b", now it is ",
        b", now it's ",
        b" and now it is ",
        b" and new ",
        b" into ",
    ];
    let rest = text.get(at..)?;
    let marks = rest.iter().take(3).take_while(|byte| b"\"'`*!#$%?^~".contains(byte)).count();
    let link = LINKS.iter().find(|link| rest[marks..].starts_with(link))?;
    value_behind(text, at + marks + link.len() - 1, Promise::Password)
}

fn is_one_of(words: &[&[u8]], word: &[u8]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns whether the words before a name say that it gets a value.
fn is_setting(text: &[u8], name: &Range<usize>) -> bool {
    const LEAD_BYTES: usize = 64;
    const WORDS_MAX: usize = 6;
    let lead = &text[name.start.saturating_sub(LEAD_BYTES)..name.start];
    let line = lead.rsplit(|byte| b"\n.;:".contains(byte)).next().unwrap_or_default();
    let words = line.rsplit(|byte| b" *`\"'(".contains(byte)).filter(|word| !word.is_empty());
    words.take(WORDS_MAX).any(|word| WORDS.setting.has(word))
}

/// Words that a passphrase has at least behind `is:`.
const PHRASE_WORDS_MIN: usize = 3;

/// The passphrase at `at`: at least so many plain words, up to one that belongs to a sentence.
pub(super) fn phrase(text: &[u8], at: usize, words_min: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let line = rest.iter().take(VALUE_BYTES_MAX).take_while(|byte| is_of_phrase(**byte)).count();
    // A phrase ends with a sign that can end a clause.
    if rest.get(line).is_some_and(|byte| !b".,;!\r\n)\"'`".contains(byte)) {
        return None;
    }
    let (mut end, mut words) = (0, 0);
    let is_plain = |word: &&[u8]| {
        let letters = word.get(1..).unwrap_or_default();
        word.first().is_some_and(u8::is_ascii_alphabetic)
            && letters.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && !super::is_saying(word)
            && !WORDS.phrase_prose.has(word)
            && !shape::is_stop_word(word)
    };
    let mut start = rest[..line].iter().take_while(|byte| **byte == b' ').count();
    let first = start;
    for word in rest[start..line].split(|byte| b" -".contains(byte)).take_while(is_plain) {
        end = start + word.len();
        start = end + 1;
        words += 1;
    }
    ((words_min..=PHRASE_WORDS_MAX).contains(&words)).then_some(at + first..at + end)
}

fn is_of_phrase(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" -".contains(&byte)
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

/// The value that stands near behind a name in its line, whatever words are between, in any language: it has digits and
/// letters of both cases as no name has.
pub(super) fn near(text: &[u8], at: usize, promise: Promise) -> Option<Range<usize>> {
    const DISTANCE_BYTES_MAX: usize = 80;
    /// Bytes of a value that may say that it is a hash.
    const CONTENT_BYTES: usize = 8;
    let bytes_min = if promise == Promise::Password { 10 } else { 12 };
    let rest = text.get(at..)?;
    // The name is a word, and no part of one in base 64.
    let begins =
        rest.first().is_some_and(|byte| b" \t\"'`*:=,|(;)]}".contains(byte) || *byte >= 0x80);
    if !begins {
        return None;
    }
    let line = rest.iter().take(DISTANCE_BYTES_MAX + VALUE_BYTES_MAX);
    let line = line.take_while(|byte| !b"\n\r".contains(byte)).count();
    let mut from = 0;
    while from < line.min(DISTANCE_BYTES_MAX) {
        let start = from + rest[from..line].iter().take_while(|byte| is_edge(**byte)).count();
        // `${DB_PASSWORD:-x}`
        let start =
            start + usize::from(rest[..start].ends_with(b":") && rest[start..].starts_with(b"-"));
        let end = start + word_length(&rest[start..line]);
        let value = &rest[start..end];
        let chosen = quoted(rest, start).filter(|value| is_chosen(&rest[value.clone()]));
        let is_drawn = value.len() >= bytes_min && is_drawn_alone(value) && !shape::is_path(value);
        let chosen = chosen.or_else(|| chosen_word(rest, start, line));
        if is_drawn || chosen.is_some() || drawn::is_lone_phrase(value) {
            let end = chosen.map_or(end, |value| value.end);
            let is_content = crate::rule::is_content(&rest[..(start + CONTENT_BYTES).min(line)]);
            return (!is_content).then_some(at + start..at + end);
        }
        // A particle of another script may stand right before the value.
        let is_foreign = end == start && rest.get(start).is_some_and(|byte| !byte.is_ascii());
        let is_sign = |byte: &&u8| !(is_edge(**byte) || is_foreign && byte.is_ascii_alphanumeric());
        let sign = rest[end..line].iter().take_while(is_sign).count();
        from = end + sign.max(usize::from(end == start));
    }
    None
}

/// The value that begins at `start` behind a quote and ends before another one like it.
pub(super) fn quoted(text: &[u8], start: usize) -> Option<Range<usize>> {
    const VALUE_BYTES_MAX: usize = 64;
    let quote = text.get(start.checked_sub(1)?).filter(|byte| b"\"'`".contains(byte))?;
    let rest = text.get(start..)?;
    let rest = &rest[..rest.len().min(VALUE_BYTES_MAX)];
    let length = memchr::memchr(*quote, rest)?;
    let value = &rest[..length];
    let is_word = length > 0 && value.iter().all(u8::is_ascii_graphic) && !value.contains(&b'\\');
    is_word.then_some(start..start + length)
}

/// The value at `start` that people choose, with its sign, behind a word that says that it follows.
fn chosen_word(text: &[u8], start: usize, line: usize) -> Option<Range<usize>> {
    const LEAD_BYTES: usize = 12;
    const GIVING: [&[u8]; 9] =
        [b"it's", "it’s".as_bytes(), b"its", b"to", b"use", b"using", b"be", b"as", b"try"];
    let length = text[start..line].iter().take_while(|byte| byte.is_ascii_graphic()).count();
    let value = &text[start..start + length];
    // Few words have a number, and it is asked of each.
    if !value.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let length = length - value.iter().rev().take_while(|byte| b".,;:\"')".contains(byte)).count();
    let lead = &text[start.saturating_sub(LEAD_BYTES)..start];
    let word = lead.strip_suffix(b" ")?.rsplit(|byte| b" (".contains(byte)).next()?;
    (drawn::is_chosen(&value[..length])
        && (is_one_of(&GIVING, word) || WORDS.copula_told.has(word)))
    .then_some(start..start + length)
}

/// Returns whether a value in quotes is one that people choose, or words drawn by lot.
fn is_chosen(value: &[u8]) -> bool {
    drawn::is_chosen(value) || drawn::is_joined_phrase(value)
}

/// Returns whether a byte stands between words rather than in one.
fn is_edge(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`*([{<>=:,;|".contains(&byte) || byte >= 0xE2
}

/// Returns whether a value looks drawn at random where little else tells that it is a secret.
pub(super) fn is_drawn_alone(value: &[u8]) -> bool {
    const TURNS_MIN: usize = 4;
    let kind = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let turns = value.windows(2).filter(|pair| kind(&pair[0]) != kind(&pair[1])).count();
    turns >= TURNS_MIN && drawn::is_drawn_in_code(value) && is_drawn(value)
}

/// The password at `at` that looks drawn at random, whatever signs it has.
pub(super) fn drawn_word(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = at..at + word_length(text.get(at..)?);
    let value = &text[word.clone()];
    let begins = value.first().is_some_and(|byte| !b"&*!?@#.-$".contains(byte));
    (begins && is_drawn(value)).then_some(word)
}

/// The length of the word at the start of a text, which ends before a space or a quote, the next assignment, a tag or
/// a bracket that closes what was opened before it.
fn word_length(text: &[u8]) -> usize {
    const TAG_BYTES_MAX: usize = 12;
    let text = &text[..text.len().min(VALUE_BYTES_MAX)];
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at + 1..];
        let name = rest.iter().take_while(|byte| is_name(byte)).count();
        let ends = match byte {
            // Within a value a quote is a sign like others.
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

/// Returns whether a sign stands in the midst of what looks drawn at random.
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

/// The bracket that this one closes.
fn opening(close: u8) -> Option<u8> {
    const PAIRS: [(u8, u8); 4] = [(b')', b'('), (b']', b'['), (b'}', b'{'), (b'>', b'<')];
    PAIRS.iter().find(|pair| pair.0 == close).map(|pair| pair.1)
}

/// The bytes of a Latin letter or a sign of a European keyboard that is not ASCII.
fn letter_bytes(text: &[u8]) -> Option<usize> {
    matches!(text, [0xC3..=0xC9, _, ..] | [0xC2, 0xA3 | 0xA7 | 0xB0 | 0xB5, ..]).then_some(2)
}

/// Returns the password at `at` that has braces in it, at which a value in code ends.
pub(super) fn with_braces(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.iter().take(VALUE_BYTES_MAX);
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;&<>|".contains(byte);
    let length = rest.take_while(|byte| !is_end(byte)).count();
    let value = bare(text, &(at..at + length));
    has_braces_inside(&text[value.clone()]).then_some(value)
}

/// Returns whether a value has the signs of a template in the midst of what looks drawn at random: `aB3${x}9Kq`. Types and
/// calls have braces, too, but no digits and capitals among small letters on both sides of them.
fn has_braces_inside(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 6;
    let Some(brace) = value.iter().position(|byte| b"{}".contains(byte)) else { return false };
    let is_variable = brace > 0 && b"$#%@{".contains(&value[brace - 1]);
    let is_type = value[0].is_ascii_uppercase() && !is_variable;
    let has_inside = value[brace + 1..].iter().any(u8::is_ascii_alphanumeric);
    let core: Vec<u8> = value.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    value[0].is_ascii_alphanumeric()
        && !is_type
        && has_inside
        && value.iter().all(|byte| byte.is_ascii_graphic() && !b"()[]<>|\"'`\\,;:=/".contains(byte))
        && core.len() >= BYTES_MIN
        && shape::case_changes(&core) >= 2
        && value.split(|byte| !byte.is_ascii_alphanumeric()).any(shape::is_scrambled)
        && !shape::is_placeholder(value)
        && !shape::is_fake(value)
}

/// Returns whether letters change their case as in no name, and there is a digit.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 8;
    value.len() >= BYTES_MIN
        && value.iter().any(u8::is_ascii_digit)
        && shape::case_changes(value) >= 2
        && !drawn::is_name_with_digits(value)
}

pub(super) fn is_secret(value: &[u8], promise: Promise, is_told: bool) -> bool {
    const LETTERS_MIN: usize = 8;
    // The padding of base 64.
    let value = value.strip_suffix(b"=").map_or(value, |it| it.strip_suffix(b"=").unwrap_or(it));
    // `xqzkvpwrtm`
    let is_letters = || value.len() >= LETTERS_MIN && value.iter().all(u8::is_ascii_lowercase);
    if is_told && promise == Promise::Password && is_letters() && drawn::is_drawn(value) {
        return true;
    }
    if promise == Promise::Password
        && (has_braces_inside(value) || is_drawn(value) || drawn::is_joined_phrase(value))
    {
        return true;
    }
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
        || shape::is_numbered_algorithm(value)
        || drawn::is_name_with_digits(value)
        || is_chain(value)
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

/// Returns whether a value looks drawn at random where a name promises a secret; signs of code make it less likely.
fn is_drawn(value: &[u8]) -> bool {
    let is_code = value.iter().any(|byte| b"(){}[]<>|,;=/:&".contains(byte));
    let is_drawn = if is_code { drawn::is_drawn_in_code(value) } else { drawn::is_mixed(value) };
    is_drawn && !is_chain(value) && word_length(value) == value.len()
}

/// Returns whether a value is a chain of names; parts that mix digits and letters are none.
fn is_chain(value: &[u8]) -> bool {
    let mixed = value.split(|byte| *byte == b'.').filter(|part| shape::is_scrambled(part));
    super::is_member(value) && mixed.count() < 2
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

/// A word without the quotes around it and the signs of a sentence behind it; what begins in ASCII ends where
/// that ends.
fn bare(text: &[u8], word: &Range<usize>) -> Range<usize> {
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

fn skip_quote(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + QUOTES.iter().find(|quote| rest.starts_with(quote)).map_or(0, |quote| quote.len())
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn a_text_that_ends_in_an_open_quote_is_read_to_its_end() {
        for text in [
            "the password was \"old",
            "set the password to \"to",
            "the password: it was \"\"",
            "the password was “old",
        ] {
            for (end, _) in text.char_indices() {
                assert_eq!(Redactor::default().redact(&text[..end]), text[..end]);
            }
            assert_eq!(Redactor::default().redact(text), text);
        }
    }
}
