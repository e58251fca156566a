//! Reports: the results of a sync, in numbers and warnings.

use memory_store::migrate::Migrated;
use memory_store::reconcile::Outcome;
use serde::Serialize;

use super::collect::CollectionCounts;
use super::mine::SessionQuestions;
use super::settle::SettleOutcome;

/// Outcome of a sync, as `throughline sync --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SyncReport {
    /// Whether another sync was at work for longer than was waited, so that this one did nothing.
    pub busy: bool,
    /// Whether nothing had changed.
    pub nothing_new: bool,
    /// Sentences about sessions that were recorded here and are not learned from, with the command that decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unclaimed: Vec<String>,
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
    /// Sessions whose turns were removed, because they were too old or too many; their drafts stay.
    #[serde(rename = "sessions_expired")]
    pub expired: usize,
    /// Memories written for the first time.
    pub written: usize,
    /// Memories whose text changed.
    pub updated: usize,
    /// Memories without remaining evidence.
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
    /// Estimated seconds for these, from earlier sessions; `None` without an estimate.
    pub asking_left_s: Option<u64>,
    /// Questions how drafts relate for which there was no time yet.
    pub relations_later: usize,
    /// Indexes that could not be read and were rebuilt.
    pub healed: usize,
    /// Stores that were migrated to another format first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub migrated: Vec<Migrated>,
    /// Problems that did not stop the rest; one line each.
    pub warnings: Vec<String>,
    /// Milliseconds it took.
    pub millis: u64,
}

impl SyncReport {
    /// Returns whether a model was asked and more questions are left.
    pub fn goes_on(&self) -> bool {
        self.asked_later + self.relations_later > 0 && self.questions > 0
    }

    /// Adds the counts of collected items.
    pub(super) fn add_collected(&mut self, counts: CollectionCounts) {
        self.transcripts = counts.transcripts;
        self.sessions_read = counts.sessions_read;
        self.sessions = counts.sessions;
        self.lines = counts.lines;
        self.lines_skipped = counts.lines_skipped;
    }

    /// Takes over what a model was asked about sessions.
    pub(super) fn add_asked(&mut self, asked: SessionQuestions) {
        self.questions += asked.questions;
        self.asked_later = asked.later;
        self.asking_left_s = asked.left_s;
    }

    /// Adds the changes of memory files.
    pub(super) fn add_reconciled(&mut self, files: &Outcome) {
        self.written += files.written;
        self.updated += files.updated;
        self.removed += files.removed;
        self.unchanged = files.unchanged;
        self.tombstoned += files.tombstoned;
    }

    /// Takes over what was settled.
    pub(super) fn add_settled(&mut self, settled: SettleOutcome) {
        self.embedded += settled.embedded.unwrap_or_default();
        self.embedding_waits = settled.embedding_waits.unwrap_or(self.embedding_waits);
        self.second_embedded = settled.second_embedded.unwrap_or(self.second_embedded);
        self.second_waits = settled.second_waits;
        self.warn(settled.warnings);
    }

    /// Adds warnings, each once: a session that cannot be read is in the way more than once.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Adds the results of an earlier part of the same sync.
    pub(super) fn after(mut self, before: Self) -> Self {
        self.sessions_read += before.sessions_read;
        self.lines += before.lines;
        self.lines_skipped += before.lines_skipped;
        self.expired += before.expired;
        self.written += before.written;
        self.updated += before.updated;
        self.removed += before.removed;
        self.healed += before.healed;
        self.embedded += before.embedded;
        self.second_embedded += before.second_embedded;
        self.questions += before.questions;
        self.nothing_new = false;
        self.migrated.splice(..0, before.migrated);
        self.warn(before.warnings);
        self
    }
}
