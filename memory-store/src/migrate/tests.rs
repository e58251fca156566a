//! Tests of migrations of stores that version 0.1.0 wrote: runs that are killed after each write, runs that fail, and
//! stores with files that people changed.

mod killed;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use testutils::golden::{COMMITTED, GoldenHome, PRIVATE};

use super::backup::{self, Backup, prune};
use super::log::{self, StepResult};
use super::plan::{FileChange, Planned};
use super::run::run;
use super::steps::{ALL, Migration};
use super::{Site, bring_up_to_date, go_back};
use crate::error::{Error, Result};
use crate::format_version::{self, StoreFormat, StoreKind};
use crate::fs::disk::refused;
use crate::layout::{STORE_DIR, Tree};
use crate::ledger::Ledger;
use crate::memory::{HeldFor, Status};
use crate::reconcile::{Replacing, SourceState};
use crate::redact::Redactor;
use crate::reviewed::Reviewed;
use crate::settings::Settings;
use crate::store::{Forget, Store};
use crate::stored::visit;
use crate::time::{DAY_MS, Timestamp};
use crate::{identity, trust};

const NOW: Timestamp = Timestamp(1_796_000_000_000);

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn tree(home: &GoldenHome, name: &str) -> Tree {
    Tree::find(&home.dirs, &home.root(name)).unwrap()
}

fn project(home: &GoldenHome, name: &str) -> Site {
    let tree = tree(home, name);
    Site::project(&home.dirs, home.dirs.project(tree.project), vec![tree.root])
}

fn memory_folder(home: &GoldenHome) -> Site {
    let tree = tree(home, COMMITTED);
    Site::memory_folder(&home.dirs, home.dirs.project(tree.project), tree.root)
}

/// Returns a store for the test steps: the user's own store, whose kind has enough formats for two of these steps.
fn made_up(home: &GoldenHome) -> Site {
    Site { roots: vec![home.root(COMMITTED)], ..Site::user(&home.dirs) }
}

/// Returns the stores of a home that have steps.
fn sites(home: &GoldenHome) -> Vec<Site> {
    vec![Site::user(&home.dirs), project(home, COMMITTED), project(home, PRIVATE)]
}

/// Returns all files of a home, except backups, logs of migrations and locks.
fn files(home: &GoldenHome) -> Files {
    let mut files = all_files(home);
    files.retain(|path, _| {
        let name = path.file_name().unwrap();
        let is_backup = path.components().any(|part| part.as_os_str() == "backups");
        !is_backup && name != "migrations.jsonl" && name != "store.lock"
    });
    files
}

