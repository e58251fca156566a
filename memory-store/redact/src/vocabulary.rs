//! Words by language and role, read from `data/vocabulary.toml`. The lists of all languages are merged.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use memory_store_base::text::is_unspaced;
use serde::Deserialize;

use crate::word_search::WordSearch;

/// Words of one role.
pub(crate) struct WordList {
    /// Words of a text, as in the file.
    whole: Vec<String>,
    /// Words that match anywhere in a text.
    parts: Vec<String>,
    search: OnceLock<WordSearch>,
}

/// Words of one language, by role.
#[derive(Deserialize)]
struct Language {
    #[expect(dead_code, reason = "heads the lists")]
    name: String,
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VocabularyFile {
    language: Vec<Language>,
}

/// Declares the vocabulary: each role with the purpose of its words.
macro_rules! vocabulary {
    ($($role:ident: $purpose:literal,)+) => {
        /// Words of all roles.
        pub(crate) struct Vocabulary {
            $(#[doc = $purpose] pub(crate) $role: WordList,)+
        }

        impl Vocabulary {
            fn new(mut lists: BTreeMap<String, Vec<String>>) -> Self {
                Self { $($role: WordList::new(lists.remove(stringify!($role)).unwrap_or_default()),)+ }
            }

            #[cfg(test)]
            const ROLES: &[&str] = &[$(stringify!($role)),+];
        }
    };
}

vocabulary! {
    placeholder: "Parts of text in place of a secret.",
    reference: "Beginnings of references to a secret that lies elsewhere.",
    stop: "Words in place of a secret, without a meaning of their own.",
    fake: "Words in values that are made up.",
    everyday: "Words that name users, programs, places and stages, and replace passwords in examples.",
    hash_name: "Names of ways to hash, before their strength.",
    algorithm: "Beginnings of names of algorithms that work with secrets.",
    naming: "Words by which a secret is named in a joined phrase.",
    content: "Words in the name of a content or of a state.",
    name_part: "Parts of names around which assignments are looked for.",
    name_abroad: "Names of secrets that are not ASCII, which are read in prose only.",
    name_foreign: "Ends of names of passwords that are no English.",
    password_end: "Ends of names of passwords.",
    password_stem: "Names of passwords in languages that change the end of a word.",
    key_end: "Ends of names of keys and tokens.",
    key_of: "Words before `key` that make a secret of it.",
    pass_of: "Words before `pass` that make a name of a password, with no sign between them.",
    open_key_of: "Words before `key` that open nothing.",
    text_token: "Words before `token` that make a token of text of it.",
    name_suffix: "Words that follow the telling one in a name: `API_KEY_PROD`.",
    message: "Words of messages about passwords and keys.",
    copula_told: "Words between a name and the value that it has.",
    copula_foreign: "Copulas that are other words in English, looked for behind names that are not English.",
    filler: "Words behind a copula that mean nothing more.",
    setting: "Verbs for a password in sentences that go on with `to`.",
    towards: "Words before the value that something is set to, or was before.",
    particle: "Copulas directly behind the name, in scripts without spaces.",
    phrase_prose: "Words of which sentences about a password are made, but no passphrase.",
    column_field: "Names of fields beside a password in a line that heads others.",
    command_lead: "Commands that begin other commands, and words after which one stands.",
    command_prefix: "Commands that begin other ones, with options before these.",
    command_runner: "Commands whose `run` is followed by a name that somebody gave.",
    command_container: "Commands that run others somewhere else.",
    command_inside: "Words of such commands before the other one.",
    command_other: "Commands with options of the same letters, which are no argument of one that asks for a password.",
    command_prose: "Words of a sentence about a command.",
    option_noun: "Words for an option that follow it in a sentence.",
    option_name: "Names of options that begin with the letter of the password, where it is joined to it.",
    cookie_part: "Words around which cookies are looked for.",
    cookie_attribute: "Attributes of cookies, which are no values.",
    cookie_telling: "Parts of names of cookies that let somebody in.",
    cue: "Words about a way in, beside which values are looked for.",
    cue_abroad: "Such words that are not ASCII, which are looked for in texts that are not.",
    cue_giving: "Words right before a value that a sentence gives.",
    cue_id: "Names of things that look drawn at random and open nothing.",
    question_secret: "Names of secrets in questions.",
    question_open_key: "Words before `key` in a question that make something else of it.",
    question_way_in: "Words of questions about a way in, whose answers may hold a secret.",
    question_about: "Words of questions about secrets that ask for none.",
    question_id: "Names of things in questions that look drawn at random as well.",
    requesting: "Words that ask for a thing in a sentence that is no question, or report it as missing.",
    wanting: "Words of questions that ask for a thing.",
    yes_or_no: "Words that begin questions answered with yes or no.",
    correcting: "Words by which a person takes back what the last prompt contained.",
    answer_prose: "Answers that give nothing, and words of which sentences are made.",
    local_host: "Names of hosts and users that are everybody's.",
    card_number: "Words before the number of a card.",
    phone_number: "Words before a number that is dialled.",
    modifier_key: "Keys of a keyboard that are held while another is pressed.",
    sample_part: "Parts of names of files that show which settings there are, and contain no secret of anybody.",
    gate_role: "Names of secrets: a value right behind one is probably it.",
    gate_phrase: "Names of secrets that are phrases: right behind one any words are it.",
    gate_access: "Ways in, and what happens to a secret.",
    gate_opening: "Locks and what they guard: doors, safes, vaults, devices.",
    gate_vault: "Locks that a phrase of plain words opens.",
    gate_opens: "Verbs for opening one.",
    gate_with: "Words between such a verb and the value.",
    gate_giving: "Verbs for entering a value, right before it.",
    gate_copula: "Other words right before a value.",
    gate_after: "Words right behind such a value.",
    gate_prefixes: "Beginnings of public ids.",
    gate_kinds: "Things that look random, or are named by words and numbers, and open nothing: right before a value.",
    gate_units: "What a number counts, right behind it.",
}

/// The vocabulary of this program.
pub(crate) static WORDS: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(lists()));

/// Reads the lists of all languages by role.
fn lists() -> BTreeMap<String, Vec<String>> {
    // The test `each_list_has_a_role` verifies this.
    let file: VocabularyFile = toml::from_str(include_str!("../data/vocabulary.toml"))
        .expect("the built-in vocabulary is valid");
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (role, words) in file.language.into_iter().flat_map(|language| language.lists) {
        lists.entry(role).or_default().extend(words);
    }
    lists
}

impl WordList {
    fn new(words: Vec<String>) -> Self {
        let (parts, whole) = words.into_iter().partition(|word| word.starts_with('…'));
        let bare = |word: String| word.trim_start_matches('…').to_owned();
        let parts = Vec::into_iter(parts).map(bare).collect();
        Self { whole, parts, search: OnceLock::new() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.whole.iter().map(String::as_str)
    }

    /// Returns whether a word is in the list, ignoring ASCII case.
    pub(crate) fn has(&self, word: impl AsRef<[u8]>) -> bool {
        self.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word.as_ref()))
    }

