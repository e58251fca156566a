//! Options of a sync.

use std::path::Path;
use std::time::Duration;

use memory_store::Timestamp;
use memory_store::layout::{Tree, UserDirs};
use memory_store::reconcile::Replacing;

use crate::lock::Busy;
use crate::machine::Machine;
use crate::progress::{ProgressReport, Silent};
use crate::transcript::parts::PART_BYTES;

/// Time for questions to a model before the answers so far are published. If questions about sessions need less, the
/// rest is for questions about relations between drafts.
const ASKED_AT_ONCE: Duration = Duration::from_secs(60);

/// Minimum total size in bytes of inactive sessions' files for packing, which is nearly a full pack. Packing a few
/// sessions saves little space.
const PACK_FROM_BYTES: u64 = 4 << 20;

/// Options of a sync.
pub struct SyncOptions<'a> {
    /// The user's folders.
    pub dirs: &'a UserDirs,
    /// A working tree of the project.
    pub tree: &'a Tree,
    /// A folder of transcripts that count as this project's, in addition to Claude Code's own folder.
    pub from: Option<&'a Path>,
    /// The current time.
    pub now: Timestamp,
    /// Receives the progress.
    pub progress: &'a dyn ProgressReport,
    /// Behaviour if another sync is running.
    pub busy: Busy,
    /// Permission to rewrite or remove committed memory files that no person wrote.
    pub replacing: Replacing,
    /// Whether to process everything again, even if nothing seems to have changed.
    pub afresh: bool,
    /// The value of the variable `OLLAMA_HOST`, for settings that name a model but no host.
    pub ollama_host: Option<&'a str>,
    /// The machine, on which models pause because of battery or load unless a person waits; `None` if they never pause.
    pub machine: Option<&'a Machine>,
    /// Time for questions to a model before the answers so far are published. [`ASKED_AT_ONCE`] except in tests.
    pub asked_at_once: Duration,
    /// Minimum size in bytes of a part of a long session. [`PART_BYTES`] except in tests.
    pub part_bytes: u64,
    /// Minimum total size in bytes of inactive sessions' files for packing. [`PACK_FROM_BYTES`] except in tests.
    pub pack_from: u64,
    /// Whether the run ends when all content can be searched. The next run then computes vectors by the transformer and
    /// sends further questions to a model.
    pub leaves_rest: bool,
}

impl<'a> SyncOptions<'a> {
    /// Creates options for reading all new records in Claude Code's own transcripts, without progress reports.
    pub fn new(dirs: &'a UserDirs, tree: &'a Tree, busy: Busy, now: Timestamp) -> Self {
        Self {
            dirs,
            tree,
            from: None,
            now,
            progress: &Silent,
            busy,
            replacing: Replacing::Few,
            afresh: false,
            ollama_host: None,
            machine: None,
            asked_at_once: ASKED_AT_ONCE,
            part_bytes: PART_BYTES,
            pack_from: PACK_FROM_BYTES,
            leaves_rest: false,
        }
    }
}
