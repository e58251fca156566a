//! A sync: what is new in the transcripts becomes memories and an index.
//!
//! Each step can be repeated: a run that is killed anywhere leaves whole files, and the next one
//! goes on where it was. What is published depends only on what the archive holds, so syncing in
//! any slices ends with the same memories as syncing once. When nothing changed since the last
//! run, nothing is written.

mod embed;
mod fingerprint;
pub mod history;
mod learn;
mod names;
mod second;
mod stage;
mod unchanged;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use memory_store::identity;
use memory_store::index::build::Vectors;
use memory_store::layout::{ProjectDir, STORE_DIR, Tree, UserDirs};
use memory_store::ledger::{self, Desired, GitState, Ledger, Outcome};
use memory_store::left::LeftSession;
use memory_store::memory::Status;
use memory_store::redact::Redactor;
use memory_store::settings::{Promote, Settings};
use memory_store::stamp::Stamp;
use memory_store::store::{Listing, Store};
use memory_store::suspicion::{Quarantine, Withholding};
use memory_store::{Memory, Timestamp, settings_file};
use serde::Serialize;

use crate::archive::{Archive, Entry, is_damaged};
use crate::collect::{Collected, Collector, SessionRead, changed};
use crate::consolidate::{Mined, Told, consolidate_with};
use crate::discover::{self, Found, Territory, Transcript};
use crate::embed::Embedding;
use crate::expired::{Expired, Remains};
use crate::ignore::Ignore;
use crate::known::Known;
use crate::lock::{Busy, Lock};
use crate::mine::{self, MinedFile};
use crate::ownership::Ownership;
use crate::progress::Progress;
use crate::publish::{self, Publication};
use crate::pulled::{Judge, Limits, Unchecked};
use crate::purged::Purged;
use crate::second::hook_address;
use crate::state::{Learned, SessionState, State, read_roots, write_json, write_roots};
use crate::transcript::read::Counts;
use crate::{git, left, retention, trees};
use names::HiddenNames;
use stage::{StagedTree, StagedTrees, TURNS_AT_ONCE};

/// The folder below the project's private one in which a model's answers are kept.
pub(crate) const LLM_DIR: &str = "llm";

/// How long a sync that is under way is waited for by one that a person started.
pub const BUSY_MAX: Duration = Duration::from_secs(600);

/// Nanoseconds of a millisecond.
const NS_OF_MS: i128 = 1_000_000;

/// What a sync is asked to do.
pub struct SyncOptions<'a> {
    /// The user's folders.
    pub dirs: &'a UserDirs,
    /// A working tree of the project.
    pub tree: &'a Tree,
    /// A folder of transcripts to take as this project's, besides Claude Code's own.
    pub from: Option<&'a Path>,
    /// The time.
    pub now: Timestamp,
    /// Told how far it is.
    pub progress: &'a dyn Progress,
    /// What to do when another sync is at work.
    pub busy: Busy,
    /// Whether to take everything up again, although nothing seems to have changed.
    pub afresh: bool,
    /// The variable `OLLAMA_HOST`, for settings that name a model but no host.
    pub ollama_host: Option<&'a str>,
}

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SyncReport {
    /// Whether another sync was at work for longer than was waited, so that this one did nothing.
    pub busy: bool,
    /// Whether nothing had changed.
    pub nothing_new: bool,
    /// Transcripts of the project.
    pub transcripts: usize,
    /// Sessions that something new was read of.
    pub sessions_read: usize,
    /// Sessions that were mined.
    pub sessions_mined: usize,
    /// Sessions in the archive.
    pub sessions: usize,
    /// Their turns.
    pub turns: usize,
    /// Lines read.
    pub lines: u64,
    /// Lines that were damaged or too long.
    pub lines_skipped: u64,
    /// Memories written for the first time.
    pub written: usize,
    /// Memories whose text changed.
    pub updated: usize,
    /// Memories that nothing speaks for any more.
    pub removed: usize,
    /// Memories left as they were.
    pub unchanged: usize,
    /// Memories not written because a person deleted them.
    pub tombstoned: usize,
    /// Memories in the main working tree's store.
    pub memories: usize,
    /// Texts that the transformer embedded.
    pub embedded: usize,
    /// Whether more texts wait for it.
    pub embedding_waits: bool,
    /// Texts that the model of the second space embedded.
    pub second_embedded: usize,
    /// Whether more texts wait for it.
    pub second_waits: bool,
    /// Questions about sessions that a model answered.
    pub questions: usize,
    /// Sessions that it has not read to their end yet.
    pub asked_later: usize,
    /// What went wrong without stopping the rest; one line each.
    pub warnings: Vec<String>,
    /// Milliseconds it took.
    pub millis: u64,
}

