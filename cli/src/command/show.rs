//! `throughline show`: one memory, whole.

use std::io::Write;

use clap::Args;
use memory_store::memory::Status;
use memory_store::store::Stored;

use super::browse::{self, Purpose};
use super::known::Known;
use super::stores::Stores;
use super::view::{self, MemoryView};
use crate::failure::Result;
use crate::world::World;

/// Shows memories whole, and why one is held back or may be true no longer.
#[derive(Debug, Args)]
pub struct Show {
    /// Ids, or their last characters; without any, a list to choose from at a terminal
    #[arg(add = super::complete::ids())]
    id: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Show, world: &World, out: &mut dyn Write) -> Result {
    let ids = browse::named_or_chosen(&args.id, args.json, Purpose::Show, world)?;
    let stores = Stores::open(world)?;
    // A memory that was put aside can still be looked at.
    let found = stores.find_all(&ids)?;
    let labels = stores.labels()?;
    let is_pulled = |stored: &Stored| stored.memory.status != Status::Archived && labels(stored);
    let known = Known::open(world, &stores);
    if args.json {
        let views: Vec<MemoryView> =
            found.iter().map(|stored| known.view(stored).labelled(is_pulled(stored))).collect();
        return view::json(&views, out);
    }
    for (position, stored) in found.iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        known.show(stored, is_pulled(stored), &stores, out)?;
    }
    Ok(())
}
