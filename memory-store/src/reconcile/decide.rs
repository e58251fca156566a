//! Decision about one memory in a reconciliation: what its file should be, against what it is.

use std::path::{Path, PathBuf};

use super::Desired;
use super::missing::MissingFile;
use super::plan::Plan;
use super::survey::{InTree, Survey};
use crate::error::{Error, Result};
use crate::file::{MemoryFile, file_name};
use crate::id::MemoryId;
use crate::ledger::{Aside, Entry, LedgerLine, More, Reason, Tombstone, redacted_file, text_hash};
use crate::memory::{Memory, Status};
use crate::redact::Redactor;
use crate::store::{Read, free_path_in, read_file};
use crate::time::Timestamp;

/// A memory as it is to be written.
pub(super) struct Wanted {
    pub memory: Memory,
    root: PathBuf,
    text: String,
    /// Of one that is held back: as it is in the folder, where that was let in.
    in_folder: Option<Box<Self>>,
}

impl Wanted {
    pub(crate) fn new(desired: Desired) -> Result<Self> {
        let Desired { memory, root } = desired;
        let in_folder = (memory.status == Status::Held).then(|| {
            let mut memory = memory.clone();
            memory.release();
            Self::new(Desired { memory, root: root.clone() }).map(Box::new)
        });
        let file = MemoryFile::new(memory)?;
        let text = file.text().to_owned();
        Ok(Self { text, memory: file.memory, root, in_folder: in_folder.transpose()? })
    }

    /// The texts that its file may have.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        [self, self.in_folder()].into_iter().map(|wanted| wanted.text.as_str())
    }

    /// The memory as it is in the folder.
    fn in_folder(&self) -> &Self {
        self.in_folder.as_deref().unwrap_or(self)
    }
}

/// Decision about one memory. One that fails has planned nothing yet: it is told, and the others have theirs.
pub(super) struct Decision<'r, 'a> {
    pub survey: &'r Survey<'a>,
    pub plan: &'r mut Plan,
    /// Hides the secrets of what people wrote; what is wanted has none.
    pub redactor: &'r Redactor,
    /// Says which memories stay though nothing says them any more.
    pub keeps: &'r dyn Fn(&Memory) -> bool,
    pub now: Timestamp,
}

