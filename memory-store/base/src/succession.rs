//! Succession: which memories supersede others. An expired memory supersedes nothing, so its predecessor is valid again
//! unless a later successor is valid.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::MemoryId;
use crate::memory::Memory;
use crate::time::Timestamp;

/// Maximum number of successors that are followed in a chain.
pub const STEPS_MAX: usize = 16;

/// Returns the current successor of a memory: the first memory in its chain of successors that is not expired. `None`
/// if the memory has no successor, or all are expired.
pub fn current(
    next: &BTreeMap<MemoryId, MemoryId>,
    expired: &BTreeSet<MemoryId>,
    id: MemoryId,
) -> Option<MemoryId> {
    let mut successor = *next.get(&id)?;
    for _ in 0..STEPS_MAX {
        if !expired.contains(&successor) {
            return Some(successor);
        }
        successor = *next.get(&successor)?;
    }
    // The chain is a cycle or very long; the memory then counts as superseded.
    Some(successor)
}

/// Returns the memories that are superseded according to their own files.
pub fn superseded<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    now: Timestamp,
) -> BTreeSet<MemoryId> {
    let (mut next, mut expired) = (BTreeMap::new(), BTreeSet::new());
    for memory in memories {
        next.extend(memory.superseded_by.map(|newer| (memory.id, newer)));
        if memory.is_expired(now) {
            expired.insert(memory.id);
        }
    }
    next.keys().copied().filter(|&id| current(&next, &expired, id).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn what_expired_replaces_nothing_and_what_came_after_it_does() {
        let now = Timestamp(1000);
        let id = |number: u8| MemoryId([number; 16]);
        let memory = |number: u8, by: Option<u8>, until: Option<i64>| Memory {
            superseded_by: by.map(id),
            valid_until: until.map(Timestamp),
            ..Memory::new(id(number), Kind::Fact, "T", "", Timestamp(0))
        };
        let superseded = |memories: &[Memory]| {
            superseded(memories, now).into_iter().map(|id| id.0[0]).collect::<Vec<u8>>()
        };
        assert_eq!(superseded(&[memory(1, Some(2), None), memory(2, None, Some(2000))]), [1]);
        assert!(superseded(&[memory(1, Some(2), None), memory(2, None, Some(999))]).is_empty());
        let chain = |last: Option<i64>| {
            [memory(1, Some(2), None), memory(2, Some(3), Some(999)), memory(3, None, last)]
        };
        assert_eq!(superseded(&chain(None)), [1, 2]);
        assert!(superseded(&chain(Some(999))).is_empty());
        // A successor that cannot be read counts as valid.
        assert_eq!(superseded(&[memory(1, Some(9), None)]), [1]);
        let circle = [memory(1, Some(2), Some(1)), memory(2, Some(1), Some(1))];
        assert_eq!(superseded(&circle), [1, 2]);
    }
}
