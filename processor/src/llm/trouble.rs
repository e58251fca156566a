//! Trouble: the reason why a model did not answer the last question. It is stored until the model answers a question,
//! and `status` prints it.

use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use serde::{Deserialize, Serialize};

use crate::private_files::{read_json, write_json};

/// Reason why a model did not answer the last question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// The provider.
    pub provider: String,
    /// The host in the settings.
    pub host: String,
    /// Start time of the sync that sent the question.
    pub at: Timestamp,
    /// The reason, redacted.
    pub why: String,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("trouble.json")
}

/// Returns the trouble recorded in the folder of a project's answers; `None` if there is none.
pub fn read(folder: &Path) -> Option<Trouble> {
    read_json(&path(folder))
}

/// Stores a trouble, or removes the stored one if there is none.
pub(super) fn write(folder: &Path, trouble: Option<&Trouble>) {
    let path = path(folder);
    // A failed write is ignored, because the sync reports the trouble as well.
    match trouble {
        Some(trouble) => drop(write_json(&path, trouble)),
        None => drop(std::fs::remove_file(path)),
    }
}