impl SyncReport {
    /// Whether a model was asked and is to be asked more.
    pub fn goes_on(&self) -> bool {
        self.asked_later > 0 && self.questions > 0
    }

    /// Adds what an earlier part of the same sync did.
    fn after(mut self, before: Self) -> Self {
        self.sessions_read += before.sessions_read;
        self.lines += before.lines;
        self.lines_skipped += before.lines_skipped;
        self.written += before.written;
        self.updated += before.updated;
        self.removed += before.removed;
        self.embedded += before.embedded;
        self.second_embedded += before.second_embedded;
        self.questions += before.questions;
        self.nothing_new = false;
        for warning in before.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self
    }
}

/// Brings a project up to date.
pub fn sync(options: &SyncOptions<'_>) -> Result<SyncReport> {
    let started = Instant::now();
    let home = options.dirs.project(options.tree.project);
    let Some(lock) = Lock::take(&home.sync_lock(), options.busy)? else {
        return Ok(SyncReport { busy: true, ..SyncReport::default() });
    };
    let mut report = sync_locked(options, &lock)?;
    // A person waits for all of it, and can use what is published meanwhile.
    while matches!(options.busy, Busy::Wait(_)) && report.goes_on() {
        let before = report.questions;
        report = sync_locked(options, &lock)?.after(report);
        if report.questions == before {
            break;
        }
    }
    report.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// The same for one that holds the project's lock already.
pub(crate) fn sync_locked(options: &SyncOptions<'_>, _lock: &Lock) -> Result<SyncReport> {
    let home = options.dirs.project(options.tree.project);
    trees::review(options.dirs, options.tree.project)?;
    let report = Run::begin(options, home)?.run();
    options.progress.done();
    report
}

/// A sync under way.
struct Run<'a> {
    options: &'a SyncOptions<'a>,
    home: ProjectDir,
    archive: Archive,
    expired: Expired,
    purged: Purged,
    settings: Settings,
    /// For what only this user reads.
    redactor: Redactor,
    trees: Vec<Tree>,
    territory: Territory,
    state: State,
    /// The files of the archive, once what is new was collected.
    entries: Vec<Entry>,
    /// Sessions whose turns the index lacks because they cannot be read now.
    unread: BTreeSet<String>,
    /// When the newest transcript of any project was written.
    newest: Option<Timestamp>,
    /// Whether all but the sessions is as the last run left it.
    around_stays: bool,
    /// Whether memories wait because names could not be looked for in them.
    names_wait: bool,
    /// Whether a model is to be asked again how drafts relate.
    relations_wait: bool,
    /// Whether memories wait because too many signatures were to be checked.
    signatures_wait: bool,
    /// What the trees were like when their memories were written, or when nothing was to be written; empty
    /// when git was at work then.
    written_to: Option<String>,
    /// What texts are embedded with, once it was looked for.
    embedding: Option<Option<Embedding>>,
    /// Who tells what others committed, once it was asked for.
    judge: Option<Judge<'a>>,
    /// What others committed and is not given, once it was looked at, by the working tree's root.
    withheld: Option<BTreeMap<PathBuf, Arc<Withholding>>>,
    report: SyncReport,
}

