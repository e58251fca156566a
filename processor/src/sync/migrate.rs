//! Migration of stores of an earlier format, before the steps of a sync.

use anyhow::Result;
use memory_store::migrate::{self, Migrated, Site};

use super::SyncOptions;
use crate::collect::trees;
use crate::lock::Lock;

/// What came before the steps of a sync.
#[derive(Default)]
pub(crate) struct BroughtUp {
    /// Migrations that are worth a line for a person.
    pub migrated: Vec<Migrated>,
    /// A record of the project that was damaged or gone, and was written again.
    pub mended: Option<String>,
}

/// Brings the stores that a sync writes to the formats of this program. The project's lock is held.
///
/// # Errors
/// When a later version of the program has written one of them, or a migration failed, which is put back then.
pub(crate) fn bring_up_to_date(options: &SyncOptions<'_>, _lock: &Lock) -> Result<BroughtUp> {
    let (dirs, tree) = (options.dirs, options.tree);
    let mended = trees::review(dirs, tree.project)?;
    let roots: Vec<_> = trees::present(dirs, tree).into_iter().map(|tree| tree.root).collect();
    let mut migrated = Vec::new();
    for site in Site::all(dirs, tree, &roots) {
        migrated.extend(migrate::bring_up_to_date(&site, options.now)?);
    }
    migrated.retain(Migrated::is_reported);
    Ok(BroughtUp { migrated, mended })
}
