//! Branches, stashes, working trees and clones: nothing is lost, and no file blocks git.

use std::fs;
use std::path::Path;

use memory_store::layout::Tree;
use memory_store::reconcile::{Desired, Outcome};
use memory_store::store::Store;

use super::journey::{Journey, drafts, memory};

#[test]
fn a_stash_is_not_in_the_way_of_its_return() {
    let journey = Journey::new(3);
    journey.sync();
    journey.git("stash -q -u");
    assert_eq!(journey.files(), [] as [u8; 0]);
    journey.sync();
    // The memories are recalled in the meantime, but their files are not at the paths that the stash restores.
    assert_eq!((journey.known(), journey.files()), (vec![0, 1, 2], vec![]));
    journey.git("stash pop -q");
    journey.sync();
    assert_eq!((journey.known(), journey.files()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!(journey.tombstones(), []);
    assert_eq!(drafts(&journey), 0);

    // A dropped stash does not remove memories either.
    journey.git("stash -q -u");
    journey.sync();
    journey.git("stash drop -q");
    journey.sync();
    assert_eq!((journey.known(), journey.files()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!((journey.tombstones(), drafts(&journey)), (vec![], 0));
}

#[test]
fn a_branch_keeps_its_memories_without_blocking_the_way_back() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    journey.git("checkout -q -b feature");
    journey.desired.push(Desired { memory: memory(1), root: journey.root().to_owned() });
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.git("checkout -q main");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0], vec![0, 1, 2]));
    // The memory is extracted again with another text while the branch is not checked out. Its file on the branch is
    // committed and stays unchanged.
    journey.desired[1].memory.body = "Mined again.".to_owned();
    journey.sync();
    journey.git("checkout -q feature");
    assert_eq!(journey.sync().updated, 0);
    assert_eq!((journey.files(), journey.known()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!(journey.git("status --porcelain"), "");

    // After the merge, the memories are in the main branch.
    journey.git("checkout -q main");
    journey.sync();
    journey.git("merge -q feature");
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 1, 2], 0));
    assert_eq!(journey.tombstones(), []);
}

#[test]
fn an_abandoned_branch_loses_nothing() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    journey.git("checkout -q -b feature");
    journey.desired.push(Desired { memory: memory(1), root: journey.root().to_owned() });
    journey.sync();
    // The memory is committed on the branch, and the branch is left before the next sync.
    journey.commit_memories();
    journey.git("checkout -q main");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0], vec![0, 1]));
    journey.git("branch -q -D feature");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 1], vec![0, 1]));
    // A reset to a commit without the memories is not a deletion.
    journey.commit_memories();
    journey.sync();
    journey.git("reset -q --hard HEAD~2");
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1], vec![]));
}

#[test]
fn a_worktree_leaves_its_memories_behind_when_it_goes() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    let linked = journey.home.path().canonicalize().unwrap().join("linked");
    journey.git(&format!("worktree add -q -b side {}", linked.display()));
    journey.desired.push(Desired { memory: memory(1), root: linked.clone() });
    journey.desired.push(Desired { memory: memory(2), root: linked.clone() });
    journey.sync();
    assert_eq!((journey.files(), journey.files_in(&linked)), (vec![0], vec![0, 1, 2]));

    // One memory is committed on the worktree's branch, the other is not.
    let side = Store::open(&journey.dirs, &Tree { root: linked.clone(), ..journey.tree.clone() });
    let committed = side.unwrap().list().unwrap().find(&memory(1).id.to_string()).unwrap().path;
    journey.git_in(&linked, &format!("add {}", committed.display()));
    journey.git_in(&linked, "commit -q -m memory");
    journey.sync();
    journey.git(&format!("worktree remove --force {}", linked.display()));
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 2], vec![0, 1, 2]));
    journey.git("merge -q side");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!((journey.tombstones(), drafts(&journey)), (vec![], 0));
}

#[test]
fn one_journey_through_everything_loses_nothing() {
    let mut journey = Journey::new(2);
    let add = |journey: &mut Journey, n: u8, root: &Path| {
        journey.desired.push(Desired { memory: memory(n), root: root.to_owned() });
        journey.sync();
    };
    let root = journey.root().to_owned();
    journey.sync();
    let linked = journey.home.path().canonicalize().unwrap().join("linked");
    journey.git(&format!("worktree add -q -b side {}", linked.display()));
    add(&mut journey, 2, &linked);
    journey.git(&format!("worktree remove --force {}", linked.display()));
    add(&mut journey, 3, &linked);
    journey.git("checkout -q -b other");
    add(&mut journey, 4, &root);
    journey.git("clean -fdq");
    add(&mut journey, 5, &root);
    journey.git("stash -q -u");
    add(&mut journey, 6, &root);
    journey.git("checkout -q main");
    journey.git("stash drop -q");
    journey.sync();
    assert_eq!(journey.files(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!((journey.tombstones(), drafts(&journey)), (vec![], 0));
}

#[test]
fn a_detached_head_and_a_stash_of_staged_files_lose_nothing() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.git("checkout -q HEAD~1");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![], vec![0, 1]));
    journey.git("checkout -q main");
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.sync();
    journey.git("add .throughline");
    journey.git("stash -q");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 1], vec![0, 1, 2]));
    journey.git("stash pop -q");
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 1, 2], 0));
    assert_eq!(journey.tombstones(), []);
}

#[test]
fn two_clones_share_what_was_learned_without_writing_it_twice() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    let clone = journey.home.path().canonicalize().unwrap().join("clone");
    journey.git(&format!("clone -q {} {}", journey.root().display(), clone.display()));
    journey.desired.push(Desired { memory: memory(1), root: clone.clone() });
    let sync = |journey: &Journey, roots: [&Path; 2]| {
        let trees = roots.map(|root| journey.git_state(root));
        journey.reconcile(&trees).unwrap()
    };
    let here = journey.root().to_owned();
    assert_eq!(sync(&journey, [&here, &clone]).written, 1);
    assert_eq!(sync(&journey, [&clone, &here]), Outcome { unchanged: 2, ..Outcome::default() });
    assert_eq!((journey.files(), journey.files_in(&clone)), (vec![0], vec![0, 1]));
    // After the clone was removed, the memories that existed only there are written to the main tree.
    fs::remove_dir_all(&clone).unwrap();
    assert_eq!(journey.sync().written, 1);
    assert_eq!(journey.files(), [0, 1]);
}
