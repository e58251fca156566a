//! Eleven types of damage, applied to each private file separately. Hooks must continue, the next sync must rebuild
//! what can be rebuilt and report the other files, and no memory may be lost. A run applies some types to each file;
//! `scripts/stress damage` applies all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use journeys::hook_run::Moment;
use journeys::sample_project::{Sample, snapshot};
use memory_store::index::health::{Depth, inspect};
use memory_store::layout::ProjectDir;
use processor::collect::archive::Archive;

/// A type of damage: its name, and a function from a file's content and that of another file to the damaged content.
type Damage = (&'static str, fn(&[u8], &[u8]) -> Vec<u8>);

/// Variable that enables all types of damage for each file. Without it, each file receives one type of [`SAMPLED`], in
/// turn.
const ALL: &str = "THROUGHLINE_TEST_ALL_DAMAGES";
/// See [`ALL`].
const SAMPLED: usize = 6;

/// Exit codes of `cli/src/exit.rs`.
const FAILED: i32 = 1;
const NOT_SET_UP: i32 = 4;
const INVALID: i32 = 5;

/// Types of damage that keep the file. Two more types are its deletion, and its replacement by a folder.
const DAMAGES: [Damage; 9] = [
    ("emptied", |_, _| Vec::new()),
    ("cut to half", |bytes, _| bytes[..bytes.len() / 2].to_vec()),
    ("cut by a byte", |bytes, _| bytes[..bytes.len().saturating_sub(1)].to_vec()),
    ("first bit flipped", |bytes, _| flipped(bytes, 0)),
    ("middle bit flipped", |bytes, _| flipped(bytes, bytes.len() / 2)),
    ("last bit flipped", |bytes, _| flipped(bytes, bytes.len().saturating_sub(1))),
    ("grown", |bytes, _| [bytes, b"\0garbage {\"a\": \xff"].concat()),
    ("another file's", |_, other| other.to_vec()),
    ("zeros", |bytes, _| vec![0; bytes.len()]),
];

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1;
    }
    bytes
}

/// The sample project after a sync, with files written by hooks and by a command, and the contents of all private
/// files.
struct Damaged {
    sample: Sample,
    files: BTreeMap<PathBuf, Vec<u8>>,
    memories: BTreeMap<PathBuf, Vec<u8>>,
}

impl Damaged {
    fn new() -> Self {
        let sample = Sample::with_history().unwrap();
        sample.sync().unwrap();
        // The search creates the index of thinking, although it finds nothing.
        let mut search = sample.environment.command(sample.environment.binary("throughline"));
        search.current_dir(&sample.root).env("THROUGHLINE", "full");
        assert_eq!(search.args(["search", "--thinking", "buoy"]).status().unwrap().code(), Some(1));
        sample.run(&["add", "The buoy is painted twice a year", "--kind", "fact"]).unwrap();
        for moment in [Moment::start("startup"), Moment::prompt("How are tides read?")] {
            moment.run(&sample.environment, &sample.root, "here").unwrap();
        }
        assert_eq!(sample.environment.wait_until_quiet(), Vec::<String>::new());
        sample.sync().unwrap();
        pack_some(&sample);
        sample.sync().unwrap();
        sample.run(&["add", "The pier has forty poles", "--kind", "fact"]).unwrap();
        let files = snapshot(&private(&sample)).unwrap();
        let memories = sample.memories().unwrap();
        assert!(memories.len() > 3);
        Self { sample, files, memories }
    }

