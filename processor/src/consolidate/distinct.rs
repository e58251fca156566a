//! Makes titles unique within a kind, so that lists are readable and files can be found.

use std::collections::BTreeSet;

use memory_store::Kind;

use super::draft_entry::DraftEntry;
use crate::extract::retitled;

/// Replaces the title of each entry that has the same title as an earlier entry of its kind. The new title is the
/// entry's first sentence, or else the old title with the date.
pub fn titles(entries: &mut [DraftEntry]) {
    let mut seen: BTreeSet<(Kind, String)> = BTreeSet::new();
    for entry in entries {
        let draft = &mut entry.draft;
        let taken = |title: &str| seen.contains(&(draft.kind, title.to_lowercase()));
        if taken(&draft.title) {
            match retitled(&draft.title, &draft.body).filter(|(title, _)| !taken(title)) {
                Some((title, body)) => (draft.title, draft.body) = (title, body),
                None => draft.title = format!("{} ({})", draft.title, draft.occurred.date()),
            }
        }
        seen.insert((draft.kind, draft.title.to_lowercase()));
    }
}
