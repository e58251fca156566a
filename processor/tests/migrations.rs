//! Syncs with stores of an earlier format.

use memory_store::Timestamp;
use memory_store::layout::Tree;
use memory_store::migrate::Site;
use memory_store::store::Store;
use processor::lock::Busy;
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::upkeep::purge::{PurgeTarget, purge};
use testutils::golden::{COMMITTED, GoldenHome, PRIVATE};

const NOW: Timestamp = Timestamp(1_795_300_000_000);

fn tree(home: &GoldenHome, project: &str) -> Tree {
    Tree::find(&home.dirs, &home.root(project)).unwrap()
}

fn synced(home: &GoldenHome, tree: &Tree) -> SyncReport {
    sync(&SyncOptions::new(&home.dirs, tree, Busy::Leave, NOW)).unwrap()
}

#[test]
fn the_first_sync_migrates_and_reports_it_once() {
    let home = GoldenHome::new("0.1.0");
    let tree = tree(&home, PRIVATE);
    let report = synced(&home, &tree);
    let told: Vec<_> = report.migrated.iter().map(|it| (it.store, it.from, it.to)).collect();
    assert_eq!(told, [("user", 1, 3), ("project", 1, 2)]);
    let again = synced(&home, &tree);
    assert!(again.nothing_new && again.migrated.is_empty());
    for site in Site::all_known(&home.dirs, &tree) {
        assert!(site.state().unwrap().pending.is_empty());
    }
}

#[test]
fn a_purge_leaves_no_copy_in_a_backup() {
    let home = GoldenHome::new("0.1.0");
    let tree = tree(&home, COMMITTED);
    synced(&home, &tree);
    let store = Store::open(&home.dirs, &tree).unwrap();
    let backups = store.home.folder.join("backups");
    assert!(backups.is_dir());
    let options = SyncOptions::new(&home.dirs, &tree, Busy::Leave, NOW);
    let session = PurgeTarget::Session("a1000006-0000-4000-8000-000000000000".to_owned());
    let report = purge(&options, &session).unwrap().unwrap();
    assert!(report.sessions == 1 && report.left.is_empty(), "{report:?}");
    assert!(!backups.exists());
}

/// Returns the texts of the memory files in a folder, by id.
fn texts(store: &Store) -> std::collections::BTreeMap<memory_store::MemoryId, String> {
    store.files().into_iter().map(|it| (it.memory.id, it.text)).collect()
}

fn is_retired(memory: &memory_store::Memory) -> bool {
    memory.source.extractor.as_deref().is_some_and(memory_store::memory::Source::is_retired)
}

#[test]
fn what_rules_wrote_and_nobody_decided_about_is_put_aside_once() {
    for project in [PRIVATE, COMMITTED] {
        let home = GoldenHome::new("0.1.0");
        let tree = tree(&home, project);
        let store = Store::open(&home.dirs, &tree).unwrap();
        let before = store.files();
        let retired: Vec<_> = before.iter().filter(|it| is_retired(&it.memory)).collect();
        assert!(!retired.is_empty(), "{project}");
        let report = synced(&home, &tree);
        let after = texts(&store);
        let aside: Vec<_> = store.archived().unwrap().memories;
        for stored in &before {
            let id = stored.memory.id;
            let is_aside = aside.iter().any(|it| it.memory.id == id);
            assert!(after.contains_key(&id) != is_aside, "{id}: in one place");
        }
        let count = aside.iter().filter(|it| is_retired(&it.memory)).count();
        let told: Vec<_> =
            report.warnings.iter().filter(|it| it.contains("list --forgotten")).collect();
        assert_eq!((told.len(), count > 0), (1, true), "{project}: {:?}", report.warnings);
        assert!(told[0].contains(&format!(": {count};")), "{told:?}");
        let log = std::fs::read_to_string(store.home.folder.join("migrations.jsonl")).unwrap();
        assert_eq!(log.matches("rules-memories").count(), 1, "{log}");
        let again = synced(&home, &tree);
        assert!(!again.warnings.iter().any(|it| it.contains("--forgotten")), "{again:?}");
        assert_eq!(texts(&store), after);
    }
}
