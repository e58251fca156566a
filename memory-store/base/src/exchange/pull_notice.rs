//! Memories that a pull added to the repository. The processor counts them, a hook announces them once, and
//! `throughline status` shows them until more arrive.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fs::open_regular::read_short;
use crate::layout::TreeDir;
use crate::time::Timestamp;

/// Numbers of new or changed memories from the repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrived {
    /// Time at which the processor found the memories.
    pub at: Timestamp,
    /// Number of new or changed memories.
    pub new: usize,
    /// Number of these memories that are withheld.
    pub held: usize,
}

impl Arrived {
    /// Returns the last finding, whether or not it was announced; `None` if there is none.
    pub fn last(state: &TreeDir) -> Option<Self> {
        Self::untold(state).or_else(|| Self::read(&state.arrived_told))
    }

    /// Returns the finding that is not announced yet; `None` if there is none.
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
