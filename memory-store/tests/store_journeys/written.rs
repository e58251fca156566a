//! Tests of written memories, and of a person's edits, reviews, removals and links.

use std::fs;

use memory_store::Memory;
use memory_store::file::MemoryFile;
use memory_store::identity::Mode;
use memory_store::ledger::Reason;
use memory_store::memory::Status;
use memory_store::reconcile::{Desired, Outcome};
use memory_store::redact::Redactor;
use memory_store::store::Forget;

use super::journey::{Journey, NOW, drafts, memory};

#[test]
fn memories_are_written_once_and_follow_the_transcripts() {
    let mut journey = Journey::new(3);
    assert_eq!(journey.sync(), Outcome { written: 3, ..Outcome::default() });
    assert!(journey.root().join(".throughline/README.md").is_file());
    assert_eq!(journey.sync(), Outcome { unchanged: 3, ..Outcome::default() });

    // The sessions are read again: memory 0 has a new text, memory 1 has a new title, and memory 2 is no longer
    // extracted.
    journey.desired[0].memory.body = "Another text.".to_owned();
    journey.desired[1].memory.title = "Memory 1 under another name".to_owned();
    journey.desired.remove(2);
    let outcome = journey.sync();
    assert_eq!((outcome.updated, outcome.removed), (2, 1));
    assert!(fs::read_to_string(journey.path(0)).unwrap().contains("Another text."));
    assert!(journey.path(1).to_string_lossy().contains("under-another-name"));
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1], vec![]));
    // Memory 2 is extracted again.
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    assert_eq!(journey.sync().written, 1);
}

#[test]
fn what_a_person_edited_or_renamed_is_left_alone() {
    let mut journey = Journey::new(3);
    journey.sync();
    let edited = fs::read_to_string(journey.path(0)).unwrap().replace("Text of 0.", "My words.");
    fs::write(journey.path(0), &edited).unwrap();
    let renamed = journey.path(1).with_file_name("renamed.md");
    fs::rename(journey.path(1), &renamed).unwrap();
    let sorted = journey.path(2).with_file_name("area");
    fs::create_dir(&sorted).unwrap();
    fs::rename(journey.path(2), sorted.join("two.md")).unwrap();
    journey.sync();

    for desired in &mut journey.desired {
        desired.memory.body = "Mined again.".to_owned();
    }
    assert_eq!(journey.sync().updated, 2);
    assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), edited);
    assert_eq!(journey.path(1), renamed);
    assert_eq!(journey.path(2), sorted.join("two.md"));
    assert!(fs::read_to_string(&renamed).unwrap().contains("Mined again."));

    // The link to its successor is the only change to a person's file.
    journey.desired[0].memory.superseded_by = Some(memory(1).id);
    journey.sync();
    let noted = fs::read_to_string(journey.path(0)).unwrap();
    assert_eq!(noted.replace(&format!("superseded_by: {}\n", memory(1).id), ""), edited);

    // The memories are no longer extracted, but the person's text stays.
    journey.desired.clear();
    assert_eq!(journey.sync().removed, 2);
    assert_eq!(journey.files(), [0]);
}

#[test]
fn a_file_that_is_being_edited_is_not_missed() {
    let journey = Journey::new(2);
    journey.sync();
    let path = journey.path(0);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, "<<<<<<< ours\n").unwrap();
    journey.sync();
    assert_eq!(fs::read_to_string(&path).unwrap(), "<<<<<<< ours\n");
    assert_eq!(journey.tombstones(), []);
    fs::write(&path, whole).unwrap();
    assert_eq!(journey.sync().unchanged, 2);
}

#[test]
fn forgetting_is_remembered_and_restoring_gives_the_same_bytes() {
    let journey = Journey::new(3);
    journey.sync();
    let store = journey.store();
    let (path, bytes) = (journey.path(0), fs::read(journey.path(0)).unwrap());
    store.forget(&memory(0).id.short(), Forget::Archive, &Redactor::default(), NOW).unwrap();
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!((journey.files(), store.archived().unwrap().memories.len()), (vec![1, 2], 1));
    assert_eq!(store.archived().unwrap().memories[0].memory.status, Status::Archived);
    let restored = store.restore(&memory(0).id.short(), &Redactor::default()).unwrap().unwrap();
    assert_eq!((&restored.path, fs::read(&path).unwrap()), (&path, bytes));
    assert!(store.archived().unwrap().memories.is_empty());
    assert_eq!(journey.sync().unchanged, 3);

    // After a permanent deletion, no file of the program contains the memory's text.
    store.forget(&memory(1).id.short(), Forget::Delete, &Redactor::default(), NOW).unwrap();
    journey.sync();
    assert_eq!(journey.files(), [0, 2]);
    for (path, (bytes, _)) in journey.everything() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("Text of 1."), "{}", path.display());
    }
    assert!(store.list().unwrap().find(&memory(1).id.short()).is_err());
}

