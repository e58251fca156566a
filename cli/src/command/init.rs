//! `throughline init`: sets a project up. It shows a plan (`plan.rs`), asks at most one question, vouches for the working
//! tree, makes the memory folder, registers hooks and MCP server with Claude Code, and reads the sessions that are there
//! already (`backfill.rs`).

use std::io::Write;
use std::path::{Path, PathBuf};

use dialoguer::console::Term;
use memory_store::Timestamp;
use memory_store::counts::Standing;
use memory_store::fs::private_folders;
use memory_store::identity;
use memory_store::identity::{Identity, Observed};
use memory_store::layout::{Place, STORE_DIR, Tree};
use memory_store::settings_file;
use memory_store::store::{self, Store};
use processor::collect::discover;
use processor::git::ignore_rule;
use serde::Serialize;

use super::backfill::{self, Backfill};
use super::doctor::folders;
use super::guide;
use super::init_options::Init;
use super::plan::{self, Plan};
use super::reader::{self, Chosen, Offers, WITHOUT_MODEL};
use super::scene::{self, Scene};
use super::sync;
use super::{ask, closing, config, migrations, old_sessions, preview, view};
use crate::elsewhere::{self, Moved};

use crate::claude::places::Scope;
use crate::claude::register::{self, Registered, register};
use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::style::{CARE, QUIET, STRONG, paint};
use crate::world::World;
use crate::wrap::{self, Wrapped};

/// Result of setting up.
#[derive(Serialize)]
struct SetUp {
    root: PathBuf,
    project: String,
    mode: identity::Mode,
    /// The folder of memory files.
    folder: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    registered: Option<Registered>,
    /// Whether Claude Code's plugin brings hooks and server.
    by_plugin: bool,
    /// Result of learning from transcripts that were there already.
    #[serde(flatten)]
    backfill: Option<Backfill>,
}

/// Runs the command.
pub fn run(args: &Init, world: &World, out: &mut dyn Write) -> Result {
    let root = world.root();
    guide::check(&args.guides, args.no_register)?;
    // Where nobody can be asked, the plan is that of `--yes`, and is only shown.
    let is_unanswered = !args.yes && !args.preview && !world.interactive;
    let args = &Init { yes: args.yes || is_unanswered, ..args.clone() };
    if args.register_only {
        let scope = args.settings.unwrap_or(Scope::User);
        if args.dry_run || is_unanswered {
            view::would(&registrations(args, world, scope, &root), args.json, out)?;
            return if args.dry_run {
                Ok(())
            } else {
                Err(ask::unanswered("nothing was registered"))
            };
        }
        let registered = register(world, scope, &root)?;
        if args.json {
            return view::json(&registered, out);
        }
        writeln!(out, "{}", paint(STRONG, "Registered with Claude Code"))?;
        show_registered(world, &root, scope, &registered, out)?;
        guide::put_all(&args.guides, false, world, scope, &root, out)?;
        writeln!(out, "Next: run `throughline init` in a project.")?;
        return Ok(());
    }
    super::refuse_home(world, &root)?;
    if args.preview {
        return preview::run(world, &processor::git::observe(&root), args.json, out);
    }
    let scene = Scene::look(world, &root)?;
    if args.dry_run || is_unanswered {
        let chosen = chosen(args, world)?;
        let offers = offers(args, world, &scene, chosen.as_ref());
        let plan = Plan::of(args, world, &scene, chosen.as_ref(), offers);
        if args.json {
            view::json(&plan, out)?;
        } else {
            plan.title(world, out)?;
            plan.show(args, world, out)?;
        }
        return if args.dry_run { Ok(()) } else { Err(ask::unanswered("nothing was set up")) };
    }
    if !args.json {
        return set_up(args, world, &scene, out).map(drop);
    }
    // Who is asked has to see what about.
    let mut stderr = anstream::stderr();
    let mut stderr = Wrapped::new(&mut stderr, wrap::columns(&Term::stderr()));
    let is_asked = world.interactive && !args.yes;
    let told: &mut dyn Write = if is_asked { &mut stderr } else { &mut std::io::sink() };
    let done = set_up(args, world, &scene, told)?;
    told.flush()?;
    view::json(&done, out)
}

