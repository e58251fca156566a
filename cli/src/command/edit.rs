//! `throughline edit`: changes a memory, in an editor or by options.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use clap::Args;
use memory_store::Kind;
use memory_store::file::{FILE_BYTES_MAX, MemoryFile};
use memory_store::index::journal::{self, Change as Noted};
use memory_store::memory::{Memory, PathRef};
use memory_store::redact::Redactor;
use memory_store::store::{Change, Saved, Store, Stored, read_bounded};

use super::stores::Stores;
use super::view::{self, MemoryView};
use crate::exit;
use crate::failure::{At as _, Failure, Result};
use crate::style::{NAME, paint};
use crate::world::World;

/// Changes a memory; without options, in your editor ($VISUAL or $EDITOR).
#[derive(Debug, Args)]
pub struct Edit {
    /// The id, or its last characters
    id: String,
    /// Another title
    #[arg(long)]
    title: Option<String>,
    /// Another text below the title, Markdown
    #[arg(long, allow_hyphen_values = true)]
    body: Option<String>,
    /// Another kind
    #[arg(long, value_parser = super::kind)]
    kind: Option<Kind>,
    /// Adds a search word; may be repeated
    #[arg(long)]
    tag: Vec<String>,
    /// Removes a search word; may be repeated
    #[arg(long)]
    untag: Vec<String>,
    /// Adds a file or glob that it is about; may be repeated
    #[arg(long)]
    path: Vec<String>,
    /// Keeps it in front whatever its age
    #[arg(long, conflicts_with = "unpin")]
    pin: bool,
    /// Lets it age again
    #[arg(long)]
    unpin: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Edit, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    if args.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(Failure::new("the title is empty").code(exit::USAGE));
    }
    let (store, stored) = stores.find(&args.id)?;
    let id = stored.memory.id.to_string();
    let redactor = store.redactor_for_writing(&stores.settings)?;
    let Saved { stored, change, hidden } = if args.changes_something() {
        let paths = args.path.iter().map(|path| super::project_path(world, &stores.tree, path));
        let paths: Vec<String> = paths.collect::<Result<_>>()?;
        store.edit(&id, &redactor, |memory| args.apply(&paths, memory))?
    } else {
        edit_by_hand(store, stored, &redactor)?
    };
    let quarantine = stores.quarantine(store)?;
    let saved = Noted::Saved(&stored, &redactor, &quarantine);
    journal::note(&world.dirs, &stores.tree, stores.scope_of(&stored), saved)?;
    show(args, &stored, change, out)?;
    if args.json { Ok(()) } else { view::taken_out(hidden, out) }
}

fn show(args: &Edit, stored: &Stored, change: Change, out: &mut dyn Write) -> Result {
    if args.json {
        return view::json(&MemoryView::from(stored), out);
    }
    let done = match change {
        Change::Created | Change::Updated => "Changed",
        Change::Unchanged => "As it was:",
    };
    writeln!(
        out,
        "{done} {} in {}",
        paint(NAME, stored.memory.id.short()),
        view::path(&stored.path)
    )?;
    Ok(())
}

/// Opens a copy of the file in an editor, and takes it over, without its secrets, if it still is a memory:
/// what is half done is in nobody's way, and what is wrong costs nothing.
fn edit_by_hand(store: &Store, stored: Stored, redactor: &Redactor) -> Result<Saved> {
    let path = &stored.path;
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
        .ok_or_else(|| {
            Failure::new("no editor is set").code(exit::USAGE).hint(format!(
                "Set EDITOR, use an option such as --title, or open {} yourself.",
                path.display()
            ))
        })?;
    let (before, _) = read_bounded(path, FILE_BYTES_MAX)?;
    let folder = tempfile::tempdir().map_err(|error| Failure::new(format!("a copy: {error}")))?;
    // Editors choose their mode by the name.
    let copy = folder.path().join(path.file_name().unwrap_or_default());
    std::fs::write(&copy, &before).at(&copy)?;
    let status = editor_command(&editor)
        .arg(&copy)
        .status()
        .map_err(|error| Failure::new(format!("{}: {error}", editor.display())))?;
    if !status.success() {
        return Err(Failure::new(format!("{} ended with {status}", editor.display()))
            .hint("The memory is as it was."));
    }
    let taken = read_bounded(&copy, FILE_BYTES_MAX).and_then(|(after, _)| {
        if after == before {
            let (stored, change) = (stored.clone(), Change::Unchanged);
            return Ok(Some(Saved { stored, change, hidden: 0 }));
        }
        let file = MemoryFile::parse(&copy, after)?;
        store.rewrite(&stored.memory.id.to_string(), &before, file, redactor)
    });
    let problem = match taken {
        Ok(Some(saved)) => return Ok(saved),
        Ok(None) => format!("{} was changed by somebody else meanwhile", path.display()),
        Err(error) => error.to_string(),
    };
    // What was typed is not thrown away.
    drop(folder.keep());
    Err(Failure::new(problem)
        .code(exit::INVALID)
        .hint(format!("The memory is as it was; what you wrote is in {}.", copy.display())))
}

/// An editor may be set with arguments, as in `code --wait`.
fn editor_command(editor: &OsString) -> Command {
    let text = editor.to_string_lossy();
    let mut words = text.split_whitespace();
    match words.next() {
        Some(program) if !Path::new(editor).exists() => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        Some(_) | None => Command::new(editor),
    }
}

impl Edit {
    fn changes_something(&self) -> bool {
        self.title.is_some()
            || self.body.is_some()
            || self.kind.is_some()
            || [&self.tag, &self.untag, &self.path].iter().any(|list| !list.is_empty())
            || self.pin
            || self.unpin
    }

    /// Changes a memory; `paths` are its new ones as memories name them.
    fn apply(&self, paths: &[String], memory: &mut Memory) {
        if let Some(title) = &self.title {
            memory.title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(body) = &self.body {
            memory.body.clone_from(body);
        }
        memory.kind = self.kind.unwrap_or(memory.kind);
        memory.tags.retain(|tag| !self.untag.contains(tag));
        for tag in self.tag.iter().filter(|tag| !tag.trim().is_empty()) {
            if !memory.tags.contains(tag) {
                memory.tags.push(tag.clone());
            }
        }
        for path in paths {
            if !memory.paths.iter().any(|known| known.path == *path) {
                memory.paths.push(PathRef { path: path.clone(), seen: None });
            }
        }
        memory.pinned = (memory.pinned || self.pin) && !self.unpin;
    }
}
