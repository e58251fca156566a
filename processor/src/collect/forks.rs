//! Assigns each record to one session. Forks, and resumes in older versions of Claude Code, copy the records of another
//! session into a new file, but each record must count only once.
//!
//! The owner of a record does not depend on the order in which transcripts were read: among the sessions that contain
//! the record, the owner is the one whose first record of its own is the earliest. A session that was copied completely
//! has no record of its own and precedes all others.

mod key_file;
mod keyset;
mod known;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use crate::transcript::record::{Record, RecordWhat};
use key_file::HASH_BYTES;
pub use key_file::{load_keys, store_keys};
use keyset::KeySet;
pub use known::{Holders, KnownKeys};

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

/// Map from the hash of a key. The hash is used as it is, without another hash function, because there are millions of
/// keys.
type ByKey<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// Hasher that returns the key itself, which is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
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
#[derive(Debug)]
pub struct Ownership {
    /// For each session with shared records, a digest of the records that it does not own (see [`Ownership::digest`]).
    sharing: BTreeMap<String, String>,
    /// The set of all keys, if it was not necessary to read the keys.
    set: Option<KeySet>,
    /// Owners, computed from all keys when first needed.
    owners: OnceLock<Owners>,
    /// Access to all keys.
    holders: Holders,
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
    /// Returns whether a record counts for the session called `name`.
    pub fn owns(&self, name: &str, record: &Record) -> bool {
        if !self.shares(name) {
            return true;
        }
        let Some(keys) = of_record(record) else { return true };
        let owners = self.owners();
        keys.iter().all(|key| owners.owner(key.hash).is_none_or(|owner| owner == name))
    }

    /// Returns whether another session contains any record of this session.
    pub fn shares(&self, name: &str) -> bool {
        self.sharing.contains_key(name)
    }

    /// Returns whether any session contains the record with this uuid; false for an empty uuid.
    pub fn has_record(&self, uuid: &str) -> bool {
        if uuid.is_empty() {
            return false;
        }
        let key = uuid_hash(uuid, 0);
        let is_unknown = |set: &KeySet| set.may_hold(key).is_ok_and(|may| !may);
        !self.set.as_ref().is_some_and(is_unknown) && self.owners().held.contains_key(&key)
    }

    /// Returns a digest of the records that a session does not own; empty if it owns all.
    pub fn digest(&self, name: &str) -> &str {
        self.sharing.get(name).map_or("", String::as_str)
    }

    fn owners(&self) -> &Owners {
        self.owners.get_or_init(|| Owners::new(self.holders.load()))
    }
}

/// Owners, computed from the keys of all sessions.
#[derive(Debug, Default)]
struct Owners {
    names: Vec<String>,
    /// Keys that occur in several sessions, with the index of their owner in `names`.
    shared: ByKey<usize>,
    /// All keys, each with one of its sessions.
    held: ByKey<usize>,
    /// The sessions with shared keys, each with a digest of the keys that it does not own.
    sharing: BTreeMap<String, String>,
}

