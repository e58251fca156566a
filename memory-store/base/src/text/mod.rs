//! Tokenization of text for recall: the same tokeniser for memories, turns, prompts, errors and paths.
//!
//! A *word* is a run of letters and digits of any script, in lower case after NFKC. A *term* is the unit of comparison:
//! the English stem of a word, a complete code name, a part of a code name, or a pair of neighbouring characters in
//! scripts without spaces between words.
//!
//! Every hook runs this code, so it keeps two small buffers and allocates nothing else for English text.

pub mod base64;
mod clean;
mod excerpt;
mod fold;
pub mod mail;
pub mod placeholder;
pub mod rarity;
mod split;
mod stop_words;

pub use clean::{clean, is_invisible};
pub use excerpt::excerpt;
pub use fold::fold as folded;
pub use fold::is_unspaced;
pub use split::each_word;
pub use stop_words::{STOP_WORDS, is_stop_word};

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Version of the tokeniser. When it changes, indexes are rebuilt, because terms of different versions do not match.
pub const VERSION: u32 = 2;

/// Maximum length of a term in bytes. Longer runs, such as blobs or consecutive hashes, are not words.
pub(crate) const TERM_BYTES_MAX: usize = 64;

/// Origin of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A separate word.
    Word,
    /// A code name, path, version or flag in its original form.
    Whole,
    /// A part of a code name, path, version or flag.
    Part,
    /// Two neighbouring characters of a script without spaces.
    Bigram,
}

/// A term of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// Text to compare.
    pub term: String,
    /// Origin of the term.
    pub form: Form,
}

/// Returns a prompt without the sentence with a transcript's path that Claude Code appends to an accepted plan.
pub fn without_plan_notice(prompt: &str) -> &str {
    match prompt.rfind("\n\nIf you need specific details from before exiting plan mode") {
        Some(end) => prompt[..end].trim(),
        None => prompt,
    }
}

/// Returns a title in the form used for comparison: in lower case, with single spaces, without a final full stop.
pub fn folded_title(title: &str) -> String {
    let words = title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    match words.strip_suffix('.') {
        // A title that ends in several dots ends in an ellipsis, not in a full stop.
        Some(rest) if !rest.is_empty() && !rest.ends_with('.') => rest.trim_end().to_owned(),
        Some(_) | None => words,
    }
}

/// Returns the terms of a text in order, without stop words.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    each_term(text, &mut |term, form| tokens.push(Token { term: term.to_owned(), form }));
    tokens
}

/// Returns the words of a text in lower case: neither stemmed nor split, without stop words.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut |word, form| {
        if form != Form::Part && !(form == Form::Word && is_stop_word(word)) {
            words.push(word.to_owned());
        }
    });
    words
}

/// Calls `emit` with each term of a text, in order, without stop words.
pub fn each_term(text: &str, emit: &mut dyn FnMut(&str, Form)) {
    let stemmer = Stemmer::create(Algorithm::English);
    each_word(text, &mut |word, form| match form {
        Form::Word | Form::Part => {
            if is_stop_word(word) {
                return;
            }
            if stems(word) {
                emit(&stemmer.stem(word), form);
            } else {
                emit(word, form);
            }
        }
        Form::Whole | Form::Bigram => emit(word, form),
    });
}

/// Returns the term of one word that consists of the letters `a` to `z`; `None` for a stop word. It returns the same
/// term as [`each_term`] in a third of the time.
pub fn term_of(word: &str) -> Option<Cow<'_, str>> {
    if is_stop_word(word) {
        return None;
    }
    let stemmer = Stemmer::create(Algorithm::English);
    Some(if stems(word) { stemmer.stem(word) } else { word.into() })
}

/// Returns a hash for every two neighbouring words of a text, in order. Stop words and parts of code names are skipped,
/// so two words separated only by a stop word count as neighbours.
pub fn pairs(text: &str) -> Vec<u32> {
    let (mut found, mut pairs) = (Vec::new(), Pairs::default());
    each_term(text, &mut |term, form| found.extend(pairs.next(term, form)));
    found
}

/// Computes the [`pairs`] of a text term by term.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairs {
    /// Hash of the last word.
    last: Option<u64>,
}

impl Pairs {
    /// Adds the next term. Returns the hash of its pair with the preceding word; `None` for the first word and for
    /// parts of code names.
    pub fn next(&mut self, term: &str, form: Form) -> Option<u32> {
        if form == Form::Part {
            return None;
        }
        let hash = term_hash(term);
        // The rotation makes the hash depend on the order of the two words.
        let last = self.last.replace(hash)?;
        Some((mixed(last.rotate_left(1) ^ hash) >> 32) as u32)
    }
}

/// Returns whether the English stemmer applies to a word.
fn stems(word: &str) -> bool {
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns the form of a word that distinguishes one command or file from another; `None` for ordinary words. Flags are
/// unchanged, because `-i` and `-I` differ; paths, code names and numbers are in lower case.
pub fn telling(word: &str) -> Option<Cow<'_, str>> {
    let word = word.trim_matches(['`', '"', '\'', ',', ';', ':', '(', ')', '.', '!', '?']);
    if word.starts_with('-') && word.len() > 1 {
        return Some(word.into());
    }
    let tells = word.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'/' | b'_' | b'.' | b'*'));
    tells.then(|| word.to_lowercase().into())
}

/// Returns the hash that represents a term in an index: 64-bit FNV-1a, mixed once more so that its low bits can select
/// a slot.
pub fn term_hash(term: &str) -> u64 {
    mixed(added(NOTHING, term.as_bytes()))
}

