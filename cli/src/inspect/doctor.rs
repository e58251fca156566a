//! `throughline doctor`: checks every link of the chain, and suggests remedies.

pub mod check;
pub mod checks;
pub mod custom_embedder;
pub mod folders;
pub mod meaning;
pub mod ollama;
pub mod plugin_checks;
pub mod programs;

use std::io::Write;

use clap::Args;

use self::check::{CheckState, HealthCheck};
use super::migrations;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::view;
use crate::view::style::{BAD, CARE, GOOD, NAME, paint};
use crate::world::World;

/// Checks every part, from Claude Code's settings to the index, and says how to mend what is broken.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Show the formats of the stores, the migrations that ran or are pending, and backups
    #[arg(long)]
    migrations: bool,
    /// Put this backup of a migration back
    #[arg(long, value_name = "NAME", requires = "migrations")]
    restore: Option<String>,
    /// Print what --restore would put back, and do nothing
    #[arg(long, requires = "restore")]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    /// Returns whether it decides something for the person: a backup replaces what they have.
    pub const fn decides(&self, _: &World) -> bool {
        self.restore.is_some() && !self.dry_run
    }
}

/// Runs the command.
pub fn run(args: &DoctorArgs, world: &World, out: &mut dyn Write) -> Result {
    match &args.restore {
        Some(name) => migrations::restore(name, world, (args.dry_run, args.json), out),
        None if args.migrations => migrations::report(world, args.json, out),
        None => tell(&checks::all(world, world.tree()), args.json, out),
    }
}

/// Prints checks; fails if one of them is bad.
pub fn tell(checks: &[HealthCheck], json: bool, out: &mut dyn Write) -> Result {
    if json {
        view::json(&checks, out)?;
    } else {
        // `--quiet` leaves the parts that need something.
        let is_shown = |check: &&HealthCheck| check.state != CheckState::Good || !view::is_quiet();
        checks.iter().filter(is_shown).try_for_each(|check| show(check, out))?;
    }
    let broken = checks.iter().filter(|check| check.state == CheckState::Bad).count();
    if broken == 0 {
        return Ok(());
    }
    out.flush()?;
    let noun = if broken == 1 { "part is" } else { "parts are" };
    Err(Failure::new(format!("{broken} {noun} broken"))
        .code(exit::UNHEALTHY)
        .hint("Each line above says what helps."))
}

fn show(check: &HealthCheck, out: &mut dyn Write) -> Result {
    let mark = match check.state {
        CheckState::Good => paint(GOOD, "ok   "),
        CheckState::Care => paint(CARE, "care "),
        CheckState::Bad => paint(BAD, "bad  "),
    };
    writeln!(out, "{mark} {:<12} {}", check.name, view::plain(&check.seen))?;
    if let Some(remedy) = &check.remedy {
        writeln!(out, "{:18} -> {}", "", paint(NAME, view::plain(remedy)))?;
    }
    Ok(())
}
