//! Forms that associate a name with its value without an assignment: with emphasis, across lines, in cells, tags,
//! objects and calls, and with the value before the name.
//!
//! A form is a pattern for the text after or before a name. Forms are tried only if a name indicates a secret and no
//! assignment was found, so ordinary text is not slowed down.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::context::rows;
use crate::value::{Promise, ValuePlace, chosen, judge, shape, stand_in, word};

/// Number of bytes after and before a name that are searched for its value.
const AFTER_BYTES_MAX: usize = 640;
const BEFORE_BYTES_MAX: usize = 400;

/// Certainty of a form, which determines the requirements for the value.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum ProseJudge {
    /// A literal in code or data. It must look like the quoted value of an assignment.
    Quoted,
    /// An argument of a call. Many arguments are not values. Therefore the value must have digits, or follow `set` if
    /// it is plain.
    Argument,
    /// Given in a sentence by a person or a program. The value must have a letter and a digit.
    Told,
    /// Next to the name without a sign in between. The value must be random.
    Drawn,
    /// A literal in a call that computes the value or looks it up. The value must have a letter and a digit, or be
    /// random words.
    Wrapped,
    /// In a list of settings or outputs. The value must look like a generated password or key.
    Styled,
    /// Bytes, each as a number.
    Bytes,
}

/// Place of the value relative to the name.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum ValueSide {
    /// After the name.
    Behind,
    /// In a call after the name and an operator.
    Call,
    /// After the name, as a list of numbers.
    Bytes,
    /// Before the name.
    Before,
}

/// A form: a row of `contexts.toml`.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct ProseForm {
    place: ValueSide,
    /// Characters, one of which must begin the text after the name or end the text before it.
    edge: String,
    /// Text that is near the name in every match. It excludes most names without using the pattern.
    #[serde(default)]
    needs: String,
    judge: ProseJudge,
    pattern: String,
    #[serde(skip)]
    regex: OnceLock<Option<Regex>>,
    /// Searcher for the text in `needs`.
    #[serde(skip)]
    finder: OnceLock<Finder<'static>>,
}

static FORMS: LazyLock<Vec<ProseForm>> = LazyLock::new(|| rows::of("form"));

/// Returns the forms for a place.
fn forms(place: ValueSide) -> impl Iterator<Item = &'static ProseForm> {
    FORMS.iter().filter(move |form| form.place == place)
}

impl ProseForm {
    /// Returns whether a byte is a character of the edge, or the first byte of one.
    fn is_beside(&self, byte: u8) -> bool {
        (byte.is_ascii() || byte >= 0xC0) && self.edge.as_bytes().contains(&byte)
    }

    fn find(&self, text: &[u8], promise: Promise, name: &[u8]) -> Option<Range<usize>> {
        if !self.needs.is_empty() {
            let needs = || Finder::new(self.needs.as_bytes()).into_owned();
            self.finder.get_or_init(needs).find(text)?;
        }
        let regex = self.regex.get_or_init(|| compile(&self.pattern)).as_ref()?;
        let groups = regex.captures(text)?;
        let group = groups.name("secret")?.range();
        if promise == Promise::Password
            && self.judge == ProseJudge::Told
            && let Some(word) = word::drawn(text, group.start)
        {
            return Some(word);
        }
        if groups.name("more").is_some_and(|more| !more.is_empty()) {
            return None;
        }
        let (value, behind) = (&text[group.clone()], &text[group.end..]);
        self.judge.accepts(value, behind, promise, name).then_some(group)
    }
}

/// Returns the value of the name at `name`, which is after the name in one of the forms, or before it.
pub(super) fn find(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let said = &text[name.clone()];
    let after = &text[name.end..(name.end + AFTER_BYTES_MAX).min(text.len())];
    let follows = after.first().copied().unwrap_or(b'\n');
    let find = |form: &ProseForm| form.find(after, promise, said);
    let mut behind = forms(ValueSide::Behind).filter(|form| form.is_beside(follows));
    let in_call = || is_operator(after).then(|| forms(ValueSide::Call).find_map(find)).flatten();
    if let Some(value) = behind.find_map(find).or_else(in_call) {
        return Some(name.end + value.start..name.end + value.end);
    }
    before(text, name, promise)
}

/// Returns whether an operator follows a name, with its closing quote.
fn is_operator(after: &[u8]) -> bool {
    let closes = |byte: &&u8| b"\"'`]) ".contains(byte);
    let signs = after.iter().take(8).take_while(closes).count();
    after.get(signs).is_some_and(|byte| b":=".contains(byte))
}

/// Returns the list of numbers after `name` that are the bytes of a key.
pub(super) fn bytes(
    text: &[u8],
    name: &Range<usize>,
    promise: impl FnOnce() -> Option<Promise>,
) -> Option<Range<usize>> {
    const OPEN_BYTES_MAX: usize = 48;
    let after = &text[name.end..(name.end + AFTER_BYTES_MAX).min(text.len())];
    let opens =
        |at: usize| after[at + 1..].trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    let lead = &after[..after.len().min(OPEN_BYTES_MAX)];
    if !memchr::memchr3_iter(b'[', b'{', b'(', lead).any(opens) {
        return None;
    }
    let promise = promise()?;
    let value =
        forms(ValueSide::Bytes).find_map(|form| form.find(after, promise, &text[name.clone()]))?;
    Some(name.end + value.start..name.end + value.end)
}

