//! Memories as of a time: which of them were known and in force.

use std::collections::HashMap;

use crate::id::MemoryId;
use crate::memory::{Memory, Status};
use crate::time::Timestamp;

/// Maximum number of successive memories that are followed.
const STEPS_MAX: usize = crate::succession::STEPS_MAX;

/// Memories by id, for following successors.
pub struct History<'m> {
    by_id: HashMap<MemoryId, &'m Memory>,
}

impl<'m> History<'m> {
    /// Returns the history of some memories.
    pub fn of(memories: impl IntoIterator<Item = &'m Memory>) -> Self {
        Self { by_id: memories.into_iter().map(|memory| (memory.id, memory)).collect() }
    }

    /// Returns the time from which a memory is superseded, with its successor; `None` if it is not superseded. If the
    /// successor is missing, its time is unknown, and the memory's own creation time is returned.
    pub fn superseded(&self, memory: &Memory) -> Option<(Timestamp, MemoryId)> {
        let newer = memory.superseded_by?;
        let at = self.by_id.get(&newer).map_or(memory.created, |newer| newer.when());
        Some((at.max(memory.when()), newer))
    }

    /// Returns whether a memory was known and in force at a time: it was not expired, and no other memory that was
    /// known and not expired at that time superseded it.
    pub fn was_in_force(&self, memory: &Memory, at: Timestamp) -> bool {
        if matches!(memory.status, Status::Rejected | Status::Archived) || !is_written(memory, at) {
            return false;
        }
        if memory.is_expired(at) || memory.valid_from.is_some_and(|from| from > at) {
            return false;
        }
        let mut older = memory;
        for _ in 0..STEPS_MAX {
            let Some((since, newer)) = self.superseded(older) else { return true };
            if since > at {
                return true;
            }
            match self.by_id.get(&newer) {
                Some(newer) if newer.is_expired(at) => older = newer,
                Some(_) | None => return false,
            }
        }
        false
    }
}

/// Returns whether a memory was known at a time.
pub fn is_written(memory: &Memory, at: Timestamp) -> bool {
    memory.occurred.unwrap_or(memory.created) <= at
}
