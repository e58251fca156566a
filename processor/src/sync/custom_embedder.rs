//! The part of a sync that gives memories vectors of the second space.

use std::time::Instant;

use anyhow::Result;
use memory_store::layout::TreeDir;

use super::Run;
use super::embed::time_to_embed;
use crate::publish::custom_embedder::{Update, update};

impl Run<'_> {
    /// Brings the second space up to date. Says whether anything changed.
    pub(super) fn embed_second(&mut self) -> Result<bool> {
        let dirs = self.options.dirs;
        let trees = self.trees.iter().map(|tree| dirs.tree(&tree.root));
        let states: Vec<TreeDir> = trees.chain([dirs.user_state()]).collect();
        let what = Update {
            settings: &self.settings,
            ollama_host: self.options.ollama_host,
            caches: &self.home.vectors(),
            afresh: self.options.afresh,
            until: Instant::now() + time_to_embed(self.options.busy),
            progress: self.options.progress,
        };
        let updated = update(&what, &states)?;
        self.report.second_embedded = updated.embedded;
        self.report.second_waits = updated.waiting > 0;
        let waiting = updated.waiting;
        if let (Some(problem), true) = (updated.problem, waiting > 0) {
            self.report.warnings.push(format!(
                "{waiting} memories wait for their vectors of the second space: {problem}. Search \
                 does without them."
            ));
        }
        Ok(updated.changed)
    }
}