fn all_files(home: &GoldenHome) -> Files {
    let top = home.home();
    let walk = walkdir::WalkDir::new(top.parent().unwrap()).into_iter().map(|it| it.unwrap());
    let files = walk.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(top.parent().unwrap()).unwrap().to_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Returns the files in a form that is comparable between homes, whose temporary folders have different names.
fn comparable(home: &GoldenHome, files: &Files) -> Files {
    let place = home.home().parent().unwrap().to_str().unwrap().to_owned();
    let text = |bytes: &Vec<u8>| match String::from_utf8(bytes.clone()) {
        // Checksums and hashed names depend on the temporary folder.
        Ok(text) if text.contains(&place) => Vec::new(),
        Ok(text) => text.into_bytes(),
        Err(_) => Vec::new(),
    };
    let hashed = |path: &Path| {
        path.components().any(|it| ["trees", "by-path"].iter().any(|name| it.as_os_str() == *name))
    };
    files
        .iter()
        .filter(|(path, _)| !hashed(path))
        .map(|(path, bytes)| (path.clone(), text(bytes)))
        .collect()
}

/// Returns the names of files that differ, because whole maps of bytes would be unreadable in a message.
fn differing(one: &Files, other: &Files) -> Vec<PathBuf> {
    let names = one.keys().chain(other.keys());
    let mut names: Vec<PathBuf> =
        names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect();
    names.sort();
    names.dedup();
    names
}

fn without_ledgers(mut files: Files) -> Files {
    files.retain(|path, _| !path.ends_with("ledger.jsonl"));
    files
}

fn is_current(site: &Site, migrations: &'static [Migration]) -> bool {
    let number = site.found_version().unwrap().number;
    site.pending(migrations, number).next().is_none() && !backup::is_unfinished(site)
}

/// Returns the results of the steps of a store, from its log.
fn results(site: &Site) -> Vec<(String, StepResult)> {
    let lines = log::read(&site.home);
    let lines = lines.into_iter().filter(|line| line.folder == site.folder());
    lines.map(|line| (line.name, line.result)).collect()
}

#[test]
fn the_stores_of_0_1_0_are_migrated_once_and_only_what_is_named_changes() {
    let home = GoldenHome::new("0.1.0");
    let before = files(&home);
    for site in sites(&home) {
        assert_eq!(site.version().unwrap(), StoreFormat::FIRST, "{}", site.kind.name());
        let migrated = bring_up_to_date(&site, NOW).unwrap().unwrap();
        assert_eq!((migrated.from, migrated.to), (1, site.kind.format()));
        assert!(migrated.backup.unwrap().is_dir() && migrated.files > 0);
        assert!(results(&site).iter().any(|(_, result)| *result == StepResult::Done));
        let after = all_files(&home);
        assert_eq!(bring_up_to_date(&site, NOW).unwrap(), None, "a second run has nothing to do");
        assert_eq!(differing(&all_files(&home), &after), [] as [PathBuf; 0]);
    }
    let after = files(&home);
    let changed: Vec<&PathBuf> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes))
        .map(|(path, _)| path)
        .collect();
    let is_named = |path: &&PathBuf| {
        path.ends_with("version")
            || path.ends_with("ledger.jsonl")
            || path.ends_with("throughline/config.toml")
            || path.parent().unwrap().ends_with("drafts")
    };
    assert!(changed.iter().all(is_named), "{changed:?}");
    assert!(before.keys().all(|path| after.contains_key(path)), "a file is gone");
    let config = fs::read_to_string(home.dirs.config_file()).unwrap();
    let expected = "# Settings of this machine.\n\nstart_tokens = 700 # enough\nreview = true\n\n\
                    [half_life_days]\n# Fixes stay useful.\nfix = 400\n";
    assert_eq!(config, expected);
}

#[test]
fn a_memory_that_waits_keeps_its_words_and_stays_ours_or_the_person_s() {
    let home = GoldenHome::new("0.1.0");
    let mut reasons = Vec::new();
    for name in [COMMITTED, PRIVATE] {
        let site = project(&home, name);
        let folder = [site.home.drafts.clone()];
        let read = || {
            let mut all = Vec::new();
            visit(&folder, &mut |read| all.push(read.unwrap()));
            all
        };
        let before = read();
        let known = Ledger::open(&site.home).unwrap();
        let was_ours: Vec<bool> = before
            .iter()
            .map(|it| {
                known.entry(it.stored.memory.id).is_some_and(|entry| entry.wrote(it.file.text()))
            })
            .collect();
        bring_up_to_date(&site, NOW).unwrap();
        let known = Ledger::open(&site.home).unwrap();
        for ((before, after), was_ours) in before.iter().zip(read()).zip(was_ours) {
            let memory = &after.stored.memory;
            assert_eq!(memory.status, Status::Held);
            let reason = memory.held_for.unwrap();
            let line = format!("held_for: {}", reason.name());
            let expected = before.file.text().replacen("status: draft", "status: held", 1);
            let without: String = after
                .file
                .text()
                .lines()
                .filter(|it| *it != line)
                .map(|it| format!("{it}\n"))
                .collect();
            assert_eq!(without, expected, "nothing else changes");
            let is_ours =
                known.entry(memory.id).is_some_and(|entry| entry.wrote(after.file.text()));
            assert_eq!(is_ours, was_ours, "{}", after.stored.path.display());
            reasons.push((reason, is_ours));
        }
    }
    // The home contains a file that the program wrote and a file that a person edited.
    assert!(reasons.contains(&(HeldFor::Review, true)), "{reasons:?}");
    assert!(reasons.iter().any(|(_, is_ours)| !is_ours), "{reasons:?}");
}

/// Plans a step that a later version may contain: it appends a line to each memory file of the folder.
fn sign(site: &Site) -> Result<Planned> {
    let mut changes = Vec::new();
    for path in memories(site) {
        let before = site.read(&path)?.unwrap();
        let mut after = before.clone();
        if !before.ends_with(b"Signed.\n") {
            after.extend(b"\nSigned.\n");
        }
        changes.push(FileChange::replace(path, Some(before), after));
    }
    Ok(Planned::files(changes))
}

