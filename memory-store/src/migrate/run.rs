//! Runs the due steps of a store, and reverts them.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::backup::{self, Backup, RestoredFiles};
use super::budget::{Budget, Stop};
use super::log::{self, MigrationLine, StepResult};
use super::plan::{FileChange, Planned};
use super::site::Site;
use super::steps::{ALL, Migration};
use crate::background::is_running;
use crate::error::{Error, Result, shown};
use crate::format_version::{self, StoreFormat, StoreKind};
use crate::layout::{Tree, UserDirs};
use crate::ledger::{Ledger, LedgerLine};
use crate::stored;
use crate::time::Timestamp;

/// The version of the program, for the log.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Result of the steps that ran over a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// Kind of the store.
    pub store: &'static str,
    /// Folder of the store.
    pub folder: PathBuf,
    /// Format before the steps.
    pub from: u32,
    /// Format after the steps.
    pub to: u32,
    /// Names of the steps that ran.
    pub steps: Vec<&'static str>,
    /// Number of files that changed.
    pub files: usize,
    /// Path of the backup with copies of these files, if any.
    pub backup: Option<PathBuf>,
    /// Reason why the next step was postponed.
    pub waits: Option<String>,
}

impl Migrated {
    /// Returns whether to report the result to the user: files changed, or a step was postponed.
    pub fn is_reported(&self) -> bool {
        self.files > 0 || self.waits.is_some()
    }
}

impl fmt::Display for Migrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, from, to, files, .. } = self;
        if from < to {
            write!(f, "The {store} store was brought from format {from} to {to} ")?;
            write!(f, "({}); files changed: {files}", self.steps.join(", "))?;
            if let Some(backup) = &self.backup {
                write!(f, ", with copies in {}", shown(backup))?;
            }
        }
        if let Some(why) = &self.waits {
            let gap = if from < to { "; " } else { "" };
            write!(f, "{gap}format {} of the {store} store has to wait: {why}", to + 1)?;
        }
        f.write_str("; `throughline doctor --migrations` shows more")
    }
}

/// Runs the due steps of a store, and removes its old backups. Returns `None` if no step is due.
///
/// # Errors
/// [`Error::Newer`] for a format that this program does not support. If a step fails, its changes are reverted and its
/// error is returned.
pub fn bring_up_to_date(site: &Site, now: Timestamp) -> Result<Option<Migrated>> {
    run(site, &ALL, now, usize::MAX)
}

/// Migrates the stores that a command is about to write. If a processor is running for the project, the processor
/// migrates the project's stores, and only the user's own store is migrated here.
///
/// # Errors
/// See [`bring_up_to_date`].
pub fn before_write(dirs: &UserDirs, tree: &Tree, now: Timestamp) -> Result<Vec<Migrated>> {
    let sites = Site::all_known(dirs, tree);
    let is_busy = is_running(&dirs.project(tree.project));
    let mut done = Vec::new();
    for site in sites.iter().filter(|site| !is_busy || site.kind == StoreKind::User) {
        done.extend(bring_up_to_date(site, now)?);
    }
    Ok(done)
}

/// Like [`bring_up_to_date`], but with a given list of steps. Stops after `writes` writes as if the process were
/// killed.
pub(super) fn run(
    site: &Site,
    migrations: &'static [Migration],
    now: Timestamp,
    writes: usize,
) -> Result<Option<Migrated>> {
    format_version::check_user(&site.dirs)?;
    // This check takes no lock, because for nearly every run no step is due.
    let version = site.version_for(migrations)?;
    let is_current = site.pending(migrations, version.number).next().is_none();
    if is_current && !backup::is_unfinished(site) {
        backup::prune(&site.home, now)?;
        return Ok(None);
    }
    if site.is_untouched() {
        return Ok(None);
    }
    let _lock = stored::lock(&site.home)?;
    let mut run = MigrationRun::begin(site, migrations, now, writes)?;
    match run.steps(migrations) {
        Ok(()) => run.finish(),
        Err(Stop::Killed) => Ok(None),
        Err(Stop::Failed(error)) => run.fail(error),
    }
}

