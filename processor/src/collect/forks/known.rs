//! Stored results about keys. If a session continues, only its new keys are processed, not the keys of all sessions.
//!
//! If no new key occurs in another session, no record changes its owner. Therefore only the result for the sessions
//! with shared records is stored, and the keys of all sessions are in a [`KeySet`]. If the set may contain a new key
//! already, or if a session with shared records continued or was removed, all keys are read again.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Result;
use memory_store::layout::ProjectDir;
use serde::{Deserialize, Serialize};

use super::keyset::{ID, KeySet};
use super::{Holder, Owners, Ownership, RecordKey, keys, load_keys, store_keys};
use crate::collect::archive::Archive;
use crate::collect::newest::in_order;

/// Maximum number of changed sessions whose keys are checked individually.
const SESSIONS_FEW: usize = 64;

/// Stored results about the keys of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnownKeys {
    /// The name of the key set.
    set: String,
    /// Number of keys in the key set.
    count: usize,
    /// The sessions with shared records, each with a digest of the records that it does not own.
    sharing: BTreeMap<String, String>,
    /// The sessions whose keys are in the key set, each with the hash of its records.
    sessions: BTreeMap<String, String>,
}

/// Access to the keys of all sessions.
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
    /// Reads the keys of all sessions. A session that cannot be read now has no keys, so it owns no records; mining
    /// reports the error.
    pub(super) fn load(&self) -> Vec<Holder> {
        let load = |(name, content, last): &(String, String, i64)| Holder {
            name: name.clone(),
            keys: self.keys(name, content).unwrap_or_default(),
            last: *last,
        };
        in_order(&self.sessions, load)
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

    /// Computes the owners from all keys.
    pub fn decide(self) -> Ownership {
        let owners = Owners::new(self.load());
        self.decided(owners)
    }

    fn decided(self, owners: Owners) -> Ownership {
        let sharing = owners.sharing.clone();
        Ownership { sharing, set: None, owners: OnceLock::from(owners), holders: self }
    }

    /// Computes the owners from the stored results if these suffice, else from all keys. Updates the stored results.
    pub fn decide_with(self, known: &mut KnownKeys) -> Ownership {
        match self.new_keys(known) {
            Ok(Some(set)) => {
                let sharing = known.sharing.clone();
                Ownership { sharing, set: Some(set), owners: OnceLock::new(), holders: self }
            }
            // A set that cannot be read or written is rebuilt.
            Ok(None) | Err(_) => {
                let holders = self.load();
                *known = self.learn(&holders).unwrap_or_default();
                let owners = Owners::new(holders);
                known.sharing.clone_from(&owners.sharing);
                self.decided(owners)
            }
        }
    }

    /// Adds the new keys to the set and returns the set; `None` if all keys must be read.
    fn new_keys(&self, known: &mut KnownKeys) -> Result<Option<KeySet>> {
        let Some(set) = KeySet::open(&path(&self.home), id(&known.set))? else { return Ok(None) };
        let content_of = |name: &str| known.sessions.get(name).map(String::as_str);
        let present: BTreeMap<&str, &str> = self
            .sessions
            .iter()
            .map(|(name, content, _)| (name.as_str(), content.as_str()))
            .collect();
        let stays = |name: &String| present.get(name.as_str()).copied() == content_of(name);
        if !known.sharing.keys().all(stays) {
            return Ok(None);
        }
        let is_new = |(name, content): &(&str, &str)| content_of(name) != Some(*content);
        let new: Vec<(&str, &str)> =
            present.iter().map(|(name, content)| (*name, *content)).filter(is_new).collect();
        if new.len() > SESSIONS_FEW {
            return Ok(None);
        }
        let mut added = Vec::new();
        for (name, content) in new {
            let before = match content_of(name) {
                Some(before) => match load_keys(&self.home, name, before) {
                    Some(keys) => keys,
                    None => return Ok(None),
                },
                None => Vec::new(),
            };
            let before: HashSet<u64> = before.iter().map(|key| key.hash).collect();
            // A session that cannot be read now owns nothing, and counts as new in the next run.
            let Some(keys) = self.keys(name, content) else { return Ok(None) };
            let mut fresh: Vec<u64> = keys.iter().map(|key| key.hash).collect();
            fresh.retain(|key| !before.contains(key));
            fresh.sort_unstable();
            fresh.dedup();
            known.count += fresh.len();
            if known.count > set.room() {
                return Ok(None);
            }
            for &key in &fresh {
                if set.may_hold(key)? {
                    return Ok(None);
                }
            }
            for &key in &fresh {
                set.add(key)?;
            }
            added.push((name.to_owned(), content.to_owned()));
        }
        if !added.is_empty() {
            set.sync()?;
        }
        // Keys of removed sessions stay in the set. If such a session is restored, the set contains its keys already,
        // so all keys are read.
        known.sessions.retain(|name, _| present.contains_key(name.as_str()));
        known.sessions.extend(added);
        Ok(Some(set))
    }

    /// Rebuilds the key set.
    fn learn(&self, holders: &[Holder]) -> Result<KnownKeys> {
        let mut all: Vec<u64> =
            holders.iter().flat_map(|holder| holder.keys.iter().map(|key| key.hash)).collect();
        all.sort_unstable();
        all.dedup();
        let mut hasher = blake3::Hasher::new();
        for key in &all {
            hasher.update(&key.to_le_bytes());
        }
        let set = hasher.finalize().to_hex()[..2 * ID].to_owned();
        KeySet::create(&path(&self.home), id(&set), &all)?;
        let sessions = self.sessions.iter().zip(holders);
        let read = sessions.filter(|(_, holder)| !holder.keys.is_empty());
        let read = read.map(|((name, content, _), _)| (name.clone(), content.clone())).collect();
        Ok(KnownKeys { set, count: all.len(), sharing: BTreeMap::new(), sessions: read })
    }
}

/// Returns the bytes of a set's name. An invalid name results in bytes that no set has.
fn id(name: &str) -> [u8; ID] {
    u128::from_str_radix(name, 16).unwrap_or_default().to_be_bytes()
}

fn path(home: &ProjectDir) -> PathBuf {
    home.mined.join("keys.set")
}
