//! The part of a sync that consolidates drafts and has the ledger write the files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use memory_store::Memory;
use memory_store::layout::Tree;
use memory_store::ledger::Ledger;
use memory_store::memory::Status;
use memory_store::reconcile::{self, Desired, GitState, Outcome};
use memory_store::settings::Promote;
use memory_store::store::Store;
use memory_store::trust::Trust;

use super::Run;
use super::names::HiddenNames;
use crate::consolidate::{Mined, Told, consolidate_with};
use crate::mining::MinedFile;
use crate::{git, trust};

impl Run<'_> {
    pub(super) fn write_memories(&mut self, mined: &[MinedFile]) -> Result<Outcome> {
        self.options.progress.stage("writing", 0);
        let all: Vec<Mined> = mined
            .iter()
            .map(|file| Mined {
                session: file.session.clone(),
                turns: file.turns,
                windows: file.windows,
                drafts: file.drafts.clone(),
            })
            .collect();
        let relations = self.relations(&all);
        self.relations_wait = relations.missing > 0;
        let proven = |key: &str| self.purged.has_proven(key);
        let project = self.options.tree.project;
        let told = Told { relations: &relations, proven: &proven };
        let memories = consolidate_with(project, &all, &self.settings, &told);
        let homes: BTreeMap<&str, PathBuf> = mined
            .iter()
            .filter_map(|file| Some((file.session.as_str(), self.territory.root_of(&file.cwd)?)))
            .collect();
        let main = self.trees.first().unwrap_or(self.options.tree);
        let store = Store::open(self.options.dirs, main)?;
        let store = store.clone().judged(Trust::of(&store, &self.settings)?, &self.settings);
        // The archive holds what only this user reads; committed files are held to more.
        let redactor = store.redactor_for_writing(&self.settings)?;
        let mut names = HiddenNames::default();
        if store.root().is_some() {
            names = HiddenNames::open(&self.settings, self.options.ollama_host, &self.home);
        }
        let desired = memories
            .into_iter()
            .map(|mut memory| {
                redactor.redact_memory(&mut memory);
                let is_clean = names.hide(&mut memory, &redactor);
                let mut desired = self.desired(memory, &homes);
                if !is_clean {
                    desired.memory.status = Status::Draft;
                }
                desired
            })
            .collect();
        self.names_wait = names.waiting > 0;
        self.report.warnings.extend(names.warning());
        // First the states, so that what git does during the look is noticed.
        let states = self.git_states()?;
        let Self { options, trees, settings, .. } = self;
        trust::look(options.dirs, trees, settings, options.now)?;
        let lost = RefCell::default();
        let keeps = |memory: &Memory| self.rests_on_lost_turns(memory, mined, &lost);
        let now = self.options.now;
        let outcome =
            reconcile::reconcile_keeping(&store, &redactor, desired, &states, now, &keeps)?;
        self.mark_lost(lost.into_inner())?;
        self.written_to = Some(match outcome.unsettled {
            true => String::new(),
            false => self.fingerprint_of_trees(),
        });
        self.report.written += outcome.written;
        self.report.updated += outcome.updated;
        self.report.removed += outcome.removed;
        self.report.unchanged = outcome.unchanged;
        self.report.tombstoned += outcome.tombstoned;
        self.report.warnings.extend(outcome.refused.iter().cloned());
        Ok(outcome)
    }

    fn desired(&self, mut memory: Memory, homes: &BTreeMap<&str, PathBuf>) -> Desired {
        if self.settings.promote == Promote::Review {
            memory.status = Status::Draft;
        }
        let home = memory.source.session.as_deref().and_then(|session| homes.get(session));
        Desired {
            root: home.cloned().unwrap_or_else(|| self.options.tree.main_root.clone()),
            memory,
        }
    }

    fn git_states(&mut self) -> Result<Vec<GitState>> {
        let ledger = Ledger::open(&self.home)?;
        // One torn line is what a crash leaves.
        if ledger.damaged() > 1 {
            let (path, count) = (self.home.ledger(), ledger.damaged());
            self.warn(vec![format!(
                "{}: {count} lines are damaged; what they said is lost, such as that a memory was deleted",
                path.display()
            )]);
        }
        let heads: BTreeMap<PathBuf, String> = ledger.heads().into_iter().collect();
        let state_of = |tree: &Tree| {
            let head = heads.get(&tree.root).map(String::as_str);
            let state = git::state(&tree.root, head);
            // Branches are only compared with each other; the ledger notes them.
            let clean = |branch: String| self.secrets.comparable(&branch, &self.redactor);
            let branch = state.branch.map(clean).transpose()?;
            Ok(GitState { branch, ..state })
        };
        self.trees.iter().map(state_of).collect()
    }
}
