//! Archiving or deleting a memory, for `forget`, `review` and the browser.

use std::io::Write;

use memory_store::index::journal::Change as Noted;
use memory_store::store::{Forget as How, Store, Stored};

use crate::failure::Result;
use crate::neighbours;
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{NAME, paint};

/// Prints that a memory was deleted.
pub fn print_deleted(stored: &Stored, out: &mut dyn Write) -> Result {
    let memory = &stored.memory;
    Ok(writeln!(out, "Deleted {} {}.", paint(NAME, memory.id.short()), plain(&memory.title))?)
}

/// Archives or deletes one memory, and reports that.
pub fn put_aside(
    stores: &Stores,
    store: &Store,
    stored: &Stored,
    how: How,
    out: &mut dyn Write,
) -> Result {
    let memory = &stored.memory;
    store.forget(
        &memory.id.to_string(),
        how,
        &store.redactor(&stores.settings),
        stores.world.now,
    )?;
    stores.note(stored, Noted::Gone(memory.id))?;
    if how == How::Delete {
        print_deleted(stored, out)?;
    } else {
        writeln!(
            out,
            "Archived {} {}. `throughline restore {}` restores it.",
            paint(NAME, memory.id.short()),
            plain(&memory.title),
            memory.id.short()
        )?;
    }
    neighbours::hold_again(stores, memory, out)
}
