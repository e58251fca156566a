//! Ids of memories that were learned earlier under another id: by this project before its private data was lost, or on
//! another machine with the same sessions. If such a memory is learned again, it gets the id of the file with the same
//! text, so that it exists only once. The mapping of ids is stored, because a person may change or delete the file
//! later.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::Result;
use memory_store::ledger::Ledger;
use memory_store::store::Store;
use memory_store::{Kind, Memory, MemoryId};

use crate::private_files::{read_json, write_json};

/// Kind, title and body. Memories count as the same if all three are equal.
type MemoryText = (Kind, String, String);

/// Replaces the ids of memories by the ids of files with the same texts.
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

/// Returns pairs: the id of a new memory, and the id of a file with the same text. Files of memories in the ledger do
/// not count, because those memories were learned or written here and have their own evidence.
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
