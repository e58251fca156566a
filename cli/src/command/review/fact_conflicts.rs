//! Facts of two memories that exclude each other. A newer fact ends an older one wherever facts are read. The end is
//! written into a person's file only after a decision here.

use std::collections::BTreeMap;
use std::io::Write;

use memory_store::knowledge::facts::{Conflict, Statement};
use memory_store::memory::Memory;
use memory_store::store::Stored;
use memory_store::{MemoryId, Timestamp};

use super::contradictions::{PairVerdict, UndecidedPair};
use crate::failure::Result;
use crate::knowledge;
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{CARE, NAME, paint};

/// Two facts that exclude each other.
#[derive(Clone, Debug)]
pub struct FactConflict {
    newer: SideOfConflict,
    older: SideOfConflict,
    /// Whether the newer fact ends the older one until a person decides otherwise.
    closes: bool,
}

#[derive(Clone, Debug)]
struct SideOfConflict {
    /// Index of the fact in the memory.
    place: usize,
    text: String,
    from: Timestamp,
}

impl FactConflict {
    /// Prints both facts in one line.
    pub fn print(&self, out: &mut dyn Write) -> Result {
        let word = if self.closes { "ends" } else { "or" };
        let (newer, older) = (plain(&self.newer.text), plain(&self.older.text));
        let days = [self.newer.from.date(), self.older.from.date()];
        let told = format!("{newer} (since {}) {word} {older} (since {})", days[0], days[1]);
        Ok(writeln!(out, "        {}", paint(CARE, told))?)
    }
}

/// Returns the facts of two memories that need a decision: those that exclude each other while it is unknown which is
/// true, and those that have ended while the end is not yet written in a person's file.
pub(super) fn conflicts(
    memories: &BTreeMap<MemoryId, &Stored>,
    stores: &Stores,
) -> Vec<(MemoryId, MemoryId, FactConflict)> {
    let all: Vec<&Memory> = memories.values().map(|stored| &stored.memory).collect();
    if all.iter().filter(|memory| !memory.facts.is_empty()).count() < 2 {
        return Vec::new();
    }
    let knowledge = knowledge::of_memories(&all, stores);
    let book = &knowledge.book;
    let side = |statement: &Statement| {
        let subject = &knowledge.entities.all()[statement.subject].name;
        let not = if statement.predicate.is_negated { "not " } else { "" };
        let predicate = statement.predicate.group.replace('_', " ");
        let text = format!("{subject} {not}{predicate}: {}", statement.value());
        SideOfConflict { place: statement.place, text, from: statement.from }
    };
    let pairs = book.pairs.iter().filter_map(|pair| {
        let (newer, older) = (&book.statements[pair.newer], &book.statements[pair.older]);
        let is_open = match pair.conflict {
            Conflict::Repeats => false,
            Conflict::Asks => true,
            // For files of the program, a sync writes the end.
            Conflict::Closes => {
                let stored = memories.get(&older.memory)?;
                let is_persons = stores.store_of(stored).is_persons(stored).unwrap_or(true);
                older.to.is_none() && is_persons
            }
        };
        let closes = pair.conflict == Conflict::Closes;
        let conflict = FactConflict { newer: side(newer), older: side(older), closes };
        is_open.then_some((newer.memory, older.memory, conflict))
    });
    pairs.collect()
}

/// Writes the end of the facts that are not true by the person's decision. Returns whether a memory states nothing
/// else, so that the other memory supersedes it.
pub(super) fn end(
    stores: &Stores,
    pair: &UndecidedPair,
    settled: PairVerdict,
    out: &mut dyn Write,
) -> Result<bool> {
    let loser = match settled {
        PairVerdict::Newer => &pair.older,
        PairVerdict::Older => &pair.newer,
        PairVerdict::Both => return Ok(false),
    };
    let ends: Vec<(usize, Timestamp)> = pair
        .facts
        .iter()
        .map(|conflict| match settled {
            PairVerdict::Newer => {
                (conflict.older.place, conflict.newer.from.max(conflict.older.from))
            }
            // The newer fact was never true, so it ends when it began.
            PairVerdict::Older | PairVerdict::Both => (conflict.newer.place, conflict.newer.from),
        })
        .collect();
    let saved = stores.edit(loser, |memory| {
        for (place, at) in &ends {
            if let Some(fact) = memory.facts.get_mut(*place) {
                fact.to = Some(*at);
            }
        }
    })?;
    for (place, at) in &ends {
        if let Some(fact) = saved.memory.facts.get(*place) {
            let text = plain(&format!("{} {} {}", fact.subject, fact.predicate, fact.object));
            writeln!(
                out,
                "Ended on {}: {text}, in {}",
                at.date(),
                paint(NAME, saved.memory.id.short())
            )?;
        }
    }
    Ok(saved.memory.facts.iter().all(|fact| fact.to.is_some()))
}
