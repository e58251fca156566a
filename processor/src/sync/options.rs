//! Request to a sync.

use std::path::Path;
use std::time::Duration;

use memory_store::Timestamp;
use memory_store::layout::{Tree, UserDirs};
use memory_store::reconcile::Replacing;

use crate::lock::Busy;
use crate::machine::Machine;
use crate::progress::{ProgressReport, Silent};
use crate::transcript::parts::PART_BYTES;

/// Time for questions to a model before its answers so far are published. The time that sessions leave unused is spent
/// on relations between drafts.
const ASKED_AT_ONCE: Duration = Duration::from_secs(60);

/// Minimum total size of the files of inactive sessions before they are packed: most of a pack. A few sessions save
/// little.
const PACK_FROM_BYTES: u64 = 4 << 20;

/// Request to a sync.
pub struct SyncOptions<'a> {
    /// The user's folders.
    pub dirs: &'a UserDirs,
    /// A working tree of the project.
    pub tree: &'a Tree,
    /// A folder of transcripts that count as this project's, besides Claude Code's own.
    pub from: Option<&'a Path>,
    /// The time.
    pub now: Timestamp,
    /// Told how far it is.
    pub progress: &'a dyn ProgressReport,
    /// Behaviour when another sync is at work.
    pub busy: Busy,
    /// Permission to rewrite or remove committed memory files that are not a person's.
    pub replacing: Replacing,
    /// Whether to process everything again, although nothing seems to have changed.
    pub afresh: bool,
    /// The variable `OLLAMA_HOST`, for settings that name a model but no host.
    pub ollama_host: Option<&'a str>,
    /// The machine on whose battery or load its models pause, unless a person waits; `None` if they never pause.
    pub machine: Option<&'a Machine>,
    /// Time for questions to a model before its answers so far are published; [`ASKED_AT_ONCE`] except in tests.
    pub asked_at_once: Duration,
    /// Bytes of a part of a long session at least; [`PART_BYTES`] but in tests.
    pub part_bytes: u64,
    /// Bytes of files of sessions that rest from which on they are packed; [`PACK_FROM_BYTES`] but in tests.
    pub pack_from: u64,
    /// Whether the run ends once everything can be searched. The transformer, and a model that has more to read, are
    /// left to the next run.
    pub leaves_rest: bool,
}

impl<'a> SyncOptions<'a> {
    /// Requests all new records in Claude Code's own transcripts, without progress reports.
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
