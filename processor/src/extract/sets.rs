//! Sets of the words in texts, for comparing texts.

use std::collections::BTreeSet;

use memory_store::text;

/// The words of a text.
pub type WordSet = BTreeSet<String>;

/// Returns the terms of a text.
pub fn subject_of(text: &str) -> WordSet {
    text::tokens(text).into_iter().map(|token| token.term).collect()
}

/// Returns the set of a text's words.
pub fn word_set(text: &str) -> WordSet {
    text::words(text).into_iter().collect()
}

/// Minimum number of words in a set for a partial overlap. Smaller sets overlap only if they are equal.
const WORDS_FEW: usize = 3;

/// Returns the fraction of the smaller set's words that are in the larger set.
pub fn overlap(a: &WordSet, b: &WordSet) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller < WORDS_FEW {
        return f32::from(u8::from(a == b && !a.is_empty()));
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = a.intersection(b).count() as f32 / smaller as f32;
    share
}

/// Joins statements to a body. Each sentence ends with a full stop.
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
