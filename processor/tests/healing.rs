//! Indexes with files that are damaged, truncated or missing. The next sync rebuilds them, regardless of its other
//! work.

use std::fs;
use std::path::PathBuf;

use crate::scripts::{Sealed, eventful, now};
use memory_store::index::health::{Depth, inspect};
use memory_store::recall::{Recall, Search, Tier};
use processor::lock::Busy;
use processor::sync::{SyncOptions, SyncReport, sync};

/// Function that returns the damaged content of a file, or `None` to delete the file.
type Damage = fn(&[u8]) -> Option<Vec<u8>>;

/// Kinds of damage of a file. The last three keep the file's length, and the tests keep its time.
const DAMAGES: [Damage; 6] = [
    |_| None,
    |_| Some(Vec::new()),
    |bytes| Some(bytes[..bytes.len() / 2].to_vec()),
    |bytes| Some(vec![0; bytes.len()]),
    |bytes| Some(flipped(bytes, bytes.len() / 2)),
    |bytes| Some(flipped(bytes, bytes.len() - 1)),
];

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

fn synced() -> Sealed {
    let sealed = Sealed::new();
    sealed.want_thinking();
    for number in 1..4 {
        let mut script = eventful(&format!("s{number}"), sealed.root(), number);
        script.block(serde_json::json!({
            "type": "thinking", "thinking": format!("The flush of {number} comes too late."),
            "signature": "x",
        }));
        sealed.write_script(&script);
    }
    sealed.sync();
    sealed
}

/// Returns the indexes of the project and of the user's own memories.
fn indexes(sealed: &Sealed) -> [PathBuf; 3] {
    let state = sealed.dirs.tree(&sealed.tree.root);
    [state.index.clone(), state.thinking.clone(), sealed.dirs.user_state().index]
}

/// Returns the segments and the manifest of an index.
fn files(folder: &PathBuf) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = listing.filter(|path| !path.ends_with("writer.lock")).collect();
    files.sort();
    files
}

/// Damages a file without changing the time of its last change.
fn damage(path: &PathBuf, damage: Damage) {
    let bytes = fs::read(path).unwrap();
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    match damage(&bytes) {
        Some(bytes) => {
            fs::write(path, bytes).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        }
        None => fs::remove_file(path).unwrap(),
    }
}

fn is_sound(sealed: &Sealed) -> bool {
    indexes(sealed).iter().all(|folder| inspect(folder, Depth::Bytes).damage().is_none())
}

/// Returns the numbers of turns, thoughts and memories that searches find.
fn found(sealed: &Sealed) -> [usize; 3] {
    let recall = Recall::open(&sealed.dirs, &sealed.tree, None);
    let search = |text: &str, tier| {
        let search = Search { text: text.into(), tier, limit: 50, ..Search::default() };
        recall.search(&search, now()).hits.len()
    };
    [
        search("closes", Tier::Passages),
        search("flush", Tier::Thinking),
        search("locked tests", Tier::Memories),
    ]
}

/// Damages each file in each way, one at a time, and calls `after` for a sync.
fn each_damage(mut after: impl FnMut(&Sealed, u32) -> SyncReport) {
    let sealed = synced();
    let sound = found(&sealed);
    assert!(sound.iter().all(|&count| count > 0), "{sound:?}");
    assert!(is_sound(&sealed));
    let mut number = 10;
    for folder in indexes(&sealed) {
        for (way, damaged) in DAMAGES.into_iter().enumerate() {
            let count = files(&folder).len();
            for place in 0..count {
                let path = files(&folder).swap_remove(place);
                damage(&path, damaged);
                number += 1;
                let report = after(&sealed, number);
                assert!(report.healed > 0, "{} in way {way}: {report:?}", path.display());
                assert_eq!(report.warnings, Vec::<String>::new());
                assert!(is_sound(&sealed), "{} in way {way}", path.display());
                let now = found(&sealed);
                assert!(now.iter().zip(sound).all(|(now, before)| *now >= before), "{now:?}");
            }
        }
    }
}

#[test]
fn a_sync_with_nothing_new_heals() {
    each_damage(|sealed, _| sync(&sealed.options()).unwrap());
}

#[test]
fn a_rebuild_reads_nothing_that_it_replaces() {
    each_damage(|sealed, _| {
        let report = sync(&SyncOptions { afresh: true, ..sealed.options() }).unwrap();
        // A rebuild does not check for damage.
        SyncReport { healed: 1, ..report }
    });
}

/// In the background, only headers are checked if there is anything new. Other damage is found by the next sync without
/// anything new.
#[test]
fn a_sync_in_the_background_that_has_something_new_heals() {
    each_damage(|sealed, number| {
        sealed.write_script(&eventful(&format!("s{number}"), sealed.root(), number));
        let background = SyncOptions { busy: Busy::Leave, ..sealed.options() };
        let first = sync(&background).unwrap();
        let second = sync(&background).unwrap();
        // A file that is replaced in any case need not be reported as damaged.
        SyncReport { healed: (first.healed + second.healed).max(1), ..second }
    });
}
