//! Memories pulled with the repository: counted by the processor, announced once by a hook, and shown by `throughline
//! status` until more arrive.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fs::open_regular::read_short;
use crate::layout::TreeDir;
use crate::time::Timestamp;

/// Counts of memories from the repository that are new or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrived {
    /// Time at which the processor found them.
    pub at: Timestamp,
    /// Number of all of them.
    pub new: usize,
    /// Number of those that are held.
    pub held: usize,
}

impl Arrived {
    /// Reads the last finding, announced or not.
    pub fn last(state: &TreeDir) -> Option<Self> {
        Self::untold(state).or_else(|| Self::read(&state.arrived_told))
    }

    /// Reads the finding that is not announced yet.
    pub fn untold(state: &TreeDir) -> Option<Self> {
        Self::read(&state.arrived)
    }

    fn read(path: &Path) -> Option<Self> {
        let text = read_short(path)?;
        serde_json::from_str(&text).ok().filter(|arrived: &Self| arrived.new > 0)
    }
}

impl fmt::Display for Arrived {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.new {
            1 => formatter.write_str("1 new memory from the repository")?,
            new => write!(formatter, "{new} new memories from the repository")?,
        }
        match self.held {
            0 => formatter.write_str(", labelled so: throughline trust"),
            held => write!(formatter, ", {held} held: throughline trust"),
        }
    }
}
