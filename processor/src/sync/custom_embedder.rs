//! The part of settling that computes the vectors of memories in the second space.

use std::time::Instant;

use anyhow::Result;
use memory_store::layout::TreeDir;

use super::context::SyncContext;
use super::settle::time_to_embed;
use crate::publish::custom_embedder::{Update, update};

/// Result of updating the second space.
#[derive(Debug, Default)]
pub(super) struct SecondSpace {
    /// Whether any vectors changed.
    pub changed: bool,
    /// Number of texts that were embedded.
    pub embedded: usize,
    /// Whether more texts must be embedded.
    pub waits: bool,
    /// Problem that stopped the update; `None` if there was none.
    pub warning: Option<String>,
}

/// Updates the second space.
pub(super) fn embed_second(context: &SyncContext<'_>) -> Result<SecondSpace> {
    let (dirs, options) = (context.dirs(), context.options);
    let trees = context.trees.iter().map(|tree| dirs.tree(&tree.root));
    let states: Vec<TreeDir> = trees.chain([dirs.user_state()]).collect();
    let what = Update {
        settings: &context.settings,
        ollama_host: options.ollama_host,
        caches: &context.home.vectors,
        afresh: options.afresh,
        until: Instant::now() + time_to_embed(options.busy),
        progress: options.progress,
    };
    let updated = update(&what, &states)?;
    let waiting = updated.waiting;
    let problem = updated.problem.filter(|_| waiting > 0);
    let warning = problem.map(|problem| {
        format!(
            "{waiting} memories wait for their vectors of the second space: {problem}. Search \
             does without them."
        )
    });
    let (changed, embedded) = (updated.changed, updated.embedded);
    Ok(SecondSpace { changed, embedded, waits: waiting > 0, warning })
}
