//! `throughline init`: sets a project up. It vouches for the working tree, makes the memory folder,
//! registers hooks and MCP server with Claude Code, and offers to read what is there already.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use memory_store::identity;
use memory_store::identity::{Identity, Observed};
use memory_store::layout::{STORE_DIR, Tree};
use memory_store::mode::Mode;
use memory_store::store::{self, Store};
use processor::progress::Silent;
use processor::sync::SyncReport;
use serde::Serialize;

use super::doctor::folders;
use super::elsewhere::{self, Moved};
use super::guide::{self, Guide};
use super::preview::{self, Choice};
use super::reader::Reader;
use super::{ask, config, eval, reader, sync, view};

use crate::claude::places::Scope;
use crate::claude::register::{self, Registered, register};
use crate::failure::{Failure, Result};
use crate::style::{CARE, QUIET, STRONG, paint};
use crate::world::World;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Sets this project up: memory folder, hooks, MCP server; then reads existing transcripts.
#[derive(Debug, Args)]
pub struct Init {
    /// Keep memories in your data directory instead of the repository
    #[arg(long)]
    private: bool,
    /// Keep memories in the repository, which is the default for a new project
    #[arg(long, conflicts_with = "private")]
    committed: bool,
    /// Let what is learned wait for `throughline review` before it comes into the repository; sets `promote` in
    /// your settings, for all projects
    #[arg(long, conflicts_with = "private")]
    drafts: bool,
    /// Tell what there is to be learned, and change nothing
    #[arg(long, visible_alias = "dry-run", conflicts_with_all = ["private", "committed", "drafts", "register_only", "yes"])]
    preview: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Which of Claude Code's settings files the hooks go into
    #[arg(long, value_enum, default_value = "user", value_name = "SCOPE")]
    settings: Scope,
    /// Leave Claude Code's settings alone
    #[arg(long)]
    no_register: bool,
    /// Also tell Claude when to use memory, by these; or let git merge memory files key by key
    #[arg(
        long = "with",
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        conflicts_with = "no_register"
    )]
    guides: Vec<Guide>,
    /// Only register hooks and MCP server; works in any folder
    #[arg(long, conflicts_with_all = ["no_register", "private", "committed"])]
    register_only: bool,
    /// Leave existing transcripts alone
    #[arg(long)]
    no_sync: bool,
    /// Who reads sessions: rules, ollama, ollama:MODEL or claude
    #[arg(long, value_name = "READER", conflicts_with = "register_only")]
    llm: Option<Reader>,
    /// Ask nothing and do it
    #[arg(long, short = 'y')]
    yes: bool,
}

impl Init {
    /// Whether nobody has to be asked where memories are to be kept, or nothing is learned now.
    const fn is_told(&self) -> bool {
        self.private || self.committed || self.drafts || self.yes || self.no_sync
    }
}

/// What was set up.
#[derive(Serialize)]
struct SetUp {
    root: PathBuf,
    project: String,
    mode: identity::Mode,
    /// The folder of memory files.
    folder: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    registered: Option<Registered>,
    /// What was learned from transcripts that were there already.
    #[serde(skip_serializing_if = "Option::is_none")]
    learned: Option<SyncReport>,
}

/// Runs the command.
pub fn run(args: &Init, world: &World, out: &mut dyn Write) -> Result {
    let root = super::root_of(&world.cwd);
    if args.register_only {
        let registered = register(world, args.settings, &root)?;
        if args.json {
            return view::json(&registered, out);
        }
        writeln!(out, "{}", paint(STRONG, "Registered with Claude Code"))?;
        show_registered(world, &root, args.settings, &registered, out)?;
        guide::put_all(&args.guides, world, args.settings, &root, out)?;
        writeln!(out, "Next: run `throughline init` in a project.")?;
        return Ok(());
    }
    super::refuse_home(world, &root)?;
    if args.preview {
        return preview::run(world, &processor::git::observe(&root), args.json, out);
    }
    if !args.json {
        return set_up(args, world, &root, out).map(drop);
    }
    // Who is asked has to see what about.
    let mut stderr = anstream::stderr();
    let is_asked = world.interactive && !args.yes;
    let told: &mut dyn Write = if is_asked { &mut stderr } else { &mut std::io::sink() };
    let done = set_up(args, world, &root, told)?;
    view::json(&done, out)
}