/// Returns the value of the name at `name` if it is before the name in one of the forms.
fn before(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let said = &text[name.clone()];
    let from = name.start.saturating_sub(BEFORE_BYTES_MAX);
    let before = &text[from..name.start];
    let precedes = before.last().copied().unwrap_or(b'\n');
    forms(ValueSide::Before)
        .filter(|form| form.is_beside(precedes))
        .find_map(|form| form.find(before, promise, said))
        .map(|value| from + value.start..from + value.end)
}

fn compile(pattern: &str) -> Option<Regex> {
    // Q is a quote that may be escaped; B is an unquoted value, which usually ends at one of the following signs; V is
    // a quoted value; W is a line break.
    let pattern = pattern
        .replace("<Q>", r#"(?:\\{0,3}["'`]|&quot;)"#)
        .replace("<V>", r#"(?<secret>[^\s"'`\\<>][^"'`\\\n<>]{2,300}?)"#)
        .replace(
            "<B>",
            r#"(?<secret>[^\s"'`|<>,;*(){}\[\]\\\x80-\xFF][^\s"'`|<>,;*\\\x80-\xFF]{1,300})(?<more>[^\s"'`\\]{0,64}?)"#,
        )
        .replace("<W>", r"(?:\r?\n|\\n)");
    RegexBuilder::new(&pattern).unicode(false).build().ok()
}

impl ProseJudge {
    fn accepts(self, value: &[u8], behind: &[u8], promise: Promise, name: &[u8]) -> bool {
        let value = value.trim_ascii_end();
        if value.is_empty() || stand_in::is_other_thing(value) {
            return false;
        }
        let upper = !name.iter().any(u8::is_ascii_lowercase);
        match self {
            Self::Quoted => {
                !shape::is_numeric(value)
                    && judge(value, ValuePlace::Quoted(promise, upper)).is_secret()
            }
            Self::Argument => {
                let is_plain = value.iter().all(u8::is_ascii_lowercase);
                let sets = super::promise::words(str::from_utf8(name).unwrap_or_default())
                    .first()
                    .is_some_and(|word| matches!(word.as_str(), "set" | "with"));
                let has_digit = value.iter().any(u8::is_ascii_digit);
                let is_told = has_digit || is_plain && sets && value.len() >= 8;
                (is_told || chosen::is_joined_phrase(value))
                    && !value.contains(&b' ')
                    && !shape::is_numeric(value)
                    && judge(value, ValuePlace::Quoted(promise, upper)).is_secret()
            }
            Self::Told => {
                let is_code = matches!(behind, [b'(' | b'[' | b'{', ..])
                    || behind.starts_with(b"<") && !behind.starts_with(b"</");
                // `password: Sha256Hash,` and `Token = oauth2::Token2` are types.
                let is_type = matches!(behind, [b',' | b';', ..])
                    && value[0].is_ascii_uppercase()
                    && !value.last().is_some_and(u8::is_ascii_digit);
                let is_type = is_type || memchr::memmem::find(value, b"::").is_some();
                !is_code && !is_type && judge(trimmed(value), ValuePlace::Told(promise)).is_secret()
            }
            Self::Drawn => judge(trimmed(value), ValuePlace::Beside(promise)).is_secret(),
            Self::Wrapped => {
                judge(value, ValuePlace::Told(promise)).is_secret() || chosen::is_chosen(value)
            }
            Self::Styled => judge(value, ValuePlace::Styled).is_secret(),
            Self::Bytes => are_drawn_bytes(value),
        }
    }
}

/// Returns whether numbers are random bytes, which means that no two consecutive ones are equal and some are large.
fn are_drawn_bytes(value: &[u8]) -> bool {
    const LARGE: u32 = 99;
    const LARGE_MIN: usize = 4;
    let numbers = value.split(|byte| *byte == b',').map(|number| {
        let number = str::from_utf8(number.trim_ascii()).unwrap_or_default();
        let digits = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
        digits.map_or_else(|| number.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
    });
    let Some(numbers) = numbers.collect::<Option<Vec<u32>>>() else { return false };
    let steps = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count();
    numbers.iter().all(|number| *number <= 255)
        && numbers.iter().filter(|number| **number > LARGE).count() >= LARGE_MIN
        && steps * 4 < numbers.len()
}

/// Returns the value without punctuation after it.
fn trimmed(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| !b".:!?)".contains(byte)).map_or(0, |at| at + 1);
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_a_pattern() {
        for form in FORMS.iter() {
            assert!(compile(&form.pattern).is_some(), "{}", form.pattern);
        }
    }
}
