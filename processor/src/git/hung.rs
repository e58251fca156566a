//! Repositories in which git does not answer: a pipe in the place of one of its files, a network that is away. Each
//! call would take all the time that a call may take, so after the first one nobody asks there again in this run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// For as long as this process runs, which is one run.
static HUNG: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes that a call was given up.
pub(super) fn note(command: &Command) {
    if let Some(root) = root(command) {
        HUNG.lock().unwrap_or_else(PoisonError::into_inner).insert(root);
    }
}

/// Whether a call there was given up before.
pub(super) fn is_known(command: &Command) -> bool {
    let hung = HUNG.lock().unwrap_or_else(PoisonError::into_inner);
    !hung.is_empty() && root(command).is_some_and(|root| hung.contains(&root))
}

/// The repositories in which git did not answer, in words.
pub fn told() -> Vec<String> {
    let hung = HUNG.lock().unwrap_or_else(PoisonError::into_inner);
    let told = |root: &PathBuf| {
        format!(
            "{}: git does not answer there and was not asked again; what it would have told is missing",
            root.display()
        )
    };
    hung.iter().map(told).collect()
}

/// Where a command of [`super::command`] asks.
fn root(command: &Command) -> Option<PathBuf> {
    let mut arguments = command.get_args();
    (arguments.next()? == "-C").then(|| arguments.next().map(PathBuf::from))?
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::git::{answer_limited, command};
    use crate::testing::git;

    /// Were it asked again, the second call would take ten minutes.
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
            told().len() == 1 && told()[0].contains("hangs: git does not answer"),
            "{:?}",
            told()
        );
    }
}
