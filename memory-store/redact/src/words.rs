//! Whether a short text holds any of a few words, in whatever case. One automaton for all of them: a search for each
//! word would be prepared anew for each text, which takes longer than to search.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Builds the automaton for these words.
pub(super) fn automaton(words: &[&str]) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .expect("a few short words fit the automaton")
}
