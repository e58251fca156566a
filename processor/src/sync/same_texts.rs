//! Memories that were learned before under another id: by this project before its private data was lost, or on another
//! machine with the same sessions. A relearned memory takes the id of the file with the same text, so that each memory
//! exists once. The mapped ids are stored: a person may change or delete the file later.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::Result;
use memory_store::ledger::Ledger;
use memory_store::store::Store;
use memory_store::{Kind, Memory, MemoryId};

use crate::private_files::{read_json, write_json};

/// What makes two memories the same.
type MemoryText = (Kind, String, String);

/// Assigns to memories the ids of files with their texts.
pub(super) fn take_ids(store: &Store, memories: &mut [Memory]) -> Result<()> {
    let path = path(store);
    let mut taken: BTreeMap<MemoryId, MemoryId> = read_json(&path).unwrap_or_default();
    let ledger = Ledger::open(&store.home)?;
    let is_new = |memory: &&Memory| !taken.contains_key(&memory.id) && !ledger.contains(memory.id);
    let new: Vec<(MemoryId, MemoryText)> =
        memories.iter().filter(is_new).map(|memory| (memory.id, text(memory))).collect();
    if !new.is_empty() {
        let known = taken.len();
        taken.extend(same(store, &ledger, new));
        if taken.len() > known {
            write_json(&path, &taken)?;
        }
    }
    if !taken.is_empty() {
        memories.iter_mut().for_each(|memory| rename(memory, &taken));
    }
    Ok(())
}

/// Finds the files with the texts of new memories. A memory that the ledger knows was learned or written here, and has its
/// own evidence.
fn same(
    store: &Store,
    ledger: &Ledger,
    new: Vec<(MemoryId, MemoryText)>,
) -> Vec<(MemoryId, MemoryId)> {
    let files = store.files().into_iter().map(|stored| stored.memory);
    let mut files: HashMap<MemoryText, MemoryId> = files
        .filter(|memory| !ledger.contains(memory.id))
        .map(|memory| (text(&memory), memory.id))
        .collect();
    new.into_iter().filter_map(|(id, text)| Some((id, files.remove(&text)?))).collect()
}

fn text(memory: &Memory) -> MemoryText {
    (memory.kind, memory.title.trim().to_owned(), memory.body.trim().to_owned())
}

fn rename(memory: &mut Memory, taken: &BTreeMap<MemoryId, MemoryId>) {
    let relations = memory.relations.iter_mut().map(|relation| &mut relation.to);
    let ids = [&mut memory.id].into_iter().chain(&mut memory.supersedes);
    for id in ids.chain(&mut memory.superseded_by).chain(relations) {
        if let Some(known) = taken.get(id) {
            *id = *known;
        }
    }
}

fn path(store: &Store) -> PathBuf {
    store.home.folder.join("taken-ids.json")
}