fn set_up(args: &Init, world: &World, root: &Path, out: &mut dyn Write) -> Result<SetUp> {
    let is_new = Tree::find(&world.dirs, root).is_none_or(|tree| tree.root != root);
    let observed = processor::git::observe(root);
    let known = identity::known(&world.dirs, &observed)?;
    let before = known.as_ref().map(|known| known.mode);
    let joins = known.filter(|_| is_new);
    if let Some(project) = &joins {
        confirm_joining(args, world, project)?;
    }
    let choice = match before {
        None if !args.is_told() => preview::ask(world, &observed, out)?,
        None | Some(_) => None,
    };
    let mode = choose_mode(args, world, before, choice)?;
    if mode == identity::Mode::Committed {
        store::check_folder(&observed.root)?;
        let memories = observed.root.join(STORE_DIR).join("memories");
        folders::check_writable(&memories)?;
    }
    folders::check_writable(&world.dirs.data)?;
    if !args.no_register {
        register::check(world, args.settings, &observed.root)?;
    }
    let moves = match before {
        Some(before) if before != mode => Some(moves(args, world, &observed, mode)?),
        Some(_) | None => None,
    };
    let moved = if is_new { elsewhere::moved(world, root) } else { Vec::new() };
    let tree = identity::init(&world.dirs, &observed, mode, super::random()?, world.now)?;
    if args.drafts || choice == Some(Choice::Drafts) {
        config::use_drafts(world)?;
    }
    let store = Store::open(&world.dirs, &tree)?;
    store.create()?;
    writeln!(out, "{} {}", paint(STRONG, "Setting up Throughline for"), tree.root.display())?;
    match &joins {
        Some(project) => writeln!(out, "  project     joins {}", name(project))?,
        None if is_new => show_similar(world, &tree, &observed, &moved, out)?,
        None => {}
    }
    if let Some(moves) = moves {
        writeln!(out, "  {} {moves}", paint(CARE, "!"))?;
    }
    show_store(mode, &tree, &store, out)?;
    let was_said = args.private || args.committed || args.drafts || args.yes || before.is_some();
    if !was_said && !world.interactive {
        writeln!(
            out,
            "              nobody could be asked; `throughline init --private` keeps them out of the repository"
        )?;
    }
    let mut registered = None;
    if !args.no_register {
        let now = registered.insert(register(world, args.settings, &tree.root)?);
        show_registered(world, &tree.root, args.settings, now, out)?;
        guide::put_all(&args.guides, world, args.settings, &tree.root, out)?;
    }
    reader::choose(world, &tree, args.llm.as_ref(), !args.yes, out)?;
    writeln!(out, "{}", paint(STRONG, "Throughline is set up."))?;
    let mut learned = None;
    if !args.no_sync {
        learned = learn(args, world, &tree, choice.is_some(), out)
            .map_err(|failure| failure.during("it is set up, but nothing was learned yet"))?;
    }
    writeln!(
        out,
        "\nNext: work as usual. `throughline status` shows what is known, `throughline why`"
    )?;
    writeln!(
        out,
        "what was put in front of Claude, `throughline uninstall` takes the hooks out again."
    )?;
    if is_new && args.guides.is_empty() && !args.no_register {
        writeln!(
            out,
            "More for Claude: `throughline init --with skill,agents,rules` adds a skill, a paragraph in AGENTS.md, and"
        )?;
        writeln!(out, "rules that let it recall without asking.")?;
        if mode == identity::Mode::Committed && processor::git::is_repository(&tree.root) {
            writeln!(
                out,
                "For a team: `throughline init --with merge-driver` lets git merge memory files key by key."
            )?;
        }
    }
    let (root, project) = (tree.root.clone(), tree.project.to_string());
    let folder = store.folder().to_owned();
    Ok(SetUp { root, project, mode, folder, registered, learned })
}