/// Plans another such step: it moves files that rules extracted out of the committed folder.
fn put_aside(site: &Site) -> Result<Planned> {
    let mut changes = Vec::new();
    for path in memories(site) {
        let before = site.read(&path)?.unwrap();
        if !String::from_utf8_lossy(&before).contains("extractor: rules") {
            continue;
        }
        let to = site.home.archived_memories.join(path.file_name().unwrap());
        let there = site.read(&to)?;
        if there.as_ref() != Some(&before) {
            changes.push(FileChange::replace(to, there, before.clone()));
        }
        changes.push(FileChange { path, before: Some(before), after: None });
    }
    Ok(Planned::files(changes))
}

fn memories(site: &Site) -> Vec<PathBuf> {
    let folder = site.roots[0].join(STORE_DIR).join("memories");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    paths
}

fn fail(site: &Site) -> Result<Planned> {
    Err(refused(&site.folder(), "this step always fails", "Nothing."))
}

/// Plans a step that changes files and then fails, because a folder is at the path of the last file.
fn stumble(site: &Site) -> Result<Planned> {
    let Planned::Changes { mut files, ledger } = sign(site)? else { return fail(site) };
    files.truncate(2);
    let obstacle = site.home.archived_memories.join("obstacle");
    fs::create_dir_all(obstacle.join("deep")).unwrap();
    files.push(FileChange::replace(obstacle, None, b"x".to_vec()));
    Ok(Planned::Changes { files, ledger })
}

const fn step(to: u32, name: &'static str, plan: fn(&Site) -> Result<Planned>) -> Migration {
    Migration { kind: StoreKind::User, to, name, since: "9.0.0", about: "Made up.", plan }
}

const fn folder_step(to: u32, name: &'static str, plan: fn(&Site) -> Result<Planned>) -> Migration {
    Migration { kind: StoreKind::MemoryFolder, to, name, since: "9.0.0", about: "Made up.", plan }
}

static LATER: [Migration; 2] = [step(2, "sign", sign), step(3, "put-aside", put_aside)];
static OF_FOLDER: [Migration; 1] = [folder_step(2, "sign-folder", sign)];
static FAILING: [Migration; 2] = [step(2, "sign", sign), step(3, "fail", fail)];
static STUMBLING: [Migration; 2] = [step(2, "put-aside", put_aside), step(3, "stumble", stumble)];

#[test]
fn what_a_person_changes_between_two_runs_is_theirs() {
    let home = GoldenHome::new("0.1.0");
    let site = made_up(&home);
    let first = memories(&site).remove(0);
    let before = fs::read(&first).unwrap();
    // Run with an increasing number of writes until the first file has changed.
    let mut writes = 0;
    while fs::read(&first).unwrap() == before {
        run(&site, &FAILING, NOW, writes).unwrap();
        writes += 1;
    }
    fs::write(&first, "My own words.\n").unwrap();
    run(&site, &FAILING, NOW, usize::MAX).unwrap_err();
    assert_eq!(fs::read_to_string(&first).unwrap(), "My own words.\n");

    // After a complete run, files that were edited since the run are not restored, but reported.
    run(&site, &LATER, NOW, usize::MAX).unwrap().unwrap();
    let kept = backup::list(&site.home).remove(0);
    let mine = memories(&site).remove(0);
    fs::write(&mine, "Changed since.\n").unwrap();
    let put_back = go_back(&site, &kept.name, NOW).unwrap();
    assert_eq!(put_back.left, std::slice::from_ref(&mine));
    assert_eq!(fs::read_to_string(&mine).unwrap(), "Changed since.\n");
    assert_eq!(results(&site).last().unwrap().1, StepResult::WentBack);
    assert_eq!(site.version().unwrap(), StoreFormat::FIRST);
    assert!(go_back(&site, "none", NOW).is_err());
}

#[test]
fn a_file_that_changes_while_it_is_migrated_is_not_overwritten() {
    fn outdated(site: &Site) -> Result<Planned> {
        let path = memories(site).remove(0);
        Ok(Planned::files(vec![FileChange::replace(path, Some(b"old".to_vec()), b"new".to_vec())]))
    }
    fn outside(site: &Site) -> Result<Planned> {
        let path = site.roots[0].join("Cargo.toml");
        let before = fs::read(&path).ok();
        Ok(Planned::files(vec![FileChange::replace(path, before, b"new".to_vec())]))
    }
    static OUTDATED: [Migration; 1] = [step(2, "outdated", outdated)];
    static OUTSIDE: [Migration; 1] = [step(2, "outside", outside)];
    let home = GoldenHome::new("0.1.0");
    let site = made_up(&home);
    let before = files(&home);
    let told = run(&site, &OUTDATED, NOW, usize::MAX).unwrap_err().to_string();
    assert!(told.contains("changed while"), "{told}");
    let told = run(&site, &OUTSIDE, NOW, usize::MAX).unwrap_err().to_string();
    assert!(told.contains("outside of the store"), "{told}");
    assert_eq!(differing(&files(&home), &before), [] as [PathBuf; 0]);
}

