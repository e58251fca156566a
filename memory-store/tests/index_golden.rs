//! The repository contains an index of each released format version. Every later build must open it.
//!
//! `tests/golden/<version>` contains the index and the memory files of the fictitious project, as the first build of
//! that version wrote them. To create the folder of a new version, run `THROUGHLINE_WRITE_GOLDEN=1 cargo test -p
//! memory-store --test tests index_golden::` once and commit it. The folders of older versions are never written again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::vectors::{Nearest, Shipped, assets};
use crate::common::{self, Fixture, NOW, memory};
use memory_store::Kind;
use memory_store::fs::lock::LOCK_WAIT;
use memory_store::index::Index;
use memory_store::index::build::is_unsettled;
use memory_store::index::document::Passage;
use memory_store::index::journal::{self, Entry};
use memory_store::recall::{Search, Tier};
use memory_store::signature::error_signature;

const VERSION: &str = "3.2";
/// All versions with a folder.
const VERSIONS: &[&str] = &["1.0", "1.2", "1.3", "1.4", "2.0", "2.1", "3.0", "3.1", VERSION];

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
    let vectors = Shipped::open();
    let publisher = || {
        let mut publisher = fixture.publisher(&vectors);
        publisher.graphs = Some(&Nearest);
        publisher.names = ["billing-desk".to_owned()].into();
        publisher
    };
    let start = [common::id(5), common::id(1)];
    let stored = fixture.list();
    let content = common::content(fixture.root(), &stored, None, &start);
    publisher().publish(content).unwrap();
    let mut turns = (0..3).map(|number| Passage {
        session: "golden".into(),
        turn: number,
        at: NOW,
        text: format!("turn {number}: the ledger moved to another port"),
        errors: error_signature("error: cannot find macro `money_fmt` in this scope")
            .into_iter()
            .collect(),
        ..Passage::default()
    });
    let turns = fixture.staged(Some(&vectors), false, &mut turns);
    let content = common::content(fixture.root(), &stored, turns, &start);
    publisher().publish(content).unwrap();
    let gotcha = memory(40, Kind::Gotcha, "The quota probe needs a warm cache", "Run it twice.");
    fixture.write(gotcha);
    fixture.set_times();
    let stored =
        fixture.list().into_iter().find(|stored| stored.memory.id == common::id(40)).unwrap();
    let put = common::put(&stored, fixture.root()).embedded(&vectors);
    journal::append(&fixture.index(), &put, LOCK_WAIT).unwrap();
    journal::append(&fixture.index(), &Entry::Remove(common::id(10)), LOCK_WAIT).unwrap();
    copy(&fixture.index(), &golden(VERSION).join("index"));
    copy(&fixture.root().join(".throughline/memories"), &golden(VERSION).join("memories"));
}

#[test]
fn every_version_is_read() {
    if std::env::var_os("THROUGHLINE_WRITE_GOLDEN").is_some() {
        write_golden();
    }
    for &version in VERSIONS {
        let mut fixture = Fixture::empty();
        fixture.dirs.models = Some(assets());
        copy(&golden(version).join("memories"), &fixture.root().join(".throughline/memories"));
        copy(&golden(version).join("index"), &fixture.index());
        fixture.set_times();
        let recall = fixture.recall();
        assert_eq!(recall.degraded(), None, "{version}");
        let title = |text: &str| {
            let found = recall.prompt(text, None, NOW, &|_| false);
            assert_eq!((found.degraded, found.stale), (None, false), "{version}");
            found.hits.first().map(|hit| hit.title.clone())
        };
        let port = title("which port does the ledger service listen on?");
        assert_eq!(port.as_deref(), Some("The ledger service listens on port 7441"));
        let probe = title("does the quota probe need a warm cache?");
        assert_eq!(probe.as_deref(), Some("The quota probe needs a warm cache"));
        assert_eq!(title("make the sidebar collapsible on phones"), None);
        assert!(!recall.is_still_there(common::id(10), NOW));
        let file = recall.file("billing/src/import.rs", None, NOW, &|_| false);
        assert_eq!(file.hits[0].id, common::id(1));
        let error = "error: cannot find macro `money_fmt` in this scope";
        assert_eq!(recall.error("make", error, NOW, &|_| false).hits[0].id, common::id(4));
        let index = Index::open(&fixture.index()).unwrap().unwrap();
        let memories = index.memories.unwrap();
        // An index of the first version contains no vectors. An index of the second version contains a graph that is no
        // longer read.
        assert_eq!(memories.vector_head().unwrap().is_some(), version != "1.0");
        assert_eq!(memories.has_graph(), !["1.0", "1.2"].contains(&version));
        // Earlier versions stored turns instead of passages. The next sync converts them.
        let search = Search { text: "ledger".into(), tier: Tier::Passages, ..Search::default() };
        let passages = if version == VERSION { 3 } else { 0 };
        assert_eq!(recall.search(&search, NOW).hits.len(), passages, "{version}");
        assert!(!is_unsettled(&fixture.index(), None).unwrap(), "{version}");
    }
}
