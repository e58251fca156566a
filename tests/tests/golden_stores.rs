//! Stores that released versions wrote are kept in `tests/fixtures/stores`, and every later build must be able to read
//! them.
//!
//! `tests/fixtures/stores/<version>` is the home that [`journeys::golden_store`] creates with the programs of that
//! version. To create the folder for a new version, build this version and run
//! `THROUGHLINE_WRITE_GOLDEN=1 THROUGHLINE_TEST_BIN_DIR=<its programs> cargo test -p journeys --test tests
//! golden_stores::`
//! once, and commit the folder. The folders of older versions are never written again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use journeys::environment::TestEnvironment;
use journeys::golden_store;
use journeys::hook_run::Moment;
use journeys::sample_project::{memories_dir, snapshot};
use serde_json::Value;
use testutils::golden::{COMMITTED, GoldenHome, PRIVATE};

/// The version for which a folder can be written.
const VERSION: &str = "0.1.0";
/// All versions that have a folder.
const VERSIONS: [&str; 1] = [VERSION];

/// The current time, one day after the last session.
const NOW: &str = "2026-11-21T09:00:00Z";

struct Golden {
    environment: TestEnvironment,
    home: GoldenHome,
}

impl Golden {
    fn new(version: &str) -> Self {
        let environment = TestEnvironment::new().unwrap().at(NOW);
        let programs = environment.binary("");
        let home = GoldenHome::at(version, environment.path(), &programs).with_git(version);
        Self { environment, home }
    }

    fn run(&self, project: &str, arguments: &[&str]) -> String {
        self.environment.throughline(&self.home.root(project), arguments).unwrap()
    }

    fn json(&self, project: &str, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(project, arguments)).unwrap()
    }

    /// Returns ids and titles of the memories of a project and of the user.
    fn memories(&self, project: &str) -> BTreeSet<(String, String)> {
        let list = self.json(project, &["list", "--json"]);
        let text = |memory: &Value, key: &str| memory[key].as_str().unwrap().to_owned();
        let all = list.as_array().unwrap().iter();
        all.map(|memory| (text(memory, "id"), text(memory, "title"))).collect()
    }

    /// Runs a command that must fail; returns its single line of output.
    fn fails(&self, arguments: &[&str]) -> String {
        let done = self.environment.throughline(&self.home.root(COMMITTED), arguments);
        done.expect_err(&arguments.join(" ")).to_string()
    }
}

/// Returns the bytes of all files below a folder, except files whose paths contain one of the given texts.
fn files(folder: &Path, without: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = snapshot(folder).unwrap();
    files.retain(|path, _| !without.iter().any(|part| path.to_string_lossy().contains(part)));
    files
}

fn differing(one: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let names: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}