impl<'a> Run<'a> {
    fn begin(options: &'a SyncOptions<'a>, home: ProjectDir) -> Result<Self> {
        // Before it is read: what is written meanwhile is another file to those who look later.
        let config = Stamp::of(&options.dirs.config_file());
        let (mut settings, warnings) = settings_file::load(options.dirs, Some(options.tree));
        settings.config = config;
        if let Some(embedder) = &mut settings.embedder {
            embedder.hook_address = hook_address(embedder, options.ollama_host);
        }
        let state = State::read(&home);
        let territory = Territory::new(options.dirs, options.tree, &read_roots(&home));
        let report = SyncReport {
            warnings: warnings.iter().map(ToString::to_string).collect(),
            ..SyncReport::default()
        };
        Ok(Self {
            archive: Archive::open(&home),
            expired: Expired::open(&home),
            purged: Purged::read(&home),
            trees: trees::present(options.dirs, options.tree),
            options,
            home,
            redactor: Redactor::private(&settings),
            settings,
            territory,
            state,
            entries: Vec::new(),
            unread: BTreeSet::new(),
            newest: None,
            around_stays: false,
            names_wait: false,
            relations_wait: false,
            signatures_wait: false,
            written_to: None,
            embedding: None,
            judge: None,
            withheld: None,
            report,
        })
    }

    fn run(mut self) -> Result<SyncReport> {
        let inboxes = self.inboxes();
        let mut facts = TreeFacts::ask(&inboxes);
        self.archive.sweep();
        let changed = self.collect(&inboxes, &mut facts)?;
        self.publish_left(&inboxes, facts.get(), &[])?;
        let same = self.is_as_published() && changed.is_empty();
        // Turns grow old where nothing happens, too.
        let nothing_is_due = self.overdue().is_empty() && !self.anything_to_ask();
        if same && !self.options.afresh && nothing_is_due {
            self.finish(&inboxes)?;
            // The last run may have left texts for this one.
            self.report.nothing_new = !self.settle()?;
            if !self.report.nothing_new {
                self.state.published = self.fingerprint();
            }
            // Transcripts may have been touched that say the same.
            self.state.write(&self.home)?;
            return Ok(self.report);
        }
        if let Some(mined) = self.learn_and_publish(&changed)?
            && self.expire(&mined)?
        {
            self.learn_and_publish(&BTreeSet::new())?;
        }
        // What was written is part of what the next run compares with.
        self.state.published = self.fingerprint();
        self.state.write(&self.home)?;
        self.finish(&inboxes)?;
        if self.settle()? {
            self.state.published = self.fingerprint();
            self.state.write(&self.home)?;
        }
        Ok(self.report)
    }

    /// Writes where the work was left in each working tree: what is known of the sessions, and what
    /// was `read` a moment ago.
    fn publish_left(
        &self,
        inboxes: &[(Tree, u64)],
        facts: &[left::Facts],
        read: &[&(String, LeftSession)],
    ) -> Result<()> {
        let main = &self.options.tree.main_root;
        let known = self.state.sessions.values().filter_map(|session| session.left.as_ref());
        let known =
            known.filter(|(_, left)| !read.iter().any(|(_, new)| new.session == left.session));
        let sessions: Vec<&(String, LeftSession)> = known.chain(read.iter().copied()).collect();
        for ((tree, inbox_bytes), facts) in inboxes.iter().zip(facts) {
            let here = |cwd: &str| match self.territory.root_of(cwd) {
                Some(root) if self.trees.iter().any(|tree| tree.root == root) => root == tree.root,
                // Its working tree is gone, or on another machine.
                Some(_) | None => tree.root == *main,
            };
            let sessions = sessions.iter().filter(|(cwd, _)| here(cwd));
            let sessions = sessions.map(|(_, left)| left.clone()).collect();
            let mut left = left::left(sessions, facts, self.options.now);
            left.inbox_bytes = *inbox_bytes;
            write_json(&self.options.dirs.tree(&tree.root).left(), &left)?;
        }
        Ok(())
    }

    /// Whether all is as the last run left it. What git brings from here on was not learned from: the next run
    /// looks again.
    fn is_as_published(&mut self) -> bool {
        let trees = self.fingerprint_of_trees();
        let around = self.fingerprint_around(&trees);
        let published = &self.state.published;
        let of_sessions = published.strip_prefix(&around).filter(|_| !around.is_empty());
        self.around_stays = of_sessions.is_some();
        let same = of_sessions.is_some_and(|published| published == self.fingerprint_of_sessions());
        self.written_to = Some(trees);
        same
    }

