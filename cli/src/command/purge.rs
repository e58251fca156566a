//! `throughline purge`: removes what was archived, for good, and proves it.

use std::io::Write;

use clap::{ArgGroup, Args};
use memory_store::Timestamp;
use processor::progress::Silent;
use processor::purge::{PurgeReport, What, purge};

use super::sync::may_learn;
use super::{ask, view};
use crate::failure::{Failure, Result};
use crate::style::{GOOD, paint};
use crate::world::World;

/// Removes archived turns and all that was made of them, for good.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct Purge {
    /// Of this session, by the start of its id
    #[arg(long, value_name = "ID", group = "what")]
    session: Option<String>,
    /// Older than this date
    #[arg(long, value_name = "DATE", value_parser = super::time, group = "what")]
    before: Option<Timestamp>,
    /// Of the whole project, with all that is private about it on this machine
    #[arg(long, group = "what")]
    everything: bool,
    /// Ask nothing
    #[arg(long, short = 'y')]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Purge, world: &World, out: &mut dyn Write) -> Result {
    may_learn(world).map_err(|failure| failure.during("nothing was removed"))?;
    let tree = world.tree()?;
    let what = args.what();
    if !args.yes && !ask::confirm(world, &question(&what), false)? {
        return Err(
            Failure::new("nothing was removed").hint("Add --yes where nobody can be asked.")
        );
    }
    let options = world.sync_options(&tree, &Silent);
    let report = purge(&options, &what)?.ok_or_else(|| {
        Failure::new("a sync is at work; nothing was removed").hint("Try again when it is done.")
    })?;
    if args.json {
        view::json(&report, out)?;
    } else {
        show(&report, out)?;
    }
    proven(&report)
}

fn show(report: &PurgeReport, out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "Removed {} sessions, {} records, {} receipts.",
        report.sessions, report.records, report.receipts
    )?;
    if report.left.is_empty() {
        let proof = format!("Nothing of it is left in {} files.", report.scanned);
        writeln!(out, "{}", paint(GOOD, proof))?;
    }
    Ok(())
}

fn proven(report: &PurgeReport) -> Result {
    let Some(first) = report.left.first() else { return Ok(()) };
    Err(Failure::new(format!("{} files still hold some of it", report.left.len()))
        .hint(format!("Look at {} and remove it by hand.", first.display())))
}

impl Purge {
    fn what(&self) -> What {
        match (&self.session, self.before) {
            (Some(session), _) => What::Session(session.clone()),
            (None, Some(before)) => What::Before(before),
            (None, None) => What::Project,
        }
    }
}

fn question(what: &What) -> String {
    match what {
        What::Session(session) => format!("Remove session {session} for good?"),
        What::Before(before) => format!("Remove everything archived before {}?", before.date()),
        What::Project => "Remove this project's archive and state?".to_owned(),
    }
}
