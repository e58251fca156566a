//! Verdicts on single memories: release, accept, reject, hold.

use std::io::Write;

use memory_store::index::journal::Change as Noted;
use memory_store::store::Stored;
use memory_store::trust;

use super::{in_git, learned};
use crate::credentials;
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::stores::Stores;
use crate::view::style::{NAME, paint};
use crate::view::{self, plain};

/// Finds a withheld memory by its id or by `ID@MARK`. For the latter, fails if the mark of the memory's text is another
/// one.
pub fn held_by_id(stores: &Stores, asked: &str) -> Result<Stored> {
    let id = asked.split_once('@').map_or(asked, |(id, _)| id);
    let (_, stored) = stores.find(id)?;
    let Some(held) = stores.held_as(&stored)? else { return Err(not_held(&stored)) };
    let mark = |of: &str| of.split_once('@').map(|(_, mark)| mark.to_owned());
    if mark(asked).is_some_and(|seen| Some(seen) != mark(&held.release)) {
        return Err(Failure::new(format!("{id} says something else than what you were shown"))
            .hint(format!("`throughline show {id}` shows it as it is now.")));
    }
    Ok(stored)
}

/// Releases a withheld memory, given its id or `ID@MARK`.
pub fn release_by_id(stores: &Stores, asked: &str, out: &mut dyn Write) -> Result {
    release(stores, &held_by_id(stores, asked)?, out)
}

/// Releases the text in `stored`. If the file changes later, the memory is withheld again.
pub fn release(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    let store = stores.store_of(stored);
    let redactor = store.redactor(&stores.settings);
    trust::let_out(&store.home, stored, &redactor)?;
    if store.root.is_some() {
        trust::release(store, &[stored])?;
    }
    stores.note_saved(store, stored, &redactor)?;
    let (id, title) = (paint(NAME, stored.memory.id.short()), plain(&stored.memory.title));
    Ok(writeln!(out, "Released: {id} {title}")?)
}

pub fn not_held(stored: &Stored) -> Failure {
    Failure::new(format!("{} is not withheld", stored.memory.id.short())).hint(format!(
        "{} is given. `throughline review` lists what is not; of a file with the same id it says so.",
        view::path(&stored.path)
    ))
}

/// Moves a pending memory into the memory folder.
pub fn accept(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    accept_seen(stores, stored, false, out)
}

/// Accepts a pending memory as one of several. A memory that needs a separate review stays pending.
pub fn accept_or_leave(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    let redactor = stores.redactor_for_writing(&stores.project)?;
    let mut memory = redactor.redacted(&stored.memory);
    match stores.project.gate(&mut memory, &redactor).is_empty() {
        true => accept(stores, stored, out),
        false => print_left_pending(stored, out),
    }
}

pub fn print_left_pending(stored: &Stored, out: &mut dyn Write) -> Result {
    let id = stored.memory.id.short();
    Ok(writeln!(
        out,
        "Left: {} contains something that looks like a credential; `throughline review` shows where",
        paint(NAME, id)
    )?)
}

pub fn accept_seen(stores: &Stores, stored: &Stored, seen: bool, out: &mut dyn Write) -> Result {
    let redactor = stores.redactor_for_writing(&stores.project)?;
    let promoted = credentials::promote(stores, stored, seen, &redactor)?;
    stores.note_saved(&stores.project, &promoted, &redactor)?;
    for older in &promoted.memory.supersedes {
        // The replaced memory may have been removed, or replaced by another memory, since.
        if let Ok((_, older)) = stores.find(&older.to_string())
            && older.memory.superseded_by.is_none()
        {
            neighbours::supersede(stores, &older, promoted.memory.id, out)?;
        }
    }
    learned::note(&stores.project, |reviewed| {
        reviewed.ids.insert(promoted.memory.id);
    })?;
    let id = paint(NAME, promoted.memory.id.short());
    Ok(writeln!(out, "Taken in: {id} {}", promoted.path.display())?)
}

/// Rejects a draft. A rejected memory is not learned again.
pub fn reject(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    let memory = &stored.memory;
    let redactor = stores.project.redactor(&stores.settings);
    stores.project.reject(&memory.id.to_string(), &redactor, stores.world.now)?;
    stores.note(stored, Noted::Gone(memory.id))?;
    Ok(writeln!(out, "Turned down: {} {}", paint(NAME, memory.id.short()), plain(&memory.title))?)
}

/// Finds an accepted memory by its id.
///
/// # Errors
/// Returns an error if the memory is already pending or belongs to the user, or if git contains its file.
pub fn accepted_by_id(stores: &Stores, id: &str) -> Result<Stored> {
    let (store, stored) = stores.find(id)?;
    let short = stored.memory.id.short();
    if store.folder == stores.user.folder {
        return Err(Failure::new(format!("{short} is your own, for every project"))
            .hint("It is in no repository, so there is nothing to put it back from."));
    }
    if !stored.path.starts_with(&store.folder) {
        return Err(Failure::new(format!("{short} is pending already"))
            .hint(format!("`throughline review --accept {short}` accepts it.")));
    }
    if let Some(root) = &store.root {
        in_git::refuse(root, &stored.path, &short)?;
    }
    Ok(stored)
}

/// Makes an accepted memory pending again.
pub fn hold(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    let project = &stores.project;
    let held = project.hold(stored.memory.id)?;
    let redactor = project.redactor(&stores.settings);
    stores.note_saved(project, &held, &redactor)?;
    learned::note(project, |reviewed| {
        reviewed.ids.remove(&held.memory.id);
    })?;
    let id = held.memory.id.short();
    let title = plain(&held.memory.title);
    writeln!(
        out,
        "Held again: {} {title}. It is private until `throughline review --accept {id}`.",
        paint(NAME, &id)
    )?;
    // The memory that this one had replaced is active again, since only that one is still in the repository.
    neighbours::hold_again(stores, &held.memory, out)
}
