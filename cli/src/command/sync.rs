//! `throughline sync`: derives memories from new parts of the transcripts.

use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use memory_store::Timestamp;
use memory_store::counts::MemoryCounts;
use memory_store::identity::{self, Earlier};
use memory_store::layout::Tree;
use memory_store::mode::Mode;
use memory_store::reconcile::Replacing;
use processor::collect::discover;
use processor::progress::{Bar, ProgressLines, ProgressReport as Told, Silent, about};
use processor::sync::{SyncOptions, SyncReport};
use serde::Serialize;

use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::inspect::migrations;
use crate::setup::{no_sessions, old_sessions, reader};
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view::style::{CARE, QUIET, paint};
use crate::view::{self, clock, plural};
use crate::world::World;

/// Learn from new transcripts now
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Also read all transcripts in this folder, as sessions of this project
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    from: Option<PathBuf>,
    /// Decision about sessions of another project that was formerly at this path
    #[arg(long, value_enum, value_name = "WHAT", hide_short_help = true, conflicts_with = "all")]
    earlier: Option<EarlierSessions>,
    /// Sync all projects on this machine
    #[arg(long)]
    all: bool,
    /// Read all sessions again and rebuild the index; your edits and deletions are kept
    #[arg(long)]
    rebuild: bool,
    /// Retry parts of sessions on which the model failed repeatedly
    #[arg(long)]
    retry: bool,
    /// Format of the progress report on stderr
    #[arg(long, value_enum, default_value = "auto", value_name = "FORM")]
    progress: OutputForm,
    /// Apply postponed changes to committed memory files (listed by --dry-run)
    #[arg(long, conflicts_with = "dry_run")]
    apply: bool,
    #[command(flatten)]
    write: WriteOptions,
}

impl SyncArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run && (self.from.is_some() || self.earlier.is_some() || self.apply)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputForm {
    /// A bar on a terminal, otherwise lines
    Auto,
    /// One JSON object per line
    Json,
    /// No progress report
    Off,
}

/// Decision about sessions that may be another project's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EarlierSessions {
    /// Read them as sessions of this project
    Take,
    /// Ignore them from now on
    Leave,
}

#[derive(Serialize)]
struct SyncOutcome<'a> {
    root: &'a PathBuf,
    #[serde(flatten)]
    report: SyncReport,
    #[serde(flatten)]
    counts: MemoryCounts,
    /// Memories that exist only in the folders of other working trees.
    elsewhere_in_project: usize,
}

