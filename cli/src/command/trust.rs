//! `throughline trust`: trusts the memory folder of a repository, and releases the memories in it that were not derived
//! or written on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use memory_store::identity::{self, Observed};
use memory_store::layout::{STORE_DIR, Tree};
use memory_store::store::Stored;
use memory_store::trust::{self, LABEL};
use serde::Serialize;

use crate::ask;
use crate::failure::{AtPath as _, Failure, Result};
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view::changes::line;
use crate::view::style::{QUIET, paint};
use crate::view::{self, MemoryView};
use crate::world::World;

/// Trust the memory folder of a repository
///
/// Lists the memories that are not from this machine, and asks whether to release them. Until you release a memory, it
/// is labelled wherever it is injected and never presented as your wish, and it is injected at the start of a session
/// only if it is a convention. With `pulled = "reviewed"` in your settings, it is not injected at all. A release ends
/// when the text changes. Memories that resemble an instruction to Claude are withheld until `throughline
/// review --release`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Working tree [default: the current one]
    dir: Option<PathBuf>,
    /// Trust the folder without releasing its memories
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    no_release: bool,
    /// Revoke trust in this folder; files are kept
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    #[command(flatten)]
    write: WriteOptions,
}

impl TrustArgs {
    /// Returns whether the command asks no question, so that the output reports what was done.
    pub fn is_answered(&self) -> bool {
        self.write.yes || self.no_release || self.revoke
    }

    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// Runs the command.
pub fn run(args: &TrustArgs, world: &World, out: &mut dyn Write) -> Result {
    let folder = match &args.dir {
        Some(dir) => dir.canonicalize().named(dir)?,
        None => world.cwd.clone(),
    };
    if args.write.dry_run {
        return would(args, world, &folder, out);
    }
    if args.revoke {
        return revoke(args, world, folder, out);
    }
    let known = Tree::find(&world.dirs, &folder);
    if !args.write.yes && !args.no_release && !world.interactive {
        return show_unanswered(args, world, &folder, known, out);
    }
    let (tree, is_new) = match known {
        Some(tree) => (tree, false),
        None => (vouch(world, &observe(world, &folder)?)?, true),
    };
    if is_new && !args.write.json {
        writeln!(out, "Vouched for {}.", view::path(&tree.root))?;
        writeln!(out, "Its memories are read now.")?;
    }
    if identity::drop_limits(&world.dirs, tree.project)? && !args.write.json {
        writeln!(
            out,
            "The authors that were named here are not asked any more: `pulled` in your settings says what is given."
        )?;
    }
    publish_missing(world, &tree)?;
    if args.no_release && !args.write.json {
        return Ok(());
    }
    release(args, &Stores::at(world, tree)?, is_new, out)
}

/// Builds the index of a working tree if it does not exist, so that the next session receives its memories.
///
/// # Errors
/// Returns an error if the index cannot be written.
pub fn publish_missing(world: &World, tree: &Tree) -> Result {
    processor::publish::missing(&world.dirs, tree, world.now).map_err(|error| {
        Failure::from(error).during("this folder is trusted, but its memories are not given yet")
    })
}

/// Shows what the person would be asked to decide, and changes nothing.
fn show_unanswered(
    args: &TrustArgs,
    world: &World,
    folder: &Path,
    known: Option<Tree>,
    out: &mut dyn Write,
) -> Result {
    let Some(tree) = known else {
        let observed = observe(world, folder)?;
        let told = format!("vouch for {}", view::path(&observed.root));
        view::would(&[told], args.write.json, out)?;
        return Err(ask::unanswered("nothing was trusted"));
    };
    release(args, &Stores::at(world, tree)?, false, out)
}

/// Prints what would be trusted, released or revoked.
fn would(args: &TrustArgs, world: &World, folder: &Path, out: &mut dyn Write) -> Result {
    let tree = Tree::find(&world.dirs, folder);
    let root = tree.as_ref().map_or_else(|| world.root_of(folder), |tree| tree.root.clone());
    let mut told = Vec::new();
    match (args.revoke, tree) {
        (true, Some(_)) => told.push(format!("read {} no longer", view::path(&root))),
        (true, None) => {}
        (false, None) => told.push(format!("vouch for {}", view::path(&root))),
        (false, Some(tree)) => {
            let unreleased = Stores::at(world, tree)?.unreleased()?;
            let title = |stored: &Stored| line(&stored.memory.title);
            let release = |stored: &Stored| {
                format!("release {} \"{}\"", stored.memory.id.short(), title(stored))
            };
            told.extend(unreleased.iter().map(release));
        }
    }
    view::would(&told, args.write.json, out)
}

/// Returns the environment for another folder.
fn at(world: &World, folder: PathBuf) -> World {
    World { cwd: folder, ..world.clone() }
}

/// A memory that was released or that can be released.
#[derive(Serialize)]
struct ReleasedMemory<'a> {
    #[serde(flatten)]
    memory: MemoryView<'a>,
    released: bool,
}

