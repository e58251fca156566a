//! Sessions that relied on a memory and ended well, which confirms that it is still valid.
//!
//! The rule: hooks gave the session the memory, it edited one of the memory's files afterwards, no command was left
//! failing at its end, and the file was not changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use memory_store::layout::TreeDir;
use memory_store::time::DAY_MS;
use memory_store::{MemoryId, Timestamp};
use serde::Deserialize;

use crate::state::State;

/// Number of days whose receipts are searched.
const DAYS: i64 = 14;
/// Maximum number of bytes that are read from the receipts of one day.
const DAY_BYTES_MAX: u64 = 8 << 20;
/// Milliseconds without activity after which a session counts as ended.
const QUIET_MS: i64 = 30 * 60 * 1000;

/// A session that ended well.
#[derive(Clone, Debug)]
pub struct EndedSession {
    last: Timestamp,
    /// The files that it edited, relative to the root, with the time of the last edit.
    edited: BTreeMap<String, Timestamp>,
}

/// The sessions that ended well, by their ids.
pub type EndedSessions = BTreeMap<String, EndedSession>;

/// Returns the sessions that ended well.
pub fn sessions(state: &State, now: Timestamp) -> EndedSessions {
    let ended = state.whole_sessions().into_values().filter_map(|session| {
        let (_, left) = session.left.as_ref()?;
        let is_well = left.failing.is_none() && now.0 - left.last.0 >= QUIET_MS;
        let edited = session.edited.clone();
        (is_well && !edited.is_empty())
            .then(|| (left.session.clone(), EndedSession { last: left.last, edited }))
    });
    ended.collect()
}

/// The used fields of a line of the receipts.
#[derive(Deserialize)]
struct ReceiptLine {
    at: Timestamp,
    session: String,
    #[serde(default)]
    memories: Vec<GivenMemories>,
}

#[derive(Deserialize)]
struct GivenMemories {
    id: MemoryId,
}

/// Returns, for each memory that a session confirmed, the time of the last confirmation. `memories` are the ids with
/// the files of the memories; `modified` returns the time of a file's last change.
pub fn confirmed(
    tree: &TreeDir,
    sessions: &EndedSessions,
    memories: &BTreeMap<MemoryId, BTreeSet<String>>,
    modified: &dyn Fn(&str) -> Option<Timestamp>,
    now: Timestamp,
) -> BTreeMap<MemoryId, Timestamp> {
    let mut confirmed: BTreeMap<MemoryId, Timestamp> = BTreeMap::new();
    if sessions.is_empty() || memories.is_empty() {
        return confirmed;
    }
    for day in 0..DAYS {
        let date = Timestamp(now.0 - day * DAY_MS).date();
        let Ok(file) = File::open(tree.receipts(&date)) else { continue };
        for line in BufReader::new(file.take(DAY_BYTES_MAX)).split(b'\n').map_while(Result::ok) {
            // A torn line is skipped.
            let Ok(receipt) = serde_json::from_slice::<ReceiptLine>(&line) else { continue };
            let Some(session) = sessions.get(&receipt.session) else { continue };
            for GivenMemories { id } in receipt.memories {
                let Some(paths) = memories.get(&id) else { continue };
                let relied = |path: &String| {
                    session.edited.get(path).is_some_and(|edited| *edited >= receipt.at)
                        && modified(path).is_some_and(|modified| modified <= session.last)
                };
                if paths.iter().any(relied) {
                    let known = confirmed.entry(id).or_insert(session.last);
                    *known = session.last.max(*known);
                }
            }
        }
    }
    confirmed
}
