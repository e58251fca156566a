//! `throughline forget`: takes a memory out of recall, for now or for good.

use std::io::Write;

use clap::Args;
use memory_store::index::journal::{self, Change as Noted};
use memory_store::store::{Forget as How, Store, Stored};

use super::stores::Stores;
use super::view::plain;
use crate::failure::Result;
use crate::style::{NAME, paint};
use crate::world::World;

/// Puts memories aside; they are not learned again.
#[derive(Debug, Args)]
pub struct Forget {
    /// Ids, or their last characters
    #[arg(required = true)]
    id: Vec<String>,
    /// Remove them for good instead
    #[arg(long)]
    delete: bool,
}

/// Runs the command.
pub fn run(args: &Forget, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let how = if args.delete { How::Delete } else { How::Archive };
    // All are looked up first: a mistyped id changes nothing.
    let mut found = Vec::new();
    for id in &args.id {
        found.push(stores.find(id)?);
    }
    found.iter().try_for_each(|(store, stored)| put_aside(world, &stores, store, stored, how, out))
}

/// Takes one memory out of recall, and says so.
pub fn put_aside(
    world: &World,
    stores: &Stores,
    store: &Store,
    stored: &Stored,
    how: How,
    out: &mut dyn Write,
) -> Result {
    let memory = &stored.memory;
    store.forget(&memory.id.to_string(), how, &store.redactor(&stores.settings), world.now)?;
    journal::note(&world.dirs, &stores.tree, stores.scope_of(stored), Noted::Gone(memory.id))?;
    let id = paint(NAME, memory.id.short());
    match how {
        How::Archive => writeln!(
            out,
            "Put aside {id} {}. `throughline restore {}` brings it back.",
            plain(&memory.title),
            memory.id.short()
        )?,
        How::Delete => writeln!(out, "Deleted {id} {}.", plain(&memory.title))?,
    }
    Ok(())
}
