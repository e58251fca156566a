//! Memory files that a sparse checkout omits from the main working tree: they are in git but not on disk. Recall uses
//! private copies of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::MemoryId;
use memory_store::file::{EXTENSION, FILE_BYTES_MAX, MemoryFile};
use memory_store::fs::disk::{Privacy, remove, replace};
use memory_store::layout::STORE_DIR;
use memory_store::reconcile::GitState;
use memory_store::store::Store;
use walkdir::WalkDir;

use crate::git::blobs::Blob;
use crate::git::memories::{self, TrackedFile};

/// Updates the copies to match the files that are currently omitted.
pub(super) fn copy(store: &Store, state: &GitState, warnings: &mut Vec<String>) -> Result<()> {
    let folder = &store.home.left_out;
    let has_copies = folder.is_dir();
    // If git does not answer, the copies stay unchanged.
    if state.head.is_none() || state.left_out.is_empty() && !has_copies {
        return Ok(());
    }
    let Some(wanted) = wanted(store, state)? else {
        let root = state.root.display();
        warnings.push(format!(
            "{root}: a sparse checkout leaves memory files out, and git does not show them now: they are recalled as \
             they were last"
        ));
        return Ok(());
    };
    for entry in WalkDir::new(folder).into_iter().flatten().filter(|it| it.file_type().is_file()) {
        if !wanted.contains_key(entry.path()) {
            remove(entry.path())?;
        }
    }
    for (path, text) in wanted {
        if std::fs::read(&path).ok().as_deref() != Some(&text) {
            replace(&path, &text, Privacy::Private)?;
        }
    }
    Ok(())
}

/// Returns the contents of the required copies by their paths; `None` if git does not list the files. There is no copy
/// of a memory that a person archived.
fn wanted(store: &Store, state: &GitState) -> Result<Option<BTreeMap<PathBuf, Vec<u8>>>> {
    if state.left_out.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let Some(indexed) = memories::in_index(&state.root, None) else { return Ok(None) };
    let is_left_out = |file: &&TrackedFile| {
        let path = Path::new(&file.path);
        let is_memory = path.extension().is_some_and(|it| it == EXTENSION) && !file.is_link;
        is_memory && state.left_out.iter().any(|left_out| left_out == path)
    };
    let files: Vec<&TrackedFile> = indexed.iter().filter(is_left_out).collect();
    let Some(blobs) = memories::read(&state.root, &files, FILE_BYTES_MAX as u64) else {
        return Ok(None);
    };
    let buried: BTreeSet<MemoryId> = store.tombstones()?.iter().map(|buried| buried.id).collect();
    let below = Path::new(STORE_DIR).join("memories");
    let mut wanted = BTreeMap::new();
    for (file, blob) in files.iter().zip(blobs) {
        let Blob::Content(text) = blob else { continue };
        let Ok(name) = Path::new(&file.path).strip_prefix(&below) else { continue };
        let path = store.home.left_out.join(name);
        let file = MemoryFile::parse(&path, text.to_vec());
        if !file.is_ok_and(|file| buried.contains(&file.memory.id)) {
            wanted.insert(path, text.to_vec());
        }
    }
    Ok(Some(wanted))
}
