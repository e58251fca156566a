//! `throughline edit`: changes a memory, in an editor or by options.

use std::ffi::OsString;
use std::fs::{DirBuilder, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use memory_store::Kind;
use memory_store::file::{FILE_BYTES_MAX, MemoryFile};
use memory_store::layout::Tree;
use memory_store::memory::{Memory, PathRef, Scope};
use memory_store::redact::Redactor;
use memory_store::store::{Change, Privacy, Saved, Store, Stored, read_bounded, replace};
use tempfile::TempDir;

use super::add::body;
use super::browse::{self, Purpose};
use super::changes;
use super::stores::Stores;
use super::view;
use crate::exit;
use crate::failure::{At as _, Failure, Result};
use crate::world::World;

/// Changes a memory; without options, in your editor ($VISUAL or $EDITOR).
#[derive(Debug, Args)]
pub struct Edit {
    /// The id, or its last characters; without it, a list to choose from at a terminal
    #[arg(add = super::complete::ids())]
    id: Option<String>,
    /// Another title
    #[arg(long)]
    title: Option<String>,
    /// Another text below the title, Markdown; `-` reads it from stdin
    #[arg(long, allow_hyphen_values = true)]
    body: Option<String>,
    /// Another kind
    #[arg(long, value_parser = super::kind, add = super::complete::kinds())]
    kind: Option<Kind>,
    /// Adds a tag; may be repeated
    #[arg(long)]
    tag: Vec<String>,
    /// Removes a tag; may be repeated
    #[arg(long)]
    untag: Vec<String>,
    /// Adds a file or glob that it is about; may be repeated
    #[arg(long)]
    path: Vec<String>,
    /// Gives it first at the start of a session
    #[arg(long, conflicts_with = "unpin")]
    pin: bool,
    /// Ends `--pin`
    #[arg(long)]
    unpin: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Opens a memory in the person's editor.
pub fn in_editor(world: &World, id: &str, out: &mut dyn Write) -> Result {
    let args = Edit {
        id: Some(id.to_owned()),
        title: None,
        body: None,
        kind: None,
        tag: Vec::new(),
        untag: Vec::new(),
        path: Vec::new(),
        pin: false,
        unpin: false,
        dry_run: false,
        json: false,
    };
    run(&args, world, out)
}

/// Runs the command.
pub fn run(args: &Edit, world: &World, out: &mut dyn Write) -> Result {
    if args.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(Failure::new("the title is empty").code(exit::USAGE));
    }
    let ids = browse::named_or_chosen(args.id.as_slice(), args.json, Purpose::Edit, world)?;
    // Nothing was chosen.
    let Some(id) = ids.first() else { return Ok(()) };
    let stores = Stores::open(world)?;
    let (store, stored) = stores.find(id)?;
    let id = stored.memory.id.to_string();
    if args.dry_run {
        return args.would(world, &stores, &stored, out);
    }
    let redactor = store.redactor_for_writing(&stores.settings)?;
    let saved = if args.changes_something() {
        let paths = args.path.iter().map(|path| super::project_path(world, &stores.tree, path));
        let paths: Vec<String> = paths.collect::<Result<_>>()?;
        let body = args.body.as_deref().map(body).transpose()?;
        store.edit(&id, &redactor, |memory| args.apply(body, &paths, memory))?
    } else {
        let scope = stores.scope_of(&stored);
        edit_by_hand(store, stored, &redactor, &edits(world, &stores.tree, scope))?
    };
    let held = stores.note_saved(world, store, &saved.stored, &redactor)?;
    if args.json {
        return view::saved_json(&saved, held.as_ref(), None, out);
    }
    let done = match saved.change {
        Change::Created | Change::Updated => "Changed",
        Change::Unchanged => "As it was:",
    };
    view::saved(done, &saved, held.as_ref(), out)
}

/// Where copies lie while they are edited, and what was not taken over: with what else is private, so that an audit
/// looks there.
fn edits(world: &World, tree: &Tree, scope: Scope) -> PathBuf {
    let state = match scope {
        Scope::User => world.dirs.user_state(),
        Scope::Project | Scope::Paths => world.dirs.tree(&tree.root),
    };
    state.edits.clone()
}

/// A new folder of this user alone below another one.
fn new_folder(below: &Path) -> Result<TempDir> {
    DirBuilder::new().recursive(true).mode(0o700).create(below).at(below)?;
    let mut folder = tempfile::Builder::new();
    folder.permissions(Permissions::from_mode(0o700)).tempdir_in(below).at(below)
}

/// Opens a copy of the file in an editor, and takes it over, without its secrets, if it still is a memory:
/// what is half done is in nobody's way, and what is wrong costs nothing.
fn edit_by_hand(store: &Store, stored: Stored, redactor: &Redactor, edits: &Path) -> Result<Saved> {
    let path = &stored.path;
    let editor = editor_for(path)?;
    let (before, _) = read_bounded(path, FILE_BYTES_MAX)?;
    let folder = new_folder(edits)?;
    // Editors choose their mode by the name.
    let copy = folder.path().join(path.file_name().unwrap_or_default());
    replace(&copy, &before, Privacy::Private)?;
    run_editor(&editor, &copy).map_err(|failure| failure.hint("The memory is as it was."))?;
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
    let kept = keep(&copy, redactor, edits);
    let hint = match kept {
        Ok(kept) => {
            format!("The memory is as it was; what you wrote is in {}.", kept.display())
        }
        Err(failure) => {
            format!("The memory is as it was; what you wrote could not be kept: {failure}")
        }
    };
    Err(Failure::new(problem).code(exit::INVALID).hint(hint))
}

/// Opens the file of a memory itself in the person's editor; tells whether it was changed.
pub fn open_file(path: &Path) -> Result<bool> {
    let editor = editor_for(path)?;
    let (before, _) = read_bounded(path, FILE_BYTES_MAX)?;
    run_editor(&editor, path)?;
    let (after, _) = read_bounded(path, FILE_BYTES_MAX)?;
    Ok(before != after)
}

fn editor_for(path: &Path) -> Result<OsString> {
    editor().ok_or_else(|| {
        Failure::new("no editor is set").code(exit::USAGE).hint(format!(
            "Set EDITOR, use an option such as --title, or open {} yourself.",
            path.display()
        ))
    })
}

fn run_editor(editor: &OsString, file: &Path) -> Result {
    let status = editor_command(editor)
        .arg(file)
        .status()
        .map_err(|error| Failure::new(format!("{}: {error}", editor.display())))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("{} ended with {status}", editor.display()))),
    }
}

