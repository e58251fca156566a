//! `throughline list`: the memories of this project and one's own.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::Kind;
use memory_store::memory::Status;
use memory_store::store::Stored;
use memory_store::trust::LABEL;

use super::elsewhere;
use super::stores::{Stores, Survey};
use super::view::{self, MemoryView};
use crate::failure::Result;
use crate::style::{CARE, paint};
use crate::world::World;

/// Lists memories, newest first.
#[derive(Debug, Args)]
pub struct List {
    /// Only this kind; may be repeated
    #[arg(long, value_parser = super::kind, add = super::complete::kinds(), value_name = "KIND")]
    kind: Vec<Kind>,
    /// Only with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only about this file or folder, or files that start so
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// What was put aside by `forget` instead
    #[arg(long)]
    archived: bool,
    /// Also what was replaced or rejected
    #[arg(long)]
    all: bool,
    /// At most this many
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &List, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let (listing, marks) = match args.archived {
        true => {
            let mut listing = stores.project.archived()?;
            listing.memories.extend(stores.user.archived()?.memories);
            (listing, Marks::default())
        }
        false => {
            let survey = stores.survey()?;
            let marks = Marks::of(&survey)?;
            (survey.listing(), marks)
        }
    };
    view::warn_broken(&listing.broken);
    let mut memories = listing.memories;
    let path = args.path.as_deref();
    let path = path.map(|path| super::project_path(world, &stores.tree, path)).transpose()?;
    memories.retain(|stored| args.wants(stored, path.as_deref()));
    memories.sort_by_key(|stored| (Reverse(view::date(&stored.memory)), stored.memory.id));
    memories.truncate(args.limit.unwrap_or(usize::MAX));
    let is_held = |stored: &Stored| marks.held.contains(&stored.path);
    let is_pulled = |stored: &Stored| marks.pulled.contains(&stored.path);
    if args.json {
        let views: Vec<MemoryView> = memories
            .iter()
            .map(|stored| view_of(stored, is_held(stored), is_pulled(stored)))
            .collect();
        return view::json(&views, out);
    }
    if memories.is_empty() {
        writeln!(out, "No memories.")?;
        if let Some(missing) = elsewhere::missing_folder(&stores.project) {
            writeln!(out, "{} {missing}.", paint(CARE, "!"))?;
        }
    }
    memories.iter().try_for_each(|stored| {
        let origin = if is_pulled(stored) { format!(" [{LABEL}]") } else { String::new() };
        let held = if is_held(stored) { " [held back]" } else { "" };
        view::marked_line(&stored.memory, &(origin + held), out)
    })
}

/// The files that are listed with a mark.
#[derive(Default)]
struct Marks {
    held: BTreeSet<PathBuf>,
    pulled: BTreeSet<PathBuf>,
}

impl Marks {
    fn of(survey: &Survey) -> Result<Self> {
        let memories = survey.project.memories.iter().chain(&survey.user.memories);
        let pulled = memories.filter(|stored| survey.is_pulled(stored));
        Ok(Self {
            held: survey.held()?.into_iter().map(|held| held.stored.path).collect(),
            pulled: pulled.map(|stored| stored.path.clone()).collect(),
        })
    }
}

fn view_of(stored: &Stored, is_held: bool, is_pulled: bool) -> MemoryView<'_> {
    MemoryView::from(stored).held(is_held).labelled(is_pulled)
}

impl List {
    /// Whether a memory is asked for; `path` as memories name it.
    fn wants(&self, stored: &Stored, path: Option<&str>) -> bool {
        let memory = &stored.memory;
        let current = match memory.status {
            Status::Active | Status::Draft => memory.superseded_by.is_none(),
            Status::Archived => self.archived,
            Status::Rejected => false,
        };
        (current || self.all)
            && (self.kind.is_empty() || self.kind.contains(&memory.kind))
            && self.tag.iter().all(|tag| memory.tags.contains(tag))
            && path.is_none_or(|start| memory.paths.iter().any(|path| path.path.starts_with(start)))
    }
}
