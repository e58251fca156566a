//! Proposals by another extractor. If a person owns memories of a session, memories that another extractor finds in
//! that session are pending until the person accepts them. They would otherwise repeat much of the content in other
//! words.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::WantedMemory;
use super::survey::FileSurvey;
use crate::id::MemoryId;
use crate::ledger::Ledger;
use crate::memory::{HeldFor, Status};

/// Makes wanted memories pending if they are not in the folder yet and a person owns memories of the same session that
/// another extractor found.
pub(super) fn hold(
    survey: &FileSurvey,
    ledger: &Ledger,
    wanted: &mut BTreeMap<MemoryId, WantedMemory>,
) {
    let owned = readers_of_owned(survey, ledger);
    if owned.is_empty() {
        return;
    }
    for (id, wanted) in wanted.iter_mut() {
        let source = &wanted.memory.source;
        let Some((session, reader)) = source.session.as_deref().zip(source.reader()) else {
            continue;
        };
        let is_of_another = owned.get(session).is_some_and(|readers| !readers.contains(reader));
        let was_in_folder =
            ledger.entry(*id).is_some_and(|entry| entry.was_in_folder(survey.is_private()));
        let is_wish_of_rules =
            wanted.memory.held_for == Some(HeldFor::Review) && source.is_of_rules();
        let may_hold = wanted.memory.status == Status::Active || is_wish_of_rules;
        if is_of_another && !was_in_folder && may_hold {
            wanted.hold(HeldFor::Proposal);
        }
    }
}

/// Returns, for each session, the extractors that found the memories that a person owns.
fn readers_of_owned(survey: &FileSurvey, ledger: &Ledger) -> BTreeMap<String, BTreeSet<String>> {
    let mut readers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for memory in survey.owned(ledger) {
        let source = &memory.source;
        if let Some((session, reader)) = source.session.as_deref().zip(source.reader()) {
            readers.entry(session.to_owned()).or_default().insert(reader.to_owned());
        }
    }
    readers
}
