//! Reads the keys of all sessions of a project.

use memory_store::layout::ProjectDir;

use super::{Holder, Ownership, RecordKey, keys, load_keys, store_keys};
use crate::collect::archive::Archive;
use crate::collect::newest::in_order;

/// Reads the keys of sessions.
#[derive(Clone, Debug)]
pub struct Holders {
    /// The project's private folder.
    pub home: ProjectDir,
    /// The archive of the project.
    pub archive: Archive,
    /// For each session: its name, the hash of its records, and the time of its last record in milliseconds since 1970.
    pub sessions: Vec<(String, String, i64)>,
}

impl Holders {
    /// Computes the owners of all records. If a session cannot be read now, mining reports it, and until then it owns
    /// nothing.
    pub fn ownership(&self) -> Ownership {
        let load = |(name, content, last): &(String, String, i64)| Holder {
            name: name.clone(),
            keys: self.keys(name, content).unwrap_or_default(),
            last: *last,
        };
        Ownership::new(in_order(&self.sessions, load))
    }

    /// Returns the keys of one session; `None` if it cannot be read now.
    fn keys(&self, name: &str, content: &str) -> Option<Vec<RecordKey>> {
        if let Some(keys) = load_keys(&self.home, name, content) {
            return Some(keys);
        }
        let keys = keys(&self.archive.load_kept(name).ok()??.records);
        // The file is a cache; without it the keys are computed again.
        let _ = store_keys(&self.home, name, content, &keys);
        Some(keys)
    }
}