    /// Learns from what changed and publishes it. Says what was mined from all sessions where that had to be
    /// looked at.
    fn learn_and_publish(&mut self, changed: &BTreeSet<String>) -> Result<Option<Vec<MinedFile>>> {
        let ownership = self.holders().decide_with(&mut self.state.keys);
        let mut known = self.known(&ownership);
        self.note_pending(&known, changed)?;
        self.mine(&ownership, &mut known)?;
        let inputs = self.inputs();
        self.report.turns = self.archived_turns();
        if self.memories_stay(&inputs) {
            self.publish_turns(&ownership)?;
            self.report.turns += self.state.learned.expired_turns;
            self.state.pending = std::mem::take(&mut self.unread);
            return Ok(None);
        }
        self.around_stays = false;
        identity::learn_history(self.options.dirs, self.options.tree, git::observe)?;
        let expired = self.expired_drafts();
        let expired_turns = expired.iter().map(|file| file.turns).sum();
        let mut mined = self.drafts(&ownership, known)?;
        mined.extend(expired);
        self.report.turns = mined.iter().map(|file| file.turns).sum();
        let Outcome { written, updated, unchanged, tombstoned, .. } =
            self.write_memories(&mined)?;
        self.withheld = None;
        let listings = self.publish(&ownership)?;
        self.state.all_turns = false;
        self.state.terms = memory_store::text::VERSION;
        self.state.pending = std::mem::take(&mut self.unread);
        self.report.memories = listings.first().map_or(0, |listing| listing.memories.len());
        let derived = written + updated + unchanged;
        let memories = self.report.memories;
        let inputs = if self.relations_wait { String::new() } else { inputs };
        self.state.learned = Learned { inputs, memories, derived, tombstoned, expired_turns };
        Ok(Some(mined))
    }

    /// Reads what is new; returns the sessions that changed.
    fn collect(
        &mut self,
        inboxes: &[(Tree, u64)],
        facts: &mut TreeFacts,
    ) -> Result<BTreeSet<String>> {
        self.options.progress.stage("looking", 0);
        write_roots(&self.home, self.territory.roots())?;
        let found = discover::ours(self.options.dirs, &self.territory, &mut self.state.seen)?;
        self.newest =
            found.newest_ns.and_then(|ns| i64::try_from(ns / NS_OF_MS).ok()).map(Timestamp);
        self.report.warnings.extend(found.warnings);
        let mut transcripts = found.transcripts;
        let named = match self.options.from {
            Some(folder) => in_folder(folder)?,
            None => Found::default(),
        };
        self.report.warnings.extend(named.warnings);
        let named = named.transcripts;
        self.report.transcripts = transcripts.len() + named.len();
        transcripts.retain(|transcript| !named.iter().any(|named| named.path == transcript.path));
        let mut changed = self.collect_some(transcripts, false, inboxes, facts)?;
        changed.extend(self.collect_some(named, true, inboxes, facts)?);
        self.forget_missing()?;
        self.state.forget_left();
        self.report.sessions = self.state.sessions.len();
        Ok(changed)
    }

    fn collect_some(
        &mut self,
        transcripts: Vec<Transcript>,
        from_folder: bool,
        inboxes: &[(Tree, u64)],
        facts: &mut TreeFacts,
    ) -> Result<BTreeSet<String>> {
        if transcripts.is_empty() {
            return Ok(BTreeSet::new());
        }
        let transcripts: Vec<Transcript> = transcripts
            .into_iter()
            .filter(|transcript| !self.purged.has_session(&transcript.name.session))
            .collect();
        let mut known: HashSet<String> = self.archive.names()?.into_iter().collect();
        known.extend(self.expired.names());
        known.extend(self.state.empty.iter().cloned());
        let sessions = changed(transcripts, &self.state.seen, &known);
        let ignore = Ignore::new(&self.settings.ignore_paths)?;
        let collector = Collector {
            archive: &self.archive,
            expired: &self.expired,
            purged: &self.purged,
            redact: &self.redactor,
            ignore: &ignore,
            from_folder,
            territory: &self.territory,
        };
        if sessions.is_empty() {
            return Ok(BTreeSet::new());
        }
        if self.settings.ignores_unknown {
            // What is known goes on; the sessions are read once it is mended.
            let warning = format!(
                "{}: `ignore_paths` cannot be read, and what it names is not to be learned from: no session \
                 is read until it is mended",
                self.options.dirs.config_file().display()
            );
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
            return Ok(BTreeSet::new());
        }
        let progress = self.options.progress;
        progress.stage("reading", sessions.len());
        // A session that is starting waits to be told where the newest ones were left, and waits
        // shortly: they are read first, and archived after that is written.
        let (newest, others) = newest_first(&sessions);
        let read = collector.read(&newest);
        let left: Vec<_> = read.iter().flatten().filter_map(SessionRead::left).collect();
        self.publish_left(inboxes, facts.get(), &left)?;
        progress.stage("archiving", sessions.len());
        let mut results = collector.keep(read, progress);
        results.extend(collector.collect(&others, progress));
        let mut changed = BTreeSet::new();
        for ((name, transcripts), result) in newest.into_iter().chain(others).zip(results) {
            match result {
                Ok(collected) => {
                    if self.take_in(name, transcripts, collected, from_folder) {
                        changed.insert(name.clone());
                    }
                }
                Err(error) => self.report.warnings.push(format!("{error:#}")),
            }
        }
        Ok(changed)
    }

