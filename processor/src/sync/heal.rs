//! The part of a sync that looks whether the indexes can be read, and makes those again that cannot.

use std::path::PathBuf;

use anyhow::{Error, Result};
use memory_store::index::health::{Depth, inspect};
use memory_store::layout::Tree;
use memory_store::thinking;

use super::Run;
use super::stage::{StagedTrees, TURNS_AT_ONCE};
use crate::collect::forks::Ownership;

impl Run<'_> {
    /// Looks at the indexes; those that cannot be read are made again by this run. Says whether all can.
    pub(super) fn indexes_are_sound(&mut self, depth: Depth) -> bool {
        let dirs = self.options.dirs;
        let thinking: Vec<PathBuf> =
            self.trees.iter().map(|tree| dirs.tree(&tree.root).thinking()).collect();
        let is_thinking = |folder: &PathBuf| thinking.contains(folder);
        let mut all = true;
        for folder in self.indexes() {
            let health = inspect(&folder, depth);
            if health.is_sound() {
                continue;
            }
            all = false;
            // Where there is none it is published for the first time.
            if folder.exists() {
                self.report.healed += 1;
            }
            // Thinking is published with the turns alone.
            self.state.all_turns |= health.turns.is_some() || is_thinking(&folder);
            self.distrusted.insert(folder);
        }
        all
    }

    /// Whether thoughts are indexed in a working tree: somebody searched them.
    pub(super) fn thinks(&self, tree: &Tree) -> bool {
        thinking::is_wanted(&self.options.dirs.tree(&tree.root))
    }

    /// Removes the indexes of what the model thought that nobody asks for.
    pub(super) fn remove_unwanted(&self) {
        for tree in self.trees.iter().filter(|tree| !self.thinks(tree)) {
            // A folder that cannot be removed now goes with the next run.
            let _ = std::fs::remove_dir_all(self.options.dirs.tree(&tree.root).thinking());
        }
    }

    /// Lets this run make everything that it publishes again, and read nothing of what it replaces.
    pub(super) fn distrust_indexes(&mut self) {
        self.state.all_turns = true;
        self.distrusted.extend(self.indexes());
    }

    /// Brings the turns that the indexes lack on their way. When that meets damage, all turns are brought from the
    /// archive: an inspection of headers does not find everything.
    pub(super) fn stage_what_lacks(&mut self, ownership: &Ownership) -> Result<StagedTrees> {
        match self.stage(ownership, TURNS_AT_ONCE) {
            Err(error) if is_damage(&error) && !self.state.all_turns => {
                self.report.healed += 1;
                self.distrust_indexes();
                self.stage(ownership, TURNS_AT_ONCE)
            }
            staged => staged,
        }
    }

    /// Settles, and where that meets damage makes the indexes again before.
    pub(super) fn settle_or_heal(&mut self) -> Result<bool> {
        match self.settle() {
            Err(error) if is_damage(&error) => {
                self.report.healed += 1;
                self.distrust_indexes();
                self.learn_and_expire(&std::collections::BTreeSet::new())?;
                self.settle().map(|_| true)
            }
            settled => settled,
        }
    }
}

/// Whether an error is about a file of an index: such a file is derived, and can be made again.
fn is_damage(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(memory_store::Error::Index { .. }))
}

/// Folders whose files are replaced without a look at what is in them.
pub(super) type Distrusted = std::collections::BTreeSet<PathBuf>;
