//! A *visit*: the memories that were there when a person last looked at the overview.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use memory_store::layout::Tree;
use memory_store::mode::Mode;
use memory_store::store::{Privacy, replace};
use memory_store::{MemoryId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::world::World;

/// Time within which a second look still shows what was new at the first.
const VISIT_MS: i64 = 60 * 60 * 1_000;

/// The state in which a person last saw the memories of a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// When.
    pub at: Timestamp,
    /// The memories that were there.
    pub ids: BTreeSet<MemoryId>,
}

impl Visit {
    /// Reads the last one; a file that is missing or damaged is none.
    pub fn last(world: &World, tree: &Tree) -> Option<Self> {
        let bytes = fs::read(file(world, tree)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Notes what is there now, once the last visit is over. Where nothing may be written, and where it cannot be,
    /// more is new the next time.
    pub fn note(last: Option<&Self>, ids: BTreeSet<MemoryId>, world: &World, tree: &Tree) {
        let is_over = last.is_none_or(|last| !(0..VISIT_MS).contains(&(world.now.0 - last.at.0)));
        if !is_over || world.mode != Mode::Full {
            return;
        }
        let visit = Self { at: world.now, ids };
        if let Ok(bytes) = serde_json::to_vec(&visit) {
            let _ = replace(&file(world, tree), &bytes, Privacy::Private);
        }
    }
}

fn file(world: &World, tree: &Tree) -> PathBuf {
    world.dirs.tree(&tree.root).folder.join("visit.json")
}