    /// Remembers what became of a session; whether something of it is new.
    fn take_in(
        &mut self,
        name: &str,
        transcripts: &[Transcript],
        collected: Collected,
        from_folder: bool,
    ) -> bool {
        for transcript in transcripts {
            let seen = self.state.seen.entry(transcript.path.clone()).or_default();
            seen.inode = transcript.inode;
            seen.len = transcript.len;
            seen.modified_ns = transcript.modified_ns;
            seen.ours = seen.ours || !from_folder;
            seen.from_folder = from_folder;
        }
        let Counts { lines, too_long, damaged, dropped } = collected.counts;
        self.report.lines += lines;
        self.report.lines_skipped += too_long + damaged + dropped;
        self.report.sessions_read += usize::from(lines > 0);
        match collected.state {
            None => {
                self.state.empty.insert(name.to_owned());
                false
            }
            Some(state) => {
                self.state.empty.remove(name);
                let before = self.state.sessions.insert(name.to_owned(), state);
                let state = self.state.sessions.get_mut(name);
                let new = state.as_ref().map(|state| &state.content)
                    != before.as_ref().map(|before| &before.content);
                if let (Some(state), Some(before)) = (state, before) {
                    // Whether it is still good, its key says.
                    state.mined = before.mined;
                }
                new
            }
        }
    }

    /// Makes the list of sessions that of the archive: what a lost cache does not know is looked
    /// at again, what is no longer archived is dropped.
    fn forget_missing(&mut self) -> Result<()> {
        self.entries = self.archive.entries()?;
        let entries = &self.entries;
        let names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        self.state.sessions.retain(|name, _| names.contains(name.as_str()));
        for entry in entries {
            let fits = |known: &SessionState| {
                known.len == entry.len && known.modified_ns == entry.modified_ns
            };
            if self.state.sessions.get(&entry.name).is_some_and(fits) {
                continue;
            }
            match self.archive.load(&entry.name) {
                Ok(Some(file)) => {
                    let state =
                        crate::collect::state_of(&file, entry, &self.territory, &self.redactor);
                    self.state.sessions.insert(entry.name.clone(), state);
                }
                Ok(None) => {}
                Err(error) if is_damaged(&error) => {
                    self.report.warnings.push(format!("{error:#}; it was put aside"));
                    self.archive.put_aside(&entry.name)?;
                }
                Err(error) => {
                    let warning = format!("{error:#}");
                    if !self.report.warnings.contains(&warning) {
                        self.report.warnings.push(warning);
                    }
                    // What was learned from it stays, and it is looked at again next time.
                    self.state.sessions.entry(entry.name.clone()).or_default();
                }
            }
        }
        Ok(())
    }

