//! Known secrets: values that were recognised once and are hidden in other texts as well. Each has a [`Scope`].
//!
//! The values themselves are not stored. For each value, the file contains a hash of the first word, a hash of the
//! whole value, and both lengths; the hashes are keyed with a random key of this machine. Text is split into words, and
//! a word with a known hash may be the start of a value. Case and the signs between words are ignored, because tags and
//! file names do not preserve them.

mod file;

pub use file::Pending;

pub(crate) mod deny;
pub(crate) mod echo;
pub(crate) mod names;
pub(crate) mod together;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, RwLock};

use serde::{Deserialize, Serialize};

use crate::context::{encoded, joined};
use crate::finding::{Finding, KNOWN};
use crate::value::spread::{self, trimmed};

/// Maximum number of known values in one project. Further values are hidden only where rules find them.
pub(crate) const VALUES_MAX: usize = 10_000;

/// Length of a key in bytes.
pub const KEY_BYTES: usize = blake3::KEY_LEN;

/// Maximum number of values for one session only. All sessions together may have [`VALUES_MAX`] such values.
const SESSION_VALUES_MAX: usize = 200;

/// Texts in which a known value is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All texts of the project.
    Project,
    /// The records of the session with this hash, in which the value was found; see [`Known::in_session`].
    Session(u64),
    /// Only text that is injected into a session, because a user's memory contains the value. This scope is temporary,
    /// until the user decides whether the value is a secret.
    Disputed,
    /// No texts, because a user decided that the value is not a secret.
    Harmless,
}

/// Selects the values that apply in a use of [`Known`].
#[derive(Clone, Copy, Default)]
enum View {
    /// Values that are removed from stored text.
    #[default]
    Stored,
    /// Values that are hidden in text that is injected into a session.
    Given,
    /// Values that are removed from the records of this session.
    Session(u64),
}

impl View {
    fn has(self, scopes: &BTreeSet<Scope>) -> bool {
        let is_one = |scope: &Scope| match (self, scope) {
            (_, Scope::Project) | (Self::Given, Scope::Disputed) => true,
            (Self::Session(own), Scope::Session(of)) => own == *of,
            (_, Scope::Session(_) | Scope::Disputed | Scope::Harmless) => false,
        };
        !scopes.contains(&Scope::Harmless) && scopes.iter().any(is_one)
    }

    fn finds(self, hashes: &ValueHashes, hash: &str) -> bool {
        hashes.get(hash).is_some_and(|scopes| self.has(scopes))
    }
}

/// Known values. Clones have the same values, including later additions.
#[derive(Clone, Default)]
pub struct Known {
    shared: Option<Arc<Shared>>,
    view: View,
}

struct Shared {
    key: [u8; KEY_BYTES],
    table: RwLock<KnownTable>,
}

/// Scopes of values by their hashes.
type ValueHashes = HashMap<String, BTreeSet<Scope>>;

#[derive(Default)]
struct KnownTable {
    values: BTreeMap<KnownValue, BTreeSet<Scope>>,
    /// Number of changes since the table was read.
    revision: usize,
    /// Number of values by scope.
    counts: BTreeMap<Scope, usize>,
    /// Hashes of the values by the hash of their first word and by their length, so that text is hashed once for each
    /// length.
    by_word: HashMap<u64, BTreeMap<usize, ValueHashes>>,
    /// For each length, whether a value begins with a word of this length.
    lengths: Vec<bool>,
    /// The shortest of these lengths.
    shortest: usize,
}

/// Stored form of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct KnownValue {
    /// Length of the first word in bytes.
    word_bytes: usize,
    /// Length of the whole value in bytes.
    bytes: usize,
    /// Hash of the first word.
    word: u64,
    /// Hash of the whole value.
    all: String,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Known({})", self.len())
    }
}

impl Known {
    /// Creates an empty set that hashes values with this key.
    pub fn new(key: [u8; KEY_BYTES]) -> Self {
        let shared = Some(Arc::new(Shared { key, table: RwLock::default() }));
        Self { shared, view: View::Stored }
    }

