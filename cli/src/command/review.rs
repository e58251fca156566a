//! `throughline review`: what was learned and waits for a person's word (`promote = "review"`).

use std::io::Write;

use clap::Args;
use dialoguer::Select;
use memory_store::index::journal::{self, Change as Noted};
use memory_store::store::{Store, Stored};

use super::stores::Stores;
use super::view::{self, MemoryView, plain};
use crate::failure::{Failure, Result};
use crate::style::{NAME, paint};
use crate::world::World;

/// Takes what was learned into the memory folder, or turns it down.
#[derive(Debug, Args)]
pub struct Review {
    /// Take this one in; may be repeated
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
    /// Turn this one down: it is not learned again; may be repeated
    #[arg(long, value_name = "ID")]
    reject: Vec<String>,
    /// Take all in
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    accept_all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a person says about a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Accept,
    Reject,
    Later,
    Stop,
}

/// Runs the command.
pub fn run(args: &Review, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    for id in &args.accept {
        accept(world, &stores, &stores.project.find(id)?, out)?;
    }
    for id in &args.reject {
        reject(world, &stores, &stores.project.find(id)?, out)?;
    }
    let waiting = stores.project.drafts()?.memories;
    if args.accept_all {
        return waiting.iter().try_for_each(|stored| accept(world, &stores, stored, out));
    }
    if args.json {
        let views: Vec<MemoryView> = waiting.iter().map(MemoryView::from).collect();
        return view::json(&views, out);
    }
    if !args.accept.is_empty() || !args.reject.is_empty() {
        return Ok(());
    }
    if waiting.is_empty() {
        writeln!(out, "Nothing waits for review.")?;
    } else if world.interactive {
        ask_about(world, &stores, &waiting, out)?;
    } else {
        list(&stores.project, &waiting, out)?;
    }
    Ok(())
}

fn list(store: &Store, waiting: &[Stored], out: &mut dyn Write) -> Result {
    waiting.iter().try_for_each(|stored| view::line(&stored.memory, out))?;
    writeln!(
        out,
        "\n`throughline review --accept ID` takes one into {}, `--reject ID` turns it down.",
        store.folder().display()
    )?;
    Ok(())
}

fn ask_about(world: &World, stores: &Stores, waiting: &[Stored], out: &mut dyn Write) -> Result {
    for stored in waiting {
        view::whole(stored, out)?;
        out.flush()?;
        match ask()? {
            Word::Accept => accept(world, stores, stored, out)?,
            Word::Reject => reject(world, stores, stored, out)?,
            Word::Later => {}
            Word::Stop => return Ok(()),
        }
    }
    Ok(())
}

fn ask() -> Result<Word> {
    const WORDS: [(Word, &str); 4] = [
        (Word::Accept, "Take it in"),
        (Word::Reject, "Turn it down"),
        (Word::Later, "Later"),
        (Word::Stop, "Stop here"),
    ];
    let chosen = Select::new()
        .items(WORDS.map(|(_, text)| text))
        .default(0)
        .interact_opt()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))?;
    Ok(chosen.and_then(|at| WORDS.get(at)).map_or(Word::Stop, |(word, _)| *word))
}

fn accept(world: &World, stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    let promoted = stores.project.promote(&stored.memory.id.to_string())?;
    let scope = promoted.memory.scope;
    journal::note(&world.dirs, &stores.tree, scope, Noted::Saved(&promoted))?;
    let id = paint(NAME, promoted.memory.id.short());
    writeln!(out, "Taken in: {id} {}", promoted.path.display())?;
    Ok(())
}

fn reject(world: &World, stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    let memory = &stored.memory;
    stores.project.reject(&memory.id.to_string(), world.now)?;
    journal::note(&world.dirs, &stores.tree, memory.scope, Noted::Gone(memory.id))?;
    writeln!(out, "Turned down: {} {}", paint(NAME, memory.id.short()), plain(&memory.title))?;
    Ok(())
}
