//! Tests of decisions that are reverted, and of accepted memories that a person makes pending again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use memory_store::identity::Mode;
use memory_store::memory::{HeldFor, Status};
use memory_store::redact::Redactor;
use memory_store::reviewed::Reviewed;
use memory_store::store::{Forget, MemoryState, Store};
use memory_store::trust;
use memory_store::{Error, MemoryId};

use super::journey::{Journey, NOW, drafts, memory};

/// Returns a project in which a person accepted the first memory, and the text of that memory's file.
fn accepted(mode: Mode) -> (Journey, String) {
    let mut journey = Journey::with_mode(2, mode);
    journey.desired.iter_mut().for_each(|desired| desired.memory.hold(HeldFor::Review));
    journey.sync();
    let store = journey.store();
    let promoted = store.promote(&memory(0).id.short(), &Redactor::default()).unwrap();
    journey.sync();
    let text = fs::read_to_string(&promoted.path).unwrap();
    (journey, text)
}

#[test]
fn a_memory_that_a_person_puts_back_stays_held_whatever_is_set_and_learned() {
    for mode in [Mode::Committed, Mode::Private] {
        let (mut journey, text) = accepted(mode);
        let folder = journey.store().folder;
        let files = || fs::read_dir(&folder).map_or(0, Iterator::count);
        let held = journey.store().hold(memory(0).id).unwrap();
        assert_eq!(
            (held.memory.id, held.memory.status, held.memory.held_for),
            (memory(0).id, Status::Held, Some(HeldFor::Review))
        );
        assert_eq!((&held.memory.title, &held.memory.body), (&memory(0).title, &memory(0).body));
        let kept = fs::read(&held.path).unwrap();
        let desired = journey.desired.clone();
        let settings: [fn(&mut Journey); 4] = [
            // Every memory requires a review; no memory does; another text is extracted; the memory is no longer
            // extracted.
            |_| {},
            |journey| journey.desired.iter_mut().for_each(|desired| desired.memory.release()),
            |journey| journey.desired[0].memory.body = "Other words.".to_owned(),
            |journey| drop(journey.desired.remove(0)),
        ];
        for (at, set) in settings.into_iter().enumerate() {
            journey.desired.clone_from(&desired);
            set(&mut journey);
            journey.sync();
            assert_eq!(fs::read(&held.path).unwrap(), kept, "{mode:?} {at}");
            let others = usize::from(at >= 1);
            assert_eq!(files(), others, "{mode:?} {at}: the other one is let in and stays");
            assert_eq!(journey.tombstones(), [], "{mode:?} {at}");
            journey.desired.clone_from(&desired);
            journey.sync();
        }
        // After it is accepted again, the memory has its earlier file.
        let promoted =
            journey.store().promote(&memory(0).id.short(), &Redactor::default()).unwrap();
        journey.sync();
        assert_eq!(fs::read_to_string(&promoted.path).unwrap(), text, "{mode:?}");
    }
}

#[test]
fn only_an_accepted_memory_is_put_back() {
    let (journey, _) = accepted(Mode::Committed);
    let refused = journey.store().hold(memory(1).id).unwrap_err();
    assert!(matches!(refused, Error::NotFound { found: 0, .. }), "{refused}");
    // A person may also make a memory pending that they wrote.
    let store = journey.store();
    let saved = store.save(memory(7), &Redactor::default(), NOW).unwrap().stored;
    store.hold(memory(7).id).unwrap();
    journey.sync();
    assert!(!saved.path.exists());
    assert_eq!((journey.known(), journey.tombstones()), (vec![0, 1, 7], vec![]));
}

/// Returns the files of memories with their bytes.
fn files(store: &Store) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = [&store.folder, &store.home.drafts, &store.home.archived_memories];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Makes a decision and returns the states before and after it.
fn decided(store: &Store, ids: &[MemoryId], decide: impl FnOnce(&Store)) -> [MemoryState; 2] {
    let before = store.state_of(ids).unwrap();
    decide(store);
    let after = store.state_again(&before).unwrap();
    assert_ne!(before, after);
    [before, after]
}

/// Rewrites memory files in forms that the program never writes. Reverting a decision must restore these forms.
fn with_forms_of_people(journey: &Journey) {
    for (at, path) in files(&journey.store()).into_keys().enumerate() {
        let text = fs::read_to_string(&path).unwrap();
        let text = match at % 3 {
            0 => text.replace("kind:", "# mine\nkind:"),
            1 => text.replace('\n', "\r\n"),
            _ => format!("\u{feff}{text}\n\n\n"),
        };
        fs::write(path, text).unwrap();
    }
    journey.sync();
}

