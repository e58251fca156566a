//! `throughline fixes`: lists known errors with their fixes, from memories and from tool calls in sessions.

use std::cmp::Reverse;
use std::io::Write;

use clap::Args;
use memory_store::Kind;
use memory_store::memory::Status;
use memory_store::recall::{Recalled, Search};
use memory_store::store::Stored;
use processor::extract::session_record::Cure;
use processor::session_records::{self, Friction};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view::style::{NAME, QUIET, STRONG, paint};
use crate::view::{self, MemoryView, clock, plain};
use crate::world::World;

/// Columns before a fix.
const INDENT: usize = 8;
/// Maximum lines shown of a fix; `throughline show` prints all lines.
const CURE_LINES_MAX: usize = 3;

/// List known errors with their fixes
///
/// Lists memories first, then fixes observed in sessions.
#[derive(Debug, Args)]
pub struct FixesArgs {
    /// Words of the error message [default: list the latest fixes]
    words: Vec<String>,
    /// Maximum number of fixes
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: usize,
    /// List the errors that were fixed in three or more sessions, those that took most steps first
    #[arg(long, conflicts_with = "words")]
    friction: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A fix as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum FixView<'a> {
    Memory(MemoryView<'a>),
    Seen(&'a Cure),
}

/// Runs the command.
pub fn run(args: &FixesArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    if args.friction {
        return show_frictions(args, &stores, out);
    }
    let listing = stores.list()?;
    view::warn_broken(&listing.broken);
    let memories = stores.without_held(listing.memories)?;
    let mut fixes: Vec<Stored> = memories.into_iter().filter(is_current).collect();
    if args.words.is_empty() {
        fixes.sort_by_key(|fix| (Reverse(view::date(&fix.memory)), fix.memory.id));
    } else {
        let recalled = find(&args.words.join(" "), args.limit, &stores);
        let place = |fix: &Stored| recalled.hits.iter().position(|hit| hit.id == fix.memory.id);
        fixes.retain(|fix| place(fix).is_some());
        fixes.sort_by_key(place);
    }
    fixes.truncate(args.limit);
    let mut cures = session_records::cures(session_records::read(&stores.project.home));
    if !args.words.is_empty() {
        cures = session_records::cures_of(cures, &args.words.join(" "));
    }
    cures.truncate(args.limit - fixes.len());
    if args.json {
        let is_pulled = stores.labels()?;
        let view = |fix| FixView::Memory(MemoryView::from(fix).labelled(is_pulled(fix)));
        let memories = fixes.iter().map(view);
        view::json(&memories.chain(cures.iter().map(FixView::Seen)).collect::<Vec<_>>(), out)?;
    } else {
        if fixes.is_empty() && cures.is_empty() {
            let none = match args.words.is_empty() {
                true => "No errors are known yet.",
                false => "No known error fits.",
            };
            view::remark(none);
        }
        show(&fixes, out)?;
        show_cures(&cures, out)?;
    }
    let is_empty = fixes.is_empty() && cures.is_empty();
    Failure::of_empty(is_empty && !args.words.is_empty())
}

/// Prints the errors that recur.
fn show_frictions(args: &FixesArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let mut frictions = session_records::frictions(&session_records::read(&stores.project.home));
    frictions.truncate(args.limit);
    if args.json {
        return view::json(&frictions, out);
    }
    if frictions.is_empty() {
        view::remark("No error was fixed in three or more sessions.");
    }
    for Friction { sessions, failures, steps, last } in &frictions {
        let counts = format!("{} in {sessions} sessions", view::plural(*failures, "failure"));
        let cost = match steps {
            0 => String::new(),
            steps => format!(", {} until they were fixed", view::plural(*steps, "step")),
        };
        let told = plain(&format!("{} failed: {}", last.call, last.error)).to_string();
        writeln!(
            out,
            "{} {}",
            paint(STRONG, told),
            paint(QUIET, format_args!("({counts}{cost})"))
        )?;
        writeln!(
            out,
            "{:INDENT$}{} {}",
            "",
            plain(&last.cure),
            paint(QUIET, clock::date(last.at))
        )?;
    }
    Ok(())
}

fn is_current(stored: &Stored) -> bool {
    let memory = &stored.memory;
    memory.kind == Kind::Fix && memory.status == Status::Active && memory.superseded_by.is_none()
}

/// Finds fixes by words, best first. The words may be part of an error message, so operators are not interpreted.
fn find(words: &str, limit: usize, stores: &Stores) -> Recalled {
    let search =
        Search { text: words.to_owned(), kinds: vec![Kind::Fix], limit, ..Search::default() };
    let recall = stores.world.with_second(&stores.tree, stores.recall());
    recall.search(&search, stores.world.now)
}

fn show(fixes: &[Stored], out: &mut dyn Write) -> Result {
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

fn show_cures(cures: &[Cure], out: &mut dyn Write) -> Result {
    for Cure { at, call, error, cure, .. } in cures {
        let told = plain(&format!("{call} failed: {error}"));
        writeln!(out, "{}  {}", paint(QUIET, clock::date(*at)), paint(STRONG, told))?;
        writeln!(out, "{:INDENT$}{}", "", plain(cure))?;
    }
    Ok(())
}
