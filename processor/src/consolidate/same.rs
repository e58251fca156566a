//! Near-duplicates: drafts that say the same in other words become one. Rules that differ in a
//! file, a flag or a number are different rules.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use memory_store::text::telling;
use memory_store::{Kind, MemoryId, ProjectId};

use super::Entry;
use crate::extract::word_set;

/// Drafts whose words overlap this much say the same.
const SAME_SHARE: f32 = 0.8;

/// Within one session this much is enough.
const REPEAT_SHARE: f32 = 0.55;

/// Within one session, kinds that tell of the same thing differently need to share more.
const RETELL_SHARE: f32 = 0.65;

/// Merges what says the same, the first said keeping its name and the last said its words.
pub fn merge(project: ProjectId, entries: Vec<Entry>) -> Vec<Entry> {
    let mut kept: Vec<(Entry, Words)> = Vec::with_capacity(entries.len());
    let mut numbers = Numbers::default();
    for entry in entries {
        let words = Words::of(&entry, &mut numbers);
        let same = kept.iter_mut().find(|(known, of)| {
            alike(known.draft.kind, entry.draft.kind)
                && (of.say_the_same(&words)
                    || repeats(known, &entry) && of.overlap(&words) >= REPEAT_SHARE)
                || retells(known, &entry) && of.overlap(&words) >= RETELL_SHARE
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
                    *of = words;
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
                    *of = words;
                }
            }
            None => kept.push((entry, words)),
        }
    }
    kept.into_iter().map(|(entry, _)| entry).collect()
}

/// Two of the same kind from the same session may differ more: one thing is often said twice.
fn repeats(known: &Entry, entry: &Entry) -> bool {
    known.draft.session == entry.draft.session
        && is_told(entry.draft.kind)
        && !is_counted(known)
        && !is_counted(entry)
}

/// What a session tells as one kind of thing, and then as another.
fn retells(known: &Entry, entry: &Entry) -> bool {
    known.draft.session == entry.draft.session
        && is_told(known.draft.kind)
        && is_told(entry.draft.kind)
        && !is_counted(entry)
}

fn is_told(kind: Kind) -> bool {
    matches!(kind, Kind::Gotcha | Kind::Fix | Kind::FailedApproach | Kind::Decision)
}

/// Commands and fixes are told apart by their keys alone.
fn is_counted(entry: &Entry) -> bool {
    entry.draft.command.is_some() || !entry.draft.signatures.is_empty()
}

/// Kinds between which a memory may repeat another.
fn alike(a: Kind, b: Kind) -> bool {
    let wish = |kind: Kind| matches!(kind, Kind::Preference | Kind::Convention);
    a == b && !matches!(a, Kind::Command) || wish(a) && wish(b)
}

/// The words of a draft, and those that tell one rule from another. Each draft is compared with each, so
/// words are numbers here, sorted and each once.
struct Words {
    all: Vec<u32>,
    title: Vec<u32>,
    telling: Vec<u32>,
}

impl Words {
    fn of(entry: &Entry, numbers: &mut Numbers) -> Self {
        let text = format!("{}\n{}", entry.draft.title, entry.draft.body);
        let telling: BTreeSet<String> =
            text.split_whitespace().filter_map(telling).map(Cow::into_owned).collect();
        Self {
            all: numbers.of(word_set(&text)),
            title: numbers.of(word_set(&entry.draft.title)),
            telling: numbers.of(telling),
        }
    }

    fn overlap(&self, other: &Self) -> f32 {
        overlap(&self.all, &other.all)
    }

    fn say_the_same(&self, other: &Self) -> bool {
        self.telling == other.telling
            && overlap(&self.title, &other.title) >= SAME_SHARE
            && overlap(&self.all, &other.all) >= SAME_SHARE
    }
}

/// Gives each word a number.
#[derive(Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    fn of(&mut self, words: BTreeSet<String>) -> Vec<u32> {
        let mut numbers: Vec<u32> = Vec::with_capacity(words.len());
        for word in words {
            let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
            numbers.push(*self.0.entry(word).or_insert(next));
        }
        numbers.sort_unstable();
        numbers
    }
}

/// [`crate::extract::overlap`] of words that are numbers.
fn overlap(a: &[u32], b: &[u32]) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller < 3 {
        return f32::from(u8::from(a == b && !a.is_empty()));
    }
    let (mut a_at, mut b_at, mut shared) = (0, 0, 0);
    while let (Some(one), Some(other)) = (a.get(a_at), b.get(b_at)) {
        shared += usize::from(one == other);
        a_at += usize::from(one <= other);
        b_at += usize::from(other <= one);
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = shared as f32 / smaller as f32;
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_overlap_as_much_as_their_numbers(
            a in prop::collection::btree_set("[a-f]{1,2}", 0..12),
            b in prop::collection::btree_set("[a-f]{1,2}", 0..12),
        ) {
            let mut numbers = Numbers::default();
            let (as_numbers, others) = (numbers.of(a.clone()), numbers.of(b.clone()));
            prop_assert_eq!(overlap(&as_numbers, &others), crate::extract::overlap(&a, &b));
        }
    }
}
