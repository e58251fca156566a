//! A sync: what is new in the transcripts becomes memories and an index.
//!
//! Each step can be repeated: a run that is killed anywhere leaves whole files, and the next one
//! goes on where it was. What is published depends only on what the archive holds, so syncing in
//! any slices ends with the same memories as syncing once. When nothing changed since the last
//! run, nothing is written.

mod collect;
mod custom_embedder;
mod embed;
mod expire;
mod facts;
mod fingerprint;
mod heal;
pub mod history;
mod learn;
mod lost;
mod names;
mod report;
mod secrets;
mod stage;
mod unchanged;
mod write;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use memory_store::fs::file_stamp::Stamp;
use memory_store::handoff::LeftSession;
use memory_store::identity;
use memory_store::index::build::Vectors;
use memory_store::index::health::Depth;
use memory_store::layout::{ProjectDir, Tree, UserDirs};
use memory_store::reconcile::Outcome;
use memory_store::redact::Redactor;
use memory_store::settings::Settings;
use memory_store::store::Listing;
use memory_store::{Timestamp, settings_file};

use crate::anchors::Anchors;
use crate::collect::archive::{Archive, Entry};
use crate::collect::discover::Territory;
use crate::collect::expired::Expired;
use crate::collect::forks::Ownership;
use crate::collect::purged::Purged;
use crate::collect::trees;
use crate::git;
use crate::handoff;
use crate::llm::Model;
use crate::lock::{Busy, Lock};
use crate::mining::MinedFile;
use crate::private_files::write_json;
use crate::progress::Progress;
use crate::publish::claude_md::Known;
use crate::publish::embed::Embedding;
use crate::publish::{self, Publication};
use crate::secrets::Secrets;
use crate::state::{Learned, State, read_roots};
use facts::TreeFacts;
use heal::Distrusted;
use stage::{StagedTree, StagedTrees};

pub use report::SyncReport;

/// The folder below the project's private one in which a model's answers are kept.
pub(crate) const LLM_DIR: &str = "llm";

/// Time for which a model is asked before its answers so far are published. What sessions leave of it goes to
/// the question how their drafts relate.
pub const ASKED_AT_ONCE: Duration = Duration::from_secs(60);

/// Request to a sync.
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
    /// Behaviour when another sync is at work.
    pub busy: Busy,
    /// Whether to take everything up again, although nothing seems to have changed.
    pub afresh: bool,
    /// The variable `OLLAMA_HOST`, for settings that name a model but no host.
    pub ollama_host: Option<&'a str>,
    /// Time for which a model is asked before its answers so far are published; [`ASKED_AT_ONCE`] but in tests.
    pub asked_at_once: Duration,
    /// Bytes of a part of a long session at least; [`PART_BYTES`](crate::transcript::parts::PART_BYTES) but in tests.
    pub part_bytes: u64,
    /// Whether the run ends once everything can be searched. The transformer, and a model that has more to read, are
    /// left to the next run.
    pub leaves_rest: bool,
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
    let waits = matches!(options.busy, Busy::Wait(_)) && !options.leaves_rest;
    while waits && report.goes_on() {
        let before = report.questions;
        report = sync_locked(options, &lock)?.after(report);
        if report.questions == before {
            break;
        }
    }
    report.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// Syncs for a caller that holds the project's lock already.
pub(crate) fn sync_locked(options: &SyncOptions<'_>, _lock: &Lock) -> Result<SyncReport> {
    let home = options.dirs.project(options.tree.project);
    trees::review(options.dirs, options.tree.project)?;
    let report = Run::begin(options, home)?.run();
    options.progress.done();
    report.map(|mut report| {
        report.warnings.extend(git::hung::told());
        report
    })
}

/// A sync under way.
struct Run<'a> {
    options: &'a SyncOptions<'a>,
    home: ProjectDir,
    archive: Archive,
    expired: Expired,
    purged: Purged,
    settings: Settings,
    /// For what only this user reads; it hides known secrets, too.
    redactor: Redactor,
    /// Known secrets of the project.
    secrets: Secrets,
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
    /// When a model is asked no more in this run, once it was opened.
    asked_until: Option<Instant>,
    /// Fingerprint of the trees when their memories were written, or when nothing was to be written; empty
    /// when git was at work then.
    written_to: Option<String>,
    /// Models that embed texts, once they were looked for.
    embedding: Option<Option<Embedding>>,
    /// The language model that the settings name, once it was looked for.
    model: Option<Option<Model>>,
    /// Indexes that are made again without a look at what they hold.
    distrusted: Distrusted,
    report: SyncReport,
}

