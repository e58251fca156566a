//! Queries about a single memory that do not parse all lines of a ledger. Saving or forgetting a memory needs only the
//! lines about this memory, and the ledger may contain a hundred thousand others.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use memchr::memmem;

use super::entry::LedgerEntry;
use super::lines::Unsynced;
use super::texts::{LedgerOrigin, meaning_hash};
use super::{LedgerEvent, PendingChange, Reason, Tombstone, lines};
use crate::error::{At, Result};
use crate::fs::file_stamp::file_number;
use crate::id::MemoryId;
use crate::layout::ProjectDir;
use crate::stored::{Stored, text_hash};
use crate::time::Timestamp;

/// Number of bytes at the end of a ledger that are searched for recent saves.
const LATEST_BYTES_MAX: u64 = 128 << 10;
/// Size in bytes of the first piece if a ledger is read backwards. It is small because most queries are about recent
/// saves. Each further piece is twice as large.
const STEP_BYTES_MIN: u64 = 16 << 10;
/// Maximum size of a piece in bytes.
const STEP_BYTES: u64 = 1 << 20;

/// Access to a ledger for queries about single memories. A writer must hold the store's lock.
pub(crate) struct Lookup {
    path: PathBuf,
}

/// Recently saved files, and the offset up to which the ledger was read.
#[derive(Debug, Default)]
pub(crate) struct LatestFiles {
    /// Names of the files.
    pub names: Vec<String>,
    /// The open ledger file. While it is open, its inode is not reused.
    ledger: Option<File>,
    end: u64,
}

impl LatestFiles {
    /// Adds the files of the lines whose texts contain all of these words.
    fn add(&mut self, words: &str, lines: &[u8]) {
        let words = words.to_lowercase();
        let signs = words.split(|c: char| !c.is_ascii_alphanumeric());
        let mut signs: Vec<&str> = signs.filter(|word| !word.is_empty()).collect();
        // Longer words occur in fewer lines, so they are searched first.
        signs.sort_by_key(|word| std::cmp::Reverse(word.len()));
        for line in lines.split(|&byte| byte == b'\n') {
            // Most lines do not match. JSON leaves ASCII letters and digits unchanged, so ASCII lines can be compared
            // byte by byte, ignoring case. Other lines must be parsed.
            if line.is_ascii() && !signs.iter().all(|sign| has_word(line, sign.as_bytes())) {
                continue;
            }
            let Some(Ok(LedgerEvent::Entry(entry))) =
                lines::whole(line).map(serde_json::from_slice)
            else {
                continue;
            };
            let text = entry.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            if text.contains(&words) && !self.names.contains(&entry.name) {
                self.names.push(entry.name);
            }
        }
    }
}

impl Lookup {
    pub(crate) fn new(home: &ProjectDir) -> Self {
        Self { path: home.ledger.clone() }
    }

    /// Returns a memory's ledger entry, if any.
    pub(crate) fn entry(&self, id: MemoryId) -> Result<Option<LedgerEntry>> {
        let wanted = format!("\"{id}\"");
        let mut found = None;
        self.last_line(&wanted, |event| match event {
            LedgerEvent::Entry(entry) if entry.id == id => {
                found = Some(Some(*entry));
                true
            }
            LedgerEvent::Drop(dropped) if dropped == id => {
                found = Some(None);
                true
            }
            _ => false,
        })?;
        Ok(found.flatten())
    }

    /// Returns the origin of a memory file's text, as [`super::Texts::origin`] does.
    pub(crate) fn origin(&self, stored: &Stored) -> Result<LedgerOrigin> {
        let origin = self.origin_of(&stored.text)?;
        if origin == LedgerOrigin::Own {
            return Ok(origin);
        }
        match meaning_hash(stored).map(|hash| self.origin_of(&hash)).transpose()? {
            Some(LedgerOrigin::Unknown) | None => Ok(origin),
            Some(of_form) => Ok(of_form),
        }
    }

