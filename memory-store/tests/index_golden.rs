//! An index written by each format version is kept, and opened by every later build.
//!
//! `tests/golden/<version>` holds the index and the memory files of the made-up project, as the
//! first build of that version wrote them. To make the folder for a new version, run
//! `THROUGHLINE_WRITE_GOLDEN=1 cargo test -p memory-store --features write --test index_golden`
//! once and commit it; the folders of older versions are never written again.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Fixture, NOW, memory};
use memory_store::Kind;
use memory_store::index::build::Turns;
use memory_store::index::document::Turn;
use memory_store::index::journal::{self, Entry};
use memory_store::recall::Search;

const VERSION: &str = "1.0";
/// All versions that a folder is kept of.
const VERSIONS: &[&str] = &["1.0"];

fn golden(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(version)
}

fn copy(source: &Path, target: &Path) {
    fs::create_dir_all(target).unwrap();
    for file in fs::read_dir(source).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), target.join(file.file_name())).unwrap();
    }
}

fn write_golden() {
    let fixture = Fixture::filled();
    fixture.set_times();
    fixture.publish_start(&[5, 1]);
    let mut turns = (0..3).map(|number| Turn {
        session: "golden".into(),
        number,
        at: NOW,
        text: format!("turn {number}: the ledger moved to another port"),
        ..Turn::default()
    });
    fixture.publish_turns(Turns::Add(&mut turns));
    let gotcha = memory(40, Kind::Gotcha, "The quota probe needs a warm cache", "Run it twice.");
    fixture.write(gotcha);
    fixture.set_times();
    let stored =
        fixture.list().into_iter().find(|stored| stored.memory.id == common::id(40)).unwrap();
    journal::append(&fixture.index(), &Entry::put(&stored, fixture.root())).unwrap();
    journal::append(&fixture.index(), &Entry::Remove(common::id(10))).unwrap();
    copy(&fixture.index(), &golden(VERSION).join("index"));
    copy(&fixture.root().join(".throughline/memories"), &golden(VERSION).join("memories"));
}

#[test]
fn every_version_is_read() {
    if std::env::var_os("THROUGHLINE_WRITE_GOLDEN").is_some() {
        write_golden();
    }
    for &version in VERSIONS {
        let fixture = Fixture::empty();
        copy(&golden(version).join("memories"), &fixture.root().join(".throughline/memories"));
        copy(&golden(version).join("index"), &fixture.index());
        fixture.set_times();
        let recall = fixture.recall();
        assert_eq!(recall.degraded(), None, "{version}");
        let title = |text: &str| {
            let found = recall.prompt(text, NOW, &|_| false);
            assert_eq!((found.degraded, found.stale), (None, false), "{version}");
            found.hits.first().map(|hit| hit.title.clone())
        };
        let port = title("which port does the ledger service listen on?");
        assert_eq!(port.as_deref(), Some("The ledger service listens on port 7441"));
        let probe = title("why is the first quota probe wrong?");
        assert_eq!(probe.as_deref(), Some("The quota probe needs a warm cache"));
        assert_eq!(title("make the sidebar collapsible on phones"), None);
        assert!(recall.by_id(common::id(10), NOW).is_none());
        let file = recall.file("billing/src/import.rs", NOW, &|_| false);
        assert_eq!(file.hits[0].id, common::id(1));
        let error = "error: cannot find macro `money_fmt` in this scope";
        assert_eq!(recall.error("make", error, NOW, &|_| false).hits[0].id, common::id(4));
        let turns = Search { text: "ledger".into(), turns: true, ..Search::default() };
        assert_eq!(recall.search(&turns, NOW).hits.len(), 3);
    }
}
