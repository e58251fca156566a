//! The part of a sync that learns: the drafts of every session, fresh ones by the rules or a model.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::embed::Table;
use memory_store::index::Index;
use memory_store::layout::Tree;
use rayon::prelude::*;

use super::{LLM_DIR, Run};
use crate::collect::discover;
use crate::collect::forks::{Holders, Ownership};
use crate::collect::newest::in_order;
use crate::consolidate::{Mined, Relations, ordered};
use crate::extract::Roots;
use crate::extract::draft::Draft;
use crate::llm::{self, Model, Surroundings, When};
use crate::lock::Busy;
use crate::mining::{ASKED_AGAIN_MAX, LATER, MinedFile, Miner, Prepared};
use crate::state::{SessionState, Summary};
use crate::transcript::parts;

/// Share of the time for which a model is asked before anything is published for the first time.
const FIRST_SHARE: u32 = 2;
/// Sessions that are read from the archive, and by the rules, before a model is asked about them.
const PREPARED_AT_ONCE: usize = 16;
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

    /// Returns the mined findings of each session that are still good.
    pub(super) fn known(&self, ownership: &Ownership) -> Vec<KnownSession> {
        let miner = self.miner(ownership);
        let kinds = &self.settings.kinds;
        let (ends, calm) = (self.ends(), self.calm());
        let known = |(name, session): (&String, &SessionState)| {
            let mut key = miner.key(name, session, ownership.digest(name));
            if let Some(last_part) = ends.last_part(name) {
                key = Miner::with_end(&key, &last_part.content);
                // Until the session rests, the end that was seen last will do.
                let before =
                    session.mined.as_ref().filter(|summary| Miner::is_of(&summary.key, &key));
                if let Some(summary) = before.filter(|_| !calm.is_over(last_part.last)) {
                    key = summary.key.strip_prefix(LATER).unwrap_or(&summary.key).to_owned();
                }
            }
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
        let stale: Vec<String> = stale.map(|known| known.name.clone()).collect();
        // Where a part has other turns, those of later parts are counted otherwise.
        let after = stale.iter().filter(|name| parts::of_name(name).1 > 0).flat_map(|name| {
            let (session, number) = parts::of_name(name);
            let is_later = move |other: &&String| {
                let (of, other) = parts::of_name(other);
                of == session && (other == 0 || other > number)
            };
            self.state.sessions.keys().filter(is_later).cloned()
        });
        let after: Vec<String> = after.collect();
        let unindexed = |tree: &Tree| {
            let state = self.options.dirs.tree(&tree.root);
            let is_there = |folder: PathBuf| matches!(Index::open(&folder), Ok(Some(_)));
            !is_there(state.index()) || self.thinks(tree) && !is_there(state.thinking())
        };
        let cut_otherwise = self.state.terms != memory_store::text::VERSION;
        let all_turns = self.state.all_turns || cut_otherwise || self.trees.iter().any(unindexed);
        self.state.all_turns = all_turns;
        self.state.pending.extend(stale.into_iter().chain(after));
        self.state.pending.extend(changed.iter().cloned());
        self.state.write(&self.home)
    }

    /// Takes the language model that the settings name, which is opened once in a run; to be put back. Without
    /// it, or when something stands in its way, the rules do it alone.
    fn take_model(&mut self, warnings: &mut Vec<String>) -> Option<Model> {
        self.model.take().unwrap_or_else(|| self.open_model(warnings))
    }

    fn open_model(&self, warnings: &mut Vec<String>) -> Option<Model> {
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
        let mut model = self.take_model(&mut warnings);
        if let Some(model) = &mut model {
            self.options.progress.stage("comparing", 0);
            let table = Table::installed(self.options.dirs);
            let embed = |text: &str| table.as_ref()?.embed(text).ok().flatten();
            let project = self.options.tree.project;
            // While sessions wait, relations have what these left of the time.
            model.ask(match self.asked_until {
                Some(until) if self.report.asked_later == 0 => When::OnceUntil(until),
                Some(until) => When::Until(until),
                None => When::Always,
            });
            let before = model.questions();
            relations = model.relations(project, &drafts, &embed, &mut warnings);
            self.report.questions += model.questions() - before;
        }
        self.report.relations_later = relations.later;
        self.model = Some(model);
        self.warn(warnings);
        relations
    }

    /// Whether a session has ended, as far as can be told, or a person waits for what it holds: a model
    /// is asked with a session's end in sight.
    pub(super) fn is_quiet(&self, last: Option<Timestamp>) -> bool {
        let calm = self.calm();
        last.is_none_or(|last| calm.is_over(last))
    }

    fn calm(&self) -> Calm {
        Calm { is_waited_for: matches!(self.options.busy, Busy::Wait(_)), now: self.options.now }
    }

    fn ends(&self) -> Ends<'_> {
        Ends { sessions: &self.state.sessions, are_seen: self.settings.llm.is_some() }
    }

    /// Whether the session that a part is of has ended, as far as can be told.
    fn rests(&self, name: &str) -> bool {
        let (session, _) = parts::of_name(name);
        let sessions = &self.state.sessions;
        let state = sessions.get(session).or_else(|| sessions.get(name));
        self.is_quiet(state.map(|session| session.last))
    }

    /// Whether a session that a model has not read to its end, or with another end in sight, may be asked about now.
    pub(super) fn anything_to_ask(&self) -> bool {
        let is_due = |(name, session): (&String, &SessionState)| {
            let Some(summary) = session.mined.as_ref() else { return false };
            let saw_another_end = || {
                let last_part = self.ends().last_part(name);
                last_part.is_some_and(|part| !Miner::saw_end(&summary.key, &part.content))
            };
            (summary.key.starts_with(LATER) || saw_another_end()) && self.rests(name)
        };
        let waits = self.state.learned.relations_later > 0;
        self.settings.llm.is_some() && (waits || self.state.sessions.iter().any(is_due))
    }

    /// Seconds that a model needs for the sessions that wait for it, by those that it read before.
    fn asking_left_s(&self) -> Option<u64> {
        let waiting = Some(self.report.asked_later as u64).filter(|waiting| *waiting > 0)?;
        let spent = llm::usage::spent(&llm::usage::ledger(self.options.dirs));
        let name =
            self.settings.llm.as_ref().map(|llm| format!("{}/{}", llm.provider, llm.model))?;
        let each = llm::usage::each_session(&spent, &name)?;
        Some(each.usage.millis.saturating_mul(waiting) / 1_000)
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
                // Windows that were set aside are asked about again where somebody wants that.
                let retries = match llm::aside::retries(&self.home.0.join(LLM_DIR)) {
                    0 => String::new(),
                    retries => format!("#{retries}"),
                };
                let context = llm::context_mark(llm);
                format!("{}/{}{context}{retries}", llm.provider, llm.model)
            }),
        }
    }

    /// Mines the sessions of which nothing is good any more, and remembers what all of them amount to.
    pub(super) fn mine(&mut self, ownership: &Ownership, known: &mut [KnownSession]) -> Result<()> {
        let mut warnings = Vec::new();
        let mut model = self.take_model(&mut warnings);
        let miner = self.miner(ownership);
        let roots = miner.roots();
        let asked_before = model.as_ref().map_or(0, Model::questions);
        // The newest come first: they matter most to whoever works now, and a run that is killed has them.
        let last = |name: &str| self.state.sessions.get(name).map(|session| session.last);
        let is_due = |known: &KnownSession| match &known.summary {
            None => true,
            Some(summary) => {
                model.is_some() && summary.key.starts_with(LATER) && self.rests(&known.name)
            }
        };
        let count = known.len();
        let mut stale: Vec<&mut KnownSession> =
            known.iter_mut().filter(|known| is_due(known)).collect();
        stale.sort_by_key(|known| Reverse(last(&known.name)));
        // Somebody who has nothing yet waits for the first part.
        let shares = if self.state.published.is_empty() { FIRST_SHARE } else { 1 };
        let until = Instant::now() + self.options.asked_at_once / shares;
        let mined: Vec<Option<MinedFile>> = match &mut model {
            None => {
                self.options.progress.stage("learning", stale.len());
                let mine = |known: &&mut KnownSession| {
                    let mined = miner.mine(&known.name, &known.key, &roots);
                    self.options.progress.step();
                    mined.map(Some)
                };
                in_order(&stale, mine).into_iter().collect::<Result<_>>()?
            }
            Some(model) => {
                let reading = Reading { miner: &miner, roots: &roots, until, all: count };
                self.read_by(model, &reading, &stale, &mut warnings)?
            }
        };
        self.asked_until = Some(until);
        let asked = model.as_ref().map_or(0, Model::questions) - asked_before;
        let reads = model.is_some();
        warnings.extend(model.as_ref().and_then(Model::unshown));
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
        self.model = Some(model);
        self.report.questions += asked;
        self.report.asked_later = asked_later;
        self.report.asking_left_s = self.asking_left_s();
        for known in known {
            if let Some(session) = self.state.sessions.get_mut(&known.name) {
                session.mined.clone_from(&known.summary);
            }
        }
        self.warn(warnings);
        Ok(())
    }

    /// Has a model read sessions, one after the other, as long as there is time; of the rest those are mined of
    /// which nothing is known. Returns what was mined of each, `None` where it stays as it was.
    fn read_by(
        &self,
        model: &mut Model,
        reading: &Reading<'_>,
        stale: &[&mut KnownSession],
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Option<MinedFile>>> {
        let Reading { miner, roots, until, all } = *reading;
        let is_quiet = |known: &KnownSession| self.rests(&known.name);
        let progress = self.options.progress;
        progress.resume("asking", all - stale.len(), all);
        let mut mined = Vec::with_capacity(stale.len());
        let mut is_late = false;
        for portion in stale.chunks(PREPARED_AT_ONCE) {
            // Without time it would say what it said before.
            let stays = |known: &KnownSession, is_late: bool| is_late && known.summary.is_some();
            let prepare = |known: &&mut KnownSession| {
                (!stays(known, is_late)).then(|| miner.prepare(&known.name, roots)).transpose()
            };
            // One question at a time: the model has the machine's cores for itself.
            let prepared: Vec<Option<Prepared>> =
                portion.par_iter().map(prepare).collect::<Result<_>>()?;
            for (known, prepared) in portion.iter().zip(prepared) {
                let is_over = model.is_down() || model.was_asked() && Instant::now() >= until;
                if is_over && !is_late {
                    is_late = true;
                    let rest = stale[mined.len()..].iter();
                    progress
                        .stage("learning", rest.filter(|known| known.summary.is_none()).count());
                }
                let Some(prepared) = prepared.filter(|_| !stays(known, is_late)) else {
                    mined.push(None);
                    continue;
                };
                model.ask(if is_quiet(known) { When::OnceUntil(until) } else { When::Never });
                let file = miner.ask(&known.name, &known.key, prepared, model, warnings)?;
                if is_late || !file.key.starts_with(LATER) {
                    progress.step();
                }
                mined.push(Some(file));
            }
        }
        Ok(mined)
    }

    /// The drafts of all sessions whose turns are there.
    pub(super) fn drafts(
        &mut self,
        ownership: &Ownership,
        known: Vec<KnownSession>,
    ) -> Result<Vec<MinedFile>> {
        let miner = self.miner(ownership);
        let roots = miner.roots();
        // The mined file of a session may be lost. Where a model helps, it is asked again the next time.
        let key_of_rules = |key| if miner.model.is_none() { key } else { String::new() };
        let all = |KnownSession { name, key, summary: _, mined }| match mined
            .or_else(|| miner.load(&name, &key))
            // One that a model has not read to its end stays as it is until there is time for it.
            .or_else(|| miner.load(&name, &Miner::later(&key)))
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

/// Tells whether sessions rest.
#[derive(Clone, Copy)]
struct Calm {
    /// Whether a person waits for what they hold.
    is_waited_for: bool,
    now: Timestamp,
}

impl Calm {
    fn is_over(self, last: Timestamp) -> bool {
        self.is_waited_for || self.now.0 - last.0 >= QUIET_MS
    }
}

/// Finds the ends of sessions that are kept in parts.
#[derive(Clone, Copy)]
struct Ends<'a> {
    sessions: &'a BTreeMap<String, SessionState>,
    /// Whether a model is shown them.
    are_seen: bool,
}

impl<'a> Ends<'a> {
    /// Returns the part that a session goes on in, for a closed part that a model is to see with the end of the
    /// session; `None` of any other, and where no model helps.
    fn last_part(self, name: &str) -> Option<&'a SessionState> {
        let (session, number) = parts::of_name(name);
        if number == 0 || !self.are_seen {
            return None;
        }
        let all = parts::name(session, 1)..=parts::name(session, parts::NUMBER_MAX);
        let (last, _) = self.sessions.range(all).next_back()?;
        let is_near = parts::of_name(last).1 - number < ASKED_AGAIN_MAX;
        self.sessions.get(session).filter(|_| is_near)
    }
}

/// Inputs of a model that reads sessions.
#[derive(Clone, Copy)]
struct Reading<'a> {
    miner: &'a Miner<'a>,
    roots: &'a Roots,
    /// When it is asked no more.
    until: Instant,
    /// All sessions of the project.
    all: usize,
}

/// A session and what was mined from it.
#[derive(Debug)]
pub(super) struct KnownSession {
    /// The name of its archive file.
    pub name: String,
    /// Key of the session's content and of the extractor.
    pub key: String,
    /// Summary of the mined drafts, where it is known.
    pub summary: Option<Summary>,
    /// The mined file, where it was looked at.
    pub mined: Option<MinedFile>,
}
