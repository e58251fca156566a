//! Near-duplicates: drafts that say the same in other words become one. Rules that differ in a
//! file, a flag or a number are different rules.

use memory_store::neighbour::{Statement, is_duplicate};
use memory_store::{Kind, MemoryId, ProjectId};

use super::DraftEntry;

/// Share of words from which drafts of one kind and session tell the same.
const REPEAT_SHARE: f32 = 0.55;

/// Share of words from which drafts of one session tell the same as two kinds.
const RETELL_SHARE: f32 = 0.65;

/// Merges drafts that say the same, the first said keeping its name and the last said its words.
pub fn merge(project: ProjectId, entries: Vec<DraftEntry>) -> Vec<DraftEntry> {
    let mut kept: Vec<(DraftEntry, Statement)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let statement = entry.statement();
        let same = kept.iter_mut().find(|(known, of)| {
            is_duplicate(&statement, of)
                || repeats(known, &entry) && of.words.overlap(&statement.words) >= REPEAT_SHARE
                || retells(known, &entry) && of.words.overlap(&statement.words) >= RETELL_SHARE
        });
        let name: MemoryId = super::id(project, &entry.draft);
        let merged = entry.merged.clone();
        match same {
            Some((known, of)) if known.draft.kind != entry.draft.kind => {
                known.merged.push(name);
                known.merged.extend(merged);
                if is_counted(known) || known.draft.worth >= entry.draft.worth {
                    known.merge(&entry.draft);
                } else {
                    let told = std::mem::replace(&mut known.draft, entry.draft);
                    known.merge(&told);
                    *of = statement;
                }
            }
            Some((known, of)) => {
                known.merged.push(name);
                known.merged.extend(merged);
                known.merge(&entry.draft);
                let better = known.draft.session != entry.draft.session
                    || entry.draft.worth > known.draft.worth;
                if !is_counted(known) && better {
                    known.draft.title = entry.draft.title;
                    known.draft.body = entry.draft.body;
                    *of = statement;
                }
            }
            None => kept.push((entry, statement)),
        }
    }
    kept.into_iter().map(|(entry, _)| entry).collect()
}

/// Whether two are of one kind and session. They may differ more: one thing is often said twice.
fn repeats(known: &DraftEntry, entry: &DraftEntry) -> bool {
    known.draft.session == entry.draft.session
        && known.draft.kind == entry.draft.kind
        && is_told(entry.draft.kind)
        && !is_counted(known)
        && !is_counted(entry)
}

/// Whether a session tells one thing as two kinds.
fn retells(known: &DraftEntry, entry: &DraftEntry) -> bool {
    known.draft.session == entry.draft.session
        && is_told(known.draft.kind)
        && is_told(entry.draft.kind)
        && !is_counted(entry)
}

fn is_told(kind: Kind) -> bool {
    matches!(kind, Kind::Gotcha | Kind::Fix | Kind::FailedApproach | Kind::Decision)
}

/// Commands and fixes are told apart by their keys alone.
fn is_counted(entry: &DraftEntry) -> bool {
    entry.draft.command.is_some() || !entry.draft.signatures.is_empty()
}
