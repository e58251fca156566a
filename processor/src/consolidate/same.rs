//! Near-duplicates: merges drafts with the same meaning in different words. Drafts that differ in a file, a flag or a
//! number are not merged.

use memory_store::neighbour::{Statement, Verdict, judge};
use memory_store::{Kind, ProjectId};

use super::draft_entry::DraftEntry;

/// Minimum overlap of words for two drafts of the same kind and session to count as equal.
const REPEAT_SHARE: f32 = 0.55;

/// Minimum overlap of words for two drafts of the same session but different kinds to count as equal.
const RETELL_SHARE: f32 = 0.65;

/// Merges drafts with the same meaning. Within one kind, the result has the id of the first draft and the words of the
/// last. For two kinds, the result has the id and the words of the more valuable draft.
pub fn merge(project: ProjectId, entries: Vec<DraftEntry>) -> Vec<DraftEntry> {
    let mut kept: Vec<(DraftEntry, Statement)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let statement = entry.statement();
        let same = kept.iter_mut().find(|(known, of)| {
            judge(&statement, of).is_some_and(Verdict::repeats)
                || repeats(known, &entry) && of.words.overlap(&statement.words) >= REPEAT_SHARE
                || retells(known, &entry) && of.words.overlap(&statement.words) >= RETELL_SHARE
        });
        let Some((known, of)) = same else {
            kept.push((entry, statement));
            continue;
        };
        let is_worth_more = entry.draft.worth > known.draft.worth;
        let (told, retells) = if known.draft.kind != entry.draft.kind {
            let stands = is_counted(known) || !is_worth_more;
            let told = if stands { entry } else { std::mem::replace(known, entry) };
            if !stands {
                *of = statement;
            }
            (told, false)
        } else {
            let better = known.draft.session != entry.draft.session || is_worth_more;
            let retells = better && !is_counted(known);
            if retells {
                *of = statement;
            }
            (entry, retells)
        };
        known.merged.push(super::memory_id(project, &told.draft));
        known.unite(told, retells);
    }
    kept.into_iter().map(|(entry, _)| entry).collect()
}

/// Returns whether two entries of the same kind and session overlap enough to count as equal. The minimum overlap is
/// lower than for other entries, because sessions often repeat themselves.
fn repeats(known: &DraftEntry, entry: &DraftEntry) -> bool {
    known.draft.session == entry.draft.session
        && known.draft.kind == entry.draft.kind
        && is_repeatable(entry.draft.kind)
        && !is_counted(known)
        && !is_counted(entry)
}

/// Returns whether two entries of the same session have the same content in different kinds.
fn retells(known: &DraftEntry, entry: &DraftEntry) -> bool {
    known.draft.session == entry.draft.session
        && is_repeatable(known.draft.kind)
        && is_repeatable(entry.draft.kind)
        && !is_counted(entry)
}

fn is_repeatable(kind: Kind) -> bool {
    matches!(kind, Kind::Gotcha | Kind::Fix | Kind::FailedApproach | Kind::Decision)
}

/// Returns whether an entry has signatures. Entries with signatures are compared only by these.
fn is_counted(entry: &DraftEntry) -> bool {
    !entry.draft.signatures.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::draft;
    use crate::extract::draft::Draft;

    #[test]
    fn what_stands_keeps_the_names_and_sessions_of_all_that_say_so() {
        let project = ProjectId([1; 16]);
        let title = "Carts kept in Redis are lost when the staging host restarts at night";
        let of = |session: &str, at, kind, worth| Draft {
            worth,
            ..draft(session, at, kind, title, "Keep them in the database.")
        };
        let trap = of("a", 1_000, Kind::Gotcha, 0.2);
        let cure = of("a", 2_000, Kind::Fix, 0.9);
        let again = of("c", 3_000, Kind::Fix, 0.4);
        let name = |draft: &Draft| super::super::memory_id(project, draft);
        let mut entries = [&trap, &cure, &again].map(|draft| DraftEntry::new(draft.clone()));
        // The draft is already merged with a draft of another session.
        entries[1].sessions.push("b".into());
        let merged = merge(project, entries.into());
        let [one] = merged.as_slice() else { panic!("{merged:?}") };
        assert_eq!(name(&one.draft), name(&cure));
        assert_eq!(one.merged, [&trap, &again].map(name));
        assert_eq!(one.sessions, ["a", "b", "c"]);

        let mut entries = [&cure, &trap, &again].map(|draft| DraftEntry::new(draft.clone()));
        entries[1].sessions.push("b".into());
        let merged = merge(project, entries.into());
        assert_eq!(merged[0].merged, [&trap, &again].map(name));
        assert_eq!(merged[0].sessions, ["a", "b", "c"]);
    }
}
