//! Assigns each record to one session. Forks, and resumes in older versions of Claude Code, copy the records of another
//! session into a new file, but each record must count only once.
//!
//! The owner of a record does not depend on the order in which transcripts were read: among the sessions that contain
//! the record, the owner is the one whose first record of its own is the earliest. A session that was copied completely
//! has no record of its own and precedes all others.

mod holders;
mod key_file;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::transcript::record::{Record, RecordWhat};
pub use holders::Holders;
use key_file::{HASH_BYTES, load_keys, store_keys};

/// Key of a record: a hash of its uuid, or of its text, because older copies have new uuids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordKey {
    /// The hash, which has [`HASH_BYTES`] bytes.
    pub hash: u64,
    /// The time of the record, in milliseconds since 1970.
    pub at: i64,
}

impl RecordKey {
    fn new(hash: &[u8; HASH_BYTES], at: i64) -> Self {
        Self { hash: number(hash), at }
    }
}

fn number(hash: &[u8; HASH_BYTES]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..HASH_BYTES].copy_from_slice(hash);
    u64::from_le_bytes(bytes)
}

/// Returns the keys of the records of one session, two for each record, in file order.
pub fn keys(records: &[Record]) -> Vec<RecordKey> {
    records.iter().filter_map(of_record).flatten().collect()
}

fn of_record(record: &Record) -> Option<[RecordKey; 2]> {
    let key = |hash: u64| RecordKey { hash, at: record.at.0 };
    Some([key(uuid_hash(&record.uuid, record.part)), key(content_hash(record)?)])
}

fn uuid_hash(uuid: &str, part: u32) -> u64 {
    hash(&[b"uuid", uuid.as_bytes(), &part.to_le_bytes()])
}

fn content_hash(record: &Record) -> Option<u64> {
    let at = record.at.0.to_le_bytes();
    Some(match &record.what {
        RecordWhat::Link | RecordWhat::Title { .. } => return None,
        RecordWhat::Text { message, text } | RecordWhat::Thinking { message, text }
            if !message.is_empty() =>
        {
            hash(&[b"said", message.as_bytes(), text.as_bytes()])
        }
        RecordWhat::Text { text, .. } | RecordWhat::Thinking { text, .. } => {
            hash(&[b"said", &at, text.as_bytes()])
        }
        RecordWhat::Call { id, .. } => hash(&[b"call", id.as_bytes()]),
        RecordWhat::Result(result) => hash(&[b"result", result.id.as_bytes()]),
        RecordWhat::Prompt { text, .. } => hash(&[b"prompt", &at, text.as_bytes()]),
        RecordWhat::Enqueue { text } | RecordWhat::Queued { text } => {
            hash(&[b"queued", &at, text.as_bytes()])
        }
        RecordWhat::Summary { text, .. } => hash(&[b"summary", text.as_bytes()]),
        RecordWhat::Boundary { after } => hash(&[b"boundary", &at, after.as_bytes()]),
        RecordWhat::Interrupt => hash(&[b"interrupt", &at]),
        RecordWhat::Dequeue => hash(&[b"dequeue", &at]),
        RecordWhat::PopAll => hash(&[b"pop", &at]),
    })
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; HASH_BYTES];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..HASH_BYTES]);
    number(&first)
}

/// Map from the hash of a key. No other hash function is applied, because there are millions of keys.
type ByKey<T> = HashMap<u64, T, BuildHasherDefault<IdentityHasher>>;

/// Hasher that returns the key itself, which is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        // The map distinguishes entries by the highest bits, which are zero in a hash of seven bytes.
        self.0 ^ self.0 << 8
    }
}

/// Owners of records, over all sessions of a project.
#[derive(Debug, Default)]
pub struct Ownership {
    names: Vec<String>,
    /// Keys that occur in several sessions, with the index of their owner in `names`.
    shared: ByKey<usize>,
    /// All keys, each with one of its sessions.
    held: ByKey<usize>,
    /// The sessions with shared keys, each with a digest of the keys that it does not own.
    sharing: BTreeMap<String, String>,
}

/// A session with the data that determine ownership.
#[derive(Clone, Debug)]
pub struct Holder {
    /// The name of the session's archive file.
    pub name: String,
    /// The keys of the session's records.
    pub keys: Vec<RecordKey>,
    /// The time of the session's last record, in milliseconds since 1970.
    pub last: i64,
}

