//! Correction of mistyped words in explicit search. The correction is the most frequent word of the texts that differs
//! by one letter or by two transposed neighbours (Damerau's distance with adjacent transpositions).
//!
//! An index contains only hashes of words, so the texts must be read. Therefore only words that occur nowhere are
//! corrected.

use std::collections::BTreeMap;

use strsim::osa_distance;

use memory_store_base::text;

/// Minimum number of letters of a word that is corrected. Shorter words are similar to too many others.
const LETTERS_MIN: usize = 4;
/// Maximum number of letters of a word that is corrected.
const LETTERS_MAX: usize = 32;

/// Words that occur nowhere, each with the similar words of the texts read so far and their numbers.
#[derive(Debug, Default)]
pub(crate) struct Typos {
    words: Vec<(String, BTreeMap<String, u32>)>,
}

impl Typos {
    /// Selects those of the words that may be mistyped.
    pub(crate) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut typos = Self::default();
        for word in words {
            let letters = word.chars().count();
            let plain = word.chars().all(char::is_alphabetic);
            let known = typos.words.iter().any(|(known, _)| known == word);
            if plain && !known && (LETTERS_MIN..=LETTERS_MAX).contains(&letters) {
                typos.words.push((word.to_owned(), BTreeMap::new()));
            }
        }
        typos
    }

    /// Returns whether there are no words to correct.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Counts the similar words in a text.
    pub(crate) fn read(&mut self, text: &str) {
        let text = text::folded(text);
        for run in text.split(|c: char| !c.is_alphabetic()) {
            for (word, near) in &mut self.words {
                if is_near(run, word) {
                    *near.entry(run.to_lowercase()).or_default() += 1;
                }
            }
        }
    }

    /// Returns each word for which a correction was found, with the correction.
    pub(crate) fn meant(self) -> Vec<(String, String)> {
        let best = |near: BTreeMap<String, u32>| {
            // Of equally frequent words, the first in alphabetical order is used.
            near.into_iter().rev().max_by_key(|&(_, count)| count).map(|(word, _)| word)
        };
        self.words.into_iter().filter_map(|(word, near)| Some((word, best(near)?))).collect()
    }
}

/// Returns whether two words differ by one letter. Most words are excluded by comparing lengths and ends.
fn is_near(run: &str, word: &str) -> bool {
    // A letter has at most four bytes.
    if run.len().abs_diff(word.len()) > 3 || run.is_empty() {
        return false;
    }
    let same = |a: &u8, b: &u8| a.eq_ignore_ascii_case(b);
    let head = run.bytes().zip(word.bytes()).take_while(|(a, b)| same(a, b)).count();
    let tail = run.bytes().rev().zip(word.bytes().rev()).take_while(|(a, b)| same(a, b)).count();
    // Up to two letters of up to four bytes each may remain between the equal ends.
    head + tail + 8 >= run.len().max(word.len())
        && (!run.is_ascii() || !word.is_ascii() || head + tail + 2 >= run.len().max(word.len()))
        && osa_distance(&run.to_lowercase(), word) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(word: &str, text: &str) -> Option<String> {
        let mut typos = Typos::new([word].into_iter());
        typos.read(text);
        typos.meant().pop().map(|(_, meant)| meant)
    }

    #[test]
    fn one_slip_is_forgiven() {
        let text = "The Migration of the database runs at night; größere tables take long.";
        for slip in ["migraton", "migrattion", "migratoin", "migrazion", "igration"] {
            assert_eq!(meant(slip, text).as_deref(), Some("migration"), "{slip}");
        }
        assert_eq!(meant("grossere", "größere"), None, "two letters");
        assert_eq!(meant("grosere", "grossere tables").as_deref(), Some("grossere"));
        assert_eq!(meant("miggratoin", text), None);
        assert_eq!(meant("run", text), None, "too short");
        assert_eq!(meant("nihgt", text).as_deref(), Some("night"));
        assert_eq!(meant("базы", "база").as_deref(), Some("база"));
    }

    #[test]
    fn the_more_frequent_word_was_meant() {
        assert_eq!(meant("paser", "parser laser parser passer").as_deref(), Some("parser"));
        assert_eq!(meant("paser", "passer parser").as_deref(), Some("parser"));
    }

    proptest::proptest! {
        #[test]
        fn the_quick_test_loses_nothing(run in "[a-dé]{0,7}", word in "[a-dé]{4,7}") {
            let near = !run.is_empty() && osa_distance(&run, &word) == 1;
            proptest::prop_assert_eq!(is_near(&run, &word), near);
        }
    }
}
