//! Near-duplicates: a hit with the same content as a better hit is omitted.
//!
//! Two texts are compared by all their words, and by their distinctive words: numbers, flags, paths, code names, and
//! commands as a whole. Texts that differ in a distinctive word differ in content, even if all other words are equal.

use crate::search::hit::Hit;
use memory_store_base::id::MemoryId;
use memory_store_base::text::{is_stop_word, is_unspaced, telling, term_hash};

/// Minimum similarity of near-duplicates.
pub const SAME: f32 = 0.85;
/// Minimum number of words of a text that counts as a near-duplicate of a longer text containing all its words.
const HELD_WORDS_MIN: usize = 8;
/// Similarity of a text to a longer one that contains all its words.
const HELD: f32 = 0.9;
/// Factor of the similarity if distinctive words differ.
const DIFFER: f32 = 0.5;

/// Words of the hits kept so far, which are computed when first needed for a comparison.
#[derive(Debug, Default)]
pub(crate) struct Kept(Vec<TextWords>);

impl Kept {
    /// Returns the kept hit of which `hit` is a near-duplicate; `None` if there is none. A withheld hit, or one from
    /// the repository, does not replace one that is not. Must be called once for each hit before it is kept.
    pub(crate) fn duplicate_of(&mut self, kept: &[Hit], hit: &Hit) -> Option<MemoryId> {
        if kept.is_empty() {
            return None;
        }
        while let Some(next) = kept.get(self.0.len()) {
            self.0.push(TextWords::of([&next.title, &next.text]));
        }
        let words = TextWords::of([&hit.title, &hit.text]);
        let stands = |better: &Hit| {
            (hit.held || !better.held) && (hit.from_repository || !better.from_repository)
        };
        let mut known = kept.iter().zip(&self.0);
        let same =
            known.position(|(better, known)| stands(better) && words.likeness(known) >= SAME);
        if same.is_none() {
            self.0.push(words);
        }
        same.and_then(|at| Some(kept.get(at)?.id))
    }
}

/// Returns the similarity of two texts, 0 to 1. From [`SAME`] on, they are near-duplicates.
pub fn likeness(a: &str, b: &str) -> f32 {
    TextWords::of([a]).likeness(&TextWords::of([b]))
}

/// Returns the fraction of a text's words that another text contains, 0 to 1. From [`SAME`] on, the text adds nothing
/// to the other.
pub(crate) fn share_in(text: &str, other: &str) -> f32 {
    let [words, other] = [text, other].map(|text| TextWords::of([text]).all);
    shared(&words, &other) as f32 / words.len().max(1) as f32
}

/// Words of a text as sorted, unique hashes. They are not the terms of an index, because near-duplicates are found
/// without stemming, which takes longer than the search.
#[derive(Debug, Default)]
struct TextWords {
    /// Hashes of all words except stop words and single letters.
    all: Vec<u64>,
    /// Hashes of the distinctive words in their whole form.
    telling: Vec<u64>,
}

impl TextWords {
    fn of<'a>(texts: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) -> Self {
        let mut words = Self::default();
        for text in texts {
            words.add(text.as_ref());
        }
        for words in [&mut words.all, &mut words.telling] {
            words.sort_unstable();
            words.dedup();
        }
        words
    }

    fn add(&mut self, text: &str) {
        let mut word = String::new();
        for piece in text.split_whitespace() {
            // Most pieces are plain words, which are not distinctive.
            if piece.bytes().all(|byte| byte.is_ascii_lowercase()) {
                self.add_word(piece);
                continue;
            }
            self.telling.extend(telling(piece).map(|word| term_hash(&word)));
            for c in piece.chars() {
                if c.is_alphanumeric() && !is_unspaced(c) {
                    word.extend(c.to_lowercase());
                    continue;
                }
                self.add_word(&word);
                word.clear();
                if is_unspaced(c) {
                    self.all.push(u64::from(u32::from(c)));
                }
            }
            self.add_word(&word);
            word.clear();
        }
        // Text in backticks is code, whose meaning differs with every change.
        for code in text.split('`').skip(1).step_by(2).filter(|code| code.contains(' ')) {
            let words: Vec<&str> = code.split_whitespace().collect();
            self.telling.push(term_hash(&words.join(" ")));
        }
    }

    /// Adds a lower-case word.
    fn add_word(&mut self, word: &str) {
        let single = word.len() == 1 && !word.as_bytes()[0].is_ascii_digit();
        if !word.is_empty() && !single && !is_stop_word(word) {
            self.all.push(term_hash(word));
        }
    }

    /// Returns the number of common words as a share of all words (Jaccard's index). A text that is contained in a
    /// longer one counts as nearly the same.
    fn likeness(&self, other: &Self) -> f32 {
        let (short, long) =
            if self.all.len() <= other.all.len() { (self, other) } else { (other, self) };
        let shared = shared(&short.all, &long.all);
        let united = short.all.len() + long.all.len() - shared;
        let share = if united == 0 { 1.0 } else { shared as f32 / united as f32 };
        let held = shared == short.all.len()
            && self::shared(&short.telling, &long.telling) == short.telling.len();
        if held && short.all.len() >= HELD_WORDS_MIN {
            share.max(HELD)
        } else if short.telling == long.telling {
            share
        } else {
            share * DIFFER
        }
    }
}

fn shared(short: &[u64], long: &[u64]) -> usize {
    short.iter().filter(|word| long.binary_search(word).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        TextWords::of([a]).likeness(&TextWords::of([b])) >= SAME
    }

    #[test]
    fn what_differs_in_one_telling_word_is_no_duplicate() {
        let note = "Run the importer with a busy timeout of 500 ms before the nightly job starts";
        assert!(alike(
            note,
            "Before the nightly job starts, run the importer with a busy timeout of 500 ms!"
        ));
        assert!(!alike(note, &note.replace("500", "900")));
        assert!(!alike("List the files below src/a", "List the files below src/b"));
        assert!(!alike("Sort lines with -r", "Sort lines with -n"));
        assert!(!alike(
            "Show the host's address: hostname -i",
            "Show the host's address: hostname -I"
        ));
        assert!(!alike("Restart the web server", "Restart the mail server"));
    }

    #[test]
    fn a_text_in_a_longer_one_is_a_duplicate_if_it_has_enough_words() {
        let note = "The exporter writes amounts in cents and never as floats, since sums drifted";
        let more = format!("{note}. Found on Monday by the accountant of the shop.");
        assert!(alike(note, &more) && alike(&more, note));
        assert!(!alike("amounts in cents", &more));
        let other = format!("{note} in src/export.rs");
        assert!(!alike(&other, &more), "the file is not in the other");
    }

    #[test]
    fn code_is_the_same_only_as_a_whole() {
        let note =
            "Move the logs that are older than a week to the archive: `find logs -mtime +7 | mv`";
        assert!(alike(note, &note.replace("older than", "older  than")));
        assert!(alike(note, &format!("{note}. The archive is on the second disk.")));
        assert!(!alike(note, &note.replace("| mv", "| xargs mv")));
        assert!(!alike(note, &note.replace("find logs", "find logs -print")));
    }

    #[test]
    fn words_are_compared_in_any_script_and_case() {
        let words = |text: &str| TextWords::of([text]).all;
        assert_eq!(
            words("The Größe, of `a_word`!"),
            words("GRÖSSE word".replace("SS", "ß").as_str())
        );
        assert_eq!(words("記憶を").len(), 3);
        assert!(words("a of the").is_empty());
        assert_eq!(TextWords::of(["", ""]).likeness(&TextWords::of([""])), 1.0);
    }
}
