//! The part of a sync that learns: the drafts of every session, fresh ones by the rules or a model.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::embed::Table;
use memory_store::index::Index;
use memory_store::layout::Tree;
use rayon::prelude::*;

use super::{LLM_DIR, Run};
use crate::consolidate::{Mined, Relations, ordered};
use crate::discover;
use crate::extract::draft::Draft;
use crate::llm::{self, Model, Surroundings};
use crate::lock::Busy;
use crate::mine::{LATER, MinedFile, Miner, Summary};
use crate::ownership::{Holders, Ownership};
use crate::state::SessionState;

/// Time for which a model is asked before its answers so far are published.
const ASKED_AT_ONCE: Duration = Duration::from_secs(60);
/// Milliseconds without a record after which a session counts as ended.
const QUIET_MS: i64 = 30 * 60 * 1_000;

impl Run<'_> {
    /// The sessions whose records are told apart.
    pub(super) fn holders(&self) -> Holders {
        let sessions = self.state.sessions.iter();
        let sessions = sessions
            .map(|(name, session)| (name.clone(), session.content.clone(), session.last.0))
            .collect();
        Holders { home: self.home.clone(), archive: self.archive.clone(), sessions }
    }

    /// What is still good of what was mined from each session.
    pub(super) fn known(&self, ownership: &Ownership) -> Vec<KnownSession> {
        let miner = self.miner(ownership);
        let kinds = &self.settings.kinds;
        let known = |(name, session): (&String, &SessionState)| {
            let key = miner.key(name, session, ownership.digest(name));
            let later = Miner::later(&key);
            let is_good = |summary: &&Summary| {
                (summary.key == key || summary.key == later) && summary.kinds == *kinds
            };
            let summary = session.mined.as_ref().filter(is_good).cloned();
            let mined = if summary.is_none() {
                miner.load(name, &key).or_else(|| miner.load(name, &later))
            } else {
                None
            };
            let summary = summary.or_else(|| Some(mined.as_ref()?.summary(kinds)));
            KnownSession { name: name.clone(), key, summary, mined }
        };
        self.state.sessions.par_iter().map(known).collect()
    }

    /// Writes down what was collected and whose turns the index lacks, so that a run that is killed does not lose
    /// them. Until here what it collected counts as new to the next one.
    pub(super) fn note_pending(
        &mut self,
        known: &[KnownSession],
        changed: &BTreeSet<String>,
    ) -> Result<()> {
        let stale = known.iter().filter(|known| known.summary.is_none());
        let stale = stale.map(|known| known.name.clone());
        let unindexed = |tree: &Tree| {
            let state = self.options.dirs.tree(&tree.root);
            let indexes = [state.index(), state.thinking()];
            !indexes.iter().all(|folder| matches!(Index::open(folder), Ok(Some(_))))
        };
        let cut_otherwise = self.state.terms != memory_store::text::VERSION;
        let all_turns = self.state.all_turns || cut_otherwise || self.trees.iter().any(unindexed);
        self.state.all_turns = all_turns;
        self.state.pending.extend(stale);
        self.state.pending.extend(changed.iter().cloned());
        self.state.write(&self.home)
    }

    /// The language model that the settings name. Without it, or when something stands in its way,
    /// the rules do it alone.
    fn model(&self, warnings: &mut Vec<String>) -> Option<Model> {
        let cache = self.home.0.join(LLM_DIR);
        let roots: Vec<PathBuf> = self.trees.iter().map(|tree| tree.root.clone()).collect();
        let surroundings = Surroundings {
            ollama_host: self.options.ollama_host,
            cache_dir: &cache,
            ledger: Some(llm::usage::ledger(self.options.dirs)),
            roots: &roots,
            now: self.options.now,
        };
        match Model::open_in(&self.settings, &surroundings) {
            Ok(model) => model,
            Err(reason) => {
                warnings.push(format!("{reason}. The rules do it alone."));
                None
            }
        }
    }

    /// How the drafts of all sessions relate, as the model tells; nothing where there is none.
    pub(super) fn relations(&mut self, mined: &[Mined]) -> Relations {
        let drafts = ordered(mined, &self.settings);
        // Drafts of the rules alone are left to the rules.
        let drafts: Vec<&Draft> =
            drafts.into_iter().filter(|draft| draft.importance.is_some()).collect();
        if drafts.is_empty() {
            return Relations::default();
        }
        let mut warnings = Vec::new();
        let mut relations = Relations::default();
        if let Some(mut model) = self.model(&mut warnings) {
            self.options.progress.stage("comparing", 0);
            let table = Table::installed(self.options.dirs);
            let embed = |text: &str| table.as_ref()?.embed(text).ok().flatten();
            let project = self.options.tree.project;
            model.ask_until(Some(Instant::now() + ASKED_AT_ONCE));
            relations = model.relations(project, &drafts, &embed, &mut warnings);
        }
        self.warn(warnings);
        relations
    }

    /// Whether a session has ended, as far as can be told, or a person waits for what it holds: a model
    /// is asked with a session's end in sight.
    pub(super) fn is_quiet(&self, last: Option<Timestamp>) -> bool {
        matches!(self.options.busy, Busy::Wait(_))
            || last.is_none_or(|last| self.options.now.0 - last.0 >= QUIET_MS)
    }

    /// Whether a session that a model has not read to its end may be asked about now.
    pub(super) fn anything_to_ask(&self) -> bool {
        let is_due = |session: &SessionState| {
            let summary = session.mined.as_ref();
            summary.is_some_and(|summary| summary.key.starts_with(LATER))
                && self.is_quiet(Some(session.last))
        };
        self.settings.llm.is_some() && self.state.sessions.values().any(is_due)
    }

    pub(super) fn miner<'m>(&'m self, ownership: &'m Ownership) -> Miner<'m> {
        let named = self.state.sessions.values().filter(|session| session.from_folder);
        let cwds = named.flat_map(|session| session.cwds.iter().map(String::as_str));
        Miner {
            home: &self.home,
            archive: &self.archive,
            territory: &self.territory,
            folder_root: discover::common_root(cwds),
            ownership,
            redact: &self.redactor,
            model: self.settings.llm.as_ref().map(|llm| {
                // What was set aside is asked about again where somebody wants that.
                let retries = match llm::aside::retries(&self.home.0.join(LLM_DIR)) {
                    0 => String::new(),
                    retries => format!("#{retries}"),
                };
                format!("{}/{}{retries}", llm.provider, llm.model)
            }),
        }
    }

    /// Mines the sessions of which nothing is good any more, and remembers what all of them amount to.
    pub(super) fn mine(&mut self, ownership: &Ownership, known: &mut [KnownSession]) -> Result<()> {
        let miner = self.miner(ownership);
        let roots = miner.roots();
        let mut warnings = Vec::new();
        let mut model = self.model(&mut warnings);
        // A model reads the newest first: they matter most to whoever works now.
        let last = |name: &str| self.state.sessions.get(name).map(|session| session.last);
        let is_due = |known: &KnownSession| match &known.summary {
            None => true,
            Some(summary) => {
                model.is_some()
                    && summary.key.starts_with(LATER)
                    && self.is_quiet(last(&known.name))
            }
        };
        let mut stale: Vec<&mut KnownSession> =
            known.iter_mut().filter(|known| is_due(known)).collect();
        if model.is_some() {
            stale.sort_by_key(|known| Reverse(last(&known.name)));
        }
        self.options.progress.stage("learning", stale.len());
        let until = Instant::now() + ASKED_AT_ONCE;
        let mined: Vec<Option<MinedFile>> = match &mut model {
            None => stale
                .par_iter()
                .map(|known| {
                    let mined = miner.mine(&known.name, &known.key, &roots);
                    self.options.progress.step();
                    mined.map(Some)
                })
                .collect::<Result<_>>()?,
            // One question at a time: the model has the machine's cores for itself.
            Some(model) => stale
                .iter()
                .map(|known| {
                    self.options.progress.step();
                    let is_quiet = self.is_quiet(last(&known.name));
                    model.ask_until(Some(if is_quiet { until } else { Instant::now() }));
                    // Without time it would say what it said before.
                    match known.summary.is_some() && !model.has_time() {
                        true => Ok(None),
                        false => miner
                            .ask(&known.name, &known.key, &roots, model, &mut warnings)
                            .map(Some),
                    }
                })
                .collect::<Result<Vec<Option<MinedFile>>>>()?,
        };
        let asked = model.as_ref().map_or(0, Model::questions);
        let reads = model.is_some();
        self.report.sessions_mined += mined.iter().flatten().count();
        warnings.extend(mined.iter().flatten().filter_map(|file| file.failure.clone()));
        for (known, mined) in stale.iter_mut().zip(mined) {
            let Some(mined) = mined else { continue };
            known.summary = Some(mined.summary(&self.settings.kinds));
            known.mined = Some(mined);
        }
        let waits = |known: &&KnownSession| {
            let summary = known.summary.as_ref();
            summary.is_some_and(|summary| summary.key.starts_with(LATER))
        };
        let asked_later = if reads { known.iter().filter(waits).count() } else { 0 };
        self.report.questions += asked;
        self.report.asked_later = asked_later;
        for known in known {
            if let Some(session) = self.state.sessions.get_mut(&known.name) {
                session.mined.clone_from(&known.summary);
            }
        }
        self.warn(warnings);
        Ok(())
    }

    /// The drafts of all sessions whose turns are there.
    pub(super) fn drafts(
        &mut self,
        ownership: &Ownership,
        known: Vec<KnownSession>,
    ) -> Result<Vec<MinedFile>> {
        let miner = self.miner(ownership);
        let roots = miner.roots();
        // What was kept of one may be lost. Where a model helps, it is asked again the next time.
        let key_of_rules = |key| if miner.model.is_none() { key } else { String::new() };
        let all = |KnownSession { name, key, summary: _, mined }| match mined
            .or_else(|| miner.load(&name, &key))
        {
            Some(mined) => Ok((mined, None)),
            None => Ok((miner.mine(&name, &key_of_rules(key), &roots)?, Some(name))),
        };
        let all: Vec<_> = known.into_par_iter().map(all).collect::<Result<_>>()?;
        let (files, lost): (Vec<MinedFile>, Vec<Option<String>>) = all.into_iter().unzip();
        for name in lost.into_iter().flatten() {
            if let Some(session) = self.state.sessions.get_mut(&name) {
                session.mined = None;
            }
        }
        Ok(files)
    }

    /// The drafts of those whose turns are gone.
    pub(super) fn expired_drafts(&self) -> Vec<MinedFile> {
        let names = self.expired.names();
        names.iter().filter_map(|name| self.expired.load(name)).map(MinedFile::from).collect()
    }

    /// Warns of what was not warned of before: a session that cannot be read is in the way more than once.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
        }
    }
}

/// A session and what was mined from it.
#[derive(Debug)]
pub(super) struct KnownSession {
    /// The name of its archive file.
    pub name: String,
    /// What it is mined from and by.
    pub key: String,
    /// What that amounts to, where it is known.
    pub summary: Option<Summary>,
    /// What was found, where it was looked at.
    pub mined: Option<MinedFile>,
}
