//! The part of a sync that checks whether the indexes are readable. Unreadable indexes are rebuilt.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Error;
use memory_store::index::health::{Depth, inspect};

use super::context::SyncContext;
use crate::state::State;

/// Folders of indexes that are rebuilt without reading them.
pub(super) type Distrusted = BTreeSet<PathBuf>;

/// Outcome of a check of the indexes.
#[derive(Debug, Default)]
pub(super) struct IndexHealth {
    /// Indexes that cannot be read or are missing.
    pub unsound: Distrusted,
    /// Whether any of these indexes lacks turns.
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
        // An index of thinking is published only together with the turns.
        found.lacks_turns |= health.passages.is_some() || thinking.contains(&folder);
        found.unsound.insert(folder);
    }
    found
}

/// Removes indexes of thinking that are no longer wanted.
pub(super) fn remove_unwanted(context: &SyncContext<'_>) {
    for tree in context.trees.iter().filter(|tree| !context.thinks(tree)) {
        // A folder that cannot be removed now is removed by the next run.
        let _ = std::fs::remove_dir_all(context.dirs().tree(&tree.root).thinking);
    }
}

/// Makes this run rebuild all indexes, without reading the existing files.
pub(super) fn distrust_indexes(
    context: &SyncContext<'_>,
    state: &mut State,
    distrusted: &mut Distrusted,
) {
    state.all_turns = true;
    distrusted.extend(context.indexes());
}

/// Returns whether an error is about a file of an index. Such a file is derived data, so it can be rebuilt.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(memory_store::Error::Index { .. }))
}
