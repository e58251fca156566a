//! `throughline fixes`: known errors and what cured them.

use std::cmp::Reverse;
use std::io::Write;

use clap::Args;
use memory_store::Kind;
use memory_store::memory::Status;
use memory_store::recall::{Recall, Recalled, Search, WEAK};
use memory_store::store::Stored;
use serde::Serialize;

use super::stores::Stores;
use super::view::{self, MemoryView, plain};
use crate::clock;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::style::{NAME, QUIET, STRONG, paint};
use crate::world::World;

/// Columns before the cure.
const INDENT: usize = 8;
/// Lines of a cure that are shown; `throughline show` has all.
const CURE_LINES_MAX: usize = 3;

/// Lists known errors with their cure, newest first; with words, those that fit.
#[derive(Debug, Args)]
pub struct Fixes {
    /// Words of the error
    words: Vec<String>,
    /// At most this many
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT", value_parser = super::count)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A fix as JSON.
#[derive(Serialize)]
struct FixView<'a> {
    #[serde(flatten)]
    memory: MemoryView<'a>,
    /// True if it is only near the words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    weak: bool,
}

/// Runs the command.
pub fn run(args: &Fixes, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let listing = stores.list()?;
    view::warn_broken(&listing.broken);
    let memories = stores.without_held(listing.memories)?;
    let mut fixes: Vec<Stored> = memories.into_iter().filter(is_current).collect();
    let mut weak = false;
    if args.words.is_empty() {
        fixes.sort_by_key(|fix| (Reverse(view::date(&fix.memory)), fix.memory.id));
    } else {
        let recalled = find(&args.words.join(" "), args.limit, world, &stores);
        weak = recalled.weak;
        let place = |fix: &Stored| recalled.hits.iter().position(|hit| hit.id == fix.memory.id);
        fixes.retain(|fix| place(fix).is_some());
        fixes.sort_by_key(place);
    }
    fixes.truncate(args.limit);
    if args.json {
        let is_pulled = stores.labels()?;
        let views = fixes
            .iter()
            .map(|fix| FixView { memory: MemoryView::from(fix).labelled(is_pulled(fix)), weak });
        view::json(&views.collect::<Vec<_>>(), out)?;
    } else {
        if weak && !fixes.is_empty() {
            writeln!(out, "{}", paint(QUIET, WEAK))?;
        }
        show(&fixes, !args.words.is_empty(), out)?;
    }
    match (fixes.is_empty() || weak) && !args.words.is_empty() {
        true => Err(Failure::silent(exit::NOTHING)),
        false => Ok(()),
    }
}

fn is_current(stored: &Stored) -> bool {
    let memory = &stored.memory;
    memory.kind == Kind::Fix && memory.status == Status::Active && memory.superseded_by.is_none()
}

/// Finds fixes by words, best first. They may be the text of an error, in which nothing is an operator.
fn find(words: &str, limit: usize, world: &World, stores: &Stores) -> Recalled {
    let search =
        Search { text: words.to_owned(), kinds: vec![Kind::Fix], limit, ..Search::default() };
    let recall = world.with_second(&stores.tree, Recall::open(&world.dirs, &stores.tree, None));
    recall.search(&search, world.now)
}

fn show(fixes: &[Stored], searched: bool, out: &mut dyn Write) -> Result {
    if fixes.is_empty() {
        let none = if searched { "No known error fits." } else { "No errors are known yet." };
        writeln!(out, "{none}")?;
    }
    for Stored { memory, .. } in fixes {
        let date = clock::date(view::date(memory));
        writeln!(
            out,
            "{}  {}  {}",
            paint(NAME, memory.id.short()),
            paint(QUIET, date),
            paint(STRONG, plain(&memory.title))
        )?;
        let body = plain(&memory.body);
        let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
        for line in lines.take(CURE_LINES_MAX) {
            writeln!(out, "{:INDENT$}{line}", "")?;
        }
    }
    Ok(())
}
