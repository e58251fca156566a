//! The commands, one file each, and the dispatcher.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Parser, Subcommand, ValueEnum};
use dialoguer::console::Term;
use memory_store::layout::Tree;
use memory_store::settings_file;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::view::style::{CARE, QUIET, paint};
use crate::view::wrap::{self, JsonAlone, Wrapped};
use crate::world::World;
use crate::{person, view};

pub mod add;
pub mod ask;
pub mod blame;
pub mod browse;
pub mod check;
pub mod completions;
pub mod config;
pub mod diff;
pub mod doctor;
pub mod edit;
pub mod fixes;
pub mod forget;
pub mod graph;
pub mod guard;
pub mod how;
pub mod init;
pub mod link;
pub mod list;
pub mod log;
pub mod man;
pub mod mcp;
pub mod merge_driver;
pub mod off;
pub mod on;
pub mod pack;
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
pub mod status;
pub mod statusline;
pub mod sync;
pub mod timeline;
pub mod timeline_of;
pub mod trust;
pub mod uninstall;
pub mod watch;
pub mod why;

/// Memory for Claude Code that spans all sessions of a project
#[derive(Debug, Parser)]
#[command(name = "throughline", version = VERSION, max_term_width = 100)]
pub struct Args {
    /// Run as if started in this folder
    #[arg(
        long = "project",
        short = 'C',
        id = "folder",
        global = true,
        hide = true,
        value_name = "DIR"
    )]
    folder: Option<PathBuf>,
    /// When to print colours
    #[arg(
        long,
        global = true,
        hide = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    color: Color,
    /// Print only answers, errors and questions
    #[arg(long, short = 'q', global = true, hide = true)]
    quiet: bool,
    /// Print paths and run time to stderr
    #[arg(long, short = 'v', global = true, hide = true)]
    verbose: bool,
    /// Print long output without a pager
    #[arg(long, global = true, hide = true)]
    no_pager: bool,
    /// Print the status as JSON
    #[arg(long = "json", id = "overview_json")]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The version, followed by the commit of the build if it is known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("THROUGHLINE_BUILD"));

/// When to print in colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Applies the choice of colours to all later output.
    pub fn apply(self) {
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

/// Kind of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputKind {
    /// Sentences that report the effect of the command; `--quiet` omits them.
    Report,
    /// An answer.
    Answer,
    /// An answer that may be longer than the screen, from a command that asks nothing.
    Listing,
    /// An answer for pasting, execution or storage, and therefore printed unchanged.
    Raw,
}

/// Declares the commands. Each row contains the arguments, the function that runs the command, and the kind of its
/// output. If the command can make a decision that is reserved to the person, the brackets contain the command as a
/// person types it; otherwise they are empty. They are required, so that no command is added without considering this.
/// `docs/trust.md` has the table of decisions.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($args:ty) => $run:path, $output:ident, [$($typed:literal)?];)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$attribute])* $name($args),)*
        }

        impl Command {
            fn run(&self, world: &World, out: &mut dyn Write) -> Result {
                match self {
                    $(Self::$name(args) => $run(args, world, out),)*
                }
            }

            const fn output(&self) -> OutputKind {
                match self {
                    $(Self::$name(_) => OutputKind::$output,)*
                }
            }

            /// Fails if the command with these arguments makes a decision that only the person may make, and the caller
            /// is not a person.
            fn check_caller(&self, world: &World) -> Result {
                match self {
                    $($(Self::$name(args) if args.decides(world) => person::require(world, $typed),)?)*
                    _ => Ok(()),
                }
            }
        }
    };
}

// `add`, `edit` and `forget` check the caller for each memory that they change.
commands! {
    Init(init::InitArgs) => init::run, Report, ["throughline init"];
    Uninstall(uninstall::UninstallArgs) => uninstall::run, Report, ["throughline uninstall"];
    Trust(trust::TrustArgs) => trust::run, Answer, ["throughline trust"];
    Link(link::LinkArgs) => link::run, Report, ["throughline link"];
    Projects(projects::ProjectsArgs) => projects::run, Listing, [];
    Sync(sync::SyncArgs) => sync::run, Report, ["throughline sync --from, --earlier or --apply"];
    Watch(watch::WatchArgs) => watch::run, Report, ["throughline watch install"];
    #[command(visible_alias = "recall")]
    Search(search::SearchArgs) => search::run, Listing, [];
    Ask(ask::AskArgs) => ask::run, Answer, [];
    Show(show::ShowArgs) => show::run, Listing, [];
    List(list::ListArgs) => list::run, Listing, [];
    Browse(browse::BrowseArgs) => browse::run, Answer, ["throughline browse"];
    #[command(visible_alias = "remember")]
    Add(add::AddArgs) => add::run, Report, [];
    Edit(edit::EditArgs) => edit::run, Report, [];
    #[command(visible_alias = "rm")]
    Forget(forget::ForgetArgs) => forget::run, Report, [];
    Restore(restore::RestoreArgs) => restore::run, Report, ["throughline restore"];
    Resume(resume::ResumeArgs) => resume::run, Answer, [];
    Review(review::ReviewArgs) => review::run, Answer, ["throughline review"];
    Pack(pack::PackArgs) => pack::run, Answer, [];
    Diff(diff::DiffArgs) => diff::run, Listing, [];
    Check(check::CheckArgs) => check::run, Answer, [];
    MergeDriver(merge_driver::MergeDriverArgs) => merge_driver::run, Answer, [];
    Status(status::StatusArgs) => status::run, Answer, [];
    Why(why::WhyArgs) => why::run, Listing, [];
    Timeline(timeline::TimelineArgs) => timeline::run, Listing, [];
    Graph(graph::GraphArgs) => graph::run, Listing, ["throughline graph --merge, --split, --rename or --release-names"];
    Guard(guard::GuardArgs) => guard::run, Answer, ["throughline guard add, off, trust or remove"];
    Report(report::ReportArgs) => report::run, Answer, [];
    Blame(blame::BlameArgs) => blame::run, Listing, [];
    Fixes(fixes::FixesArgs) => fixes::run, Listing, [];
    How(how::HowArgs) => how::run, Listing, [];
    Log(log::LogArgs) => log::run, Listing, [];
    Statusline(statusline::StatuslineArgs) => statusline::run, Answer, [];
    Purge(purge::PurgeArgs) => purge::run, Report, ["throughline purge"];
    Off(off::OffArgs) => off::run, Report, ["throughline off"];
    On(on::OnArgs) => on::run, Report, ["throughline on"];
    Share(share::ShareArgs) => share::run, Answer, ["throughline share"];
    Mcp(mcp::McpArgs) => mcp::run, Answer, [];
    Config(config::ConfigArgs) => config::run, Raw, ["throughline config"];
    Redact(redact::RedactArgs) => redact::run, Raw, [];
    Doctor(doctor::DoctorArgs) => doctor::run, Answer, ["throughline doctor --secrets --fix or --migrations --restore"];
    Man(man::ManPages) => man::run, Raw, [];
    Completions(completions::CompletionsArgs) => completions::run, Raw, [];
}

