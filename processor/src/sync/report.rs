//! Report of a sync: numbers and warnings.

use memory_store::migrate::Migrated;
use memory_store::reconcile::Outcome;
use serde::Serialize;

use super::collect::CollectionCounts;
use super::mine::SessionQuestions;
use super::settle::SettleOutcome;

/// Outcome of a sync, as `throughline sync --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SyncReport {
    /// Whether nothing was done, because another sync was running for longer than this one waited.
    pub busy: bool,
    /// Whether nothing had changed since the last sync.
    pub nothing_new: bool,
    /// Sentences about sessions that may be another project's, each with the command for a decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unclaimed: Vec<String>,
    /// Number of transcripts of the project.
    pub transcripts: usize,
    /// Number of sessions with new records.
    pub sessions_read: usize,
    /// Number of sessions that were mined.
    pub sessions_mined: usize,
    /// Number of sessions in the archive.
    pub sessions: usize,
    /// Number of turns in these sessions.
    pub turns: usize,
    /// Number of lines read.
    pub lines: u64,
    /// Number of lines that were damaged or too long.
    pub lines_skipped: u64,
    /// Number of sessions whose turns were removed because of their age or number. Their drafts are kept.
    #[serde(rename = "sessions_expired")]
    pub expired: usize,
    /// Number of memories written for the first time.
    pub written: usize,
    /// Number of memories whose text changed.
    pub updated: usize,
    /// Number of memories removed because no evidence remained.
    pub removed: usize,
    /// Number of memories that stayed unchanged.
    pub unchanged: usize,
    /// Number of memories that were not written because a person deleted them.
    pub tombstoned: usize,
    /// Number of memories in the main working tree's store.
    pub memories: usize,
    /// Number of texts that the transformer embedded.
    pub embedded: usize,
    /// Whether the transformer has more texts to embed.
    pub embedding_waits: bool,
    /// Number of texts that the model of the second space embedded.
    pub second_embedded: usize,
    /// Whether the model of the second space has more texts to embed.
    pub second_waits: bool,
    /// Number of questions about sessions that a model answered.
    pub questions: usize,
    /// Number of sessions that the model has not read to their end.
    pub asked_later: usize,
    /// Estimated seconds for these sessions, from the times of earlier sessions; `None` without an estimate.
    pub asking_left_s: Option<u64>,
    /// Number of questions about relations between drafts that were postponed for lack of time.
    pub relations_later: usize,
    /// Number of indexes that could not be read and were rebuilt.
    pub healed: usize,
    /// Stores that were migrated to another format before the sync.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub migrated: Vec<Migrated>,
    /// Problems that did not stop the sync, one line each.
    pub warnings: Vec<String>,
    /// Duration of the sync in milliseconds.
    pub millis: u64,
}

impl SyncReport {
    /// Returns whether a model answered questions and there are more questions.
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

    /// Adds the counts of questions about sessions.
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

    /// Adds the results of settling.
    pub(super) fn add_settled(&mut self, settled: SettleOutcome) {
        self.embedded += settled.embedded.unwrap_or_default();
        self.embedding_waits = settled.embedding_waits.unwrap_or(self.embedding_waits);
        self.second_embedded = settled.second_embedded.unwrap_or(self.second_embedded);
        self.second_waits = settled.second_waits;
        self.warn(settled.warnings);
    }

    /// Adds warnings without duplicates. A session that cannot be read, for example, causes the same warning several
    /// times.
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