    /// Returns the origin of the text with this hash.
    fn origin_of(&self, hash: &str) -> Result<LedgerOrigin> {
        let mut origin = LedgerOrigin::Unknown;
        let is_of = |hashes: &[String]| hashes.iter().any(|known| known == hash);
        self.last_line(&format!("\"{hash}\""), |event| {
            match event {
                LedgerEvent::Own(own) if own == hash => origin = LedgerOrigin::Own,
                LedgerEvent::Entry(entry) if is_of(&entry.written) || is_of(&entry.changed) => {
                    origin = LedgerOrigin::Own;
                }
                LedgerEvent::Pulled(pulled) if pulled == hash => origin = LedgerOrigin::Pulled,
                LedgerEvent::Claude(claude) if claude == hash => origin = LedgerOrigin::Claude,
                _ => {}
            }
            origin == LedgerOrigin::Own
        })?;
        Ok(origin)
    }

    /// Records a change by Claude about which the user must decide.
    pub(crate) fn ask(&self, change: PendingChange) -> Result<()> {
        self.add(LedgerEvent::Ask(change))
    }

    /// Returns the names of recently saved files whose texts contain these words, ignoring case. An index may not
    /// contain these files yet.
    pub(crate) fn latest_with(&self, words: &str) -> Result<LatestFiles> {
        let mut latest = LatestFiles::default();
        self.read_on(words, &mut latest)?;
        Ok(latest)
    }

