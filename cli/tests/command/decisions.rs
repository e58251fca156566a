//! Undoing decisions about memories: in a run of `throughline review`, and later with `--hold`.

use std::fs;

use serde_json::Value;

use crate::browse::{memory_files, with_held, with_held_in};
use crate::common::Machine;
use crate::team::{commit, git, repository};

const KEYS: &str = "[q]uit > ";
const ASKED: &str = "Take it into the repository?";
const END: &str = "[Enter] done > ";
const FOLDER: &str = "home/work/.throughline/memories";

fn accepted(machine: &Machine) -> Vec<String> {
    let files = fs::read_dir(machine.path(FOLDER)).into_iter().flatten();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the memories listed by `review`, as JSON.
fn waiting(machine: &Machine) -> Vec<Value> {
    machine.json(&["review", "--json"]).as_array().unwrap().clone()
}

fn short(machine: &Machine, id: &Value) -> String {
    machine.json(&["show", id.as_str().unwrap(), "--json"])[0]["short"].as_str().unwrap().to_owned()
}

#[test]
fn a_review_undoes_its_decisions_one_after_the_other() {
    let machine = with_held();
    let before = memory_files(&machine);
    let count = waiting(&machine).len();
    assert!(count > 1);
    let mut answers = Vec::new();
    (0..count).for_each(|_| answers.extend([(KEYS, "a"), (ASKED, "y")]));
    // The first undo is typed at the end, and the others at the question to which the previous undo returned.
    answers.push((END, "u"));
    (1..count).for_each(|_| answers.push((KEYS, "u")));
    answers.extend([(KEYS, "u"), ("Nothing is left to undo.", ""), (KEYS, "q")]);
    let shown = machine.at_terminal(&["review"], &answers);
    assert_eq!(shown.matches("Undone: ").count(), count, "{shown}");
    assert_eq!(memory_files(&machine), before, "byte for byte");
    machine.ok(&["sync"]);
    assert_eq!(memory_files(&machine), before);
    assert_eq!(machine.ok(&["list", "--forgotten", "--json"]).trim(), "[]");
    assert_eq!(waiting(&machine).len(), count, "each is asked about again");
}

#[test]
fn a_memory_that_was_dropped_comes_back_with_what_a_person_wrote_into_its_file() {
    let machine = with_held();
    let (path, text) = memory_files(&machine).into_iter().next().unwrap();
    let text = String::from_utf8(text).unwrap();
    let own = text.replacen("---\n", "---\n# a note of mine\nweather: [fair,   calm]\n", 1);
    fs::write(&path, own).unwrap();
    let before = memory_files(&machine);
    let count = waiting(&machine).len();
    let mut answers: Vec<_> = (0..count).map(|_| (KEYS, "d")).collect();
    answers.push((END, "u"));
    (1..count).for_each(|_| answers.push((KEYS, "u")));
    answers.push((KEYS, "q"));
    machine.at_terminal(&["review"], &answers);
    assert_eq!(memory_files(&machine), before, "byte for byte");
    assert_eq!(machine.ok(&["list", "--forgotten", "--json"]).trim(), "[]");
}

#[test]
fn a_review_goes_back_to_what_was_decided_and_keys_that_move_decide_nothing() {
    let machine = with_held();
    let before = memory_files(&machine);
    for keys in ["j", "k", "n", " ", "\r", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "h", "l", "t"] {
        let keys = format!("{}q", keys.repeat(9));
        machine.at_terminal(&["review"], &[(KEYS, &keys)]);
        assert_eq!(memory_files(&machine), before, "{keys:?}");
        // The second question must not be answered by a movement key.
        let asked = format!("a{keys}");
        machine.at_terminal(&["review"], &[(KEYS, &asked)]);
        assert_eq!(memory_files(&machine), before, "{asked:?}");
    }
    let answers = [
        (KEYS, "a"),
        (ASKED, "y"),
        ("2 of ", ""),
        (KEYS, "k"),
        ("1 of ", ""),
        ("decided: accepted", ""),
        (KEYS, "q"),
    ];
    machine.at_terminal(&["review"], &answers);
    assert_eq!(accepted(&machine).len(), 1);
}

#[test]
fn a_review_that_is_killed_keeps_the_decisions_so_far() {
    let machine = with_held();
    let count = waiting(&machine).len();
    let editor = machine.path("bin/ed").display().to_string();
    machine.program("ed", "#!/bin/sh\nkill -KILL $PPID\n");
    let machine = machine.with("EDITOR", editor);
    let answers = [(KEYS, "a"), (ASKED, "y"), ("2 of ", ""), (KEYS, "e")];
    let (code, shown) = machine.declined_at_terminal(&["review"], &answers);
    assert_eq!(code, None, "{shown}");
    assert_eq!(accepted(&machine).len(), 1);
    assert_eq!(waiting(&machine).len(), count - 1);
    assert_eq!(machine.ok(&["list", "--forgotten", "--json"]).trim(), "[]");
}

#[test]
fn an_accepted_memory_is_put_back_to_held_and_stays_held() {
    let machine = with_held();
    let before = memory_files(&machine);
    let id = waiting(&machine)[0]["id"].clone();
    let short = short(&machine, &id);
    let text = |machine: &Machine| machine.json(&["show", &short, "--json"])[0]["body"].clone();
    let body = text(&machine);
    machine.ok(&["review", "--accept", &short]);
    let [name] = &accepted(&machine)[..] else { panic!("one was accepted") };
    let published = machine.read(&format!("{FOLDER}/{name}"));

    let said = machine.ok(&["review", "--hold", &short, "--dry-run"]);
    assert!(said.contains("Would make pending again"), "{said}");
    assert_eq!(machine.read(&format!("{FOLDER}/{name}")), published);

    let said = machine.ok(&["review", "--hold", &short]);
    assert!(said.starts_with("Held again: "), "{said}");
    assert!(accepted(&machine).is_empty());
    let ids = |files: &[(std::path::PathBuf, Vec<u8>)]| {
        let of = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.lines().find(|line| line.starts_with("id: ")).unwrap().to_owned()
        };
        let mut ids: Vec<_> = files.iter().map(|(_, bytes)| of(bytes)).collect();
        ids.sort();
        ids
    };
    for _ in 0..2 {
        assert_eq!(ids(&memory_files(&machine)), ids(&before));
        let now = waiting(&machine);
        let held = now.iter().find(|one| one["id"] == id).unwrap();
        assert_eq!((&held["status"], &held["held_for"]), (&"held".into(), &"review".into()));
        assert_eq!(text(&machine), body);
        assert_eq!(machine.ok(&["list", "--forgotten", "--json"]).trim(), "[]");
        // The memory is still pending after another sync, and after a sync of all transcripts.
        machine.ok(&["sync", "--rebuild"]);
    }
    let said = machine.run(&["review", "--hold", &short]);
    assert!(said.code == 1 && said.stderr.contains("is pending already"), "{}", said.whole());
    machine.ok(&["review", "--accept", &short]);
    assert_eq!(machine.read(&format!("{FOLDER}/{}", accepted(&machine)[0])), published);
    let told = machine.json(&["review", "--hold", &short, "--json"]);
    assert!(told.as_array().unwrap().iter().any(|one| one["id"] == id), "{told:#}");
}