impl Owners {
    /// Computes the owners. The result does not depend on the order of the sessions.
    fn new(mut sessions: Vec<Holder>) -> Self {
        sessions.sort_by(|a, b| a.name.cmp(&b.name));
        let mut held: ByKey<usize> = ByKey::default();
        held.reserve(sessions.iter().map(|session| session.keys.len()).sum());
        let mut shared: HashSet<u64> = HashSet::new();
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
    use memory_store::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::collect::archive::{Archive, SessionFile, SessionHeader};
    use memory_store::layout::ProjectDir;

    fn holder(name: &str, records: &[(u64, i64)]) -> Holder {
        let keys: Vec<RecordKey> =
            records.iter().map(|(hash, at)| RecordKey { hash: *hash, at: *at }).collect();
        Holder { name: name.into(), last: keys.iter().map(|key| key.at).max().unwrap_or(0), keys }
    }

    fn owner(sessions: Vec<Holder>, key: u64) -> String {
        Owners::new(sessions).owner(key).unwrap().to_owned()
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

    /// Returns a session whose archive file has a record for each number.
    fn archived(archive: &Archive, name: &str, numbers: &[u8]) -> (String, String, i64) {
        let records: Vec<Record> = numbers
            .iter()
            .map(|number| Record {
                uuid: format!("u{number}"),
                part: 0,
                parent: String::new(),
                at: Timestamp(i64::from(*number)),
                side: false,
                what: RecordWhat::Text { message: String::new(), text: format!("text {number}") },
            })
            .collect();
        let last = records.iter().map(|record| record.at.0).max().unwrap_or(0);
        let header = SessionHeader { session: name.to_owned(), ..SessionHeader::default() };
        archive.store(&SessionFile { header, records }).unwrap();
        (name.to_owned(), format!("{numbers:?}"), last)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Sessions begin, continue, are forked and are removed, a few of them between two runs.
        #[test]
        fn what_is_remembered_decides_as_looking_at_all_keys_does(
            steps in prop::collection::vec((0usize..5, 0usize..6, 0u8..12, prop::bool::ANY), 1..24),
        ) {
            let home = tempfile::tempdir().unwrap();
            let home = ProjectDir::at(home.path().to_owned());
            let archive = Archive::open(&home);
            let mut sessions: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            let mut known = KnownKeys::default();
            let mut next = 0;
            for (session, what, number, looks) in steps {
                let name = format!("s-{session}");
                match what {
                    // The session continues with a record that no other session contains.
                    0..=3 => {
                        next += 1;
                        sessions.entry(name).or_default().push(100 + next);
                    }
                    // The session copies a record that other sessions may contain as well.
                    4 => sessions.entry(name).or_default().push(number),
                    _ => drop(sessions.remove(&name)),
                }
                if !looks {
                    continue;
                }
                let holders = || Holders {
                    home: home.clone(),
                    archive: archive.clone(),
                    sessions: sessions
                        .iter()
                        .map(|(name, numbers)| archived(&archive, name, numbers))
                        .collect(),
                };
                let quick = holders().decide_with(&mut known);
                let plain = holders().decide();
                prop_assert_eq!(&quick.sharing, &plain.sharing);
                for (name, numbers) in &sessions {
                    let file = archive.load(name).unwrap().unwrap();
                    prop_assert_eq!(file.records.len(), numbers.len());
                    for record in &file.records {
                        prop_assert_eq!(quick.owns(name, record), plain.owns(name, record));
                        prop_assert!(quick.has_record(&record.uuid));
                    }
                }
                prop_assert!(!quick.has_record("nobody's"));
            }
        }
    }

    #[test]
    fn only_a_copied_record_has_the_keys_of_all_looked_at() {
        let home = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(home.path().to_owned());
        let archive = Archive::open(&home);
        let mut known = KnownKeys::default();
        let mut decide = |sessions: &[(&str, &[u8])]| {
            let sessions = sessions.iter();
            let sessions = sessions.map(|(name, numbers)| archived(&archive, name, numbers));
            let sessions = sessions.collect();
            Holders { home: home.clone(), archive: archive.clone(), sessions }
                .decide_with(&mut known)
        };
        let is_quick = |ownership: &Ownership| {
            assert_eq!(ownership.set.is_some(), ownership.owners.get().is_none());
            ownership.set.is_some()
        };
        assert!(!is_quick(&decide(&[("a", &[1, 2]), ("b", &[3])])));
        // One session continues and another begins.
        let quick = decide(&[("a", &[1, 2, 4]), ("b", &[3]), ("c", &[5])]);
        assert!(is_quick(&quick));
        let record = &archive.load("a").unwrap().unwrap().records[2];
        assert!(quick.owns("a", record) && !quick.has_record("nobody's"));
        assert!(is_quick(&quick), "neither answer needs them");
        let plain = decide(&[("a", &[1, 2, 4]), ("b", &[3, 4]), ("c", &[5])]);
        assert!(!is_quick(&plain) && plain.shares("a") && plain.shares("b"));
        // While the sessions with shared records are unchanged, new records of other sessions do not require reading
        // all keys.
        let quick = decide(&[("a", &[1, 2, 4]), ("b", &[3, 4]), ("c", &[5, 6])]);
        assert!(is_quick(&quick) && quick.shares("b") && !quick.shares("c"));
    }
}
