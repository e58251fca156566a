//! Reports: what a sync did, in numbers and warnings.

use serde::Serialize;

/// Outcome of a sync, as `throughline sync --json` prints it.
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
    /// Seconds that these take, by those that were read before; `None` where nothing tells.
    pub asking_left_s: Option<u64>,
    /// Questions how drafts relate for which there was no time yet.
    pub relations_later: usize,
    /// Indexes that could not be read and were made again.
    pub healed: usize,
    /// Problems that did not stop the rest; one line each.
    pub warnings: Vec<String>,
    /// Milliseconds it took.
    pub millis: u64,
}

impl SyncReport {
    /// Whether a model was asked and is to be asked more.
    pub fn goes_on(&self) -> bool {
        self.asked_later + self.relations_later > 0 && self.questions > 0
    }

    /// Adds what an earlier part of the same sync did.
    pub(super) fn after(mut self, before: Self) -> Self {
        self.sessions_read += before.sessions_read;
        self.lines += before.lines;
        self.lines_skipped += before.lines_skipped;
        self.written += before.written;
        self.updated += before.updated;
        self.removed += before.removed;
        self.healed += before.healed;
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
