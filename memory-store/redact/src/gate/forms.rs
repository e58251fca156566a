//! Forms of sentences that identify a credential by its context, whatever the value: an option, a variable, the answer
//! to a question. The rows are in `contexts.toml`.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memory_store_base::text;
use regex::Regex;
use serde::Deserialize;

use super::literals::PatternFilter;
use super::looks::{self, Looks, is_rare, is_template};
use crate::context::rows;
use crate::value::{drawn, shape, stand_in};

/// A row of `contexts.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GateRow {
    reason: String,
    /// Regular expression. The first group that takes part in a match is the value.
    pattern: String,
    /// Regular expression that must match elsewhere in the sentence.
    near: Option<String>,
    value: GateJudge,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    example: String,
}

/// Test for a value.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GateJudge {
    /// Any text except a placeholder, a path or a number.
    Any,
    /// Not an ordinary word: it has a digit or a sign, is rare, or is in quotes.
    Marked,
    /// Like `Marked`, or a name.
    Named,
    /// A word that resembles a credential regardless of the other words.
    Looks,
    /// Plain words that are not function words, at least half of them rare.
    Phrase,
    /// An address with a segment that appears random.
    Address,
}

/// A form. Its expressions are compiled when a sentence contains one of its literals, because most processes need only
/// a few forms.
struct GateForm {
    row: GateRow,
    pattern: OnceLock<Regex>,
    near: OnceLock<Regex>,
}

/// The forms, with a filter that finds those that may match a sentence.
struct Forms {
    list: Vec<GateForm>,
    patterns: PatternFilter,
    near: PatternFilter,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let form = |row| GateForm { row, pattern: OnceLock::new(), near: OnceLock::new() };
    let list: Vec<GateForm> = rows::of::<Vec<GateRow>>("suspect").into_iter().map(form).collect();
    let patterns = PatternFilter::new(list.iter().map(|form| form.row.pattern.as_str()));
    let near =
        PatternFilter::new(list.iter().map(|form| form.row.near.as_deref().unwrap_or_default()));
    Forms { list, patterns, near }
});

/// Returns the example of each form with the form's reason.
#[cfg(test)]
pub(super) fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMS.list.iter().map(|form| (form.row.example.as_str(), form.row.reason.as_str()))
}

/// Returns the values in a sentence that match a form, each with the form's reason.
pub(super) fn find(sentence: &str) -> Vec<(Range<usize>, &'static str)> {
    let mut may = FORMS.patterns.may_match(sentence);
    if may != 0 {
        may &= FORMS.near.may_match(sentence);
    }
    find_of(sentence, may)
}

/// Returns the values that match the forms whose bit is set.
fn find_of(sentence: &str, forms: u64) -> Vec<(Range<usize>, &'static str)> {
    let mut found = Vec::new();
    // The test `each_form_finds_its_example` verifies the patterns.
    let regex = |text: &String| Regex::new(text).expect("the patterns are valid");
    let is_near = |form: &GateForm| {
        let near = form.row.near.as_ref();
        near.is_none_or(|near| form.near.get_or_init(|| regex(near)).is_match(sentence))
    };
    let is_set = |(at, _): &(usize, &GateForm)| forms >> at & 1 == 1;
    for (_, form) in FORMS.list.iter().enumerate().filter(is_set) {
        if !is_near(form) {
            continue;
        }
        let pattern = form.pattern.get_or_init(|| regex(&form.row.pattern));
        for captures in pattern.captures_iter(sentence) {
            let Some(value) = captures.iter().skip(1).flatten().next() else { continue };
            let range = form.row.value.part_of(sentence, value.range());
            found.extend(range.map(|range| (range, form.row.reason.as_str())));
        }
    }
    found
}

