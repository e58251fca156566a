//! A sync: derives memories and an index from the new content of the transcripts.
//!
//! A sync first migrates the stores to the formats of this program (`migrate`). Its steps are `collect`, `mine`,
//! `consolidate`, `reconcile`, `publish`, `handoffs`, `expire` and `settle`. Each step is a function in the file of the
//! same name. It reads the [`SyncContext`](context), changes the stored state if it receives the state as a mutable
//! argument, and returns an outcome. This file defines the order of the steps; a [`SyncRun`] passes outcomes from step
//! to step.
//!
//! Each step can be repeated. A run that is killed at any point leaves only complete files, and the next run continues
//! from there. The published data depends only on the content of the archive, so several syncs have the same result as
//! one sync over all transcripts. If nothing changed since the last run, nothing is written.

mod collect;
mod consolidate;
mod context;
mod custom_embedder;
mod expire;
mod fingerprint;
mod handoffs;
mod heal;
mod hidden_names;
mod kept;
mod left_out;
mod lost;
mod mine;
mod models;
mod options;
mod packs;
mod postponed_changes;
mod prepare;
mod publish;
mod reconcile;
mod report;
mod same_texts;
mod secrets;
mod session_end;
mod settle;
mod stage;
mod tree_facts;
mod unchanged;

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::Result;
use memory_store::fs::private_folders::{self, OpenFolder};
use memory_store::identity;
use memory_store::index::health::Depth;

use crate::collect::forks::Ownership;
use crate::git;
use crate::lock::{Busy, Lock};
use crate::mining::MinedFile;
use crate::private_files::write_json;
use crate::session_records::{often, passed};
use crate::state::{Learned, State};
use crate::transcript::parts;
use crate::typed_commands;
use collect::CollectOutcome;
use context::SyncContext;
use fingerprint::Around;
use handoffs::Handoffs;
use heal::Distrusted;
use mine::SessionQuestions;
use models::Models;
pub(crate) use prepare::{PreparedSync, prepare};
use publish::PublishOutcome;

pub use options::SyncOptions;
pub use postponed_changes::postponed_changes;
pub use report::SyncReport;

/// Runs a sync of a project.
pub fn sync(options: &SyncOptions<'_>) -> Result<SyncReport> {
    let started = Instant::now();
    let home = options.dirs.project(options.tree.project);
    let Some(lock) = Lock::of_project(options.dirs, &home, options.busy)? else {
        return Ok(SyncReport { busy: true, ..SyncReport::default() });
    };
    let mut report = sync_locked(options, prepare(options, &lock)?)?;
    // If a person waits, the sync is repeated until the result is complete. The published part can already be used.
    let waits = matches!(options.busy, Busy::Wait(_)) && !options.leaves_rest;
    while waits && report.goes_on() {
        let asked = report.questions;
        report = sync_locked(options, prepare(options, &lock)?)?.after(report);
        if report.questions == asked {
            break;
        }
    }
    report.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// Runs a sync for a caller that holds the project's lock and has called [`prepare`].
pub(crate) fn sync_locked(options: &SyncOptions<'_>, prepared: PreparedSync) -> Result<SyncReport> {
    let open = private_folders::close_all(options.dirs);
    let report = run(options);
    options.progress.done();
    report.map(|mut report| {
        report.warnings.extend(open.iter().map(OpenFolder::message));
        report.warnings.extend(prepared.mended);
        report.warnings.extend(git::hung::messages());
        report.migrated = prepared.migrated;
        report
    })
}

fn run(options: &SyncOptions<'_>) -> Result<SyncReport> {
    let (context, warnings) = SyncContext::open(options)?;
    let mut state = State::read(&context.home);
    let mut handoffs = Handoffs::begin(&context);
    context.sessions.archive.sweep();
    // Older versions stored a set of all keys of records.
    let _ = std::fs::remove_file(context.home.mined.join("keys.set"));
    heal::remove_unwanted(&context);
    typed_commands::carry_out(options.dirs, options.tree, &context.settings, options.now)?;
    let mut collection = collect::collect(&context, &mut state, &mut handoffs)?;
    handoffs.write(&context, &state, &[])?;
    let mut report = SyncReport { warnings, ..SyncReport::default() };
    report.add_collected(collection.counts);
    report.warn(std::mem::take(&mut collection.warnings));
    report.unclaimed = std::mem::take(&mut collection.unclaimed);
    let (around, is_same) = fingerprint::compare(&context, &state);
    let run = SyncRun {
        context,
        state,
        collection,
        models: Models::default(),
        around,
        distrusted: Distrusted::new(),
        report,
    };
    run.finish(is_same, &mut handoffs)
}

/// State of a sync after collecting: the outcomes that later steps read or replace.
struct SyncRun<'a> {
    context: SyncContext<'a>,
    state: State,
    collection: CollectOutcome,
    models: Models,
    around: Around,
    /// Indexes that must be rebuilt without reading them.
    distrusted: Distrusted,
    report: SyncReport,
}

