//! `throughline log`: the last injections, one line each.

use std::collections::HashMap;
use std::io::Write;

use clap::Args;
use memory_store::{MemoryId, short_session};
use serde::Serialize;

use super::receipts::{self, Receipt};
use super::stores::Stores;
use super::view::{self, plain};
use super::why;
use crate::clock;
use crate::failure::Result;
use crate::style::{NAME, QUIET, paint};
use crate::world::World;
use crate::wrap;

/// Columns of a time and of what it was given at.
const TIME_COLUMNS: usize = 15;
const EVENT_COLUMNS: usize = 7;

/// Lists what was given to Claude last (injections), one line each; `throughline why` has the reasons.
#[derive(Debug, Args)]
pub struct Log {
    /// At most this many
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT", value_parser = super::count)]
    limit: usize,
    /// Only of the Claude Code session whose id begins like this
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A receipt with the titles of what was given.
#[derive(Serialize)]
pub struct LogEntry<'a> {
    #[serde(flatten)]
    receipt: &'a Receipt,
    /// Titles of the memories, in the order they were given in.
    pub titles: Vec<&'a str>,
}

/// Runs the command.
pub fn run(args: &Log, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let wanted = |receipt: &Receipt| {
        args.session.as_ref().is_none_or(|start| receipt.session.starts_with(start.as_str()))
    };
    let found = receipts::last(&world.dirs.tree(&stores.tree.root), args.limit, wanted);
    let titles = why::titles(&stores, world, &found)?;
    let lines: Vec<LogEntry<'_>> =
        found.iter().map(|receipt| LogEntry::of(receipt, &titles)).collect();
    if args.json {
        return view::json(&lines, out);
    }
    if lines.is_empty() {
        writeln!(out, "{}", why::nothing(args.session.as_deref()))?;
    }
    lines.iter().try_for_each(|entry| Ok(writeln!(out, "{}", entry.line(world, wrap::room()))?))
}

/// Names an event for a person.
pub fn occasion(event: &str) -> &str {
    match event {
        "SessionStart" => "start",
        "UserPromptSubmit" => "prompt",
        "PostToolUse" => "file",
        "PostToolUseFailure" => "error",
        "SubagentStart" => "agent",
        other => other,
    }
}

impl<'a> LogEntry<'a> {
    /// Looks up what the memories of a receipt are called.
    pub fn of(receipt: &'a Receipt, titles: &'a HashMap<MemoryId, String>) -> Self {
        let given = receipt.memories.iter();
        let title = |id| titles.get(id).map_or(why::GONE, String::as_str);
        Self { receipt, titles: given.map(|given| title(&given.id)).collect() }
    }

    /// Returns one line of so many columns.
    pub fn line(&self, world: &World, columns: usize) -> String {
        let Self { receipt, titles } = self;
        let at = format!("{:<TIME_COLUMNS$}", clock::ago(receipt.at, world.now));
        let event = format!("{:<EVENT_COLUMNS$}", plain(occasion(&receipt.event)));
        let cost = format!("{:>4} tokens", receipt.tokens);
        let what = match titles.as_slice() {
            [] => "where the work was left".to_owned(),
            [title] => (*title).to_owned(),
            [title, rest @ ..] => format!("{title} (+{})", rest.len()),
        };
        let session = plain(short_session(&receipt.session));
        let before = at.len() + event.len() + cost.len() + session.len() + 8;
        let what = wrap::cut(&plain(&what), columns.saturating_sub(before));
        format!(
            "{}  {event}  {}  {}  {what}",
            paint(QUIET, at),
            paint(NAME, session),
            paint(QUIET, cost)
        )
    }
}