#[test]
fn a_store_that_cannot_be_changed_waits_without_a_fault_and_is_tried_again() {
    let home = GoldenHome::new("0.1.0");
    let (site, config) = (Site::user(&home.dirs), home.dirs.config_file());
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{before}= 3\n")).unwrap();
    for _ in 0..2 {
        let migrated = bring_up_to_date(&site, NOW).unwrap().unwrap();
        assert!(migrated.is_reported() && migrated.waits.unwrap().contains("config.toml"));
        assert_eq!(site.version().unwrap().number, 2);
    }
    let waits = |results: &[(String, StepResult)]| {
        results.iter().filter(|(_, result)| *result == StepResult::Waits).count()
    };
    assert_eq!(waits(&results(&site)), 1, "the same reason is written once");
    fs::write(&config, before).unwrap();
    assert_eq!(bring_up_to_date(&site, NOW).unwrap().unwrap().to, 3);
}

#[test]
fn settings_are_migrated_where_the_user_has_no_memories() {
    let home = GoldenHome::new("0.1.0");
    fs::remove_dir_all(home.dirs.user_dir().folder).unwrap();
    let site = Site::user(&home.dirs);
    assert_eq!(bring_up_to_date(&site, NOW).unwrap().unwrap().files, 1);
    assert!(fs::read_to_string(home.dirs.config_file()).unwrap().contains("review = true"));
    // If there are no settings either, nothing is created.
    let home = GoldenHome::new("0.1.0");
    fs::remove_dir_all(home.dirs.user_dir().folder).unwrap();
    fs::remove_file(home.dirs.config_file()).unwrap();
    assert_eq!(bring_up_to_date(&Site::user(&home.dirs), NOW).unwrap(), None);
    assert!(!home.dirs.user_dir().folder.exists());
}

#[test]
fn a_lost_mark_is_harmless() {
    let home = GoldenHome::new("0.1.0");
    for site in sites(&home) {
        bring_up_to_date(&site, NOW).unwrap();
    }
    let after = files(&home);
    for site in sites(&home) {
        fs::remove_file(format_version::path(&site.folder())).unwrap();
        assert_eq!(bring_up_to_date(&site, NOW).unwrap().unwrap().files, 0);
    }
    assert_eq!(differing(&files(&home), &after), [] as [PathBuf; 0]);
}

#[test]
fn a_newer_store_is_neither_migrated_nor_written() {
    for kind in [StoreKind::User, StoreKind::Project, StoreKind::MemoryFolder] {
        let home = GoldenHome::new("0.1.0");
        let tree = tree(&home, COMMITTED);
        let store = Store::open(&home.dirs, &tree).unwrap();
        let mut all = Site::all_known(&home.dirs, &tree);
        all.retain(|site| site.kind == kind);
        let site = all.remove(0);
        let line = StoreFormat::line(kind.format() + 1, "9.9.0");
        fs::write(format_version::path(&site.folder()), line).unwrap();
        // The lock files are created now, because creating them is not a change to the store.
        for folder in [&store.home.folder, &home.dirs.user_dir().folder] {
            fs::write(folder.join("store.lock"), "").unwrap();
        }
        let before = all_files(&home);
        let listed = store.list().unwrap().memories;
        let one = listed[0].clone();
        let id = one.memory.id.to_string();
        let waiting = store.drafts().unwrap().memories[0].memory.id.to_string();
        let redactor = Redactor::default();
        let newer = |done: Result<()>| {
            let told = match done {
                Err(error @ Error::Newer { .. }) => error.to_string(),
                other => panic!("{}: {other:?}", kind.name()),
            };
            assert!(told.contains("9.9.0") && told.contains("Install"), "{told}");
        };
        newer(bring_up_to_date(&site, NOW).map(drop));
        newer(store.save(one.memory.clone(), &redactor, NOW).map(drop));
        newer(store.edit(&id, &redactor, |memory| memory.pinned = true).map(drop));
        newer(store.forget(&id, Forget::Archive, &redactor, NOW).map(drop));
        newer(store.promote(&waiting, &redactor).map(drop));
        newer(store.reject(&waiting, &redactor, NOW).map(drop));
        newer(store.clean(&redactor, None).map(drop));
        newer(reconcile_nothing(&store));
        if kind != StoreKind::MemoryFolder {
            newer(identity::link(&home.dirs, &observed(&tree), tree.project).map(drop));
        }
        if kind == StoreKind::Project {
            newer(Reviewed::change(&store.home, |reviewed| reviewed.confirm(one.memory.id, NOW)));
            newer(trust::let_out(&store.home, &one, &redactor));
            assert!(go_back(&site, "none", NOW).is_err());
        }
        assert_eq!(differing(&all_files(&home), &before), [] as [PathBuf; 0], "{}", kind.name());
        // The store can still be read.
        assert_eq!(store.list().unwrap().memories, listed);
    }
}