    fn write_memories(&mut self, mined: &[MinedFile]) -> Result<Outcome> {
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
        // What is withheld must not become the user's own by way of the ledger.
        let withheld = self.withheld_before()?;
        let quarantine = Quarantine::releases(&self.home)?.withholding(withheld.into());
        let store = store.judged(quarantine, &self.settings);
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
        let states = self.git_states()?;
        let outcome = ledger::reconcile(&store, &redactor, desired, &states, self.options.now)?;
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

    fn git_states(&self) -> Result<Vec<GitState>> {
        let heads: BTreeMap<PathBuf, String> =
            Ledger::open(&self.home)?.heads().into_iter().collect();
        Ok(self
            .trees
            .iter()
            .map(|tree| git::state(&tree.root, heads.get(&tree.root).map(String::as_str)))
            .collect())
    }

    /// Publishes the memories, and with them the turns that the indexes lack.
    fn publish(&mut self, ownership: &Ownership) -> Result<Vec<Listing>> {
        self.open_embedding();
        self.unread.clear();
        let staged = self.stage(ownership, TURNS_AT_ONCE)?;
        self.publish_with(staged)
    }

    /// What is withheld in any of the working trees, before memories are written.
    fn withheld_before(&mut self) -> Result<Withholding> {
        let mut withheld = Withholding::new();
        if Limits::read(&self.home, &self.settings)?.hold() {
            self.judge()?.values().for_each(|of_tree| withheld.add(of_tree));
        }
        Ok(withheld)
    }

    /// Looks who committed the memories of the working trees, after the last of them was written.
    fn withhold(&mut self) -> Result<&BTreeMap<PathBuf, Arc<Withholding>>> {
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

    /// Publishes the memories and what is on its way.
    fn publish_with(&mut self, mut staged: StagedTrees) -> Result<Vec<Listing>> {
        self.options.progress.stage("indexing", 0);
        let mut listings = Vec::new();
        let withheld = self.withhold()?.clone();
        let embedding = self.embedding.as_ref().and_then(Option::as_ref);
        let publication = Publication {
            dirs: self.options.dirs,
            settings: &self.settings,
            vectors: embedding.map(|embedding| embedding as &dyn Vectors),
            withheld: &withheld,
            now: self.options.now,
        };
        for tree in &self.trees {
            let known = Known::of_tree(self.options.dirs, tree);
            let StagedTree { turns, thoughts } = staged.take(&tree.root);
            listings.push(publish::tree(&publication, tree, turns, &known)?);
            if let Some(thoughts) = thoughts {
                publish::thinking(&publication, tree, thoughts)?;
            }
        }
        publish::user(&publication, &Known::of_user(self.options.dirs))?;
        Ok(listings)
    }

    /// The archived sessions that are too old or too many.
    fn overdue(&self) -> Vec<String> {
        let recorded = self.state.sessions.values().map(|session| session.last).max();
        let now = retention::believed(self.options.now, recorded.max(self.newest));
        let limits = retention::Limits::of(&self.settings, self.options.dirs, now);
        limits.expired(&self.entries, &self.state.sessions)
    }

    /// Removes turns that are too old or too many; what was learned from them stays.
    /// Says whether any went.
    fn expire(&mut self, mined: &[MinedFile]) -> Result<bool> {
        let mut gone = false;
        for name in &self.overdue() {
            let Some(file) = mined.iter().find(|file| file.name == *name) else { continue };
            // One that cannot be read, or learned from, waits: it would leave less than it holds.
            let (None, Ok(Some(header))) = (&file.failure, self.archive.header(name)) else {
                continue;
            };
            let last = self.state.sessions.get(name).map(|session| session.last);
            let mut remains = self.expired.load(name).unwrap_or_default();
            remains.take_in(Remains {
                header,
                last: last.unwrap_or_default(),
                cwd: file.cwd.clone(),
                turns: file.turns,
                drafts: file.drafts.clone(),
            });
            self.expired.store(name, &remains)?;
            if !gone {
                // The index holds the turns that go, and whoever is killed from here on leaves it so.
                self.state.all_turns = true;
                self.state.write(&self.home)?;
            }
            self.archive.remove(name)?;
            mine::remove(&self.home, name);
            self.state.sessions.remove(name);
            gone = true;
        }
        Ok(gone)
    }

    /// The length of each tree's inbox before anything was read.
    fn inboxes(&self) -> Vec<(Tree, u64)> {
        let length = |tree: &Tree| {
            std::fs::metadata(self.options.dirs.tree(&tree.root).inbox())
                .map_or(0, |inbox| inbox.len())
        };
        self.trees.iter().map(|tree| (tree.clone(), length(tree))).collect()
    }

    fn finish(&self, inboxes: &[(Tree, u64)]) -> Result<()> {
        for (tree, taken) in inboxes {
            crate::inbox::taken_up(
                &self.options.dirs.tree(&tree.root),
                *taken,
                &self.settings,
                self.options.now,
            )?;
        }
        Ok(())
    }
}

/// Sessions that are read before any is archived, and bytes of their transcripts.
const NEWEST_MAX: usize = 4;
const NEWEST_BYTES_MAX: u64 = 16 << 20;

/// A session's name and transcripts.
type Session<'a> = (&'a String, &'a Vec<Transcript>);

/// The few sessions of people that were written to last, the newest at least, and the others.
fn newest_first(
    sessions: &BTreeMap<String, Vec<Transcript>>,
) -> (Vec<Session<'_>>, Vec<Session<'_>>) {
    let modified = |transcripts: &[Transcript]| {
        transcripts.iter().map(|transcript| transcript.modified_ns).max()
    };
    let bytes = |transcripts: &[Transcript]| {
        transcripts.iter().map(|transcript| transcript.len).sum::<u64>()
    };
    let agents = |transcripts: &[Transcript]| {
        transcripts.iter().all(|transcript| transcript.name.agent.is_some())
    };
    let mut sorted: Vec<Session<'_>> = sessions.iter().collect();
    sorted.sort_by_key(|(_, transcripts)| (agents(transcripts), Reverse(modified(transcripts))));
    let mut sum = 0;
    let mut fits = |(_, transcripts): &Session<'_>| {
        sum += bytes(transcripts);
        !agents(transcripts) && sum <= NEWEST_BYTES_MAX
    };
    let count = sorted.iter().take(NEWEST_MAX).take_while(|session| fits(session)).count();
    let others = sorted.split_off(count.max(1).min(sorted.len()));
    (sorted, others)
}

/// What git says about each working tree. It is asked while transcripts are read: a session that
/// is starting waits for both.
struct TreeFacts {
    asked: Option<JoinHandle<Vec<left::Facts>>>,
    facts: Vec<left::Facts>,
}

impl TreeFacts {
    fn ask(inboxes: &[(Tree, u64)]) -> Self {
        let roots: Vec<PathBuf> = inboxes.iter().map(|(tree, _)| tree.root.clone()).collect();
        let facts = vec![left::Facts::default(); roots.len()];
        let asked = thread::spawn(move || roots.iter().map(|root| tree_facts(root)).collect());
        Self { asked: Some(asked), facts }
    }

