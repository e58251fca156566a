//! Secrets in prose: "the password is ...", "API key ...", and passwords after a name that contain signs which code
//! does not use.

use std::ops::Range;

use super::promise::promise_in_prose;
use crate::value::word::{self, VALUE_BYTES_MAX};
use crate::value::{self, Promise, ValuePlace, chosen, drawn, judge, stand_in};
use crate::vocabulary::WORDS;

/// Maximum number of Markdown signs directly after the name.
const MARKS_MAX: usize = 3;

/// Maximum number of words between a name and its value.
const WORDS_MAX: usize = 8;

/// Maximum number of words in a passphrase in prose.
const PHRASE_WORDS_MAX: usize = 10;

/// Returns the value that a sentence gives for the name at `name`.
pub(super) fn find(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let promise = promise_in_prose(text, name).unwrap_or(promise);
    // The name may be emphasised: `**password** is ...`.
    let ending =
        text[name.end..].iter().take(MARKS_MAX).take_while(|byte| !byte.is_ascii()).count();
    let marks = text[name.end..].iter().take(MARKS_MAX).take_while(|byte| b"*`".contains(byte));
    let name_end = name.end + marks.count().max(ending);
    value_in_sentence(
        text,
        name_end,
        promise,
        is_abroad(&text[name.clone()]),
        is_setting(text, name),
    )
}

/// Returns the value that a sentence gives for the non-ASCII name at `hit`.
pub(super) fn abroad(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    const ENDING_BYTES_MAX: usize = 24;
    let is_letter = |byte: &&u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    let rest = &text[hit.end..];
    // In scripts without spaces between words, the value may follow directly.
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
        return value_in_sentence(text, at, Promise::Password, true, is_setting(text, hit));
    }
    self::assigned(text, at + spaces + usize::from(assigned))
}

/// Returns the value before a Turkish password name in the instrumental case: `x şifresiyle`.
pub(super) fn by_means_of(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    const ENDINGS: [&[u8]; 4] = [b"siyle", b"yle", b"si ile", b" ile"];
    let behind = &text[name.end..];
    let is_means = text[name.clone()].ends_with(b"ifre")
        && ENDINGS.iter().any(|ending| behind.starts_with(ending));
    let lead = text[..name.start].strip_suffix(b" ").filter(|_| is_means)?;
    let word = lead.iter().rev().take(VALUE_BYTES_MAX).take_while(|byte| byte.is_ascii_graphic());
    let value = word::bare(text, &(lead.len() - word.count()..lead.len()));
    judge(&text[value.clone()], ValuePlace::Beside(Promise::Password)).is_secret().then_some(value)
}

/// Returns the length of a word that states the purpose of a secret and is joined to its name before an assignment:
/// `-db:`.
fn purpose(rest: &[u8]) -> usize {
    const WORD: std::ops::RangeInclusive<usize> = 2..=12;
    let Some(word) = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"_")) else { return 0 };
    let letters = word.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let is_assigned = word.get(letters).is_some_and(|byte| b":=".contains(byte));
    if is_assigned && WORD.contains(&letters) { letters + 1 } else { 0 }
}

/// Returns whether a name is a word for password in a language in which programs are not written.
pub(super) fn is_abroad(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.name_foreign.end(&name)
}

/// Returns the password at `at`, which follows a name and a sign.
pub(super) fn assigned(text: &[u8], at: usize) -> Option<Range<usize>> {
    let spaces = text.get(at..)?.iter().take(3).take_while(|byte| b" \t".contains(byte)).count();
    let start = word::skip_quote(text, at + spaces);
    let value = word::bare(text, &(start..start + word::length(&text[start..])));
    let told = &text[value.clone()];
    (judge(told, ValuePlace::Given(Promise::Password)).is_secret()
        || value::is_numeric_password(told, Promise::Password))
    .then_some(value)
}

/// Returns the value that a sentence gives for the name that ends at `at`.
fn value_in_sentence(
    text: &[u8],
    mut at: usize,
    promise: Promise,
    is_abroad: bool,
    is_setting: bool,
) -> Option<Range<usize>> {
    // Words that may name the owner: "пароль от сервера x".
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
        let word = word::next(text, at)?;
        let value = word::bare(text, &word);
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
            let next = word::next(text, word.end)?;
            return if is_opened { phrase(text, next.start, PHRASE_WORDS_MIN) } else { None };
        }
        let is_given = || {
            word::is_chosen_with_sign(text, &value)
                || promise != Promise::SomeKey
                    && judge(told, ValuePlace::Beside(promise)).is_secret()
                || promise == Promise::Password && chosen::is_numbered(told)
        };
        let is_far = || {
            is_abroad
                && place <= PLACE_MAX
                && promise == Promise::Password
                && value::is_drawn_beside_name(told)
                && judge(told, ValuePlace::Beside(promise)).is_secret()
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

/// Returns whether the value may follow after this word in a sentence.
fn goes_on(word: &[u8]) -> bool {
    const WORD_BYTES_MAX: usize = 40;
    word.len() <= WORD_BYTES_MAX
        && word.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        && word
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"@._'-".contains(byte))
}

/// Returns the value after a word that introduces it, skipping filler words.
fn value_behind(text: &[u8], mut at: usize, promise: Promise) -> Option<Range<usize>> {
    const FILLERS_MAX: usize = 3;
    for _ in 0..=FILLERS_MAX {
        let word = word::next(text, at)?;
        let value = word::bare(text, &word);
        let told = &text[value.clone()];
        let is_plain = || {
            promise == Promise::Password
                && text[word.start] == b'"'
                && text.get(value.end) == Some(&b'"')
                && judge(told, ValuePlace::Quoted(promise, false)).is_secret()
                && !stand_in::is_stop_word(told)
                && !stand_in::is_placeholder(told)
        };
        if let Some(phrase) = drawn_phrase(text, word.start) {
            return Some(phrase);
        }
        if judge(told, ValuePlace::Told(promise)).is_secret()
            || is_plain()
            || value::is_numeric_password(told, promise)
        {
            return Some(value);
        }
        if !WORDS.filler.has(&text[value]) {
            return None;
        }
        at = word.end;
    }
    None
}

