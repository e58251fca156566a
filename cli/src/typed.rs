//! Parsers of command-line values.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use memory_store::{Kind, Timestamp};

use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;

/// Options of commands that write.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WriteOptions {
    /// Answer yes to all questions
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Report the changes without making them
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Parses the name of a kind.
pub fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(name).ok_or_else(|| {
        format!("`{name}` is no kind; there are: {}", Kind::ALL.map(Kind::name).join(", "))
    })
}

/// Parses a count of at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no count; write 1 or more")),
        Ok(count) => Ok(count),
    }
}

/// Parses a date.
pub fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .ok_or_else(|| format!("`{text}` is no date; write 2026-10-02 or 2026-10-02T09:30:00Z"))
}

/// Returns a file or glob relative to the project's root, as in memories, regardless of the current folder.
pub fn project_path(stores: &Stores, typed: &str) -> Result<String> {
    let (world, tree) = (&stores.world, &stores.tree);
    let typed = Path::new(typed);
    let whole = if typed.is_absolute() {
        typed.to_owned()
    } else if world.cwd != tree.root && world.cwd.join(typed).exists() {
        // Relative to the current folder if the shell completed it there; a missing path is relative to the root.
        world.cwd.join(typed)
    } else {
        tree.root.join(typed)
    };
    match without_dots(&whole).strip_prefix(&tree.root) {
        Ok(path) => Ok(path.to_string_lossy().replace('\\', "/")),
        Err(_) => Err(Failure::new(format!("{} is outside of the project", typed.display()))
            .code(exit::USAGE)
            .hint(format!("Name a file below {}.", tree.root.display()))),
    }
}

/// Returns a path without `.` and `..`, by its text alone.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut steps = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(steps.pop()),
            part => steps.push(part),
        }
    }
    steps
}
