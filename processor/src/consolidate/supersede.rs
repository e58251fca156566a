//! Superseding: a later statement about the same thing replaces the earlier one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memory_store::Kind;
use regex::Regex;

use super::Entry;
use crate::extract::{overlap, word_set};

/// Titles that share this much of their words are about the same thing.
const SUBJECT_SHARE: f32 = 0.6;

/// Words of a title that must be shared.
const SHARED_MIN: usize = 3;

/// Words by which a later statement says that it replaces an earlier one.
static REPLACES: LazyLock<Regex> = LazyLock::new(|| {
    crate::extract::pattern(
        r"(?i)\b(?:replac\w+|instead|no longer|not .{0,20}any ?more|remov\w+|revert\w*|redesign\w*|renam\w+|switch\w*|drop(?:s|ped)?|supersed\w+|chang\w+ (?:from|to)|rather than|now|was|used to|previously)\b",
    )
});

/// Marks the entries that a later one replaces.
pub fn mark(entries: &mut [Entry]) {
    let titles: Vec<BTreeSet<String>> =
        entries.iter().map(|entry| word_set(&entry.draft.title)).collect();
    for newer in 0..entries.len() {
        if !REPLACES.is_match(&entries[newer].draft.title)
            && !REPLACES.is_match(&entries[newer].draft.body)
        {
            continue;
        }
        for older in 0..newer {
            let replaced = corrects(&entries[newer], &entries[older])
                || entries[older].superseded_by.is_none()
                    && states(entries[older].draft.kind)
                    && states(entries[newer].draft.kind)
                    && entries[older].draft.session != entries[newer].draft.session
                    && same_subject(&titles[older], &titles[newer])
                    && share_a_folder(&entries[older], &entries[newer]);
            if replaced {
                entries[older].superseded_by = Some(newer);
            }
        }
    }
}

/// Whether a memory of this kind states how things are to be; what happened is not undone.
fn states(kind: Kind) -> bool {
    matches!(kind, Kind::Decision | Kind::Convention | Kind::Preference | Kind::Fact)
}

fn same_subject(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.intersection(b).count() >= SHARED_MIN && overlap(a, b) >= SUBJECT_SHARE
}

/// The user's objection to what was decided just before, in the same session.
fn corrects(newer: &Entry, older: &Entry) -> bool {
    let head = &older.draft.title[..older.draft.title.floor_char_boundary(HEAD_BYTES)];
    newer.draft.kind == Kind::Preference
        && older.draft.kind == Kind::Decision
        && newer.draft.session == older.draft.session
        && newer.draft.body.contains(&format!("Said about: {head}"))
        && WHOLE.is_match(&newer.draft.title)
        && OBJECTS.is_match(&newer.draft.title)
}

/// Bytes of a title that show what a wish is about.
const HEAD_BYTES: usize = 60;

/// Words by which a user speaks of all that was done, not of a part of it.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    crate::extract::pattern(r"(?i)^(?:no|wait|hmm|stop)?[,.!\s]*(?:it|this|that|they)\b")
});

/// Words by which a user objects.
static OBJECTS: LazyLock<Regex> = LazyLock::new(|| {
    crate::extract::pattern(
        r"(?i)\b(?:should not|shouldn't|should n[o']t|not .{1,60}\bbut\b|instead|revert|undo|go back|don't|do not|wrong)\b",
    )
});

fn share_a_folder(a: &Entry, b: &Entry) -> bool {
    let folder =
        |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    a.draft.paths.iter().any(|path| {
        b.draft.paths.iter().any(|other| path == other || folder(path) == folder(other))
    })
}