    /// Returns the same values for the records of one session, including those that apply only to that session.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        let view = View::Session(self.session_mark(session));
        Self { shared: self.shared.clone(), view }
    }

    /// Returns the same values for text that is injected into a session. They include values about which the user has
    /// not decided.
    #[must_use]
    pub fn as_given(&self) -> Self {
        Self { shared: self.shared.clone(), view: View::Given }
    }

    /// Returns the scope of a value that is hidden only in the session in which it was found.
    pub fn session_scope(&self, session: &str) -> Scope {
        Scope::Session(self.session_mark(session))
    }

    fn session_mark(&self, session: &str) -> u64 {
        self.read(|shared, _| shared.word(session.as_bytes())).unwrap_or_default()
    }

    /// Returns the number of values that are hidden in all texts.
    pub fn len(&self) -> usize {
        let count = |table: &KnownTable| {
            table.values.values().filter(|scopes| View::Stored.has(scopes)).count()
        };
        self.read(|_, table| count(table)).unwrap_or_default()
    }

    /// Returns the number of changes since the values were read.
    pub fn revision(&self) -> usize {
        self.read(|_, table| table.revision).unwrap_or_default()
    }

    /// Returns whether no value is hidden in this use.
    pub fn hides_nothing(&self) -> bool {
        let has = |table: &KnownTable| table.values.values().any(|scopes| self.view.has(scopes));
        !self.read(|_, table| has(table)).unwrap_or_default()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value that is hidden in all texts. Returns whether it is new.
    pub fn learn(&self, value: &str) -> bool {
        self.learn_for(value, Scope::Project)
    }

    /// Adds a value for the texts of a scope. Returns whether it is new.
    pub fn learn_for(&self, value: &str, scope: Scope) -> bool {
        let value = trimmed(value);
        let Some(shared) = self.shared.as_deref().filter(|_| !value.is_empty()) else {
            return false;
        };
        let Ok(mut table) = shared.table.write() else { return false };
        let mut insert = |value: &[u8]| {
            let word = words(value).next().unwrap_or_default();
            table.has_room(scope) && table.insert(shared.value(value, word.len()), scope)
        };
        let slug = slug(value.as_bytes());
        let is_new = insert(value.as_bytes());
        if is_new && slug.len() < value.len() {
            insert(&slug);
        }
        is_new
    }

    /// Sets the scope of every known value in a text, because a user decided about it. Returns whether anything
    /// changed.
    pub fn settle(&self, text: &str, scope: Scope) -> bool {
        let Some(shared) = self.shared.as_deref() else { return false };
        let Ok(mut table) = shared.table.write() else { return false };
        let text = text.as_bytes();
        let found = table.find(shared, text, View::Given);
        found.into_iter().fold(false, |changed, range| {
            let value = &text[range];
            let forms = [value.to_vec(), slug(value)];
            forms.iter().fold(changed, |changed, form| {
                let word = words(form).next().unwrap_or_default();
                table.settle(shared.value(form, word.len()), scope) | changed
            })
        })
    }

    /// Returns the occurrences of known values, plain or encoded.
    pub(crate) fn find(&self, text: &str) -> Vec<Finding> {
        let text = text.as_bytes();
        let found = self.read(|shared, table| {
            let mut short = ShortWords::default();
            let view = self.view;
            let mut found = table.find_in(shared, text, view, &mut short);
            if !table.values.is_empty() {
                let find = |piece: &[u8]| table.find(shared, piece, view);
                found.extend(joined::find_known(text, short.are_characters, find));
                let holds = |said: &[u8]| !table.find(shared, said, view).is_empty();
                found.extend(encoded::find_known(text, short.are_bytes, holds));
            }
            found
        });
        let found = found.unwrap_or_default().into_iter();
        found.map(|range| Finding { rule: KNOWN, range }).collect()
    }

    /// Returns `clean`, which is `text` without its secrets, for comparisons only. If `text` had secrets, a keyed hash
    /// of them is appended, so that texts with different secrets differ.
    pub fn comparable(&self, text: &str, clean: &str) -> String {
        if clean == text {
            return clean.to_owned();
        }
        let hash = self.read(|shared, _| shared.all(text.as_bytes())).unwrap_or_default();
        format!("{clean} {hash}").trim_end().to_owned()
    }

    fn read<T>(&self, with: impl FnOnce(&Shared, &KnownTable) -> T) -> Option<T> {
        let shared = self.shared.as_deref()?;
        shared.table.read().ok().map(|table| with(shared, &table))
    }
}

impl Shared {
    fn value(&self, value: &[u8], word_bytes: usize) -> KnownValue {
        KnownValue {
            word_bytes,
            bytes: value.len(),
            word: self.word(&value[..word_bytes]),
            all: self.all(value),
        }
    }