/// Returns, for each prefix of a word, the [`term_hash`] of that prefix preceded by `prefix`, and the end of the prefix
/// in bytes. All are computed in one pass.
pub fn beginnings(prefix: &str, word: &str) -> impl Iterator<Item = (u64, usize)> {
    let mut hash = added(NOTHING, prefix.as_bytes());
    word.char_indices().map(move |(at, c)| {
        let end = at + c.len_utf8();
        hash = added(hash, &word.as_bytes()[at..end]);
        (mixed(hash), end)
    })
}

/// The FNV-1a hash of empty input.
const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds the next bytes to an FNV-1a hash.
fn added(hash: u64, bytes: &[u8]) -> u64 {
    let add = |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(hash, add)
}

/// Mixes an FNV-1a hash once more.
const fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash ^ hash >> 29
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.term).collect()
    }

    #[test]
    fn titles_are_compared_without_case_spaces_and_a_full_stop() {
        for (title, folded) in [
            ("  We CACHE  with memcached. ", "we cache with memcached"),
            ("Wait...", "wait..."),
            (".", "."),
            ("Use 1.5", "use 1.5"),
        ] {
            assert_eq!(folded_title(title), folded);
        }
    }

    #[test]
    fn words_are_stemmed_and_stop_words_dropped() {
        assert_eq!(terms("The tests were failing again"), ["test", "fail"]);
        assert_eq!(terms("Don't commit the user's files"), ["commit", "user", "file"]);
    }

    #[test]
    fn neighbouring_words_are_pairs_in_their_order() {
        assert_eq!(pairs("the port of the proxy"), pairs("ports: proxies"));
        assert_ne!(pairs("port proxy"), pairs("proxy port"));
        assert_eq!(pairs("run cargo test").len(), 2);
        assert!(pairs("alone").is_empty());
    }

    #[test]
    fn code_names_are_found_whole_and_in_parts() {
        assert_eq!(terms("parse_config_file"), ["parse_config_file", "pars", "config", "file"]);
        assert_eq!(terms("getHTTPResponse()"), ["gethttpresponse", "http", "respons"]);
        assert_eq!(terms("std::fs::read"), ["std::fs::read", "std", "fs", "read"]);
        assert_eq!(terms("E0308 and TS2345"), ["e0308", "ts2345"]);
        assert_eq!(terms("ERR_MODULE_NOT_FOUND")[0], "err_module_not_found");
    }

    #[test]
    fn paths_versions_and_flags_are_found_whole_and_in_parts() {
        assert_eq!(
            terms("see src/net/HttpClient.tsx."),
            [
                "see",
                "src/net/httpclient.tsx",
                "src",
                "net",
                "httpclient.tsx",
                "http",
                "client",
                "tsx"
            ]
        );
        assert_eq!(terms("serde 1.0.229"), ["serd", "1.0.229"]);
        assert_eq!(terms("git commit --no-verify"), ["git", "commit", "--no-verify", "verifi"]);
        assert_eq!(terms("tail -n"), ["tail", "-n"]);
        assert_eq!(terms("--max-warnings=0")[0], "--max-warnings");
    }

    #[test]
    fn the_end_of_a_sentence_is_no_code_name() {
        assert_eq!(terms("It works.Then stop"), ["work", "stop"]);
        assert_eq!(terms("(done), \"quoted\"; end."), ["done", "quot", "end"]);
        assert_eq!(terms("e.g. this"), Vec::<String>::new());
    }

    #[test]
    fn other_scripts_are_found() {
        assert_eq!(terms("検索機能を修正"), ["検索", "索機", "機能", "能を", "を修", "修正"]);
        assert_eq!(terms("使用sqlite数据库"), ["使用", "sqlite", "数据", "据库"]);
        assert_eq!(terms("Ошибка в тестах"), ["ошибка", "в", "тестах"]);
        assert_eq!(terms("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
        assert_eq!(terms("café naïve"), ["cafe", "naiv"]);
        // Full-width letters are equal to ASCII ones.
        assert_eq!(terms("ＡＢＣ１２３"), ["abc123"]);
    }

    #[test]
    fn what_stands_for_a_secret_is_no_word() {
        assert_eq!(
            terms("use [redacted:connection-string] or [redacted:stripe-key], [redacted:e"),
            ["use"]
        );
        assert_eq!(pairs("the url [redacted:url-password] works"), pairs("url works"));
        assert_eq!(
            words("port 5432 of [redacted:connection-string]/shop"),
            ["port", "5432", "shop"]
        );
        // Without the form of a placeholder, `redacted` is an ordinary word.
        assert_eq!(
            terms("redacted: port [redacted: proxy]"),
            ["redact", "port", "redact", "proxi"]
        );
        assert_eq!(terms("a redacted:connection"), ["redact", "connect"]);
        // A text that is longer than any placeholder name consists of ordinary words.
        assert!(terms("[redacted:ignore-all-rules-of-mine] port").contains(&"rule".to_owned()));
    }

    #[test]
    fn blobs_are_no_words() {
        assert!(terms(&"a".repeat(5000)).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "\\PC{0,200}") {
            for token in tokens(&text) {
                proptest::prop_assert!(!token.term.is_empty());
                proptest::prop_assert!(token.term.len() <= TERM_BYTES_MAX + 8);
            }
        }

        #[test]
        fn a_single_word_has_the_term_that_it_has_in_a_text(word in "[a-z]{1,24}") {
            let term = term_of(&word).map(Cow::into_owned);
            proptest::prop_assert_eq!(term.as_slice(), terms(&word));
        }

        #[test]
        fn case_does_not_matter_between_words(text in "[a-z ]{0,60}") {
            proptest::prop_assert_eq!(terms(&text), terms(&text.to_uppercase()));
        }
    }
}