#[test]
fn a_memory_that_git_tracks_is_not_made_pending_and_the_remedy_is_printed() {
    let machine = with_held_in(repository);
    let ids: Vec<Value> = waiting(&machine).iter().map(|one| one["id"].clone()).collect();
    let short = short(&machine, &ids[0]);
    machine.ok(&["review", "--accept", &short]);
    let path = format!(".throughline/memories/{}", accepted(&machine)[0]);
    let refused = |why: &str, remedy: &str| {
        let before = memory_files(&machine);
        for more in [&[][..], &["--dry-run"], &["--json"]] {
            let said = machine.run(&[&["review", "--hold", &short], more].concat());
            assert_eq!(said.code, 1, "{}", said.whole());
            assert!(said.stderr.contains(why) && said.stderr.contains(remedy), "{}", said.whole());
        }
        assert_eq!(memory_files(&machine), before);
    };
    git(&machine, &["add", &path]);
    refused("staged for the next commit", &format!("git restore --staged {path}"));
    commit(&machine, "first");
    refused("a commit has it", &format!("git rm {path}"));
    git(&machine, &["branch", "other"]);
    git(&machine, &["rm", "-q", "--cached", &path]);
    git(&machine, &["commit", "-q", "-m", "second"]);
    refused("another branch", "Take it out there first");
}

#[test]
fn what_git_has_by_then_is_not_undone() {
    let machine = with_held_in(repository);
    machine.at_terminal_while(
        &["review"],
        &[
            (KEYS, "a"),
            (ASKED, "y"),
            ("2 of ", ""),
            (KEYS, "u"),
            ("stays in the repository: it is staged", ""),
            (KEYS, "q"),
        ],
        &|| {
            if let [name] = &accepted(&machine)[..] {
                git(&machine, &["add", &format!(".throughline/memories/{name}")]);
            }
        },
    );
    assert_eq!(accepted(&machine).len(), 1);
}

#[test]
fn only_what_is_in_the_repository_can_be_put_back() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    let own = machine.json(&["add", "Tea is green here", "--user", "--json"]);
    let said = machine.run(&["review", "--hold", own["short"].as_str().unwrap()]);
    assert!(said.code == 1 && said.stderr.contains("is your own"), "{}", said.whole());
    // The memory that the new one had replaced is injected again, until the new one is accepted again.
    let old = machine.json(&["add", "Bread is baked in the oven", "--json"]);
    let short = |of: &Value| of["short"].as_str().unwrap().to_owned();
    machine.ok(&["add", "Bread is baked on a stone", "--supersedes", &short(&old)]);
    let superseded = || machine.json(&["show", &short(&old), "--json"])[0].clone();
    let newer = superseded()["superseded_by"].as_str().unwrap().to_owned();
    let said = machine.ok(&["review", "--hold", &newer]);
    assert!(said.contains("holds again"), "{said}");
    assert_eq!(superseded().get("superseded_by"), None);
    machine.ok(&["review", "--accept", &newer]);
    assert_eq!(superseded()["superseded_by"], newer.as_str());
    // If one id is mistyped, no memory becomes pending.
    let before = memory_files(&machine);
    let said = machine.run(&["review", "--hold", &newer, "--hold", "zzzzzz"]);
    assert_ne!(said.code, 0, "{}", said.whole());
    assert_eq!(memory_files(&machine), before);
}
