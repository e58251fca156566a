//! Tests of an index with damaged bytes, as after power failures, full disks, memory errors or malicious changes.
//!
//! For any content of the files, recall ends without a panic. It either returns the same results as the undamaged
//! index, or reports that the index is degraded. It never returns wrong results.

use std::fs;

use crate::common::{self, Fixture, NOW, put};
use memory_store::fs::lock::LOCK_WAIT;
use memory_store::index::build::Publisher;
use memory_store::index::document::Passage;
use memory_store::index::health::{Depth, inspect};
use memory_store::index::journal;
use memory_store::recall::{Recall, Recalled, Search, Tier};

/// Runs all kinds of queries, and returns the titles of the hits.
fn ask(recall: &Recall) -> Vec<(Vec<String>, bool)> {
    let error = "error: cannot find macro `money_fmt` in this scope";
    let turns = Search { text: "ledger".into(), tier: Tier::Passages, ..Search::default() };
    [
        recall.prompt("which port does the ledger service listen on?", None, NOW, &|_| false),
        recall.file("billing/src/import.rs", None, NOW, &|_| false),
        recall.error("cargo build", error, NOW, &|_| false),
        recall.start(NOW, 1200),
        recall.search(&Search { text: "money".into(), ..Search::default() }, NOW),
        recall.search(&turns, NOW),
    ]
    .into_iter()
    .map(|recalled: Recalled| {
        let degraded = recalled.degraded.is_some();
        (
            recalled.hits.into_iter().map(|hit| format!("{}|{}", hit.title, hit.text)).collect(),
            degraded,
        )
    })
    .collect()
}

fn fixture() -> Fixture {
    let fixture = Fixture::filled();
    let mut turn = std::iter::once(Passage {
        session: "s".into(),
        turn: 0,
        at: NOW,
        text: "we moved the ledger to another port".into(),
        ..Passage::default()
    });
    fixture.publish_turns(fixture.added(&mut turn));
    fixture.publish_start(&[5, 1]);
    fixture
}

