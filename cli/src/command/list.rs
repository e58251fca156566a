//! `throughline list`: lists the memories of this project and of the user, or those that were removed.

use std::io::Write;

use clap::Args;
use memory_store::ledger::Reason;

use super::browse::{self, Purpose};
use crate::failure::Result;
use crate::stores::Stores;
use crate::view::listing::{self, ListFilter};
use crate::view::style::{NAME, QUIET, paint};
use crate::view::{self, ForgottenView, clock, plain, topics};
use crate::world::World;

/// List memories, newest first
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: ListFilter,
    /// List forgotten memories, with date and reason; they are not relearned
    #[arg(long, conflicts_with_all = ["all", "limit", "kind", "tag", "path", "since", "until", "pick"])]
    forgotten: bool,
    /// Choose a memory at the terminal and print its id
    #[arg(long, conflicts_with_all = ["all", "limit", "kind", "tag", "path", "since", "until"])]
    pick: bool,
    /// Count the memories of each topic
    #[arg(long, conflicts_with = "pick")]
    topics: bool,
    /// With --topics: 1 counts areas, 2 also the topics of each area
    #[arg(long, requires = "topics", default_value_t = 2, value_name = "1-2", value_parser = clap::value_parser!(u8).range(1..=2))]
    depth: u8,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &ListArgs, world: &World, out: &mut dyn Write) -> Result {
    if args.pick {
        let chosen = browse::named_or_chosen(&[], args.json, Purpose::Name, world)?;
        return chosen.iter().try_for_each(|id| Ok(writeln!(out, "{id}")?));
    }
    if args.forgotten {
        return list_forgotten(args.json, world, out);
    }
    if args.topics {
        return topics::print(&args.filter, usize::from(args.depth), args.json, world, out);
    }
    listing::print(&args.filter, args.json, world, out)
}

/// Lists the tombstones of both stores.
fn list_forgotten(json: bool, world: &World, out: &mut dyn Write) -> Result {
    let tombstones = Stores::open(world)?.tombstones()?;
    if json {
        return view::json(&tombstones.iter().map(ForgottenView::from).collect::<Vec<_>>(), out);
    }
    if tombstones.is_empty() {
        view::remark("No memory was removed.");
    }
    for tombstone in &tombstones {
        let reason = match tombstone.reason {
            Reason::Forgotten => "forgotten",
            Reason::Deleted => "file deleted",
            Reason::RemovedInCommit => "removed in a commit",
            Reason::Rejected => "rejected",
            Reason::MadeByRules => "made by rules, archived",
        };
        // The title of a permanently deleted memory is not stored.
        let title = match tombstone.title.as_str() {
            "" => "(deleted)",
            title => title,
        };
        let when = format!("{reason} {}", clock::date(tombstone.at));
        writeln!(
            out,
            "{}  {}  {}",
            paint(NAME, tombstone.id.short()),
            plain(title),
            paint(QUIET, when)
        )?;
    }
    Ok(())
}
