//! Completion of values in a shell: ids of memories with their titles, kinds, and names of settings.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use memory_store::Kind;
use memory_store::settings_file;

use crate::stores::Stores;
use crate::view::changes::line;
use crate::view::wrap::cut;
use crate::world::World;

/// The variable with which a completion script requests candidates.
pub const VARIABLE: &str = "THROUGHLINE_COMPLETE";
/// Columns of a title after an id.
const TITLE_COLUMNS: usize = 60;
/// Maximum memories offered, the newest ones.
const IDS_MAX: usize = 500;

/// Completes the id of a memory that counts.
pub fn ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| memories(current, false))
}

/// Completes the id of an archived or deleted memory.
pub fn removed_ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| memories(current, true))
}

/// Completes a kind of memory.
pub fn kinds() -> ArgValueCandidates {
    ArgValueCandidates::new(|| Kind::ALL.map(|kind| CompletionCandidate::new(kind.name())).into())
}

/// Completes the name of a setting.
pub fn settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Ok(world) = World::read(folder().as_deref()) else { return Vec::new() };
        let mut names = Vec::new();
        for explained in settings_file::explain(&world.dirs, None) {
            names.push(explained.key.to_owned());
            let inner = explained.json.as_object().into_iter().flat_map(|inner| inner.keys());
            names.extend(inner.map(|name| format!("{}.{name}", explained.key)));
        }
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Returns the memories whose short id begins with the typed text; none if the stores cannot be read.
fn memories(current: &OsStr, are_removed: bool) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy().to_lowercase();
    let world = World::read(folder().as_deref()).ok();
    let Some(stores) = world.and_then(|world| Stores::open(&world).ok()) else { return Vec::new() };
    let mut found: Vec<(memory_store::MemoryId, String)> = Vec::new();
    if are_removed {
        for store in stores.both() {
            let archived = store.archived().map(|listing| listing.memories).unwrap_or_default();
            found.extend(archived.into_iter().map(|it| (it.memory.id, it.memory.title)));
            let gone = store.tombstones().unwrap_or_default();
            found.extend(gone.into_iter().map(|tombstone| (tombstone.id, tombstone.title)));
        }
    } else if let Ok(listing) = stores.list() {
        found.extend(listing.memories.into_iter().map(|it| (it.memory.id, it.memory.title)));
    }
    // Ids are sorted by time.
    found.sort_by(|a, b| b.cmp(a));
    found.dedup_by_key(|(id, _)| *id);
    let candidates = found.into_iter().filter_map(|(id, title)| {
        let short = id.short();
        let help = StyledStr::from(cut(&line(&title), TITLE_COLUMNS));
        short
            .to_lowercase()
            .starts_with(&typed)
            .then(|| CompletionCandidate::new(short).help(Some(help)))
    });
    candidates.take(IDS_MAX).collect()
}

/// Returns the folder given on the line by `-C` or `--project`.
fn folder() -> Option<PathBuf> {
    let mut words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    while let Some(word) = words.next() {
        if word == "-C" || word == "--project" {
            return words.next().map(PathBuf::from);
        }
    }
    None
}