/// Reads the transcripts that are there already, if the user wants it.
fn learn(
    args: &Init,
    world: &World,
    tree: &Tree,
    was_shown: bool,
    out: &mut dyn Write,
) -> Result<Option<SyncReport>> {
    let found = processor::collect::discover::transcripts(&world.dirs, tree)?;
    if found.is_empty() {
        writeln!(out, "  transcripts none of this project yet")?;
        for elsewhere in elsewhere::history(world, &tree.main_root) {
            writeln!(out, "  elsewhere   {}", elsewhere.told())?;
        }
        // Memories that came with the repository are recalled from an index, too.
        if world.mode == Mode::Full {
            let request = sync::Request { tree, from: None, afresh: false };
            sync::sync(world, &request, &Silent)?;
        }
        return Ok(None);
    }
    let mib = found.iter().map(|transcript| transcript.len).sum::<u64>() as f64 / BYTES_PER_MIB;
    writeln!(out, "  transcripts {} of this project ({mib:.1} MiB)", found.len())?;
    out.flush()?;
    let now =
        args.yes || was_shown || ask::confirm(world, "Learn from them now?", world.interactive)?;
    if world.mode != Mode::Full {
        writeln!(out, "Nothing is learned here: THROUGHLINE, CI or a cloud session.")?;
        return Ok(None);
    }
    if !now {
        writeln!(out, "`throughline sync` learns from them; so does your next session.")?;
        return Ok(None);
    }
    let request = sync::Request { tree, from: None, afresh: false };
    let report = sync::sync(world, &request, &*sync::shown())?;
    sync::show(tree, &report, false, out)?;
    // A look back is worth a moment, never a failure.
    if let Ok(replay) = eval::own::of_tree(world, tree, LOOK_BACK)
        && let Some(sentence) = replay.sentence()
    {
        writeln!(out, "{sentence}")?;
    }
    Ok(Some(report))
}

/// How long `init` looks back for errors that came back.
const LOOK_BACK: Duration = Duration::from_secs(3);

/// How a person knows a project: by where it was first seen, and how it keeps its memories.
fn name(project: &Identity) -> String {
    let id = project.project.to_string();
    let place = project.paths.first().map_or(id, |path| path.display().to_string());
    let how = match project.mode {
        identity::Mode::Committed => "memories in the repository",
        identity::Mode::Private => "memories private",
    };
    format!("{place} ({how})")
}

/// Asks before a working tree becomes part of a project that is there already.
fn confirm_joining(args: &Init, world: &World, project: &Identity) -> Result {
    let name = name(project);
    let question = format!("This is another working tree of {name}. Share its memories?");
    if args.yes || ask::confirm(world, &question, true)? {
        return Ok(());
    }
    Err(Failure::new("nothing was set up").hint(format!(
        "Its root commit and a remote are those of {name}; with another remote it is a project of its own."
    )))
}

/// What happens to the memories of a project that is to keep them elsewhere; asks before private
/// ones come into a repository.
fn moves(
    args: &Init,
    world: &World,
    observed: &Observed,
    mode: identity::Mode,
) -> Result<&'static str> {
    match mode {
        identity::Mode::Private => {
            Ok("Memories are kept in your data directory from now on. Files in .throughline \
                                       stay and are not read any more; remove them if they are not to be shared.")
        }
        identity::Mode::Committed => {
            let question = format!(
                "Write this project's private memories into {} and its other working trees?",
                observed.root.display()
            );
            if !args.yes && !ask::confirm(world, &question, true)? {
                return Err(Failure::new("memories stay private; nothing was changed")
                    .hint("`throughline init` without --committed keeps them so."));
            }
            Ok(
                "What was private is written into .throughline of this project's working trees by the \
                next sync: read it before you commit it. The private files stay, too.",
            )
        }
    }
}

