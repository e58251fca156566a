//! What is remembered of who committed memories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::committers::Brought;

/// Whose good signature stands below a commit, by its id; `None` where there is none.
pub(super) type Signers = BTreeMap<String, Option<String>>;

/// What is remembered of who committed memories. Losing it costs an announcement and the knowledge of what
/// was the user's own before it was committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Committers {
    /// The hashes of texts that were the user's own before any commit, the oldest first.
    pub(super) own: Vec<String>,
    /// Those of texts that others committed, with their address as far as git told it.
    pub(super) others: Vec<(String, Option<String>)>,
    /// Those of texts that the user made of what others committed, without a commit, with the hash of what HEAD
    /// said there.
    pub(super) edits: Vec<(String, String)>,
    /// The commits that brought the files of the working trees, by id and path: of one that a merge made
    /// those too that brought what it was made of.
    pub(super) brought: BTreeMap<String, Vec<Brought>>,
    /// What the folder of memory files of each working tree was like when it was last looked at.
    pub(super) looked_at: BTreeMap<PathBuf, String>,
    /// What was found of signatures, by the hash of what that rests on: keys, settings and the day.
    pub(super) signers: BTreeMap<String, Signers>,
    /// The commits whose signatures take longer to check than git may, by the same hash.
    pub(super) late: BTreeMap<String, BTreeSet<String>>,
    /// How much was remembered when all working trees were last looked at.
    pub(super) settled: usize,
}

impl Committers {
    pub(super) fn remembered(&self) -> usize {
        self.own.len() + self.others.len() + self.edits.len() + self.brought.len()
    }

    /// Whether so much came that all working trees are to be looked at, unchanged ones too: only then it is
    /// known what is not in use.
    pub(super) fn is_to_settle(&self, texts_max: usize) -> bool {
        self.remembered() > self.settled.saturating_add(texts_max)
    }

    /// Forgets the oldest of what is not in use, as far as there is too much of it. What is there now is never
    /// forgotten, however much it is (the store has bounds of its own): it would be new at each sync.
    pub(super) fn shorten(&mut self, used: &Used, texts_max: usize) {
        fn keep<T>(list: &mut Vec<T>, texts_max: usize, is_used: impl Fn(&T) -> bool) {
            let idle = list.iter().filter(|item| !is_used(item)).count();
            let mut surplus = idle.saturating_sub(texts_max);
            list.retain(|item| {
                let stays = is_used(item) || surplus == 0;
                surplus -= usize::from(!stays);
                stays
            });
        }
        keep(&mut self.own, texts_max, |hash| used.texts.contains(hash));
        keep(&mut self.others, texts_max, |(hash, _)| used.texts.contains(hash));
        keep(&mut self.edits, texts_max, |(hash, _)| used.texts.contains(hash));
        self.brought.retain(|key, _| used.bringers.contains(key));
        self.settled = self.remembered();
    }
}

/// What of [`Committers`] is about files that are there.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub(super) texts: BTreeSet<String>,
    pub(super) bringers: BTreeSet<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_never_forgotten_and_of_the_rest_the_oldest_goes() {
        let texts = |range: std::ops::Range<u8>| range.map(|n| n.to_string());
        let mut committers = Committers {
            own: texts(0..6).collect(),
            others: texts(0..6).map(|hash| (hash, None)).collect(),
            ..Committers::default()
        };
        let used = Used { texts: texts(0..3).collect(), ..Used::default() };
        committers.shorten(&used, 2);
        assert_eq!(committers.own, ["0", "1", "2", "4", "5"]);
        assert_eq!(committers.others.len(), 5);
        // More than there may be: they would be told again each time.
        committers.shorten(&used, 0);
        assert_eq!(committers.own, ["0", "1", "2"]);
        assert_eq!(committers.others.len(), 3);
    }
}
