//! Handling of data that earlier versions of the program wrote. A command migrates stores in older formats before it
//! writes to them, and upgrades registrations with Claude Code. The module also prints the report of `throughline
//! doctor --migrations`.

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::format_version::StoreKind;
use memory_store::layout::Tree;
use memory_store::migrate::{
    self, KeptBackup, Migrated, Migration, MigrationLine, Site, SiteState,
};
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::setup::claude::record::PROGRAM;
use crate::setup::claude::upgrade::upgrade;
use crate::typed::WriteOptions;
use crate::view::style::{CARE, NAME, QUIET, paint};
use crate::view::{self, clock, plural};
use crate::world::World;

/// Maximum number of log lines that are printed; the JSON output contains all lines.
const LOG_LINES: usize = 20;

/// Migrates the stores that a command is about to write, and reports each migration on stderr.
pub fn before_write(world: &World, tree: &Tree) -> Result {
    print_all(&migrate::before_write(&world.dirs, tree, world.now)?);
    Ok(())
}

/// Like [`before_write`], for a command that writes only the user's settings.
pub fn before_settings(world: &World) -> Result {
    let migrated = migrate::bring_up_to_date(&Site::user(&world.dirs), world.now)?;
    print_all(migrated.as_slice());
    Ok(())
}

fn print_all(migrated: &[Migrated]) {
    for migrated in migrated.iter().filter(|migrated| migrated.is_reported()) {
        // An error is ignored: a closed stderr cannot be repaired.
        let _ = writeln!(anstream::stderr(), "{}", line(migrated));
    }
}

/// Upgrades the entries that an earlier version registered with Claude Code for these working trees, and reports it on
/// stderr. A file that cannot be upgraded does not prevent the command from running.
pub fn upgrade_registered(world: &World, roots: &[&Path]) -> Result {
    let done = upgrade(world, roots)?;
    let paths = |files: &[PathBuf]| files.iter().map(view::path).collect::<Vec<_>>().join(" and ");
    let mut lines = Vec::new();
    if !done.files.is_empty() {
        let files = paths(&done.files);
        lines.push(format!("What is registered in {files} was upgraded to {PROGRAM}"));
    }
    for left in &done.left {
        let why = if left.scope.committed() { "is committed" } else { "was changed by hand" };
        lines.push(format!(
            "What an earlier version registered in {} {why} and stays; `throughline init --settings {}` upgrades it",
            view::path(&left.path),
            left.scope.name(),
        ));
    }
    let failures = done.failures.iter().map(|failure| format!("Not upgraded: {failure}"));
    for line in lines.into_iter().chain(failures) {
        // An error is ignored: a closed stderr cannot be repaired.
        let _ = writeln!(anstream::stderr(), "{} {}.", paint(CARE, "!"), view::plain(&line));
    }
    Ok(())
}

/// Returns the line that reports a migrated store.
pub fn line(migrated: &Migrated) -> String {
    format!("{} {}.", paint(CARE, "!"), view::plain(&migrated.to_string()))
}

#[derive(Serialize)]
struct StoreReport {
    store: &'static str,
    folder: PathBuf,
    /// Format of the store.
    format: u32,
    /// The newest format that this program supports.
    supported: u32,
    /// The first version of the program that supports the store's format, if this version does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<String>,
    pending: Vec<PendingStep>,
    log: Vec<MigrationLine>,
    backups: Vec<BackupReport>,
}

/// A step that has not run yet.
#[derive(Serialize)]
struct PendingStep {
    to: u32,
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct BackupReport {
    name: String,
    path: PathBuf,
    at: String,
    from: u32,
    to: u32,
    files: usize,
    unfinished: bool,
}

impl StoreReport {
    fn of(site: &Site, state: SiteState) -> Self {
        let is_newer = state.version.number > site.kind.format();
        let step =
            |step: &Migration| PendingStep { to: step.to, name: step.name, about: step.about };
        let backup = |kept: KeptBackup| BackupReport {
            name: kept.name,
            path: kept.path,
            at: kept.at.to_string(),
            from: kept.from,
            to: kept.to,
            files: kept.files.saturating_sub(1),
            unfinished: kept.is_unfinished,
        };
        Self {
            store: site.kind.name(),
            folder: site.folder(),
            format: state.version.number,
            supported: site.kind.format(),
            needs: state.version.program.filter(|_| is_newer),
            pending: state.pending.into_iter().map(step).collect(),
            log: state.log,
            backups: state.backups.into_iter().map(backup).collect(),
        }
    }

