//! The budget: how many memories a session may keep, and which.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory_store::settings::Settings;

use super::{DraftEntry, Mined};
use crate::extract::{WORDS_FEW, word_set};

/// The turns of a session of average length.
const TYPICAL_TURNS: f32 = 12.0;

/// Share of a usual session's room that the shortest one has.
const SHORT_SHARE: f32 = 0.5;

/// Minimum worth of a draft that is kept, even where there is room.
const WORTH_MIN: f32 = -0.3;

/// Commands kept for each memory that a session may keep: they belong to the project.
const COMMANDS_SHARE: f32 = 1.0;

/// Commands kept at least, and at most.
const COMMANDS_MIN: usize = 3;
const COMMANDS_MAX: usize = 8;

/// Worth that each better memory of a session takes from the next: sessions share the room.
const SPREAD_LOSS: f32 = 0.05;

/// Returns the entries worth keeping, in their order. Each session adds room by its work, and the best of the project
/// take it.
pub fn choose(entries: Vec<DraftEntry>, mined: &[Mined], settings: &Settings) -> Vec<DraftEntry> {
    let best = |commands: bool| {
        let mut indices: Vec<usize> = (0..entries.len())
            .filter(|&index| entries[index].draft.command.is_some() == commands)
            .filter(|&index| entries[index].draft.worth >= WORTH_MIN)
            .collect();
        sort(&mut indices, |index| entries[index].draft.worth);
        indices
    };
    let mut commands = best(true);
    one_folder_each(&entries, &mut commands);
    commands.truncate(commands_share(settings.memories_per_session));
    // A plan and its commit tell of one thing: what tells of another goes before the second.
    let (mut prose, again) = first_of_each(&entries, best(false));
    let losses = losses(&entries, &prose);
    sort(&mut prose, |index| entries[index].draft.worth - losses[&index]);
    let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
    for mined in mined {
        *turns.entry(&mined.session).or_default() += mined.turns;
    }
    let room = turns.values().map(|&turns| room(turns, settings.memories_per_session)).sum();
    let kept: BTreeSet<usize> = prose.into_iter().chain(again).take(room).chain(commands).collect();
    entries
        .into_iter()
        .enumerate()
        .filter(|(index, _)| kept.contains(index))
        .map(|(_, entry)| entry)
        .collect()
}

/// Sorts entries, the best first, the earlier one of two alike.
fn sort(indices: &mut [usize], worth: impl Fn(usize) -> f32) {
    indices.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)).then(a.cmp(&b)));
}

/// Returns the loss of each entry, given the best first: each better entry of its session costs it a share.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn losses(entries: &[DraftEntry], indices: &[usize]) -> BTreeMap<usize, f32> {
    let mut better: BTreeMap<&str, usize> = BTreeMap::new();
    let mut losses = BTreeMap::new();
    for &index in indices {
        let count = better.entry(&entries[index].draft.session).or_default();
        losses.insert(index, *count as f32 * SPREAD_LOSS);
        *count += 1;
    }
    losses
}

/// Of a command line that passed in several folders, keeps the one where it passed most: the others are where
/// somebody stood by chance.
fn one_folder_each(entries: &[DraftEntry], indices: &mut Vec<usize>) {
    let mut lines: BTreeSet<&str> = BTreeSet::new();
    indices.retain(|&index| {
        let line = entries[index].draft.command.as_ref().map_or("", |record| record.line.as_str());
        lines.insert(line)
    });
}

/// Titles that share this much of their words are of one thing.
const TITLE_SHARE: f32 = 0.6;

/// Cuts a list, best first, into those whose title is the first of its kind in their session and those whose title
/// is like one before them.
fn first_of_each(entries: &[DraftEntry], indices: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut titles: BTreeMap<&str, Titles> = BTreeMap::new();
    indices.into_iter().partition(|&index| {
        let title = word_set(&entries[index].draft.title);
        let titles = titles.entry(&entries[index].draft.session).or_default();
        let new = !titles.has_like(&title);
        titles.add(title);
        new
    })
}

/// The titles of a session by their words: one of a month has thousands, and each is compared with all before it.
#[derive(Debug, Default)]
struct Titles {
    /// How many words each has.
    lengths: Vec<usize>,
    /// Titles that have a word.
    with_word: HashMap<String, Vec<usize>>,
}

impl Titles {
    /// Whether one of them shares so much with a title that both are of one thing (see [`overlap`](crate::extract::overlap)).
    fn has_like(&self, title: &BTreeSet<String>) -> bool {
        let mut shared = vec![0_u16; self.lengths.len()];
        for known in title.iter().filter_map(|word| self.with_word.get(word)).flatten() {
            shared[*known] = shared[*known].saturating_add(1);
        }
        shared.iter().zip(&self.lengths).any(|(&shared, &length)| {
            let smaller = length.min(title.len());
            let is_same = usize::from(shared) == length && length == title.len();
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            let is_like = || f32::from(shared) / smaller as f32 >= TITLE_SHARE;
            shared > 0 && if smaller < WORDS_FEW { is_same } else { is_like() }
        })
    }

    fn add(&mut self, title: BTreeSet<String>) {
        let number = self.lengths.len();
        self.lengths.push(title.len());
        for word in title {
            self.with_word.entry(word).or_default().push(number);
        }
    }
}

/// How many memories a session keeps. One four times as long keeps twice as many.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small counts"
)]
pub fn room(turns: usize, per_session: f32) -> usize {
    let room = per_session * (turns as f32 / TYPICAL_TURNS).sqrt();
    room.max(per_session * SHORT_SHARE).round() as usize
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]
fn commands_share(per_session: f32) -> usize {
    ((per_session * COMMANDS_SHARE).round() as usize).clamp(COMMANDS_MIN, COMMANDS_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::extract::overlap;

    proptest! {
        #[test]
        fn titles_are_as_like_as_their_words_overlap(
            titles in prop::collection::vec(prop::collection::btree_set("[a-h]", 0..7), 1..12),
        ) {
            let mut known = Titles::default();
            for (at, title) in titles.iter().enumerate() {
                let is_like = titles[..at].iter().any(|other| overlap(other, title) >= TITLE_SHARE);
                prop_assert_eq!(known.has_like(title), is_like);
                known.add(title.clone());
            }
        }
    }
}
