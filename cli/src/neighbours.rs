//! Neighbours of a memory that a person writes or views, and the marks that one memory replaces another.

use std::io::Write;

use memory_store::neighbour::{self, Neighbour, Statement};
use memory_store::recall::Recall;
use memory_store::store::Stored;
use memory_store::{Kind, Memory, MemoryId};
use serde::Serialize;

use crate::failure::Result;
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{NAME, paint};
use crate::world::World;

/// A neighbour, as printed by `--json`.
#[derive(Serialize)]
pub struct NeighbourView<'a> {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: &'a str,
    /// Relation of the memory to its neighbour: `duplicate`, `within`, `covers`, `update`, `newer-value`,
    /// `contradiction` or `near`.
    relation: &'static str,
}

impl<'a> From<&'a Neighbour> for NeighbourView<'a> {
    fn from(near: &'a Neighbour) -> Self {
        Self {
            id: near.id,
            short: near.id.short(),
            kind: near.kind,
            title: &near.title,
            relation: near.verdict.name(),
        }
    }
}

/// Finds the neighbours of a memory.
pub fn near(recall: &Recall, world: &World, memory: &Memory) -> Vec<Neighbour> {
    neighbour::find(recall, &Statement::from(memory), Some(memory.id), world.now)
}

/// Keeps only the neighbours of the same subagent. Memories for different subagents neither repeat nor replace each
/// other.
pub fn keep_of_agent(near: &mut Vec<Neighbour>, agent: Option<&str>, recall: &Recall) {
    near.retain(|near| recall.indexed(near.id).is_none_or(|hit| hit.agent.as_deref() == agent));
}

/// Prints how a memory relates to a neighbour, in one line.
pub fn line(near: &Neighbour, out: &mut dyn Write) -> Result {
    let id = paint(NAME, near.id.short());
    Ok(writeln!(out, "It {} {id}: {}", near.verdict.words(), plain(&near.title))?)
}

/// Marks a memory as replaced by another one and reports that. The replacing memory must already contain the link.
pub fn supersede(stores: &Stores, older: &Stored, newer: MemoryId, out: &mut dyn Write) -> Result {
    link(stores, older, Some(newer))?;
    let (id, newer) = (older.memory.id.short(), newer.short());
    Ok(writeln!(out, "Replaced: {} by {}", paint(NAME, id), paint(NAME, newer))?)
}

/// Removes the mark that another memory replaces this one, and reports that.
pub fn restore(stores: &Stores, older: &Stored, out: &mut dyn Write) -> Result {
    link(stores, older, None)?;
    let title = plain(&older.memory.title);
    Ok(writeln!(out, "It no longer replaces {} {title}.", paint(NAME, older.memory.id.short()))?)
}

/// Removes the links of memories that a removed memory had replaced. Memories that no other memory replaces are active
/// again; this is reported.
pub fn hold_again(stores: &Stores, gone: &Memory, out: &mut dyn Write) -> Result {
    let next = gone.superseded_by;
    // The index also lists undecided memories in whose place the removed memory was injected. The files of these
    // memories contain no link to it.
    let given_for = stores.recall().replaced_by(gone.id);
    for older in stores.list()?.memories {
        let (id, by) = (older.memory.id, older.memory.superseded_by);
        let is_replaced = by == Some(gone.id) || by.is_none() && gone.supersedes.contains(&id);
        if !is_replaced && by.is_none() && given_for.contains(&id) {
            refresh(stores, &older)?;
        }
        if !is_replaced || next == Some(id) {
            continue;
        }
        link(stores, &older, next)?;
        if next.is_none() {
            let title = plain(&older.memory.title);
            writeln!(
                out,
                "It had replaced {} {title}, which holds again.",
                paint(NAME, id.short())
            )?;
        }
    }
    Ok(())
}

/// Adds a memory to the journal of the index, so that the next session reads the memory from its file instead of the
/// segments.
pub fn refresh(stores: &Stores, stored: &Stored) -> Result {
    let store = stores.store_of(stored);
    let redactor = store.redactor(&stores.settings);
    stores.note_saved(store, stored, &redactor)?;
    Ok(())
}

fn link(stores: &Stores, older: &Stored, by: Option<MemoryId>) -> Result {
    let store = stores.store_of(older);
    let redactor = stores.redactor_for_writing(store)?;
    let id = older.memory.id;
    let saved = store.supersede(&older.path, id, by, &redactor)?.stored;
    stores.note_saved(store, &saved, &redactor)?;
    Ok(())
}
