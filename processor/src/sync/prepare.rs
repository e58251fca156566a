//! Preparation of a sync: checks its working trees and migrates stores of an earlier format.

use anyhow::Result;
use memory_store::migrate::{self, Migrated, Site};

use super::options::SyncOptions;
use crate::collect::trees;
use crate::lock::Lock;

/// Result of the preparation.
pub(crate) struct PreparedSync {
    /// Migrations to report to a person.
    pub migrated: Vec<Migrated>,
    /// Message that a damaged or missing record of the project was written again.
    pub mended: Option<String>,
}

/// Checks the working trees of a project against the state that a person trusted, and migrates the stores that a sync
/// writes to the formats of this program. The caller must hold the project's lock.
///
/// # Errors
/// If a later version of the program has written a store, or a migration failed and was reverted.
pub(crate) fn prepare(options: &SyncOptions<'_>, _lock: &Lock) -> Result<PreparedSync> {
    let (dirs, tree) = (options.dirs, options.tree);
    trees::adopt(dirs, tree.project, &tree.root)?;
    let mended = trees::review(dirs, tree.project)?;
    let roots: Vec<_> = trees::present(dirs, tree).into_iter().map(|tree| tree.root).collect();
    let mut migrated = Vec::new();
    for site in Site::all(dirs, tree, &roots) {
        migrated.extend(migrate::bring_up_to_date(&site, options.now)?);
    }
    migrated.retain(Migrated::is_reported);
    Ok(PreparedSync { migrated, mended })
}
