//! The texts whose origin a ledger knows, by content hash.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::LedgerEntry;
use crate::file::MemoryFile;
use crate::stored::{Stored, text_hash};

/// Texts of each origin that are remembered beside those of memories that are there; the oldest go.
const TEXTS_MAX: usize = 50_000;

/// The texts that this machine derived, wrote or released, those that came with the repository, and those that tool
/// calls of Claude's wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownTexts {
    own: TextHashes,
    pulled: TextHashes,
    claudes: TextHashes,
    /// True if some text that was pulled is also of this machine: it was released.
    both: bool,
}

/// Origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerOrigin {
    /// It was derived, written or released on this machine.
    Own,
    /// It came with the repository.
    Pulled,
    /// A tool call of Claude's wrote it.
    Claude,
    /// It came since the last look.
    Unknown,
}

/// Hashes with the order in which they came.
#[derive(Clone, Debug, Default)]
struct TextHashes {
    numbers: BTreeMap<String, u64>,
    order: BTreeMap<u64, String>,
}

impl KnownTexts {
    /// Returns whether a memory's file says what was derived, written or released here, in whatever form: an editor
    /// that writes the front matter in another way changes nothing.
    pub(crate) fn owns(&self, stored: &Stored) -> bool {
        // With a text its usual form was noted as pulled: where nothing pulled became own, that did not, either.
        let is_others = self.is_pulled(&stored.text) || self.is_claudes(&stored.text);
        let may_own = self.both || !is_others;
        self.is_own(&stored.text) || (may_own && self.owns_meaning(stored))
    }

    /// Tells where what a memory's file says is from.
    pub(crate) fn origin(&self, stored: &Stored) -> LedgerOrigin {
        match () {
            () if self.owns(stored) => LedgerOrigin::Own,
            () if self.has_claudes(stored) => LedgerOrigin::Claude,
            () if self.pulls(stored) => LedgerOrigin::Pulled,
            () => LedgerOrigin::Unknown,
        }
    }

    /// Returns whether a memory's file says what came with the repository, in whatever form.
    pub(crate) fn pulls(&self, stored: &Stored) -> bool {
        self.is_pulled(&stored.text)
            || meaning_hash(stored).is_some_and(|hash| self.is_pulled(&hash))
    }

    /// Returns whether something of this machine says the same in its usual form.
    fn owns_meaning(&self, stored: &Stored) -> bool {
        // To write a memory takes longer than to read it: where nothing is own, none is written.
        !self.own.numbers.is_empty() && meaning_hash(stored).is_some_and(|hash| self.is_own(&hash))
    }

    /// Returns whether a text, by its hash, is of this machine.
    pub(crate) fn is_own(&self, hash: &str) -> bool {
        self.own.numbers.contains_key(hash)
    }

    pub(crate) fn is_pulled(&self, hash: &str) -> bool {
        self.pulled.numbers.contains_key(hash)
    }

    /// Returns whether a tool call of Claude's wrote a text, by its hash.
    pub(crate) fn is_claudes(&self, hash: &str) -> bool {
        self.claudes.numbers.contains_key(hash)
    }

    /// Returns whether a memory's file says what a tool call of Claude's wrote, and no person made theirs.
    pub(crate) fn is_of_claude(&self, stored: &Stored) -> bool {
        self.has_claudes(stored) && !self.owns(stored)
    }

    /// Returns whether a memory's file says what a tool call of Claude's wrote, in whatever form.
    fn has_claudes(&self, stored: &Stored) -> bool {
        let has_any = !self.claudes.numbers.is_empty();
        has_any
            && (self.is_claudes(&stored.text)
                || meaning_hash(stored).is_some_and(|hash| self.is_claudes(&hash)))
    }

    /// Returns whether some of what came with the repository may be forgotten: what is not known may be from there.
    pub(crate) fn forgets(&self) -> bool {
        self.pulled.order.len() >= TEXTS_MAX
    }

    pub(crate) fn own(&mut self, hash: &str) {
        self.both |= self.is_pulled(hash) || self.is_claudes(hash);
        self.own.add(hash);
    }

    /// Forgets that a text is of this machine; returns whether it was known as such.
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

/// Returns the hashes by which a memory's file is known from now on: that of its text, and that of what it says.
pub(crate) fn hashes(stored: &Stored) -> BTreeSet<String> {
    meaning_hash(stored).into_iter().chain([stored.text.clone()]).collect()
}

/// Returns the hash of a memory in the form that a program of ours gives it; `None` when it has none.
pub(super) fn meaning_hash(stored: &Stored) -> Option<String> {
    // A file in our first form says what was read of it: there is no need to write and read it once more.
    let is_first_form = |text: String| text_hash(&text) == stored.text;
    if MemoryFile::first_form(&stored.memory).is_some_and(is_first_form) {
        return Some(stored.text.clone());
    }
    MemoryFile::new(stored.memory.clone()).ok().map(|file| text_hash(file.text()))
}
