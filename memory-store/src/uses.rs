//! Use of memories by sessions, and its effect on ranking.
//!
//! The processor counts use from receipts and later sessions when it publishes an index. The file is private and may be
//! deleted; use is then counted again from the receipts that remain.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::fs::disk::{Privacy, read_if_there, replace};
use crate::id::MemoryId;
use crate::layout::TreeDir;
use crate::memory::Memory;
use crate::recall::start_rank::Age;
use crate::time::Timestamp;

/// Maximum size in bytes of the file: about a hundred thousand memories.
const FILE_BYTES_MAX: usize = 8 << 20;
/// Change of confidence for each reason. It is small, because a report may be mistaken.
const STEP: f32 = 0.05;
/// Maximum number of steps in either direction.
const STEPS_MAX: i32 = 2;
/// Number of uses that count as a second reason.
const OFTEN: u32 = 4;
/// Number of sessions that were given a memory after which it counts as useless if none used it.
const IN_VAIN: u32 = 10;

/// Use of a memory by the sessions of one working tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Use {
    /// Number of recent sessions that were given the memory.
    pub given: u32,
    /// Number of these that then edited one of its files, or ran its command, and left nothing failing.
    pub used: u32,
    /// Time of the last use, also of an earlier session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
}

/// Use of each memory that was given.
pub type Uses = BTreeMap<MemoryId, Use>;

/// Reads the use of the memories of a working tree. If the file is missing or damaged, there is none.
pub fn read(tree: &TreeDir) -> Uses {
    let bytes = read_if_there(&tree.uses, FILE_BYTES_MAX).ok().flatten();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Writes the use of the memories of a working tree, if it differs from the file.
///
/// # Errors
/// If the file cannot be replaced.
pub fn write(tree: &TreeDir, uses: &Uses) -> Result<()> {
    if read(tree) == *uses {
        return Ok(());
    }
    // Ids and numbers can always be serialised.
    replace(&tree.uses, &serde_json::to_vec(uses).unwrap_or_default(), Privacy::Private)
}

/// What is known about the value of a memory besides its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Experience {
    /// Its use by sessions.
    pub used: Use,
    /// Numbers of reports that it helped, and that it did not.
    pub helped: (u32, u32),
    /// Time when a person or a session last confirmed it.
    pub confirmed: Option<Timestamp>,
    /// True if a later memory contradicts it, and no person has decided.
    pub contradicted: bool,
}

impl Experience {
    /// Returns the change of the memory's confidence in ranking, at most 0.1 in either direction.
    pub fn confidence(&self, memory: &Memory) -> f32 {
        let Self { used, helped: (yes, no), confirmed, contradicted } = *self;
        // Use is visible only through files and commands.
        let is_visible = memory.command.is_some() || !memory.paths.is_empty();
        let is_in_vain = is_visible && used.given >= IN_VAIN && used.last.is_none() && yes == 0;
        let steps = [
            i32::from(used.used > 0),
            i32::from(used.used >= OFTEN),
            i32::from(confirmed.is_some()),
            yes.min(2).cast_signed(),
            -no.min(2).cast_signed(),
            -i32::from(contradicted),
            -i32::from(is_in_vain),
        ];
        STEP * steps.iter().sum::<i32>().clamp(-STEPS_MAX, STEPS_MAX) as f32
    }

    /// Returns the time from which its age counts, if that is later than its event.
    pub fn renewed(&self) -> Option<Timestamp> {
        self.used.last.max(self.confirmed)
    }

    /// Returns whether a memory of this age may be archived: it is stale, no session used it, and it was neither
    /// reported to have helped nor pinned.
    pub const fn may_be_archived(&self, memory: &Memory, age: Age) -> bool {
        matches!(age, Age::Stale)
            && !memory.pinned
            && self.used.last.is_none()
            && self.helped.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn use_changes_confidence_within_bounds_and_only_where_it_is_visible() {
        let wish =
            Memory::new(MemoryId([1; 16]), Kind::Preference, "Short names", "", Timestamp(0));
        let mut fact = wish.clone();
        fact.paths = vec![crate::memory::PathRef { path: "a.rs".into(), seen: None }];
        let given = |given, used, last| Experience {
            used: Use { given, used, last },
            ..Experience::default()
        };
        let change = |of: Experience| (of.confidence(&fact) * 100.0).round() as i32;
        assert_eq!(change(given(9, 0, None)), 0);
        assert_eq!(change(given(10, 0, None)), -5);
        assert!(given(10, 0, None).confidence(&wish).abs() < f32::EPSILON);
        assert_eq!(change(given(10, 0, Some(Timestamp(1)))), 0, "it was used earlier");
        assert_eq!(change(given(5, 1, Some(Timestamp(1)))), 5);
        assert_eq!(change(given(5, 4, Some(Timestamp(1)))), 10);
        let helped = |yes, no| Experience { helped: (yes, no), ..Experience::default() };
        assert_eq!(
            [(1, 0), (9, 0), (0, 9), (1, 1)].map(|(y, n)| change(helped(y, n))),
            [5, 10, -10, 0]
        );
        let contradicted = Experience { contradicted: true, ..helped(0, 2) };
        assert_eq!(change(contradicted), -10);
        assert!(helped(0, 3).may_be_archived(&fact, Age::Stale));
        assert!(!helped(1, 3).may_be_archived(&fact, Age::Stale));
        assert!(!helped(0, 3).may_be_archived(&fact, Age::Aging));
    }
}
