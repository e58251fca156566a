//! Tests of missing files: a person's deletion is permanent, and files that git removed are restored.

use std::fs;

use memory_store::ledger::Reason;
use memory_store::reconcile::{Desired, GitState};
use memory_store::redact::Redactor;
use memory_store::store::Change;

use super::journey::{Journey, NOW, memory};

#[test]
fn a_deleted_file_stays_deleted_until_it_is_restored() {
    let journey = Journey::new(3);
    journey.sync();
    journey.delete(1);
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![(1, Reason::Deleted)]));
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!(journey.files(), [0, 2]);

    let restored = journey.store().restore(&memory(1).id.short(), &Redactor::default()).unwrap();
    assert_eq!(restored, None);
    assert_eq!(journey.sync().written, 1);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2], vec![]));
}

/// `git stash -u` lists the files to stash and then removes all untracked files. A file that appears in between is in
/// no stash. The stash is popped before the next sync.
#[test]
fn what_a_stash_swallowed_is_written_again() {
    let mut journey = Journey::new(3);
    journey.sync();
    journey.commit_memories();
    journey.desired.push(Desired { memory: memory(3), root: journey.root().to_owned() });
    journey.sync();
    journey.store().save(memory(9), &Redactor::default(), NOW).unwrap();
    let store = journey.store();
    store
        .edit(&memory(3).id.short(), &Redactor::default(), |memory| {
            memory.body = "My words.".to_owned()
        })
        .unwrap();
    let late = [journey.path(3), journey.path(9)];
    let texts = late.each_ref().map(|path| fs::read_to_string(path).unwrap());
    late.iter().for_each(|path| fs::remove_file(path).unwrap());
    fs::write(journey.root().join("code"), "2\n").unwrap();
    journey.git("stash -q -u");
    journey.git("stash pop -q");
    assert_eq!(journey.files(), [0, 1, 2]);
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2, 3, 9], vec![]));
    assert_eq!(late.each_ref().map(|path| fs::read_to_string(path).unwrap()), texts);

    // A later deletion by a person is permanent.
    journey.delete(9);
    journey.sync();
    assert_eq!(journey.tombstones(), [(9, Reason::Deleted)]);
}

/// Checks that a sync writes files again that a reset removed. A reset also removes staged files, and a reset may abort
/// a merge.
#[test]
fn what_a_reset_threw_away_is_written_again() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    for n in [2, 3] {
        journey.desired.push(Desired { memory: memory(n), root: journey.root().to_owned() });
    }
    journey.sync();
    journey.git(&format!("add {}", journey.path(2).display()));
    journey.git("reset -q --hard");
    assert_eq!(journey.files(), [0, 1, 3]);
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2, 3], vec![]));
}

/// `git rm` by a person removes a file from the index before the commit. git itself also changes the index before it
/// moves HEAD. Only the commit decides whether the file is deleted.
#[test]
fn a_removal_that_is_staged_counts_when_it_is_committed() {
    let journey = Journey::new(3);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.git(&format!("rm -q {}", journey.path(1).display()));
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![]));
    journey.git("commit -q -m removed");
    journey.sync();
    assert_eq!(journey.tombstones(), [(1, Reason::RemovedInCommit)]);
}

#[test]
fn the_last_file_stays_deleted_when_the_others_were_deleted_before() {
    let journey = Journey::new(2);
    journey.sync();
    journey.delete(0);
    assert_eq!(journey.sync().tombstoned, 1);
    journey.delete(1);
    assert_eq!(journey.sync().tombstoned, 2);
    assert!(journey.files().is_empty());
    assert_eq!(journey.sync().tombstoned, 2);
}

#[test]
fn a_committed_file_stays_deleted_by_hand_or_by_commit() {
    let journey = Journey::new(4);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.delete(0);
    journey.sync();
    assert_eq!(journey.tombstones(), [(0, Reason::Deleted)]);
    journey.git(&format!("rm -q {}", journey.path(1).display()));
    journey.git("commit -q -a -m remove");
    fs::write(journey.root().join("code"), "2\n").unwrap();
    journey.git("commit -q -a -m more");
    journey.sync();
    assert_eq!(journey.tombstones(), [(0, Reason::Deleted), (1, Reason::RemovedInCommit)]);
    assert_eq!(journey.files(), [2, 3]);
    // If the deletion is committed later, together with a rename, it is recorded only once.
    let renamed = journey.path(2).with_file_name("better-name.md");
    journey.git(&format!("mv {} {}", journey.path(2).display(), renamed.display()));
    journey.git("commit -q -m rename");
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones().len()), (vec![2, 3], 2));
}

#[test]
fn a_loose_file_stays_deleted_while_others_are_committed() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.desired.push(Desired { memory: memory(3), root: journey.root().to_owned() });
    journey.sync();
    journey.delete(2);
    // The person commits another change between the deletion and the sync.
    fs::write(journey.root().join("code"), "2\n").unwrap();
    journey.git("commit -q -a -m more");
    journey.sync();
    assert_eq!(
        (journey.files(), journey.tombstones()),
        (vec![0, 1, 3], vec![(2, Reason::Deleted)])
    );
}

#[test]
fn git_clean_takes_nothing_for_good() {
    let journey = Journey::new(3);
    journey.sync();
    journey.git("clean -fdq");
    assert_eq!(journey.files(), [] as [u8; 0]);
    assert_eq!(journey.sync().written, 3);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2], vec![]));

    // The same applies if the folder is committed and `git clean` removes only the new files.
    let mut journey = journey;
    journey.commit_memories();
    for n in 3..6 {
        journey.desired.push(Desired { memory: memory(n), root: journey.root().to_owned() });
    }
    journey.sync();
    journey.git("clean -fdq");
    assert_eq!(journey.files(), [0, 1, 2]);
    assert_eq!(journey.sync().written, 3);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2, 3, 4, 5], vec![]));

    // The same applies to a single memory in a new folder.
    let journey = Journey::new(1);
    journey.sync();
    journey.git("clean -fdq");
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0], vec![]));
}

#[test]
fn what_a_person_wrote_survives_git_clean_as_they_wrote_it() {
    let journey = Journey::new(2);
    journey.sync();
    let edited = fs::read_to_string(journey.path(0)).unwrap().replace("Text of 0.", "My words.");
    fs::write(journey.path(0), &edited).unwrap();
    let saved = journey.store().save(memory(9), &Redactor::default(), NOW).unwrap();
    assert_eq!(saved.change, Change::Created);
    journey.sync();
    journey.git("clean -fdq");
    journey.sync();
    assert_eq!(journey.files(), [0, 1, 9]);
    assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), edited);
    // The file still belongs to the person, so extracting the memory again does not replace it.
    let mut journey = journey;
    journey.desired[0].memory.body = "Mined again.".to_owned();
    journey.sync();
    assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), edited);
    // The person's own deletions are permanent.
    journey.delete(9);
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1], vec![(9, Reason::Deleted)]));
}

#[test]
fn without_git_a_deleted_file_stays_deleted_and_a_lost_folder_comes_back() {
    let journey = Journey::new(3);
    fs::remove_dir_all(journey.root().join(".git")).unwrap();
    let sync = || {
        let trees = [GitState { root: journey.root().to_owned(), ..GitState::default() }];
        journey.reconcile(&trees).unwrap()
    };
    sync();
    journey.delete(1);
    assert_eq!((sync().tombstoned, journey.files()), (1, vec![0, 2]));
    fs::remove_dir_all(journey.root().join(".throughline")).unwrap();
    assert_eq!((sync().written, journey.files()), (2, vec![0, 2]));
}
