//! Checks a memory before it is written to a committed folder. A new memory with a likely credential becomes pending. A
//! change that would add a likely credential to an existing file fails.

use std::collections::BTreeSet;
use std::path::Path;

use super::{By, Store};
use crate::error::{Error, Result};
use crate::memory::{HeldFor, Memory, Status};
use crate::redact::{MemorySuspect, PLACEHOLDER_OPEN, Redactor, SUSPECT};
use crate::stored::Stored;

/// Maximum number of places in a message.
const PLACES_MAX: usize = 3;

impl Store {
    /// Permits likely credentials in the folder. A person must have seen and accepted each place.
    #[must_use]
    pub fn accepting_credentials(&self) -> Self {
        Self { accepts_credentials: true, ..self.clone() }
    }

    /// Makes a memory pending if other people would read its file and it contains likely credentials. Must be called
    /// before any part of the memory is written to the folder. Returns the likely credentials.
    pub fn gate(&self, memory: &mut Memory, redactor: &Redactor) -> Vec<MemorySuspect> {
        let suspects = self.suspects(memory, redactor);
        if !suspects.is_empty() {
            // This reason takes precedence over other reasons, because it requires a check of each place.
            memory.status = Status::Held;
            memory.held_for = Some(HeldFor::Credential);
        }
        suspects
    }

    /// Returns the likely credentials in a memory to be written to the folder.
    fn suspects(&self, memory: &Memory, redactor: &Redactor) -> Vec<MemorySuspect> {
        match self.root.is_none() || self.accepts_credentials {
            true => Vec::new(),
            false => redactor.suspects_in(memory),
        }
    }

    /// Returns whether a save may change the file of a memory with the same title. A pending memory does not replace
    /// text in the folder, and a memory that a model saves does not replace a person's memory.
    pub(super) fn may_merge(&self, stored: &Stored, by: By, suspects: &[MemorySuspect]) -> bool {
        let is_free = suspects.is_empty() || !stored.path.starts_with(&self.folder);
        is_free && (by != By::Model || self.is_persons(stored).is_ok_and(|is_persons| !is_persons))
    }

    /// Checks a memory before its file in the folder is changed. A likely credential that the memory `before` already
    /// contained is permitted.
    ///
    /// # Errors
    /// [`Error::Credential`] with the places of new likely credentials.
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

/// Returns a description of the places of likely credentials. It omits the values, because messages are written to logs
/// and transcripts.
pub fn places(suspects: &[MemorySuspect]) -> String {
    let placeholder = format!("{PLACEHOLDER_OPEN}{SUSPECT}]");
    let place = |suspect: &MemorySuspect| {
        // Other likely credentials in the same line are hidden as well.
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