impl<'r> Decision<'r, '_> {
    /// Transcripts say it: it should be there.
    pub(crate) fn want(&mut self, known: Option<&Entry>, wanted: &Wanted) -> Result<()> {
        let id = wanted.memory.id;
        let root = self.survey.root_for(id, known, Some(&wanted.root));
        let before = known.cloned().unwrap_or_else(|| Entry::new(id, &root));
        let entry = Entry { root, ..before.clone() };
        if self.survey.is_being_edited(&before) {
            self.plan.outcome.unchanged += 1;
            return Ok(());
        }
        let survey: &'r Survey = self.survey;
        // Nothing that is in the folder, or was, is held back again, whatever the settings are by now.
        let was_in_folder = before.was_in_folder(survey.is_private());
        let wanted = if was_in_folder { wanted.in_folder() } else { wanted };
        match survey.in_tree(&before, &entry.root) {
            InTree::Files(files) => {
                let wanted = wanted.in_folder();
                let file = self.choose(&entry, &files, wanted);
                return self.present(&before, entry, file, wanted);
            }
            InTree::Replaced(file) => self.replaced(&before, entry, file),
            InTree::Nothing => {
                return match survey.aside(id) {
                    Some(file) => self.waiting(&before, entry, file, wanted),
                    None => self.missing(&before, entry, wanted),
                };
            }
        }
        Ok(())
    }

    /// No transcript says it any more.
    pub(crate) fn unwanted(&mut self, before: &Entry) -> Result<()> {
        if self.survey.is_being_edited(before) {
            return Ok(());
        }
        let root = self.survey.root_for(before.id, Some(before), None);
        let entry = Entry { root, ..before.clone() };
        let survey: &'r Survey = self.survey;
        let in_tree = match survey.in_tree(before, &entry.root) {
            InTree::Files(files) => files.first().copied(),
            InTree::Replaced(file) => {
                self.replaced(before, entry, file);
                return Ok(());
            }
            InTree::Nothing => None,
        };
        let Some(file) = in_tree.or_else(|| survey.aside(before.id)) else {
            return self.unwanted_and_missing(before, entry);
        };
        if before.wrote(file.file.text()) && !before.saved {
            if (self.keeps)(&file.file.memory) {
                self.plan.outcome.unchanged += 1;
            } else {
                self.withdraw(before, entry);
            }
            return Ok(());
        }
        self.plan.outcome.unchanged += 1;
        if !survey.is_own(file) {
            return Ok(());
        }
        // A person wrote or changed it: it is theirs, and kept like what they saved themselves.
        let mut entry = Entry { saved: true, text: self.kept(before, file), ..entry };
        if in_tree.is_none() {
            if entry.aside == Aside::Parked && !self.survey.holds(&entry) {
                let text = entry.text.clone();
                return self.return_from_aside(before, entry, file, &text);
            }
        } else {
            entry.name = self.name(&entry, &file.stored.path);
            entry.placed = true;
            entry.aside = Aside::No;
            self.remove_aside(before);
        }
        entry.committed = self.survey.commits(&entry);
        self.plan.result(before, entry);
        Ok(())
    }

    /// Its file says something else that is from the repository: that is left alone, and moves nothing of what is
    /// known.
    fn replaced(&mut self, before: &Entry, mut entry: Entry, file: &Read) {
        self.plan.outcome.unchanged += 1;
        // It would be offered again as the user's. A limit may be newer than the ledger.
        let found = file.file.text();
        if [found, &redacted_file(found, self.redactor)].contains(&&*before.text) {
            entry.text.clear();
        }
        self.plan.result(before, entry);
    }

    /// Its file is in the working tree.
    fn present(
        &mut self,
        before: &Entry,
        mut entry: Entry,
        file: &Read,
        wanted: &Wanted,
    ) -> Result<()> {
        let found = file.file.text();
        entry.placed = true;
        entry.aside = Aside::No;
        if before.wrote(found) || found == wanted.text {
            self.untouched(before, entry, file, wanted);
        } else {
            self.edited(before, entry, file, wanted);
        }
        self.remove_leftovers(before, file);
        self.remove_aside(before);
        Ok(())
    }

    /// Nobody changed the file: it follows the transcripts.
    fn untouched(&mut self, before: &Entry, mut entry: Entry, file: &Read, wanted: &Wanted) {
        let path = &file.stored.path;
        let new_path = self.followed_path(&entry, path, wanted);
        let name = self.name(&entry, &new_path);
        let is_named_by_us = new_path != *path || name == file_name(&wanted.memory);
        if is_named_by_us && entry.named.last() != Some(&name) {
            entry.will_name(&name);
        }
        entry.name = name;
        if !entry.wrote(&wanted.text) {
            entry.will_write(&wanted.text);
        }
        entry.text.clone_from(&wanted.text);
        entry.committed = self.survey.commits(&entry);
        if new_path == *path && file.file.text() == wanted.text {
            self.plan.outcome.unchanged += 1;
        } else {
            self.plan.outcome.updated += 1;
            self.plan.intend(&entry);
            self.plan.write(self.survey.store(&entry.root), &new_path, &wanted.text);
            if new_path != *path {
                self.plan.remove(self.survey.store(&entry.root), path);
            }
        }
        self.plan.result(before, entry);
    }

    /// A name that we gave follows the title; one that a person gave stays.
    fn followed_path(&self, entry: &Entry, path: &Path, wanted: &Wanted) -> PathBuf {
        let name = self.name(entry, path);
        if !entry.named.contains(&name) || name == file_name(&wanted.memory) {
            return path.to_owned();
        }
        let folder = &self.survey.store(&entry.root).folder;
        free_path_in(folder, &wanted.memory).unwrap_or_else(|_| path.to_owned())
    }

    /// A person changed the file: it is theirs. Only that something newer replaces it is noted.
    fn edited(&mut self, before: &Entry, mut entry: Entry, file: &Read, wanted: &Wanted) {
        let is_noted = file.file.memory.superseded_by.is_some();
        // A person may have gone back to it from what replaced it.
        let replaces = |by: &MemoryId| file.file.memory.supersedes.contains(by);
        let by = wanted.memory.superseded_by.filter(|by| !is_noted && !replaces(by));
        let noted = by.and_then(|by| self.noted(&file.file, by));
        if let Some(noted) = &noted {
            self.plan.outcome.updated += 1;
            self.plan.write(self.survey.store(&entry.root), &file.stored.path, noted.text());
        } else {
            self.plan.outcome.unchanged += 1;
        }
        entry.name = self.name(&entry, &file.stored.path);
        entry.text = redacted_file(noted.as_ref().unwrap_or(&file.file).text(), self.redactor);
        self.own(&entry.text);
        entry.committed = self.survey.commits(&entry);
        self.plan.result(before, entry);
    }

    /// Returns a person's text with a note of its successor and without its secrets; `None`, with a report, if that
    /// cannot be written.
    fn noted(&mut self, file: &MemoryFile, superseded_by: MemoryId) -> Option<MemoryFile> {
        let mut noted = file.clone();
        let memory = Memory { superseded_by: Some(superseded_by), ..noted.memory.clone() };
        match noted.set(&memory).and_then(|()| noted.redact(self.redactor)) {
            Ok(_) => Some(noted),
            Err(error) => {
                self.plan.outcome.refused.push(error.to_string());
                None
            }
        }
    }

    /// Returns the ledger's copy of a person's text.
    fn kept(&mut self, before: &Entry, file: &Read) -> String {
        let found = file.file.text();
        if found == before.text {
            return found.to_owned();
        }
        let kept = redacted_file(found, self.redactor);
        self.own(&kept);
        kept
    }

    /// Notes that a text which is kept or written was made of one of this machine's.
    fn own(&mut self, text: &str) {
        self.plan.intents.push(LedgerLine::Own(text_hash(text)));
    }

    /// Its file waits in the private folder.
    fn waiting(
        &mut self,
        before: &Entry,
        mut entry: Entry,
        file: &Read,
        wanted: &Wanted,
    ) -> Result<()> {
        if !self.survey.is_own(file) {
            self.plan.outcome.unchanged += 1;
            return Ok(());
        }
        let found = file.file.text();
        let is_ours = entry.wrote(found) || found == wanted.text;
        let theirs = self.kept(&entry, file);
        let text = if is_ours { wanted.text.as_str() } else { &theirs };
        let waits = match entry.aside {
            Aside::Parked => self.survey.holds(&entry),
            Aside::No | Aside::Review => wanted.memory.status == Status::Held || !is_ours,
        };
        entry.placed = true;
        if !waits {
            return self.return_from_aside(before, entry, file, text);
        }
        if entry.aside == Aside::No {
            entry.aside = Aside::Review;
        }
        if is_ours && !entry.wrote(text) {
            entry.will_write(text);
        }
        text.clone_into(&mut entry.text);
        if text == found || !is_ours {
            self.plan.outcome.unchanged += 1;
        } else {
            self.plan.outcome.updated += 1;
            self.plan.intend(&entry);
            self.plan.write(self.survey.store(&entry.root), &file.stored.path, text);
        }
        self.plan.result(before, entry);
        Ok(())
    }

    /// Its file is nowhere.
    fn missing(&mut self, before: &Entry, entry: Entry, wanted: &Wanted) -> Result<()> {
        match self.survey.why_missing(before) {
            Some(MissingFile::Deleted(reason)) => {
                self.deleted(before, entry, &wanted.memory.title, reason);
                return Ok(());
            }
            Some(MissingFile::Unclear) => {
                self.plan.outcome.unsettled = true;
                return Ok(());
            }
            Some(MissingFile::Moved) | None => {}
        }
        if before.is_edited() {
            return self.offer_theirs(before, entry, self.remembered(before)?);
        }
        self.offer(before, entry, &wanted.text, &wanted.memory)
    }

    fn unwanted_and_missing(&mut self, before: &Entry, entry: Entry) -> Result<()> {
        let file = self.remembered(before);
        // Of what others replaced nothing may be left that was the user's.
        let is_kept = file.as_ref().is_ok_and(|file| (self.keeps)(&file.memory));
        let is_theirs = (before.saved || before.is_edited() || is_kept) && !before.text.is_empty();
        match (self.survey.why_missing(before), file) {
            (Some(MissingFile::Deleted(reason)), file) => {
                let title = file.map(|file| file.memory.title).unwrap_or_default();
                self.deleted(before, entry, &title, reason);
            }
            (Some(MissingFile::Moved), file) if is_theirs => {
                self.offer_theirs(before, entry, file?)?
            }
            (Some(MissingFile::Unclear), _) => self.plan.outcome.unsettled = true,
            (Some(MissingFile::Moved) | None, _) => {
                self.plan.results.push(LedgerLine::Drop(before.id))
            }
        }
        Ok(())
    }

    /// The file as the ledger has it.
    fn remembered(&self, before: &Entry) -> Result<MemoryFile> {
        parse_kept(&self.survey.store(&before.root).folder.join(&before.name), &before.text)
    }

    /// Writes again what a person wrote, without what they want hidden by now.
    fn offer_theirs(
        &mut self,
        before: &Entry,
        mut entry: Entry,
        mut file: MemoryFile,
    ) -> Result<()> {
        file.redact(self.redactor)?;
        self.own(file.text());
        if entry.is_edited() {
            file.text().clone_into(&mut entry.text);
        }
        self.offer(before, entry, file.text(), &file.memory)
    }

    /// Writes a memory, for the first time or again: into the working tree, or aside when it waits
    /// for review or would be in git's way.
    fn offer(
        &mut self,
        before: &Entry,
        mut entry: Entry,
        text: &str,
        memory: &Memory,
    ) -> Result<()> {
        let is_held = !before.name.is_empty() && self.survey.holds(before);
        entry.aside = match (memory.status, is_held) {
            (Status::Held, _) => Aside::Review,
            (_, true) => Aside::Parked,
            (_, false) => Aside::No,
        };
        if entry.aside == Aside::No {
            if !self.write_into_tree(before, entry, text, memory)? {
                return Ok(());
            }
        } else {
            let path = free_path_in(&self.survey.aside_folder(), memory)?;
            if before.name.is_empty() {
                entry.will_name(&file_name(memory));
            }
            self.write_new(entry, &path, text);
        }
        self.plan.outcome.written += 1;
        Ok(())
    }

    /// Puts what waited into the working tree.
    fn return_from_aside(
        &mut self,
        before: &Entry,
        entry: Entry,
        file: &Read,
        text: &str,
    ) -> Result<()> {
        let memory = parse_kept(&file.stored.path, text)?.memory;
        let store = self.survey.store(&entry.root);
        let entry = Entry { aside: Aside::No, ..entry };
        if self.write_into_tree(before, entry, text, &memory)? {
            self.plan.remove(store, &file.stored.path);
            self.plan.outcome.written += 1;
        }
        Ok(())
    }

    /// Writes where the file was under a name that a person gave it, or else under the one that
    /// follows from the title. Returns false, and writes nothing, where git put the file back since the folder was
    /// read: the next run finds it.
    fn write_into_tree(
        &mut self,
        before: &Entry,
        mut entry: Entry,
        text: &str,
        memory: &Memory,
    ) -> Result<bool> {
        let store = self.survey.store(&entry.root);
        if holds_memory(&store.folder.join(file_name(memory)), memory.id) {
            self.plan.outcome.unsettled = true;
            return Ok(false);
        }
        let was_at = store.folder.join(&before.name);
        let is_theirs = !before.name.is_empty() && !before.named.contains(&before.name);
        let path = match is_theirs && store.may_create(&was_at) {
            true => was_at,
            false => free_path_in(&store.folder, memory)?,
        };
        let name = self.name(&entry, &path);
        if !is_theirs || name != before.name {
            entry.will_name(&name);
        }
        entry.committed = false;
        self.write_new(entry, &path, text);
        Ok(true)
    }

    fn write_new(&mut self, mut entry: Entry, path: &Path, text: &str) {
        // A person's text stays theirs when it is written again.
        if !entry.is_edited() || entry.text != text {
            entry.will_write(text);
        }
        entry.placed = false;
        self.plan.intend(&entry);
        self.plan.write(self.survey.store(&entry.root), path, text);
        let placed = Entry { placed: true, ..entry };
        self.plan.results.push(LedgerLine::Entry(Box::new(placed)));
    }

    /// Removes files that only we wrote and that nothing asks for.
    fn withdraw(&mut self, before: &Entry, entry: Entry) {
        self.plan.outcome.removed += 1;
        // Not missed from here on, so that a kill after the removal leaves no tombstone.
        self.plan.intend(&Entry { placed: false, ..entry.clone() });
        let files = self.survey.files(&entry.root, entry.id);
        for file in files.iter().filter(|file| before.wrote(file.file.text())) {
            self.plan.remove(self.survey.store(&entry.root), &file.stored.path);
        }
        self.remove_aside(before);
        self.plan.results.push(LedgerLine::Drop(before.id));
    }

    fn deleted(&mut self, before: &Entry, entry: Entry, title: &str, reason: Reason) {
        if let Some(root) = self.survey.elsewhere(entry.id, &entry.root) {
            // A person moved it to another working tree.
            self.plan.outcome.unchanged += 1;
            self.plan.result(before, Entry { root, placed: false, ..entry });
            return;
        }
        self.plan.outcome.tombstoned += 1;
        self.plan.results.push(LedgerLine::Bury(Tombstone {
            id: entry.id,
            title: title.to_owned(),
            reason,
            at: self.now,
            name: Some(entry.name),
            written: Some(entry.saved),
            more: More::new(),
        }));
    }

    /// The file to work with, of several with one id: the one named as it should be, or else as it
    /// was, or else the first.
    fn choose(&self, entry: &Entry, files: &[&'r Read], wanted: &Wanted) -> &'r Read {
        let named = |wanted: &str| {
            files.iter().copied().find(|file| self.name(entry, &file.stored.path) == wanted)
        };
        named(&file_name(&wanted.memory)).or_else(|| named(&entry.name)).unwrap_or(files[0])
    }

    /// Removes what a run that was killed between writing and removing left behind.
    fn remove_leftovers(&mut self, before: &Entry, chosen: &Read) {
        for file in self.survey.files(&before.root, before.id) {
            let path = &file.stored.path;
            let is_ours =
                before.named.contains(&self.name(before, path)) && before.wrote(file.file.text());
            if is_ours && *path != chosen.stored.path {
                self.plan.remove(self.survey.store(&before.root), path);
            }
        }
    }

    /// Removes the private copy of what is in the working tree again, unless a person changed it.
    fn remove_aside(&mut self, before: &Entry) {
        if let Some(aside) = self.survey.aside(before.id) {
            // The ledger has a person's text without its secrets.
            let found = aside.file.text();
            let is_known =
                before.text == found || before.text == redacted_file(found, self.redactor);
            if before.wrote(found) || is_known {
                self.plan.remove(self.survey.store(&before.root), &aside.stored.path);
            }
        }
    }

    /// The name of a file below the folder of memory files.
    fn name(&self, entry: &Entry, path: &Path) -> String {
        self.survey.store(&entry.root).relative(path).unwrap_or_default()
    }
}

/// Returns whether a file is one of this memory.
fn holds_memory(path: &Path, id: MemoryId) -> bool {
    read_file(path).is_ok_and(|read| read.stored.memory.id == id)
}

/// The memory of a text that the ledger keeps: what a person wrote need not be one without its secrets.
fn parse_kept(path: &Path, text: &str) -> Result<MemoryFile> {
    MemoryFile::parse(path, text.as_bytes().to_vec()).map_err(|error| match error {
        Error::Memory { path, place, message } => {
            let message = format!("it cannot be written again without its secret: {message}");
            Error::Memory { path, place, message }
        }
        other => other,
    })
}
