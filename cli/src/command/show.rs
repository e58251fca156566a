//! `throughline show`: prints whole memories and turns of sessions.

use std::io::Write;

use clap::Args;
use memory_store::MemoryId;
use memory_store::memory::Status;
use memory_store::store::Stored;
use serde::Serialize;

use super::browse::{self, Purpose};
use crate::failure::Result;
use crate::knowledge::{ReadKnowledge, StateThen, as_of};
use crate::stores::Stores;
use crate::view::known::MemoryFacts;
use crate::view::passage::WholeTurn;
use crate::view::style::{QUIET, paint};
use crate::view::{self, MemoryView};
use crate::world::World;

/// Show memories or turns of sessions in full
///
/// Also prints why a memory is withheld or may be outdated.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Ids of memories, or turns as SESSION:TURN [default: choose at the terminal]
    #[arg(add = crate::complete::ids())]
    id: Vec<String>,
    /// Also show whether each memory was in force on this date
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A document to show.
enum ShownDocument {
    Memory(Box<Stored>),
    Turn(WholeTurn),
}

/// The document as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum ShownView<'a> {
    Memory(Box<MemoryView<'a>>),
    Turn(&'a WholeTurn),
}

/// Prints the links of other memories to a memory.
fn show_incoming(id: MemoryId, others: &[Stored], out: &mut dyn Write) -> Result {
    for Stored { memory, .. } in others {
        for link in memory.relations.iter().filter(|link| link.to == id) {
            let from = format!("{} {}: {}", memory.id.short(), link.kind, memory.title);
            writeln!(out, "{} {}", paint(QUIET, "linked from"), view::plain(&from))?;
        }
    }
    Ok(())
}

/// Runs the command.
pub fn run(args: &ShowArgs, world: &World, out: &mut dyn Write) -> Result {
    let ids = browse::named_or_chosen(&args.id, args.json, Purpose::Show, world)?;
    let stores = Stores::open(world)?;
    let recall = stores.recall();
    let mut turns = Vec::new();
    for id in &ids {
        turns.push(WholeTurn::named(id, &recall, &stores.project.home).transpose()?);
    }
    let named = ids.iter().zip(&turns).filter(|(_, turn)| turn.is_none());
    let named: Vec<String> = named.map(|(id, _)| id.clone()).collect();
    // `find_all` also finds archived memories.
    let mut memories = stores.find_all(&named)?.into_iter();
    let mut memory = || Some(ShownDocument::Memory(Box::new(memories.next()?)));
    let found = turns.into_iter();
    let found = found.filter_map(|turn| turn.map(ShownDocument::Turn).or_else(&mut memory));
    let found: Vec<ShownDocument> = found.collect();
    let labels = stores.labels()?;
    let is_pulled = |stored: &Stored| stored.memory.status != Status::Archived && labels(stored);
    let known = MemoryFacts::open(&stores);
    let at = as_of(args.as_of.as_deref(), world.now)?;
    let has_facts = found.iter().any(|shown| match shown {
        ShownDocument::Memory(stored) => !stored.memory.facts.is_empty(),
        ShownDocument::Turn(_) => false,
    });
    let read = (at.is_some() || has_facts).then(|| ReadKnowledge::quietly(&stores)).transpose()?;
    if args.json {
        let views = found.iter().map(|shown| match shown {
            ShownDocument::Memory(stored) => {
                let state = read.as_ref().map(|read| StateThen::of(&stored.memory, read, at));
                let view = known.view(stored).labelled(is_pulled(stored)).then(state.as_ref());
                ShownView::Memory(Box::new(view))
            }
            ShownDocument::Turn(turn) => ShownView::Turn(turn),
        });
        return view::json(&views.collect::<Vec<_>>(), out);
    }
    let listed = stores.without_held(stores.list()?.memories)?;
    for (position, shown) in found.iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        match shown {
            ShownDocument::Memory(stored) => {
                known.show(stored, is_pulled(stored), &stores, out)?;
                show_incoming(stored.memory.id, &listed, out)?;
                if let Some(read) = &read {
                    StateThen::of(&stored.memory, read, at).show(out)?;
                }
            }
            ShownDocument::Turn(turn) => turn.show(out)?,
        }
    }
    Ok(())
}