    /// Returns whether the list contains one of `words`, which are the words of a lower-case text, or whether the text
    /// contains a listed word that matches anywhere.
    pub(crate) fn are_in(&self, text: &str, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word)) || self.parts.iter().any(|part| text.contains(part))
    }

    /// Returns whether a text begins with a listed word, ignoring ASCII case.
    pub(crate) fn begin(&self, text: &[u8]) -> bool {
        let begins = |word: &str| {
            text.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
        };
        self.iter().any(begins)
    }

    /// Returns whether a text ends with a listed word.
    pub(crate) fn end(&self, text: &[u8]) -> bool {
        self.iter().any(|word| text.ends_with(word.as_bytes()))
    }

    /// Returns whether a text contains a listed word anywhere, ignoring ASCII case.
    pub(crate) fn occur_in(&self, text: &[u8]) -> bool {
        self.automaton_for(text).is_match(text)
    }

    /// Returns the automaton for finding all listed words in a text. Preparing a separate search for each word would
    /// take longer than the search itself.
    pub(crate) fn automaton_for(&self, text: impl AsRef<[u8]>) -> &AhoCorasick {
        let search = self.search.get_or_init(|| WordSearch::new(self.whole.iter().cloned()));
        search.automaton_for(text)
    }

    /// Returns whether a word in a lower-case text begins with a listed word. The text must end with a space.
    pub(crate) fn is_in(&self, lowered: &str) -> bool {
        let mut hits = self.automaton_for(lowered).find_overlapping_iter(lowered);
        hits.any(|hit| begins_word(lowered, hit.start()))
    }

    /// Returns whether a lower-case text contains a listed word as a whole word, or its plural. A listed word that ends
    /// with `*` matches as a prefix.
    pub(crate) fn is_in_whole(&self, lowered: &str) -> bool {
        lowered.split(|c: char| c.is_whitespace() || "(:,;=\"'`".contains(c)).any(|word| {
            self.iter().map(str::trim_end).any(|known| match known.strip_suffix('*') {
                Some(stem) => word.starts_with(stem),
                None if known.chars().next_back().is_some_and(is_unspaced) => word.contains(known),
                None => word == known || word.strip_suffix('s') == Some(known),
            })
        })
    }

    /// Returns whether a lower-case text ends with a listed word or its plural.
    pub(crate) fn ends(&self, lowered: &str) -> bool {
        let ends = |lowered: &str| self.last(lowered).next().is_some();
        ends(lowered) || lowered.strip_suffix('s').is_some_and(ends)
    }

    /// Returns a lower-case text without the listed word with which it ends.
    pub(crate) fn stripped<'t>(&self, lowered: &'t str) -> &'t str {
        let word = self.last(lowered).map(str::len).max();
        lowered[..lowered.len() - word.unwrap_or_default()].trim_end_matches([' ', ':', '='])
    }

    /// Returns the listed words with which a lower-case text ends.
    fn last(&self, lowered: &str) -> impl Iterator<Item = &str> {
        // Comparing one byte excludes most words without a call.
        let end = lowered.as_bytes().last();
        self.iter().map(str::trim_end).filter(move |word| {
            word.as_bytes().last() == end
                && lowered.ends_with(word)
                && begins_word(lowered, lowered.len() - word.len())
        })
    }

    /// Returns whether a lower-case text begins with a listed word.
    pub(crate) fn begins(&self, lowered: &str) -> bool {
        self.iter().any(|word| {
            let Some(rest) = lowered.strip_prefix(word.trim_end()) else { return false };
            let is_open = word.ends_with(' ') || word.chars().next_back().is_some_and(is_unspaced);
            is_open || !rest.starts_with(char::is_alphanumeric)
        })
    }
}

