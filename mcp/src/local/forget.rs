//! Puts a memory aside.

use memory_store::index::journal;
use memory_store::recall::render;
use memory_store::settings_file;
use memory_store::store::Store;

use super::find::Found;
use super::{HELD_TITLE, Local};
use crate::backend::{Failure, ForgetResponse};

impl Local {
    /// Puts a memory aside; what was put aside before stays so.
    pub(super) fn put_aside(&self, id: &str) -> Result<ForgetResponse, Failure> {
        let tree = self.writable_tree()?;
        let dirs = &self.environment.dirs;
        let (settings, _) = settings_file::load(dirs, Some(&tree));
        let recall = self.indexed(&tree);
        let Some(found) = self.find_by_id(id, &tree, &recall, &settings)? else {
            for store in [Store::open(dirs, &tree)?, Store::user(dirs)?] {
                if let Some(stored) = store.archived_by(id) {
                    return Ok(ForgetResponse {
                        undo: undo(&stored.memory.id.short()),
                        id: stored.memory.id.short(),
                        // It may have been held back for what it says.
                        title: HELD_BEFORE.to_owned(),
                        already: true,
                    });
                }
            }
            return Err(self
                .find(id, &tree, &recall, &settings)
                .err()
                .unwrap_or_else(|| Failure::Request(format!("no memory has the id `{id}`"))));
        };
        let Found { store, trust, stored, scope } = found;
        // The title of a quarantined memory is not repeated.
        let redactor = store.redactor(&settings);
        let held = trust.judgement(&stored, &redactor).held.is_some();
        store.forget_one(&stored.path, stored.memory.id, &redactor, self.now())?;
        // The file is gone, so that no hook prints it even if the journal cannot be written.
        let gone = journal::Change::Gone(stored.memory.id);
        drop(journal::note(dirs, &tree, scope, gone));
        let short = stored.memory.id.short();
        Ok(ForgetResponse {
            undo: undo(&short),
            id: short,
            title: if held { HELD_TITLE.to_owned() } else { render::clean(&stored.memory.title) },
            already: false,
        })
    }
}

/// Stands for the title of what was put aside before.
const HELD_BEFORE: &str = "(put aside before)";

fn undo(short: &str) -> String {
    format!(
        "The user can bring it back with `throughline restore {short}`, or remove it for \
         good with `throughline forget {short} --delete`. What holds instead is saved by `remember`."
    )
}
