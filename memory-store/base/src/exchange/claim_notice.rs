//! Claude's pending changes to memories. The hook of the next session start announces them once.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fs::open_regular::read_short;
use crate::id::MemoryId;

/// Maximum number of ids in an announcement.
const NAMED_MAX: usize = 5;

/// Memories with changes by Claude that no session start has announced yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimNotice {
    /// Memories that Claude asked to forget or replace.
    pub asked: BTreeSet<MemoryId>,
    /// Memories whose files a tool call wrote, changed or removed.
    pub written: BTreeSet<MemoryId>,
}

impl ClaimNotice {
    /// Reads a notice; `None` if the file is missing or damaged.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&read_short(path)?).ok()
    }

    /// Returns whether there is nothing to announce.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.written.is_empty()
    }

    /// Returns a sentence about Claude's changes, with the command that shows them; `None` if there are none.
    pub fn message(&self) -> Option<String> {
        let asked = named(&self.asked).map(|ids| {
            format!("Claude asked to forget or replace what you said ({ids}), which stays in force")
        });
        let written = named(&self.written).map(|ids| {
            format!("Claude wrote, changed or removed memory files ({ids}), which does not count as your word")
        });
        let done: Vec<String> = asked.into_iter().chain(written).collect();
        (!done.is_empty())
            .then(|| format!("{}. `throughline review` shows each change", done.join("; ")))
    }
}

/// Returns the short ids, separated by commas; `None` if `ids` is empty.
fn named(ids: &BTreeSet<MemoryId>) -> Option<String> {
    let mut named: Vec<String> = ids.iter().take(NAMED_MAX).map(|id| id.short()).collect();
    if ids.len() > NAMED_MAX {
        named.push(format!("and {} more", ids.len() - NAMED_MAX));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: std::ops::Range<u8>) -> BTreeSet<MemoryId> {
        numbers.map(|number| MemoryId([number; 16])).collect()
    }

    #[test]
    fn the_notice_names_the_memories_and_what_to_do() {
        assert_eq!(ClaimNotice::default().message(), None);
        let asked = ClaimNotice { asked: ids(1..2), ..Default::default() }.message().unwrap();
        assert!(asked.contains(&MemoryId([1; 16]).short()), "{asked}");
        assert!(
            asked.contains("stays in force") && asked.contains("throughline review"),
            "{asked}"
        );
        assert!(!asked.contains("files"), "{asked}");
        let both = ClaimNotice { asked: ids(1..2), written: ids(2..9) }.message().unwrap();
        assert!(both.contains("memory files") && both.contains("and 2 more"), "{both}");
    }
}
