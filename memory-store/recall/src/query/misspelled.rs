//! Mistyped words of a prompt.
//!
//! A word that nobody knows weighs as much as a word can and is found nowhere, so that one slip closes the gate. Where
//! a word of the store differs from it by one letter, or by two neighbours that changed places, that one is looked for
//! instead, if technical text knows it, too: names of a project are not. An index knows words by their hashes alone, so
//! each spelling one edit away is looked up (Norvig, "How to Write a Spelling Corrector", 2007). Explicit search, which
//! has the time, reads the texts: see [`typo`](crate::query::typo).

use std::ops::Range;

use crate::embed::Table;
use crate::query::{LONG_BYTES, Term};
use crate::rank::lexical::{self, FoundTerms};
use crate::search::sources::Sources;
use memory_store_base::text::{self, rarity, term_hash};

/// Letters that a word must have: among shorter ones everything is near everything.
const LETTERS_MIN: usize = 5;
/// Letters of a word that is looked at: longer ones are names and keys.
const LETTERS_MAX: usize = 16;
/// Words of a prompt that may be mistyped ones; of more most are names. Each costs some hundred look-ups.
const WORDS_MAX: usize = 2;

/// Returns the text with its mistyped words as they were meant; `None` where there is none. `terms` are its terms,
/// which were looked up. The words that people use are those of technical text and of the embedder's vocabulary, `table`,
/// which is opened where a word is in doubt.
pub(crate) fn respelled(
    sources: &Sources,
    prompt: &str,
    terms: &[Term],
    found: &FoundTerms<'_>,
    table: impl FnOnce() -> Option<Table>,
) -> Option<String> {
    // A long prompt has other words to go by, and most prompts have none that is nowhere.
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
    // From the last one on, so that the places of those before it stay.
    for word in doubtful.into_iter().rev() {
        if let Some(meant) = meant(sources, &lower(&word)) {
            respelled.replace_range(word, &meant);
        }
    }
    (respelled != prompt).then_some(respelled)
}

/// The words of a text that may be mistyped ones: letters alone, neither part of a code name nor of a path.
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

/// Returns the hashes of the terms, of letters alone, that neither technical text nor the store knows.
fn nowhere(terms: &[Term], found: &FoundTerms<'_>) -> Vec<u64> {
    let is_plain = |term: &&Term| term.text.bytes().all(|byte| byte.is_ascii_lowercase());
    let absent = terms.iter().zip(&found.absent).filter(|(_, absent)| **absent);
    let absent = absent.map(|(term, _)| term).filter(is_plain);
    absent.filter(|term| rarity::is_unknown(&term.text)).map(|term| term.hash).collect()
}

/// Returns the word of the store that was meant: of those one edit away that technical text knows, the one that most
/// memories have.
fn meant(sources: &Sources, word: &str) -> Option<String> {
    let known = edits(word).into_iter().filter_map(|edit| {
        let term = text::term_of(&edit).filter(|term| !rarity::is_unknown(term))?;
        let term = Term::of(term_hash(&term), &term);
        Some((edit, term))
    });
    let (words, terms): (Vec<String>, Vec<Term>) = known.unzip();
    let counts = lexical::counts(sources, &terms);
    let found = words.into_iter().zip(counts).filter(|&(_, count)| count > 0);
    // Of equally frequent ones the first in the alphabet.
    let best = found.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    best.map(|(word, _)| word)
}

fn terms_of(word: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    text::each_term(word, &mut |term, _| terms.push(Term::of(term_hash(term), term)));
    terms
}

/// Spellings of a word of lower-case letters that are one edit away: a letter too many, one missing, another one, two
/// neighbours that changed places (Damerau's distance).
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