    const fn is_newer(&self) -> bool {
        self.format > self.supported
    }
}

/// Prints the formats of the stores, pending steps, the log, and backups with instructions for restoring them. Fails if
/// a later version of the program wrote one of the stores.
pub fn report(world: &World, json: bool, out: &mut dyn Write) -> Result {
    let mut stores = Vec::new();
    for site in sites(world)? {
        stores.push(StoreReport::of(&site, site.state()?));
    }
    if json {
        view::json(&stores, out)?;
    } else {
        show(&stores, out)?;
    }
    let newer = stores.iter().find(|store| store.is_newer());
    let Some(newer) = newer else { return Ok(()) };
    out.flush()?;
    let needs = newer.needs.as_deref().map_or_else(
        || "a later version of Throughline".to_owned(),
        |version| format!("Throughline {version} or later"),
    );
    Err(Failure::new(format!("the {} store was written by {needs}", newer.store))
        .code(exit::UNHEALTHY)
        .hint(format!("This version reads it and changes nothing. Install {needs}.")))
}

/// Returns the user's own store and, in a project, the stores of the project.
fn sites(world: &World) -> Result<Vec<Site>> {
    match world.tree() {
        Ok(tree) => Ok(Site::all_known(&world.dirs, &tree)),
        Err(failure) if failure.code == exit::NOT_SET_UP => Ok(vec![Site::user(&world.dirs)]),
        Err(failure) => Err(failure),
    }
}

fn show(stores: &[StoreReport], out: &mut dyn Write) -> Result {
    for store in stores {
        let StoreReport { store: name, format, supported, .. } = store;
        let of = if format == supported { String::new() } else { format!(" of {supported}") };
        let folder = view::path(&store.folder);
        writeln!(out, "{name:<13} format {format}{of}  {}", paint(QUIET, folder))?;
        for step in &store.pending {
            writeln!(out, "  pending     {} {}: {}", step.to, step.name, step.about)?;
        }
    }
    if stores.iter().any(|store| !store.pending.is_empty()) {
        writeln!(out, "`throughline sync` runs what is pending.")?;
    }
    show_log(stores, out)?;
    show_backups(stores, out)
}

fn show_log(stores: &[StoreReport], out: &mut dyn Write) -> Result {
    let lines = stores.iter().flat_map(|store| store.log.iter().map(move |line| (store, line)));
    let mut lines: Vec<(&StoreReport, &MigrationLine)> = lines.collect();
    lines.sort_by_key(|(_, line)| line.at);
    if lines.is_empty() {
        writeln!(out, "\nNo migration has run.")?;
        return Ok(());
    }
    writeln!(out, "\nLog")?;
    let left_out = lines.len().saturating_sub(LOG_LINES);
    for (store, line) in &lines[left_out..] {
        let MigrationLine { from, to, name, program, files, .. } = line;
        let why = line.why.as_ref().map(|why| format!(" ({})", view::plain(why)));
        writeln!(
            out,
            "  {}  {:<13} {from} -> {to} {name}: {}, {}, by {program}{}",
            clock::time(line.at),
            store.store,
            line.result.name(),
            plural(*files, "file"),
            why.unwrap_or_default(),
        )?;
    }
    Ok(())
}

fn show_backups(stores: &[StoreReport], out: &mut dyn Write) -> Result {
    let backups: Vec<&BackupReport> = stores.iter().flat_map(|store| &store.backups).collect();
    if backups.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nBackups, each with what the files had before")?;
    for backup in &backups {
        let state = if backup.unfinished { "; killed, and continued by the next sync" } else { "" };
        writeln!(
            out,
            "  {}  format {} to {}, {}{state}",
            paint(NAME, &backup.name),
            backup.from,
            backup.to,
            plural(backup.files, "file"),
        )?;
    }
    Ok(writeln!(
        out,
        "To go back: `throughline off`, `throughline doctor --migrations --restore NAME` for each, the latest first, \
         install the earlier version, `throughline on`. Files that were changed since stay as they are."
    )?)
}

/// Result of restoring a backup.
#[derive(Serialize)]
struct WentBack {
    folder: PathBuf,
    files: usize,
    left: Vec<PathBuf>,
}

/// Restores a backup.
pub fn restore(name: &str, write: WriteOptions, world: &World, out: &mut dyn Write) -> Result {
    for site in sites(world)? {
        let backups = site.state()?.backups;
        if !backups.iter().any(|kept| kept.name == name && !kept.is_unfinished) {
            continue;
        }
        if write.dry_run {
            let action = format!("put the backup {name} back into {}", view::path(site.folder()));
            return view::would(&[action], write.json, out);
        }
        if site.kind != StoreKind::User && memory_store::background::is_running(&site.home) {
            return Err(Failure::new("a sync is at work")
                .code(exit::LOCKED)
                .hint("Wait for it, or keep the next ones from starting by `throughline off`."));
        }
        let done = migrate::go_back(&site, name, world.now)?;
        let went = WentBack { folder: site.folder(), files: done.files, left: done.left };
        if write.json {
            return view::json(&went, out);
        }
        writeln!(out, "Put back: {} of {}.", plural(went.files, "file"), view::path(&went.folder))?;
        for path in &went.left {
            writeln!(out, "Left, because it was changed since: {}", view::path(path))?;
        }
        writeln!(out, "The next sync by this version migrates the store again.")?;
        return Ok(());
    }
    Err(Failure::new(format!("no backup is called {name}"))
        .code(exit::NOT_FOUND)
        .hint("`throughline doctor --migrations` lists them."))
}
