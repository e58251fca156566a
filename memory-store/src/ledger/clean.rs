//! Redaction of a ledger, which contains the last seen text of each memory's file.

use std::path::Path;

use super::entry::LedgerEntry;
use super::{Ledger, LedgerEvent, lines};
use crate::error::Result;
use crate::file::{EXTENSION, MemoryFile, parts};
use crate::id::MemoryId;
use crate::redact::{Redactor, texts};
use crate::stored::text_hash;

impl Ledger {
    /// Records that one of this program's texts, and possibly the name of its file, was redacted. The redacted text
    /// still counts as this program's.
    pub(crate) fn cleaned(&mut self, id: MemoryId, name: Option<&str>, text: &str) -> Result<()> {
        let Some(mut entry) = self.entries.get(&id).cloned() else { return Ok(()) };
        entry.will_write(text);
        if let Some(name) = name.filter(|name| *name != entry.name) {
            entry.will_name(name);
        }
        self.add(vec![LedgerEvent::Entry(Box::new(entry))])
    }

    /// Redacts every text except those of entries for which `is_kept` returns true, and drops earlier texts. Returns
    /// whether there was a secret.
    pub(crate) fn clean(
        &mut self,
        redactor: &Redactor,
        is_kept: &dyn Fn(&LedgerEntry) -> bool,
    ) -> Result<bool> {
        if lines::text(&self.path)?.lines().all(|line| is_clean(line, redactor)) {
            return Ok(false);
        }
        let mut entries = std::mem::take(&mut self.entries);
        // `any` is true if a text that is not kept contained a secret. If no entry contained one, an earlier text did.
        let (mut any, mut is_in_kept) = (false, false);
        for entry in entries.values_mut() {
            let before = entry.clone();
            let is_own = self.texts.is_own(&text_hash(&entry.text)) || entry.is_own();
            entry.clean(redactor);
            if is_kept(&before) {
                // The text and the name of the file are the person's; the earlier names are not.
                let named = std::mem::take(&mut entry.named);
                *entry = LedgerEntry { named, ..before.clone() };
                is_in_kept |= redacted_file(&before.text, redactor) != before.text
                    || has_secret(&before.name, redactor);
                any |= *entry != before;
                continue;
            }
            any |= *entry != before;
            if is_own {
                self.texts.own(&text_hash(&entry.text));
            }
        }
        self.entries = entries;
        for tombstone in self.tombstones.values_mut() {
            tombstone.title = redactor.redact(&tombstone.title).into_owned();
            tombstone.name.take_if(|name| has_secret(name, redactor));
        }
        for seen in self.seen.values_mut() {
            let clean = |branch: String| redactor.redact(&branch).into_owned();
            seen.branch = seen.branch.take().map(clean);
        }
        self.forget_history()?;
        Ok(any || !is_in_kept)
    }
}

/// Returns whether no text in a line contains a secret. In a damaged line, the raw text is searched.
fn is_clean(line: &str, redactor: &Redactor) -> bool {
    let has_none = |text: &str| parts(text).iter().all(|part| redactor.findings(part).is_empty());
    texts::of_line(line.as_bytes()).iter().all(|text| has_none(&text.text))
}

/// Returns whether the name of a file contains a secret.
fn has_secret(name: &str, redactor: &Redactor) -> bool {
    !redactor.findings(name).is_empty()
}

impl LedgerEntry {
    fn clean(&mut self, redactor: &Redactor) {
        let clean = redacted_file(&self.text, redactor);
        if clean != self.text && self.wrote(&self.text) {
            self.will_write(&clean);
        }
        // A person's text is still the person's after redaction.
        self.text = clean;
        self.named.retain(|name| !has_secret(name, redactor));
        if has_secret(&self.name, redactor) {
            // The path of the file is no longer recorded, so that the file does not count as missing.
            self.name = format!("{}.{EXTENSION}", self.id);
            self.placed = false;
        }
    }
}

/// Returns the text of a memory file, redacted field by field, or redacted as plain text if it cannot be parsed.
pub(crate) fn redacted_file(text: &str, redactor: &Redactor) -> String {
    let file = MemoryFile::parse(Path::new(""), text.as_bytes().to_vec());
    let changed = file.and_then(|mut file| file.redact(redactor).map(|_| file.text().to_owned()));
    changed.unwrap_or_else(|_| parts(text).iter().map(|part| redactor.redact(part)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ProjectDir;
    use crate::ledger::Reason;
    use crate::{Kind, Memory, Timestamp};

    #[test]
    fn earlier_texts_go_and_who_wrote_a_text_stays_known() {
        let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
        let home = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(home.path().to_owned());
        let mut ledger = Ledger::open(&home).unwrap();
        let text = |number: u8, says: &str| {
            let id = MemoryId([number; 16]);
            let memory = Memory::new(id, Kind::Fact, "Deploying", says, Timestamp(0));
            MemoryFile::new(memory).unwrap().text().to_owned()
        };
        let mut entries =
            [1, 2, 3].map(|number| LedgerEntry::new(MemoryId([number; 16]), Path::new("/w")));
        entries[0].will_write(&text(1, &token));
        entries[1].text = text(2, &token);
        entries[2].text = format!("no memory, {token}");
        let add = |ledger: &mut Ledger, entry: &LedgerEntry| {
            ledger.add(vec![LedgerEvent::Entry(Box::new(entry.clone()))]).unwrap();
        };
        entries.iter().for_each(|entry| add(&mut ledger, entry));
        ledger.bury(MemoryId([4; 16]), &token, Reason::Forgotten, None, Timestamp(0)).unwrap();
        // The fourth entry had another text before.
        let mut fourth = LedgerEntry::new(MemoryId([5; 16]), Path::new("/w"));
        fourth.will_write(&text(5, &token));
        add(&mut ledger, &fourth);
        fourth.will_write(&text(5, "clean"));
        add(&mut ledger, &fourth);

        let redactor = Redactor::default();
        assert!(Ledger::open(&home).unwrap().clean(&redactor, &|_| false).unwrap());
        assert!(!std::fs::read_to_string(&home.ledger).unwrap().contains(&token));
        let mut ledger = Ledger::open(&home).unwrap();
        let entry = |number: u8| ledger.entry(MemoryId([number; 16])).unwrap();
        assert_eq!(entry(1).text, text(1, "[redacted:github-token]"));
        assert_eq!([1, 2, 3].map(|number| entry(number).is_edited()), [false, true, true]);
        assert_eq!(entry(5), &fourth);
        assert!(!ledger.clean(&redactor, &|_| false).unwrap());
    }
}