struct MigrationRun<'a> {
    site: &'a Site,
    now: Timestamp,
    budget: Budget,
    /// Format before the run. If the run continues a killed run, the format before the killed run.
    from: u32,
    /// Format now.
    reached: u32,
    /// Steps that ran.
    done: Vec<&'static Migration>,
    /// Step in progress, with the number of files that it changes.
    current: Option<(&'static Migration, usize)>,
    backup: Backup,
    waits: Option<String>,
}

impl<'a> MigrationRun<'a> {
    fn begin(
        site: &'a Site,
        migrations: &[Migration],
        now: Timestamp,
        writes: usize,
    ) -> Result<Self> {
        // Another program may have migrated the store while this one waited for the lock.
        let reached = site.version_for(migrations)?.number;
        let backup = match Backup::unfinished(site)? {
            Some(backup) => backup,
            None => Backup::begin(site, reached, now),
        };
        Ok(Self {
            site,
            now,
            budget: Budget(writes),
            from: backup.from(),
            reached,
            done: Vec::new(),
            current: None,
            backup,
            waits: None,
        })
    }

    fn steps(&mut self, migrations: &'static [Migration]) -> Result<(), Stop> {
        self.complete_log(migrations)?;
        for step in self.site.pending(migrations, self.reached) {
            self.current = Some((step, 0));
            match (step.plan)(self.site)? {
                Planned::Changes { files, ledger } => self.step(step, files, ledger)?,
                Planned::Waits(why) => {
                    self.budget.spend()?;
                    self.log(step, StepResult::Waits, 0, Some(why.clone()))?;
                    self.waits = Some(why);
                    break;
                }
            }
        }
        self.current = None;
        Ok(())
    }

    /// Adds `done` lines for steps that a killed run completed without logging.
    fn complete_log(&mut self, migrations: &'static [Migration]) -> Result<(), Stop> {
        let (site, reached) = (self.site, self.reached);
        let mut lines = log::read(&site.home);
        lines.retain(|line| line.folder == site.folder());
        for step in site.pending(migrations, self.from).filter(|step| step.to <= reached) {
            let last = lines.iter().rev().find(|line| line.to == step.to && line.name == step.name);
            match last {
                Some(line) if line.result != StepResult::Done => {
                    self.budget.spend()?;
                    self.log(step, StepResult::Done, line.files, None)?;
                }
                Some(_) | None => {}
            }
            self.done.push(step);
        }
        Ok(())
    }

    /// Makes the changes of a step. The version file is changed last.
    fn step(
        &mut self,
        step: &'static Migration,
        mut changes: Vec<FileChange>,
        ledger: Vec<LedgerLine>,
    ) -> Result<(), Stop> {
        changes.retain(|change| change.before != change.after);
        let files = changes.len();
        self.current = Some((step, files));
        let mark = format_version::path(&self.site.folder());
        let line = StoreFormat::line(step.to, step.since).into_bytes();
        let before = self.site.read(&mark)?;
        changes.push(FileChange::replace(mark, before, line));
        self.backup.add(&changes, step.to, &mut self.budget)?;
        if files > 0 {
            self.budget.spend()?;
            self.log(step, StepResult::Begun, files, None)?;
        }
        if !ledger.is_empty() {
            self.budget.spend()?;
            Ledger::open(&self.site.home)?.note(ledger)?;
        }
        for change in &changes {
            self.budget.spend()?;
            change.perform(self.site)?;
        }
        self.reached = step.to;
        self.done.push(step);
        self.budget.spend()?;
        self.log(step, StepResult::Done, files, None)?;
        Ok(())
    }

    fn log(
        &self,
        step: &Migration,
        result: StepResult,
        files: usize,
        why: Option<String>,
    ) -> Result<()> {
        let backup = (files > 0).then(|| self.backup.name().to_owned());
        let line = MigrationLine {
            at: self.now,
            folder: self.site.folder(),
            from: step.to - 1,
            to: step.to,
            name: step.name.to_owned(),
            program: PROGRAM.to_owned(),
            result,
            files,
            backup,
            why,
        };
        log::append(&self.site.home, &line)
    }

