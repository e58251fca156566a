//! `throughline doctor`: checks every link of the chain from Claude Code to memories, and suggests remedies.

use std::io::Write;

use clap::Args;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::inspect::check::{CheckState, HealthCheck};
use crate::inspect::{checks, migrations, secrets, selftest};
use crate::typed::WriteOptions;
use crate::view;
use crate::view::style::{BAD, CARE, GOOD, NAME, paint};
use crate::world::World;

/// Check every part of the installation
///
/// Checks everything from Claude Code's settings to the index, and prints a remedy for each problem.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("check"))]
pub struct DoctorArgs {
    /// Run all programs on a sample session in a temporary home
    #[arg(long, group = "check")]
    selftest: bool,
    /// Search memories, archive, receipts, caches and logs for secrets (not the git history: use
    /// `gitleaks git`)
    #[arg(long, group = "check")]
    secrets: bool,
    /// Redact the secrets found by --secrets
    #[arg(long, requires = "secrets")]
    fix: bool,
    /// Show store formats, finished and pending migrations, and backups
    #[arg(long, group = "check")]
    migrations: bool,
    /// Restore the backup made before a migration
    #[arg(long, value_name = "NAME", requires = "migrations")]
    restore: Option<String>,
    #[command(flatten)]
    write: WriteOptions,
}

impl DoctorArgs {
    /// Returns whether the command makes a decision that only the person may make: restoring or repairing rewrites the
    /// person's files.
    pub const fn decides(&self, _: &World) -> bool {
        (self.restore.is_some() || self.fix) && !self.write.dry_run
    }
}

/// Runs the command.
pub fn run(args: &DoctorArgs, world: &World, out: &mut dyn Write) -> Result {
    let WriteOptions { json, dry_run, .. } = args.write;
    if let Some(name) = &args.restore {
        migrations::restore(name, args.write, world, out)
    } else if args.migrations {
        migrations::report(world, json, out)
    } else if args.secrets {
        secrets::run(args.fix && !dry_run, json, world, out)
    } else if args.selftest {
        print_checks(&selftest::checks(world)?, json, out)
    } else {
        print_checks(&checks::all(world, world.tree()), json, out)
    }
}

/// Prints the results of checks; fails if one of the links is broken.
pub fn print_checks(checks: &[HealthCheck], json: bool, out: &mut dyn Write) -> Result {
    if json {
        view::json(&checks, out)?;
    } else {
        // `--quiet` omits links without a problem.
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
