//! Memories that people and Claude wrote, converted to drafts. Questions to a model about relations between drafts
//! include them.

use memory_store::MemoryId;
use memory_store::memory::{Memory, SaidBy, Status};
use memory_store::store::Store;

use super::context::SyncContext;
use crate::extract::draft::Draft;

/// Extractor name of such a draft.
const KEPT: &str = "kept";

/// Returns these memories of a project as drafts, without secrets.
pub(super) fn notes(context: &SyncContext<'_>) -> Vec<Draft> {
    let Some(store) = store(context) else { return Vec::new() };
    memories(&store, context).into_iter().map(note).collect()
}

/// Opens the store of the main working tree.
pub(super) fn store(context: &SyncContext<'_>) -> Option<Store> {
    let main = context.trees.first().unwrap_or(context.options.tree);
    Store::open(context.options.dirs, main).ok()
}

/// Returns the memories that people and Claude wrote, without secrets.
pub(super) fn memories(store: &Store, context: &SyncContext<'_>) -> Vec<Memory> {
    let redactor = store.redactor(&context.settings);
    let written = store.files().into_iter().map(|stored| stored.memory).filter(is_written);
    written.map(|memory| redactor.redacted(&memory)).collect()
}

/// Returns the id of the memory from which such a draft was made; `None` for a draft of a session.
pub(super) fn id(draft: &Draft) -> Option<MemoryId> {
    if draft.extractor == KEPT { draft.turns.first()?.parse().ok() } else { None }
}

fn is_written(memory: &Memory) -> bool {
    !memory.source.is_of_reader()
        && memory.status == Status::Active
        && memory.superseded_by.is_none()
        // A memory for one subagent does not replace memories for all.
        && memory.agent.is_none()
}

fn note(memory: Memory) -> Draft {
    let occurred = memory.when();
    Draft {
        kind: memory.kind,
        scope: memory.scope,
        occurred,
        confidence: memory.confidence,
        session: format!("written on {}", occurred.date()),
        turns: vec![memory.id.to_string()],
        ordinal: 0,
        quote: String::new(),
        said_by: memory.source.said_by.unwrap_or(SaidBy::User),
        paths: memory.paths.into_iter().map(|path| path.path).collect(),
        tags: memory.tags,
        signatures: memory.signatures,
        extractor: KEPT.to_owned(),
        worth: 0.0,
        importance: None,
        standing: true,
        cues: memory.cues,
        entities: memory.entities,
        facts: memory.facts,
        topic: memory.topic,
        title: memory.title,
        body: memory.body,
    }
}
