//! Counts of memories. Every command that prints numbers of memories uses these counts, so that outputs do not
//! contradict each other.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::memory::{Memory, Status};
use crate::stored::Stored;
use crate::time::Timestamp;

/// State of a memory; each memory is counted in exactly one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The memory is in force.
    InForce,
    /// The memory is in force, but pending.
    Held,
    /// The memory is past its `valid_until`.
    Expired,
    /// Another memory supersedes this memory, or a person rejected it.
    Replaced,
}

impl Standing {
    /// Returns the state of a memory. The caller must omit memories that a person has forgotten.
    pub fn of(memory: &Memory, now: Timestamp) -> Self {
        match memory.status {
            Status::Rejected | Status::Archived => Self::Replaced,
            _ if memory.superseded_by.is_some() => Self::Replaced,
            _ if memory.is_expired(now) => Self::Expired,
            Status::Held => Self::Held,
            Status::Active => Self::InForce,
        }
    }

    /// Returns whether the memory is in force.
    pub const fn is_current(self) -> bool {
        matches!(self, Self::InForce | Self::Held)
    }
}

/// Counts of the memories of a project and its user. Each memory is in exactly one of the counts except `by_kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryCounts {
    /// Memories in force, in the memory folder of the working tree.
    pub in_repository: usize,
    /// Memories in force, in the private folder of a private project.
    pub private: usize,
    /// Pending memories.
    pub held: usize,
    /// The user's memories in force, which apply to every project.
    pub user_memories: usize,
    /// Memories that another memory superseded, or that a person rejected.
    pub replaced: usize,
    /// Memories past their `valid_until`.
    pub expired: usize,
    /// Memories of the project that are in force, by kind.
    pub by_kind: BTreeMap<&'static str, usize>,
}

impl MemoryCounts {
    /// Counts the memories of a project and of its user. `is_committed` is false if the project's memories are private.
    pub fn of(project: &[Stored], is_committed: bool, user: &[Stored], now: Timestamp) -> Self {
        let mut counts = Self::default();
        for Stored { memory, .. } in project {
            let standing = Standing::of(memory, now);
            *counts.of_standing(standing, is_committed) += 1;
            if standing.is_current() {
                *counts.by_kind.entry(memory.kind.name()).or_default() += 1;
            }
        }
        for Stored { memory, .. } in user {
            match Standing::of(memory, now) {
                Standing::InForce | Standing::Held => counts.user_memories += 1,
                Standing::Expired => counts.expired += 1,
                Standing::Replaced => counts.replaced += 1,
            }
        }
        counts
    }

    fn of_standing(&mut self, standing: Standing, is_committed: bool) -> &mut usize {
        match standing {
            Standing::InForce if is_committed => &mut self.in_repository,
            Standing::InForce => &mut self.private,
            Standing::Held => &mut self.held,
            Standing::Expired => &mut self.expired,
            Standing::Replaced => &mut self.replaced,
        }
    }

    /// Returns the number of the project's memories that are in force, including pending ones.
    pub fn project(&self) -> usize {
        self.in_repository + self.private + self.held
    }

    /// Returns the number of memories in force for this project: the project's own and the user's.
    pub fn current(&self) -> usize {
        self.project() + self.user_memories
    }
}