/// Damages each file of the index in many ways, one change at a time, and runs all queries after each change.
fn each_damage(mut damage: impl FnMut(&[u8], usize) -> Vec<u8>, step: usize) {
    let fixture = fixture();
    let sound = ask(&fixture.recall());
    assert!(sound.iter().all(|(titles, degraded)| !titles.is_empty() && !degraded), "{sound:?}");
    for (name, bytes) in fixture.index_files() {
        if name == "writer.lock" {
            continue;
        }
        let path = fixture.index().join(&name);
        for at in (0..bytes.len()).step_by(step) {
            fs::write(&path, damage(&bytes, at)).unwrap();
            let answers = ask(&fixture.recall());
            for (answer, expected) in answers.iter().zip(&sound) {
                assert!(answer.1 || answer.0 == expected.0, "{name} at {at}: {answer:?}");
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(ask(&fixture.recall()), sound);
}

#[test]
fn every_flipped_byte_is_noticed_or_harmless() {
    each_damage(
        |bytes, at| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 0xa5;
            bytes
        },
        7,
    );
}

#[test]
fn every_cut_is_noticed() {
    each_damage(|bytes, at| bytes[..at].to_vec(), 41);
}

#[test]
fn a_stretch_of_zeros_does_not_mislead() {
    each_damage(
        |bytes, at| {
            let mut bytes = bytes.to_vec();
            let end = bytes.len().min(at + 16);
            bytes[at..end].fill(0);
            bytes
        },
        53,
    );
}

#[test]
fn a_missing_segment_is_noted_and_repaired() {
    let fixture = fixture();
    for (name, _) in fixture.index_files() {
        if name.starts_with("memories") {
            fs::remove_file(fixture.index().join(name)).unwrap();
        }
    }
    let recall = fixture.recall();
    assert!(recall.degraded().is_some());
    let prompt = "which port does the ledger service listen on?";
    assert!(recall.prompt(prompt, None, NOW, &|_| false).hits.is_empty());
    // The next publisher repairs the index even if no memory changed.
    assert!(fixture.publish().changed);
    assert_eq!(fixture.recall().degraded(), None);
}

#[test]
fn a_torn_journal_keeps_what_is_whole() {
    let fixture = fixture();
    let kinds = memory_store::Kind::Fact;
    let first =
        fixture.write(common::memory(30, kinds, "The quota probe is blue", "Painted by hand."));
    let second =
        fixture.write(common::memory(31, kinds, "The turnstile is green", "Painted by machine."));
    journal::append(&fixture.index(), &put(&first, fixture.root()), LOCK_WAIT).unwrap();
    let (name, _) =
        fixture.index_files().into_iter().find(|(name, _)| name.ends_with(".log")).unwrap();
    let path = fixture.index().join(name);
    let torn = {
        let bytes = fs::read(&path).unwrap();
        [&bytes[..], &bytes[..bytes.len() / 2]].concat()
    };
    fs::write(&path, torn).unwrap();
    journal::append(&fixture.index(), &put(&second, fixture.root()), LOCK_WAIT).unwrap();
    let recall = fixture.recall();
    assert!(recall.degraded().is_some());
    for (prompt, title) in [
        ("what colour is the quota probe", "The quota probe is blue"),
        ("what colour is the turnstile", "The turnstile is green"),
    ] {
        assert_eq!(recall.prompt(prompt, None, NOW, &|_| false).hits[0].title, title);
    }
    fixture.publish();
    assert_eq!(fixture.recall().degraded(), None);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn files_of_anything_are_survived(manifest: Vec<u8>, segment: Vec<u8>, journal: Vec<u8>) {
        let fixture = Fixture::empty();
        fs::create_dir_all(fixture.index()).unwrap();
        fs::write(fixture.index().join("MANIFEST"), manifest).unwrap();
        fs::write(fixture.index().join("memories-0000000000000001.seg"), segment).unwrap();
        fs::write(fixture.index().join("journal-0000000000000001.log"), journal).unwrap();
        proptest::prop_assert!(ask(&fixture.recall()).iter().all(|(titles, _)| titles.is_empty()));
    }
}

/// `doctor` hashes whole files, so that it detects any damage.
#[test]
fn a_flipped_byte_of_a_segment_is_always_found_by_its_hash() {
    let fixture = fixture();
    let damage = || inspect(&fixture.index(), Depth::Bytes).damage();
    assert!(damage().is_none());
    for (name, bytes) in fixture.index_files() {
        if !name.ends_with(".seg") {
            continue;
        }
        let path = fixture.index().join(&name);
        for at in (0..bytes.len()).step_by(101) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert!(damage().is_some(), "{name} at {at}");
        }
        fs::write(&path, bytes).unwrap();
    }
    assert!(damage().is_none());
}

/// Bit rot changes neither the length nor the time of a file, so a check of the headers does not detect it. A check of
/// all bytes does, and distinguishes damaged memories from damaged turns.
#[test]
fn an_inspection_reports_the_unreadable_parts_of_an_index() {
    let fixture = fixture();
    let folder = fixture.index();
    let found = |depth| {
        let health = inspect(&folder, depth);
        (health.memories.is_none(), health.passages.is_none())
    };
    assert_eq!((found(Depth::Headers), found(Depth::Bytes)), ((true, true), (true, true)));
    for (name, bytes) in fixture.index_files() {
        let path = folder.join(&name);
        let sound = match name.split('-').next().unwrap() {
            "memories" => (false, true),
            "turns" => (true, false),
            "MANIFEST" => (false, false),
            _ => continue,
        };
        let mut flipped = bytes.clone();
        *flipped.last_mut().unwrap() ^= 1;
        fs::write(&path, &flipped).unwrap();
        assert_eq!(found(Depth::Bytes), sound, "{name}, a bit");
        for cut in [0, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).unwrap();
            assert_eq!(found(Depth::Headers), sound, "{name} cut at {cut}");
        }
        fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
        assert_eq!(found(Depth::Headers), sound, "{name} grown");
        fs::remove_file(&path).unwrap();
        assert_eq!(found(Depth::Headers), sound, "{name} gone");
        fs::create_dir(&path).unwrap();
        assert_eq!(found(Depth::Headers), sound, "{name} a folder");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(found(Depth::Bytes), (true, true));
}

/// No header covers the changed bit. The segment therefore opens, and only a publisher with `afresh` rebuilds it.
#[test]
fn a_publisher_that_begins_afresh_keeps_nothing_of_a_damaged_segment() {
    let fixture = fixture();
    let (name, mut bytes) =
        fixture.index_files().into_iter().find(|(name, _)| name.starts_with("memories")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(fixture.index().join(name), bytes).unwrap();
    fixture.publish_start(&[5, 1]);
    assert!(
        inspect(&fixture.index(), Depth::Bytes).damage().is_some(),
        "nothing new was published"
    );
    let mut publisher = Publisher::begin(&fixture.index()).unwrap();
    publisher.afresh = true;
    assert!(fixture.publish_with(publisher, &fixture.list(), None).changed);
    assert!(inspect(&fixture.index(), Depth::Bytes).damage().is_none());
}

/// Recall at first reads only the head of a large segment. It also checks the segment's length. If the end is missing,
/// the memory files are read instead.
#[test]
fn a_large_segment_without_its_end_counts_as_none() {
    let fixture = Fixture::empty();
    let text = "The conveyor is greased every Monday. ".repeat(60);
    for number in 0..40 {
        let title = format!("Belt {number} runs backwards");
        fixture.write(common::memory(number, memory_store::Kind::Fact, &title, &text));
    }
    fixture.publish();
    let (name, bytes) =
        fixture.index_files().into_iter().find(|(name, _)| name.starts_with("memories")).unwrap();
    assert!(bytes.len() > 64 * 1024, "{} bytes", bytes.len());
    fs::write(fixture.index().join(name), &bytes[..bytes.len() - 1]).unwrap();
    let recall = fixture.recall();
    assert!(recall.degraded().is_some());
    let search = Search { text: "belt 17 runs backwards".into(), ..Search::default() };
    assert!(recall.search(&search, NOW).hits.is_empty());
}
