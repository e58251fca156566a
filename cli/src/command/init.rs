//! `throughline init`: sets up a project. The command shows a plan (`plan.rs`), asks at most one question, trusts the
//! working tree, creates the memory folder, registers hooks and MCP server with Claude Code, and reads existing
//! sessions (`backfill.rs`).

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use dialoguer::console::Term;
use memory_store::fs::private_folders;
use memory_store::identity;
use memory_store::identity::Observed;
use memory_store::layout::{Place, STORE_DIR, Tree};
use memory_store::settings_file;
use memory_store::store::{self, Store};
use processor::collect::discover;
use serde::Serialize;

use crate::ask;
use crate::command::sync::EarlierSessions;
use crate::command::{sync, trust};
use crate::failure::{Failure, Result};
use crate::inspect::migrations;
use crate::inspect::{folders, programs};
use crate::setup::backfill::{self, Backfill};
use crate::setup::claude::places::SettingsScope;
use crate::setup::claude::register::{self, RegisterReport, register};
use crate::setup::elsewhere::{self, MovedFolder};
use crate::setup::guide::Guide;
use crate::setup::installation::Installation;
use crate::setup::plan::SetupPlan;
use crate::setup::reader::{self, ReaderName, WITHOUT_MODEL};
use crate::setup::{self, guide, old_sessions, preview, settings};
use crate::typed::WriteOptions;
use crate::view;
use crate::view::style::{CARE, QUIET, STRONG, paint};
use crate::view::wrap::{self, Wrapped};
use crate::world::World;

/// The next steps.
const NEXT: &str = "Next: work as usual. `throughline` shows what is known, `throughline why` what Claude was given.";
/// Explains how memories relate to CLAUDE.md and to Claude's own memories, for a new project.
const TOGETHER: &str = "CLAUDE.md is never written, and Claude's auto memory is read but never changed. Throughline \
                        adds what sessions showed where it fits a prompt, a file or an error.";
/// Describes further options, for a new project for which none of them was used.
const MORE: &str = "More: `throughline init --with skill,agents,rules` lets Claude know when to use memory; \
                    `--with merge-driver` lets git merge memory files key by key.";

/// Result of the command.
#[derive(Serialize)]
struct SetUp {
    root: PathBuf,
    project: String,
    mode: identity::Mode,
    /// The folder of memory files.
    folder: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    registered: Option<RegisterReport>,
    /// Whether Claude Code's plugin provides hooks and server.
    by_plugin: bool,
    /// Result of learning from existing transcripts.
    #[serde(flatten)]
    backfill: Option<Backfill>,
}

/// Set up the current project and learn from existing sessions
///
/// Shows a plan and asks at most one question before it writes anything.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// Store memories in your data folder instead of the repository
    #[arg(long)]
    pub private: bool,
    /// Store memories in the repository, as is the default for a new project
    #[arg(long, hide_short_help = true, conflicts_with = "private")]
    pub committed: bool,
    /// Keep learned memories pending until `throughline review`; sets `review = true` for all
    /// projects
    #[arg(long, conflicts_with = "private")]
    pub drafts: bool,
    /// Show what a session would receive from the existing sessions, without writing anything
    #[arg(long, conflicts_with_all = ["private", "committed", "drafts", "register_only", "yes", "dry_run"])]
    pub preview: bool,
    /// Claude Code settings in which to register the hooks [default: user]
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub settings: Option<SettingsScope>,
    /// Leave Claude Code's settings unchanged
    #[arg(long)]
    pub no_register: bool,
    /// Extras to install, comma-separated
    #[arg(long = "with", value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub guides: Vec<Guide>,
    /// Only register the hooks and the MCP server; works in any folder
    #[arg(long, hide_short_help = true, conflicts_with_all = ["no_register", "private", "committed"])]
    pub register_only: bool,
    /// Do not read the existing sessions
    #[arg(long)]
    pub no_sync: bool,
    /// Decision about sessions of another project that was formerly at this path
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        hide_short_help = true,
        conflicts_with = "register_only"
    )]
    pub earlier: Option<EarlierSessions>,
    /// Keep turns older than `retention_days` without listing them
    #[arg(long, hide_short_help = true, conflicts_with = "register_only")]
    pub keep_all: bool,
    /// Model that reads sessions: rules (no model, the default), ollama, ollama:MODEL or claude
    #[arg(long, value_name = "READER", conflicts_with = "register_only")]
    pub llm: Option<ReaderName>,
    #[command(flatten)]
    pub write: WriteOptions,
}

