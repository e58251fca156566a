//! Editing memories in the user's editor.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use memory_store::file::{FILE_BYTES_MAX, MemoryFile};
use memory_store::fs::disk;
use memory_store::memory::Scope;
use memory_store::redact::Redactor;
use memory_store::store::{Change, Privacy, Saved, Stored, read_bounded, replace};
use tempfile::TempDir;

use crate::credentials;
use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::stores::Stores;
use crate::view;
use crate::world::World;

/// Opens a memory in the user's editor, and prints the result.
pub fn in_editor(world: &World, id: &str, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let (store, stored) = stores.find(id)?;
    let redactor = stores.redactor_for_writing(store)?;
    let saved = edit_by_hand(&stores, stored, &redactor)?;
    let held = stores.note_saved(store, &saved.stored, &redactor)?;
    view::saved::show_changed(&saved, held.as_ref(), out)
}

/// Returns the folder for copies that are being edited, and for rejected versions. It is one of the private folders, so
/// that audits include it.
fn edits(stores: &Stores, stored: &Stored) -> PathBuf {
    let dirs = &stores.world.dirs;
    let state = match stores.scope_of(stored) {
        Scope::User => dirs.user_state(),
        Scope::Project | Scope::Paths => dirs.tree(&stores.tree.root),
    };
    state.edits.clone()
}

/// Creates a folder below another one that only this user can read.
fn new_folder(below: &Path) -> Result<TempDir> {
    disk::create_folder(below, Privacy::Private)?;
    let mut folder = tempfile::Builder::new();
    folder.permissions(disk::permissions(0o700)).tempdir_in(below).at(below)
}

/// Opens a copy of a memory file in an editor. When the editor ends, the copy is redacted and saved if it is a valid
/// memory. An unfinished edit therefore has no effect; an invalid version is kept elsewhere.
pub fn edit_by_hand(stores: &Stores, stored: Stored, redactor: &Redactor) -> Result<Saved> {
    let store = stores.store_of(&stored);
    let edits = &edits(stores, &stored);
    let path = &stored.path;
    let editor = editor_for(path)?;
    let (before, _) = read_bounded(path, FILE_BYTES_MAX)?;
    let folder = new_folder(edits)?;
    // The copy has the same name, since editors choose their mode by the file name.
    let copy = folder.path().join(path.file_name().unwrap_or_default());
    replace(&copy, &before, Privacy::Private)?;
    run_editor(&editor, &copy).map_err(|failure| failure.hint("The memory is as it was."))?;
    let taken = read_bounded(&copy, FILE_BYTES_MAX).and_then(|(after, _)| {
        if after == before {
            let (stored, change) = (stored.clone(), Change::Unchanged);
            return Ok(Some(Saved { stored, change, hidden: 0, suspects: Vec::new() }));
        }
        let file = MemoryFile::parse(&copy, after)?;
        let id = stored.memory.id.to_string();
        credentials::asking(&stores.world, store, |store| {
            store.rewrite(&id, &before, file.clone(), redactor)
        })
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

/// Opens a memory file in the user's editor; returns whether the file changed.
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

/// Keeps the typed text in redacted form, without other files of the editor.
fn keep(copy: &Path, redactor: &Redactor, edits: &Path) -> Result<PathBuf> {
    let (typed, _) = read_bounded(copy, FILE_BYTES_MAX)?;
    let folder = new_folder(edits)?;
    let kept = folder.path().join(copy.file_name().unwrap_or_default());
    let typed = String::from_utf8_lossy(&typed);
    replace(&kept, redactor.redact(&typed).as_bytes(), Privacy::Private)?;
    drop(folder.keep());
    Ok(kept)
}

/// Returns the editor that the environment names.
#[expect(clippy::disallowed_methods, reason = "the variables of editors")]
pub fn editor() -> Option<OsString> {
    let mut names = ["VISUAL", "EDITOR"].into_iter();
    names.find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// Returns the command of an editor, which may include arguments, as in `code --wait`.
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
