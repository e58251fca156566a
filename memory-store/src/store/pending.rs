//! Memory files that Claude's tool calls wrote, and changes by Claude that the user has not decided about.
//!
//! A file counts as Claude's if the ledger lists the hash of its text as Claude's, until a person confirms the file,
//! edits it, or restores its former text. Such a file is listed and recalled as a note by Claude, regardless of its
//! front matter.

use std::path::Path;

use super::{By, Store, remove};
use crate::error::{At, Error, Result};
use crate::exchange::claim_notice::ClaimNotice;
use crate::file::{EXTENSION, MemoryFile};
use crate::fs::disk::{self, Privacy};
use crate::id::MemoryId;
use crate::ledger::{Asked, Ledger, LedgerOrigin, Lookup, PendingChange, hashes, redacted_file};
use crate::memory::{Memory, SaidBy, Source};
use crate::reconcile::{Owner, OwnershipEvidence};
use crate::redact::Redactor;
use crate::reviewed::Reviewed;
use crate::stored::{self, Listing, Stored};
use crate::time::Timestamp;

/// A memory file that a tool call wrote, with the session of the call.
#[derive(Clone, Debug)]
pub struct Written {
    /// The file.
    pub stored: Stored,
    /// The session of the tool call, if known.
    pub session: Option<String>,
}

/// Changes by Claude in one store that the user has not decided about.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Memory files that Claude wrote. They are notes by Claude until a person confirms them.
    pub files: Vec<(PendingChange, Stored)>,
    /// Changes that Claude requested, each with the user's present memory and, for a replacement, Claude's note.
    pub asked: Vec<(PendingChange, Stored, Option<Stored>)>,
}

impl Claims {
    /// Returns the number of pending changes.
    pub fn len(&self) -> usize {
        self.files.len() + self.asked.len()
    }

