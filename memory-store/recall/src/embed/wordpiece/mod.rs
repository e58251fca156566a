//! Tokeniser for an uncased BERT vocabulary, equivalent to the reference tokeniser.
//!
//! The steps are those of "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al. 2018) and its
//! published code. Control characters are removed, ideographs become separate words, accents are dropped after
//! canonical decomposition, and letters become lower case. Words end at spaces and around punctuation, and each word is
//! split greedily into the longest pieces of the vocabulary.
//!
//! One feature is omitted on purpose: the text `[CLS]` is three tokens instead of the special one, so that no text can
//! imitate the special tokens that the transformer adds.

mod characters;

use std::ops::ControlFlow;

use unicode_normalization::UnicodeNormalization;

use characters::{is_dropped, is_ideograph, is_mark, is_punctuation};
use memory_store_base::error::Result;
use memory_store_base::text::beginnings;

/// Maximum number of characters of a word. A longer word is unknown, as in the reference.
const WORD_CHARS_MAX: usize = 100;

/// Maximum number of bytes of a vocabulary piece, including the `##` of a continuing piece.
pub const PIECE_BYTES_MAX: usize = 64;

/// Prefix of vocabulary pieces that continue a word.
const CONTINUES: &str = "##";

/// The piece for a word that cannot be split into pieces.
pub(crate) const UNKNOWN: &str = "[UNK]";

/// Rule for splitting words, in addition to spaces and punctuation. BERT's own tokeniser has no such rule; code names
/// are then split into fragments, because letters become lower case first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordCut {
    /// True if words are split at the humps of `camelCase` and `HTTPServer`.
    pub humps: bool,
    /// True if words are split between a letter and a digit that follows it, as in `sha256`.
    pub digits: bool,
}

impl WordCut {
    /// Returns the bits that represent the rule in a file.
    pub(crate) const fn bits(self) -> u16 {
        self.humps as u16 | (self.digits as u16) << 1
    }

    /// Returns the rule that bits represent; `None` for unknown rules.
    pub(crate) const fn of_bits(bits: u16) -> Option<Self> {
        if bits > 3 {
            return None;
        }
        Some(Self { humps: bits & 1 != 0, digits: bits & 2 != 0 })
    }
}

/// Lookup of pieces in a vocabulary.
pub(crate) trait WordPieces {
    /// What the vocabulary returns for a piece.
    type Token;

    /// Looks up a piece by its [`hash`]; `None` if the vocabulary lacks the piece.
    fn find(&self, hash: u64) -> Result<Option<Self::Token>>;

    /// Returns the number of bytes of the vocabulary's longest piece, at most [`PIECE_BYTES_MAX`].
    fn piece_bytes_max(&self) -> usize;
}

/// Returns the hash of a piece, which starts with `##` if it continues a word.
pub(crate) fn hash(piece: &str) -> u64 {
    memory_store_base::text::term_hash(piece)
}

