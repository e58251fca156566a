//! Auditing: searches for secrets in all data stored about a project. The report contains file, line and rule, but
//! never the secret. Files can be cleaned. Git's history is not read.

use std::path::Path;

use anyhow::Result;
use memory_store::file::EXTENSION;
use memory_store::redact::known::Known;
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings::Settings;
use memory_store::settings_file;
use memory_store::store::Store;

use crate::collect::trees;
use crate::lock::Lock;
use crate::secrets::search::SecretSearch;
use crate::sync::{SyncOptions, prepare, sync_locked};

pub use crate::secrets::search::{AuditReport, FoundSecret};

/// Searches all stored data. With `fix`, cleans the files first. Returns `None` if a sync is running.
pub fn audit(options: &SyncOptions<'_>, fix: bool) -> Result<Option<AuditReport>> {
    let home = options.dirs.project(options.tree.project);
    let (settings, _) = settings_file::load(options.dirs, Some(options.tree));
    let known = Known::read_file(options.dirs, &home);
    let private =
        Redactor::new(&RedactOptions { known, ..RedactOptions::for_store(&settings, false) });
    let mut audit = SecretSearch::new(&private);
    if fix {
        let lock = Lock::of_project(options.dirs, &home, options.busy)?;
        let Some(lock) = lock else { return Ok(None) };
        let prepared = prepare(options, &lock)?;
        audit.clean(options.dirs, options.tree, &settings)?;
        // All data derived from the cleaned files is rebuilt.
        let afresh = SyncOptions { afresh: true, from: None, ..*options };
        sync_locked(&afresh, prepared)?;
    }
    look(&mut audit, options, &settings)?;
    Ok(Some(audit.report))
}

fn look(
    audit: &mut SecretSearch<'_>,
    options: &SyncOptions<'_>,
    settings: &Settings,
) -> Result<()> {
    let home = options.dirs.project(options.tree.project);
    let private = audit.private;
    // The folder of vectors is excluded, because in numbers any pattern may occur by chance.
    audit.folder(&home.folder, private, Some(&home.vectors), is_memory);
    audit.folder(&options.dirs.user_dir().folder, private, None, is_memory);
    audit.folder(&options.dirs.user_state().folder, private, None, is_memory);
    for tree in trees::present(options.dirs, options.tree) {
        let state = options.dirs.tree(&tree.root);
        audit.folder(&state.folder, private, Some(&state.second), is_memory);
        let store = Store::open(options.dirs, &tree)?;
        if store.root.is_some() {
            let committed = store.redactor(settings);
            audit.folder(&tree.store(), &committed, None, |_| true);
        }
    }
    audit.report.found.sort();
    audit.report.found.dedup();
    Ok(())
}

/// Returns whether a file has the extension of memory files.
fn is_memory(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == EXTENSION)
}
