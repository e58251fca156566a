//! Search for memory files that Claude's tool calls wrote or removed without this program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use memory_store::layout::{Tree, UserDirs};
use memory_store::ledger::{Asked, Ledger, PendingChange};
use memory_store::progress::Progress;
use memory_store::store::{Store, Stored, Written};
use memory_store::{Timestamp, trust};

use crate::tool_calls::{ToolCalls, earliest_change};
use crate::{git, trust as pulls};

/// Time to wait until a recent tool call is in its transcript.
const FLUSH_WAIT: Duration = Duration::from_millis(300);
/// Milliseconds after which a tool call is certain to be in its transcript.
const FLUSHED_MS: i64 = 1_000;

/// Memory files that tool calls removed, by the root of their working tree.
pub type Removed = BTreeMap<PathBuf, Vec<PathBuf>>;

/// A store, with its files that have to be checked.
struct CheckedStore {
    store: Store,
    /// State of git when the files of the working tree were last checked.
    position: Option<String>,
    /// Files whose texts are not in the ledger.
    unseen: Vec<Stored>,
    /// Files that are missing, with the ids of their memories.
    missing: Vec<(memory_store::MemoryId, PathBuf)>,
    looked: Timestamp,
}

impl CheckedStore {
    fn gather(dirs: &UserDirs, store: Store, tree: &Tree) -> Result<Self> {
        let ledger = Ledger::open(&store.home)?;
        let looked = Progress::read(&dirs.tree(&tree.root).progress).last_run;
        Ok(Self {
            position: pulls::position_of(&store.home, &tree.root),
            unseen: trust::unseen(&store)?,
            missing: ledger.missing_of_person(store.root.as_deref(), &store.folder),
            looked,
            store,
        })
    }

    /// Returns the time from which on transcripts have to be read; `None` if no file has to be checked.
    fn since(&self) -> Option<Timestamp> {
        let paths: Vec<&Path> = self.unseen.iter().map(|stored| stored.path.as_path()).collect();
        let looked = (!self.missing.is_empty()).then_some(self.looked);
        [earliest_change(&paths), looked].into_iter().flatten().min()
    }

    /// Separates the unseen files that tool calls wrote from the others.
    fn written(&self, calls: &ToolCalls) -> (Vec<Written>, Vec<Stored>) {
        let (mut written, mut others, mut likely) = (Vec::new(), Vec::new(), Vec::new());
        for stored in &self.unseen {
            let of = |session: &str| Written {
                stored: stored.clone(),
                session: Some(session.to_owned()).filter(|session| !session.is_empty()),
            };
            match (calls.writer(&stored.path, true), calls.writer(&stored.path, false)) {
                (Some(session), _) => written.push(of(session)),
                (None, Some(session)) => likely.push(of(session)),
                (None, None) => others.push(stored.clone()),
            }
        }
        // A tool call may have run at the time at which git wrote the file.
        let files = likely.iter().map(|written| written.stored.clone()).collect();
        let by_git = match self.store.root.as_deref() {
            Some(root) => pulls::written_by_git(root, files),
            None => Vec::new(),
        };
        let (git, claude): (Vec<Written>, Vec<Written>) =
            likely.into_iter().partition(|it| by_git.contains(&it.stored));
        written.extend(claude);
        others.extend(git.into_iter().map(|written| written.stored));
        (written, others)
    }

    /// Whether git may have removed files: a branch, a stash or the index changed, or could not be read.
    fn has_git_moved(&self) -> bool {
        let Some(root) = self.store.root.as_deref() else { return false };
        let position = git::memory_position(root);
        position.is_none() || position != self.position || !self.store.folder.exists()
    }
}

/// Checks the stores of a project and the user's own store, and records Claude's changes. Returns the files that tool
/// calls removed, which the caller writes again.
pub fn look(dirs: &UserDirs, trees: &[Tree], now: Timestamp) -> Result<Removed> {
    let Some(main) = trees.first() else { return Ok(Removed::new()) };
    let mut places = vec![CheckedStore::gather(dirs, Store::user(dirs)?, main)?];
    for tree in trees {
        let store = Store::open(dirs, tree)?;
        let is_private = store.root.is_none();
        places.push(CheckedStore::gather(dirs, store, tree)?);
        // All working trees of a private project share one store.
        if is_private {
            break;
        }
    }
    let Some(since) = places.iter().filter_map(CheckedStore::since).min() else {
        return Ok(Removed::new());
    };
    let mut calls = ToolCalls::read(dirs, since);
    if places.iter().any(|place| is_fresh(place, &calls)) {
        thread::sleep(FLUSH_WAIT);
        calls = ToolCalls::read(dirs, since);
    }
    let mut removed = Removed::new();
    for place in &places {
        let store = &place.store;
        let (written, others) = place.written(&calls);
        // In a committed folder, reconciliation decides about the other files.
        store.note_written(&written, &others, store.root.is_none(), now)?;
        if place.missing.is_empty() {
            continue;
        }
        let by_git = place.has_git_moved();
        let present = file_system_now(store).unwrap_or(now);
        for (id, name) in &place.missing {
            let file = store.folder.join(name);
            let Some(session) = calls.remover(&file, (place.looked, present), by_git) else {
                continue;
            };
            let session = Some(session.to_owned()).filter(|session| !session.is_empty());
            let change = PendingChange::new(*id, Asked::Remove, session, now);
            if store.is_user_store() {
                store.write_removed(change, name)?;
                continue;
            }
            store.ask(change)?;
            let root = store.root.clone().unwrap_or_default();
            removed.entry(root).or_default().push(name.clone());
        }
    }
    Ok(removed)
}

/// Whether a file was written so recently that its tool call may not be in the transcript yet.
fn is_fresh(place: &CheckedStore, calls: &ToolCalls) -> bool {
    let paths = place.unseen.iter().filter(|stored| calls.writer(&stored.path, false).is_none());
    let paths: Vec<PathBuf> = paths.map(|stored| stored.path.clone()).collect();
    let Some(now) = file_system_now(&place.store) else { return false };
    paths
        .iter()
        .any(|path| earliest_change(&[path]).is_some_and(|changed| now.0 - changed.0 < FLUSHED_MS))
}

/// Returns the current time by the clock of the file system.
fn file_system_now(store: &Store) -> Option<Timestamp> {
    let file = tempfile::NamedTempFile::new_in(&store.home.folder).ok()?;
    earliest_change(&[file.path()])
}