/// A decision about memory 0, which is accepted, or memory 1, which is pending.
type Decision = (&'static str, fn(&Store));

const DECISIONS: [Decision; 9] = [
    ("accept", |store| {
        store.promote(&memory(1).id.short(), &Redactor::default()).unwrap();
    }),
    ("reject", |store| {
        store.reject(&memory(1).id.short(), &Redactor::default(), NOW).unwrap();
    }),
    ("forget", |store| forget(store, 0, Forget::Archive)),
    ("forget a held one", |store| forget(store, 1, Forget::Archive)),
    ("delete", |store| forget(store, 0, Forget::Delete)),
    ("hold", |store| {
        store.hold(memory(0).id).unwrap();
    }),
    ("edit", |store| {
        let id = memory(0).id.to_string();
        store.edit(&id, &Redactor::default(), |memory| memory.body = "New.".to_owned()).unwrap();
    }),
    ("replace", |store| {
        let id = memory(1).id.to_string();
        let link = |newer: &mut memory_store::Memory| newer.supersedes.push(memory(0).id);
        store.edit(&id, &Redactor::default(), link).unwrap();
        let path = store.list().unwrap().find(&memory(0).id.to_string()).unwrap().path;
        store.supersede(&path, memory(0).id, Some(memory(1).id), &Redactor::default()).unwrap();
    }),
    ("look at", |store| {
        Reviewed::change(&store.home, |reviewed| {
            reviewed.confirm(memory(0).id, NOW);
            reviewed.note_both(memory(0).id, memory(1).id);
        })
        .unwrap();
    }),
];

fn forget(store: &Store, n: u8, how: Forget) {
    let id = memory(n).id.to_string();
    store.forget(&id, how, &Redactor::default(), NOW).unwrap();
}

#[test]
fn what_is_undone_is_there_byte_for_byte_and_the_next_sync_changes_nothing() {
    for mode in [Mode::Committed, Mode::Private] {
        for is_synced_between in [false, true] {
            for (name, decide) in DECISIONS {
                let (journey, _) = accepted(mode);
                with_forms_of_people(&journey);
                let store = journey.store();
                let before =
                    (files(&store), store.tombstones().unwrap(), Reviewed::read(&store.home));
                let [first, second] = decided(&store, &[memory(0).id, memory(1).id], decide);
                if is_synced_between {
                    journey.sync();
                }
                let back = store.put_back(&first, &second).unwrap_or_else(|error| {
                    panic!("{name}, {mode:?}, {is_synced_between}: {error}")
                });
                let reviewed = Reviewed::read(&store.home);
                let after = (files(&store), store.tombstones().unwrap(), reviewed);
                assert_eq!(after, before, "{name}, {mode:?}");
                assert!(back.gone.is_empty() && back.stored.len() == 2, "{name}: {back:?}");
                journey.sync();
                assert_eq!(files(&store), before.0, "{name}, {mode:?}: after a sync");
                assert_eq!(store.tombstones().unwrap(), [], "{name}, {mode:?}");
            }
        }
    }
}

#[test]
fn decisions_are_undone_one_after_the_other() {
    let (journey, _) = accepted(Mode::Committed);
    let store = journey.store();
    let before = files(&store);
    let ids = [memory(0).id];
    let turns: Vec<[MemoryState; 2]> = (0..24)
        .map(|turn| {
            decided(&store, &ids, |store| match turn % 3 {
                0 => forget(store, 0, Forget::Archive),
                1 => drop(store.restore(&memory(0).id.short(), &Redactor::default()).unwrap()),
                _ => {
                    let id = memory(0).id.to_string();
                    let body = format!("Text {turn}");
                    let change = |memory: &mut memory_store::Memory| memory.body = body;
                    store.edit(&id, &Redactor::default(), change).unwrap();
                }
            })
        })
        .collect();
    for [first, second] in turns.iter().rev() {
        store.put_back(first, second).unwrap();
    }
    assert_eq!(files(&store), before);
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0], 1));
}

#[test]
fn what_somebody_changed_since_is_not_undone() {
    let (journey, _) = accepted(Mode::Committed);
    let store = journey.store();
    let [first, second] = decided(&store, &[memory(1).id], DECISIONS[0].1);
    let path = journey.path(1);
    let text = fs::read_to_string(&path).unwrap() + "More.\n";
    fs::write(&path, &text).unwrap();
    let all = files(&store);
    let refused = store.put_back(&first, &second).unwrap_err();
    assert!(refused.to_string().contains("changed since"), "{refused}");
    assert_eq!(files(&store), all, "nothing was done");
}

#[test]
fn a_release_is_taken_back() {
    let journey = Journey::new(1);
    journey.sync();
    let folder = journey.store().folder;
    let text = "---\nid: 01JZX3P4Q5R6S7T8V9WABCDEF7\nkind: fact\ncreated: 2026-09-01\n---\n\n# Memory 5\n\nBaked.\n";
    fs::write(folder.join("theirs.md"), text).unwrap();
    let store = journey.store();
    trust::note_pulled(&store, &trust::unknown(&store).unwrap()).unwrap();
    let find = || store.list().unwrap().find("abcdef7").unwrap();
    let is_theirs = || {
        let settings = memory_store::settings::Settings::default();
        trust::Trust::of(&store, &settings).unwrap().is_from_repository(&find())
    };
    assert!(is_theirs());
    let [first, second] = decided(&store, &[find().memory.id], |store| {
        trust::let_out(&store.home, &find(), &Redactor::default()).unwrap();
        trust::release(store, &[&find()]).unwrap();
    });
    assert!(!is_theirs());
    store.put_back(&first, &second).unwrap();
    assert!(is_theirs());
    assert_eq!(fs::read(&store.home.released).unwrap_or_default(), b"");
}
