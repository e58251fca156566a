//! Repetitions of a secret in the same text, and the user name that belongs to a password.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

use crate::finding::{ACCOUNT, Finding};
use crate::value::{shape, stand_in};
use crate::vocabulary::WORDS;

/// Maximum number of secrets in a text whose repetitions are searched for.
const ECHOED_MAX: usize = 200;

/// Minimum length in bytes of such a secret, because shorter values may be words elsewhere.
const ECHO_BYTES_MIN: usize = 8;

/// Maximum distance in bytes between a user name and its secret.
const COMPANION_BYTES_MAX: usize = 240;

/// Pattern for names near a password that identify its owner, with their values.
static COMPANION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?:user(?:[_ -]?name|[_ -]?id)?|login|uid|client[_-]?id|access[_-]?key[_-]?id|account[_-]?name|(?:auth0|okta)[a-z_]*domain)\\*["'\]]{0,2}\s{0,4}(?:=>|:=|[:=])\s{0,4}\\*(?:["'](?<quoted>[^\s"'\\<>(){}$]{2,120})\\*["']|(?<bare>[A-Za-z0-9_@.+-]{2,80})(?:[;\r\n]|\\n|\z))"#;
    RegexBuilder::new(pattern).unicode(false).case_insensitive(true).build().ok()
});

/// Returns the other occurrences of the values in `found`, because a log or a message may repeat a value that an
/// assignment revealed.
pub(crate) fn repeated(text: &[u8], found: &[Finding]) -> Vec<Finding> {
    let mut values: Vec<(&[u8], &'static str)> = found
        .iter()
        .map(|finding| (&text[finding.range.clone()], finding.rule))
        .filter(|(value, _)| value.len() >= ECHO_BYTES_MIN && is_telling(value))
        .collect();
    let parts: Vec<(&[u8], &'static str)> = values
        .iter()
        .filter_map(|(value, rule)| Some((random_part(value)?, *rule)))
        .filter(|(part, _)| !values.iter().any(|(value, _)| value == part))
        .collect();
    values.sort_unstable();
    values.dedup_by_key(|(value, _)| *value);
    values.truncate(ECHOED_MAX);
    let mut echoes = Vec::new();
    let is_new =
        |at: usize| !found.iter().any(|known| known.range.start <= at && at < known.range.end);
    for (value, rule) in values {
        for start in memmem::find_iter(text, value) {
            let range = start..start + value.len();
            if is_new(start) && stands_alone(text, &range) {
                echoes.push(Finding { rule, range });
            }
        }
    }
    for (part, rule) in parts.into_iter().take(ECHOED_MAX) {
        for start in memmem::find_iter(text, part) {
            if is_new(start) && stands_alone(text, &(start..start + part.len())) {
                echoes.push(Finding { rule, range: token_around(text, start, part.len()) });
            }
        }
    }
    echoes
}

/// Returns the random part of a secret if the rest consists of signs that its format requires, because this part is as
/// sensitive after another prefix.
fn random_part(value: &[u8]) -> Option<&[u8]> {
    const PART_BYTES_MIN: usize = 24;
    const VALUE_BYTES_MAX: usize = 256;
    value
        .get(..value.len().min(VALUE_BYTES_MAX))?
        .split(|byte| !byte.is_ascii_alphanumeric())
        .max_by_key(|part| part.len())
        .filter(|part| part.len() < value.len() && shape::is_random(part, PART_BYTES_MIN))
}

/// Returns the range of the word of letters, digits, `_` and `-` that contains a part.
fn token_around(text: &[u8], start: usize, length: usize) -> Range<usize> {
    const SIDE_BYTES_MAX: usize = 64;
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let before = text[..start].iter().rev().take(SIDE_BYTES_MAX).take_while(is_token).count();
    let after = text[start + length..].iter().take(SIDE_BYTES_MAX).take_while(is_token).count();
    start - before..start + length + after
}

/// Returns whether a value has no other meaning in other places.
fn is_telling(value: &[u8]) -> bool {
    // The length is tested first, because a value may be a long text, which is soon recognised as more than a few
    // words.
    value.len() >= 20 && !shape::is_several_words(value) || shape::is_random(value, ECHO_BYTES_MIN)
}

fn stands_alone(text: &[u8], range: &Range<usize>) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let before = range.start.checked_sub(1).and_then(|at| text.get(at));
    !is_word(before) && !is_word(text.get(range.end))
}

/// Returns the user names, key ids and tenants near passwords and client secrets.
pub(crate) fn companions(text: &[u8], found: &[Finding]) -> Vec<Finding> {
    let Some(regex) = COMPANION.as_ref() else { return Vec::new() };
    let mut companions: Vec<Finding> = Vec::new();
    for finding in found.iter().take(ECHOED_MAX) {
        let start = finding.range.start.saturating_sub(COMPANION_BYTES_MAX);
        let end = (finding.range.end + COMPANION_BYTES_MAX).min(text.len());
        for groups in regex.captures_iter(&text[start..end]) {
            let Some(value) = groups.name("quoted").or_else(|| groups.name("bare")) else {
                continue;
            };
            let range = start + value.start()..start + value.end();
            let is_known = |known: &Finding| known.range == range;
            let is_tenant = value.as_bytes().ends_with(b".auth0.com")
                || value.as_bytes().ends_with(b".okta.com");
            if (is_tenant || !stand_in::is_placeholder(value.as_bytes()))
                && !shape::is_numeric(value.as_bytes())
                && !is_local_name(value.as_bytes())
                && !companions.iter().any(is_known)
            {
                companions.push(Finding { rule: ACCOUNT, range });
            }
        }
    }
    companions
}

/// Returns the other occurrences of an account's name, unless the name is a word.
pub(crate) fn repeated_names(text: &[u8], names: &[Finding]) -> Vec<Finding> {
    const NAME_BYTES_MIN: usize = 6;
    let mut echoes = Vec::new();
    for name in names.iter().take(ECHOED_MAX) {
        let value = &text[name.range.clone()];
        let is_word = !value.iter().any(u8::is_ascii_digit);
        if value.len() < NAME_BYTES_MIN || is_word {
            continue;
        }
        echoes.extend(
            memmem::find_iter(text, value)
                .map(|start| start..start + value.len())
                .filter(|range| stands_alone(text, range) && *range != name.range)
                .map(|range| Finding { rule: ACCOUNT, range }),
        );
    }
    echoes
}

/// Returns whether a value does not name a person: it is a type, a reference, or a user that exists on every machine.
fn is_local_name(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    WORDS.local_host.has(lower)
}
