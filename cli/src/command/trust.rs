//! `throughline trust`: vouches for a memory folder that came with a repository.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::identity::{self, Known};
use memory_store::layout::{Place, Tree};
use serde::Serialize;

use super::view;
use crate::failure::{At as _, Failure, Result};
use crate::style::{NAME, QUIET, paint};
use crate::world::World;

/// Vouches for this project's memory folder, so that it is read; without it nothing is.
#[derive(Debug, Args)]
pub struct Trust {
    /// The working tree; without it, the current one
    dir: Option<PathBuf>,
    /// List what this machine vouches for
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Withdraw it again; memories stay where they are
    #[arg(long)]
    revoke: bool,
    /// Print JSON (with --list)
    #[arg(long, requires = "list")]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Trust, world: &World, out: &mut dyn Write) -> Result {
    if args.list {
        return list(args, world, out);
    }
    let folder = match &args.dir {
        Some(dir) => dir.canonicalize().at(dir)?,
        None => world.cwd.clone(),
    };
    if args.revoke { revoke(world, folder, out) } else { vouch(world, folder, out) }
}

fn vouch(world: &World, folder: PathBuf, out: &mut dyn Write) -> Result {
    let root = super::root_of(&folder);
    super::refuse_home(world, &root)?;
    let observed = processor::git::observe(&root);
    memory_store::store::check_folder(&observed.root)?;
    let tree = identity::trust(&world.dirs, &observed, super::random()?, world.now)?;
    writeln!(out, "Vouched for {}.", view::path(&tree.root))?;
    writeln!(out, "Its memories are recalled from the next `throughline sync` on.")?;
    Ok(())
}

fn revoke(world: &World, folder: PathBuf, out: &mut dyn Write) -> Result {
    let tree = match Tree::locate(&world.dirs, &folder) {
        Some(Place::Trusted(tree) | Place::Changed(tree)) => tree,
        None => World { cwd: folder, ..world.clone() }.tree()?,
    };
    identity::untrust(&world.dirs, &tree.root)?;
    writeln!(
        out,
        "{} is no longer read. Its memories stay where they are.",
        view::path(&tree.root)
    )?;
    Ok(())
}

#[derive(Serialize)]
struct KnownView<'a> {
    project: String,
    mode: identity::Mode,
    created: memory_store::Timestamp,
    paths: Vec<&'a PathBuf>,
    remotes: &'a [String],
}

impl<'a> From<&'a Known> for KnownView<'a> {
    fn from(known: &'a Known) -> Self {
        let mut paths: Vec<&PathBuf> = known.trees.iter().map(|tree| &tree.root).collect();
        // Seen from a linked worktree, the main one is a worktree as well.
        paths.sort();
        paths.dedup();
        Self {
            project: known.identity.project.to_string(),
            mode: known.identity.mode,
            created: known.identity.created,
            paths,
            remotes: &known.identity.remotes,
        }
    }
}

fn list(args: &Trust, world: &World, out: &mut dyn Write) -> Result {
    let known = identity::list(&world.dirs)?;
    let views: Vec<KnownView> = known.iter().map(KnownView::from).collect();
    if args.json {
        return view::json(&views, out);
    }
    if views.is_empty() {
        writeln!(out, "No project yet. `throughline init` sets one up.")?;
    }
    for known in &views {
        let mode = match known.mode {
            identity::Mode::Committed => "committed",
            identity::Mode::Private => "private",
        };
        let since = format!("{mode}, since {}", known.created.date());
        writeln!(out, "{}  {}", paint(NAME, &known.project), paint(QUIET, since))?;
        for path in &known.paths {
            writeln!(out, "  {}", view::path(path))?;
        }
        if known.paths.is_empty() {
            writeln!(out, "  {}", paint(QUIET, "no working tree is left"))?;
        }
    }
    Ok(())
}

/// The project whose id starts with `prefix`.
pub fn find(world: &World, prefix: &str) -> Result<Known> {
    let wanted = prefix.trim().to_ascii_lowercase();
    let mut known = identity::list(&world.dirs)?;
    known.retain(|known| {
        !wanted.is_empty() && known.identity.project.to_string().starts_with(&wanted)
    });
    match (known.len(), known.pop()) {
        (1, Some(known)) => Ok(known),
        (found, _) => Err(Failure::new(format!("{found} projects have an id like `{prefix}`"))
            .code(crate::exit::NOT_FOUND)
            .hint("`throughline trust --list` shows the ids.")),
    }
}