/// Several lists of words that are searched for in one pass. Each list has a bit.
#[derive(Default)]
pub(crate) struct WordClasses {
    words: BTreeMap<String, WordClass>,
    search: OnceLock<(WordSearch, Vec<WordClass>)>,
}

/// Bits of a word's lists.
#[derive(Clone, Copy, Default)]
struct WordClass {
    /// Lists in which the word matches at the start of a word.
    begins: u8,
    /// Lists in which the word matches anywhere.
    anywhere: u8,
}

impl WordClasses {
    /// Adds the words of a list, which match at the start of a word.
    pub(crate) fn add(&mut self, words: &WordList, bit: u8) {
        words.iter().for_each(|word| self.words.entry(word.to_owned()).or_default().begins |= bit);
    }

    /// Adds the words of a list, without the spaces at their ends, which match anywhere.
    pub(crate) fn add_anywhere(&mut self, words: &WordList, bit: u8) {
        let words = words.iter().map(|word| word.trim_end().to_owned());
        words.for_each(|word| self.words.entry(word).or_default().anywhere |= bit);
    }

    /// Returns the bits of the lists that have a word in a lower-case text. The text must end with a space.
    pub(crate) fn in_text(&self, lowered: &str) -> u8 {
        let (search, classes) = self.search.get_or_init(|| {
            let search = WordSearch::new(self.words.keys().cloned());
            (search, self.words.values().copied().collect())
        });
        let all = classes.iter().fold(0, |all, class| all | class.begins | class.anywhere);
        let mut found = 0;
        for hit in search.automaton_for(lowered).find_overlapping_iter(lowered) {
            let WordClass { begins, anywhere } = classes[hit.pattern().as_usize()];
            found |= anywhere;
            if begins & !found != 0 && begins_word(lowered, hit.start()) {
                found |= begins;
            }
            if found == all {
                break;
            }
        }
        found
    }
}

/// Returns whether a word of a text begins at an offset. In scripts without spaces this is true everywhere.
fn begins_word(text: &str, at: usize) -> bool {
    let (before, behind) = (text[..at].chars().next_back(), text[at..].chars().next());
    behind.is_some_and(is_unspaced)
        || !before.is_some_and(char::is_alphanumeric)
        || before.is_some_and(is_unspaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_has_a_role() {
        let lists = lists();
        for role in lists.keys() {
            assert!(Vocabulary::ROLES.contains(&role.as_str()), "no role: {role}");
        }
        for role in Vocabulary::ROLES {
            assert!(lists.contains_key(*role), "no words: {role}");
        }
    }
}
