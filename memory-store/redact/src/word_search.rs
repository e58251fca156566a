//! Search for many words in one pass (Aho and Corasick, 1975).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Number of bytes of text for which building and using a deterministic automaton takes less time.
const DETERMINISTIC_BYTES_MIN: usize = 512 << 10;

/// Search for words, ignoring ASCII case.
///
/// A deterministic automaton is faster, but building it takes some milliseconds, which would be wasted in a process
/// that reads one prompt. It is built once enough text was searched.
pub(crate) struct WordSearch {
    words: Vec<String>,
    automaton: AhoCorasick,
    deterministic: OnceLock<AhoCorasick>,
    bytes_searched: AtomicUsize,
}

impl WordSearch {
    /// Builds the search. The words are numbered in the given order.
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        let words: Vec<String> = words.into_iter().collect();
        let automaton = build(&words, AhoCorasickKind::ContiguousNFA);
        let (deterministic, bytes_searched) = (OnceLock::new(), AtomicUsize::new(0));
        Self { words, automaton, deterministic, bytes_searched }
    }

    /// Returns the automaton with which to search this text.
    pub(crate) fn automaton_for(&self, text: impl AsRef<[u8]>) -> &AhoCorasick {
        if let Some(deterministic) = self.deterministic.get() {
            return deterministic;
        }
        let bytes = text.as_ref().len();
        let before = self.bytes_searched.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) < DETERMINISTIC_BYTES_MIN {
            return &self.automaton;
        }
        self.deterministic.get_or_init(|| build(&self.words, AhoCorasickKind::DFA))
    }
}

fn build(words: &[String], kind: AhoCorasickKind) -> AhoCorasick {
    let mut builder = AhoCorasick::builder();
    let automaton = builder.ascii_case_insensitive(true).kind(Some(kind)).build(words);
    automaton.expect("a few thousand short words fit the automaton")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_automata_find_the_same_words() {
        let search = WordSearch::new(["pass", "password", "Wort", "ß"].map(str::to_owned));
        let text = "a Password, ein wort, Spaß; passwords";
        let found = |automaton: &AhoCorasick| -> Vec<(usize, usize)> {
            let hits = automaton.find_overlapping_iter(text);
            hits.map(|hit| (hit.pattern().as_usize(), hit.start())).collect()
        };
        let first = found(search.automaton_for(text));
        assert_eq!(first.len(), 6, "{first:?}");
        assert!(search.deterministic.get().is_none());
        let long = vec![b' '; DETERMINISTIC_BYTES_MIN];
        search.automaton_for(&long);
        assert!(search.deterministic.get().is_some());
        assert_eq!(found(search.automaton_for(text)), first);
    }
}
