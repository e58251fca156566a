//! `throughline how`: prints the command lines that worked in sessions, and the failures before them.

use std::io::Write;

use clap::Args;
use memory_store::passed_commands::PassedCommand;
use memory_store::signature::normalise_command;
use processor::extract::session_record::Cure;
use processor::session_records;
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view::style::{QUIET, STRONG, paint};
use crate::view::{self, clock, plain, plural};
use crate::world::World;

/// Columns before a failure.
const INDENT: usize = 4;
/// Maximum number of failures per command line.
const FAILURES_MAX: usize = 3;

/// Show how a command was run successfully, and what failed before
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Words of the command, such as `cargo test` or `deploy`
    #[arg(required = true)]
    command: Vec<String>,
    /// Maximum number of command lines
    #[arg(long, short = 'n', default_value_t = 5, value_name = "COUNT", value_parser = crate::typed::count)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A command line that worked.
#[derive(Serialize)]
struct WorkingCommand<'a> {
    #[serde(flatten)]
    passed: &'a PassedCommand,
    /// Failures of the same program and subcommand, newest first.
    failures: Vec<&'a Cure>,
}

/// Runs the command.
pub fn run(args: &HowArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let records = session_records::read(&stores.project.home);
    let mut passed =
        session_records::passed(records.iter().map(|record| (record.session.as_str(), record)));
    let asked: Vec<String> = args
        .command
        .iter()
        .flat_map(|words| words.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    // A line that begins with the words precedes one that only contains them.
    let rank = |command: &PassedCommand| {
        let line = command.line.to_lowercase();
        let has_all = asked.iter().all(|word| line.contains(word.as_str()));
        has_all.then(|| !line.starts_with(&asked.join(" ")))
    };
    passed.retain(|command| rank(command).is_some());
    passed.sort_by_key(rank);
    passed.truncate(args.limit);
    let cures = session_records::cures(records.clone());
    let working: Vec<WorkingCommand<'_>> = passed
        .iter()
        .map(|passed| {
            let is_same = |cure: &&Cure| family(&cure.call) == family(&passed.line);
            let failures = cures.iter().filter(is_same).take(FAILURES_MAX).collect();
            WorkingCommand { passed, failures }
        })
        .collect();
    if args.json {
        view::json(&working, out)?;
    } else {
        show(&working, out)?;
    }
    if !working.is_empty() {
        return Ok(());
    }
    if !args.json {
        view::remark("No such command passed in a session.");
    }
    Err(Failure::silent(exit::NOTHING))
}

/// Returns the program and the subcommand of a line.
fn family(line: &str) -> Option<(String, String)> {
    let normal = normalise_command(line);
    let mut words = normal.split(' ').filter(|word| !word.starts_with('-')).map(str::to_owned);
    Some((words.next().filter(|word| !word.is_empty())?, words.next().unwrap_or_default()))
}

fn show(working: &[WorkingCommand<'_>], out: &mut dyn Write) -> Result {
    for WorkingCommand { passed, failures } in working {
        let folder = match passed.folder.as_str() {
            "." | "" => String::new(),
            folder => format!(" in {folder}"),
        };
        let line = plain(&format!("{}{folder}", passed.line)).to_string();
        let counted = format!(
            "(passed in {}, last on {})",
            plural(passed.sessions, "session"),
            clock::date(passed.last)
        );
        writeln!(out, "{} {}", paint(STRONG, line), paint(QUIET, counted))?;
        for Cure { at, call, error, cure, .. } in failures {
            let told = plain(&format!("{call} failed: {error}")).to_string();
            writeln!(out, "{:INDENT$}{} {told}", "", paint(QUIET, clock::date(*at)))?;
            writeln!(out, "{:INDENT$}{}", "", plain(cure))?;
        }
    }
    Ok(())
}
