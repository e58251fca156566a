//! The gate before a memory is written into a committed folder: one that contains something which looks like a
//! credential is held, or, where a file is there already, not changed.

use std::collections::BTreeSet;
use std::path::Path;

use super::{By, Store};
use crate::error::{Error, Result};
use crate::memory::{HeldFor, Memory, Status};
use crate::redact::{MemorySuspect, PLACEHOLDER_OPEN, Redactor, SUSPECT};
use crate::stored::Stored;

/// Places that a message lists.
const PLACES_MAX: usize = 3;

impl Store {
    /// Lets what looks like a credential into the folder: a person saw each place and accepts it.
    #[must_use]
    pub fn accepting_credentials(&self) -> Self {
        Self { accepts_credentials: true, ..self.clone() }
    }

    /// Holds a memory that others would read and that contains what looks like a credential, before anything of it is
    /// written into the folder. Returns what does.
    pub fn gate(&self, memory: &mut Memory, redactor: &Redactor) -> Vec<MemorySuspect> {
        let suspects = self.suspects(memory, redactor);
        if !suspects.is_empty() {
            // This reason asks for a look at the place, whatever else holds it.
            memory.status = Status::Held;
            memory.held_for = Some(HeldFor::Credential);
        }
        suspects
    }

    /// Returns what looks like a credential in a memory that would be written into the folder.
    fn suspects(&self, memory: &Memory, redactor: &Redactor) -> Vec<MemorySuspect> {
        match self.root.is_none() || self.accepts_credentials {
            true => Vec::new(),
            false => redactor.suspects_in(memory),
        }
    }

    /// Returns whether a save may change the file of a memory with the same title: what is held replaces no text of the
    /// folder, and what a model saves none of a person's.
    pub(super) fn may_merge(&self, stored: &Stored, by: By, suspects: &[MemorySuspect]) -> bool {
        let is_free = suspects.is_empty() || !stored.path.starts_with(&self.folder);
        is_free && (by != By::Model || self.is_persons(stored).is_ok_and(|is_persons| !is_persons))
    }

    /// Refuses a memory for a file of the folder, if it contains what looks like a credential and what was there `before`
    /// did not.
    ///
    /// # Errors
    /// [`Error::Credential`] with the places.
    pub(super) fn check_gate(
        &self,
        path: &Path,
        before: Option<&Memory>,
        memory: &Memory,
        redactor: &Redactor,
    ) -> Result<()> {
        if !path.starts_with(&self.folder) {
            return Ok(());
        }
        let mut suspects = self.suspects(memory, redactor);
        if suspects.is_empty() {
            return Ok(());
        }
        let known = before.map(|before| redactor.suspects_in(before)).unwrap_or_default();
        let known: BTreeSet<String> = known.into_iter().map(|suspect| suspect.value).collect();
        suspects.retain(|suspect| !known.contains(&suspect.value));
        match suspects.is_empty() {
            true => Ok(()),
            false => Err(Error::Credential { path: path.to_owned(), places: places(&suspects) }),
        }
    }
}

/// Tells where something looks like a credential, without the value itself: messages go into logs and transcripts.
pub fn places(suspects: &[MemorySuspect]) -> String {
    let placeholder = format!("{PLACEHOLDER_OPEN}{SUSPECT}]");
    let place = |suspect: &MemorySuspect| {
        // A line may contain several.
        let hide = |line: String, other: &MemorySuspect| line.replace(&other.value, &placeholder);
        let line = suspects.iter().fold(suspect.line.clone(), hide);
        format!("{}: \"{line}\" ({})", suspect.field, suspect.reasons.join(", "))
    };
    let mut places: Vec<String> = suspects.iter().take(PLACES_MAX).map(place).collect();
    if suspects.len() > PLACES_MAX {
        places.push(format!("and {} more", suspects.len() - PLACES_MAX));
    }
    places.join("; ")
}
