//! Part of settling that computes the vectors of memories in the second space.

use std::time::Instant;

use anyhow::Result;
use memory_store::layout::TreeDir;

use super::context::SyncContext;
use super::settle::time_to_embed;
use crate::publish::custom_embedder::{Update, update};

/// Outcome of bringing the second space up to date.
#[derive(Debug, Default)]
pub(super) struct SecondSpace {
    /// Whether anything changed.
    pub changed: bool,
    /// Texts that were embedded.
    pub embedded: usize,
    /// Whether more texts wait.
    pub waits: bool,
    /// Reason why they wait, if it is a problem.
    pub warning: Option<String>,
}

/// Brings the second space up to date.
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