/// Returns a quoted value at `at` that has spaces and appears random.
fn drawn_phrase(text: &[u8], at: usize) -> Option<Range<usize>> {
    let quote = text.get(at).filter(|byte| b"\"'`".contains(byte))?;
    let inner = text.get(at + 1..)?;
    let inner = &inner[..inner.len().min(VALUE_BYTES_MAX)];
    let length = memchr::memchr(*quote, inner)?;
    drawn::is_drawn_phrase(&inner[..length]).then_some(at + 1..at + 1 + length)
}

/// Returns the second value of a sentence that contains two: "from this to that", "old this, new that".
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

/// Returns whether the words before a name indicate that its value is being set.
fn is_setting(text: &[u8], name: &Range<usize>) -> bool {
    const LEAD_BYTES: usize = 64;
    const WORDS_MAX: usize = 6;
    let lead = &text[name.start.saturating_sub(LEAD_BYTES)..name.start];
    let line = lead.rsplit(|byte| b"\n.;:".contains(byte)).next().unwrap_or_default();
    let words = line.rsplit(|byte| b" *`\"'(".contains(byte)).filter(|word| !word.is_empty());
    words.take(WORDS_MAX).any(|word| WORDS.setting.has(word))
}

/// Minimum number of words in a passphrase after `is:`.
const PHRASE_WORDS_MIN: usize = 3;

/// Returns the passphrase at `at`: at least `words_min` plain words, up to the first word that belongs to a sentence.
pub(super) fn phrase(text: &[u8], at: usize, words_min: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let line = rest.iter().take(VALUE_BYTES_MAX).take_while(|byte| is_of_phrase(**byte)).count();
    // A phrase must end with a sign that can end a clause.
    if rest.get(line).is_some_and(|byte| !b".,;!\r\n)\"'`".contains(byte)) {
        return None;
    }
    let (mut end, mut words) = (0, 0);
    let is_plain = |word: &&[u8]| {
        let letters = word.get(1..).unwrap_or_default();
        word.first().is_some_and(u8::is_ascii_alphabetic)
            && letters.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && !WORDS.message.has(word)
            && !WORDS.phrase_prose.has(word)
            && !stand_in::is_stop_word(word)
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

/// Returns a value after a name in the same line, with any words in any language in between. The value must have digits
/// and letters of both cases, in an order that names do not have.
pub(super) fn near(text: &[u8], at: usize, promise: Promise) -> Option<Range<usize>> {
    const DISTANCE_BYTES_MAX: usize = 80;
    /// Number of bytes before a value that may label it as a hash.
    const CONTENT_BYTES: usize = 8;
    let bytes_min = if promise == Promise::Password { 10 } else { 12 };
    let rest = text.get(at..)?;
    // The name must be a separate word and not part of base 64.
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
        let end = start + word::length(&rest[start..line]);
        let value = &rest[start..end];
        let chosen = word::quoted(rest, start)
            .filter(|value| chosen::is_chosen_or_drawn(&rest[value.clone()]));
        let is_drawn = value.len() >= bytes_min
            && judge(value, ValuePlace::Near).is_secret()
            && !stand_in::is_path(value);
        let chosen = chosen.or_else(|| chosen_word(rest, start, line));
        if is_drawn || chosen.is_some() || chosen::is_lone_phrase(value) {
            let end = chosen.map_or(end, |value| value.end);
            let is_content = WORDS.content.occur_in(&rest[..(start + CONTENT_BYTES).min(line)]);
            return (!is_content).then_some(at + start..at + end);
        }
        // A particle of another script may directly precede the value.
        let is_foreign = end == start && rest.get(start).is_some_and(|byte| !byte.is_ascii());
        let is_sign = |byte: &&u8| !(is_edge(**byte) || is_foreign && byte.is_ascii_alphanumeric());
        let sign = rest[end..line].iter().take_while(is_sign).count();
        from = end + sign.max(usize::from(end == start));
    }
    None
}

/// Returns a password at `start` that a person chose, including its sign, after a word that introduces it.
fn chosen_word(text: &[u8], start: usize, line: usize) -> Option<Range<usize>> {
    const LEAD_BYTES: usize = 12;
    const GIVING: [&[u8]; 9] =
        [b"it's", "it’s".as_bytes(), b"its", b"to", b"use", b"using", b"be", b"as", b"try"];
    let length = text[start..line].iter().take_while(|byte| byte.is_ascii_graphic()).count();
    let value = &text[start..start + length];
    // This is tested first, because few words have a digit and every word is tested.
    if !value.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let length = length - value.iter().rev().take_while(|byte| b".,;:\"')".contains(byte)).count();
    let lead = &text[start.saturating_sub(LEAD_BYTES)..start];
    let word = lead.strip_suffix(b" ")?.rsplit(|byte| b" (".contains(byte)).next()?;
    (chosen::is_chosen(&value[..length])
        && (is_one_of(&GIVING, word) || WORDS.copula_told.has(word)))
    .then_some(start..start + length)
}

/// Returns whether a byte is a separator of words.
fn is_edge(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`*([{<>=:,;|".contains(&byte) || byte >= 0xE2
}

#[cfg(test)]
mod tests {
    use crate::engine::Redactor;

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
