//! Decides about one memory in a reconciliation by comparing its desired file with the present one.
//!
//! This module implements the table "Whose file is it" in `docs/memory-files.md`. A person's file keeps its bytes,
//! except for the keys that link it to newer memories ([`MemoryDecision::linked`]).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::missing::MissingFile;
use super::ownership::Owner;
use super::plan::ReconcilePlan;
use super::survey::{FileSurvey, InTree};
use super::{Desired, SourceState, SourceStates};
use crate::error::{Error, Result};
use crate::file::{MemoryFile, file_name};
use crate::id::MemoryId;
use crate::ledger::{
    Aside, LedgerEntry, LedgerLine, More, Reason, Tombstone, Unfound, redacted_file,
};
use crate::memory::{HeldFor, Memory, Source, Status};
use crate::redact::Redactor;
use crate::store::free_path_in;
use crate::stored::{self, Read, text_hash};
use crate::time::Timestamp;

/// A memory to be written.
#[derive(Clone)]
pub(super) struct WantedMemory {
    pub memory: Memory,
    root: PathBuf,
    text: String,
    /// For a pending memory: its accepted form, which applies if its file is already in the folder.
    in_folder: Option<Box<Self>>,
}

impl WantedMemory {
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

    /// Makes the memory pending for this reason. The accepted form still applies if the memory's file is already in the
    /// folder.
    pub(crate) fn hold(&mut self, reason: HeldFor) {
        let mut memory = self.memory.clone();
        memory.hold(reason);
        // The accepted form was parsed without an error, so the pending form can be written as well.
        if let Ok(file) = MemoryFile::new(memory) {
            let active = std::mem::replace(
                self,
                Self {
                    text: file.text().to_owned(),
                    memory: file.memory,
                    root: self.root.clone(),
                    in_folder: None,
                },
            );
            let Self { in_folder, .. } = &active;
            self.in_folder = Some(in_folder.clone().unwrap_or_else(|| Box::new(active)));
        }
    }

    /// Returns the texts that the program may write for the memory.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        [self, self.in_folder()].into_iter().map(|wanted| wanted.text.as_str())
    }

    /// Returns the root of the desired working tree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the form of the memory's file in the folder.
    fn in_folder(&self) -> &Self {
        self.in_folder.as_deref().unwrap_or(self)
    }
}

/// Decision about one memory. A decision that fails has planned nothing. Its error is reported, and the decisions about
/// the other memories continue.
pub(super) struct MemoryDecision<'r, 'a> {
    pub survey: &'r FileSurvey<'a>,
    pub plan: &'r mut ReconcilePlan,
    /// Redacts text that people wrote; wanted memories are already redacted.
    pub redactor: &'r Redactor,
    /// Function that returns the state of a memory's source, for memories that sessions no longer contain.
    pub source_state: SourceStates<'r>,
    /// Memories whose files are in a folder after the plan, as pairs of tree and id.
    pub placed: &'r BTreeSet<(PathBuf, MemoryId)>,
    pub now: Timestamp,
}

