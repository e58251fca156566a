//! `throughline service`: `throughline watch` from login to logout.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use processor::watch;
use serde::Serialize;

use super::doctor::check::Check;
use super::view;
use crate::failure::Result;
use crate::service::{self, Manager, ServiceFile};
use crate::style::{NAME, paint};
use crate::world::World;

/// Runs `throughline watch` from login to logout.
#[derive(Debug, Args)]
pub struct Service {
    #[command(subcommand)]
    what: ServiceAction,
}

impl Service {
    /// Returns whether it decides something for the person.
    pub fn decides(&self) -> bool {
        match &self.what {
            ServiceAction::Install(how) | ServiceAction::Uninstall(how) => !how.dry_run,
            ServiceAction::Status(_) => false,
        }
    }
}

#[derive(Debug, Subcommand)]
enum ServiceAction {
    /// Writes the service and starts it
    Install(How),
    /// Tells whether it is there and runs
    Status(How),
    /// Ends it and removes what `install` wrote
    Uninstall(How),
}

#[derive(Debug, Args)]
struct How {
    /// Change nothing and tell what would be done
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// State of the service, or of what was done to it.
#[derive(Debug, Serialize)]
struct Report {
    manager: &'static str,
    file: String,
    /// Whether the file is there and ours.
    installed: bool,
    /// Whether somebody watches now, as a service or by hand.
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program_there: Option<bool>,
    /// The text that would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Commands to be run by hand, because they could not be run here or should not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    run: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Service, world: &World, out: &mut dyn Write) -> Result {
    let manager = Manager::here();
    match &args.what {
        ServiceAction::Install(how) => install(manager, how, world, out),
        ServiceAction::Status(how) => status(manager, how, world, out),
        ServiceAction::Uninstall(how) => uninstall(manager, how, world, out),
    }
}

fn install(manager: Manager, how: &How, world: &World, out: &mut dyn Write) -> Result {
    let file = manager.file(world);
    let text = manager.text(&world.program("throughline"), &service::variables());
    let starts = manager.starts(world);
    if how.dry_run {
        if manager.find(world)? == ServiceFile::Strange {
            return Err(service::strange(&file));
        }
        let run: Vec<String> = starts.iter().map(|command| command.join(" ")).collect();
        if how.json {
            let report = Report { text: Some(text), run, ..report(manager, world)? };
            return view::json(&report, out);
        }
        writeln!(out, "Would write {}:\n\n{text}", file.display())?;
        return tell("and run", &run, out);
    }
    let replaced = matches!(manager.find(world)?, ServiceFile::Ours(_));
    manager.write(world, &text)?;
    if replaced && manager == Manager::Launchd {
        // An agent of this name may be loaded; launchd takes no second one.
        service::run_all(world, &manager.stops(world));
    }
    let run = service::run_all(world, &starts);
    if how.json {
        return view::json(&Report { run, ..report(manager, world)? }, out);
    }
    writeln!(out, "Wrote {}", file.display())?;
    if run.is_empty() {
        writeln!(out, "It watches now and whenever you log in.")?;
        return Ok(());
    }
    writeln!(out, "{} could not be asked from here to start it.", manager.name())?;
    tell("To start it, run", &run, out)
}

fn status(manager: Manager, how: &How, world: &World, out: &mut dyn Write) -> Result {
    let report = report(manager, world)?;
    if how.json {
        return view::json(&report, out);
    }
    match (&report.program, report.installed) {
        (Some(program), true) if report.program_there == Some(false) => {
            writeln!(out, "{} starts {program}, which is gone.", report.file)?;
            writeln!(out, "`throughline service install` mends it.")?;
        }
        (_, true) => writeln!(out, "Installed: {}", report.file)?,
        (_, false) => writeln!(out, "Not installed; `throughline service install` does it.")?,
    }
    let runs = if report.running {
        "`throughline watch` runs."
    } else {
        "`throughline watch` does not run."
    };
    writeln!(out, "{runs}")?;
    Ok(())
}

fn uninstall(manager: Manager, how: &How, world: &World, out: &mut dyn Write) -> Result {
    let file = manager.file(world);
    match manager.find(world)? {
        ServiceFile::Strange => return Err(service::strange(&file)),
        ServiceFile::Nothing if !how.json => {
            writeln!(out, "No service is installed.")?;
            return Ok(());
        }
        ServiceFile::Nothing => return view::json(&report(manager, world)?, out),
        ServiceFile::Ours(_) => {}
    }
    if how.dry_run {
        let run: Vec<String> =
            manager.stops(world).iter().map(|command| command.join(" ")).collect();
        if how.json {
            return view::json(&Report { run, ..report(manager, world)? }, out);
        }
        tell("Would run", &run, out)?;
        writeln!(out, "and remove {}", file.display())?;
        return Ok(());
    }
    let run = manager.remove(world)?.map(|(_, failed)| failed).unwrap_or_default();
    if how.json {
        return view::json(&Report { run, ..report(manager, world)? }, out);
    }
    told_removed(manager, &file, &run, out)
}

/// Returns the file of the service that `throughline uninstall` takes out.
///
/// # Errors
/// When the file at its place cannot be read.
pub fn ours(world: &World) -> Result<Option<PathBuf>> {
    let manager = Manager::here();
    let is_ours = matches!(manager.find(world)?, ServiceFile::Ours(_));
    Ok(is_ours.then(|| manager.file(world)))
}

/// Takes the service out for `throughline uninstall`; says nothing where there is none.
pub fn take_out(world: &World, out: &mut dyn Write) -> Result {
    let manager = Manager::here();
    match manager.remove(world)? {
        Some((file, failed)) => told_removed(manager, &file, &failed, out),
        None => Ok(()),
    }
}

fn told_removed(
    manager: Manager,
    file: &std::path::Path,
    failed: &[String],
    out: &mut dyn Write,
) -> Result {
    writeln!(out, "Removed {}", file.display())?;
    if failed.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} could not be asked from here to end the service.", manager.name())?;
    tell("If it runs, run", failed, out)
}

