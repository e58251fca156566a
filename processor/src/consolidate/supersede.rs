//! Superseding: a later statement about the same thing replaces the earlier one, or contradicts it.

use std::collections::BTreeSet;

use memory_store::neighbour::{Place, Statement, Verdict, judge};
use memory_store::{Kind, MemoryId, ProjectId};

use super::draft_entry::DraftEntry;
use crate::extract::word_set;

/// Marks the entries that a later entry replaces, and records contradictions. All pairs are compared, so the most
/// expensive check is the last one. Entries in `asked` are skipped, because a model decides about these.
pub fn mark(project: ProjectId, entries: &mut [DraftEntry], asked: &BTreeSet<MemoryId>) {
    let statements: Vec<Statement> = entries.iter().map(DraftEntry::statement).collect();
    let titles: Vec<BTreeSet<String>> =
        entries.iter().map(|entry| word_set(&entry.draft.title)).collect();
    let texts: Vec<BTreeSet<String>> =
        entries.iter().map(|entry| word_set(&entry.text())).collect();
    for newer in 0..entries.len() {
        if asked.contains(&super::memory_id(project, &entries[newer].draft)) {
            continue;
        }
        let mut contradicted = Vec::new();
        for older in 0..newer {
            if entries[older].superseded_by.is_some()
                || entries[older].draft.session == entries[newer].draft.session
            {
                continue;
            }
            let verdict = verdict(entries, &statements, newer, older);
            let is_replaced = verdict == Some(Verdict::Update)
                || mends(&entries[newer], &texts[newer], &entries[older], &titles[older]);
            if is_replaced {
                entries[older].superseded_by = Some(newer);
            } else if verdict.is_some_and(Verdict::differs) {
                contradicted.push(older);
            }
        }
        for older in contradicted {
            if entries[older].superseded_by.is_none() {
                let name = super::memory_id(project, &entries[older].draft);
                entries[newer].contradicts.push(name);
            }
        }
    }
}

/// Returns the relation of a later entry to an earlier one. No user can confirm it, so a replacement counts only
/// between entries about the same part of the project. Contradictory wishes are recorded for any part.
fn verdict(
    entries: &[DraftEntry],
    statements: &[Statement],
    newer: usize,
    older: usize,
) -> Option<Verdict> {
    if !describes(&entries[newer]) || !describes(&entries[older]) {
        return None;
    }
    let (newer_kind, older_kind) = (entries[newer].draft.kind, entries[older].draft.kind);
    let judged = || judge(&statements[newer], &statements[older]);
    match statements[newer].place(&statements[older]) {
        Place::File | Place::Folder => judged(),
        Place::Unknown if newer_kind.is_wish() && older_kind.is_wish() => {
            judged().filter(|verdict| verdict.differs() && *verdict != Verdict::Update)
        }
        Place::Unknown | Place::Elsewhere => None,
    }
}

/// Returns whether an entry describes the state of the project, so that a later entry may make it outdated.
fn describes(entry: &DraftEntry) -> bool {
    entry.draft.signatures.is_empty()
}

/// Returns whether a later fix cured the failure that an earlier memory describes. The texts of both must name the
/// failure.
fn mends(
    newer: &DraftEntry,
    text: &BTreeSet<String>,
    older: &DraftEntry,
    title: &BTreeSet<String>,
) -> bool {
    newer.draft.kind == Kind::Fix
        && describes(older)
        && older.draft.kind != Kind::Fix
        && share_a_file(newer, older)
        && title.iter().any(|word| word.contains('.') && text.contains(word))
        && crate::extract::has_failure_words(&older.draft.title)
}

fn share_a_file(a: &DraftEntry, b: &DraftEntry) -> bool {
    a.draft.paths.iter().any(|path| b.draft.paths.contains(path))
}
