//! While git is changing files, a sync does not decide about missing files.

use std::fs;

use memory_store::ledger::Reason;
use memory_store::reconcile::Desired;

use super::journey::{Journey, memory};

/// A sync may run between two steps of `git stash -u`. Files that are missing then do not count as deleted, and are not
/// written to paths that git requires.
#[test]
fn what_git_moves_right_now_is_left_for_the_next_sync() {
    let journey = Journey::new(3);
    journey.sync();
    let lock = journey.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    journey.delete(1);
    for _ in 0..2 {
        assert_eq!(journey.sync().tombstoned, 0);
        assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![]));
    }
    // The file was not moved by git, but deleted.
    fs::remove_file(&lock).unwrap();
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![(1, Reason::Deleted)]));
}

/// Checks that a sync does not decide about missing files if git changed anything between its answers and the reading
/// of the disk. It must not record a state that would mislead the next sync either.
#[test]
fn what_git_moved_since_it_was_asked_is_left_for_the_next_sync() {
    let moves: [&[&str]; 4] = [
        &["checkout -q side"],
        &["checkout -q --detach side"],
        &["reset -q --hard side"],
        &["stash -q -u"],
    ];
    for moves in moves {
        let mut journey = Journey::new(3);
        journey.git("branch side");
        journey.sync();
        journey.commit_memories();
        journey.desired.push(Desired { memory: memory(3), root: journey.root().to_owned() });
        journey.sync();
        let asked = journey.trees();
        for arguments in moves {
            journey.git(arguments);
        }
        for _ in 0..2 {
            let outcome = journey.reconcile(&asked).unwrap();
            assert!(outcome.unsettled && outcome.written == 0, "{moves:?}: {outcome:?}");
            assert_eq!(journey.tombstones(), [], "{moves:?}");
        }
        journey.sync();
        assert_eq!(journey.known(), [0, 1, 2, 3], "{moves:?}");
        assert_eq!(journey.tombstones(), [], "{moves:?}");
    }
}

/// A linked working tree has a separate index and lock.
#[test]
fn what_git_moves_in_a_linked_tree_is_left_for_the_next_sync() {
    let mut journey = Journey::new(1);
    journey.sync();
    let linked = journey.home.path().canonicalize().unwrap().join("linked");
    journey.git(&format!("worktree add -q -b side {}", linked.display()));
    for n in [1, 2, 3] {
        journey.desired.push(Desired { memory: memory(n), root: linked.clone() });
    }
    journey.sync();
    assert_eq!(journey.files_in(&linked), [1, 2, 3]);
    let lock = journey.root().join(".git/worktrees/linked/index.lock");
    fs::write(&lock, "").unwrap();
    let store = journey.store().at(&linked);
    fs::remove_file(store.list().unwrap().find(&memory(2).id.to_string()).unwrap().path).unwrap();
    journey.sync();
    assert_eq!(journey.tombstones(), []);
    fs::remove_file(&lock).unwrap();
    journey.sync();
    assert_eq!(journey.tombstones(), [(2, Reason::Deleted)]);
}

/// A merge that stopped halfway has removed the files that the other branch removed. Aborting the merge restores them.
#[test]
fn what_an_unfinished_merge_took_is_judged_when_it_is_over() {
    for gives_up in [true, false] {
        let journey = Journey::new(3);
        journey.sync();
        journey.commit_memories();
        journey.sync();
        journey.git("checkout -q -b side");
        journey.git(&format!("rm -q {}", journey.path(1).display()));
        fs::write(journey.root().join("code"), "side\n").unwrap();
        journey.git("commit -q -a -m side");
        journey.git("checkout -q main");
        fs::write(journey.root().join("code"), "main\n").unwrap();
        journey.git("commit -q -a -m main");
        journey.sync();
        journey.try_git(journey.root(), "merge -q side").unwrap_err();
        assert_eq!(journey.files(), [0, 2]);
        journey.sync();
        assert_eq!(journey.tombstones(), []);
        if gives_up {
            journey.git("merge --abort");
            journey.sync();
            assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2], vec![]));
        } else {
            journey.git("commit -q -a -m merged");
            journey.sync();
            assert_eq!(journey.tombstones(), [(1, Reason::RemovedInCommit)]);
        }
    }
}