/// Lists what `--register-only` writes.
fn registrations(args: &Init, world: &World, scope: Scope, root: &Path) -> Vec<String> {
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

/// The reader that is named, or rules where nobody is asked and none was chosen; `None` where it stays as it was.
fn chosen(args: &Init, world: &World) -> Result<Option<Chosen>> {
    match &args.llm {
        Some(reader) => reader::look_at(world, reader, true).map(Some),
        None if reader::is_chosen(world) => Ok(None),
        None => Ok(Some(Chosen::Rules(false))),
    }
}

/// Looks which readers can be had, where nobody chose one and somebody can be asked. About a project that is joined, or
/// memories that move, another question is asked.
fn offers(args: &Init, world: &World, scene: &Scene, chosen: Option<&Chosen>) -> Option<Offers> {
    let is_open = args.llm.is_none() && chosen.is_some();
    let other = scene.joins().is_some() || scene.mode().is_some_and(|it| it != args.mode_in(scene));
    let is_asked = is_open && !other && world.interactive && !args.yes;
    is_asked.then(|| Offers::find(world, &scene.found))
}

fn set_up(args: &Init, world: &World, scene: &Scene, out: &mut dyn Write) -> Result<SetUp> {
    let (observed, is_new, before) = (&scene.observed, scene.is_new, scene.mode());
    let root = &observed.root;
    let chosen = chosen(args, world)?;
    let offers = offers(args, world, scene, chosen.as_ref());
    let plan = Plan::of(args, world, scene, chosen.as_ref(), offers);
    if !args.yes {
        plan.title(world, out)?;
        plan.show(args, world, out)?;
    }
    let mode = args.mode_in(scene);
    let moves_memories = before.is_some_and(|before| before != mode);
    if let Some(project) = scene.joins().filter(|_| !moves_memories) {
        confirm_joining(args, world, project)?;
    }
    let reader = match &plan.asks {
        Some(offers) => {
            let reader = offers.ask()?.ok_or_else(left)?;
            Some(reader::look_at(world, &reader, false)?)
        }
        None => chosen,
    };
    let (drafts, scope) = (args.drafts, args.scope(scene));
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
    let registers = args.registers(scene);
    if registers {
        register::check(world, scope, root)?;
    }
    let moves = match moves_memories {
        true => Some(moves(args, world, scene, mode)?),
        false => None,
    };
    let moved = if is_new { elsewhere::moved(&world.dirs, root) } else { Vec::new() };
    // From here on something is written.
    let open = private_folders::close_all(&world.dirs);
    let tree = identity::vouch(&world.dirs, observed, Some(mode), super::random()?, world.now)?;
    check_found(world, root)?;
    migrations::before_write(world, &tree)?;
    if drafts {
        config::use_drafts(world)?;
    }
    let store = Store::open(&world.dirs, &tree)?;
    // In a repository the folder comes with the first memory: a file there that nobody committed would keep git from
    // pulling a colleague's.
    if store.root.is_none() || store.folder.is_dir() {
        store.create()?;
    }
    writeln!(out, "{} {}", paint(STRONG, "Setting up Throughline for"), tree.root.display())?;
    for folder in &open {
        writeln!(out, "  {} {}", paint(CARE, "!"), folder.told())?;
    }
    match scene.joins() {
        Some(project) => writeln!(out, "  project     joins {}", scene::name(project))?,
        None if is_new => show_similar(world, &tree, observed, &moved, out)?,
        None => {}
    }
    if let Some(moves) = moves {
        writeln!(out, "  {} {moves}", paint(CARE, "!"))?;
    }
    show_store(mode, is_new, &tree, (&store, world.now), out)?;
    if drafts {
        let file = view::path(world.dirs.config_file());
        writeln!(out, "  drafts      {}", config::told_drafts(&file))?;
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
    } else if !args.no_register {
        plan::show_plugin(scene, out)?;
    }
    let by_plugin = !registers && scene.plugin.is_on();
    guide::put_all(&args.guides, by_plugin, world, scope, &tree.root, out)?;
    if let Some(reader) = &reader {
        reader.set(world)?;
        writeln!(out, "  read by     {}", reader.told())?;
    }
    writeln!(out, "{}", paint(STRONG, "Throughline is set up."))?;
    decide_earlier(args, world, scene, &tree, out)?;
    // By now sessions that were named may have been taken as this project's.
    let again = match args.earlier {
        Some(_) => Some(discover::transcripts(&world.dirs, &tree)?.transcripts),
        None => None,
    };
    let found = again.as_ref().unwrap_or(&scene.found);
    let named: &mut dyn Write = if args.keep_all { &mut std::io::sink() } else { &mut *out };
    old_sessions::keep(world, &tree, found, named)?;
    let mut backfill = None;
    if !args.no_sync {
        backfill = backfill::run(world, &tree, (found, &scene.unclaimed), out)
            .map_err(|failure| failure.during("it is set up, but nothing was learned yet"))?;
    }
    if settings_file::load(&world.dirs, Some(&tree)).0.llm.is_none() {
        writeln!(out, "{WITHOUT_MODEL}")?;
    }
    if let Some(failure) = unregistered {
        return Err(failure.during("the project is set up, but the hooks are not registered"));
    }
    let for_team = mode == identity::Mode::Committed && processor::git::is_repository(&tree.root);
    closing::show(is_new, is_new && args.guides.is_empty() && registers, for_team, out)?;
    let (root, project) = (tree.root.clone(), tree.project.to_string());
    let folder = store.folder.clone();
    Ok(SetUp { root, project, mode, folder, registered, by_plugin, backfill })
}

/// Fails where the next command would not find what was set up, so that setting up does not end with success then.
fn check_found(world: &World, root: &Path) -> Result {
    if matches!(Tree::locate(&world.dirs, root), Some(Place::Trusted(_))) {
        return Ok(());
    }
    Err(Failure::new(format!("{} was set up, and is not found again", view::path(root))).hint(
        "Its folder or git directory may have changed meanwhile: try again, and see `throughline doctor`.",
    ))
}

/// Asks before a working tree becomes part of a project that is there already.
fn confirm_joining(args: &Init, world: &World, project: &Identity) -> Result {
    let name = scene::name(project);
    let question = format!("This is another working tree of {name}. Share its memories?");
    if args.yes || ask::confirm(world, &question, true)? {
        return Ok(());
    }
    Err(Failure::new("nothing was set up").hint(format!(
        "Its root commit and a remote are those of {name}; with another remote it is a project of its own."
    )))
}

/// Decides about sessions that may be another project's as an option says, or names them: each with the command that
/// decides.
fn decide_earlier(
    args: &Init,
    world: &World,
    scene: &Scene,
    tree: &Tree,
    out: &mut dyn Write,
) -> Result {
    if let Some(decision) = args.earlier {
        return sync::decide(world, tree, decision, scene.unclaimed.newest);
    }
    for told in scene.unclaimed.told() {
        writeln!(out, "  {} {}", paint(CARE, "!"), view::plain(&told))?;
    }
    Ok(())
}

/// Returns the failure of a person who left the question.
fn left() -> Failure {
    Failure::new("nothing was set up")
        .hint("`throughline init --dry-run` shows what it would do; `--help` names the flags.")
}

/// Tells what happens to the memories of a project that is to keep them elsewhere. Asks before private ones come into a
/// repository.
fn moves(args: &Init, world: &World, scene: &Scene, mode: identity::Mode) -> Result<&'static str> {
    match mode {
        identity::Mode::Private => {
            Ok("Memories are kept in your data directory from now on. Files in .throughline \
                                       stay and are not read any more; remove them if they are not to be shared.")
        }
        identity::Mode::Committed => {
            let whose = match scene.joins() {
                Some(project) => format!("the private memories of {}", scene::name(project)),
                None => "this project's private memories".to_owned(),
            };
            let root = scene.observed.root.display();
            let question = format!("Write {whose} into {root} and its other working trees?");
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

fn show_store(
    mode: identity::Mode,
    is_new: bool,
    tree: &Tree,
    (store, now): (&Store, Timestamp),
    out: &mut dyn Write,
) -> Result {
    /// Note beside a folder of committed memories.
    const COMMIT: &str = "(commit it when you like; nothing is committed for you)";
    let main = Tree { root: tree.main_root.clone(), ..tree.clone() };
    let (folder, note) = match mode {
        identity::Mode::Committed => (main.store(), COMMIT),
        identity::Mode::Private => (store.folder.clone(), "(private)"),
    };
    let is_committed = mode == identity::Mode::Committed;
    let ignored = is_committed.then(|| ignore_rule::of_memories(&main.root)).flatten();
    let note = if ignored.is_some() { "" } else { note };
    writeln!(out, "  memories    {} {}", folder.display(), paint(QUIET, note))?;
    if let Some(rule) = ignored {
        writeln!(out, "  {} {}", paint(CARE, "!"), view::plain(&rule.told()))?;
    }
    let there = store.list()?.memories.into_iter();
    let there = there.filter(|it| Standing::of(&it.memory, now).is_current()).count();
    if there > 0 {
        let read = if is_new { " that are there are read from now on" } else { " so far" };
        writeln!(out, "              {}{read}", view::plural(there, "memory"))?;
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
    let missing = missing_programs(world);
    for program in &missing {
        writeln!(out, "  missing     {}", program.display())?;
    }
    if !missing.is_empty() {
        let again = Installation::find(world).again(&world.home);
        writeln!(out, "  {} {again}.", paint(CARE, "!"))?;
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
