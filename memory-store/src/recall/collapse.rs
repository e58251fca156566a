//! Near-duplicates: what says the same as a better hit is left out.

use super::Hit;
use crate::text::{hash_bytes, is_unspaced};

/// The share of the shorter one's words that both have.
const SAME: f32 = 0.8;
/// Texts with fewer words than this are compared as a whole only.
const WORDS_MIN: usize = 5;
/// Characters of the shortest word that counts: most shorter ones stand in every text.
const WORD_CHARS_MIN: usize = 3;

/// The words of the hits kept so far, found when there is something to compare them with.
#[derive(Debug, Default)]
pub struct Kept(Vec<Vec<u64>>);

impl Kept {
    /// Whether a hit says what one of those kept says. To be asked once for each hit that is to be
    /// kept, before it is.
    pub fn says(&mut self, kept: &[Hit], hit: &Hit) -> bool {
        if kept.is_empty() {
            return false;
        }
        while let Some(next) = kept.get(self.0.len()) {
            self.0.push(words(next));
        }
        let words = words(hit);
        let says = self.0.iter().any(|known| says_the_same(&words, known));
        if !says {
            self.0.push(words);
        }
        says
    }
}

/// The words of a hit, in rising order, each once. Not the terms of an index: whether two texts say
/// the same shows without stems, which cost more than finding the hits.
fn words(hit: &Hit) -> Vec<u64> {
    let mut words = Vec::with_capacity((hit.title.len() + hit.text.len()) / 4);
    for text in [&hit.title, &hit.text] {
        add_words(text, &mut words);
    }
    words.sort_unstable();
    words.dedup();
    words
}

fn add_words(text: &str, words: &mut Vec<u64>) {
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() && !is_unspaced(c) {
            word.extend(c.to_lowercase());
            continue;
        }
        if word.chars().nth(WORD_CHARS_MIN - 1).is_some() {
            words.push(hash_bytes(word.as_bytes()));
        }
        word.clear();
        if is_unspaced(c) {
            words.push(u64::from(u32::from(c)));
        }
    }
}

fn says_the_same(a: &[u64], b: &[u64]) -> bool {
    let shorter = a.len().min(b.len());
    if shorter < WORDS_MIN {
        return a == b;
    }
    let shared = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
    shared as f32 >= SAME * shorter as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_the_same_is_a_duplicate() {
        let a: Vec<u64> = (0..20).collect();
        let mostly: Vec<u64> = (2..22).collect();
        let half: Vec<u64> = (10..30).collect();
        assert!(says_the_same(&mostly, &a));
        assert!(!says_the_same(&half, &a));
        assert!(!says_the_same(&[1, 2], &[1, 2, 3]));
    }

    #[test]
    fn words_are_compared_in_any_script_and_case() {
        let found = |text: &str| {
            let mut words = Vec::new();
            add_words(text, &mut words);
            words
        };
        assert_eq!(
            found("The Größe, of `a_word`!"),
            found("the gröSSe... word".replace("SS", "ß").as_str())
        );
        assert_eq!(found("記憶を"), ['記', '憶', 'を'].map(|c| u64::from(u32::from(c))));
        assert!(found("a of 12").is_empty());
    }
}