/// Keeps what was typed, without its secrets, and nothing that an editor left beside it.
fn keep(copy: &Path, redactor: &Redactor, edits: &Path) -> Result<PathBuf> {
    let (typed, _) = read_bounded(copy, FILE_BYTES_MAX)?;
    let folder = new_folder(edits)?;
    let kept = folder.path().join(copy.file_name().unwrap_or_default());
    let typed = String::from_utf8_lossy(&typed);
    replace(&kept, redactor.redact(&typed).as_bytes(), Privacy::Private)?;
    drop(folder.keep());
    Ok(kept)
}

/// The editor that the environment names.
#[expect(clippy::disallowed_methods, reason = "the variables of editors")]
pub fn editor() -> Option<OsString> {
    let mut names = ["VISUAL", "EDITOR"].into_iter();
    names.find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// An editor may be set with arguments, as in `code --wait`.
pub fn editor_command(editor: &OsString) -> Command {
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
    /// Says what would be changed.
    fn would(
        &self,
        world: &World,
        stores: &Stores,
        stored: &Stored,
        out: &mut dyn Write,
    ) -> Result {
        if !self.changes_something() {
            return Err(Failure::new("nothing is known of a change before your editor made it")
                .code(exit::USAGE)
                .hint("Use an option such as --title with --dry-run."));
        }
        let paths = self.path.iter().map(|path| super::project_path(world, &stores.tree, path));
        let paths: Vec<String> = paths.collect::<Result<_>>()?;
        let mut changed = stored.memory.clone();
        self.apply(self.body.as_deref().map(body).transpose()?, &paths, &mut changed);
        let redactor = stores.store_of(stored).redactor(&stores.settings);
        let id = stored.memory.id.short();
        let told = changes::between(&stored.memory, &redactor.redacted(&changed)).into_iter();
        let told: Vec<String> =
            told.map(|change| format!("change {id}: {}", change.told)).collect();
        view::would(&told, self.json, out)
    }

    fn changes_something(&self) -> bool {
        self.title.is_some()
            || self.body.is_some()
            || self.kind.is_some()
            || [&self.tag, &self.untag, &self.path].iter().any(|list| !list.is_empty())
            || self.pin
            || self.unpin
    }

    /// Changes a memory; `paths` are its new ones as memories name them.
    fn apply(&self, body: Option<String>, paths: &[String], memory: &mut Memory) {
        if let Some(title) = &self.title {
            memory.title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(body) = body {
            memory.body = body;
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