    fn finish(mut self) -> Result<Option<Migrated>> {
        if self.budget.spend().is_err() {
            return Ok(None);
        }
        // The version file is one of these files, but is not counted.
        let files = self.backup.files().saturating_sub(1);
        let kept = (self.from < self.reached).then(|| self.backup.final_path());
        match kept {
            Some(_) => self.backup.close()?,
            None => self.backup.discard()?,
        }
        backup::prune(&self.site.home, self.now)?;
        Ok(Some(Migrated {
            store: self.site.kind.name(),
            folder: self.site.folder(),
            from: self.from,
            to: self.reached,
            steps: self.done.iter().map(|step| step.name).collect(),
            files,
            backup: kept,
            waits: self.waits,
        }))
    }

    /// Reverts the changes of all steps of the run, and returns the error.
    fn fail(mut self, error: Error) -> Result<Option<Migrated>> {
        let put_back = match self.backup.put_back(self.site, &|_| false, &mut self.budget) {
            Ok(put_back) => put_back,
            Err(Stop::Killed) => return Ok(None),
            Err(Stop::Failed(worse)) => {
                // The backup is kept. The next run finds it and continues this run.
                self.note_failure(StepResult::Failed, &format!("{error}; {worse}"))?;
                return Err(error);
            }
        };
        if self.budget.spend().is_err() {
            return Ok(None);
        }
        let why = match put_back.left.len() {
            0 => error.to_string(),
            left => format!("{error}; {left} files were changed by others since and stay so"),
        };
        self.note_failure(StepResult::Restored, &why)?;
        match put_back.left.is_empty() {
            true => self.backup.discard()?,
            false => self.backup.close()?,
        }
        Err(error)
    }

    /// Logs the result of the run for each of its steps, because the completed steps are reverted as well.
    fn note_failure(&self, result: StepResult, why: &str) -> Result<()> {
        let done = self.done.iter().map(|step| (*step, 0));
        let mut steps = done.chain(self.current);
        steps.try_for_each(|(step, files)| self.log(step, result, files, Some(why.to_owned())))
    }
}

/// Restores the files in a backup of a store, including the version file. A file that changed after the run is restored
/// only if the program itself changed it. The next sync by this program migrates the store again.
///
/// # Errors
/// If no finished backup has this name, or a file cannot be written.
pub fn go_back(site: &Site, name: &str, now: Timestamp) -> Result<RestoredFiles> {
    let backup = backup::find(site, name)?;
    let _lock = stored::lock(&site.home)?;
    let mut unbounded = Budget(usize::MAX);
    // Later syncs may have rewritten memory files. Texts that the ledger lists as the program's are restored as well.
    let ledger = Ledger::open(&site.home)?;
    let is_ours = |bytes: &[u8]| str::from_utf8(bytes).is_ok_and(|text| ledger.wrote(text));
    let done = match backup.put_back(site, &is_ours, &mut unbounded) {
        Ok(done) => done,
        Err(Stop::Failed(error)) => return Err(error),
        Err(Stop::Killed) => RestoredFiles::default(),
    };
    let line = MigrationLine {
        at: now,
        folder: site.folder(),
        from: backup.to(),
        to: site.version()?.number,
        name: "go-back".to_owned(),
        program: PROGRAM.to_owned(),
        result: StepResult::WentBack,
        files: done.files,
        backup: Some(name.to_owned()),
        why: None,
    };
    log::append(&site.home, &line)?;
    Ok(done)
}

/// Adds a line about an unnumbered step of a sync to the log of a project's private state. Such a step depends on the
/// state of git and does not change the format of the store.
///
/// # Errors
/// If the format cannot be read, or the log cannot be written.
pub fn note_step(site: &Site, name: &str, files: usize, now: Timestamp) -> Result<()> {
    let format = site.version()?.number;
    let line = MigrationLine {
        at: now,
        folder: site.folder(),
        from: format,
        to: format,
        name: name.to_owned(),
        program: PROGRAM.to_owned(),
        result: StepResult::Done,
        files,
        backup: None,
        why: None,
    };
    log::append(&site.home, &line)
}
