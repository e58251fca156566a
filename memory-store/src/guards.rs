//! Guards that the user accepted, and the file in which hooks look for them.
//!
//! A guard is a part of a memory file, which anyone with access to the repository may write. It has an effect only after
//! the user accepted it in its present form, on this machine.

use std::fs;
use std::io::ErrorKind;

use memory_store_recall::guard;

use crate::error::{Error, Result};
use crate::fs::disk::{Privacy, read_if_there, replace};
use crate::layout::{GUARDS_BYTES_MAX, TreeDir};
use crate::memory::{Guard, GuardAction, Memory, Status};
use crate::reviewed::Reviewed;
use crate::time::Timestamp;

/// Returns the effect of a memory's guard; `None` if the guard has none, because the user did not accept it or the
/// memory is not valid. A guard of other people asks where its author wanted to deny.
pub fn effect(
    reviewed: &Reviewed,
    memory: &Memory,
    guard: &Guard,
    now: Timestamp,
) -> Option<GuardAction> {
    let is_valid = matches!(memory.status, Status::Active | Status::Held)
        && memory.superseded_by.is_none()
        && !memory.is_expired(now);
    let is_own = reviewed.accepted_guard(memory.id, guard).filter(|_| is_valid)?;
    Some(if is_own { guard.action } else { guard.action.min(GuardAction::Ask) })
}

/// Writes the file with the effective guards of a store, or removes it if there are none.
///
/// # Errors
/// If the file cannot be written.
pub fn publish<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    reviewed: &Reviewed,
    state: &TreeDir,
    now: Timestamp,
) -> Result<()> {
    let mut guards = Vec::new();
    for memory in memories {
        for guard in &memory.guards {
            let effect = effect(reviewed, memory, guard, now);
            guards.extend(effect.map(|action| (memory.id, Guard { action, ..guard.clone() })));
        }
    }
    guards.sort_by_key(|(id, _)| *id);
    let text = guard::compile(guards.iter().map(|(id, guard)| (*id, guard)));
    let file = &state.guards;
    let known = read_if_there(file, GUARDS_BYTES_MAX as usize)?.unwrap_or_default();
    if known == text.as_bytes() {
        return Ok(());
    }
    if !text.is_empty() {
        return replace(file, text.as_bytes(), Privacy::Private);
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::Io { path: file.clone(), source: error })
        }
        _ => Ok(()),
    }
}