#[test]
fn what_waits_for_review_is_known_but_not_in_the_tree() {
    let mut journey = Journey::new(3);
    for desired in &mut journey.desired {
        desired.memory.status = Status::Held;
    }
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![], vec![0, 1, 2]));
    let store = journey.store();
    assert_eq!(store.drafts().unwrap().memories.len(), 3);
    let promoted = store.promote(&memory(0).id.short(), &Redactor::default()).unwrap();
    assert_eq!(promoted.memory.status, Status::Active);
    store.reject(&memory(1).id.short(), &Redactor::default(), NOW).unwrap();
    assert_eq!(journey.sync().unchanged, 2);
    assert_eq!((journey.files(), journey.known()), (vec![0], vec![0, 2]));
    assert_eq!(journey.tombstones(), [(1, Reason::Rejected)]);
    // An accepted memory belongs to the person and stays accepted.
    journey.desired[0].memory.body = "Mined again.".to_owned();
    assert_eq!(journey.sync().updated, 0);
    assert!(!fs::read_to_string(journey.path(0)).unwrap().contains("Mined again."));
    // The person has disabled reviews.
    for desired in &mut journey.desired {
        desired.memory.status = Status::Active;
    }
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 2], 0));
}

#[test]
fn a_private_project_writes_nothing_into_the_repository() {
    let journey = Journey::with_mode(2, Mode::Private);
    journey.sync();
    assert_eq!(journey.known(), [0, 1]);
    assert_eq!(journey.git("status --porcelain"), "");
    let path = journey.store().list().unwrap().find(&memory(0).id.short()).unwrap().path;
    journey.git("checkout -q -b other");
    journey.git("clean -fdq");
    fs::remove_file(path).unwrap();
    journey.sync();
    assert_eq!((journey.known(), journey.tombstones()), (vec![1], vec![(0, Reason::Deleted)]));
}

#[test]
fn a_store_that_is_a_link_is_neither_read_nor_written() {
    let journey = Journey::new(1);
    let elsewhere = journey.home.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("memories")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, journey.root().join(".throughline")).unwrap();
    let store = journey.store();
    assert!(
        store
            .save(memory(5), &Redactor::default(), NOW)
            .unwrap_err()
            .to_string()
            .contains("symbolic link")
    );
    let error = journey.reconcile(&journey.trees()).unwrap_err();
    assert!(error.to_string().contains("symbolic link"));
    assert_eq!(store.list().unwrap().broken.len(), 1);
    assert_eq!(fs::read_dir(elsewhere.join("memories")).unwrap().count(), 0);
    // The file in the linked folder is not a copy of the draft and must not be redacted or deleted.
    let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
    let draft = Memory { body: token, status: Status::Held, ..memory(6) };
    let text = MemoryFile::new(draft.clone()).unwrap().text().to_owned();
    fs::create_dir_all(&store.home.drafts).unwrap();
    for folder in [store.home.drafts.clone(), elsewhere.join("memories")] {
        fs::write(folder.join("draft.md"), &text).unwrap();
    }
    assert_eq!(store.files().len(), 1);
    let cleaned = store.clean(&Redactor::default(), None).unwrap();
    assert_eq!((cleaned.files, cleaned.refused.len()), (1, 0), "{cleaned:?}");
    store.forget(&draft.id.to_string(), Forget::Delete, &Redactor::default(), NOW).unwrap();
    assert_eq!(fs::read_to_string(elsewhere.join("memories/draft.md")).unwrap(), text);
}

#[test]
fn a_folder_that_became_a_link_leads_nothing_out_of_the_store() {
    let journey = Journey::new(3);
    journey.sync();
    let memories = journey.root().join(".throughline/memories");
    let (sub, elsewhere) = (memories.join("sub"), journey.home.path().join("rules"));
    fs::create_dir(&sub).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    for n in 0..3 {
        fs::rename(journey.path(n), sub.join(format!("mine {n}.md"))).unwrap();
    }
    journey.sync();
    assert!(journey.path(0).starts_with(&sub));
    let store = journey.store();
    store.forget(&memory(0).id.short(), Forget::Archive, &Redactor::default(), NOW).unwrap();
    // A pull can create such a symbolic link.
    fs::remove_dir_all(&sub).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &sub).unwrap();

    let restored = store.restore(&memory(0).id.short(), &Redactor::default()).unwrap().unwrap();
    assert_eq!(restored.path.parent(), Some(memories.as_path()));
    assert_eq!(journey.sync().written, 2);
    assert_eq!(journey.files(), [0, 1, 2]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
