//! Disposable state that grew old: hooks write it and never delete.

use std::fs;
use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use memory_store::layout::TreeDir;
use memory_store::spare;
use memory_store::time::DAY_MS;

use crate::archive::modified_ns;

/// Days that what a session was given is kept after its last use.
const SESSION_DAYS: i64 = 30;
/// Days that receipts are kept.
const RECEIPT_DAYS: i64 = 90;
/// Days that what somebody edited is kept where it could not be taken over.
const EDIT_DAYS: i64 = 30;

/// Removes what is old in the state of one working tree, and refills what hooks use up. What cannot
/// be done is left for the next time.
pub fn sweep(state: &TreeDir, now: Timestamp) {
    remove_old(&state.sessions(), now, SESSION_DAYS);
    if let Some(receipts) = state.receipts("any").parent() {
        remove_old(receipts, now, RECEIPT_DAYS);
    }
    remove_old(&state.edits(), now, EDIT_DAYS);
    // Hooks do without.
    let _ = spare::refill(&state.sessions());
    for log in [state.log(), state.hook_log()] {
        let _ = crate::log::rotate(&log);
    }
}

/// The same for what is not any working tree's.
pub fn sweep_user(state: &TreeDir, now: Timestamp) {
    remove_old(&state.edits(), now, EDIT_DAYS);
}

/// Removes what was not touched for `days` before the newest entry was: a clock that is far ahead
/// makes nothing old.
fn remove_old(folder: &Path, now: Timestamp, days: i64) {
    let entries: Vec<(PathBuf, bool, i64)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !spare::is_spare(&entry.file_name()))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((entry.path(), metadata.is_dir(), newest(&entry.path(), &metadata)))
        })
        .collect();
    let last = entries.iter().map(|(_, _, touched)| *touched).max();
    let now = last.map_or(now.0, |last| now.0.min(last));
    for (path, is_dir, touched) in entries {
        if now.saturating_sub(touched) <= days * DAY_MS {
            continue;
        }
        let _ = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// When a file, or any file of a folder, was last changed, in milliseconds since 1970.
fn newest(path: &Path, metadata: &fs::Metadata) -> i64 {
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    let times =
        inside.filter_map(|entry| entry.metadata().ok()).map(|metadata| modified_ns(&metadata));
    let newest = times.chain([modified_ns(metadata)]).max().unwrap_or(0);
    i64::try_from(newest / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn what_is_old_goes_but_not_by_a_wrong_clock() {
        let home = tempfile::tempdir().unwrap();
        let day = |days: i64| Timestamp(days * DAY_MS);
        let write = |name: &str, days: u64| {
            let file = fs::File::create(home.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(days * 86_400)).unwrap();
        };
        let left = |now: Timestamp| {
            remove_old(home.path(), now, 30);
            fs::read_dir(home.path()).unwrap().count()
        };
        write("a", 1_000);
        write("b", 1_020);
        assert_eq!(left(day(1_031)), 2, "all of it is in use");
        assert_eq!(left(day(9_000)), 2, "nothing else is as late as that clock");
        write("c", 1_045);
        assert_eq!(left(day(1_046)), 2);
        assert!(!home.path().join("a").exists());
    }
}