/// Runs the command.
pub fn run(args: &SyncArgs, world: &World, out: &mut dyn Write) -> Result {
    may_learn(world)?;
    let trees = if args.all { all(world)? } else { vec![world.tree()?] };
    if args.write.dry_run {
        let mut told = Vec::new();
        for tree in &trees {
            let transcripts = discover::transcripts(&world.dirs, tree)?.transcripts.len();
            let found = plural(transcripts, "transcript");
            let work = if args.rebuild { "read everything again" } else { "look for what is new" };
            told.push(format!("{work} in {found} of {}", view::path(&tree.root)));
            for file in processor::sync::postponed_changes(&world.dirs.project(tree.project)) {
                told.push(format!("with --apply, rewrite or remove {file}"));
            }
        }
        return view::would(&told, args.write.json, out);
    }
    if let Some(folder) = &args.from {
        discover::check_folder(folder).map_err(|error| match folder.exists() {
            true => Failure::from(error),
            false => Failure::from(error).code(exit::NOT_FOUND),
        })?;
    }
    if let (Some(decision), [tree]) = (args.earlier, trees.as_slice()) {
        let found = discover::transcripts(&world.dirs, tree)?;
        decide(world, tree, decision, found.unclaimed.newest)?;
    }
    let from = args.from.as_ref().map(|folder| folder.canonicalize().named(folder)).transpose()?;
    if let ([tree], true) = (trees.as_slice(), from.is_some() || args.earlier.is_some()) {
        let mut found = discover::transcripts(&world.dirs, tree)?.transcripts;
        if let Some(folder) = &from {
            found.extend(discover::transcripts_in(folder)?.transcripts);
        }
        let told: &mut dyn Write = if args.write.json { &mut std::io::sink() } else { &mut *out };
        old_sessions::keep(world, tree, &found, told)?;
    }
    let roots: Vec<&Path> = trees.iter().map(|tree| tree.root.as_path()).collect();
    migrations::upgrade_registered(world, &roots)?;
    let progress = progress(args.progress);
    let mut failures = Vec::new();
    let mut done = Vec::new();
    for tree in &trees {
        let again = args.retry && reader::retry(&world.dirs.project(tree.project))? > 0;
        let options = SyncOptions {
            from: from.as_deref(),
            afresh: args.rebuild || again,
            replacing: if args.apply { Replacing::All } else { Replacing::Few },
            ..world.sync_options(tree, &*progress)
        };
        match sync(&options) {
            Ok(mut report) => {
                let stores = Stores::at(world, tree.clone())?;
                let (project, user) = (stores.project.list()?, stores.user.list()?);
                let counts = stores.counts(&project, &user, world.now);
                // The memories are counted as in all other views, which may differ from the number of published
                // memories.
                report.memories = counts.project();
                let elsewhere_in_project = stores.elsewhere(&project);
                let outcome =
                    SyncOutcome { root: &tree.root, report, counts, elsewhere_in_project };
                if !args.write.json {
                    show(&outcome, args.all, out)?;
                    if stores.settings.llm.is_none() {
                        writeln!(out, "{}", paint(QUIET, reader::WITHOUT_MODEL))?;
                    }
                    if outcome.report.sessions == 0 {
                        let SyncReport { unclaimed, warnings, .. } = &outcome.report;
                        for reason in no_sessions::reasons(world, tree, &[unclaimed, warnings])? {
                            writeln!(out, "{} {}", paint(CARE, "!"), view::plain(&reason))?;
                        }
                    }
                }
                // A sync in the foreground reports unreadable files, and so does `list`. A background sync prints
                // nothing.
                view::warn_broken(&project.broken);
                done.push(outcome);
            }
            // With `--all`, a failure in one project does not prevent the sync of the others.
            Err(failure) if args.all => {
                failures.push(failure.during(tree.root.display().to_string()));
            }
            Err(failure) => return Err(failure),
        }
    }
    if args.write.json {
        view::json(&done, out)?;
    }
    match failures.into_iter().reduce(|mut first, next| {
        first.causes.push(next.to_string());
        first
    }) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Records the user's decision about sessions that may belong to another project. `newest` is the time of the newest of
/// these sessions.
pub fn decide(
    world: &World,
    tree: &Tree,
    decision: EarlierSessions,
    newest: Option<Timestamp>,
) -> Result {
    let until = newest.unwrap_or(world.now).max(world.now);
    let decision = Earlier { take: decision == EarlierSessions::Take, until };
    Ok(identity::decide_earlier(&world.dirs, tree.project, decision)?)
}

/// Syncs a project.
pub fn sync(options: &SyncOptions<'_>) -> Result<SyncReport> {
    let report = processor::sync::sync(options)?;
    if report.busy {
        return Err(Failure::new("another sync is at work for very long")
            .code(exit::LOCKED)
            .hint("`throughline doctor` says how background work is doing."));
    }
    Ok(report)
}

/// Returns the progress display: a bar on a terminal, otherwise lines.
pub fn shown() -> Box<dyn Told> {
    progress(OutputForm::Auto)
}

fn progress(form: OutputForm) -> Box<dyn Told> {
    match form {
        OutputForm::Auto if view::is_quiet() => Box::new(Silent),
        OutputForm::Auto if std::io::stderr().is_terminal() => Box::new(Bar::new()),
        OutputForm::Auto => Box::new(ProgressLines::new(false)),
        OutputForm::Json => Box::new(ProgressLines::new(true)),
        OutputForm::Off => Box::new(Silent),
    }
}

/// Fails if only recall is allowed, since then nothing may be learned.
pub fn may_learn(world: &World) -> Result {
    if let Some(until) = super::off::until(world) {
        let until = until.map(|until| format!(" until {}", clock::time(until))).unwrap_or_default();
        return Err(
            Failure::new(format!("everything is off{until}")).hint("`throughline on` ends that.")
        );
    }
    match world.mode {
        Mode::Full => Ok(()),
        Mode::Off | Mode::Read => {
            Err(Failure::new("nothing is learned here: THROUGHLINE, CI or a cloud session")
                .hint("Set THROUGHLINE=full to learn anyway."))
        }
    }
}

fn all(world: &World) -> Result<Vec<Tree>> {
    let mut trees = Vec::new();
    for known in identity::list(&world.dirs)? {
        let project = known.identity.project;
        processor::collect::trees::review(&world.dirs, project)?;
        // One sync of the main working tree is sufficient for all working trees of a project.
        trees.extend(processor::collect::trees::main(&world.dirs, project));
    }
    Ok(trees)
}

/// Prints the results of a sync.
fn show(outcome: &SyncOutcome<'_>, name_it: bool, out: &mut dyn Write) -> Result {
    let report = &outcome.report;
    for migrated in &report.migrated {
        writeln!(out, "{}", migrations::line(migrated))?;
    }
    if name_it {
        write!(out, "{}: ", outcome.root.display())?;
    }
    // A sync that only computed missing embeddings found no new turns.
    if report.nothing_new || report.embedded > 0 && report.turns == 0 {
        writeln!(out, "Nothing new in {}.", plural(report.sessions, "session"))?;
    } else {
        let others = match outcome.elsewhere_in_project {
            0 => String::new(),
            count => format!(" here and {count} in other working trees"),
        };
        writeln!(
            out,
            "{}{others} ({} new, {} changed, {} removed) from {} with {}. {}",
            plural(report.memories, "memory"),
            report.written,
            report.updated,
            report.removed,
            plural(report.sessions, "session"),
            plural(report.turns, "turn"),
            paint(QUIET, format_args!("({:.1} s)", report.millis as f64 / 1e3))
        )?;
    }
    show_rest(report, out)
}

/// Prints the other results of a sync, and its problems.
pub fn show_rest(report: &SyncReport, out: &mut dyn Write) -> Result {
    if report.healed > 0 {
        writeln!(out, "Parts of the index could not be read and were made again.")?;
    }
    if report.embedded > 0 {
        let rest = if report.embedding_waits { "; the next sync goes on" } else { "" };
        writeln!(out, "Texts embedded: {}{rest}.", report.embedded)?;
    }
    if report.second_embedded > 0 {
        let rest = if report.second_waits { "; the next sync goes on" } else { "" };
        writeln!(out, "Texts embedded for the second space: {}{rest}.", report.second_embedded)?;
    }
    if report.tombstoned > 0 {
        let count = report.tombstoned;
        writeln!(
            out,
            "{count} left out because they were removed before (`throughline list --forgotten`)."
        )?;
    }
    if report.expired > 0 {
        let sessions = plural(report.expired, "session");
        writeln!(
            out,
            "Turns of {sessions} were removed, by `retention_days` or `archive_bytes_max`; what was learned stays."
        )?;
    }
    if report.lines_skipped > 0 {
        writeln!(out, "Damaged lines skipped: {}.", report.lines_skipped)?;
    }
    if report.asked_later > 0 {
        let time = report.asking_left_s.map(|seconds| about(Duration::from_secs(seconds)));
        let time = time.map(|time| format!("; they take {time}")).unwrap_or_default();
        let (count, verb) = match report.asked_later {
            1 => ("1 session".to_owned(), "waits"),
            count => (plural(count, "session"), "wait"),
        };
        writeln!(out, "{count} {verb} to be read by the model, newest first{time}.")?;
    }
    for told in report.unclaimed.iter().chain(&report.warnings) {
        writeln!(out, "{} {}", paint(CARE, "!"), view::plain(told))?;
    }
    Ok(())
}
