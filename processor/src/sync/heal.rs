//! Part of a sync that checks whether the indexes are readable, and has the others rebuilt.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Error;
use memory_store::index::health::{Depth, inspect};

use super::context::SyncContext;
use crate::state::State;

/// Folders whose files are replaced without reading them.
pub(super) type Distrusted = BTreeSet<PathBuf>;

/// Outcome of a check of the indexes.
#[derive(Debug, Default)]
pub(super) struct IndexHealth {
    /// Indexes that cannot be read, or are not there.
    pub unsound: Distrusted,
    /// Whether turns are missing in any of them.
    pub lacks_turns: bool,
    /// Number of existing indexes that cannot be read.
    pub damaged: usize,
}

/// Checks the indexes.
pub(super) fn inspect_indexes(context: &SyncContext<'_>, depth: Depth) -> IndexHealth {
    let dirs = context.dirs();
    let thinking: Vec<PathBuf> =
        context.trees.iter().map(|tree| dirs.tree(&tree.root).thinking).collect();
    let mut found = IndexHealth::default();
    for folder in context.indexes() {
        let health = inspect(&folder, depth);
        if health.memories.is_none() && health.passages.is_none() {
            continue;
        }
        // A missing index is published for the first time.
        if folder.exists() {
            found.damaged += 1;
        }
        // Thinking is published with the turns alone.
        found.lacks_turns |= health.passages.is_some() || thinking.contains(&folder);
        found.unsound.insert(folder);
    }
    found
}

/// Removes the indexes of the model's thinking that are not in use.
pub(super) fn remove_unwanted(context: &SyncContext<'_>) {
    for tree in context.trees.iter().filter(|tree| !context.thinks(tree)) {
        // A folder that cannot be removed now is removed by the next run.
        let _ = std::fs::remove_dir_all(context.dirs().tree(&tree.root).thinking);
    }
}

/// Makes this run rebuild everything that it publishes, without reading the replaced files.
pub(super) fn distrust_indexes(
    context: &SyncContext<'_>,
    state: &mut State,
    distrusted: &mut Distrusted,
) {
    state.all_turns = true;
    distrusted.extend(context.indexes());
}

/// Returns whether an error is about a file of an index: such a file is derived, and can be rebuilt.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(memory_store::Error::Index { .. }))
}
