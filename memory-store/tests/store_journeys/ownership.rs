//! Ownership of files: a person's file keeps its bytes, regardless of extractors, settings and git.

use std::fs;

use memory_store::memory::{HeldFor, Status};
use memory_store::reconcile::Desired;
use memory_store::redact::Redactor;

use super::journey::{Journey, drafts, memory};

/// Ways in which a memory file comes to belong to a person.
const OWNED: [&str; 4] = ["committed", "staged", "edited", "pinned"];

/// Returns a project whose first memory belongs to a person, and the text of its file.
fn owned(how: &str) -> (Journey, String) {
    let journey = Journey::new(2);
    journey.sync();
    let path = journey.path(0);
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    };
    match how {
        "committed" => journey.commit_memories(),
        "staged" => drop(journey.git("add .throughline")),
        "edited" => edit("Text of 0.", "My words."),
        "pinned" => edit("kind:", "pinned: true\nkind:"),
        other => panic!("{other}"),
    }
    journey.sync();
    let text = fs::read_to_string(&path).unwrap();
    (journey, text)
}

#[test]
fn a_reader_that_finds_other_words_or_nothing_changes_no_file_of_a_person() {
    for how in OWNED {
        let (mut journey, text) = owned(how);
        let desired = journey.desired.clone();
        journey.desired[0].memory.body = "Other words.".to_owned();
        journey.desired[0].memory.title = "Another title".to_owned();
        journey.sync();
        assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), text, "{how}");
        journey.desired.clear();
        let outcome = journey.sync();
        assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), text, "{how}");
        assert!(outcome.removed <= 1, "{how}: only what nobody owns goes: {outcome:?}");
        journey.desired = desired;
        journey.sync();
        assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), text, "{how}");
    }
}

#[test]
fn what_no_reader_finds_any_more_is_proposed_once_and_stays_when_it_was_kept() {
    let (mut journey, _) = owned("committed");
    let desired = std::mem::take(&mut journey.desired);
    journey.sync();
    let store = journey.store();
    assert_eq!(store.unfound().unwrap(), [memory(0).id, memory(1).id]);
    store.keep_unfound(memory(0).id).unwrap();
    journey.sync();
    assert_eq!(store.unfound().unwrap(), [memory(1).id]);
    // After sessions contain the memories again, `unfound` no longer returns them.
    journey.desired = desired;
    journey.sync();
    assert_eq!(store.unfound().unwrap(), []);
}

#[test]
fn what_git_takes_along_comes_back_with_the_persons_bytes() {
    for how in ["edited", "pinned"] {
        let (mut journey, text) = owned(how);
        journey.git("clean -fdq");
        journey.desired.clear();
        journey.sync();
        assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), text, "{how}");
    }
}

#[test]
fn the_only_loose_memory_survives_one_clean() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.sync();
    let text = fs::read_to_string(journey.path(2)).unwrap();
    journey.git("clean -fdq");
    assert_eq!(journey.sync().returned, 1);
    assert_eq!(fs::read_to_string(journey.path(2)).unwrap(), text);
    // A deletion by a person is intended, so the file is not written again.
    journey.delete(2);
    journey.sync();
    assert_eq!(journey.tombstones().len(), 1);
}

#[test]
fn another_reader_only_proposes_where_a_person_owns_what_was_found() {
    let mut journey = Journey::new(1);
    let of = |n: u8, extractor: &str, session: &str| {
        let mut memory = memory(n);
        memory.source.extractor = Some(extractor.to_owned());
        memory.source.session = Some(session.to_owned());
        memory
    };
    let root = journey.root().to_owned();
    let desired = |memory| Desired { memory, root: root.clone() };
    journey.desired = vec![desired(of(0, "rules/13", "s1"))];
    journey.sync();
    journey.commit_memories();
    journey.desired = vec![
        desired(of(1, "ollama/m", "s1")),
        desired(of(2, "ollama/m", "s2")),
        desired(of(3, "rules/14", "s1")),
    ];
    for _ in 0..2 {
        journey.sync();
        assert_eq!((journey.files(), drafts(&journey)), (vec![0, 2, 3], 1));
        let held = journey.store().drafts().unwrap().memories.remove(0).memory;
        assert_eq!((held.status, held.held_for), (Status::Held, Some(HeldFor::Proposal)));
    }
    journey.store().promote(&memory(1).id.short(), &Redactor::default()).unwrap();
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 1, 2, 3], 0));
    assert!(!fs::read_to_string(journey.path(1)).unwrap().contains("held"));
}
