//! Trouble: the reason why a model last gave no answer, until it gives one. `status` shows it.

use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use crate::private_files::{read_json, write_json};

/// Reason why a model last gave no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// The provider.
    pub provider: String,
    /// The host in the settings.
    pub host: String,
    /// Start time of the sync with that question.
    pub at: Timestamp,
    /// The reason, redacted.
    pub why: String,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("trouble.json")
}

/// Returns the trouble recorded in the folder of a project's answers.
pub fn read(folder: &Path) -> Option<Trouble> {
    read_json(&path(folder))
}

/// Stores a trouble, or removes it with `None`.
pub(super) fn write(folder: &Path, trouble: Option<&Trouble>) {
    let path = path(folder);
    // The sync reports it, too, so a failed write loses nothing else.
    match trouble {
        Some(trouble) => drop(write_json(&path, trouble)),
        None => drop(std::fs::remove_file(path)),
    }
}
