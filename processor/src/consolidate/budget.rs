//! The budget: how many memories a session may keep, and which.

use std::collections::{BTreeMap, BTreeSet};

use memory_store::settings::Settings;

use super::{Entry, Mined};
use crate::extract::{overlap, word_set};

/// The turns of a session of average length.
const TYPICAL_TURNS: f32 = 3.0;

/// What is worth less is not kept, even where there is room.
const WORTH_MIN: f32 = -0.3;

/// Commands kept for each memory that a session may keep: they belong to the project.
const COMMANDS_SHARE: f32 = 1.0;

/// Commands kept at least, and at most.
const COMMANDS_MIN: usize = 3;
const COMMANDS_MAX: usize = 8;

/// Returns the entries worth keeping, in their order.
pub fn choose(entries: Vec<Entry>, mined: &[Mined], settings: &Settings) -> Vec<Entry> {
    let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
    for mined in mined {
        *turns.entry(&mined.session).or_default() += mined.turns;
    }
    let mut groups: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let group = entry.draft.command.is_none().then_some(entry.draft.session.as_str());
        groups.entry(group).or_default().push(index);
    }
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for (group, mut indices) in groups {
        let share = match group {
            None => commands_share(settings.memories_per_session),
            Some(session) => {
                room(turns.get(session).copied().unwrap_or(1), settings.memories_per_session)
            }
        };
        indices.sort_by(|&a, &b| {
            entries[b].draft.worth.total_cmp(&entries[a].draft.worth).then(a.cmp(&b))
        });
        indices.retain(|&index| entries[index].draft.worth >= WORTH_MIN);
        if group.is_none() {
            one_folder_each(&entries, &mut indices);
        }
        // A plan and its commit tell of one thing: what tells of another goes before the second.
        let (others, again) = match group {
            None => (indices, Vec::new()),
            Some(_) => first_of_each(&entries, indices),
        };
        kept.extend(others.into_iter().chain(again).take(share));
    }
    entries
        .into_iter()
        .enumerate()
        .filter(|(index, _)| kept.contains(index))
        .map(|(_, entry)| entry)
        .collect()
}

/// Of a command line that passed in several folders, keeps the one where it passed most: the others are where
/// somebody stood by chance.
fn one_folder_each(entries: &[Entry], indices: &mut Vec<usize>) {
    let mut lines: BTreeSet<&str> = BTreeSet::new();
    indices.retain(|&index| {
        let line = entries[index].draft.command.as_ref().map_or("", |record| record.line.as_str());
        lines.insert(line)
    });
}

/// Titles that share this much of their words are of one thing.
const TITLE_SHARE: f32 = 0.6;

/// Cuts a list, best first, into those whose title is the first of its kind and those whose title is
/// like one before them.
fn first_of_each(entries: &[Entry], indices: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut titles: Vec<BTreeSet<String>> = Vec::new();
    indices.into_iter().partition(|&index| {
        let title = word_set(&entries[index].draft.title);
        let new = titles.iter().all(|known| overlap(known, &title) < TITLE_SHARE);
        titles.push(title);
        new
    })
}

/// How many memories a session keeps. One four times as long keeps twice as many.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small counts"
)]
pub fn room(turns: usize, per_session: f32) -> usize {
    (per_session * (turns as f32 / TYPICAL_TURNS).sqrt()).round() as usize
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]
fn commands_share(per_session: f32) -> usize {
    ((per_session * COMMANDS_SHARE).round() as usize).clamp(COMMANDS_MIN, COMMANDS_MAX)
}