/// Names the projects that this working tree might belong to, but which it does not join by
/// itself: it may be a fork that is to be kept apart.
fn show_similar(
    world: &World,
    tree: &Tree,
    observed: &Observed,
    moved: &[Moved],
    out: &mut dyn Write,
) -> Result {
    for moved in moved {
        writeln!(out, "  {} {}", paint(CARE, "!"), moved.told())?;
    }
    let similar = identity::similar(&world.dirs, observed)?;
    let others = similar.iter().filter(|known| known.identity.project != tree.project);
    for known in others.filter(|known| !known.trees.is_empty()) {
        let project = known.identity.project.to_string();
        let name = known.trees.first().map_or(project, |tree| tree.main_root.display().to_string());
        writeln!(
            out,
            "  similar     {name}: to share its memories, run `throughline link {name}`"
        )?;
    }
    Ok(())
}

/// Where memories are kept: as said, as `before`, or as answered now. It is asked once.
fn choose_mode(
    args: &Init,
    world: &World,
    before: Option<identity::Mode>,
    choice: Option<Choice>,
) -> Result<identity::Mode> {
    use identity::Mode::{Committed, Private};
    match choice {
        Some(Choice::Private) => return Ok(Private),
        Some(Choice::Commit | Choice::Drafts) => return Ok(Committed),
        None => {}
    }
    if args.private || args.committed || args.drafts {
        return Ok(if args.private { Private } else { Committed });
    }
    if let Some(before) = before {
        return Ok(before);
    }
    let question = "Keep memories in the repository, for the team to review and commit?";
    let committed = args.yes || ask::confirm(world, question, true)?;
    Ok(if committed { Committed } else { Private })
}

fn show_store(mode: identity::Mode, tree: &Tree, store: &Store, out: &mut dyn Write) -> Result {
    let (folder, note) = match mode {
        identity::Mode::Committed => {
            (tree.store(), "(commit it when you like; nothing is committed for you)")
        }
        identity::Mode::Private => (store.folder().to_owned(), "(private)"),
    };
    writeln!(out, "  memories    {} {}", folder.display(), paint(QUIET, note))?;
    let there = store.list()?.memories.len();
    if there > 0 {
        writeln!(out, "              {there} are there; they are read from now on")?;
    }
    Ok(())
}

fn show_registered(
    world: &World,
    root: &Path,
    scope: Scope,
    registered: &Registered,
    out: &mut dyn Write,
) -> Result {
    let state = |changed: bool| if changed { "" } else { " (as it was)" };
    writeln!(
        out,
        "  hooks       {}{}",
        registered.settings.display(),
        state(registered.settings_changed)
    )?;
    if let Some(backup) = registered.backup.as_ref().filter(|_| registered.settings_changed) {
        writeln!(out, "  backup      {}", backup.display())?;
    }
    writeln!(
        out,
        "  MCP server  {}{}",
        registered.servers.display(),
        state(registered.servers_changed)
    )?;
    for missing in missing_programs(world) {
        writeln!(out, "  missing     {} (run scripts/install)", missing.display())?;
    }
    if scope == Scope::Local && !processor::git::is_ignored(root, &registered.settings) {
        writeln!(
            out,
            "  {} Keep {} out of git: it names a path of this machine.",
            paint(CARE, "!"),
            registered.settings.display()
        )?;
    }
    if scope.committed() {
        writeln!(
            out,
            "  Committed settings call the programs by name: {} has to be in everybody's PATH.",
            world.bin_dir.display()
        )?;
    }
    Ok(())
}

fn missing_programs(world: &World) -> Vec<PathBuf> {
    super::doctor::programs::all()
        .map(|name| world.program(name))
        .filter(|path| !path.is_file())
        .collect()
}
