//! The words of texts, by which two that say the same are known.

use std::collections::BTreeSet;

use memory_store::text;

/// The words of a text.
pub type Words = BTreeSet<String>;

/// The terms by which a text is known to speak of something.
pub fn subject_of(text: &str) -> Words {
    text::tokens(text).into_iter().map(|token| token.term).collect()
}

/// Characters of the shortest name.
const NAME_CHARS_MIN: usize = 4;

/// The names of things in a Markdown text, as people write them in code: what has a point, a stroke, a number or
/// letters of both cases in it, and every word of a code span. Of a path, the last part.
pub fn names(markdown: &str) -> Words {
    let spans = markdown.split('`').skip(1).step_by(2).flat_map(parts);
    last_parts(spans.chain(parts(markdown).filter(|word| is_name(word))))
}

/// The names in a text that is code.
pub fn names_in_code(code: &str) -> Words {
    last_parts(parts(code))
}

fn is_name(word: &str) -> bool {
    let mut pairs = word.as_bytes().windows(2);
    pairs.any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        || word.contains(['.', '_', '/', ':'])
        || word.contains(|c: char| c.is_ascii_digit())
}

fn last_parts<'a>(words: impl Iterator<Item = &'a str>) -> Words {
    let last = |word: &'a str| word.rsplit(['/', '\\']).next().unwrap_or(word);
    // Of ASCII's letters no small one is longer, so that short words are told before they are copied.
    let is_long = |word: &&str| !word.is_ascii() || word.len() >= NAME_CHARS_MIN;
    let small = words.map(last).filter(is_long).map(str::to_lowercase);
    small.filter(|name| name.len() >= NAME_CHARS_MIN).collect()
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| matches!(c, '_' | '.' | '/' | '\\' | ':' | '$' | '-');
    text.split(move |c: char| !(c.is_alphanumeric() || is_part(c)))
        .map(|word| word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')))
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$'))
}

/// The set of a text's words.
pub fn word_set(text: &str) -> Words {
    text::words(text).into_iter().collect()
}

/// Sets of fewer words are alike only when they are the same.
pub const WORDS_FEW: usize = 3;

/// The share of the smaller set that the larger one holds.
pub fn overlap(a: &Words, b: &Words) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller < WORDS_FEW {
        return f32::from(u8::from(a == b && !a.is_empty()));
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = a.intersection(b).count() as f32 / smaller as f32;
    share
}

/// The share of the words of `a` that `b` holds.
pub fn within(a: &Words, b: &Words) -> f32 {
    if a.is_empty() {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = a.intersection(b).count() as f32 / a.len() as f32;
    share
}

/// Joins statements into a body; sentences end with a full stop.
pub fn join(parts: &[String]) -> String {
    let mut body = String::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        if !body.is_empty() {
            body.push(' ');
        }
        body.push_str(part);
        if !part.ends_with(['.', '!', '?', ':', '…', ';']) {
            body.push('.');
        }
    }
    body
}