impl SyncRun<'_> {
    /// Learns and publishes if there is anything new, then settles.
    fn finish(mut self, is_same: bool, handoffs: &mut Handoffs) -> Result<SyncReport> {
        let options = self.context.options;
        let mut is_same = is_same && self.collection.changed.is_empty();
        // Reading every byte is slow, so it is done only if a person waits or the run has no other work.
        let is_at_leisure = is_same || matches!(options.busy, Busy::Wait(_));
        let depth = if is_at_leisure { Depth::Bytes } else { Depth::Headers };
        if options.afresh {
            self.distrust_indexes();
        } else {
            is_same &= self.indexes_are_sound(depth);
        }
        // Turns expire even if no transcript changes.
        let nothing_is_due =
            self.overdue().is_empty() && !session_end::anything_to_ask(&self.context, &self.state);
        if is_same && !options.afresh && nothing_is_due {
            handoffs.take_notes(&self.context)?;
            // The last run may have postponed the embedding of texts to this run.
            self.report.memories = self.state.learned.memories;
            self.report.unchanged = self.state.learned.derived;
            self.report.nothing_new = !self.settle_or_heal()?;
            if !self.report.nothing_new {
                self.state.published = self.fingerprint();
            }
            self.pack();
            // The state contains the times of transcripts, which may be new although the content is the same.
            self.state.write(&self.context.home)?;
            return Ok(self.report);
        }
        let changed = std::mem::take(&mut self.collection.changed);
        self.learn_and_expire(&changed)?;
        handoffs.write_learned(&self.context, &self.state)?;
        // The next run compares the files that were just written, so their fingerprint is stored.
        self.write_as_published()?;
        handoffs.take_notes(&self.context)?;
        let settled = self.settle_or_heal()?;
        if self.pack() || settled {
            self.write_as_published()?;
        }
        Ok(self.report)
    }

    /// Packs inactive sessions if there is no more urgent work and no person waits. Returns whether the state changed.
    fn pack(&mut self) -> bool {
        let report = &self.report;
        let is_urgent = report.goes_on() || report.embedding_waits || report.second_waits;
        let options = self.context.options;
        if is_urgent || options.leaves_rest || matches!(options.busy, Busy::Wait(_)) {
            return false;
        }
        let limits = expire::limits(&self.context, &self.state, &self.collection);
        packs::pack_resting(&self.context, &mut self.state, limits).unwrap_or_else(|error| {
            let why = format!("old sessions stay as they are and were not packed: {error:#}");
            self.report.warn(vec![why]);
            true
        })
    }

    /// Learns from changed sessions, publishes the result, and removes expired data.
    fn learn_and_expire(&mut self, changed: &BTreeSet<String>) -> Result<()> {
        let Some(mined) = self.learn_and_publish(changed)? else { return Ok(()) };
        let overdue = self.overdue();
        let expiry = expire::expire(&self.context, &mut self.state, &overdue, &mined)?;
        self.report.warn(expiry.warnings);
        let sessions: BTreeSet<&str> =
            expiry.removed.iter().map(|name| parts::of_name(name).0).collect();
        self.report.expired += sessions.len();
        if !sessions.is_empty() {
            self.learn_and_publish(&BTreeSet::new())?;
        }
        Ok(())
    }

    /// Learns from changed sessions and publishes the result. Returns the mined data of all sessions if they were read,
    /// else `None`.
    fn learn_and_publish(&mut self, changed: &BTreeSet<String>) -> Result<Option<Vec<MinedFile>>> {
        let (context, state) = (&self.context, &mut self.state);
        let ownership = context.holders(state).ownership();
        let mut known = mine::known(context, state, &ownership);
        mine::note_pending(context, state, &known, changed)?;
        let mined = mine::mine(context, state, &ownership, &mut known, &mut self.models)?;
        self.report.sessions_mined += mined.mined;
        self.report.add_asked(mined.asked);
        self.report.warn(mined.warnings);
        let inputs = unchanged::inputs(context, state);
        self.report.turns = unchanged::archived_turns(state);
        if self.memories_stay(&inputs) {
            self.publish_passages(&ownership)?;
            return Ok(None);
        }
        let (context, state) = (&self.context, &mut self.state);
        let mut asked = mined.asked;
        // A missing mined file must not remove memories, so its session is mined again.
        if mine::load(context, state, &ownership, &mut known) {
            let again = mine::mine(context, state, &ownership, &mut known, &mut self.models)?;
            self.report.sessions_mined += again.mined;
            self.report.add_asked(again.asked);
            self.report.warn(again.warnings);
            asked = again.asked;
        }
        let (context, state) = (&self.context, &mut self.state);
        let inputs = unchanged::inputs(context, state);
        identity::learn_history(context.dirs(), context.options.tree, git::observe)?;
        let expired = mine::expired_drafts(context);
        let expired_turns = expired.iter().map(|file| file.turns).sum();
        let mut all: Vec<MinedFile> = known.into_iter().filter_map(|known| known.mined).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.extend(expired);
        self.report.turns = all.iter().map(|file| file.turns).sum();
        let records = || all.iter().map(|file| (file.session.as_str(), &file.record));
        self.state.commands = often(records());
        write_json(&context.home.commands, &passed(records()))?;
        let learned = self.make_memories(&ownership, &all, asked)?;
        let inputs = if learned.relations_wait { String::new() } else { inputs };
        self.state.learned = Learned { inputs, expired_turns, ..learned.learned };
        Ok(Some(all))
    }

    /// Derives memories from the mined data, and publishes them together with the turns that are missing in the
    /// indexes.
    fn make_memories(
        &mut self,
        ownership: &Ownership,
        mined: &[MinedFile],
        asked: SessionQuestions,
    ) -> Result<Made> {
        let (context, state) = (&self.context, &mut self.state);
        let consolidated = consolidate::consolidate(context, mined, asked, &mut self.models);
        self.report.questions += consolidated.questions;
        self.report.relations_later = consolidated.relations_later;
        self.report.warn(consolidated.warnings);
        let reconciled = reconcile::reconcile(context, state, consolidated.memories, mined)?;
        self.report.add_reconciled(&reconciled.files);
        self.report.warn(reconciled.warnings);
        self.around = reconciled.around;
        let published =
            publish::publish(context, state, ownership, &mut self.models, &mut self.distrusted)?;
        state.all_turns = false;
        state.terms = memory_store::text::VERSION;
        state.passages = crate::passages::version();
        let memories = published.listings.first().map_or(0, |listing| listing.memories.len());
        self.report.memories = memories;
        self.take_published(published);
        let files = reconciled.files;
        let learned = Learned {
            memories,
            derived: files.written + files.updated + files.unchanged,
            tombstoned: files.tombstoned,
            relations_later: consolidated.relations_later,
            ..Learned::default()
        };
        Ok(Made { learned, relations_wait: consolidated.relations_wait })
    }

    /// Publishes only the turns that are missing in the indexes.
    fn publish_passages(&mut self, ownership: &Ownership) -> Result<()> {
        let (context, state) = (&self.context, &mut self.state);
        let published = publish::publish_passages(
            context,
            state,
            ownership,
            &mut self.models,
            &mut self.distrusted,
        )?;
        let learned = &state.learned;
        self.report.memories = learned.memories;
        self.report.unchanged = learned.derived;
        self.report.tombstoned += learned.tombstoned;
        self.report.turns += learned.expired_turns;
        self.take_published(published);
        Ok(())
    }

    /// Postpones sessions that could not be read to the next run. Drops the sessions that were kept in memory for
    /// publishing.
    fn take_published(&mut self, published: PublishOutcome) {
        self.context.sessions.archive.forget_kept();
        self.state.pending = published.unread;
        self.report.healed += published.healed;
        self.report.warn(published.warnings);
    }

    /// Returns whether memories, and all published data derived from them, would be unchanged.
    fn memories_stay(&self, inputs: &str) -> bool {
        self.around.stays
            && self.context.home.commands.exists()
            && !self.context.options.afresh
            && !self.state.all_turns
            && self.distrusted.is_empty()
            && self.state.learned.inputs == inputs
            && self.overdue().is_empty()
            && self.report.questions == 0
    }

    /// Returns the names of archived sessions that are too old or exceed the maximum number.
    fn overdue(&self) -> Vec<String> {
        expire::overdue(&self.context, &self.state, &self.collection)
    }

    /// Checks the indexes. Unreadable ones are rebuilt in this run. Returns whether all are readable.
    fn indexes_are_sound(&mut self, depth: Depth) -> bool {
        let health = heal::inspect_indexes(&self.context, depth);
        let is_sound = health.unsound.is_empty();
        self.report.healed += health.damaged;
        self.state.all_turns |= health.lacks_turns;
        self.distrusted.extend(health.unsound);
        is_sound
    }

    fn distrust_indexes(&mut self) {
        heal::distrust_indexes(&self.context, &mut self.state, &mut self.distrusted);
    }

    /// Runs [`Self::settle`]. If an index is damaged, rebuilds the indexes first. Returns whether there was anything to
    /// do.
    fn settle_or_heal(&mut self) -> Result<bool> {
        match self.settle() {
            Err(error) if heal::is_damage(&error) => {
                self.report.healed += 1;
                self.distrust_indexes();
                self.learn_and_expire(&BTreeSet::new())?;
                self.settle().map(|_| true)
            }
            settled => settled,
        }
    }

    /// Runs postponed work. Returns whether there was any.
    fn settle(&mut self) -> Result<bool> {
        let has_read = self.report.sessions_read > 0;
        let (context, state) = (&self.context, &self.state);
        let mut settled = settle::SettleOutcome::default();
        let models = &mut self.models;
        let done =
            settle::settle(context, state, has_read, models, &mut self.distrusted, &mut settled);
        let any = settled.any;
        self.report.add_settled(settled);
        done.map(|()| any)
    }

    fn fingerprint(&self) -> String {
        fingerprint::fingerprint(&self.context, &self.state, &self.around)
    }

    /// Writes the state with the fingerprint of the published data.
    fn write_as_published(&mut self) -> Result<()> {
        self.state.published = self.fingerprint();
        self.state.write(&self.context.home)
    }
}

/// Outcome of making memories.
struct Made {
    /// The state to store, without the hash of its inputs.
    learned: Learned,
    /// Whether questions about relations between drafts must be sent to a model again.
    relations_wait: bool,
}

#[cfg(test)]
mod tests {
    use memory_store::identity::Mode;

    use super::*;
    use crate::for_tests::{Project, write_memory};

    #[test]
    fn what_comes_while_nothing_else_is_new_is_looked_at_by_the_next_run() {
        let project = Project::new(Mode::Committed);
        let options = project.sync();
        let (context, _) = SyncContext::open(&options).unwrap();
        let mut state = State::read(&context.home);
        state.published = fingerprint::fingerprint(&context, &state, &Around::default());
        let (around, is_same) = fingerprint::compare(&context, &state);
        assert!(is_same && around.stays);
        assert_eq!(fingerprint::fingerprint(&context, &state, &around), state.published);
        write_memory(project.root(), "pulled.md", 1, "It came");
        assert_eq!(fingerprint::fingerprint(&context, &state, &around), "");
    }
}