    /// Waits for the answers; without them, nothing is known.
    fn get(&mut self) -> &[left::Facts] {
        if let Some(Ok(facts)) = self.asked.take().map(JoinHandle::join) {
            self.facts = facts;
        }
        &self.facts
    }
}

/// What git says about a working tree, for the block that a session starts with.
fn tree_facts(root: &Path) -> left::Facts {
    left::Facts {
        branch: git::branch(root),
        uncommitted: uncommitted(root),
        merged: git::merged_branches(root),
    }
}

/// Files with uncommitted changes, but for our own.
fn uncommitted(root: &Path) -> Vec<String> {
    let mut files = git::uncommitted(root);
    files.retain(|file| !file.starts_with(STORE_DIR));
    files
}

/// The transcripts of a folder that the user named.
fn in_folder(folder: &Path) -> Result<Found> {
    discover::check_folder(folder)?;
    let mut found = discover::transcripts_in(&folder.canonicalize()?)?;
    for transcript in &mut found.transcripts {
        if transcript.name.session.is_empty() {
            transcript.name.session = discover::session_of(&transcript.path).unwrap_or_default();
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use memory_store::identity::Mode;

    use super::*;
    use crate::testing::{Project, write_memory};

    #[test]
    fn what_comes_while_nothing_else_is_new_is_looked_at_by_the_next_run() {
        let project = Project::new(Mode::Committed);
        let options = project.sync();
        let mut run = Run::begin(&options, project.dirs.project(project.tree.project)).unwrap();
        run.state.published = run.fingerprint();
        assert!(run.is_as_published());
        assert_eq!(run.fingerprint(), run.state.published);
        write_memory(project.root(), "pulled.md", 1, "It came");
        assert_eq!(run.fingerprint(), "");
    }
}