fn tell(what: &str, commands: &[String], out: &mut dyn Write) -> Result {
    writeln!(out, "{what}:")?;
    for command in commands {
        writeln!(out, "  {}", paint(NAME, command))?;
    }
    Ok(())
}

fn report(manager: Manager, world: &World) -> Result<Report> {
    let found = manager.find(world)?;
    let program = match &found {
        ServiceFile::Ours(text) => manager.program(text),
        ServiceFile::Nothing | ServiceFile::Strange => None,
    };
    Ok(Report {
        manager: manager.name(),
        file: manager.file(world).display().to_string(),
        installed: matches!(found, ServiceFile::Ours(_)),
        running: watch::is_running(&world.dirs),
        program_there: program.as_ref().map(|program| program.is_file()),
        program: program.map(|program| program.display().to_string()),
        text: None,
        run: Vec::new(),
    })
}

/// Checks the service, where there is one.
pub fn check(world: &World) -> Option<Check> {
    const NAME: &str = "service";
    const MENDS: &str = "Run `throughline service install`.";
    let manager = Manager::here();
    let text = match manager.find(world) {
        Ok(ServiceFile::Ours(text)) => text,
        Ok(ServiceFile::Nothing | ServiceFile::Strange) => return None,
        Err(failure) => return Some(Check::failed(NAME, &failure)),
    };
    let file = manager.file(world);
    Some(match manager.program(&text) {
        None => Check::bad(NAME, format!("{} names no program", file.display()), MENDS),
        Some(program) if !program.is_file() => {
            let seen = format!("{} starts {}, which is gone", file.display(), program.display());
            Check::bad(NAME, seen, MENDS)
        }
        Some(_) if watch::is_running(&world.dirs) => Check::good(NAME, "installed, and it watches"),
        Some(_) => Check::care(NAME, "installed, but nobody watches now", MENDS),
    })
}