#[test]
fn every_version_is_read() {
    if std::env::var_os("THROUGHLINE_WRITE_GOLDEN").is_some() {
        golden_store::write(VERSION).unwrap();
    }
    for version in VERSIONS {
        let golden = Golden::new(version);
        let folder = memories_dir(&golden.home.root(COMMITTED));
        let written = files(&folder, &[]);
        for project in [COMMITTED, PRIVATE] {
            let before = golden.memories(project);
            let tombstones = golden.json(project, &["list", "--forgotten", "--json"]);
            assert!(before.len() > 3 && !tombstones.as_array().unwrap().is_empty(), "{version}");
            let told = golden.run(project, &["sync"]);
            assert!(told.contains("project store was brought from format 1 to 2"), "{told}");
            // Memories of the rules about which no person decided are archived, and no others are removed.
            let after = golden.memories(project);
            let aside = golden.json(project, &["list", "--forgotten", "--json"]).to_string();
            assert!(after.is_subset(&before), "{version}, {project}");
            assert!(before.difference(&after).all(|(id, _)| aside.contains(id)), "{aside}");
            let buried = golden.json(project, &["list", "--forgotten", "--json"]);
            let buried = buried.as_array().unwrap();
            assert!(tombstones.as_array().unwrap().iter().all(|it| buried.contains(it)));
            let list = golden.json(project, &["list", "--json"]);
            assert!(list.as_array().unwrap().iter().all(|it| it["status"] != "draft"), "{list}");
            let again = golden.run(project, &["sync"]);
            assert!(again.contains("Nothing new") && !again.contains("format"), "{again}");
        }
        let left = files(&folder, &[]);
        assert!(left.iter().all(|(path, text)| written.get(path) == Some(text)), "{version}");
        let start = Moment::start("startup");
        let root = golden.home.root(COMMITTED);
        let told = start.run(&golden.environment, &root, "s9").unwrap().context();
        assert!(told.contains("Never restart the collector at high water"), "{told}");
        let settings = golden.run(COMMITTED, &["config", "get", "review"]);
        assert_eq!(settings.trim(), "true");
        let told = golden.run(COMMITTED, &["doctor", "--migrations"]);
        for part in ["held-status", "review-setting", "done", "Backups", "--restore"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}

#[test]
fn a_store_of_a_later_version_is_written_by_no_program() {
    for kind in ["user", "project", "memory folder"] {
        let golden = Golden::new(VERSION);
        let root = golden.home.root(COMMITTED);
        let project = golden.home.project(COMMITTED);
        let home = golden.home.dirs.project(project).folder;
        let mark = match kind {
            "user" => golden.home.dirs.user_dir().folder.join("version"),
            "project" => home.join("version"),
            _ => root.join(".throughline/version"),
        };
        // The index is built again, since the index in the fixture contains the times of other files.
        golden.run(COMMITTED, &["sync"]);
        golden.environment.wait_until_quiet();
        fs::write(mark, "99 9.9.0\n").unwrap();
        let list = golden.json(COMMITTED, &["list", "--json"]);
        let id = list[0]["id"].as_str().unwrap().to_owned();
        // Lock files, and the report of a failed background run, may differ: the latter is disposable state.
        let mut without = vec!["store.lock", "sync.lock"];
        if kind != "project" {
            without.extend([".local/state"]);
        }
        let before = files(&golden.environment.path(), &without);
        let commands: [&[&str]; 7] = [
            &["sync"],
            &["add", "A new fact", "--kind", "fact"],
            &["edit", &id, "--pin"],
            &["forget", &id],
            &["review", "--accept-all"],
            &["purge", "--before", "2026-10-06", "--yes"],
            &["doctor", "--secrets", "--fix"],
        ];
        for command in commands {
            let told = golden.fails(command);
            let parts = ["9.9.0", "Install Throughline 9.9.0 or later", "format 99"];
            assert!(parts.iter().all(|part| told.contains(part)), "{kind}, {command:?}: {told}");
        }
        if kind == "user" {
            let told = golden.fails(&["config", "set", "notice", "off"]);
            assert!(told.contains("9.9.0"), "{told}");
        }
        let id = project.to_string();
        for more in [&[][..], &["--background"]] {
            let mut processor =
                golden.environment.command(golden.environment.binary("throughline-processor"));
            processor.args(["sync", "--project", &id]).args(more).env("THROUGHLINE", "full");
            let output = processor.output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && told.contains("9.9.0"), "{kind}: {told}");
            assert_eq!(told.lines().count(), 1, "{told}");
        }
        let moments = [
            Moment::start("startup"),
            Moment::prompt("On which port does the collector listen?"),
            Moment::read(&root.join("src/store.rs")),
            Moment::stop(),
            Moment::end(),
        ];
        for moment in moments {
            let ran = moment.run(&golden.environment, &root, "s9").unwrap();
            assert!(ran.output.status.success());
            if moment.event == "UserPromptSubmit" {
                assert!(ran.context().contains("port 7442"), "{kind}: recall goes on");
            }
            // Hooks check the format of the project's own state. For other stores, the notice is about the failed
            // background run.
            let is_told = ran.notice().contains("9.9.0");
            assert_eq!(is_told, moment.event == "SessionStart", "{kind}: {}", ran.notice());
        }
        golden.environment.wait_until_quiet();
        let after = files(&golden.environment.path(), &without);
        assert_eq!(differing(&after, &before), Vec::<PathBuf>::new(), "{kind}");
        let told = golden.fails(&["doctor", "--migrations"]);
        assert!(told.contains("9.9.0"), "{told}");
    }
}

#[test]
fn a_backup_leads_back_to_what_the_earlier_version_wrote() {
    let golden = Golden::new(VERSION);
    let home = golden.home.dirs.project(golden.home.project(COMMITTED));
    let before = files(&home.drafts, &[]);
    let aside_before = files(&home.archived_memories, &[]).len();
    golden.run(COMMITTED, &["sync"]);
    let after = files(&home.drafts, &[]);
    assert!(before.iter().all(|(path, bytes)| after.get(path) != Some(bytes)));
    golden.run(COMMITTED, &["off"]);
    let stores = golden.json(COMMITTED, &["doctor", "--migrations", "--json"]);
    for store in stores.as_array().unwrap() {
        for backup in store["backups"].as_array().unwrap() {
            let name = backup["name"].as_str().unwrap();
            let told = golden.run(COMMITTED, &["doctor", "--migrations", "--restore", name]);
            assert!(told.contains("Put back:"), "{told}");
        }
    }
    // Memories that were archived because rules wrote them are in the folder `archived`.
    let left = files(&home.drafts, &[]);
    let gone: Vec<_> = before.keys().filter(|path| !left.contains_key(*path)).collect();
    let aside = files(&home.archived_memories, &[]).len();
    assert_eq!(aside - aside_before, gone.len(), "{gone:?}");
    assert!(left.iter().all(|(path, text)| before.get(path) == Some(text)), "{left:?}");
    let config = fs::read_to_string(golden.home.dirs.config_file()).unwrap();
    assert!(config.contains("promote = \"review\"") && config.contains("# enough"), "{config}");
    let stores = golden.json(COMMITTED, &["doctor", "--migrations", "--json"]);
    assert!(stores.as_array().unwrap().iter().all(|store| store["format"] == 1), "{stores}");
}
