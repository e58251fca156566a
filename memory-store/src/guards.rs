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
use crate::store::Stored;
use crate::time::Timestamp;
use crate::trust::Trust;

/// State of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardState {
    /// The guard applies with this action.
    InForce(GuardAction),
    /// The user did not accept a guard of this memory.
    NotAccepted,
    /// The user accepted a guard of this memory in another form.
    Changed,
    /// The memory is archived, superseded, or not valid now.
    MemoryEnded,
}

/// Returns the state of a memory's guard. Where its author wanted to deny, a guard of other people asks; so does one in
/// a memory that came with the repository since (`from_repository`).
pub fn state(
    reviewed: &Reviewed,
    memory: &Memory,
    guard: &Guard,
    from_repository: bool,
    now: Timestamp,
) -> GuardState {
    let is_valid = matches!(memory.status, Status::Active | Status::Held)
        && memory.superseded_by.is_none()
        && memory.valid_from.is_none_or(|from| from <= now)
        && !memory.is_expired(now);
    match reviewed.accepted_guard(memory.id, guard) {
        Some(_) if !is_valid => GuardState::MemoryEnded,
        Some(true) if !from_repository => GuardState::InForce(guard.action),
        Some(_) => GuardState::InForce(guard.action.min(GuardAction::Ask)),
        None if reviewed.has_guards(memory.id) => GuardState::Changed,
        None => GuardState::NotAccepted,
    }
}

/// Writes the file with the effective guards of a store's memories. The file is removed if there are none. Guards that
/// exceed its maximum size are left out.
///
/// # Errors
/// If the file cannot be written.
pub fn publish(
    memories: &[Stored],
    trust: &Trust,
    reviewed: &Reviewed,
    tree: &TreeDir,
    now: Timestamp,
) -> Result<()> {
    let guarded = memories.iter().filter(|stored| !stored.memory.guards.is_empty());
    let guarded = guarded.map(|stored| (&stored.memory, trust.is_from_repository(stored)));
    write(guarded, reviewed, tree, now)
}

/// Writes the file with the effective guards of memories, given with whether they are from the repository.
///
/// # Errors
/// If the file cannot be written.
pub fn write<'a>(
    memories: impl IntoIterator<Item = (&'a Memory, bool)>,
    reviewed: &Reviewed,
    tree: &TreeDir,
    now: Timestamp,
) -> Result<()> {
    let mut guards = Vec::new();
    for (memory, from_repository) in memories {
        for guard in &memory.guards {
            if let GuardState::InForce(action) =
                state(reviewed, memory, guard, from_repository, now)
            {
                guards.push((memory.id, Guard { action, ..guard.clone() }));
            }
        }
    }
    guards.sort_by_key(|(id, _)| *id);
    let bytes_max = usize::try_from(GUARDS_BYTES_MAX).unwrap_or(usize::MAX);
    let text = guard::compile(guards.iter().map(|(id, guard)| (*id, guard)), bytes_max);
    let file = &tree.guards;
    let known = read_if_there(file, bytes_max).ok().flatten();
    if known.as_deref().unwrap_or_default() == text.as_bytes() {
        return Ok(());
    }
    if !text.is_empty() {
        return replace(file, text.as_bytes(), Privacy::Private);
    }
    match fs::remove_file(file) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::Io { path: file.clone(), source })
        }
        _ => Ok(()),
    }
}