    fn word(&self, word: &[u8]) -> u64 {
        let hash = self.hash(b"word", word);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(bytes)
    }

    fn all(&self, value: &[u8]) -> String {
        self.hash(b"all", value).to_hex()[..32].to_owned()
    }

    /// Returns a hash of the text in the normal form for tags and file names.
    fn hash(&self, what: &[u8], text: &[u8]) -> blake3::Hash {
        const BYTES_MAX: usize = 128;
        let plain = |byte: u8| if is_word(byte) { byte.to_ascii_lowercase() } else { b'-' };
        // Nearly all texts fit in this buffer, and a heap allocation takes as long as the hash.
        let mut bytes = [0; BYTES_MAX];
        let length = what.len() + 1 + text.len();
        if let Some(all) = bytes.get_mut(..length) {
            all[..what.len()].copy_from_slice(what);
            for (to, from) in all[what.len() + 1..].iter_mut().zip(text) {
                *to = plain(*from);
            }
            return blake3::keyed_hash(&self.key, all);
        }
        let text: Vec<u8> = text.iter().copied().map(plain).collect();
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(what).update(b"\0").update(&text);
        hasher.finalize()
    }
}

impl KnownTable {
    /// Returns whether another value of this scope may be added. Values of one session do not use the room of others.
    fn has_room(&self, scope: Scope) -> bool {
        let of = |scope: Scope| self.counts.get(&scope).copied().unwrap_or_default();
        let in_sessions = || {
            let counts = self.counts.iter();
            counts.filter(|(scope, _)| matches!(scope, Scope::Session(_))).map(|(_, count)| count)
        };
        match scope {
            Scope::Session(_) => {
                of(scope) < SESSION_VALUES_MAX && in_sessions().sum::<usize>() < VALUES_MAX
            }
            Scope::Project | Scope::Disputed | Scope::Harmless => of(scope) < VALUES_MAX,
        }
    }

    fn insert(&mut self, value: KnownValue, scope: Scope) -> bool {
        if !self.values.entry(value.clone()).or_default().insert(scope) {
            return false;
        }
        self.revision += 1;
        *self.counts.entry(scope).or_default() += 1;
        if self.lengths.len() <= value.word_bytes {
            self.lengths.resize(value.word_bytes + 1, false);
        }
        self.lengths[value.word_bytes] = true;
        self.shortest = self.lengths.iter().position(|known| *known).unwrap_or_default();
        let hashes = self.by_word.entry(value.word).or_default().entry(value.bytes).or_default();
        hashes.entry(value.all).or_default().insert(scope);
        true
    }

    /// Gives an existing value this scope and no other.
    fn settle(&mut self, value: KnownValue, scope: Scope) -> bool {
        let Some(scopes) = self.values.get_mut(&value) else { return false };
        if *scopes == BTreeSet::from([scope]) {
            return false;
        }
        for before in std::mem::replace(scopes, BTreeSet::from([scope])) {
            let count = self.counts.entry(before).or_default();
            *count = count.saturating_sub(1);
        }
        *self.counts.entry(scope).or_default() += 1;
        self.revision += 1;
        let hashes = self.by_word.entry(value.word).or_default().entry(value.bytes).or_default();
        hashes.insert(value.all, BTreeSet::from([scope]));
        true
    }

    fn find(&self, shared: &Shared, text: &[u8], view: View) -> Vec<Range<usize>> {
        self.find_in(shared, text, view, &mut ShortWords::default())
    }

