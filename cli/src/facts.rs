//! Facts on the command line, and their relations to facts of other memories.

use std::io::Write;

use memory_store::knowledge::facts::Conflict;
use memory_store::memory::{Fact, Memory};
use memory_store::{MemoryId, Timestamp, field_lines};
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::knowledge::{FactView, ReadKnowledge};
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{NAME, paint};

/// Parses a fact.
fn read(text: &str, now: Timestamp) -> Result<Fact> {
    field_lines::fact(text, now).map_err(|problem| {
        Failure::new(format!("`{}` is no fact: {}", plain(text), plain(&problem)))
            .code(exit::USAGE)
            .hint(format!("Write {}.", field_lines::FACT_FORM))
    })
}

/// Parses facts.
pub fn read_all(texts: &[String], now: Timestamp) -> Result<Vec<Fact>> {
    texts.iter().map(|text| read(text, now)).collect()
}

/// Relation of a memory's fact to a fact of another memory, as printed by `--json`.
#[derive(Serialize)]
pub struct RelatedFact {
    relation: Conflict,
    fact: FactView,
    other: FactView,
}

impl RelatedFact {
    /// Prints the relation in one line.
    pub fn print(&self, out: &mut dyn Write) -> Result {
        let (fact, other) = (plain(&self.fact.sentence()), plain(&self.other.sentence()));
        let id = paint(NAME, self.other.memory.short());
        match self.relation {
            Conflict::Repeats => writeln!(out, "Fact: {fact}. {id} states it already.")?,
            Conflict::Closes if self.other.closed_by == Some(self.fact.memory) => {
                let until = self.other.to.map(Timestamp::date).unwrap_or_default();
                writeln!(out, "Fact: {fact}. It ends \"{other}\" of {id} on {until}.")?;
            }
            Conflict::Closes => {
                writeln!(out, "Fact: {fact}. The newer \"{other}\" of {id} ends it.")?;
            }
            Conflict::Asks => writeln!(
                out,
                "Fact: {fact}. It may contradict \"{other}\" of {id}: both stand until you decide in `throughline review`."
            )?,
        }
        Ok(())
    }
}

/// Returns the relations between the facts of a memory and facts of other memories. The memory need not be saved.
pub fn related(stores: &Stores, memory: &Memory) -> Result<Vec<RelatedFact>> {
    if memory.facts.is_empty() {
        return Ok(Vec::new());
    }
    let mut memories = stores.without_held(stores.list()?.memories)?;
    memories.retain(|stored| stored.memory.id != memory.id);
    let read = ReadKnowledge::of(stores, memories, Some(memory));
    Ok(related_in(&read, memory.id))
}

fn related_in(read: &ReadKnowledge, id: MemoryId) -> Vec<RelatedFact> {
    let book = &read.knowledge.book;
    let view = |at: usize| read.view(&book.statements[at]);
    let pairs = book.pairs_of(id).map(|pair| {
        let is_newer = book.statements[pair.newer].memory == id;
        let (mine, other) =
            if is_newer { (pair.newer, pair.older) } else { (pair.older, pair.newer) };
        RelatedFact { relation: pair.conflict, fact: view(mine), other: view(other) }
    });
    pairs.collect()
}