/// Lists the unreleased memories from the repository, and releases them.
fn release(args: &TrustArgs, stores: &Stores, is_new: bool, out: &mut dyn Write) -> Result {
    let unreleased = stores.unreleased()?;
    if args.write.json {
        if args.write.yes {
            release_all(stores, &unreleased)?;
        }
        let views = unreleased.iter().map(|stored| ReleasedMemory {
            memory: MemoryView::from(stored).labelled(!args.write.yes),
            released: args.write.yes,
        });
        return view::json(&views.collect::<Vec<_>>(), out);
    }
    if unreleased.is_empty() {
        if !is_new {
            view::remark("Nothing here waits to be released.");
        }
        return Ok(());
    }
    let count = unreleased.len();
    writeln!(out, "{count} {LABEL}, and neither learned, written nor released here:\n")?;
    for stored in &unreleased {
        view::line(&stored.memory, out)?;
        let body = view::plain(stored.memory.body.trim());
        body.lines().try_for_each(|line| writeln!(out, "        {line}"))?;
        writeln!(out, "        {}", paint(QUIET, view::path(&stored.path)))?;
    }
    writeln!(out)?;
    out.flush()?;
    if !args.write.yes && !stores.world.interactive {
        writeln!(
            out,
            "`throughline trust --yes` releases them as they are now. Until then each is labelled \"{LABEL}\"."
        )?;
        return Ok(());
    }
    if !args.write.yes && !ask::confirm(&stores.world, "Release them as they are shown?", false)? {
        return Err(ask::declined(&stores.world, "Nothing was released."));
    }
    release_all(stores, &unreleased)?;
    Ok(writeln!(out, "Released: {count}")?)
}

/// Releases memories, so that hooks inject them without the label.
fn release_all(stores: &Stores, memories: &[Stored]) -> Result {
    let store = &stores.project;
    trust::release(store, &memories.iter().collect::<Vec<_>>())?;
    let redactor = store.redactor(&stores.settings);
    memories.iter().try_for_each(|stored| stores.note_saved(store, stored, &redactor).map(drop))
}

/// Returns the identifying features of the working tree that contains a folder.
///
/// # Errors
/// Returns an error if the working tree contains no folder to trust.
fn observe(world: &World, folder: &Path) -> Result<Observed> {
    let root = world.root_of(folder);
    crate::setup::refuse_home(world, &root)?;
    let observed = processor::git::observe(&root);
    memory_store::store::check_folder(&observed.root)?;
    if !observed.root.join(STORE_DIR).is_dir() && identity::known(&world.dirs, &observed)?.is_none()
    {
        let root = view::path(&observed.root);
        return Err(Failure::new(format!("{root} has no memory folder to vouch for"))
            .code(crate::exit::NOT_SET_UP)
            .hint("`throughline init` sets a project up; `throughline trust DIR` is about another folder."));
    }
    Ok(observed)
}

fn vouch(world: &World, observed: &Observed) -> Result<Tree> {
    Ok(identity::vouch(&world.dirs, observed, None, crate::world::random()?, world.now)?)
}

fn revoke(args: &TrustArgs, world: &World, folder: PathBuf, out: &mut dyn Write) -> Result {
    let tree = match Tree::locate(&world.dirs, &folder) {
        Some(place) => place.tree(),
        None => at(world, folder).tree()?,
    };
    identity::untrust(&world.dirs, &tree.root)?;
    if args.write.json {
        return view::json(&Revoked { revoked: &tree.root }, out);
    }
    Ok(writeln!(
        out,
        "{} is no longer read. Its memories stay where they are.",
        view::path(&tree.root)
    )?)
}

/// A working tree whose trust was revoked.
#[derive(Serialize)]
struct Revoked<'a> {
    revoked: &'a Path,
}