/// Returns the values that match any form, without the filter by literals, and the number of forms that have no
/// literals.
#[cfg(test)]
pub(super) fn find_by_all(sentence: &str) -> (Vec<(Range<usize>, &'static str)>, u32) {
    (find_of(sentence, u64::MAX), FORMS.patterns.unfiltered())
}

impl GateJudge {
    /// Returns the range of the credential within a value; `None` if it is not a credential.
    fn part_of(self, sentence: &str, range: Range<usize>) -> Option<Range<usize>> {
        let is_quote = |c: char| "\"'".contains(c);
        let is_quoted = sentence[..range.start].ends_with(is_quote)
            && sentence[range.end..].starts_with(is_quote);
        let value = match is_quoted {
            true => &sentence[range.clone()],
            false => sentence[range.clone()].trim_end_matches(|c: char| ".,:;!?)]}`*".contains(c)),
        };
        let is_value = match self {
            Self::Any => !is_refused(value),
            Self::Marked => !is_refused(value) && is_marked(value, is_quoted),
            Self::Named => {
                let is_name = value.starts_with(char::is_uppercase);
                !is_refused(value) && (is_quoted || is_name || is_marked(value, false))
            }
            Self::Looks => !matches!(Looks::of(value), None | Some(Looks::Number | Looks::Digits)),
            Self::Phrase => {
                let words: Vec<&str> = value.split([' ', '-']).collect();
                let rare = words.iter().filter(|word| is_rare(word.as_bytes())).count();
                rare * 2 >= words.len() && !words.into_iter().any(text::is_stop_word)
            }
            Self::Address => {
                let start = range.start + drawn_segment(value)?;
                return Some(start..range.start + value.len());
            }
        };
        is_value.then(|| range.start..range.start + value.len())
    }
}

/// Returns whether a value is a placeholder or a function word.
fn is_refused(value: &str) -> bool {
    let lowered = value.to_lowercase();
    let is_name = value.bytes().all(|byte| byte.is_ascii_uppercase() || b"_".contains(&byte));
    value.starts_with(['$', '%', '<', '{', '@', '-', '(', '[', '~'])
        || is_name && value.contains('_')
        || is_template(value)
        || value.is_ascii() && stand_in::stands_for_something(value.as_bytes())
        || stand_in::is_numbered_algorithm(value.as_bytes())
        || text::is_stop_word(&lowered)
        || crate::vocabulary::WORDS.gate_kinds.is_in_whole(&lowered)
}

/// Returns whether a value is not an ordinary word.
fn is_marked(value: &str, is_quoted: bool) -> bool {
    const RARE_LETTERS_MIN: usize = 5;
    let (letters, digits) = looks::count(value);
    let is_phrase = value.contains(' ') && !value.split(' ').any(text::is_stop_word);
    let is_rare_word = || {
        letters >= RARE_LETTERS_MIN
            && value.chars().all(char::is_lowercase)
            && is_rare(value.as_bytes())
    };
    letters > 0 && digits > 0
        || looks::has_inner_sign(value)
        || looks::is_joined_words(value)
        || is_rare_word()
        || is_quoted && (is_phrase || value.contains(char::is_uppercase))
}

/// Returns the start of the first segment in an address that appears random. Numbers do not count, and commits count
/// only if the address is a webhook.
fn drawn_segment(address: &str) -> Option<usize> {
    const BYTES_MIN: usize = 8;
    const HEX_BYTES_MIN: usize = 16;
    let is_hook = address.contains("hook");
    let mut at = address.find("://")? + 3;
    for segment in address[at..].split(['/', '?', '&', '=', '#']) {
        let bytes = segment.as_bytes();
        let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
        let is_drawn = match is_hex {
            true => is_hook && segment.len() >= HEX_BYTES_MIN && !shape::is_numeric(bytes),
            false => drawn::is_drawn(bytes) || shape::is_random(bytes, HEX_BYTES_MIN),
        };
        if segment.len() >= BYTES_MIN && !segment.contains('.') && is_drawn {
            return Some(at);
        }
        at += segment.len() + 1;
    }
    None
}
