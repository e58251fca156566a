//! Origins of memory texts, by content hash.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::LedgerEntry;
use crate::file::MemoryFile;
use crate::stored::{Stored, text_hash};

/// Maximum number of texts recorded for each origin, in addition to the texts of present memories. The oldest are
/// dropped.
const TEXTS_MAX: usize = 50_000;

/// Hashes of texts by origin: this machine (derived, written or released), the repository, and Claude's tool calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownTexts {
    own: TextHashes,
    pulled: TextHashes,
    claudes: TextHashes,
    /// True if a text from the repository is also recorded as a text of this machine, because a person released it.
    both: bool,
}

/// Origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerOrigin {
    /// The text was derived, written or released on this machine.
    Own,
    /// The text was pulled with the repository.
    Pulled,
    /// One of Claude's tool calls wrote the text.
    Claude,
    /// The text appeared since the last survey.
    Unknown,
}

/// Hashes in the order of their insertion.
#[derive(Clone, Debug, Default)]
struct TextHashes {
    numbers: BTreeMap<String, u64>,
    order: BTreeMap<u64, String>,
}

impl KnownTexts {
    /// Returns whether the text of a memory's file was derived, written or released on this machine. The front matter
    /// may have another form, because an editor may have rewritten it.
    pub(crate) fn owns(&self, stored: &Stored) -> bool {
        // A pulled text is also recorded by the hash of its meaning. If no pulled text was released, a pulled text is
        // therefore not a text of this machine.
        let is_others = self.is_pulled(&stored.text) || self.is_claudes(&stored.text);
        let may_own = self.both || !is_others;
        self.is_own(&stored.text) || (may_own && self.owns_meaning(stored))
    }

    /// Returns the origin of the text in a memory's file.
    pub(crate) fn origin(&self, stored: &Stored) -> LedgerOrigin {
        match () {
            () if self.owns(stored) => LedgerOrigin::Own,
            () if self.has_claudes(stored) => LedgerOrigin::Claude,
            () if self.pulls(stored) => LedgerOrigin::Pulled,
            () => LedgerOrigin::Unknown,
        }
    }

    /// Returns whether the text of a memory's file was pulled. The front matter may have another form.
    pub(crate) fn pulls(&self, stored: &Stored) -> bool {
        self.is_pulled(&stored.text)
            || meaning_hash(stored).is_some_and(|hash| self.is_pulled(&hash))
    }

    /// Returns whether a text of this machine has the same meaning as the text of a memory's file.
    fn owns_meaning(&self, stored: &Stored) -> bool {
        // Hashing the meaning requires the text that the program would write, which takes longer than reading the file.
        // It is skipped if no texts of this machine are recorded.
        !self.own.numbers.is_empty() && meaning_hash(stored).is_some_and(|hash| self.is_own(&hash))
    }

    /// Returns whether the text with this hash is a text of this machine.
    pub(crate) fn is_own(&self, hash: &str) -> bool {
        self.own.numbers.contains_key(hash)
    }

    pub(crate) fn is_pulled(&self, hash: &str) -> bool {
        self.pulled.numbers.contains_key(hash)
    }

    /// Returns whether one of Claude's tool calls wrote the text with this hash.
    pub(crate) fn is_claudes(&self, hash: &str) -> bool {
        self.claudes.numbers.contains_key(hash)
    }

    /// Returns whether one of Claude's tool calls wrote the text of a memory's file and no person confirmed it.
    pub(crate) fn is_of_claude(&self, stored: &Stored) -> bool {
        self.has_claudes(stored) && !self.owns(stored)
    }

    /// Returns whether one of Claude's tool calls wrote the text of a memory's file. The front matter may have another
    /// form.
    fn has_claudes(&self, stored: &Stored) -> bool {
        let has_any = !self.claudes.numbers.is_empty();
        has_any
            && (self.is_claudes(&stored.text)
                || meaning_hash(stored).is_some_and(|hash| self.is_claudes(&hash)))
    }

    /// Returns whether hashes of pulled texts may have been dropped, so that a text of unknown origin may be a pulled
    /// text.
    pub(crate) fn forgets(&self) -> bool {
        self.pulled.order.len() >= TEXTS_MAX
    }

    pub(crate) fn own(&mut self, hash: &str) {
        self.both |= self.is_pulled(hash) || self.is_claudes(hash);
        self.own.add(hash);
    }

    /// Removes a text from those of this machine. Returns whether it was one of them.
    pub(super) fn disown(&mut self, hash: &str) -> bool {
        let number = self.own.numbers.remove(hash);
        number.is_some_and(|number| self.own.order.remove(&number).is_some())
    }

    pub(super) fn own_all(&mut self, entry: &LedgerEntry) {
        entry.written.iter().chain(&entry.changed).for_each(|hash| self.own(hash));
    }

    pub(super) fn pulled(&mut self, hash: &str) {
        self.both |= self.is_own(hash);
        self.pulled.add(hash);
    }

    pub(super) fn claude(&mut self, hash: &str) {
        self.both |= self.is_own(hash);
        self.claudes.add(hash);
    }

    pub(super) fn len(&self) -> usize {
        self.own.order.len() + self.pulled.order.len() + self.claudes.order.len()
    }

    pub(super) fn all_own(&self) -> impl Iterator<Item = String> {
        self.own.order.values().cloned()
    }

    pub(super) fn all_claudes(&self) -> impl Iterator<Item = String> {
        self.claudes.order.values().cloned()
    }

    pub(super) fn all_pulled(&self) -> impl Iterator<Item = String> {
        self.pulled.order.values().cloned()
    }
}

impl TextHashes {
    fn add(&mut self, hash: &str) {
        let next = self.order.last_key_value().map_or(0, |(number, _)| number + 1);
        if let Some(before) = self.numbers.insert(hash.to_owned(), next) {
            self.order.remove(&before);
        }
        self.order.insert(next, hash.to_owned());
        if self.order.len() > TEXTS_MAX
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.numbers.remove(&oldest);
        }
    }
}

/// Returns the hashes to record for a memory's file: the hash of its text and the hash of its meaning.
pub(crate) fn hashes(stored: &Stored) -> BTreeSet<String> {
    meaning_hash(stored).into_iter().chain([stored.text.clone()]).collect()
}

/// Returns the hash of a memory's meaning: the hash of the text that the program would write for the memory. Returns
/// `None` if the memory cannot be written.
pub(super) fn meaning_hash(stored: &Stored) -> Option<String> {
    // If the file already has the form in which the program writes new files, its text has this hash.
    let is_first_form = |text: String| text_hash(&text) == stored.text;
    if MemoryFile::first_form(&stored.memory).is_some_and(is_first_form) {
        return Some(stored.text.clone());
    }
    MemoryFile::new(stored.memory.clone()).ok().map(|file| text_hash(file.text()))
}
