//! English words that carry no subject.

/// The stop words, sorted, so that words with the same first letter are adjacent. Words for work (commit, test, push,
/// run) must not be included.
pub const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "above",
    "after",
    "again",
    "all",
    "already",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "aren't",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "can't",
    "cannot",
    "could",
    "couldn't",
    "did",
    "didn't",
    "do",
    "does",
    "doesn't",
    "doing",
    "don't",
    "down",
    "during",
    "each",
    "either",
    "else",
    "etc",
    "even",
    "every",
    "few",
    "for",
    "from",
    "further",
    "get",
    "gets",
    "getting",
    "go",
    "goes",
    "going",
    "got",
    "had",
    "hadn't",
    "has",
    "hasn't",
    "have",
    "haven't",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "him",
    "his",
    "how",
    "i",
    "i'd",
    "i'll",
    "i'm",
    "i've",
    "if",
    "in",
    "into",
    "is",
    "isn't",
    "it",
    "it's",
    "its",
    "itself",
    "just",
    "let",
    "let's",
    "like",
    "me",
    "more",
    "most",
    "much",
    "must",
    "my",
    "myself",
    "need",
    "neither",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "ok",
    "okay",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "out",
    "over",
    "own",
    "please",
    "same",
    "shall",
    "she",
    "should",
    "shouldn't",
    "so",
    "some",
    "something",
    "such",
    "than",
    "that",
    "that's",
    "the",
    "their",
    "theirs",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "very",
    "was",
    "wasn't",
    "we",
    "we're",
    "we've",
    "were",
    "weren't",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "won't",
    "would",
    "wouldn't",
    "yes",
    "yet",
    "you",
    "you're",
    "you've",
    "your",
    "yours",
];

/// Index of the first stop word for each letter `a` to `z`, and the end of the list.
const STARTS: [u8; 27] = {
    let mut starts = [0; 27];
    let mut at = 0;
    while at < STOP_WORDS.len() {
        let letter = STOP_WORDS[at].as_bytes()[0] - b'a';
        at += 1;
        starts[letter as usize + 1] = at as u8;
    }
    let mut letter = 1;
    while letter < starts.len() {
        if starts[letter] < starts[letter - 1] {
            starts[letter] = starts[letter - 1];
        }
        letter += 1;
    }
    starts
};

/// Returns whether a lower-case word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    let Some(letter @ b'a'..=b'z') = word.bytes().next() else { return false };
    let letter = usize::from(letter - b'a');
    let same_letter = usize::from(STARTS[letter])..usize::from(STARTS[letter + 1]);
    STOP_WORDS[same_letter].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_found_in_full() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(
            ["", "zebra", "Über", "über", "a'", "yoursx"].iter().all(|word| !is_stop_word(word))
        );
        for work in ["commit", "push", "test", "release", "run", "build", "fix", "use", "make"] {
            assert!(!is_stop_word(work), "{work}");
        }
    }
}