impl<'r> MemoryDecision<'r, '_> {
    /// Decides about a memory that transcripts contain and that should have a file.
    pub(crate) fn want(
        &mut self,
        known: Option<&LedgerEntry>,
        wanted: &WantedMemory,
    ) -> Result<()> {
        let id = wanted.memory.id;
        let root = self.survey.root_for(id, known, Some(&wanted.root));
        let before = known.cloned().unwrap_or_else(|| LedgerEntry::new(id, &root));
        let entry = LedgerEntry { root, unfound: None, ..before.clone() };
        if self.survey.is_out_of_reach(&before) {
            self.plan.outcome.unchanged += 1;
            return Ok(());
        }
        let survey: &'r FileSurvey = self.survey;
        // A memory whose file is or was in the folder does not become pending again, even if the settings now require a
        // review.
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

    /// Decides about a memory that no transcript contains any more.
    pub(crate) fn unwanted(&mut self, before: &LedgerEntry) -> Result<()> {
        if self.survey.is_out_of_reach(before) {
            return Ok(());
        }
        let root = self.survey.root_for(before.id, Some(before), None);
        let entry = LedgerEntry { root, ..before.clone() };
        let survey: &'r FileSurvey = self.survey;
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
            match unfound_fate(survey, self.source_state, before, file) {
                Unwanted::Withdrawn => self.withdraw(before, entry),
                Unwanted::Retired => self.put_aside(before, entry, file),
                Unwanted::Left => self.plan.outcome.unchanged += 1,
                Unwanted::Persons(state) => self.keep_unfound(before, entry, file, state),
            }
            return Ok(());
        }
        if !survey.is_own(file) {
            self.plan.outcome.unchanged += 1;
            return Ok(());
        }
        // A person wrote or changed the text, so the person owns the file. It is kept like a memory that the person
        // saved.
        let mut entry = LedgerEntry { saved: true, owned: true, ..entry };
        if in_tree.is_some() {
            entry.placed = true;
            entry.aside = Aside::No;
            self.remove_aside(before);
            if before.wrote(file.file.text()) {
                self.keep_unfound(before, entry, file, SourceState::Lost);
            } else {
                self.edited(before, entry, file, file.file.memory.superseded_by);
            }
            return Ok(());
        }
        self.plan.outcome.unchanged += 1;
        entry.text = self.kept(before, file);
        if entry.aside == Aside::Parked && !self.survey.holds(&entry) {
            let text = entry.text.clone();
            return self.return_from_aside(before, entry, file, &text);
        }
        entry.committed = self.survey.commits(&entry);
        self.plan.result(before, entry);
        Ok(())
    }

    /// Keeps a file that has a text from the repository instead of the memory's own text. The recorded state of the
    /// memory does not change otherwise.
    fn replaced(&mut self, before: &LedgerEntry, mut entry: LedgerEntry, file: &Read) {
        self.plan.outcome.unchanged += 1;
        // If the ledger still contained this text, the program would write it again as the user's. The ledger may
        // contain it if the restriction of authors in the project's settings is newer.
        let found = file.file.text();
        if [found, &redacted_file(found, self.redactor)].contains(&&*before.text) {
            entry.text.clear();
        }
        self.plan.result(before, entry);
    }

    /// Decides about a file in the working tree.
    fn present(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        wanted: &WantedMemory,
    ) -> Result<()> {
        let found = file.file.text();
        entry.placed = true;
        entry.aside = Aside::No;
        let is_ours = before.wrote(found) || found == wanted.text;
        match self.survey.owner(before, file, is_ours) {
            Owner::Program => self.untouched(before, entry, file, wanted),
            Owner::Person if is_ours => self.linked(before, entry, file, wanted),
            Owner::Person => self.edited(before, entry, file, wanted.memory.superseded_by),
        }
        self.remove_leftovers(before, file);
        self.remove_aside(before);
        Ok(())
    }

    /// Updates a file that no person changed, so that it matches the transcripts.
    fn untouched(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        wanted: &WantedMemory,
    ) {
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

    /// Returns the path for the memory's file. A name that the program chose changes with the title; a name that a
    /// person chose is kept.
    fn followed_path(&self, entry: &LedgerEntry, path: &Path, wanted: &WantedMemory) -> PathBuf {
        let name = self.name(entry, path);
        if !entry.named.contains(&name) || name == file_name(&wanted.memory) {
            return path.to_owned();
        }
        let folder = &self.survey.store(&entry.root).folder;
        free_path_in(folder, &wanted.memory).unwrap_or_else(|_| path.to_owned())
    }

    /// Keeps a person's file with a text that the program wrote. Only the keys that link it to newer memories are
    /// updated from the wanted memory.
    fn linked(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        wanted: &WantedMemory,
    ) {
        let old = &file.file.memory;
        let by = self.successor(before, file, wanted.memory.superseded_by);
        let memory = Memory {
            superseded_by: by,
            valid_until: wanted.memory.valid_until.or(old.valid_until),
            relations: wanted.memory.relations.clone(),
            ..old.clone()
        };
        self.keep(&mut entry, file);
        self.write_keys(before, entry, file, &memory);
    }

    /// Records that a person's file with a text that the program wrote stays at its path.
    fn keep(&self, entry: &mut LedgerEntry, file: &Read) {
        entry.owned = true;
        entry.name = self.name(entry, &file.stored.path);
        let found = file.file.text();
        if entry.wrote(found) {
            found.clone_into(&mut entry.text);
        } else {
            entry.will_write(found);
        }
        entry.committed = self.survey.commits(entry);
    }

    /// Keeps a person's file if sessions no longer contain its memory. Removes the link to its successor if the
    /// successor no longer exists.
    fn keep_unfound(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        state: SourceState,
    ) {
        // `review` lists memories by retired versions of the rules together, so they are not proposed one by one.
        if state == SourceState::Read && !is_retired(&file.file.memory) {
            entry.unfound.get_or_insert(Unfound::Proposed);
        }
        self.keep(&mut entry, file);
        let old = &file.file.memory;
        let memory = Memory {
            superseded_by: self.successor(before, file, old.superseded_by),
            ..old.clone()
        };
        self.write_keys(before, entry, file, &memory);
    }

    /// Returns the successor that a person's file should name: `wanted`, if that memory is in the same folder. A
    /// successor that a person wrote or removed is left unchanged.
    fn successor(
        &self,
        before: &LedgerEntry,
        file: &Read,
        wanted: Option<MemoryId>,
    ) -> Option<MemoryId> {
        let there = file.file.memory.superseded_by;
        let root = self.survey.root_for(before.id, Some(before), None);
        let wanted = wanted.filter(|by| self.placed.contains(&(root.clone(), *by)));
        match there {
            Some(_) if there == before.linked => wanted,
            Some(_) => there,
            // A person may have reverted the decision in favour of the successor. The link is then not added again.
            None => wanted.filter(|by| {
                before.linked != Some(*by) && !file.file.memory.supersedes.contains(by)
            }),
        }
    }

    /// Writes the keys that link a memory to newer ones into a person's file; all other bytes are kept.
    fn write_keys(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        memory: &Memory,
    ) {
        let old = &file.file.memory;
        if memory == old {
            self.plan.outcome.unchanged += 1;
            self.plan.result(before, entry);
            return;
        }
        let mut changed = file.file.clone();
        if let Err(error) = changed.set(memory) {
            self.plan.outcome.refused.push(error.to_string());
            self.plan.outcome.unchanged += 1;
            self.plan.result(before, entry);
            return;
        }
        if memory.superseded_by != old.superseded_by {
            entry.linked = memory.superseded_by;
        }
        entry.will_write(changed.text());
        self.plan.outcome.updated += 1;
        self.plan.intend(&entry);
        self.plan.link(self.survey.store(&entry.root), &file.stored.path, changed.text());
        self.plan.result(before, entry);
    }

    /// Keeps a file that a person changed; only the link to its successor is updated.
    fn edited(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        successor: Option<MemoryId>,
    ) {
        let by = self.successor(before, file, successor);
        let noted =
            if by == file.file.memory.superseded_by { None } else { self.noted(&file.file, by) };
        if let Some(noted) = &noted {
            self.plan.outcome.updated += 1;
            self.plan.link(self.survey.store(&entry.root), &file.stored.path, noted.text());
            entry.linked = by;
        } else {
            self.plan.outcome.unchanged += 1;
        }
        entry.owned = true;
        entry.name = self.name(&entry, &file.stored.path);
        entry.text = redacted_file(noted.as_ref().unwrap_or(&file.file).text(), self.redactor);
        self.own(&entry.text);
        entry.committed = self.survey.commits(&entry);
        self.plan.result(before, entry);
    }

    /// Returns a person's file with the link to its successor. If the link cannot be written, reports the error and
    /// returns `None`.
    fn noted(&mut self, file: &MemoryFile, superseded_by: Option<MemoryId>) -> Option<MemoryFile> {
        let mut noted = file.clone();
        let memory = Memory { superseded_by, ..noted.memory.clone() };
        match noted.set(&memory) {
            Ok(()) => Some(noted),
            Err(error) => {
                self.plan.outcome.refused.push(error.to_string());
                None
            }
        }
    }

    /// Returns the text of a person's file as the ledger stores it: redacted.
    fn kept(&mut self, before: &LedgerEntry, file: &Read) -> String {
        let found = file.file.text();
        if found == before.text {
            return found.to_owned();
        }
        let kept = redacted_file(found, self.redactor);
        self.own(&kept);
        kept
    }

    /// Records that a text to be kept or written derives from a text of this machine.
    fn own(&mut self, text: &str) {
        self.plan.intents.push(LedgerLine::Own(text_hash(text)));
    }

    /// Decides about a memory whose file is in the private folder of pending memories.
    fn waiting(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: &Read,
        wanted: &WantedMemory,
    ) -> Result<()> {
        if !self.survey.is_own(file) {
            self.plan.outcome.unchanged += 1;
            return Ok(());
        }
        let found = file.file.text();
        let is_ours = entry.wrote(found) || found == wanted.text;
        let theirs = self.kept(&entry, file);
        let follows = is_ours && !entry.owned;
        let text = if follows { wanted.text.as_str() } else { &theirs };
        let waits = match entry.aside {
            Aside::Parked => self.survey.holds(&entry),
            Aside::No | Aside::Review => {
                wanted.memory.status == Status::Held || !is_ours || entry.put_back
            }
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
        if text == found || !follows {
            self.plan.outcome.unchanged += 1;
        } else {
            self.plan.outcome.updated += 1;
            self.plan.intend(&entry);
            self.plan.write(self.survey.store(&entry.root), &file.stored.path, text);
        }
        self.plan.result(before, entry);
        Ok(())
    }

    /// Decides about a memory that has no file in any folder.
    fn missing(
        &mut self,
        before: &LedgerEntry,
        entry: LedgerEntry,
        wanted: &WantedMemory,
    ) -> Result<()> {
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
        if before.is_edited() || before.owned && !before.text.is_empty() {
            return self.offer_theirs(before, entry, self.remembered(before)?);
        }
        self.offer(before, entry, &wanted.text, &wanted.memory)
    }

    fn unwanted_and_missing(&mut self, before: &LedgerEntry, entry: LedgerEntry) -> Result<()> {
        let file = self.remembered(before);
        // If a file from the repository replaced the user's file, the ledger may no longer contain the user's text.
        let state = file.as_ref().map(|file| (self.source_state)(&file.memory));
        let is_purged = matches!(state, Ok(SourceState::Purged)) && !before.is_edited();
        let is_kept = matches!(state, Ok(SourceState::Lost)) || before.owned && !is_purged;
        let is_theirs = (before.saved || before.is_edited() || is_kept) && !before.text.is_empty();
        match (self.survey.why_missing(before), file) {
            (Some(MissingFile::Deleted(reason)), file) => {
                let title = file.map(|file| file.memory.title).unwrap_or_default();
                self.deleted(before, entry, &title, reason);
            }
            (Some(MissingFile::Moved), file) if is_theirs => {
                let saved = before.saved || before.is_edited();
                self.offer_theirs(before, LedgerEntry { saved, ..entry }, file?)?
            }
            (Some(MissingFile::Unclear), _) => self.plan.outcome.unsettled = true,
            (Some(MissingFile::Moved) | None, _) => {
                self.plan.results.push(LedgerLine::Drop(before.id))
            }
        }
        Ok(())
    }

    /// Returns the memory file that the ledger's copy contains.
    fn remembered(&self, before: &LedgerEntry) -> Result<MemoryFile> {
        parse_kept(&self.survey.store(&before.root).folder.join(&before.name), &before.text)
    }

    /// Writes a person's file again with its former bytes.
    fn offer_theirs(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
        file: MemoryFile,
    ) -> Result<()> {
        entry.owned = true;
        self.own(file.text());
        self.offer(before, entry, file.text(), &file.memory)
    }

    /// Writes a memory for the first time or again. The file is written to the working tree. If the memory is pending,
    /// or if the file would block a change of branch, it is written to the private folder instead.
    fn offer(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
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
            if before.placed && self.survey.may_be_cleaned(before) {
                entry.returned = true;
                self.plan.outcome.returned += 1;
            }
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

    /// Moves a memory from the private folder to the working tree.
    fn return_from_aside(
        &mut self,
        before: &LedgerEntry,
        entry: LedgerEntry,
        file: &Read,
        text: &str,
    ) -> Result<()> {
        let memory = parse_kept(&file.stored.path, text)?.memory;
        let store = self.survey.store(&entry.root);
        let entry = LedgerEntry { aside: Aside::No, ..entry };
        if self.write_into_tree(before, entry, text, &memory)? {
            self.plan.remove(store, &file.stored.path);
            self.plan.outcome.written += 1;
        }
        Ok(())
    }

    /// Writes the file to its earlier path if a person chose its name, or else to the path that follows from the title.
    /// Returns false without writing if git has restored the file since the survey; the next run reads it.
    fn write_into_tree(
        &mut self,
        before: &LedgerEntry,
        mut entry: LedgerEntry,
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

    fn write_new(&mut self, mut entry: LedgerEntry, path: &Path, text: &str) {
        // A person's text still counts as the person's after it is written again.
        if !entry.is_edited() || entry.text != text {
            entry.will_write(text);
        }
        entry.placed = false;
        self.plan.intend(&entry);
        self.plan.write(self.survey.store(&entry.root), path, text);
        let placed = LedgerEntry { placed: true, ..entry };
        self.plan.results.push(LedgerLine::Entry(Box::new(placed)));
    }

    /// Archives a memory that a retired version of the rules wrote. `restore` can restore it.
    fn put_aside(&mut self, before: &LedgerEntry, entry: LedgerEntry, file: &Read) {
        self.plan.outcome.put_aside += 1;
        let Memory { id, title, .. } = &file.stored.memory;
        let (store, text) = (self.survey.store(&entry.root), file.file.text());
        self.own(text);
        self.plan.write(store, &store.archived_path(&file.stored.memory), text);
        self.remove_all(before, &entry);
        self.plan.results.push(LedgerLine::Bury(Tombstone {
            id: *id,
            title: self.redactor.redact(title).into_owned(),
            reason: Reason::MadeByRules,
            at: self.now,
            name: Some(entry.name),
            written: Some(false),
            more: More::new(),
        }));
    }

    /// Removes files that only the program wrote and that no source requires.
    fn withdraw(&mut self, before: &LedgerEntry, entry: LedgerEntry) {
        self.plan.outcome.removed += 1;
        self.remove_all(before, &entry);
        self.plan.results.push(LedgerLine::Drop(before.id));
    }

    /// Removes those files of a memory whose text the program wrote.
    fn remove_all(&mut self, before: &LedgerEntry, entry: &LedgerEntry) {
        // The ledger records in advance that the file no longer exists. A kill after the removal therefore leaves no
        // tombstone.
        self.plan.intend(&LedgerEntry { placed: false, ..entry.clone() });
        let files = self.survey.files(&entry.root, entry.id);
        for file in files.iter().filter(|file| before.wrote(file.file.text())) {
            self.plan.remove(self.survey.store(&entry.root), &file.stored.path);
        }
        self.remove_aside(before);
    }

    fn deleted(&mut self, before: &LedgerEntry, entry: LedgerEntry, title: &str, reason: Reason) {
        if let Some(root) = self.survey.elsewhere(entry.id, &entry.root) {
            // A person moved the file to another working tree.
            self.plan.outcome.unchanged += 1;
            self.plan.result(before, LedgerEntry { root, placed: false, ..entry });
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

    /// Returns the file to use if several files have the same id: the file with the desired name, else the file with
    /// the recorded name, else the first file.
    fn choose(&self, entry: &LedgerEntry, files: &[&'r Read], wanted: &WantedMemory) -> &'r Read {
        let named = |wanted: &str| {
            files.iter().copied().find(|file| self.name(entry, &file.stored.path) == wanted)
        };
        named(&file_name(&wanted.memory)).or_else(|| named(&entry.name)).unwrap_or(files[0])
    }

    /// Removes files that a run left behind when it was killed between a write and a removal.
    fn remove_leftovers(&mut self, before: &LedgerEntry, chosen: &Read) {
        for file in self.survey.files(&before.root, before.id) {
            let path = &file.stored.path;
            let is_ours =
                before.named.contains(&self.name(before, path)) && before.wrote(file.file.text());
            if is_ours && *path != chosen.stored.path {
                self.plan.remove(self.survey.store(&before.root), path);
            }
        }
    }

    /// Removes the private copy of a file that is in the working tree again, unless a person changed the copy.
    fn remove_aside(&mut self, before: &LedgerEntry) {
        if let Some(aside) = self.survey.aside(before.id) {
            // The ledger contains a person's text in redacted form.
            let found = aside.file.text();
            let is_known =
                before.text == found || before.text == redacted_file(found, self.redactor);
            if before.wrote(found) || is_known {
                self.plan.remove(self.survey.store(&before.root), &aside.stored.path);
            }
        }
    }

    /// Returns the path of a file relative to the folder of memory files; empty if it is not in that folder.
    fn name(&self, entry: &LedgerEntry, path: &Path) -> String {
        self.survey.store(&entry.root).relative(path).unwrap_or_default()
    }
}

/// Decision about a file with a text that the program wrote, if sessions no longer contain its memory.
enum Unwanted {
    /// The file is removed.
    Withdrawn,
    /// The file is archived, because a retired version of the rules wrote it.
    Retired,
    /// The file is kept because its source is lost.
    Left,
    /// The file is kept, because a person owns it.
    Persons(SourceState),
}

/// Decides about a file with a text that the program wrote, if sessions no longer contain its memory.
fn unfound_fate(
    survey: &FileSurvey,
    source_state: SourceStates<'_>,
    entry: &LedgerEntry,
    file: &Read,
) -> Unwanted {
    let state = source_state(&file.file.memory);
    match (survey.owner(entry, file, true), state) {
        (_, SourceState::Purged) => Unwanted::Withdrawn,
        (Owner::Program, _) if is_retired(&file.file.memory) => Unwanted::Retired,
        (Owner::Program, SourceState::Read) => Unwanted::Withdrawn,
        (Owner::Program, SourceState::Lost) => Unwanted::Left,
        (Owner::Person, SourceState::Read | SourceState::Lost) => Unwanted::Persons(state),
    }
}

/// Returns whether the file of a memory that sessions no longer contain remains after the plan.
pub(super) fn stays_unfound(
    survey: &FileSurvey,
    source_state: SourceStates<'_>,
    entry: &LedgerEntry,
    file: &Read,
) -> bool {
    entry.saved
        || !entry.wrote(file.file.text())
        || !matches!(
            unfound_fate(survey, source_state, entry, file),
            Unwanted::Withdrawn | Unwanted::Retired
        )
}

/// Returns whether a retired version of the rules wrote a memory.
fn is_retired(memory: &Memory) -> bool {
    memory.source.extractor.as_deref().is_some_and(Source::is_retired)
}

/// Returns whether a file contains the memory with this id.
fn holds_memory(path: &Path, id: MemoryId) -> bool {
    stored::read(path).is_ok_and(|read| read.stored.memory.id == id)
}

/// Parses a text from the ledger. This can fail, because redaction may make a person's text invalid.
fn parse_kept(path: &Path, text: &str) -> Result<MemoryFile> {
    MemoryFile::parse(path, text.as_bytes().to_vec()).map_err(|error| match error {
        Error::Memory { path, place, message } => {
            let message = format!("it cannot be written again without its secret: {message}");
            Error::Memory { path, place, message }
        }
        other => other,
    })
}
