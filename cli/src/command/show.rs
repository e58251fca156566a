//! `throughline show`: one memory, whole.

use std::io::Write;

use clap::Args;
use memory_store::memory::Status;
use memory_store::recall::Recall;
use memory_store::store::Stored;
use memory_store::trust::LABEL;

use super::damage;
use super::learned;
use super::stores::{Held, Stores};
use super::view::{self, MemoryView};
use crate::failure::Result;
use crate::style::{CARE, paint};
use crate::world::World;

/// Shows memories whole, and why one is held back or may be true no longer.
#[derive(Debug, Args)]
pub struct Show {
    /// Ids, or their last characters
    #[arg(required = true, add = super::complete::ids())]
    id: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Show, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    // What was put aside can still be looked at.
    let found = stores.find_all(&args.id)?;
    let labels = stores.labels()?;
    let is_pulled = |stored: &Stored| stored.memory.status != Status::Archived && labels(stored);
    if args.json {
        let view = |stored| MemoryView::from(stored).labelled(is_pulled(stored));
        let views: Vec<MemoryView> = found.iter().map(view).collect();
        return view::json(&views, out);
    }
    let recall = Recall::open(&world.dirs, &stores.tree);
    let lost = damage::lost(&world.dirs.project(stores.tree.project));
    for (position, stored) in found.iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        view::whole(stored, out)?;
        if is_pulled(stored) {
            let label = format!("{LABEL}: `throughline trust` releases it");
            writeln!(out, "{}", paint(CARE, label))?;
        }
        if let Some(staleness) = recall.staleness(stored.memory.id) {
            writeln!(
                out,
                "{}\n`throughline review --keep {}` says that it still holds.",
                paint(CARE, learned::why(&staleness)),
                stored.memory.id.short()
            )?;
        }
        let session = stored.memory.source.session.as_deref();
        if session.is_some_and(|session| lost.iter().any(|(_, known)| known == session)) {
            let told = "its evidence is lost: the archived session cannot be read, and its transcript is gone";
            writeln!(out, "{}", paint(CARE, told))?;
        }
        if stored.memory.status == Status::Archived {
            continue;
        }
        if let Some(Held { why, release, .. }) = stores.held_as(stored)? {
            let why = format!("held back: {}", view::plain(&why.to_string()));
            writeln!(
                out,
                "{}\n`throughline review --release {release}` lets it out.",
                paint(CARE, why)
            )?;
        }
    }
    Ok(())
}