impl InitArgs {
    /// Returns whether the command makes a decision that only a person may make: trusting existing memory files,
    /// choosing the reader of sessions, assigning earlier sessions to a project, or moving memories. Setting up a
    /// folder without memories requires no person.
    pub fn decides(&self, world: &World) -> bool {
        if self.write.dry_run || self.preview || self.register_only {
            return false;
        }
        let is_trusted = matches!(Tree::locate(&world.dirs, &world.cwd), Some(Place::Trusted(_)));
        let folder = world.root().join(STORE_DIR).join("memories");
        let has_memories = folder.read_dir().is_ok_and(|mut files| files.next().is_some());
        let is_named = self.llm.is_some() || self.earlier.is_some();
        is_named || if is_trusted { self.mode().is_some() } else { has_memories }
    }

    /// Returns the mode of storage, if an option sets it.
    pub fn mode(&self) -> Option<identity::Mode> {
        let is_said = self.private || self.committed || self.drafts;
        let mode = if self.private { identity::Mode::Private } else { identity::Mode::Committed };
        is_said.then_some(mode)
    }
}

/// Runs the command.
pub fn run(args: &InitArgs, world: &World, out: &mut dyn Write) -> Result {
    let root = world.root();
    guide::check(&args.guides, args.no_register)?;
    // Without a terminal, the plan of `--yes` is shown but not executed.
    let is_unanswered = !args.write.yes && !args.preview && !world.interactive;
    let write = WriteOptions { yes: args.write.yes || is_unanswered, ..args.write };
    let args = &InitArgs { write, ..args.clone() };
    let only_shows = args.write.dry_run || is_unanswered;
    let shown = |message: &str| match args.write.dry_run {
        true => Ok(()),
        false => Err(ask::unanswered(message)),
    };
    if args.register_only {
        let scope = args.settings.unwrap_or(SettingsScope::User);
        if only_shows {
            view::would(&registrations(args, world, scope, &root), args.write.json, out)?;
            return shown("nothing was registered");
        }
        let registered = register(world, scope, &root)?;
        if args.write.json {
            return view::json(&registered, out);
        }
        writeln!(out, "{}", paint(STRONG, "Registered with Claude Code"))?;
        show_registered(world, &root, scope, &registered, out)?;
        guide::put_all(&args.guides, false, world, scope, &root, out)?;
        writeln!(out, "Next: run `throughline init` in a project.")?;
        return Ok(());
    }
    setup::refuse_home(world, &root)?;
    if args.preview {
        return preview::run(world, &processor::git::observe(&root), args.write.json, out);
    }
    let plan = SetupPlan::of(args, world, &root)?;
    if only_shows {
        match args.write.json {
            true => view::json(&plan, out)?,
            false => plan.show(world, true, out)?,
        }
        return shown("nothing was set up");
    }
    if !args.write.json {
        return set_up(args, world, &plan, out).map(drop);
    }
    // The plan is printed to stderr, so that it is visible above a question.
    let mut stderr = anstream::stderr();
    let mut stderr = Wrapped::new(&mut stderr, wrap::columns(&Term::stderr()));
    let is_asked = world.interactive && !args.write.yes;
    let told: &mut dyn Write = if is_asked { &mut stderr } else { &mut std::io::sink() };
    let done = set_up(args, world, &plan, told)?;
    told.flush()?;
    view::json(&done, out)
}

