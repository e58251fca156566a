//! Correction of mistyped words in a prompt.
//!
//! An unknown word has the maximum weight and matches nothing, so a single mistyped word closes the gate. If a word of
//! the store differs from it by one letter, or by two transposed neighbours, the store's word is used instead. The word
//! must also occur in technical text, which names of a project do not. An index contains only hashes of words, so each
//! spelling that is one edit away is looked up (Norvig, "How to Write a Spelling Corrector", 2007). Explicit search has
//! more time and reads the texts; see [`typo`](crate::query::typo).

use std::ops::Range;

use crate::embed::Table;
use crate::query::{LONG_BYTES, Term};
use crate::rank::lexical::{self, FoundTerms};
use crate::search::sources::Sources;
use memory_store_base::text::{self, rarity, term_hash};

/// Minimum number of letters of a word that is corrected. Shorter words are similar to too many others.
const LETTERS_MIN: usize = 5;
/// Maximum number of letters of a word that is corrected. Longer words are names and keys.
const LETTERS_MAX: usize = 16;
/// Maximum number of doubtful words in a prompt. With more, most are names. Each costs some hundred look-ups.
const WORDS_MAX: usize = 2;

/// Returns the text with its mistyped words corrected; `None` if nothing is corrected. `terms` are the text's terms,
/// and `found` is the result of their look-up. Known words are those of technical text and of the embedder's
/// vocabulary, `table`, which is opened only if there is a doubtful word.
pub(crate) fn respelled(
    sources: &Sources,
    prompt: &str,
    terms: &[Term],
    found: &FoundTerms<'_>,
    table: impl FnOnce() -> Option<Table>,
) -> Option<String> {
    // A long prompt has enough other words, and most prompts have no unknown word.
    let nowhere = nowhere(terms, found);
    if nowhere.is_empty() || prompt.len() > LONG_BYTES {
        return None;
    }
    let is_nowhere = |word: &Range<usize>| {
        let terms = terms_of(&prompt[word.clone()]);
        !terms.is_empty() && terms.iter().all(|term| nowhere.contains(&term.hash))
    };
    let mut doubtful: Vec<Range<usize>> = words(prompt).filter(is_nowhere).collect();
    if doubtful.is_empty() {
        return None;
    }
    let table = table()?;
    let lower = |word: &Range<usize>| prompt[word.clone()].to_ascii_lowercase();
    doubtful.retain(|word| table.tokens(&lower(word)).is_ok_and(|tokens| tokens.len() != 1));
    if doubtful.len() > WORDS_MAX {
        return None;
    }
    let mut respelled = prompt.to_owned();
    // Words are replaced from last to first, so that the ranges of earlier words stay valid.
    for word in doubtful.into_iter().rev() {
        if let Some(meant) = meant(sources, &lower(&word)) {
            respelled.replace_range(word, &meant);
        }
    }
    (respelled != prompt).then_some(respelled)
}

/// Returns the byte ranges of words that may be mistyped: they consist of letters and are not part of code names or
/// paths.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let ends_word =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '?' | '!' | '"' | '(' | ')');
    text.split(ends_word).filter_map(move |run| {
        let start = run.as_ptr() as usize - text.as_ptr() as usize;
        let word = run.strip_suffix('.').unwrap_or(run);
        let letters = (LETTERS_MIN..=LETTERS_MAX).contains(&word.len());
        let is_plain = word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
            && word.starts_with(|first: char| first.is_ascii_alphabetic());
        (letters && is_plain).then(|| start..start + word.len())
    })
}

/// Returns the hashes of the terms that consist of letters and occur neither in technical text nor in the store.
fn nowhere(terms: &[Term], found: &FoundTerms<'_>) -> Vec<u64> {
    let is_plain = |term: &&Term| term.text.bytes().all(|byte| byte.is_ascii_lowercase());
    let absent = terms.iter().zip(&found.absent).filter(|(_, absent)| **absent);
    let absent = absent.map(|(term, _)| term).filter(is_plain);
    absent.filter(|term| rarity::is_unknown(&term.text)).map(|term| term.hash).collect()
}

/// Returns the word that was probably meant: of the words one edit away that occur in technical text and in the store,
/// the one in the most memories. `None` if there is none.
fn meant(sources: &Sources, word: &str) -> Option<String> {
    let known = edits(word).into_iter().filter_map(|edit| {
        let term = text::term_of(&edit).filter(|term| !rarity::is_unknown(term))?;
        let term = Term::of(term_hash(&term), &term);
        Some((edit, term))
    });
    let (words, terms): (Vec<String>, Vec<Term>) = known.unzip();
    let counts = lexical::counts(sources, &terms);
    let found = words.into_iter().zip(counts).filter(|&(_, count)| count > 0);
    // Of equally frequent words, the first in alphabetical order is used.
    let best = found.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    best.map(|(word, _)| word)
}

fn terms_of(word: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    text::each_term(word, &mut |term, _| terms.push(Term::of(term_hash(term), term)));
    terms
}

/// Returns the spellings one edit away from a lower-case word: with a letter removed, added or replaced, or with two
/// neighbours transposed (Damerau's distance).
fn edits(word: &str) -> Vec<String> {
    let mut edits = Vec::new();
    for at in 0..=word.len() {
        let (head, tail) = word.split_at(at);
        let mut rest = tail.chars();
        let first = rest.next();
        if let Some(first) = first {
            edits.push(format!("{head}{}", rest.as_str()));
            let mut after = rest.clone();
            if let Some(second) = after.next().filter(|&second| second != first) {
                edits.push(format!("{head}{second}{first}{}", after.as_str()));
            }
        }
        for letter in 'a'..='z' {
            edits.push(format!("{head}{letter}{tail}"));
            if first.is_some_and(|first| first != letter) {
                edits.push(format!("{head}{letter}{}", rest.as_str()));
            }
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use strsim::osa_distance;

    use super::*;

    #[test]
    fn every_edit_is_one_slip_away() {
        let edits = edits("commit");
        assert!(edits.iter().all(|edit| osa_distance(edit, "commit") == 1));
        for slip in ["comit", "ocmmit", "commti", "commits", "xcommit", "cpmmit", "commi"] {
            assert!(edits.iter().any(|edit| edit == slip), "{slip}");
        }
    }

    #[test]
    fn code_and_paths_are_not_misspelled() {
        let text = "Fix frobnicate in src/baz.rs, `Widget::new()` and kebab-case; thier snake_case HTTP (wierd). Begn.";
        let found: Vec<&str> = words(text).map(|word| &text[word]).collect();
        assert_eq!(found, ["frobnicate", "thier", "wierd"]);
    }
}