impl Args {
    /// Returns whether `--json` is before a command.
    pub fn has_json_before_command(&self) -> bool {
        self.json && self.command.is_some()
    }
}

impl Command {
    /// Returns whether the output consists only of sentences that report the effect, which `--quiet` omits.
    fn is_report(&self) -> bool {
        match self {
            Self::Trust(args) => args.is_answered(),
            Self::Share(args) => args.changes(),
            Self::Review(args) => args.is_answered(),
            Self::Config(args) => args.changes(),
            _ => self.output() == OutputKind::Report,
        }
    }

    /// Returns whether warnings about the environment and the settings are printed before the output of this command.
    /// They are not printed if another program reads the output, or if the output contains the same information.
    const fn warns(&self) -> bool {
        !matches!(
            self,
            Self::Statusline(_)
                | Self::Mcp(_)
                | Self::MergeDriver(_)
                | Self::Completions(_)
                | Self::Man(_)
                | Self::Config(_)
                | Self::Doctor(_)
        )
    }
}

/// Runs the command that the arguments select.
pub fn run(args: Args) -> Result {
    if args.quiet && args.verbose {
        return Err(Failure::new("`--quiet` and `--verbose` contradict each other")
            .code(exit::USAGE)
            .hint("Give one of them."));
    }
    if args.quiet {
        view::be_quiet();
    }
    let start = Instant::now();
    let world = match World::read(args.folder.as_deref()) {
        // The status line of Claude Code must not fail.
        Err(_) if matches!(args.command, Some(Command::Statusline(_))) => return Ok(()),
        read => read?,
    };
    if args.command.as_ref().is_none_or(Command::warns) {
        warn(&world);
    }
    let done = run_in(&args, &world);
    if args.verbose {
        print_details(&world, start);
    }
    done
}

/// Warns about an unknown mode, and about settings that are not in effect.
fn warn(world: &World) {
    if let Some(value) = &world.unclear_mode {
        view::on_stderr(format_args!(
            "{} THROUGHLINE is `{}`, which is no mode and counts as off; set it to off, read or full",
            paint(CARE, "wrong:"),
            view::plain(value)
        ));
    }
    let tree = Tree::find(&world.dirs, &world.cwd);
    let (_, warnings) = settings_file::load(&world.dirs, tree.as_ref());
    crate::setup::settings::warn(&warnings, world);
}

fn run_in(args: &Args, world: &World) -> Result {
    let columns = wrap::columns(&Term::stdout());
    let output = args.command.as_ref().map_or(OutputKind::Answer, Command::output);
    // A list of settings is wrapped because people read it; single values and other raw output are not wrapped.
    let is_list = matches!(&args.command, Some(Command::Config(config)) if config.is_list());
    let columns = columns.filter(|_| output != OutputKind::Raw || is_list);
    let run = |out: &mut dyn Write| -> Result {
        let mut wrapped = Wrapped::new(out, columns);
        let out: &mut dyn Write = &mut wrapped;
        match &args.command {
            None => status::overview(args.json, world, out),
            Some(command) => {
                command.check_caller(world)?;
                command.run(world, out)
            }
        }?;
        out.flush()?;
        Ok(())
    };
    if args.quiet && args.command.as_ref().is_some_and(Command::is_report) {
        return run(&mut JsonAlone::new(&mut anstream::stdout().lock()));
    }
    let is_endless = matches!(&args.command, Some(Command::Log(log)) if log.follow);
    let is_paged = output == OutputKind::Listing && !is_endless && !args.no_pager;
    match view::pager::find(world.path.as_deref()).filter(|_| is_paged) {
        Some(pager) => view::pager::through(&pager, run),
        None => run(&mut anstream::stdout().lock()),
    }
}

/// Prints the paths used and the run time.
fn print_details(world: &World, start: Instant) {
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
        // An error is ignored: a closed stderr cannot be repaired.
        let _ = writeln!(stderr, "{}", paint(QUIET, format_args!("{name:<9} {text}")));
    }
}
