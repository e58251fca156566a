//! Removes old temporary data that hooks write and never delete.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use memory_store::exchange::file_pool;
use memory_store::layout::TreeDir;
use memory_store::time::DAY_MS;

use crate::private_files::modified_ns;

/// Number of days after its last use for which the record of a session's injections is kept.
const SESSION_DAYS: i64 = 30;
/// Number of days for which receipts are kept.
const RECEIPT_DAYS: i64 = 90;
/// Number of days for which a person's edit is kept if it could not be applied.
const EDIT_DAYS: i64 = 30;

/// Removes old files in the state of one working tree, and creates spare files for hooks. Errors are ignored, because
/// the next run tries again.
pub fn sweep(state: &TreeDir, now: Timestamp) {
    remove_old(&state.sessions, now, SESSION_DAYS);
    if let Some(receipts) = state.receipts("any").parent() {
        remove_old(receipts, now, RECEIPT_DAYS);
    }
    sweep_edits(state, now);
    // Hooks also work without spare files.
    let _ = file_pool::refill(&state.sessions);
    for log in [&state.log, &state.hook_log] {
        let _ = crate::log::rotate(log);
    }
}

/// Removes copies of memories that were edited long ago and not applied.
pub fn sweep_edits(state: &TreeDir, now: Timestamp) {
    // The edit may be the only one in its folder, so the newest file in the state folder determines the time.
    let last = fs::metadata(&state.folder).map(|metadata| newest(&state.folder, &metadata));
    remove_older(&state.edits, now.0.min(last.unwrap_or(now.0)), EDIT_DAYS);
}

/// Removes entries that were not modified within `days` before the newest entry. The current time is not used if it is
/// later, because a wrong clock must not make entries old.
fn remove_old(folder: &Path, now: Timestamp, days: i64) {
    let last = entries(folder).map(|(_, _, touched)| touched).max();
    remove_older(folder, last.map_or(now.0, |last| now.0.min(last)), days);
}

/// Removes entries that were not modified within `days` before a time in milliseconds since 1970.
fn remove_older(folder: &Path, now_ms: i64, days: i64) {
    for (path, is_dir, touched) in entries(folder).collect::<Vec<_>>() {
        if now_ms.saturating_sub(touched) <= days * DAY_MS {
            continue;
        }
        let _ = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// Returns the entries of a folder, each with its path, whether it is a folder, and the time of its last change in
/// milliseconds.
fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, bool, i64)> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_spare = |entry: &DirEntry| {
        entry.file_name().as_encoded_bytes().starts_with(file_pool::START.as_bytes())
    };
    all.filter(move |entry| !is_spare(entry)).filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((entry.path(), metadata.is_dir(), newest(&entry.path(), &metadata)))
    })
}

/// Returns the time of the last change of a file, or of a folder or any file in it, in milliseconds since 1970.
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

    #[test]
    fn a_copy_that_was_edited_goes_though_it_is_the_only_one() {
        let state = TreeDir::at(tempfile::tempdir().unwrap().keep());
        let copy = state.edits.join("one");
        fs::create_dir_all(&copy).unwrap();
        fs::write(copy.join("memory.md"), "what was typed").unwrap();
        let now = newest(&state.folder, &fs::metadata(&state.folder).unwrap());
        sweep_edits(&state, Timestamp(now + 40 * DAY_MS));
        assert!(copy.exists(), "nothing else is as late as that clock");
        for file in [copy.join("memory.md"), copy.clone()] {
            let old = UNIX_EPOCH + Duration::from_secs(86_400);
            fs::File::open(file).unwrap().set_modified(old).unwrap();
        }
        sweep_edits(&state, Timestamp(now));
        assert!(!copy.exists());
        fs::remove_dir_all(state.folder).unwrap();
    }
}