    /// Returns whether no change is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Store {
    /// Returns whether a memory is a person's, so that Claude can only request a change. A memory is a person's if its
    /// source is the user, either now or before Claude changed the file. It is also a person's if a person committed,
    /// pinned, edited, kept or accepted it. A note by Claude becomes a person's only by one of these acts; a save or
    /// pin by Claude does not count. Commits after the last sync are not considered.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn is_persons(&self, stored: &Stored) -> Result<bool> {
        let lookup = Lookup::new(&self.home);
        let Some(entry) = lookup.entry(stored.memory.id)? else {
            // Claude's drafts have no ledger entry.
            let is_draft = self.is_private(&stored.path) && !stored.memory.source.is_users();
            return Ok(!is_draft && lookup.origin(stored)? != LedgerOrigin::Claude);
        };
        let Some(source) = entry.source() else { return Ok(true) };
        if source.is_users() || stored.memory.source.is_users() {
            return Ok(true);
        }
        let evidence = OwnershipEvidence {
            tracked: entry.committed,
            edited: !entry.written.contains(&stored.text),
            kept: Reviewed::read(&self.home).ids.contains(&entry.id),
        };
        let (mut entry, mut memory) = (entry, stored.memory.clone());
        if entry.saved && source.said_by == Some(SaidBy::Assistant) {
            (entry.saved, entry.owned, memory.pinned) = (false, false, false);
        }
        Ok(Owner::of(&entry, &memory, evidence) == Owner::Person)
    }

    /// Records that Claude requested a change to one of the user's memories. The change is pending until the user
    /// decides.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn ask(&self, change: PendingChange) -> Result<()> {
        let _lock = self.lock()?;
        self.announce(&change)?;
        Lookup::new(&self.home).ask(change)
    }

    /// Adds a change to the notice at the next session start. A note that Claude saved is not added, because it
    /// requires no decision by the user.
    fn announce(&self, change: &PendingChange) -> Result<()> {
        self.change_notice(|notice| match change.change {
            Asked::Replace(_) | Asked::Forget => notice.asked.insert(change.id),
            Asked::Edit | Asked::Remove | Asked::Add => notice.written.insert(change.id),
            Asked::Save => false,
        })
    }

    /// Updates the notice for the next session start. `change` returns whether it changed the notice; if so, the file
    /// is written.
    fn change_notice(&self, change: impl FnOnce(&mut ClaimNotice) -> bool) -> Result<()> {
        let path = &self.home.claim_notice;
        let mut notice = ClaimNotice::read(path).unwrap_or_default();
        if !change(&mut notice) {
            return Ok(());
        }
        if notice.is_empty() {
            return self.remove(path);
        }
        let text = serde_json::to_vec(&notice).map_err(std::io::Error::other).at(path)?;
        disk::replace(path, &text, Privacy::Private)
    }

    /// Records in the ledger that the user decided about a memory, and removes the memory from the notice.
    fn settle_in(&self, ledger: &mut Ledger, id: MemoryId) -> Result<()> {
        self.change_notice(|notice| {
            let was_asked = notice.asked.remove(&id);
            notice.written.remove(&id) || was_asked
        })?;
        ledger.settle(id)
    }

    /// Records that the user decided about Claude's changes to a memory.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn settle(&self, id: MemoryId) -> Result<()> {
        let _lock = self.lock()?;
        self.settle_in(&mut Ledger::open(&self.home)?, id)
    }

    /// Returns Claude's pending changes, except those that no longer apply.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn claims(&self) -> Result<Claims> {
        let ledger = Ledger::open(&self.home)?;
        let texts = ledger.texts();
        let mut claims = Claims::default();
        let listing = self.list()?;
        let find = |id: MemoryId| listing.memories.iter().find(|it| it.memory.id == id).cloned();
        for stored in listing.files().filter(|stored| texts.is_of_claude(stored)) {
            let known = ledger.pending().find(|change| change.id == stored.memory.id).cloned();
            let known = known.unwrap_or_else(|| {
                PendingChange::new(stored.memory.id, Asked::Add, None, stored.memory.created)
            });
            claims.files.push((known, stored.clone()));
        }
        for change in ledger.pending() {
            let Some(stored) = find(change.id).filter(|it| !texts.is_of_claude(it)) else {
                continue;
            };
            match change.change {
                Asked::Forget | Asked::Remove => {
                    claims.asked.push((change.clone(), stored, None));
                }
                Asked::Replace(by) => {
                    let newer = find(by).filter(|_| stored.memory.superseded_by.is_none());
                    let newer = newer.map(|newer| (change.clone(), stored, Some(newer)));
                    claims.asked.extend(newer);
                }
                Asked::Edit | Asked::Add | Asked::Save => {}
            }
        }
        Ok(claims)
    }

    /// Records the files that tool calls wrote. If `is_settled`, the files in `others` count as a person's from now on.
    /// If a tool call changed one of the user's memories, its former text stays valid.
    ///
    /// # Errors
    /// If the ledger or a file cannot be written.
    pub fn note_written(
        &self,
        written: &[Written],
        others: &[Stored],
        is_settled: bool,
        now: Timestamp,
    ) -> Result<()> {
        let _lock = self.lock()?;
        let mut ledger = Ledger::open(&self.home)?;
        for Written { stored, session } in written {
            let id = stored.memory.id;
            ledger.claude(hashes(stored))?;
            let known = ledger.entry(id).map(|entry| entry.text.clone());
            let change = if known.is_some() { Asked::Edit } else { Asked::Add };
            let change = PendingChange::new(id, change, session.clone(), now);
            self.announce(&change)?;
            ledger.ask(change)?;
            // Reconciliation keeps the former text valid for a project. The user's own store is not reconciled.
            if let Some(text) = known.filter(|text| self.is_user_store() && !text.is_empty()) {
                self.write(&self.set_aside(id), text.as_bytes())?;
            }
        }
        for stored in others.iter().filter(|_| is_settled) {
            ledger.own(hashes(stored))?;
            if self.is_user_store() {
                let read = stored::read(&stored.path)?;
                self.note_saved(&stored.path, &read.file, By::Person)?;
            }
        }
        Ok(())
    }

    /// Records that a tool call removed a memory file from the user's own store, and writes the file again. For a
    /// project, reconciliation does this. Does nothing if the ledger does not contain the text of the file.
    ///
    /// # Errors
    /// If the ledger or the file cannot be written.
    pub fn write_removed(&self, change: PendingChange, name: &Path) -> Result<()> {
        let _lock = self.lock()?;
        let mut ledger = Ledger::open(&self.home)?;
        let text = ledger.entry(change.id).map(|entry| entry.text.clone()).unwrap_or_default();
        if text.is_empty() {
            return Ok(());
        }
        self.announce(&change)?;
        ledger.ask(change)?;
        self.write(&self.folder.join(name), text.as_bytes())
    }

    /// Replaces one of the user's memories by a note by Claude, after the user agreed.
    ///
    /// # Errors
    /// See [`Store::edit_at`].
    pub fn agree_to_replace(
        &self,
        older: &Stored,
        by: MemoryId,
        redactor: &Redactor,
    ) -> Result<()> {
        let id = older.memory.id;
        if let Ok(newer) = self.list()?.find(&by.to_string()) {
            self.edit_at(&newer.path, by, By::Link, redactor, |memory| {
                if !memory.supersedes.contains(&id) {
                    memory.supersedes.push(id);
                }
            })?;
            self.supersede(&older.path, id, Some(by), redactor)?;
        }
        self.settle(id)
    }

    /// Records that the present text of a file that Claude wrote is now a person's.
    ///
    /// # Errors
    /// If the file's text has changed, or the ledger cannot be written.
    pub fn confirm_written(&self, stored: &Stored) -> Result<()> {
        let _lock = self.lock()?;
        let read = self.unchanged(stored)?;
        let mut ledger = Ledger::open(&self.home)?;
        ledger.own(hashes(&read.stored))?;
        self.settle_in(&mut ledger, stored.memory.id)?;
        self.note_saved(&stored.path, &read.file, By::Person)?;
        self.remove_aside(stored.memory.id)
    }

    /// Writes the former text of a memory to the file that Claude changed. Returns `false` if the ledger does not
    /// contain the former text.
    ///
    /// # Errors
    /// If the file's text has changed, or a file cannot be written.
    pub fn restore_former_text(&self, stored: &Stored, redactor: &Redactor) -> Result<bool> {
        let _lock = self.lock()?;
        self.unchanged(stored)?;
        let mut ledger = Ledger::open(&self.home)?;
        let id = stored.memory.id;
        let former = ledger.entry(id).map(|entry| entry.text.clone()).filter(|it| !it.is_empty());
        let Some(former) = former else { return Ok(false) };
        let text = redacted_file(&former, redactor);
        MemoryFile::parse(Path::new(""), text.clone().into_bytes())?;
        ledger.inherit(&text, LedgerOrigin::Own)?;
        self.write(&stored.path, text.as_bytes())?;
        self.settle_in(&mut ledger, id)?;
        self.remove_aside(id)?;
        Ok(true)
    }

    /// Reads a file again. Returns an error if it no longer has the text that was shown to the user.
    fn unchanged(&self, stored: &Stored) -> Result<stored::Read> {
        let read = stored::read(&stored.path)?;
        match read.stored.text == stored.text {
            true => Ok(read),
            false => Err(Error::NotFound { id: stored.memory.id.to_string(), found: 0 }),
        }
    }

    /// Returns whether this is the user's own store.
    pub fn is_user_store(&self) -> bool {
        self.folder == self.dirs.user_memories()
    }

    /// Returns the path of the file with the former text of a memory in the user's own store, which stays valid.
    fn set_aside(&self, id: MemoryId) -> std::path::PathBuf {
        self.home.drafts.join(format!("{id}.{EXTENSION}"))
    }

    fn remove_aside(&self, id: MemoryId) -> Result<()> {
        if self.is_user_store() { remove(&self.set_aside(id)) } else { Ok(()) }
    }

    /// Marks all files of a listing that Claude's tool calls wrote as Claude's notes.
    pub(super) fn mark_claudes_notes(&self, listing: &mut Listing) -> Result<()> {
        let texts = Ledger::open(&self.home)?.texts();
        let all = listing.memories.iter_mut().chain(&mut listing.repeats);
        for stored in all.filter(|stored| texts.is_of_claude(stored)) {
            mark_as_claudes_note(&mut stored.memory);
        }
        Ok(())
    }
}

/// Changes a memory to a note by Claude, regardless of its front matter: the note is not the user's wish, is not
/// pinned, and supersedes nothing.
pub(crate) fn mark_as_claudes_note(memory: &mut Memory) {
    memory.source.said_by = Some(SaidBy::Assistant);
    memory.source.extractor = Some(Source::NOTED.to_owned());
    memory.pinned = false;
    memory.supersedes.clear();
}