/// Lists the entries that `--register-only` writes.
fn registrations(args: &InitArgs, world: &World, scope: SettingsScope, root: &Path) -> Vec<String> {
    let hooks = world.claude.settings(scope, root);
    let servers = world.claude.servers(scope, root);
    let mut told = vec![
        format!("register the hooks in {}", view::path(hooks)),
        format!("register the MCP server in {}", view::path(servers)),
    ];
    let extras = args.guides.iter().flat_map(|guide| guide.files(false, world, scope, root));
    told.extend(extras.map(|file| format!("write into {}", view::path(file))));
    told
}

fn set_up(args: &InitArgs, world: &World, plan: &SetupPlan, out: &mut dyn Write) -> Result<SetUp> {
    let (observed, mode, scope) = (&plan.observed, plan.memories, plan.scope);
    let root = &observed.root;
    if mode == identity::Mode::Committed {
        store::check_folder(root)?;
        folders::check_writable(&root.join(STORE_DIR).join("memories")).map_err(|failure| {
            failure.hint(
                "`throughline init --private` keeps memories in your data folder. To keep them in the repository, \
                 give yourself the right to write there.",
            )
        })?;
    }
    folders::check_writable(&world.dirs.data)?;
    let registers = plan.hooks.is_some();
    if registers {
        register::check(world, scope, root)?;
    }
    let question = plan.question().filter(|_| !args.write.yes);
    plan.show(world, plan.asks.is_some() || question.is_some(), out)?;
    if let Some((question, failure)) = question
        && !ask::confirm(world, &question, true)?
    {
        return Err(failure);
    }
    let reader = match &plan.asks {
        Some(offers) => {
            let reader = reader::look_at(world, &offers.ask()?, false)?;
            writeln!(out, "  read by     {}", reader.label())?;
            Some(reader)
        }
        None => plan.chosen.clone(),
    };
    let moved = if plan.is_new { elsewhere::moved(&world.dirs, root) } else { Vec::new() };
    // The setup writes nothing before this line.
    let open = private_folders::close_all(&world.dirs);
    let tree =
        identity::vouch(&world.dirs, observed, Some(mode), crate::world::random()?, world.now)?;
    check_found(world, root)?;
    migrations::before_write(world, &tree)?;
    if args.drafts {
        settings::use_drafts(world)?;
    }
    let store = Store::open(&world.dirs, &tree)?;
    // In a repository, only the first memory creates the folder: an uncommitted file there would prevent git from
    // pulling a colleague's file.
    if store.root.is_none() || store.folder.is_dir() {
        store.create()?;
    }
    for folder in &open {
        writeln!(out, "  {} {}", paint(CARE, "!"), folder.message())?;
    }
    if plan.is_new && plan.joins.is_none() {
        show_similar(world, &tree, observed, &moved, out)?;
    }
    if !args.no_register {
        migrations::upgrade_registered(world, &[&tree.root])?;
    }
    let (mut registered, mut unregistered) = (None, None);
    if registers {
        match register(world, scope, &tree.root) {
            Ok(now) => {
                show_registered(world, &tree.root, scope, registered.insert(now), out)?;
            }
            Err(failure) => unregistered = Some(failure),
        }
    }
    let by_plugin = plan.plugin.is_some();
    guide::put_all(&args.guides, by_plugin, world, scope, &tree.root, out)?;
    if let Some(reader) = &reader {
        reader.set(world)?;
    }
    writeln!(out, "{}", paint(STRONG, "Throughline is set up."))?;
    let again = match args.earlier {
        // The named sessions may belong to this project now.
        Some(decision) => {
            sync::decide(world, &tree, decision, plan.earlier.newest)?;
            Some(discover::transcripts(&world.dirs, &tree)?.transcripts)
        }
        None => None,
    };
    let found = again.as_ref().unwrap_or(&plan.found);
    let named: &mut dyn Write = if args.keep_all { &mut std::io::sink() } else { &mut *out };
    old_sessions::keep(world, &tree, found, named)?;
    let mut backfill = None;
    if !args.no_sync {
        backfill = backfill::run(world, &tree, (found, &plan.earlier), out)
            .map_err(|failure| failure.during("it is set up, but nothing was learned yet"))?;
    }
    trust::publish_missing(world, &tree)?;
    if settings_file::load(&world.dirs, Some(&tree)).0.llm.is_none() {
        writeln!(out, "{WITHOUT_MODEL}")?;
    }
    if let Some(failure) = unregistered {
        return Err(failure.during("the project is set up, but the hooks are not registered"));
    }
    writeln!(out, "\n{NEXT}")?;
    if plan.is_new {
        writeln!(out, "{TOGETHER}")?;
    }
    if plan.is_new && registers && args.guides.is_empty() {
        writeln!(out, "{}", paint(QUIET, MORE))?;
    }
    let (root, project) = (tree.root.clone(), tree.project.to_string());
    let folder = store.folder.clone();
    Ok(SetUp { root, project, mode, folder, registered, by_plugin, backfill })
}

