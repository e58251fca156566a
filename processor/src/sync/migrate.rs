//! Migration of stores of an earlier format, before the steps of a sync.

use anyhow::Result;
use memory_store::migrate::{self, Migrated, Site};

use super::SyncOptions;
use crate::collect::trees;
use crate::lock::Lock;

/// Brings the stores that a sync writes to the formats of this program. Returns what is worth a line for a
/// person. The project's lock is held.
///
/// # Errors
/// When a later version of the program has written one of them, or a migration failed, which is put back then.
pub(crate) fn bring_up_to_date(options: &SyncOptions<'_>, _lock: &Lock) -> Result<Vec<Migrated>> {
    let (dirs, tree) = (options.dirs, options.tree);
    trees::review(dirs, tree.project)?;
    let roots: Vec<_> = trees::present(dirs, tree).into_iter().map(|tree| tree.root).collect();
    let mut done = Vec::new();
    for site in Site::all(dirs, tree, &roots) {
        done.extend(migrate::bring_up_to_date(&site, options.now)?);
    }
    done.retain(Migrated::is_reported);
    Ok(done)
}
