//! `throughline doctor --secrets`: searches all stored data for secrets, and redacts them.

use std::io::Write;

use processor::progress::Silent;
use processor::upkeep::audit::{AuditReport, FoundSecret, audit};

use crate::command::sync::may_learn;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::view::style::{BAD, GOOD, QUIET, paint};
use crate::view::{self, plural};
use crate::world::World;

/// Searches all stored data for secrets; redacts them if `fixes` is set.
pub fn run(fixes: bool, json: bool, world: &World, out: &mut dyn Write) -> Result {
    if fixes {
        may_learn(world).map_err(|failure| failure.during("nothing was cleaned"))?;
    }
    let tree = world.tree()?;
    let options = world.sync_options(&tree, &Silent);
    let report = audit(&options, fixes)?.ok_or_else(|| {
        Failure::new("a sync is running; nothing was cleaned")
            .hint("Try again when it is finished.")
    })?;
    if json {
        view::json(&report, out)?;
    } else {
        show(&report, fixes, out)?;
    }
    out.flush()?;
    match (report.found.is_empty(), report.failed.is_empty()) {
        (false, _) => Err(Failure::silent(exit::FOUND)),
        (true, false) => Err(Failure::new("not everything could be looked through or cleaned")),
        (true, true) => Ok(()),
    }
}

fn show(report: &AuditReport, fixed: bool, out: &mut dyn Write) -> Result {
    let looked = format!("{} looked through.", plural(report.files, "file"));
    view::remark(paint(QUIET, looked));
    if report.cleaned > 0 && !view::is_quiet() {
        writeln!(out, "{} cleaned.", plural(report.cleaned, "file"))?;
    }
    if !report.failed.is_empty() {
        writeln!(out, "{}", paint(BAD, "Could not be looked through or cleaned:"))?;
    }
    for failed in &report.failed {
        writeln!(out, "  {}", view::plain(failed))?;
    }
    if !report.failed.is_empty() {
        writeln!(
            out,
            "Repair, change or remove these files, then run `throughline doctor --secrets` again."
        )?;
    }
    if report.found.is_empty() && report.failed.is_empty() && !view::is_quiet() {
        writeln!(out, "{}", paint(GOOD, "No secret was found."))?;
    }
    list(&report.found, out)?;
    if !report.found.is_empty() {
        let hint = if fixed {
            "These are left: no memory, or not ours to change. Change or remove the files by hand."
        } else {
            "`throughline doctor --secrets --fix` redacts them."
        };
        writeln!(out, "{hint}")?;
    }
    if report.truncated {
        writeln!(out, "There are more places than are listed here.")?;
    }
    if !report.found.is_empty() || report.cleaned > 0 {
        writeln!(
            out,
            "Change these secrets where they are valid if they were committed or sent: git's history keeps what was \
             committed. `gitleaks git` looks through it."
        )?;
    }
    Ok(())
}

fn list(found: &[FoundSecret], out: &mut dyn Write) -> Result {
    if !found.is_empty() {
        writeln!(out, "{}", paint(BAD, "In files:"))?;
    }
    for FoundSecret { path, line, rule } in found {
        writeln!(out, "  {}:{line}  {rule}", view::path(path))?;
    }
    Ok(())
}
