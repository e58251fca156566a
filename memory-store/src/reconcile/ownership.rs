//! Ownership of memory files: which files the program may replace, and which files require a person's decision.
//!
//! The table in `docs/memory-files.md` lists the permitted changes to a person's file by trigger. This module
//! determines the owner of a file; [`super::decide`] applies the table.

use crate::ledger::LedgerEntry;
use crate::memory::Memory;

/// Owner of a memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A person. A sync neither removes nor rewrites the file, but may set three keys that link it to newer memories.
    Person,
    /// The program. A sync updates the file from the transcripts.
    Program,
}

/// Evidence of a person's decision about a memory file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnershipEvidence {
    /// HEAD, the index of git, another branch or a stash contains the file.
    pub tracked: bool,
    /// The program did not write the file's text.
    pub edited: bool,
    /// A person kept the memory in a review.
    pub kept: bool,
}

impl Owner {
    /// Returns the owner of a memory's file. A file belongs to a person as soon as it is committed, edited, pinned,
    /// accepted in a review, or written by a person or through MCP, and then remains the person's. Callers must not
    /// pass a file that one of Claude's tool calls wrote. Until a person keeps such a file, it does not belong to this
    /// machine and is left unchanged.
    pub(crate) fn of(entry: &LedgerEntry, memory: &Memory, evidence: OwnershipEvidence) -> Self {
        let was_decided = entry.owned || entry.promoted || entry.saved;
        if was_decided || evidence.tracked || evidence.edited || evidence.kept || memory.pinned {
            Self::Person
        } else {
            Self::Program
        }
    }
}