    /// Restores all private files and the memories.
    fn restore(&self) {
        let folders = [private(&self.sample), self.sample.memories_dir()];
        for (folder, files) in folders.iter().zip([&self.files, &self.memories]) {
            fs::remove_dir_all(folder).unwrap();
            for (name, bytes) in files {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
    }

    /// Applies each type of damage to each file, and checks the result.
    fn each(&self, names: &[PathBuf]) {
        let folder = private(&self.sample);
        let mut faults = Vec::new();
        let all = std::env::var_os(ALL).is_some();
        for (number, name) in names.iter().enumerate() {
            let is_taken = |way: usize| all || (way + number).is_multiple_of(SAMPLED);
            let bytes = &self.files[name];
            let other =
                self.files.values().find(|other| *other != bytes && !other.is_empty()).unwrap();
            let path = folder.join(name);
            for (way, (how, damage)) in DAMAGES.into_iter().enumerate() {
                let damaged = damage(bytes, other);
                // An empty file cannot be emptied.
                if !is_taken(way) || damaged == *bytes {
                    continue;
                }
                self.restore();
                fs::write(&path, damaged).unwrap();
                faults.extend(self.faults(name, how));
            }
            if is_taken(DAMAGES.len()) {
                self.restore();
                fs::remove_file(&path).unwrap();
                faults.extend(self.faults(name, "deleted"));
            }
            if is_taken(DAMAGES.len() + 1) {
                self.restore();
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                faults.extend(self.faults(name, "a folder"));
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }

    /// Returns the violations after a file was damaged.
    fn faults(&self, name: &Path, how: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |what: String| faults.push(format!("{} {how}: {what}", name.display()));
        for moment in [Moment::start("startup"), Moment::prompt("How are tides read?")] {
            // The mode `read` prevents the hooks from starting a processor in parallel with the sync below.
            let payload = moment.payload(&self.sample.environment, &self.sample.root, "there");
            let variables = [("THROUGHLINE", "read")];
            let bytes = payload.to_string();
            let run =
                self.sample.environment.hook_with(moment.program(), bytes.as_bytes(), &variables);
            let run = run.unwrap();
            let is_valid = run.stdout.is_empty()
                || serde_json::from_slice::<serde_json::Value>(&run.stdout).is_ok();
            if run.status.code() != Some(0) || !is_valid || !run.stderr.is_empty() {
                fault(format!("{} {run:?}", moment.program()));
            }
        }
        let first = self.run(&["sync"]);
        let file_name = name.file_name().unwrap().to_string_lossy();
        let stem = file_name.split('.').next().unwrap();
        let said = output_text(&first);
        match first.status.code() {
            Some(0) => {
                for index in self.indexes() {
                    if let Some(damage) = inspect(&index, Depth::Bytes).damage() {
                        fault(format!("still damaged: {damage}"));
                    }
                }
            }
            // If this file is damaged, the folder is untrusted.
            Some(NOT_SET_UP) if name.to_string_lossy().contains("by-path/") => {}
            // If a file cannot be rebuilt, the sync may fail but must name the file.
            Some(FAILED | INVALID) if said.contains(stem) => {}
            code => fault(format!("the sync exited with {code:?}: {said}")),
        }
        if said.contains("panicked") {
            fault(format!("a panic: {said}"));
        }
        let now = self.sample.memories().unwrap();
        let names: BTreeSet<&PathBuf> = now.keys().chain(self.memories.keys()).collect();
        for name in names.into_iter().filter(|name| now.get(*name) != self.memories.get(*name)) {
            let text =
                |bytes: Option<&Vec<u8>>| bytes.map(|it| String::from_utf8_lossy(it).into_owned());
            let (was, is) = (text(self.memories.get(name)), text(now.get(name)));
            fault(format!("the memory {} is another one: {was:?}, now {is:?}", name.display()));
        }
        faults
    }

    fn indexes(&self) -> Vec<PathBuf> {
        let state = self.sample.environment.state_dir();
        let trees = fs::read_dir(state.join("trees")).unwrap().map(|tree| tree.unwrap().path());
        let mut indexes: Vec<PathBuf> =
            trees.flat_map(|tree| [tree.join("index"), tree.join("thinking")]).collect();
        indexes.push(state.join("user/index"));
        indexes.retain(|index| index.exists());
        indexes
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let environment = &self.sample.environment;
        let mut command = environment.command(environment.binary("throughline"));
        command.current_dir(&self.sample.root).env("THROUGHLINE", "full").args(arguments);
        command.output().unwrap()
    }

    /// Returns the first matching private file of each type in each folder, since some types have a file for each
    /// session.
    fn named(&self, is_it: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let mut kinds: BTreeMap<(PathBuf, String), PathBuf> = BTreeMap::new();
        for name in self.files.keys().filter(|name| is_it(&name.to_string_lossy())) {
            let file = name.file_name().unwrap().to_string_lossy();
            // The type is the name of the file without numbers and ids.
            let kind =
                file.split(['.', '-']).filter(|part| !part.contains(|c: char| c.is_ascii_digit()));
            let kind = kind.collect::<Vec<_>>().join(".");
            kinds.entry((name.parent().unwrap().to_owned(), kind)).or_insert(name.clone());
        }
        kinds.into_values().collect()
    }
}

/// Packs every second session, as a sync does with inactive ones.
fn pack_some(sample: &Sample) {
    let projects = fs::read_dir(private(sample).join("share/throughline/projects")).unwrap();
    let project = projects.map(|project| project.unwrap().path()).find(|path| path.is_dir());
    let archive = Archive::open(&ProjectDir::at(project.unwrap()));
    let names: Vec<String> = archive.names().unwrap().into_iter().step_by(2).collect();
    archive.pack(&names).unwrap();
}

/// Returns the folders of all private files.
fn private(sample: &Sample) -> PathBuf {
    sample.environment.home().join(".local")
}

fn output_text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Panics unless each of these names matches a file.
fn assert_named(names: &[PathBuf], wanted: &[&str]) {
    for part in wanted {
        let is_there = names.iter().any(|name| name.to_string_lossy().contains(part));
        assert!(is_there, "{part}: {names:?}");
    }
}

fn is_of_index(name: &str) -> bool {
    name.contains("/index/") || name.contains("/thinking/")
}

#[test]
fn files_of_the_index() {
    let damaged = Damaged::new();
    let names = damaged.named(is_of_index);
    assert_named(
        &names,
        &["MANIFEST", "index/memories-", "index/passages-", "journal-", "thinking/MANIFEST"],
    );
    damaged.each(&names);
}

#[test]
fn files_of_the_archive_whose_transcripts_are_there_or_gone() {
    let damaged = Damaged::new();
    let names = damaged.named(|name| name.contains("/archive/"));
    assert_named(&names, &[".jsonl.gz", ".pack", "roots.json"]);
    damaged.each(&names);
    fs::remove_dir_all(damaged.sample.environment.claude_dir().join("projects")).unwrap();
    damaged.each(&names);
}

#[test]
fn files_of_a_project_and_its_ledger() {
    let damaged = Damaged::new();
    let names = damaged.named(|name| name.starts_with("share/") && !name.contains("/archive/"));
    assert_named(&names, &["ledger.jsonl", "state.json", ".mined.json", "keys", "by-path/"]);
    damaged.each(&names);
}

#[test]
fn files_of_the_state() {
    let damaged = Damaged::new();
    let names = damaged.named(|name| name.starts_with("state/") && !is_of_index(name));
    assert_named(&names, &["progress", "receipts", "sessions/", "inbox", "left"]);
    damaged.each(&names);
}