/// Fails if later commands would not find the project, so that a failed setup does not exit with success.
fn check_found(world: &World, root: &Path) -> Result {
    if matches!(Tree::locate(&world.dirs, root), Some(Place::Trusted(_))) {
        return Ok(());
    }
    Err(Failure::new(format!("{} was set up, and is not found again", view::path(root))).hint(
        "Its folder or git directory may have changed meanwhile: try again, and see `throughline doctor`.",
    ))
}

/// Lists projects that this working tree may belong to. It does not join them automatically, since it may be a fork
/// that should be separate.
fn show_similar(
    world: &World,
    tree: &Tree,
    observed: &Observed,
    moved: &[MovedFolder],
    out: &mut dyn Write,
) -> Result {
    for moved in moved {
        writeln!(out, "  {} {}", paint(CARE, "!"), moved.description())?;
    }
    let known = identity::list(&world.dirs)?;
    let others = known.iter().filter(|known| known.identity.project != tree.project);
    let similar = others.filter(|known| known.identity.resembles(observed));
    for known in similar.filter(|known| !known.trees.is_empty()) {
        let project = known.identity.project.to_string();
        let name = known.trees.first().map_or(project, |tree| tree.main_root.display().to_string());
        writeln!(
            out,
            "  similar     {name}: to share its memories, run `throughline link {name}`"
        )?;
    }
    Ok(())
}

/// Prints warnings about a registration.
fn show_registered(
    world: &World,
    root: &Path,
    scope: SettingsScope,
    registered: &RegisterReport,
    out: &mut dyn Write,
) -> Result {
    let RegisterReport { settings, settings_changed, servers, servers_changed, .. } = registered;
    if !settings_changed && !servers_changed {
        writeln!(out, "  {} and {} are as they were.", settings.display(), servers.display())?;
    }
    let mut warnings = Vec::new();
    let programs = programs::all().map(|name| world.program(name));
    let missing: Vec<String> =
        programs.filter(|path| !path.is_file()).map(|path| path.display().to_string()).collect();
    if !missing.is_empty() {
        let again = Installation::find(world).again(&world.home);
        warnings.push(format!("Missing: {}. {again}.", missing.join(", ")));
    }
    if scope == SettingsScope::Local && !processor::git::is_ignored(root, settings) {
        let file = settings.display();
        warnings.push(format!("Keep {file} out of git: it names a path of this machine."));
    }
    if scope.committed() {
        let folder = world.bin_dir.display();
        warnings.push(format!(
            "Committed settings call the programs by name: {folder} has to be in everybody's PATH."
        ));
    }
    for warning in warnings {
        writeln!(out, "  {} {warning}", paint(CARE, "!"))?;
    }
    Ok(())
}
