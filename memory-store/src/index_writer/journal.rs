//! Appends to the journal of an index, so that the next hook sees saved and removed memories.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use memory_store_recall::index::journal::*;
use memory_store_recall::index::record::FLAG_HELD;
use memory_store_recall::index::{manifest, read_manifest};

use super::{build, lock};
use crate::embed::Table;
use crate::error::{At, Result};
use crate::fs::disk::private_options;
use crate::fs::lock::LOCK_WAIT;
use crate::id::MemoryId;
use crate::layout::{Tree, UserDirs};
use crate::memory::{CONTRADICTS, Relation, Scope};
use crate::reviewed::Reviewed;
use crate::stored::Stored;
use crate::trust::Judgement;

/// Returns the journal entry of a saved, redacted memory. For `root`, see [`build::document`].
fn put(stored: &Stored, root: &Path) -> Entry {
    let mut document = build::document(stored, root);
    document.read();
    Entry::Put(Arc::new(document))
}

/// Marks the entry of a withheld memory, and labels the entry of a memory from the repository.
fn judged(mut entry: Entry, is_held: bool, from_repository: bool) -> Entry {
    if let Entry::Put(document) = &mut entry {
        let document = Arc::make_mut(document);
        document.record.from_repository = from_repository;
        document.entry.flags |= if is_held { FLAG_HELD } else { 0 };
    }
    entry
}

/// Appends a change to the journal of the index in `dir`, so that the next hook sees it. Waits up to `most` while the
/// index is published. Without an index it does nothing, because the first index is built from the files.
pub fn append(dir: &Path, entry: &Entry, most: Duration) -> Result<()> {
    if !dir.join(manifest::FILE_NAME).exists() {
        return Ok(());
    }
    let _lock = lock::shared(dir, most)?;
    let Some(manifest) = read_manifest(dir)? else { return Ok(()) };
    let path = manifest.journal_path(dir);
    let mut options = private_options();
    let mut file = options.create(true).append(true).open(&path).at(&path)?;
    file.write_all(&entry.encode()).at(&path)
}

/// Change to a memory.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// The memory was saved and then judged. Editors and pulls also change files, so the text that hooks print is
    /// redacted here as well. A withheld memory is marked in the journal.
    Saved(&'a Stored, &'a Judgement),
    /// The memory was removed.
    Gone(MemoryId),
}

/// Makes a change to a memory visible to the next hook in a working tree: appends it to the journal of the tree's
/// index, with a vector from the token table if the table is installed.
pub fn note(dirs: &UserDirs, tree: &Tree, scope: Scope, change: Change<'_>) -> Result<()> {
    let (index, root) = match scope {
        Scope::User => (dirs.user_state().index, dirs.data.as_path()),
        Scope::Project | Scope::Paths => {
            // A worktree without its own index uses the index of the main working tree.
            let own = dirs.tree(&tree.root).index;
            if own.join(manifest::FILE_NAME).exists() {
                (own, tree.root.as_path())
            } else {
                (dirs.tree(&tree.main_root).index, tree.main_root.as_path())
            }
        }
    };
    let entry = match change {
        Change::Saved(stored, judgement) => {
            let Judgement { redacted, held, from_repository } = judgement.clone();
            let mut stored = Stored { memory: redacted, ..stored.clone() };
            let id = stored.memory.id;
            let is_link = |link: &Relation| link.kind == CONTRADICTS;
            if stored.memory.relations.iter().any(is_link) {
                let reviewed = Reviewed::read(&dirs.project(tree.project));
                let links = &mut stored.memory.relations;
                links.retain(|link| !is_link(link) || !reviewed.hold_both(id, link.to));
            }
            let entry = judged(put(&stored, root), held.is_some(), from_repository);
            match Table::installed(dirs) {
                Some(table) => entry.embedded(&table),
                None => entry,
            }
        }
        Change::Gone(id) => Entry::Remove(id),
    };
    append(&index, &entry, LOCK_WAIT)
}
