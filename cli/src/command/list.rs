//! `throughline list`: lists the memories of this project and of the user.

use std::io::Write;

use clap::Args;

use super::browse::{self, Purpose};
use crate::failure::Result;
use crate::view::listing::{self, ListFilter};
use crate::world::World;

/// Lists memories, newest first.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: ListFilter,
    /// Choose one at the terminal, and print its id
    #[arg(long, conflicts_with_all = ["archived", "all", "limit", "kind", "tag", "path", "since", "until"])]
    pick: bool,
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
    listing::print(&args.filter, args.json, world, out)
}