fn observed(tree: &Tree) -> identity::Observed {
    identity::Observed { root: tree.root.clone(), ..identity::Observed::default() }
}

fn reconcile_nothing(store: &Store) -> Result<()> {
    let redactor = Redactor::default();
    crate::reconcile::reconcile(
        store,
        &redactor,
        Vec::new(),
        &[],
        NOW,
        &|_| SourceState::Lost,
        Replacing::Few,
    )
    .map(drop)
}

#[test]
fn backups_are_bounded_in_number_and_age() {
    let home = GoldenHome::new("0.1.0");
    let site = made_up(&home);
    let mut last = NOW;
    for number in 0..8 {
        last = Timestamp(NOW.0 + number * DAY_MS);
        run(&site, &LATER, last, usize::MAX).unwrap().unwrap();
        let kept = backup::list(&site.home).pop().unwrap();
        go_back(&site, &kept.name, last).unwrap();
    }
    let kept = backup::list(&site.home);
    assert_eq!(kept.len(), 5);
    assert_eq!(kept.last().unwrap().at, last);
    prune(&site.home, Timestamp(last.0 + 88 * DAY_MS)).unwrap();
    assert_eq!(backup::list(&site.home).len(), 2);
    prune(&site.home, Timestamp(last.0 + 91 * DAY_MS)).unwrap();
    assert!(backup::list(&site.home).is_empty());
    // The backup of a killed run is kept.
    let mut writes = 0;
    while !backup::is_unfinished(&site) {
        run(&site, &LATER, NOW, writes).unwrap();
        writes += 1;
    }
    while Backup::unfinished(&site).unwrap().is_none() {
        run(&site, &LATER, NOW, writes).unwrap();
        writes += 1;
    }
    prune(&site.home, Timestamp(last.0 + 900 * DAY_MS)).unwrap();
    assert!(backup::is_unfinished(&site));
}

#[test]
fn what_is_to_be_gone_for_good_is_in_no_backup() {
    let home = GoldenHome::new("0.1.0");
    let site = project(&home, COMMITTED);
    let store = Store::open(&home.dirs, &tree(&home, COMMITTED)).unwrap();
    bring_up_to_date(&site, NOW).unwrap();
    let holds = |text: &str| {
        all_files(&home).into_iter().any(|(path, bytes)| {
            path.components().any(|part| part.as_os_str() == "backups")
                && String::from_utf8_lossy(&bytes).contains(text)
        })
    };
    let hiding = |word: &str| Settings {
        redact: crate::settings::RedactSettings { deny: vec![word.to_owned()], ..<_>::default() },
        ..Settings::default()
    };
    for (word, keeps_backup) in [("not sure yet", true), ("millimetres", false)] {
        assert!(holds(word), "{word}");
        store.clean(&store.redactor(&hiding(word)), None).unwrap();
        assert!(!holds(word), "{word}");
        assert_eq!(holds("status: draft"), keeps_backup, "{word}");
    }
    fs::remove_file(format_version::path(&site.folder())).unwrap();
    fs::write(
        site.home.drafts.join("old.md"),
        "---\nid: 01m7w000000000000000000h5d\nkind: fact\nstatus: draft\n---\n\n# Old\n",
    )
    .unwrap();
    bring_up_to_date(&site, NOW).unwrap();
    assert!(holds("status: draft"));
    let waiting = store.drafts().unwrap().memories[0].memory.id.to_string();
    store.forget(&waiting, Forget::Delete, &Redactor::default(), NOW).unwrap();
    assert!(!holds("status: draft"));
}