/// Splits a text into pieces, and calls `emit` with the vocabulary's token for each, in order, until `emit` breaks.
///
/// # Errors
/// If the vocabulary cannot be read.
pub(crate) fn each_token<V: WordPieces>(
    vocabulary: &V,
    text: &str,
    cut: WordCut,
    emit: &mut dyn FnMut(V::Token) -> ControlFlow<()>,
) -> Result<()> {
    let mut pieces = Vec::new();
    let mut failure = None;
    each_word(text, cut, &mut |word| {
        pieces.clear();
        match word_pieces(vocabulary, word, &mut pieces) {
            Ok(()) => pieces.drain(..).try_for_each(&mut *emit),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

/// Appends the pieces of a word; `None` represents a word that is too long.
fn word_pieces<V: WordPieces>(
    vocabulary: &V,
    word: Option<&str>,
    pieces: &mut Vec<V::Token>,
) -> Result<()> {
    let mut rest = word.unwrap_or_default();
    let mut known = word.is_some();
    let mut prefix = "";
    while known && !rest.is_empty() {
        match longest(vocabulary, prefix, rest)? {
            Some((token, length)) => {
                pieces.push(token);
                rest = &rest[length..];
                prefix = CONTINUES;
            }
            None => known = false,
        }
    }
    if !known {
        pieces.clear();
        pieces.extend(vocabulary.find(hash(UNKNOWN))?);
    }
    Ok(())
}

/// Returns the longest piece at the start of `word`, and its length in bytes; `None` if there is none.
fn longest<V: WordPieces>(
    vocabulary: &V,
    prefix: &str,
    word: &str,
) -> Result<Option<(V::Token, usize)>> {
    let bytes_max = vocabulary.piece_bytes_max().min(PIECE_BYTES_MAX).saturating_sub(prefix.len());
    let mut ends = [(0u64, 0usize); PIECE_BYTES_MAX];
    let mut count = 0;
    for beginning in beginnings(prefix, word).take_while(|&(_, end)| end <= bytes_max) {
        ends[count] = beginning;
        count += 1;
    }
    for &(hash, end) in ends[..count].iter().rev() {
        if let Some(token) = vocabulary.find(hash)? {
            return Ok(Some((token, end)));
        }
    }
    Ok(None)
}

/// Calls `emit` with each word, or with `None` for a word that is too long, until `emit` breaks.
fn each_word(text: &str, cut: WordCut, emit: &mut dyn FnMut(Option<&str>) -> ControlFlow<()>) {
    if text.is_ascii() {
        split(Clean::new(text, cut).map(|c| c.to_ascii_lowercase()), emit);
    } else {
        let letters = Clean::new(text, cut).nfd().filter(|&c| !is_mark(c));
        split(letters.flat_map(char::to_lowercase), emit);
    }
}

/// Splits characters into words at spaces and around punctuation.
fn split(
    characters: impl Iterator<Item = char>,
    emit: &mut dyn FnMut(Option<&str>) -> ControlFlow<()>,
) {
    let mut word = String::with_capacity(4 * WORD_CHARS_MAX);
    let mut count = 0;
    // The additional space ends the last word.
    for c in characters.chain([' ']) {
        let punctuation = is_punctuation(c);
        if !punctuation && !c.is_whitespace() {
            count += 1;
            if count <= WORD_CHARS_MAX {
                word.push(c);
            }
            continue;
        }
        let whole = (count <= WORD_CHARS_MAX).then_some(word.as_str());
        if count > 0 && emit(whole).is_break() {
            return;
        }
        word.clear();
        count = 0;
        if punctuation && emit(Some(c.encode_utf8(&mut [0; 4]))).is_break() {
            return;
        }
    }
}

/// The characters of a text without the dropped ones, with spaces around ideographs and where words are split.
struct Clean<'a> {
    rest: std::str::Chars<'a>,
    cut: WordCut,
    last: char,
    /// Characters that are returned before the rest, in order; `\0` means none.
    waiting: [char; 2],
}

impl<'a> Clean<'a> {
    fn new(text: &'a str, cut: WordCut) -> Self {
        Self { rest: text.chars(), cut, last: ' ', waiting: ['\0'; 2] }
    }

    /// Returns whether a word is split before `c`.
    fn cuts_before(&self, c: char) -> bool {
        let hump = self.cut.humps
            && c.is_uppercase()
            && (self.last.is_lowercase()
                || self.last.is_ascii_digit()
                || self.last.is_uppercase()
                    && self.rest.clone().next().is_some_and(char::is_lowercase));
        hump || self.cut.digits && c.is_ascii_digit() && self.last.is_alphabetic()
    }
}

impl Iterator for Clean<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.waiting[0] != '\0' {
            let c = self.waiting[0];
            self.waiting = [self.waiting[1], '\0'];
            return Some(c);
        }
        let c = loop {
            let c = self.rest.next()?;
            // These three are control characters too, but they become spaces instead of being dropped.
            if matches!(c, '\t' | '\n' | '\r') {
                break ' ';
            }
            if !is_dropped(c) {
                break if c.is_whitespace() { ' ' } else { c };
            }
        };
        let cuts = self.cuts_before(c);
        self.last = c;
        if is_ideograph(c) {
            self.waiting = [c, ' '];
            return Some(' ');
        }
        if cuts {
            self.waiting = [c, '\0'];
            return Some(' ');
        }
        Some(c)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A vocabulary of a few pieces, which returns the piece itself.
    struct Pieces(BTreeMap<u64, &'static str>);

    impl Pieces {
        fn new(pieces: &[&'static str]) -> Self {
            Self(pieces.iter().map(|piece| (hash(piece), *piece)).collect())
        }
    }

    impl WordPieces for Pieces {
        type Token = &'static str;

        fn find(&self, hash: u64) -> Result<Option<&'static str>> {
            Ok(self.0.get(&hash).copied())
        }

        fn piece_bytes_max(&self) -> usize {
            16
        }
    }

    fn words(text: &str, cut: WordCut) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, cut, &mut |word| {
            words.push(word.unwrap_or("…").to_owned());
            ControlFlow::Continue(())
        });
        words
    }

    fn pieces(text: &str) -> Vec<&'static str> {
        let vocabulary = Pieces::new(&["[UNK]", "un", "##aff", "##able", "##a", "we", "!"]);
        let mut pieces = Vec::new();
        each_token(&vocabulary, text, WordCut::default(), &mut |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        })
        .unwrap();
        pieces
    }

    #[test]
    fn words_are_clean_and_small() {
        let plain = |text: &str| words(text, WordCut::default());
        assert_eq!(plain(" Héllo,\tWÖRLD\u{200d}s!\r\n"), ["hello", ",", "worlds", "!"]);
        assert_eq!(plain("数据abc"), ["数", "据", "abc"]);
        assert_eq!(plain("a\u{0}b\u{fffd}c"), ["abc"]);
        assert_eq!(plain(""), [""; 0]);
        assert_eq!(plain(&"x".repeat(100)), ["x".repeat(100)]);
        assert_eq!(plain(&format!("a {} b", "x".repeat(101))), ["a", "…", "b"]);
    }

    #[test]
    fn code_names_are_cut_when_asked() {
        let humps = WordCut { humps: true, digits: false };
        assert_eq!(words("parseHTTPHeader2Map X", humps), ["parse", "http", "header2", "map", "x"]);
        assert_eq!(words("ÉtéÀVenir", humps), ["ete", "a", "venir"]);
        let digits = WordCut { humps: false, digits: true };
        assert_eq!(words("sha256 1st E0502", digits), ["sha", "256", "1st", "e", "0502"]);
        assert_eq!(words("parseHTTP2", WordCut::default()), ["parsehttp2"]);
        for bits in 0..4 {
            assert_eq!(WordCut::of_bits(bits).unwrap().bits(), bits);
        }
        assert_eq!(WordCut::of_bits(4), None);
    }

    #[test]
    fn the_longest_piece_comes_first_and_a_rest_without_one_spoils_the_word() {
        assert_eq!(pieces("unaffable we!"), ["un", "##aff", "##able", "we", "!"]);
        assert_eq!(pieces("una unax we"), ["un", "##a", "[UNK]", "we"]);
        assert_eq!(pieces("日 we"), ["[UNK]", "we"]);
    }

    #[test]
    fn each_token_stops_when_the_callback_breaks() {
        let vocabulary = Pieces::new(&["a"]);
        let mut count = 0;
        each_token(&vocabulary, "a a a a", WordCut::default(), &mut |_| {
            count += 1;
            if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(count, 2);
    }

    proptest::proptest! {
        #[test]
        fn words_hold_neither_spaces_nor_capitals(text in "\\PC{0,80}", bits in 0u16..4) {
            for word in words(&text, WordCut::of_bits(bits).unwrap()) {
                proptest::prop_assert!(!word.is_empty());
                proptest::prop_assert!(!word.contains(char::is_whitespace));
                proptest::prop_assert!(!word.contains(|c: char| c.is_ascii_uppercase()));
                proptest::prop_assert!(word.chars().count() <= WORD_CHARS_MAX);
                let alone = word.chars().count() == 1;
                proptest::prop_assert!(alone || !word.contains(is_punctuation));
            }
        }

        #[test]
        fn ascii_takes_the_short_way_to_the_same_words(text in "[ -~\t\n]{0,80}", bits in 0u16..4) {
            // The added letter is not ASCII, so the text takes the general path.
            let mut long = words(&format!("{text} Ω"), WordCut::of_bits(bits).unwrap());
            proptest::prop_assert_eq!(long.pop(), Some("ω".to_owned()));
            proptest::prop_assert_eq!(words(&text, WordCut::of_bits(bits).unwrap()), long);
        }
    }
}