impl<'a> Run<'a> {
    fn begin(options: &'a SyncOptions<'a>, home: ProjectDir) -> Result<Self> {
        // Before it is read: what is written meanwhile is another file to those who look later.
        let config = Stamp::of(&options.dirs.config_file());
        let (mut settings, warnings) = settings_file::load(options.dirs, Some(options.tree));
        settings.config = config;
        let state = State::read(&home);
        let secrets = Secrets::open(options.dirs, &home)?;
        let territory = Territory::new(options.dirs, options.tree, &read_roots(&home));
        let report = SyncReport {
            warnings: warnings.iter().map(ToString::to_string).collect(),
            ..SyncReport::default()
        };
        Ok(Self {
            archive: Archive::open(&home),
            expired: Expired::open(&home),
            purged: Purged::read(&home)?,
            trees: trees::present(options.dirs, options.tree),
            options,
            home,
            redactor: Redactor::private(&settings).with_known(secrets.known().clone()),
            secrets,
            settings,
            territory,
            state,
            entries: Vec::new(),
            unread: BTreeSet::new(),
            newest: None,
            around_stays: false,
            names_wait: false,
            relations_wait: false,
            asked_until: None,
            written_to: None,
            embedding: None,
            model: None,
            distrusted: Distrusted::new(),
            report,
        })
    }

    fn run(mut self) -> Result<SyncReport> {
        let inboxes = self.inboxes();
        let mut facts = TreeFacts::ask(&inboxes, &self.redactor);
        self.archive.sweep();
        self.remove_unwanted();
        let changed = self.collect(&inboxes, &mut facts)?;
        self.publish_left(&inboxes, facts.get(), &[])?;
        let mut same = self.is_as_published() && changed.is_empty();
        // Reading every byte takes a moment: it is for who waits, and for a run that has nothing else to do.
        let is_at_leisure = same || matches!(self.options.busy, Busy::Wait(_));
        let depth = if is_at_leisure { Depth::Bytes } else { Depth::Headers };
        if self.options.afresh {
            self.distrust_indexes();
        } else if !self.indexes_are_sound(depth) {
            same = false;
        }
        // Turns grow old where nothing happens, too.
        let nothing_is_due = self.overdue().is_empty() && !self.anything_to_ask();
        if same && !self.options.afresh && nothing_is_due {
            self.finish(&inboxes)?;
            // The last run may have left texts for this one.
            self.report.nothing_new = !self.settle_or_heal()?;
            if !self.report.nothing_new {
                self.state.published = self.fingerprint();
            }
            // Transcripts may have been touched that say the same.
            self.state.write(&self.home)?;
            return Ok(self.report);
        }
        self.learn_and_expire(&changed)?;
        // The written files are part of what the next run compares with.
        self.state.published = self.fingerprint();
        self.state.write(&self.home)?;
        self.finish(&inboxes)?;
        if self.settle_or_heal()? {
            self.state.published = self.fingerprint();
            self.state.write(&self.home)?;
        }
        Ok(self.report)
    }

    /// Learns from what changed and publishes it, and removes what is too old.
    fn learn_and_expire(&mut self, changed: &BTreeSet<String>) -> Result<()> {
        if let Some(mined) = self.learn_and_publish(changed)?
            && self.expire(&mined)?
        {
            self.learn_and_publish(&BTreeSet::new())?;
        }
        Ok(())
    }

    /// Writes where the work was left in each working tree: what is known of the sessions, and what
    /// was `read` a moment ago.
    fn publish_left(
        &self,
        inboxes: &[(Tree, u64)],
        facts: &[handoff::Facts],
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
            let mut left = handoff::left(sessions, facts, self.options.now);
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
        let listings = self.publish(&ownership)?;
        self.state.all_turns = false;
        self.state.terms = memory_store::text::VERSION;
        self.state.pending = std::mem::take(&mut self.unread);
        self.report.memories = listings.first().map_or(0, |listing| listing.memories.len());
        let derived = written + updated + unchanged;
        let memories = self.report.memories;
        let inputs = if self.relations_wait { String::new() } else { inputs };
        self.state.learned = Learned {
            inputs,
            memories,
            derived,
            tombstoned,
            expired_turns,
            relations_later: self.report.relations_later,
        };
        Ok(Some(mined))
    }

    /// Publishes the memories, and with them the turns that the indexes lack.
    fn publish(&mut self, ownership: &Ownership) -> Result<Vec<Listing>> {
        self.open_embedding();
        self.unread.clear();
        let staged = self.stage_what_lacks(ownership)?;
        self.publish_with(staged)
    }

    /// Publishes the memories and what is on its way.
    fn publish_with(&mut self, mut staged: StagedTrees) -> Result<Vec<Listing>> {
        self.options.progress.stage("indexing", 0);
        let mut listings = Vec::new();
        let embedding = self.embedding.as_ref().and_then(Option::as_ref);
        let anchors = Anchors::open(&self.home, &self.settings, &self.state, self.options.now).ok();
        let anchors = anchors.map(RefCell::new);
        let publication = Publication {
            dirs: self.options.dirs,
            settings: &self.settings,
            vectors: embedding.map(|embedding| embedding as &dyn Vectors),
            anchors: anchors.as_ref(),
            distrusted: &self.distrusted,
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
        if let Some(anchors) = anchors {
            anchors.into_inner().finish()?;
        }
        self.distrusted.clear();
        Ok(listings)
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
            crate::collect::inbox::taken_up(
                &self.options.dirs.tree(&tree.root),
                *taken,
                &self.settings,
                self.options.now,
            )?;
        }
        Ok(())
    }
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
