//! The part of a sync that asks who committed memories, and withholds what the user does not take unseen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use memory_store::layout::Tree;
use memory_store::suspicion::Withholding;

use super::{Run, SyncOptions};
use crate::pulled::{Judge, Limits, Unchecked};

impl Run<'_> {
    /// What is withheld in any of the working trees, before memories are written.
    pub(super) fn withheld_before(&mut self) -> Result<Withholding> {
        let mut withheld = Withholding::new();
        if Limits::read(&self.home, &self.settings)?.hold() {
            self.judge()?.values().for_each(|of_tree| withheld.add(of_tree));
        }
        Ok(withheld)
    }

    /// Looks who committed the memories of the working trees, after the last of them was written.
    pub(super) fn withhold(&mut self) -> Result<&BTreeMap<PathBuf, Arc<Withholding>>> {
        let withheld = match self.withheld.take() {
            Some(withheld) => withheld,
            None => {
                let withheld = self.judge()?;
                let unchecked = match &mut self.judge {
                    Some(judge) => judge.finish(self.options.now).map(|()| judge.unchecked())?,
                    None => Unchecked::default(),
                };
                if let Some(trouble) = self.judge.as_ref().and_then(Judge::trouble) {
                    self.warn(vec![format!("{trouble}; what may be of others is held")]);
                }
                self.signatures_wait = unchecked.waiting > 0;
                self.warn_of(unchecked);
                withheld
            }
        };
        Ok(self.withheld.insert(withheld))
    }

    /// Asks the one judge of this run, who looks only at what changed since the last question.
    fn judge(&mut self) -> Result<BTreeMap<PathBuf, Arc<Withholding>>> {
        let SyncOptions { dirs, tree, now, .. } = *self.options;
        let judge = match &mut self.judge {
            Some(judge) => judge,
            none => none.insert(Judge::open(dirs, tree, &self.settings)?),
        };
        let judged = |tree: &Tree| Ok((tree.root.clone(), judge.tree(tree, now)?));
        self.trees.iter().map(judged).collect()
    }

    fn warn_of(&mut self, Unchecked { waiting, late }: Unchecked) {
        let told = [
            (waiting, "are not checked yet; what they brought is held, and the next sync goes on"),
            (
                late,
                "take too long to check; what they brought is held until it is tried again, tomorrow",
            ),
        ];
        let told = told.into_iter().filter(|(count, _)| *count > 0);
        self.warn(
            told.map(|(count, what)| format!("the signatures of {count} commits {what}")).collect(),
        );
    }
}
