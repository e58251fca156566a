//! Correction of mistyped words: the most frequent word of the texts that differs by a single
//! letter, or by two transposed ones (Damerau's distance with adjacent transpositions).
//!
//! An index contains only hashes of words, so the texts are read. This is for explicit search, and
//! only for words that occur nowhere.

use std::collections::BTreeMap;

use strsim::osa_distance;

use memory_store_base::text;

/// Minimum number of letters of a word: shorter words have too many neighbours.
const LETTERS_MIN: usize = 4;
/// Maximum number of letters of a word.
const LETTERS_MAX: usize = 32;

/// Words that occur nowhere, with similar words of the texts read so far.
#[derive(Debug, Default)]
pub(crate) struct Typos {
    words: Vec<(String, BTreeMap<String, u32>)>,
}

impl Typos {
    /// Selects the words that may be mistyped.
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

    /// Returns whether there is no such word.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds the words of a text.
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

    /// Returns the words for which a correction was found, with the correction.
    pub(crate) fn meant(self) -> Vec<(String, String)> {
        let best = |near: BTreeMap<String, u32>| {
            // Among equally frequent words the first in the alphabet.
            near.into_iter().rev().max_by_key(|&(_, count)| count).map(|(word, _)| word)
        };
        self.words.into_iter().filter_map(|(word, near)| Some((word, best(near)?))).collect()
    }
}

/// Returns whether two words differ by one letter. Most words are excluded by their length or their
/// ends.
fn is_near(run: &str, word: &str) -> bool {
    // One letter has at most four bytes.
    if run.len().abs_diff(word.len()) > 3 || run.is_empty() {
        return false;
    }
    let same = |a: &u8, b: &u8| a.eq_ignore_ascii_case(b);
    let head = run.bytes().zip(word.bytes()).take_while(|(a, b)| same(a, b)).count();
    let tail = run.bytes().rev().zip(word.bytes().rev()).take_while(|(a, b)| same(a, b)).count();
    // Two letters of up to four bytes may remain between.
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