    fn find_in(
        &self,
        shared: &Shared,
        text: &[u8],
        view: View,
        short: &mut ShortWords,
    ) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.values.is_empty() {
            return found;
        }
        for run in words(text) {
            let before = found.len();
            if run.len() <= 2 {
                short.note(run.len());
            } else {
                short.last.1 = 0;
            }
            for start in [Some(run.start), behind_escape(text, &run)].into_iter().flatten() {
                let word = start..run.end;
                if !self.lengths.get(word.len()).is_some_and(|known| *known) {
                    continue;
                }
                let Some(values) = self.by_word.get(&shared.word(&text[word])) else { continue };
                let fits = |(bytes, hashes): &(&usize, &ValueHashes)| {
                    let end = start + **bytes;
                    let ends = !is_word_at(text, end);
                    end <= text.len() && ends && view.finds(hashes, &shared.all(&text[start..end]))
                };
                // The longest value at this position is used.
                if let Some((bytes, _)) = values.iter().rev().find(fits) {
                    found.push(start..start + bytes);
                }
            }
            if found.len() == before {
                found.extend(self.glued(shared, text, view, &run));
            }
        }
        found
    }

    /// Returns a value inside a word: after a prefix such as `db` or `backup`, or before a number.
    fn glued(
        &self,
        shared: &Shared,
        text: &[u8],
        view: View,
        run: &Range<usize>,
    ) -> Option<Range<usize>> {
        const RUN_BYTES_MAX: usize = 64;
        const AFFIX_BYTES_MAX: usize = 6;
        let word = &text[run.clone()];
        // A hexadecimal hash is not a name that contains a value.
        let may_hold = (self.shortest..=RUN_BYTES_MAX).contains(&word.len())
            && word.iter().any(u8::is_ascii_digit)
            && word.iter().any(|byte| !byte.is_ascii_hexdigit());
        if !may_hold {
            return None;
        }
        let lengths = self.lengths.iter().enumerate().filter(|(_, known)| **known);
        for (length, _) in lengths.take_while(|(length, _)| *length <= word.len()) {
            let last = word.len() - length;
            // A short word can only be the first word of a value, so it is not searched for inside other words.
            let inside =
                (1..last.min(AFFIX_BYTES_MAX + 1)).filter(|_| length >= spread::VALUE_BYTES_MIN);
            for at in [last, 0].into_iter().chain(inside) {
                if !word[at..at + length].iter().any(u8::is_ascii_digit) {
                    continue;
                }
                let start = run.start + at;
                let Some(values) = self.by_word.get(&shared.word(&text[start..start + length]))
                else {
                    continue;
                };
                let fits = |(bytes, hashes): &(&usize, &ValueHashes)| {
                    let end = start + **bytes;
                    end <= text.len() && view.finds(hashes, &shared.all(&text[start..end]))
                };
                if let Some((bytes, _)) = values.iter().rev().find(fits) {
                    return Some(start..start + bytes);
                }
            }
        }
        None
    }
}

/// Detector of consecutive short words, which occur in encoded text: spaced characters, or bytes in hexadecimal digits.
#[derive(Default)]
struct ShortWords {
    are_characters: bool,
    are_bytes: bool,
    /// Length of the last word, and the number of consecutive words of this length.
    last: (usize, usize),
}

impl ShortWords {
    fn note(&mut self, bytes: usize) {
        const CHARACTERS_MIN: usize = 4;
        const BYTES_MIN: usize = 8;
        self.last = (bytes, if bytes == self.last.0 { self.last.1 + 1 } else { 1 });
        self.are_characters |= bytes == 1 && self.last.1 >= CHARACTERS_MIN;
        self.are_bytes |= bytes == 2 && self.last.1 >= BYTES_MIN;
    }
}

/// Returns whether a byte is part of a word.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Returns whether a word continues at an offset. In scripts without spaces, a value may directly follow a word.
fn is_word_at(text: &[u8], at: usize) -> bool {
    const UNSPACED: u8 = 0xE2;
    let Some(byte) = text.get(at) else { return false };
    if byte.is_ascii() {
        return byte.is_ascii_alphanumeric();
    }
    let lead = text[..=at].iter().rev().take(4).find(|byte| **byte >= 0xC0);
    lead.is_none_or(|lead| *lead < UNSPACED)
}

/// Returns the words of a text.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..text.len()).find(|at| is_word_at(text, *at))?;
        at = (start..text.len()).find(|at| !is_word_at(text, *at)).unwrap_or(text.len());
        Some(start..at)
    })
}

/// Returns the start of a word whose first letters belong to an escape before it: the `n` of a line break in the form
/// `\n`, or the end of a terminal colour. `None` if there is no escape.
fn behind_escape(text: &[u8], run: &Range<usize>) -> Option<usize> {
    const COLOUR_BYTES_MAX: usize = 32;
    let before = &text[..run.start];
    // This quick check is done for every word.
    if !matches!(before.last(), Some(b'\\' | b'[' | b';')) {
        return None;
    }
    let word = &text[run.clone()];
    if before.ends_with(b"\\") && word.first().is_some_and(|byte| b"nrt".contains(byte)) {
        return Some(run.start + 1);
    }
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let signs = before.iter().rev().take(COLOUR_BYTES_MAX);
    let signs = signs.take_while(|byte| byte.is_ascii_digit() || b"[;".contains(byte)).count();
    let is_colour = digits > 0 && word.get(digits) == Some(&b'm') && signs > 0;
    (is_colour && before[..before.len() - signs].ends_with(b"\x1b"))
        .then_some(run.start + digits + 1)
}

