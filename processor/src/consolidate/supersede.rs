//! Superseding: a later statement about the same thing replaces the earlier one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memory_store::{Kind, MemoryId, ProjectId};
use regex::Regex;

use super::Entry;
use crate::extract::draft::Draft;
use crate::extract::{lays_down, overlap, tells_work, word_set};

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

/// Marks the entries that a later one replaces. Each is compared with each, so what costs most is asked last.
/// Of those that a model was `asked` about it is not guessed.
pub fn mark(project: ProjectId, entries: &mut [Entry], asked: &BTreeSet<MemoryId>) {
    let titles: Vec<BTreeSet<String>> =
        entries.iter().map(|entry| word_set(&entry.draft.title)).collect();
    let texts: Vec<BTreeSet<String>> =
        entries.iter().map(|entry| word_set(&entry.text())).collect();
    for newer in 0..entries.len() {
        if asked.contains(&super::id(project, &entries[newer].draft)) {
            continue;
        }
        let replaced = replaced_things(&entries[newer].text());
        for older in 0..newer {
            let out = entries[older].superseded_by.is_none()
                && entries[older].draft.session != entries[newer].draft.session
                && (finishes(&entries[newer], &texts[newer], &entries[older])
                    || mends(&entries[newer], &texts[newer], &entries[older], &titles[older])
                    || describes(&entries[older])
                        && describes(&entries[newer])
                        && share_a_file(&entries[older], &entries[newer])
                        && holds_one(&texts[older], &replaced));
            if out {
                entries[older].superseded_by = Some(newer);
                carry(entries, &titles, older, newer);
            }
        }
        if !REPLACES.is_match(&entries[newer].draft.title)
            && !REPLACES.is_match(&entries[newer].draft.body)
        {
            continue;
        }
        for older in 0..newer {
            let replaced = entries[older].superseded_by.is_none()
                && states(entries[older].draft.kind)
                && states(entries[newer].draft.kind)
                && entries[older].draft.session != entries[newer].draft.session
                && share_a_folder(&entries[older], &entries[newer])
                && same_subject(&titles[older], &titles[newer]);
            if replaced {
                entries[older].superseded_by = Some(newer);
                carry(entries, &titles, older, newer);
            }
        }
    }
}

/// What a text says is gone: the words between "replace" and "with", after "no longer", ...
static REPLACED: LazyLock<Regex> = LazyLock::new(|| {
    crate::extract::pattern(
        r"(?i)\b(?:replac(?:e[sd]?|ing)|remov(?:e[sd]?|ing)|drop(?:s|ped|ping)?|no longer|instead of|rather than|(?:switch|mov)(?:ed|es|ing)? (?:away )?from|supersed(?:es|ed|ing)|gets? rid of|got rid of|the old)\s+((?:[^\x22`]|\x22[^\x22]*\x22|`[^`]*`){4,80}?)(?:\s+(?:with|by|to|in favou?r of|for|because|since|so that|which|that|from|in)\b|[.;:,(—]|$)",
    )
});

/// The name of a thing in quotes or as code.
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| crate::extract::pattern(r#"["“`]([^"”`]{3,60})["”`]"#));

/// The words of each thing that a text says is gone; a name in quotes says it best.
fn replaced_things(text: &str) -> Vec<BTreeSet<String>> {
    let things = REPLACED.captures_iter(text).map(|found| found[1].to_owned());
    things
        .map(|thing| {
            word_set(
                NAMED
                    .captures(&thing)
                    .map_or(thing.as_str(), |name| name.get(1).map_or("", |name| name.as_str())),
            )
        })
        .filter(|words| words.len() >= THING_WORDS_MIN)
        .collect()
}

/// Words by which a thing is known again.
const THING_WORDS_MIN: usize = 2;

fn holds_one(text: &BTreeSet<String>, things: &[BTreeSet<String>]) -> bool {
    things.iter().any(|thing| thing.is_subset(text))
}

/// Whether a memory describes how the project is, which a later one may say is so no longer.
fn describes(entry: &Entry) -> bool {
    !matches!(entry.draft.kind, Kind::Command | Kind::Task) && entry.draft.signatures.is_empty()
}

/// Whether a later memory tells that an open task was worked on.
fn finishes(newer: &Entry, text: &BTreeSet<String>, older: &Entry) -> bool {
    // Each is asked of each: words are looked at only where the kinds fit.
    if older.draft.kind != Kind::Task
        || !matches!(newer.draft.kind, Kind::Decision | Kind::Session | Kind::Fix)
    {
        return false;
    }
    let task = word_set(older.draft.title.trim_start_matches(crate::extract::OPEN));
    let shared = task.intersection(text).count();
    shared >= SHARED_MIN && shared * 2 >= task.len()
}

/// Whether a later fix cured what an earlier memory says is broken: both name it.
fn mends(newer: &Entry, text: &BTreeSet<String>, older: &Entry, title: &BTreeSet<String>) -> bool {
    newer.draft.kind == Kind::Fix
        && describes(older)
        && older.draft.kind != Kind::Fix
        && share_a_file(newer, older)
        && title.iter().any(|word| word.contains('.') && text.contains(word))
        && crate::extract::says_broken(&older.draft.title)
}

/// Whether a memory of this kind states how things are to be; what happened is not undone.
fn states(kind: Kind) -> bool {
    matches!(kind, Kind::Decision | Kind::Convention | Kind::Preference | Kind::Fact)
}

fn same_subject(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.intersection(b).count() >= SHARED_MIN && overlap(a, b) >= SUBJECT_SHARE
}

/// Marks with a replaced memory those that tell details of the same work.
fn carry(entries: &mut [Entry], titles: &[BTreeSet<String>], older: usize, newer: usize) {
    for detail in 0..newer {
        let first = entries[older].draft.turns.first();
        let of_it = entries[detail].superseded_by.is_none()
            && !is_detail(&entries[older].draft)
            && is_detail(&entries[detail].draft)
            && entries[detail].draft.session == entries[older].draft.session
            && (entries[detail].draft.turns.first() == first
                || same_subject(&titles[detail], &titles[older]));
        if of_it {
            entries[detail].superseded_by = Some(newer);
        }
    }
}

/// Whether a memory tells a detail of a piece of work that another one tells of.
fn is_detail(draft: &Draft) -> bool {
    let named = draft.title.rsplit_once(": ").is_some_and(|(_, last)| lays_down(last));
    tells_work(draft) && (named || draft.body.contains("Part of: "))
}

fn share_a_file(a: &Entry, b: &Entry) -> bool {
    a.draft.paths.iter().any(|path| b.draft.paths.contains(path))
}

fn share_a_folder(a: &Entry, b: &Entry) -> bool {
    fn folder(path: &str) -> &str {
        path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
    a.draft.paths.iter().any(|path| {
        b.draft.paths.iter().any(|other| path == other || folder(path) == folder(other))
    })
}
