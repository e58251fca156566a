//! Tests of concurrent writers, and of writers that stop halfway.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{Fixture, NOW, memory, put};
use memory_store::fs::lock::LOCK_WAIT;
use memory_store::index::build::Publisher;
use memory_store::index::journal;
use memory_store::memory::Scope;
use memory_store::recall::Search;
use memory_store::redact::Redactor;
use memory_store::store::Store;
use memory_store::{Error, Kind, Memory};

/// Appenders, publishers and readers run concurrently. No appended entry is lost, and no reader sees a damaged index.
#[test]
fn appenders_publishers_and_readers_do_not_disturb_each_other() {
    const APPENDED: u8 = 24;
    let fixture = Fixture::filled();
    std::thread::scope(|scope| {
        for thread in 0..2u8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for number in 0..APPENDED / 2 {
                    let number = 100 + thread * (APPENDED / 2) + number;
                    let title = format!("Gadget number{number} is calibrated");
                    let stored = fixture.write(memory(number, Kind::Fact, &title, "By hand."));
                    journal::append(&fixture.index(), &put(&stored, fixture.root()), LOCK_WAIT)
                        .unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..4 {
                    fixture.publish();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..60 {
                let recall = fixture.recall();
                assert_eq!(recall.degraded(), None);
                let found = recall.prompt(
                    "which port does the ledger service listen on?",
                    None,
                    NOW,
                    &|_| false,
                );
                assert_eq!((found.hits.len(), found.degraded), (1, None));
            }
        });
    });
    let recall = fixture.recall();
    for number in 100..100 + APPENDED {
        let text = format!("number{number}");
        let found = recall.search(&Search { text, ..Search::default() }, NOW);
        assert_eq!(found.hits.len(), 1, "number {number}");
    }
}

/// Simulates a crash at each step of publishing. Such a crash leaves files that no manifest names, and a partial new
/// manifest next to the old one.
#[test]
fn a_crash_between_the_steps_leaves_the_old_generation() {
    let fixture = Fixture::filled();
    let before = fixture.index_files();
    let prompt = "when does the quota probe run?";
    fixture.write(memory(80, Kind::Fact, "The quota probe runs at dawn", "It starts at five."));
    fixture.publish();
    let after = fixture.index_files();

    for leave in ["segment", "half a segment", "manifest beside", "half a manifest beside"] {
        for (name, _) in fixture.index_files() {
            fs::remove_file(fixture.index().join(name)).unwrap();
        }
        for (name, bytes) in &before {
            fs::write(fixture.index().join(name), bytes).unwrap();
        }
        for (name, bytes) in after.iter().filter(|(name, _)| name.ends_with(".seg")) {
            let bytes = if leave == "half a segment" { &bytes[..bytes.len() / 2] } else { bytes };
            fs::write(fixture.index().join(name), bytes).unwrap();
        }
        let manifest = &after.iter().find(|(name, _)| name == "MANIFEST").unwrap().1;
        match leave {
            "manifest beside" => fs::write(fixture.index().join("MANIFEST.new"), manifest).unwrap(),
            "half a manifest beside" => {
                fs::write(fixture.index().join("MANIFEST.new"), &manifest[..40]).unwrap();
            }
            _ => {}
        }
        let recall = fixture.recall();
        assert_eq!(recall.degraded(), None, "{leave}");
        assert!(recall.prompt(prompt, None, NOW, &|_| false).hits.is_empty(), "{leave}");
        // The next publisher finishes the work and removes all other files.
        fixture.publish();
        let found = fixture.recall().prompt(prompt, None, NOW, &|_| false);
        assert_eq!(found.hits.len(), 1, "{leave}");
        let segments =
            fixture.index_files().iter().filter(|(name, _)| name.ends_with(".seg")).count();
        assert_eq!(segments, 1, "{leave}");
    }
}

/// A publisher that waited for another publisher keeps the other's entries.
#[test]
fn a_publisher_that_began_before_another_loses_nothing() {
    let fixture = Fixture::filled();
    let early = Publisher::begin(&fixture.index()).unwrap();
    let listed_early = fixture.list();
    let stored =
        fixture.write(memory(90, Kind::Fact, "The quota probe runs at dawn", "It starts at five."));
    journal::append(&fixture.index(), &put(&stored, fixture.root()), LOCK_WAIT).unwrap();
    let late = fixture.write(memory(91, Kind::Fact, "The turnstile is green", "Since May."));
    fixture.publish();
    journal::append(&fixture.index(), &put(&late, fixture.root()), LOCK_WAIT).unwrap();
    // The early publisher has an old list of memories. It may publish this list, because the next run corrects it, but
    // entries appended since then stay visible.
    fixture.publish_with(early, &listed_early, None);
    let found = fixture.recall().prompt("what colour is the turnstile", None, NOW, &|_| false);
    assert_eq!(found.hits.len(), 1);
}

/// If a sync hangs or was stopped with Ctrl-Z, other writers fail with an error instead of waiting forever.
#[test]
fn who_holds_a_lock_for_too_long_is_waited_for_no_longer() {
    const SHORT: Duration = Duration::from_millis(20);
    let fixture = Fixture::filled();
    let held = |path: &Path| {
        let file = fs::File::options().create(true).append(true).open(path).unwrap();
        file.lock().unwrap();
        file
    };
    let names = |error: Error, name: &str| {
        let is_locked = matches!(&error, Error::Locked { path, .. } if path.ends_with(name));
        assert!(is_locked && error.remedy().unwrap().contains("Ctrl-Z"), "{error}");
    };

    let writers = held(&fixture.index().join("writer.lock"));
    let new = memory(90, Kind::Fact, "The crane is inspected in May", "By the insurer.");
    let entry = put(&fixture.write(new.clone()), fixture.root());
    let error = journal::append(&fixture.index(), &entry, SHORT).unwrap_err();
    names(error, "writer.lock");
    assert_eq!(fixture.recall().degraded(), None, "readers take no lock");
    drop(writers);
    journal::append(&fixture.index(), &entry, SHORT).unwrap();

    let user = held(&{
        fs::create_dir_all(&fixture.dirs.user_dir().folder).unwrap();
        fixture.dirs.user_dir().folder.join("store.lock")
    });
    let mut store = Store::user(&fixture.dirs).unwrap();
    store.lock_wait = SHORT;
    let new = Memory { scope: Scope::User, ..new };
    let error = store.save(new.clone(), &Redactor::default(), NOW).unwrap_err();
    names(error, "store.lock");
    assert!(store.list().unwrap().memories.is_empty());
    drop(user);
    store.save(new, &Redactor::default(), NOW).unwrap();
}