    /// Adds the names of files that were saved after `latest` was read. Therefore most of the ledger can be read before
    /// the lock is taken.
    pub(crate) fn read_on(&self, words: &str, latest: &mut LatestFiles) -> Result<()> {
        let Some((mut file, end)) = self.open()? else { return Ok(()) };
        let at = file.metadata().at(&self.path)?;
        let mut start = end.saturating_sub(LATEST_BYTES_MAX);
        // A replaced or truncated ledger is read from the start.
        let known = latest.ledger.as_ref().and_then(|ledger| ledger.metadata().ok());
        let is_known = known.is_some_and(|it| file_number(&it) == file_number(&at));
        if is_known && latest.end <= end {
            start = start.max(latest.end);
        }
        let bytes = self.read(&mut file, start, end)?;
        let begins_whole = start == 0 || start == latest.end;
        let from = match begins_whole {
            true => 0,
            false => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1),
        };
        // An incomplete last line is still being written; the next call reads it.
        let until = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1).max(from);
        (latest.ledger, latest.end) = (Some(file), start + until as u64);
        latest.add(words, &bytes[from..until]);
        Ok(())
    }

    /// Records a memory that the ledger does not contain, without waiting for the disk. `name` is the name of the
    /// memory's file.
    pub(crate) fn created(&self, mut new: LedgerEntry, name: &str, text: &str) -> Result<Unsynced> {
        new.will_be_saved(name, text);
        lines::write(&self.path, &[LedgerEvent::Entry(Box::new(new))])
    }

    /// Records a saved memory. `name` is the name of its file.
    pub(crate) fn saved(
        &self,
        known: Option<LedgerEntry>,
        new: LedgerEntry,
        name: &str,
        text: &str,
    ) -> Result<()> {
        let mut entry = match known {
            // For a derived memory that was edited, the text is recorded as a change, so that it counts as the
            // person's.
            Some(mut known) if !known.saved => {
                known.will_change(text);
                return self.add(LedgerEvent::Entry(Box::new(known)));
            }
            Some(known) => known,
            None => new,
        };
        entry.will_be_saved(name, text);
        self.add(LedgerEvent::Entry(Box::new(entry)))
    }

    /// Records the origin of a text.
    pub(crate) fn note(&self, text: &str, origin: LedgerOrigin) -> Result<()> {
        match origin {
            LedgerOrigin::Own => self.add(LedgerEvent::Own(text_hash(text))),
            LedgerOrigin::Pulled => self.add(LedgerEvent::Pulled(text_hash(text))),
            LedgerOrigin::Claude => self.add(LedgerEvent::Claude(text_hash(text))),
            LedgerOrigin::Unknown => Ok(()),
        }
    }

    /// Records a text that was derived from a memory's file and has the same origin as the file.
    pub(crate) fn inherit(&self, text: &str, of: &Stored) -> Result<()> {
        self.note(text, self.origin(of)?)
    }

    /// Records that a memory was forgotten; `known` is the memory's ledger entry.
    pub(crate) fn bury(
        &self,
        id: MemoryId,
        known: Option<&LedgerEntry>,
        title: &str,
        name: Option<&str>,
        at: Timestamp,
    ) -> Result<()> {
        self.add(LedgerEvent::Tombstone(Tombstone {
            id,
            title: title.to_owned(),
            reason: Reason::Forgotten,
            at,
            name: name.map(str::to_owned),
            written: known.map(|entry| entry.saved),
            more: super::More::new(),
        }))
    }

    fn add(&self, event: LedgerEvent) -> Result<()> {
        lines::append(&self.path, &[event])
    }

    /// Passes the events of the lines that contain `text` to `is_it`, the last line first, until `is_it` returns true.
    fn last_line(&self, text: &str, mut is_it: impl FnMut(LedgerEvent) -> bool) -> Result<()> {
        let Some((mut file, mut end)) = self.open()? else { return Ok(()) };
        let finder = memmem::FinderRev::new(text.as_bytes());
        let mut rest = Vec::new();
        let mut step = STEP_BYTES_MIN;
        while end > 0 {
            let start = end.saturating_sub(step);
            step = (2 * step).min(STEP_BYTES);
            let mut bytes = self.read(&mut file, start, end)?;
            bytes.append(&mut rest);
            // The first line of a piece may begin in the previous piece.
            let whole_from = match start {
                0 => 0,
                _ => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |end| end + 1),
            };
            let mut until = bytes.len();
            while let Some(at) = finder.rfind(&bytes[whole_from..until]) {
                let at = whole_from + at;
                let from = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
                let to = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
                if let Some(Ok(event)) = lines::whole(&bytes[from..to]).map(serde_json::from_slice)
                    && is_it(event)
                {
                    return Ok(());
                }
                until = from;
                if until <= whole_from {
                    break;
                }
            }
            bytes.truncate(whole_from);
            rest = bytes;
            end = start;
        }
        Ok(())
    }

    fn open(&self) -> Result<Option<(File, u64)>> {
        match File::open(&self.path) {
            Ok(file) => {
                let end = file.metadata().at(&self.path)?.len();
                Ok(Some((file, end)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at(&self.path),
        }
    }

    fn read(&self, file: &mut File, start: u64, end: u64) -> Result<Vec<u8>> {
        file.seek(SeekFrom::Start(start)).at(&self.path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(end - start).unwrap_or_default());
        file.take(end - start).read_to_end(&mut bytes).at(&self.path)?;
        Ok(bytes)
    }
}

/// Returns whether a line contains `word`, ignoring case. `word` consists of lower-case letters and digits.
fn has_word(line: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return true };
    let mut starts = memchr::memchr2_iter(*first, first.to_ascii_uppercase(), line);
    starts.any(|at| {
        line[at..].get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::texts::hashes;
    use super::*;
    use crate::fs::file_stamp::Stamp;
    use crate::ledger::Ledger;

    fn home(folder: &Path) -> ProjectDir {
        ProjectDir::at(folder.to_owned())
    }

    fn id(number: u16) -> MemoryId {
        let mut id = [0; 16];
        id[14..].copy_from_slice(&number.to_be_bytes());
        MemoryId(id)
    }

    #[test]
    fn a_question_about_one_memory_is_answered_as_the_whole_ledger_answers_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let lookup = Lookup::new(&home);
        assert_eq!(lookup.entry(id(1)).unwrap(), None);
        // The ledger has several pieces, with lines across their boundaries.
        for number in 0..900 {
            let new = LedgerEntry::new(id(number % 300), Path::new("/work"));
            let known = lookup.entry(id(number % 300)).unwrap();
            let text = format!("# Title {number}\n\n{}", "x".repeat(3000 + usize::from(number)));
            lookup.saved(known, new, &format!("{number}.md"), &text).unwrap();
        }
        lookup.bury(id(7), None, "Seven", Some("7.md"), Timestamp(0)).unwrap();
        lookup.note("a text of its own", LedgerOrigin::Own).unwrap();
        assert!(std::fs::metadata(&home.ledger).unwrap().len() > 2 * STEP_BYTES);
        let ledger = Ledger::open(&home).unwrap();
        for number in 0..301 {
            assert_eq!(lookup.entry(id(number)).unwrap().as_ref(), ledger.entry(id(number)));
        }
        assert_eq!(ledger.tombstone(id(7)).unwrap().title, "Seven");
        assert!(ledger.texts().is_own(&text_hash("a text of its own")));
        assert_eq!(lookup.latest_with("TITLE  899").unwrap().names, Vec::<String>::new());
        assert_eq!(lookup.latest_with("title 899").unwrap().names, ["899.md"]);
        assert_eq!(lookup.latest_with("title 12 ").unwrap().names, Vec::<String>::new());
    }

    #[test]
    fn words_are_found_in_what_was_saved_last_whatever_their_case_and_script() {
        let folder = tempfile::tempdir().unwrap();
        let lookup = Lookup::new(&home(folder.path()));
        let texts = [
            "# Say \"Helm\" twice\n\nWith quotes.",
            "# Über die Brücke\n\nNot in ASCII.",
            "# 300 \u{212a} is warm\n\nThe sign of Kelvin is a k in lower case.",
            "# ---\n\nNo word at all.",
        ];
        for (number, text) in (0u16..).zip(texts) {
            let new = LedgerEntry::new(id(number), Path::new("/work"));
            lookup.saved(None, new, &format!("{number}.md"), text).unwrap();
        }
        let asked = [
            ("say \"helm\" TWICE", "0.md"),
            ("über DIE brücke", "1.md"),
            ("300 k is", "2.md"),
            ("---", "3.md"),
        ];
        for (title, name) in asked {
            assert_eq!(lookup.latest_with(title).unwrap().names, [name], "{title}");
        }
        assert_eq!(lookup.latest_with("helmet").unwrap().names, Vec::<String>::new());
    }

    #[test]
    fn what_was_saved_since_is_found_without_reading_all_again() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let lookup = Lookup::new(&home);
        let save = |number: u16| {
            let new = LedgerEntry::new(id(number), Path::new("/work"));
            lookup.saved(None, new, &format!("{number}.md"), "# A pier\n\nIt stands.").unwrap();
        };
        let mut latest = lookup.latest_with("a pier").unwrap();
        for number in 0..3 {
            save(number);
            lookup.read_on("a pier", &mut latest).unwrap();
            assert_eq!(latest.names.len(), usize::from(number) + 1);
        }
        // Lines are read only once, unless the ledger was replaced.
        latest.names.clear();
        save(3);
        lookup.read_on("a pier", &mut latest).unwrap();
        assert_eq!(latest.names, ["3.md"]);
        let text = std::fs::read(&home.ledger).unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, &text).unwrap();
        std::fs::rename(other, &home.ledger).unwrap();
        lookup.read_on("a pier", &mut latest).unwrap();
        assert_eq!(latest.names, ["3.md", "0.md", "1.md", "2.md"]);
        // An incomplete line is read after it is completed.
        latest.names.clear();
        save(4);
        let whole = std::fs::read(&home.ledger).unwrap();
        std::fs::write(&home.ledger, &whole[..whole.len() - 9]).unwrap();
        lookup.read_on("a pier", &mut latest).unwrap();
        assert_eq!(latest.names, Vec::<String>::new());
        std::fs::write(&home.ledger, &whole).unwrap();
        lookup.read_on("a pier", &mut latest).unwrap();
        assert_eq!(latest.names, ["4.md"]);
    }

    #[test]
    fn own_texts_are_distinguished_from_pulled_ones() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let stored = |text: &str| Stored {
            path: "/x.md".into(),
            memory: crate::Memory::new(id(1), crate::Kind::Fact, text, "", Timestamp(0)),
            stamp: Stamp::default(),
            text: text_hash(text),
        };
        let mut ledger = Ledger::open(&home).unwrap();
        ledger.own([text_hash("mine")]).unwrap();
        ledger.pulled(hashes(&stored("theirs"))).unwrap();
        assert!(!ledger.texts().owns(&stored("theirs")));
        // Each text was released in another form, before and after it was pulled.
        let forms =
            ["in another form", "released"].map(|text| meaning_hash(&stored(text)).unwrap());
        ledger.pulled(hashes(&stored("released"))).unwrap();
        ledger.own(forms).unwrap();
        ledger.pulled(hashes(&stored("in another form"))).unwrap();
        let new = LedgerEntry::new(id(1), Path::new("/work"));
        Lookup::new(&home).saved(None, new, "saved.md", "saved").unwrap();
        let ledger = Ledger::open(&home).unwrap();
        let own = ["mine", "in another form", "released", "saved"].map(|text| (text, true));
        for (text, owns) in own.into_iter().chain([("theirs", false), ("other", false)]) {
            let is_own = Lookup::new(&home).origin(&stored(text)).unwrap() == LedgerOrigin::Own;
            assert_eq!(is_own, owns, "{text}");
            assert_eq!(ledger.texts().owns(&stored(text)), owns, "{text}");
        }
    }
}
