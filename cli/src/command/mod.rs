//! The commands, one file each, and the dispatcher.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Parser, Subcommand, ValueEnum};
use dialoguer::console::Term;
use memory_store::layout::Tree;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::view::style::{QUIET, paint};
use crate::view::wrap::{self, JsonAlone, Wrapped};
use crate::world::World;
use crate::{inspect, setup, view};

pub mod add;
pub mod blame;
pub mod browse;
pub mod check;
pub mod completions;
pub mod config;
pub mod diff;
pub mod edit;
pub mod fixes;
pub mod forget;
pub mod handoff;
pub mod help;
pub mod link;
pub mod list;
pub mod log;
pub mod man;
pub mod mcp;
pub mod merge_driver;
pub mod off;
pub mod on;
pub mod pack;
pub mod person;
pub mod projects;
pub mod purge;
pub mod redact;
pub mod report;
pub mod restore;
pub mod resume;
pub mod review;
pub mod search;
pub mod share;
pub mod show;
pub mod statusline;
pub mod sync;
pub mod timeline;
pub mod tombstones;
pub mod trust;
pub mod upgrade;
pub mod watch;
pub mod why;

/// Memory for Claude Code that runs through every session of a project.
#[derive(Debug, Parser)]
#[command(name = "throughline", version = VERSION, max_term_width = 100)]
pub struct Args {
    /// Act as if started in this folder
    #[arg(
        long = "project",
        short = 'C',
        id = "folder",
        global = true,
        hide = true,
        value_name = "DIR"
    )]
    folder: Option<PathBuf>,
    /// When to print in colours
    #[arg(
        long,
        global = true,
        hide = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    color: Color,
    /// Print nothing but answers, errors and questions
    #[arg(long, short = 'q', global = true, hide = true)]
    quiet: bool,
    /// Say on stderr where it looked and how long it took
    #[arg(long, short = 'v', global = true, hide = true)]
    verbose: bool,
    /// Print long output as it is
    #[arg(long, global = true, hide = true)]
    no_pager: bool,
    /// Print the overview as JSON
    #[arg(long = "json", id = "overview_json")]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The version, with the commit of the build if known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("THROUGHLINE_BUILD"));

/// When to print in colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// Where a terminal shows them, and NO_COLOR does not say otherwise.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Applies the setting to all later output.
    fn apply(self) {
        let (choice, is_on) = match self {
            Self::Auto => return,
            Self::Always => (anstream::ColorChoice::Always, true),
            Self::Never => (anstream::ColorChoice::Never, false),
        };
        choice.write_global();
        dialoguer::console::set_colors_enabled(is_on);
        dialoguer::console::set_colors_enabled_stderr(is_on);
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(setup::init_options::InitArgs),
    Uninstall(setup::uninstall::UninstallArgs),
    Trust(trust::TrustArgs),
    Link(link::LinkArgs),
    Projects(projects::ProjectsArgs),
    Sync(sync::SyncArgs),
    Watch(watch::WatchArgs),
    #[command(visible_alias = "recall")]
    Search(search::SearchArgs),
    Show(show::ShowArgs),
    List(list::ListArgs),
    Browse(browse::BrowseArgs),
    #[command(visible_alias = "remember")]
    Add(add::AddArgs),
    Edit(edit::EditArgs),
    #[command(visible_alias = "rm")]
    Forget(forget::ForgetArgs),
    Restore(restore::RestoreArgs),
    Resume(resume::ResumeArgs),
    Review(review::ReviewArgs),
    Tombstones(tombstones::TombstonesArgs),
    Pack(pack::PackArgs),
    Handoff(handoff::HandoffArgs),
    Diff(diff::DiffArgs),
    Check(check::CheckArgs),
    MergeDriver(merge_driver::MergeDriverArgs),
    Status(inspect::status::StatusArgs),
    Why(why::WhyArgs),
    Timeline(timeline::TimelineArgs),
    Report(report::ReportArgs),
    Blame(blame::BlameArgs),
    Fixes(fixes::FixesArgs),
    Log(log::LogArgs),
    Statusline(statusline::StatuslineArgs),
    Purge(purge::PurgeArgs),
    Off(off::OffArgs),
    On(on::OnArgs),
    Share(share::ShareArgs),
    Mcp(mcp::McpArgs),
    Config(config::ConfigArgs),
    Redact(redact::RedactArgs),
    Audit(inspect::audit::AuditArgs),
    Doctor(inspect::doctor::DoctorArgs),
    Selftest(inspect::selftest::SelftestArgs),
    Upgrade(upgrade::UpgradeArgs),
    Man(man::ManPages),
    Completions(completions::CompletionsArgs),
}

