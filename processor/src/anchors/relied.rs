//! Sessions that used a memory: hooks gave it to the session, which edited one of its files afterwards or ran its
//! command, and left no command failing at its end. If the file was not changed since, that also confirms that the
//! memory is still valid.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use memory_store::layout::TreeDir;
use memory_store::passed_commands::PassedCommand;
use memory_store::store::Stored;
use memory_store::time::DAY_MS;
use memory_store::uses::{Use, Uses};
use memory_store::{Memory, MemoryId, Timestamp};
use serde::Deserialize;

use crate::state::State;

/// Number of days whose receipts are searched.
const DAYS: i64 = 30;
/// Maximum size of one day's receipts that is searched.
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
        is_well.then(|| (left.session.clone(), EndedSession { last: left.last, edited }))
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
    each_given(tree, now, |id, of, at| {
        let (Some(session), Some(paths)) = (sessions.get(of), memories.get(&id)) else { return };
        let relied = |path: &String| {
            session.edited.get(path).is_some_and(|edited| *edited >= at)
                && modified(path).is_some_and(|modified| modified <= session.last)
        };
        if paths.iter().any(relied) {
            let known = confirmed.entry(id).or_insert(session.last);
            *known = session.last.max(*known);
        }
    });
    confirmed
}

/// Counts the use of memories by the sessions of a working tree. `known` is the result of the last count.
pub fn count(
    tree: &TreeDir,
    sessions: &EndedSessions,
    memories: &[Stored],
    commands: &[PassedCommand],
    known: &Uses,
    now: Timestamp,
) -> Uses {
    let there: BTreeMap<MemoryId, &Memory> =
        memories.iter().map(|stored| (stored.memory.id, &stored.memory)).collect();
    let mut uses: Uses = there
        .keys()
        .filter_map(|id| Some((*id, Use { last: Some(known.get(id)?.last?), ..Use::default() })))
        .collect();
    let ran = |memory: &Memory, of: &str, at: Timestamp| {
        memory.command.as_ref().is_some_and(|its| {
            let is_its = |it: &&PassedCommand| it.line == its.line && it.folder == its.directory;
            let ran = commands.iter().find(is_its);
            ran.is_some_and(|ran| ran.session == of && ran.last >= at)
        })
    };
    let (mut given, mut used) = (HashSet::new(), HashSet::new());
    each_given(tree, now, |id, of, at| {
        let Some(memory) = there.get(&id) else { return };
        let counts = uses.entry(id).or_default();
        counts.given += u32::from(given.insert((id, of.to_owned())));
        let Some(session) = sessions.get(of) else { return };
        let is_edited = memory
            .paths
            .iter()
            .any(|path| session.edited.get(&path.path).is_some_and(|edited| *edited >= at));
        if (is_edited || ran(memory, of, at)) && used.insert((id, of.to_owned())) {
            counts.used += 1;
            counts.last = counts.last.max(Some(session.last));
        }
    });
    uses
}

/// Calls a function for each memory in the receipts of the last days, with the session and the time.
fn each_given(tree: &TreeDir, now: Timestamp, mut given: impl FnMut(MemoryId, &str, Timestamp)) {
    for day in 0..DAYS {
        let date = Timestamp(now.0 - day * DAY_MS).date();
        let Ok(file) = File::open(tree.receipts(&date)) else { continue };
        for line in BufReader::new(file.take(DAY_BYTES_MAX)).split(b'\n').map_while(Result::ok) {
            // A torn line is skipped.
            let Ok(receipt) = serde_json::from_slice::<ReceiptLine>(&line) else { continue };
            for GivenMemories { id } in receipt.memories {
                given(id, &receipt.session, receipt.at);
            }
        }
    }
}
