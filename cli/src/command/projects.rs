//! `throughline projects`: the projects of this user.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::id::is_abbreviation;
use memory_store::identity::{self, Known, Mode};
use memory_store::layout::Tree;
use memory_store::store::Store;
use memory_store::{ProjectId, Timestamp};
use processor::collect::archive::Archive;
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::sessions;
use crate::view::style::{CARE, GOOD, NAME, QUIET, paint};
use crate::view::{self, clock, plural};
use crate::world::World;

/// List your projects with their folders, memories and sessions
#[derive(Debug, Args)]
pub struct ProjectsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A project of this machine.
#[derive(Serialize)]
struct ProjectView {
    project: ProjectId,
    mode: Mode,
    created: Timestamp,
    /// Working trees that are trusted and exist.
    paths: Vec<PathBuf>,
    /// Remotes, normalised.
    remotes: Vec<String>,
    /// Number of memory files of the project; `None` if none of its working trees exists, or the files cannot be
    /// listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<usize>,
    /// Number of archived sessions.
    sessions: usize,
    /// Whether other projects may query the project's memories over MCP.
    shared: bool,
    /// Whether the command runs in this project.
    here: bool,
}

impl ProjectView {
    fn of(known: &Known, here: Option<&Tree>, world: &World) -> Self {
        let identity = &known.identity;
        let home = world.dirs.project(identity.project);
        let first = known.trees.first();
        let listing = first.and_then(|tree| Store::open(&world.dirs, tree).ok()?.list().ok());
        // From a linked worktree, the main one is listed as a worktree too.
        let paths: BTreeSet<PathBuf> = known.trees.iter().map(|tree| tree.root.clone()).collect();
        Self {
            project: identity.project,
            mode: identity.mode,
            created: identity.created,
            paths: paths.into_iter().collect(),
            remotes: identity.remotes.clone(),
            memories: listing.map(|listing| listing.memories.len()),
            sessions: sessions::names(&Archive::open(&home)).map_or(0, |names| names.len()),
            shared: home.shared.exists(),
            here: here.is_some_and(|tree| tree.project == identity.project),
        }
    }
}

/// Runs the command.
pub fn run(args: &ProjectsArgs, world: &World, out: &mut dyn Write) -> Result {
    let here = Tree::find(&world.dirs, &world.cwd);
    let known = identity::list(&world.dirs)?;
    let views: Vec<ProjectView> =
        known.iter().map(|known| ProjectView::of(known, here.as_ref(), world)).collect();
    if args.json {
        return view::json(&views, out);
    }
    if views.is_empty() {
        view::remark("No project yet. `throughline init` sets one up.");
    }
    views.iter().try_for_each(|project| show(project, out))
}

fn show(project: &ProjectView, out: &mut dyn Write) -> Result {
    let mut about = vec![view::mode(project.mode).to_owned()];
    about.extend(project.memories.map(|count| plural(count, "memory")));
    about.push(plural(project.sessions, "session"));
    about.push(format!("since {}", clock::date(project.created)));
    if project.shared {
        about.push("shared with your other projects".to_owned());
    }
    let here = if project.here { paint(GOOD, "  (here)").to_string() } else { String::new() };
    let about = paint(QUIET, about.join(", "));
    writeln!(out, "{}  {about}{here}", paint(NAME, project.project))?;
    for path in &project.paths {
        writeln!(out, "  {}", view::path(path))?;
    }
    if project.paths.is_empty() {
        writeln!(out, "  {}", paint(CARE, "no working tree exists"))?;
    }
    Ok(())
}

/// Finds the project whose id begins or ends with a text.
///
/// # Errors
/// Returns the exit code for a missing item if no project or several projects match.
pub fn find(world: &World, text: &str) -> Result<Known> {
    let mut known = identity::list(&world.dirs)?;
    known.retain(|known| is_abbreviation(text, &known.identity.project.to_string()));
    match (known.len(), known.pop()) {
        (1, Some(known)) => Ok(known),
        (found, _) => Err(Failure::new(match found {
            0 => format!("no project has an id like `{text}`"),
            _ => format!("{found} projects have an id like `{text}`"),
        })
        .code(crate::exit::NOT_FOUND)
        .hint("`throughline projects` lists the ids.")),
    }
}