impl Command {
    fn run(&self, world: &World, out: &mut dyn Write) -> Result {
        match self {
            Self::Init(args) => setup::init::run(args, world, out),
            Self::Uninstall(args) => setup::uninstall::run(args, world, out),
            Self::Trust(args) => trust::run(args, world, out),
            Self::Link(args) => link::run(args, world, out),
            Self::Projects(args) => projects::run(args, world, out),
            Self::Sync(args) => sync::run(args, world, out),
            Self::Watch(args) => watch::run(args, world, out),
            Self::Search(args) => search::run(args, world, out),
            Self::Show(args) => show::run(args, world, out),
            Self::List(args) => list::run(args, world, out),
            Self::Browse(args) => browse::run(args, world, out),
            Self::Add(args) => add::run(args, world, out),
            Self::Edit(args) => edit::run(args, world, out),
            Self::Forget(args) => forget::run(args, world, out),
            Self::Restore(args) => restore::run(args, world, out),
            Self::Resume(args) => resume::run(args, world, out),
            Self::Review(args) => review::run(args, world, out),
            Self::Tombstones(args) => tombstones::run(args, world, out),
            Self::Pack(args) => pack::run(args, world, out),
            Self::Handoff(args) => handoff::run(args, world, out),
            Self::Diff(args) => diff::run(args, world, out),
            Self::Check(args) => check::run(args, world, out),
            Self::MergeDriver(args) => merge_driver::run(args, world, out),
            Self::Status(args) => inspect::status::run(args, world, out),
            Self::Why(args) => why::run(args, world, out),
            Self::Timeline(args) => timeline::run(args, world, out),
            Self::Report(args) => report::run(args, world, out),
            Self::Blame(args) => blame::run(args, world, out),
            Self::Fixes(args) => fixes::run(args, world, out),
            Self::Log(args) => log::run(args, world, out),
            Self::Statusline(args) => statusline::run(args, world, out),
            Self::Purge(args) => purge::run(args, world, out),
            Self::Off(args) => off::run(args, world, out),
            Self::On(args) => on::run(args, world, out),
            Self::Share(args) => share::run(args, world, out),
            Self::Mcp(_) => mcp::run(world),
            Self::Config(args) => config::run(args, world, out),
            Self::Audit(args) => inspect::audit::run(args, world, out),
            Self::Redact(args) => redact::run(args, world, out),
            Self::Doctor(args) => inspect::doctor::run(args, world, out),
            Self::Selftest(args) => inspect::selftest::run(args, world, out),
            Self::Upgrade(args) => upgrade::run(args, world, out),
            Self::Man(args) => man::run(args, out),
            Self::Completions(args) => completions::run(args, out),
        }
    }

    /// Returns whether the output is the requested result rather than a report about a change.
    fn is_answer(&self) -> bool {
        !matches!(
            self,
            Self::Init(_)
                | Self::Uninstall(_)
                | Self::Link(_)
                | Self::Sync(_)
                | Self::Watch(_)
                | Self::Add(_)
                | Self::Edit(_)
                | Self::Forget(_)
                | Self::Restore(_)
                | Self::Purge(_)
                | Self::Off(_)
                | Self::On(_)
        )
    }

    /// Returns whether the output may be longer than the screen, and the command asks no question.
    fn is_paged(&self) -> bool {
        matches!(
            self,
            Self::Search(_)
                | Self::Show(_)
                | Self::List(_)
                | Self::Projects(_)
                | Self::Tombstones(_)
                | Self::Handoff(_)
                | Self::Diff(_)
                | Self::Why(_)
                | Self::Timeline(_)
                | Self::Blame(_)
                | Self::Fixes(_)
                | Self::Upgrade(_)
        ) || matches!(self, Self::Log(log) if !log.follow)
    }

    /// Returns whether the output is text for people, so that lines may be wrapped. Texts that are pasted, run or
    /// stored are not.
    fn is_prose(&self) -> bool {
        !matches!(self, Self::Redact(_) | Self::Config(_) | Self::Man(_) | Self::Completions(_))
    }
}

/// Runs the command that was asked for.
pub fn run(args: Args) -> Result {
    args.color.apply();
    if args.json && args.command.is_some() {
        return Err(Failure::new("`--json` stands after the command").code(exit::USAGE));
    }
    let start = Instant::now();
    let world = match World::read(args.folder.as_deref()) {
        // A status line never fails.
        Err(_) if matches!(args.command, Some(Command::Statusline(_))) => return Ok(()),
        read => read?,
    };
    let done = run_in(&args, &world);
    if args.verbose {
        tell_more(&world, start);
    }
    done
}

fn run_in(args: &Args, world: &World) -> Result {
    let columns = wrap::columns(&Term::stdout());
    let columns = columns.filter(|_| args.command.as_ref().is_none_or(Command::is_prose));
    let run = |out: &mut dyn Write| -> Result {
        let mut wrapped = Wrapped::new(out, columns);
        let out: &mut dyn Write = &mut wrapped;
        match &args.command {
            None => inspect::status::overview(args.json, world, out),
            Some(command) => {
                command.decision(world).map_or(Ok(()), |typed| person::require(world, typed))?;
                command.run(world, out)
            }
        }?;
        out.flush()?;
        Ok(())
    };
    let is_answer = args.command.as_ref().is_none_or(Command::is_answer);
    if args.quiet && !is_answer {
        return run(&mut JsonAlone::new(&mut anstream::stdout().lock()));
    }
    let is_paged = args.command.as_ref().is_some_and(Command::is_paged) && !args.no_pager;
    match view::pager::find(world.path.as_deref()).filter(|_| is_paged) {
        Some(pager) => view::pager::through(&pager, run),
        None => run(&mut anstream::stdout().lock()),
    }
}

/// Prints the paths used and the run time.
fn tell_more(world: &World, start: Instant) {
    let mut stderr = anstream::stderr().lock();
    let took = start.elapsed().as_secs_f64() * 1e3;
    let tree = Tree::find(&world.dirs, &world.cwd);
    let state = tree.as_ref().map(|tree| world.dirs.tree(&tree.root).folder);
    let rows = [
        ("version", Some(VERSION.to_owned())),
        ("project", tree.as_ref().map(|tree| view::path(&tree.root))),
        ("memories", tree.as_ref().map(|tree| view::path(tree.store()))),
        ("data", Some(view::path(&world.dirs.data))),
        ("state", state.map(view::path)),
        ("settings", Some(view::path(world.dirs.config_file()))),
        ("took", Some(format!("{took:.1} ms"))),
    ];
    for (name, text) in rows.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        // There is no remedy for a closed stderr.
        let _ = writeln!(stderr, "{}", paint(QUIET, format_args!("{name:<9} {text}")));
    }
}