impl Ownership {
    /// Computes the owners. The result does not depend on the order of the sessions.
    pub fn new(mut sessions: Vec<Holder>) -> Self {
        sessions.sort_by(|a, b| a.name.cmp(&b.name));
        let mut held: ByKey<usize> = ByKey::default();
        held.reserve(sessions.iter().map(|session| session.keys.len()).sum());
        let mut shared: HashSet<u64, BuildHasherDefault<IdentityHasher>> = HashSet::default();
        for (place, session) in sessions.iter().enumerate() {
            for key in &session.keys {
                if *held.entry(key.hash).or_insert(place) != place {
                    shared.insert(key.hash);
                }
            }
        }
        let mut order: Vec<usize> = (0..sessions.len()).collect();
        order.sort_by_key(|place| {
            let session = &sessions[*place];
            let own = session
                .keys
                .iter()
                .filter(|key| !shared.contains(&key.hash))
                .map(|key| key.at)
                .min();
            (own.unwrap_or(i64::MIN), session.last, session.name.clone())
        });
        let mut owners: ByKey<usize> = ByKey::default();
        let mut sharing = Vec::new();
        for place in order {
            let keys = sessions[place].keys.iter().filter(|key| shared.contains(&key.hash));
            let mut shares = false;
            keys.for_each(|key| {
                owners.entry(key.hash).or_insert(place);
                shares = true;
            });
            sharing.extend(shares.then_some(place));
        }
        let digest =
            |place: &usize| (sessions[*place].name.clone(), digest(&sessions, &owners, *place));
        let sharing = sharing.iter().map(digest).collect();
        let names = sessions.into_iter().map(|session| session.name).collect();
        Self { names, shared: owners, held, sharing }
    }

    /// Returns whether a record counts for the session called `name`.
    pub fn owns(&self, name: &str, record: &Record) -> bool {
        if !self.shares(name) {
            return true;
        }
        let Some(keys) = of_record(record) else { return true };
        keys.iter().all(|key| self.owner(key.hash).is_none_or(|owner| owner == name))
    }

    /// Returns whether another session contains any record of this one.
    pub fn shares(&self, name: &str) -> bool {
        self.sharing.contains_key(name)
    }

    /// Returns whether any session contains the record with this uuid.
    pub fn has_record(&self, uuid: &str) -> bool {
        !uuid.is_empty() && self.held.contains_key(&uuid_hash(uuid, 0))
    }

    /// Returns a digest of the records that a session does not own; empty if it owns all.
    pub fn digest(&self, name: &str) -> &str {
        self.sharing.get(name).map_or("", String::as_str)
    }

    /// Returns the owner of a key that occurs in several sessions; `None` for other keys.
    fn owner(&self, key: u64) -> Option<&str> {
        self.shared.get(&key).map(|&owner| self.names[owner].as_str())
    }
}

/// Returns a hash of those keys of a session that other sessions own; empty if there are none.
fn digest(sessions: &[Holder], owners: &ByKey<usize>, place: usize) -> String {
    let foreign = |key: &&RecordKey| owners.get(&key.hash).is_some_and(|&owner| owner != place);
    let mut hasher = blake3::Hasher::new();
    let mut any = false;
    for key in sessions[place].keys.iter().filter(foreign) {
        any = true;
        hasher.update(&key.hash.to_le_bytes());
    }
    if any { hasher.finalize().to_hex()[..32].to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(name: &str, records: &[(u64, i64)]) -> Holder {
        let keys: Vec<RecordKey> =
            records.iter().map(|(hash, at)| RecordKey { hash: *hash, at: *at }).collect();
        Holder { name: name.into(), last: keys.iter().map(|key| key.at).max().unwrap_or(0), keys }
    }

    fn owner(sessions: Vec<Holder>, key: u64) -> String {
        Ownership::new(sessions).owner(key).unwrap().to_owned()
    }

    #[test]
    fn the_session_that_was_there_first_owns_whatever_the_order() {
        // `b` was forked from `z` after the second record; `c` is a complete copy of `b` that continued.
        let z = holder("z", &[(1, 10), (2, 20), (3, 30)]);
        let b = holder("b", &[(1, 10), (2, 20), (4, 40)]);
        assert_eq!(owner(vec![z.clone(), b.clone()], 1), "z");
        assert_eq!(owner(vec![b.clone(), z.clone()], 1), "z");
        let c = holder("c", &[(1, 10), (2, 20), (4, 40), (5, 50)]);
        for order in [vec![z.clone(), b.clone(), c.clone()], vec![c, b, z]] {
            assert_eq!(owner(order, 4), "b");
        }
    }

    #[test]
    fn an_old_resume_owns_only_what_is_new() {
        let old = holder("z-old", &[(1, 10), (2, 20)]);
        let new = holder("a-new", &[(1, 10), (2, 20), (3, 30)]);
        assert_eq!(owner(vec![new, old], 2), "z-old");
    }

    #[test]
    fn only_sessions_with_a_copied_record_share() {
        let ownership = Ownership::new(vec![
            holder("a", &[(1, 10), (2, 20)]),
            holder("b", &[(3, 30), (2, 20)]),
            holder("c", &[(uuid_hash("u", 0), 50)]),
        ]);
        assert!(ownership.shares("a") && ownership.shares("b") && !ownership.shares("c"));
        assert!(
            ownership.has_record("u") && !ownership.has_record("") && !ownership.has_record("v")
        );
        assert_eq!((ownership.digest("a"), ownership.digest("c")), ("", ""));
        assert!(!ownership.digest("b").is_empty());
    }
}
