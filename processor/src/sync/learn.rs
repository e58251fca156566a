//! The part of a sync that learns: the drafts of every session, fresh ones by the rules or a model.

use std::collections::BTreeSet;

use anyhow::Result;
use memory_store::index::Index;
use memory_store::layout::Tree;
use rayon::prelude::*;

use super::{LLM_DIR, Run};
use crate::discover;
use crate::llm::Model;
use crate::mine::{MinedFile, Miner};
use crate::ownership::{Holder, Key, Ownership, keys, load_keys, store_keys};
use crate::state::SessionState;

impl Run<'_> {
    /// Whose record is whose.
    pub(super) fn ownership(&self) -> Result<Ownership> {
        let holders: Vec<Result<Holder>> = self
            .state
            .sessions
            .par_iter()
            .map(|(name, session)| {
                Ok(Holder {
                    name: name.clone(),
                    keys: self.keys(name, session)?,
                    last: session.last.0,
                })
            })
            .collect();
        Ok(Ownership::new(holders.into_iter().collect::<Result<_>>()?))
    }

    fn keys(&self, name: &str, session: &SessionState) -> Result<Vec<Key>> {
        if let Some(keys) = load_keys(&self.home, name, &session.content) {
            return Ok(keys);
        }
        // One that cannot be read now is reported by mining; until then it claims nothing.
        let Ok(Some(file)) = self.archive.load(name) else { return Ok(Vec::new()) };
        let keys = keys(&file.records);
        store_keys(&self.home, name, &session.content, &keys)?;
        Ok(keys)
    }

    /// What was mined from each session and is still good.
    pub(super) fn known(&self, ownership: &Ownership) -> Result<Vec<KnownSession>> {
        let miner = self.miner(ownership);
        self.state
            .sessions
            .par_iter()
            .map(|(name, session)| {
                let key = self.mined_key(&miner, name, session)?;
                let mined = miner.load(name, &key);
                Ok(KnownSession { name: name.clone(), key, mined })
            })
            .collect()
    }

    /// Writes down whose turns the index lacks, so that a run that is killed does not lose them.
    pub(super) fn note_pending(
        &mut self,
        known: &[KnownSession],
        changed: &BTreeSet<String>,
    ) -> Result<()> {
        let stale = known.iter().filter(|known| known.mined.is_none());
        let stale = stale.map(|known| known.name.clone());
        let unindexed = |tree: &Tree| {
            let state = self.options.dirs.tree(&tree.root);
            let indexes = [state.index(), state.thinking()];
            !indexes.iter().all(|folder| matches!(Index::open(folder), Ok(Some(_))))
        };
        let all_turns = self.state.all_turns || self.trees.iter().any(unindexed);
        let before = (self.state.all_turns, self.state.pending.clone());
        self.state.all_turns = all_turns;
        self.state.pending.extend(stale);
        self.state.pending.extend(changed.iter().cloned());
        if before != (self.state.all_turns, self.state.pending.clone()) {
            self.state.write(&self.home)?;
        }
        Ok(())
    }

    /// The language model that the settings name. Without it, or when something stands in its way,
    /// the rules do it alone.
    fn model(&self, warnings: &mut Vec<String>) -> Option<Model> {
        let cache = self.home.0.join(LLM_DIR);
        match Model::open(&self.settings, self.options.ollama_host, &cache) {
            Ok(model) => model,
            Err(reason) => {
                warnings.push(format!("{reason}. The rules do it alone."));
                None
            }
        }
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
            model: self.settings.llm.as_ref().map(|llm| format!("{}/{}", llm.provider, llm.model)),
        }
    }

    fn mined_key(&self, miner: &Miner<'_>, name: &str, session: &SessionState) -> Result<String> {
        let foreign = match miner.ownership.shares(name) {
            true => miner.ownership.digest(name, &self.keys(name, session)?),
            false => String::new(),
        };
        Ok(miner.key(name, session, &foreign))
    }

    /// The drafts of all sessions.
    pub(super) fn mine(
        &mut self,
        ownership: &Ownership,
        known: Vec<KnownSession>,
    ) -> Result<Vec<MinedFile>> {
        let miner = self.miner(ownership);
        let roots = miner.roots();
        let mut warnings = Vec::new();
        self.options.progress.stage("learning", known.len());
        let mut model = self.model(&mut warnings);
        let fresh = |KnownSession { name, key, mined }| {
            let fresh = mined.is_none();
            let mined = mined.map_or_else(|| miner.mine(&name, &key, &roots), Ok);
            self.options.progress.step();
            mined.map(|mined| (mined, fresh))
        };
        let mined: Vec<(MinedFile, bool)> = match &mut model {
            None => known.into_par_iter().map(fresh).collect::<Result<_>>()?,
            // One question at a time: the model has the machine's cores for itself.
            Some(model) => known
                .into_iter()
                .map(|KnownSession { name, key, mined }| {
                    let fresh = mined.is_none();
                    let mined = mined
                        .map_or_else(|| miner.ask(&name, &key, &roots, model, &mut warnings), Ok);
                    self.options.progress.step();
                    mined.map(|mined| (mined, fresh))
                })
                .collect::<Result<_>>()?,
        };
        self.report.sessions_mined += mined.iter().filter(|(_, fresh)| *fresh).count();
        let mut files: Vec<MinedFile> = mined.into_iter().map(|(mined, _)| mined).collect();
        warnings.extend(files.iter().filter_map(|file| file.failure.clone()));
        self.warn(warnings);
        for name in self.expired.names() {
            files.extend(self.expired.load(&name).map(MinedFile::from));
        }
        self.report.turns = files.iter().map(|file| file.turns).sum();
        Ok(files)
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

/// A session and what was mined from it, where that is still good.
#[derive(Debug)]
pub(super) struct KnownSession {
    /// The name of its archive file.
    pub name: String,
    /// What it is mined from and by.
    pub key: String,
    /// What was found.
    pub mined: Option<MinedFile>,
}
