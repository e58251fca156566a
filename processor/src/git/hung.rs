//! Repositories in which git hangs, for example because a pipe replaces one of its files or the network is unreachable.
//! Each call would take the full time limit. Therefore, after the first timeout, git is not called again in the
//! repository for the rest of the run and for some minutes in later runs. A small file in the state directory contains
//! the repositories and the times.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory_store::Timestamp;
use memory_store::layout::UserDirs;
use memory_store::store::{self, Privacy};

/// Time for which git is not called again after a timeout.
const HUNG_MAX: Duration = Duration::from_secs(600);
/// Maximum size in bytes of the file. A larger file is ignored.
const FILE_BYTES_MAX: usize = 64 << 10;
/// Name of the file in the state directory.
const FILE: &str = "hung-git.json";

static HUNG: Mutex<HungGit> = Mutex::new(HungGit { since: BTreeMap::new(), kept: None });

/// Repositories in which git hung.
#[derive(Debug)]
struct HungGit {
    /// Time of the last timeout, by the root at which git was called. `None` if this run has no file for the time.
    since: BTreeMap<PathBuf, Option<Timestamp>>,
    /// The file, and the time of this run.
    kept: Option<(PathBuf, Timestamp)>,
}

impl HungGit {
    /// Reads the timeouts of earlier runs from a file, in which timeouts of this run will be stored.
    fn remember(&mut self, file: PathBuf, now: Timestamp) {
        let bytes = store::read_if_there(&file, FILE_BYTES_MAX).ok().flatten();
        let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let read: BTreeMap<PathBuf, Timestamp> = read.unwrap_or_default();
        // A time in the future was recorded before the clock was set back.
        let is_recent = |since: &Timestamp| {
            u128::try_from(now.0 - since.0).is_ok_and(|passed| passed < HUNG_MAX.as_millis())
        };
        let recent = read.into_iter().filter(|(_, since)| is_recent(since));
        self.since.extend(recent.map(|(root, since)| (root, Some(since))));
        self.kept = Some((file, now));
    }

    /// Records a timeout of git at a root.
    fn note(&mut self, root: &Path) {
        let now = self.kept.as_ref().map(|(_, now)| *now);
        self.since.insert(root.to_owned(), now);
        let Some((file, _)) = &self.kept else { return };
        let since: BTreeMap<&PathBuf, Timestamp> =
            self.since.iter().filter_map(|(root, since)| Some((root, (*since)?))).collect();
        // If this fails because of a path that is not UTF-8 or a full disk, the next run waits for the timeout again.
        let Ok(bytes) = serde_json::to_vec(&since) else { return };
        drop(store::replace(file, &bytes, Privacy::Private));
    }

    fn is_known(&self, root: &Path) -> bool {
        self.since.contains_key(root)
    }

    /// Returns a message for each repository in which git did not answer.
    fn messages(&self) -> Vec<String> {
        let again = self.kept.as_ref().map_or_else(String::new, |(file, _)| {
            let minutes = HUNG_MAX.as_secs() / 60;
            format!(
                " (it is asked again {minutes} minutes later, or once {} is removed)",
                file.display()
            )
        });
        let message = |root: &PathBuf| {
            format!(
                "{}: git does not answer there and was not asked again; its data are missing{again}",
                root.display()
            )
        };
        self.since.keys().map(message).collect()
    }
}

/// Sets the file in the state directory in which timeouts are stored between runs, and reads it.
pub fn remember(dirs: &UserDirs, now: Timestamp) {
    hung().remember(dirs.state.join(FILE), now);
}

/// Records a timeout of a call.
pub(super) fn note(command: &Command) {
    if let Some(root) = root(command) {
        hung().note(&root);
    }
}

/// Returns whether an earlier call with the same root timed out.
pub(super) fn is_known(command: &Command) -> bool {
    root(command).is_some_and(|root| hung().is_known(&root))
}

/// Returns a message for each repository in which git did not answer.
pub fn messages() -> Vec<String> {
    hung().messages()
}

fn hung() -> MutexGuard<'static, HungGit> {
    HUNG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the root to which a command of [`super::command`] applies.
fn root(command: &Command) -> Option<PathBuf> {
    let mut arguments = command.get_args();
    (arguments.next()? == "-C").then(|| arguments.next().map(PathBuf::from))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_tests::git;
    use crate::git::{answer_limited, command};

    /// A run within ten minutes does not call git in a repository in which it hung during the previous run.
    #[test]
    fn the_next_runs_remember_for_ten_minutes() {
        const MINUTE_MS: i64 = 60_000;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state").join(FILE);
        let root = Path::new("/home/ada/shop");
        let run = |minutes: i64| {
            let mut hung = HungGit { since: BTreeMap::new(), kept: None };
            hung.remember(file.clone(), Timestamp(1_790_000_000_000 + minutes * MINUTE_MS));
            hung
        };
        assert!(!run(0).is_known(root));
        run(0).note(root);
        for (minutes, is_known) in [(0, true), (9, true), (10, false), (-1, false)] {
            assert_eq!(run(minutes).is_known(root), is_known, "{minutes} minutes later");
        }
        assert!(run(1).messages()[0].contains("/home/ada/shop: git does not answer"));
        // A new entry does not change the time of an older one.
        let mut later = run(6);
        later.note(Path::new("/home/ada/other"));
        assert!(!run(12).is_known(root) && run(12).is_known(Path::new("/home/ada/other")));
        for bytes in [b"{".as_slice(), b"[1]", b"{\"/home/ada/shop\": \"x\"}", b"\xff"] {
            std::fs::write(&file, bytes).unwrap();
            assert!(!run(0).is_known(root));
        }
    }

    /// The time limit would make a second call take ten minutes.
    #[test]
    fn where_git_hangs_it_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let (hangs, answers) = (folder.path().join("hangs"), folder.path().join("answers"));
        for root in [&hangs, &answers] {
            std::fs::create_dir(root).unwrap();
            git(root, &["init", "--quiet"]);
        }
        let config = hangs.join(".git/config");
        std::fs::remove_file(&config).unwrap();
        assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
        let ask = |root: &PathBuf, limit| {
            answer_limited(command(root).args(["rev-parse", "--git-dir"]), Vec::new(), limit)
        };
        let long = Duration::from_secs(600);
        assert!(ask(&answers, long).is_some());
        assert!(ask(&hangs, Duration::from_millis(300)).is_none());
        assert!(ask(&hangs, long).is_none());
        assert!(ask(&answers, long).is_some());
        assert!(
            messages().len() == 1 && messages()[0].contains("hangs: git does not answer"),
            "{:?}",
            messages()
        );
    }
}