/// Returns a value in the form that file names have, where several signs are reduced to one.
fn slug(value: &[u8]) -> Vec<u8> {
    words(value).map(|word| &value[word]).collect::<Vec<_>>().join(&b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Redactor;
    use crate::options::RedactOptions;

    fn known(values: &[&str]) -> Redactor {
        let known = Known::new([7; KEY_BYTES]);
        for value in values {
            assert!(known.learn(value), "{value}");
            assert!(!known.learn(value), "it is known: {value}");
        }
        Redactor::new(&RedactOptions { known, ..RedactOptions::default() })
    }

    #[test]
    fn a_known_value_is_hidden_wherever_it_stands_alone() {
        let redactor = known(&["Cobaltheron6629", "k7#Pq!2z$Lw9", "Tr0ub4dor&3x"]);
        let hidden = "[redacted:known-secret]";
        for (text, clean) in [
            ("say Cobaltheron6629.", "say *."),
            ("cobaltheron6629_backup-COBALTHERON6629.md", "*_backup-*.md"),
            (r#"{"a":"b\\nCobaltheron6629\\n"}"#, r#"{"a":"b\\n*\\n"}"#),
            ("\u{1b}[1;32mCobaltheron6629\u{1b}[0m", "\u{1b}[1;32m*\u{1b}[0m"),
            ("log-in-with-tr0ub4dor-3x-now", "log-in-with-*-now"),
            ("createdb dbCobaltheron6629 preCobaltheron6629post", "createdb db* pre*post"),
            ("-pk7#Pq!2z$Lw9 and 'k7#Pq!2z$Lw9'", "-p* and '*'"),
            ("Cobaltheron66290 xk7#Pq!2z$Lw9", "*0 x*"),
            ("Cobaltheron662 Tr0ub4dor 3", "="),
        ] {
            let clean = clean.replace('*', hidden);
            let clean = if clean == "=" { text.to_owned() } else { clean };
            assert_eq!(redactor.redact(text), clean);
            assert_eq!(redactor.redact(&clean), clean, "once is enough");
        }
    }

    #[test]
    fn values_that_overlap_are_hidden_together() {
        let redactor =
            known(&["umber-Cobaltheron6629", "Cobaltheron6629", "6629-umber-Tallow7704"]);
        let hidden = "[redacted:known-secret]";
        for only_known in [true, false] {
            let redactor = Redactor { only_known, ..redactor.clone() };
            for text in ["umber-Cobaltheron6629", "Cobaltheron6629", "umber-Cobaltheron6629"] {
                assert_eq!(redactor.redact(&format!("say {text}.")), format!("say {hidden}."));
            }
        }
        // The password has a sign after the part that the rule hides.
        let clean = redactor.redact("Cobaltheron6629! is it").into_owned();
        assert_eq!(clean, format!("{hidden} is it"));
        // One value begins inside the other.
        let both = known(&["umber-Cobaltheron6629", "Cobaltheron6629-brine7704"]);
        let both = Redactor { only_known: true, ..both };
        let text = "umber-Cobaltheron6629-brine7704";
        assert_eq!(both.redact(text), hidden);
    }

    #[test]
    fn a_known_value_is_hidden_in_other_codes() {
        let redactor = known(&["k7#Pq(2z$$Lw9", "Cobaltheron6629"]);
        for text in [
            "k7%23Pq%282z%24%24Lw9",
            "k7&#35;Pq(2z&#x24;$Lw9",
            "k7\\#Pq\\(2z\\$\\$Lw9",
            "note-k7-pq-2z-lw9.md",
            "Cobalt\n  heron6629",
            "Cobalt\u{1b}[1mheron\u{1b}[0m6629",
            "Q29iYWx0aGVyb242NjI5",
            "436f62616c746865726f6e36363239",
            "パスワードCobaltheron6629です",
            "C o b a l t h e r o n 6 6 2 9",
            "43:6f:62:61:6c:74:68:65:72:6f:6e:36:36:32:39",
            "0x436f62616c746865726f6e36363239",
            "\\103\\157\\142\\141\\154\\164\\150\\145\\162\\157\\156\\066\\066\\062\\071",
            "'Cobalt' + 'heron6629'",
            "['C', 'o', 'b', 'a', 'l', 't', 'h', 'e', 'r', 'o', 'n', '6', '6', '2', '9']",
        ] {
            assert!(redactor.redact(text).contains("[redacted:known-secret]"), "{text}");
        }
    }

    #[test]
    fn a_known_value_with_a_space_or_of_digits_is_hidden() {
        let redactor = known(&["Kq7vLm 2xRt9Wz", "8203947156", "k7Pq%4dLw9z"]);
        for text in ["Kq7vLm%202xRt9Wz", "Kq7vLm\\ 2xRt9Wz", "8203947156", "k7Pq\\%4dLw9z"] {
            assert_eq!(redactor.redact(text), "[redacted:known-secret]", "{text}");
        }
    }

    #[test]
    fn without_a_key_no_secret_is_found_or_learned() {
        let none = Known::default();
        assert!(!none.learn("Cobaltheron6629") && none.is_empty());
        assert_eq!(none.find("Cobaltheron6629"), Vec::new());
        // With another key, the hashes differ.
        let [one, other] = [7, 8].map(|byte| {
            let known = Known::new([byte; KEY_BYTES]);
            known.learn("Cobaltheron6629");
            known.read(|_, table| table.values.keys().cloned().collect::<BTreeSet<_>>()).unwrap()
        });
        assert!(one.is_disjoint(&other));
    }

    #[test]
    fn each_scope_has_its_texts() {
        let known = Known::new([7; KEY_BYTES]);
        let values = ["Cobaltheron6629", "Ferrystone8102", "Umbergannet4417"];
        let scopes = [Scope::Project, known.session_scope("one"), Scope::Disputed];
        for (value, scope) in values.into_iter().zip(scopes) {
            assert!(known.learn_for(value, scope) && !known.learn_for(value, scope));
        }
        let text = values.join(" ");
        let left = |known: Known| {
            let options = RedactOptions { known, ..RedactOptions::default() };
            let redactor = Redactor { options, only_known: true };
            let clean = redactor.redact(&text).into_owned();
            values.map(|value| clean.contains(value))
        };
        assert_eq!(left(known.clone()), [false, true, true]);
        assert_eq!(left(known.in_session("one")), [false, false, true]);
        assert_eq!(left(known.in_session("two")), [false, true, true]);
        assert_eq!(left(known.as_given()), [false, true, false]);
        // The user decides about a value.
        assert!(known.settle("it is Umbergannet4417!", Scope::Harmless));
        assert!(!known.settle("it is Umbergannet4417!", Scope::Project), "it is settled");
        assert_eq!(left(known.as_given()), [false, true, true]);
        assert!(known.settle("Cobaltheron6629", Scope::Harmless));
        assert!(known.learn("Cobaltheron6629"), "it is found again");
        assert_eq!(left(known.clone()), [true, true, true]);
    }

    #[test]
    fn what_one_session_holds_takes_no_room_from_others() {
        let known = Known::new([7; KEY_BYTES]);
        let one = known.session_scope("one");
        for number in 0..2 * SESSION_VALUES_MAX {
            known.learn_for(&format!("Cobaltheron{number:04}"), one);
        }
        let of_one = known.read(|_, table| table.values.len()).unwrap();
        assert_eq!(of_one, SESSION_VALUES_MAX);
        assert!(known.learn_for("Cobaltheron9999", known.session_scope("two")));
        assert!(known.learn("Cobaltheron9998"));
    }

    #[test]
    fn what_a_rule_hides_becomes_known() {
        let known = Known::new([7; KEY_BYTES]);
        let redactor = Redactor::default();
        let text = "the admin password is Cobaltheron6629 says tess@harbour.co.uk";
        let (clean, found) = redactor.redact_and_recognise(text);
        assert_eq!(
            (&*clean, &*found),
            (&*redactor.redact(text), &["Cobaltheron6629".to_owned()][..])
        );
        found.iter().for_each(|value| assert!(known.learn(value)));
        let (_, found) = redactor.redact_and_recognise("<private>Umbergannet4417</private>");
        assert!(found.is_empty(), "what is private is not looked for elsewhere");
        let (_, found) = redactor.redact_and_recognise("<password>TicketQueue47</password>");
        assert!(found.is_empty(), "what is no random value is not looked for elsewhere");
        let options = RedactOptions { known, ..RedactOptions::default() };
        let only = Redactor { options, only_known: true };
        let text = "Cobaltheron6629 and password: Ferrystone8102";
        assert_eq!(only.redact(text), "[redacted:known-secret] and password: Ferrystone8102");
    }
}
