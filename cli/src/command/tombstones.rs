//! `throughline tombstones`: lists memories that were removed and are not learned again.

use std::io::Write;

use clap::Args;
use memory_store::ledger::Reason;

use crate::failure::Result;
use crate::stores::Stores;
use crate::view::style::{NAME, QUIET, paint};
use crate::view::{self, ForgottenView, clock, plain};
use crate::world::World;

/// Lists what was removed and is not learned again; `throughline restore` lifts it.
#[derive(Debug, Args)]
pub struct TombstonesArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &TombstonesArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let all = stores.tombstones()?;
    if args.json {
        return view::json(&all.iter().map(ForgottenView::from).collect::<Vec<_>>(), out);
    }
    if all.is_empty() {
        view::remark("Nothing was removed.");
    }
    for tombstone in &all {
        let why = match tombstone.reason {
            Reason::Forgotten => "forgotten",
            Reason::Deleted => "file deleted",
            Reason::RemovedInCommit => "removed in a commit",
            Reason::Rejected => "rejected",
            Reason::MadeByRules => "made by rules, put aside",
        };
        let when = format!("{why} {}", clock::date(tombstone.at));
        writeln!(
            out,
            "{}  {}  {}",
            paint(NAME, tombstone.id.short()),
            plain(&tombstone.title),
            paint(QUIET, when)
        )?;
    }
    Ok(())
}
