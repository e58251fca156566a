//! Trouble: why a model last gave no answer, until it gives one. `status` tells it.

use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use crate::private_files::{read_json, write_json};

/// Why a model last gave no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// The provider that was asked.
    pub provider: String,
    /// The host that the settings named.
    pub host: String,
    /// When the sync began that asked.
    pub at: Timestamp,
    /// The reason, redacted.
    pub why: String,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("trouble.json")
}

/// Returns what is written down in the folder of a project's answers.
pub fn read(folder: &Path) -> Option<Trouble> {
    read_json(&path(folder))
}

/// Writes down a trouble, or with `None` that there is none any more.
pub(super) fn write(folder: &Path, trouble: Option<&Trouble>) {
    let path = path(folder);
    // It is told by the sync, too: what cannot be written costs nothing else.
    match trouble {
        Some(trouble) => drop(write_json(&path, trouble)),
        None => drop(std::fs::remove_file(path)),
    }
}
