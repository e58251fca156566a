//! `throughline pack`: prints a brief of the project for newcomers, without a query.

use std::io::Write;

use clap::Args;
use memory_store::memory::{Memory, SaidBy, Status};
use memory_store::recall::start_rank::{Standing, worth};
use memory_store::settings::Settings;
use memory_store::store::Stored;
use memory_store::succession::superseded;
use memory_store::trust::LABEL;
use memory_store::{Kind, MemoryId, Timestamp, settings_file};

use crate::failure::Result;
use crate::stores::Stores;
use crate::view::{self, MemoryView, plain};
use crate::world::World;

/// Characters per token, the same value as in all other estimates.
const TOKEN_CHARS: usize = 4;

/// Print a project brief that starts with the most valuable memories
#[derive(Debug, Args)]
pub struct PackArgs {
    /// Maximum length in tokens of 4 characters
    #[arg(long, default_value_t = 4_000, value_name = "COUNT")]
    tokens: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Sections in order of usefulness; session digests are omitted.
const SECTIONS: [(Kind, &str); 10] = [
    (Kind::Preference, "What is wanted"),
    (Kind::Convention, "How things are done"),
    (Kind::Decision, "Decisions"),
    (Kind::Synthesis, "Overview"),
    (Kind::Fact, "Facts"),
    (Kind::Gotcha, "Watch out"),
    (Kind::Fix, "Known errors"),
    (Kind::FailedApproach, "Tried without success"),
    (Kind::Command, "Commands that work"),
    (Kind::Procedure, "Procedures"),
];

/// Kind of the last section.
const OPEN: (Kind, &str) = (Kind::Task, "Open");

/// Runs the command.
pub fn run(args: &PackArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let listing = stores.list()?;
    view::warn_broken(&listing.broken);
    let (settings, _) = settings_file::load(&world.dirs, Some(&stores.tree));
    let memories = stores.without_held(listing.memories)?;
    let recall = stores.recall();
    let is_stale = |id| recall.staleness(id).is_some();
    let chosen = choose(memories, args.tokens, &settings, &is_stale, world.now);
    let is_pulled = stores.labels()?;
    if args.json {
        let view = |stored| MemoryView::from(stored).labelled(is_pulled(stored));
        let views: Vec<MemoryView> = chosen.iter().map(view).collect();
        return view::json(&views, out);
    }
    let name = stores.tree.root.file_name().unwrap_or_default().to_string_lossy();
    writeln!(out, "# {}: what is known\n", plain(&name))?;
    for (kind, heading) in SECTIONS.into_iter().chain([OPEN]) {
        let of_kind = chosen.iter().filter(|stored| stored.memory.kind == kind);
        section(heading, of_kind, &is_pulled, out)?;
    }
    Ok(())
}

fn section<'a>(
    heading: &str,
    memories: impl Iterator<Item = &'a Stored>,
    is_pulled: &dyn Fn(&Stored) -> bool,
    out: &mut dyn Write,
) -> Result {
    let mut memories = memories.peekable();
    if memories.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "## {heading}\n")?;
    for stored in memories {
        writeln!(out, "{}", text(&stored.memory, is_pulled(stored)))?;
    }
    Ok(writeln!(out)?)
}

/// Returns whether a memory is attributed to Claude: Claude saved it by choice, or stated it as a wish.
fn is_claudes_note(memory: &Memory) -> bool {
    memory.source.is_noted()
        || memory.kind.is_wish() && memory.source.said_by == Some(SaidBy::Assistant)
}

fn text(memory: &Memory, is_pulled: bool) -> String {
    let date = view::date(memory).date();
    let noted = if is_claudes_note(memory) { ", noted by Claude" } else { "" };
    let origin = if is_pulled { format!(", {LABEL}") } else { String::new() };
    let short = memory.id.short();
    let head = format!("- **{}** ({short}, {date}{noted}{origin})", plain(&memory.title));
    let body = plain(memory.body.trim());
    if body.is_empty() {
        return head;
    }
    body.lines().fold(head, |text, line| format!("{text}\n  {line}").trim_end().to_owned())
}

/// Returns the most valuable memories within the limit, in the order of the sections.
fn choose(
    memories: Vec<Stored>,
    tokens_max: usize,
    settings: &Settings,
    is_stale: &dyn Fn(MemoryId) -> bool,
    now: Timestamp,
) -> Vec<Stored> {
    let superseded = superseded(memories.iter().map(|stored| &stored.memory), now);
    let stands = |stored: &Stored| serves(stored, now) && !superseded.contains(&stored.memory.id);
    let value = |stored: &Stored| {
        let stale = is_stale(stored.memory.id);
        worth(&Standing { stale, ..Standing::from(&stored.memory) }, settings, now)
    };
    let valued = |stored: Stored| {
        let value = value(&stored);
        (stored, value)
    };
    let mut ranked: Vec<(Stored, f32)> = memories.into_iter().filter(stands).map(valued).collect();
    ranked.sort_by(|one, other| {
        let by_worth = other.1.total_cmp(&one.1);
        by_worth.then_with(|| one.0.memory.id.cmp(&other.0.memory.id))
    });
    let mut left = tokens_max;
    let mut ranked: Vec<Stored> = ranked.into_iter().map(|(stored, _)| stored).collect();
    ranked.retain(|stored| {
        let cost = text(&stored.memory, true).chars().count().div_ceil(TOKEN_CHARS);
        let fits = cost <= left;
        left -= if fits { cost } else { 0 };
        fits
    });
    ranked
}

fn serves(stored: &Stored, now: Timestamp) -> bool {
    let memory = &stored.memory;
    // Pending memories are excluded, since no person has approved them yet.
    memory.status == Status::Active
        && !memory.is_expired(now)
        && SECTIONS.iter().chain([&OPEN]).any(|(kind, _)| *kind == memory.kind)
}
