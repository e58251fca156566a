//! The part of a sync that tells whether memories may stay as they are: when a session goes on and its drafts
//! do not change, its turns are added to the index, and nothing is read that grows with the project.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{Run, StagedTree};
use crate::collect::forks::Ownership;
use crate::consolidate::room;
use crate::file_listing_stamp;
use crate::state::Summary;

impl Run<'_> {
    /// A hash of what memories follow from, but for what is around the sessions (see `fingerprint`): the drafts, and
    /// how many of them are kept.
    pub(super) fn inputs(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        // The start block depends on age, though slowly.
        add(&self.options.now.date());
        add(&file_listing_stamp::of_folder(self.expired.folder()));
        for root in self.territory.roots() {
            add(&root.to_string_lossy());
        }
        let expired: BTreeSet<String> = self.expired.names().into_iter().collect();
        let mut sessions: BTreeMap<&str, (usize, usize, bool)> = BTreeMap::new();
        for (name, summary) in self.summaries() {
            let Summary { session, turns, cwd, drafts, digest, .. } = summary;
            [name, session, cwd, digest].into_iter().for_each(&mut add);
            let sum = sessions.entry(session).or_default();
            *sum = (sum.0 + turns, sum.1 + drafts, sum.2 || expired.contains(name));
        }
        let (mut all, mut kept) = (0, 0);
        for (session, (turns, drafts, any_expired)) in sessions {
            all += drafts;
            kept += room(turns, self.settings.memories_per_session);
            let exact = if any_expired { turns } else { 0 };
            add(&format!("{session} {exact}"));
        }
        // Of more than there are no more are kept.
        add(&kept.min(all).to_string());
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Turns of the sessions that are archived.
    pub(super) fn archived_turns(&self) -> usize {
        self.summaries().map(|(_, summary)| summary.turns).sum()
    }

    fn summaries(&self) -> impl Iterator<Item = (&str, &Summary)> {
        let sessions = self.state.sessions.iter();
        sessions.filter_map(|(name, session)| Some((name.as_str(), session.mined.as_ref()?)))
    }

    /// Whether memories, and all that is published of them, would be as they are.
    pub(super) fn memories_stay(&self, inputs: &str) -> bool {
        self.around_stays
            && !self.options.afresh
            && !self.state.all_turns
            && self.distrusted.is_empty()
            && self.state.learned.inputs == inputs
            && self.overdue().is_empty()
            && self.report.questions == 0
    }

    /// Publishes the turns that the indexes lack, and nothing else.
    pub(super) fn publish_turns(&mut self, ownership: &Ownership) -> Result<()> {
        self.open_embedding();
        self.unread.clear();
        let mut staged = self.stage_what_lacks(ownership)?;
        self.options.progress.stage("indexing", 0);
        for tree in &self.trees {
            let StagedTree { turns, thoughts } = staged.take(&tree.root);
            for staged in turns.into_iter().chain(thoughts) {
                staged.publish(self.options.now)?;
            }
        }
        let learned = &self.state.learned;
        self.report.memories = learned.memories;
        self.report.unchanged = learned.derived;
        self.report.tombstoned += learned.tombstoned;
        Ok(())
    }
}
