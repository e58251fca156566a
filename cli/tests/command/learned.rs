//! `throughline review` with and without a terminal: memories learned since the last review.

use serde_json::{Value, json};

use crate::common::Machine;

const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";
const SESSION: &str = "11111111-1111-4111-8111-111111111111";

fn learned(machine: &Machine) -> Vec<Value> {
    machine.json(&["review", "--json"]).as_array().unwrap().clone()
}

fn ids(machine: &Machine) -> Vec<String> {
    learned(machine).iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns a machine that learned several memories, some of them with high confidence.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.ok(&["init", "--yes", "--no-register"]);
    for (kind, title) in [
        ("fact", "The harbour list is fetched at noon"),
        ("gotcha", "The tide table has no entry for leap days"),
        ("fact", "Berths are numbered from the north pier"),
        ("decision", "Ships pay at the office of the harbour"),
        ("convention", "Masts are measured from the deck"),
    ] {
        machine.ok(&["add", title, "--kind", kind]);
    }
    let folder = machine.work().join(".throughline/memories");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut changed = text.replace("extractor: cli", "extractor: ollama/m");
        if changed.contains("harbour") && !changed.contains("confidence:") {
            changed = changed.replacen("---\n", "---\nconfidence: 0.5\n", 1);
        }
        std::fs::write(&path, changed).unwrap();
    }
    for held in learned(&machine).iter().filter(|one| one["status"] == "held") {
        machine.ok(&["review", "--reject", held["id"].as_str().unwrap()]);
    }
    machine
}

#[test]
fn what_was_learned_is_listed_by_kind_and_best_first() {
    let machine = machine();
    let all = learned(&machine);
    assert!(all.len() > 2, "{all:?}");
    assert!(all.iter().all(|one| one["new"] == true), "{all:?}");
    let place =
        |one: &Value| (one["kind"].as_str().unwrap().to_owned(), one["confidence"].as_f64());
    let kinds: Vec<_> = all.iter().map(place).collect();
    for pair in kinds.windows(2) {
        let again = kinds.iter().filter(|(kind, _)| *kind == pair[0].0).count();
        let run = kinds.iter().skip_while(|(kind, _)| *kind != pair[0].0);
        assert_eq!(run.take_while(|(kind, _)| *kind == pair[0].0).count(), again, "{kinds:?}");
        assert!(pair[0].0 != pair[1].0 || pair[0].1 >= pair[1].1, "{kinds:?}");
    }
    let said = machine.ok(&["review"]);
    assert!(said.starts_with(&format!("{} learned since you last looked", all.len())), "{said}");
    assert_eq!(ids(&machine).len(), all.len(), "a listing decides nothing");
}

/// Keys that choose the last item of the list: any other memory, by its id.
const ANOTHER_ONE: &str = "\x1b[A\r";

/// The last question after a run with decisions, and the key that ends the run.
const DONE: (&str, &str) = ("[Enter] done > ", "\r");

#[test]
fn each_key_does_its_work_and_what_was_decided_stays_when_somebody_quits() {
    let machine = machine();
    let before = ids(&machine);
    let count = before.len();
    let shown = machine.at_terminal(
        &["review"],
        &[
            (&format!("1 of {count}"), ""),
            ("[q]uit > ", "y"),
            (&format!("2 of {count}"), ""),
            ("[q]uit > ", "d"),
            ("[q]uit > ", "q"),
        ],
    );
    assert!(!shown.contains(&format!("4 of {count}")), "{shown}");
    assert_eq!(ids(&machine), before[2..]);
    let said = machine.run(&["show", &before[0]]);
    assert_eq!(said.code, 0, "it was kept");
    let list = machine.ok(&["list", "--json"]);
    assert!(list.contains(&before[0]) && !list.contains(&before[1]), "{list}");

    // A memory that was skipped is shown again; a memory that was replaced is not.
    let rest = &before[2..];
    let by = format!("{}\r", before[0]);
    let mut answers =
        vec![("[q]uit > ", "s"), ("Replaced by", ANOTHER_ONE), ("Its id", by.as_str())];
    answers.extend(rest[1..].iter().map(|_| ("[q]uit > ", "n")));
    answers.push(DONE);
    let shown = machine.at_terminal(&["review"], &answers);
    assert!(shown.contains("Replaced: "), "{shown}");
    assert_eq!(ids(&machine), rest[1..]);
    let older = machine.json(&["show", &rest[0], "--json"]);
    assert_eq!(older[0]["superseded_by"], before[0].as_str(), "{older:#}");

    let mut keeps: Vec<_> = rest[1..].iter().map(|_| ("[q]uit > ", "y")).collect();
    keeps.push(DONE);
    machine.at_terminal(&["review"], &keeps);
    assert_eq!(machine.remark(&["review"]), "Nothing is to be reviewed.\n");
}

#[test]
fn what_waits_is_taken_in_or_turned_down_by_key() {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.write("home/.config/throughline/config.toml", "review = true\n");
    machine.ok(&["init", "--yes", "--no-register"]);
    let before = ids(&machine);
    assert!(before.len() > 1, "{before:?}");
    // Enter and movement keys publish nothing. Memories that were kept private are not shown again.
    machine.at_terminal(&["review"], &[("private so far", ""), ("stay [p]rivate", "\rkjkkanjjjq")]);
    assert_eq!(ids(&machine).len(), before.len());
    assert!(!machine.ok(&["list", "--json"]).contains("\"status\": \"active\""));
    let answers = [("stay [p]rivate", "p"), ("stay [p]rivate", "ay"), DONE];
    machine.at_terminal(&["review"], &answers);
    let listed = || machine.json(&["list", "--json"]).as_array().unwrap().clone();
    assert_eq!(listed().iter().filter(|one| one["status"] == "held").count(), before.len() - 1);
    let said = machine.run(&["review"]);
    assert_eq!(said.stderr, "Nothing is to be reviewed.\n");
    assert!(said.stdout.trim_start().starts_with("1 is pending"), "{}", said.stdout);
    let waits = machine.json(&["review", "--json"]);
    let rest = waits.as_array().unwrap().iter().find(|one| one["status"] == "held").unwrap();
    machine.ok(&["review", "--reject", rest["id"].as_str().unwrap()]);
    assert_eq!(listed().len(), before.len() - 1);
}

/// Returns a machine with pending memories, and the short id of a memory that may replace one.
fn with_replacement() -> (Machine, String) {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.write("home/.config/throughline/config.toml", "review = true\n");
    machine.ok(&["init", "--yes", "--no-register"]);
    let better = machine.json(&["add", "Amounts are kept in whole cents", "--json"]);
    (machine, better["short"].as_str().unwrap().to_owned())
}

/// Replaces the first memory of `review` by another one, and types further answers.
fn replace_first(machine: &Machine, by: &str, more: &[(&str, &str)]) {
    let by = format!("{by}\r");
    let replace = [("[q]uit > ", "s"), ("Replaced by", ANOTHER_ONE), ("Its id", by.as_str())];
    machine.at_terminal(&["review"], &[&replace, more, &[("[q]uit > ", "q")]].concat());
}

#[test]
fn what_replaces_a_draft_names_it() {
    let (machine, better) = with_replacement();
    let before = ids(&machine);
    replace_first(&machine, &better, &[]);
    let now = machine.json(&["show", &better, "--json"]);
    let [draft] = &now[0]["supersedes"].as_array().unwrap()[..] else { panic!("{now:#}") };
    let draft = draft.as_str().unwrap().to_owned();
    assert!(before.contains(&draft) && !ids(&machine).contains(&draft), "{now:#}");
}

#[test]
fn a_replacement_is_undone_in_both_memories() {
    let (machine, better) = with_replacement();
    let before = crate::browse::memory_files(&machine);
    replace_first(&machine, &better, &[("[q]uit > ", "u"), ("Undone: ", "")]);
    assert_eq!(crate::browse::memory_files(&machine), before);
    machine.ok(&["sync"]);
    assert_eq!(crate::browse::memory_files(&machine), before);
}

fn with_transcript() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine
}

/// Returns all files in the home folder, including Throughline's own.
fn everything(machine: &Machine) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = crate::common::files(&machine.path("home"));
    let ours = ["home/.local", "home/.config", "home/work/.throughline"];
    let there = ours.iter().filter(|folder| machine.path(folder).exists());
    all.extend(there.map(|folder| (machine.path(folder), Vec::new())));
    all
}

#[test]
fn a_preview_shows_the_handoff_and_answers_of_earlier_sessions_and_writes_nothing() {
    let machine = with_transcript();
    let last = "22222222-2222-4222-8222-222222222222";
    let transcript = |prompt: &str| {
        let line = json!({
            "type": "user", "uuid": "second-1", "parentUuid": null, "sessionId": last,
            "cwd": machine.work(), "timestamp": "2026-10-02T08:00:00.000Z", "version": "2.1.330",
            "gitBranch": "main", "isSidechain": false, "userType": "external",
            "message": {"role": "user", "content": prompt},
        });
        machine
            .write(&format!("home/.claude/projects/-home-work/{last}.jsonl"), &format!("{line}\n"));
    };
    transcript("Why was the rounding in src/price.rs wrong, and are floats used for money?");
    let before = everything(&machine);
    let told = machine.json(&["init", "--preview", "--json"]);
    assert_eq!(told["transcripts"], 2, "{told:#}");
    assert!(told["handoff"]["goal"].as_str().unwrap().contains("rounding"), "{told:#}");
    let examples = told["examples"].as_array().unwrap();
    assert_eq!(examples.len(), 1, "nothing answers the first session's own prompts: {told:#}");
    assert_eq!(examples[0]["answered"].as_str().unwrap()[..10], *"2026-10-01", "{told:#}");
    assert!(examples[0]["answer"].as_str().unwrap().contains("src/price.rs"), "{told:#}");
    let said = machine.ok(&["init", "--preview"]);
    for part in [
        "What a session would be told, from 2 transcripts",
        "where the work was left",
        "**Asked:** Why was the rounding",
        "1 prompt of this history, and what earlier sessions answer",
        "2026-10-01, session 11111111: ",
        "Nothing was written, and no model was asked.",
        "`throughline add`",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    // A prompt that no session answers is not an example.
    transcript("Paint the lighthouse");
    let said = machine.ok(&["init", "--preview"]);
    assert!(said.contains("No prompt of this history is answered"), "{said}");
    transcript("Why was the rounding in src/price.rs wrong, and are floats used for money?");
    assert_eq!(everything(&machine).len(), before.len());
}

#[test]
fn drafts_may_be_asked_for_without_a_person() {
    let machine = with_transcript();
    machine.ok(&["init", "--yes", "--drafts", "--no-register"]);
    assert_eq!(machine.ok(&["list", "--json"]).matches("\"status\": \"active\"").count(), 0);
    assert!(machine.read("home/.config/throughline/config.toml").contains("review = true"));
    assert!(!learned(&machine).is_empty());
}

/// Returns lines of a source file.
fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| format!("let berth{number} = {number};\n")).collect()
}

/// Returns a machine with a memory whose file was rewritten later, and the end of the memory's id.
pub fn with_stale() -> (Machine, String) {
    let machine = Machine::new();
    // Without a repository, git is not queried for ignored files.
    std::fs::remove_dir(machine.path("home/work/.git")).unwrap();
    machine.write("home/work/src/berths.rs", &lines(0..40));
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "Berths are numbered from the north pier", "--path", "src/berths.rs"]);
    machine.ok(&["sync"]);
    assert!(ids(&machine).is_empty());
    machine.write("home/work/src/berths.rs", &lines(100..140));
    machine.ok(&["add", "The harbour list is fetched at noon"]);
    machine.ok(&["sync"]);
    let id = learned(&machine)[0]["short"].as_str().unwrap().to_owned();
    (machine, id)
}

#[test]
fn a_memory_whose_file_was_rewritten_is_marked_and_proposed_until_it_is_confirmed() {
    let (machine, id) = with_stale();
    let why = "may be true no longer: src/berths.rs was rewritten since";
    for command in [&["review"][..], &["show", &id], &["search", "berths"]] {
        let said = machine.ok(command);
        assert_eq!(said.matches(why).count(), 1, "{said}");
    }
    let found = machine.json(&["search", "berths", "--json"]);
    assert_eq!(found["hits"][0]["stale"], "src/berths.rs was rewritten since", "{found:#}");
    assert_eq!(learned(&machine)[0]["stale"], found["hits"][0]["stale"]);
    let later = [("THROUGHLINE_NOW", "2026-10-02T10:30:00Z")];
    let said = machine.run_with(&["review", "--keep", &id], &later).stdout;
    assert!(said.starts_with("Confirmed:"), "{said}");
    // The result is the same immediately and after the next sync.
    for sync in [false, true] {
        if sync {
            machine.ok(&["add", "Ferries have the right of way"]);
            machine.ok(&["sync"]);
        }
        assert!(ids(&machine).is_empty());
        assert!(!machine.ok(&["show", &id]).contains(why));
    }
}

#[test]
fn a_memory_with_a_name_that_is_gone_is_marked_wherever_it_is_shown() {
    let machine = Machine::new();
    crate::team::repository(&machine);
    machine.write("home/work/src/berths.rs", "fn retry_all() {}\n");
    crate::team::commit(&machine, "first");
    machine.ok(&["init", "--yes", "--no-register", "--private"]);
    machine.ok(&["add", "Berths are asked for by `retry_all`", "--kind", "convention"]);
    machine.ok(&["add", "Piers are numbered from the north", "--kind", "convention"]);
    machine.ok(&["sync"]);
    assert!(ids(&machine).is_empty());
    machine.write("home/work/src/berths.rs", "fn retry_each() {}\n");
    crate::team::commit(&machine, "second");
    let later = [("THROUGHLINE_NOW", "2026-10-02T15:30:00Z")];
    machine.run_with(&["sync"], &later);
    let gone = "names `retry_all`, which is gone";
    let listed = machine.json(&["list", "--json"]);
    let listed = listed.as_array().unwrap();
    let stale: Vec<&Value> = listed.iter().filter(|memory| !memory["stale"].is_null()).collect();
    assert_eq!((stale.len(), &stale[0]["stale"]), (1, &json!(gone)), "{listed:#?}");
    let id = stale[0]["short"].as_str().unwrap();
    assert_eq!(machine.json(&["show", id, "--json"])[0]["stale"], gone);
    assert_eq!(learned(&machine)[0]["stale"], gone);
    for command in [&["list"][..], &["review"], &["show", id], &["search", "berths"]] {
        let said = machine.ok(command);
        assert_eq!(said.matches(gone).count(), 1, "{command:?}: {said}");
    }
    let told = machine.ok(&["pack"]);
    assert!(told.contains("Piers"), "{told}");
    machine.run_with(&["review", "--keep", id], &later);
    assert!(ids(&machine).is_empty());
}

#[test]
fn one_key_confirms_a_stale_memory() {
    let (machine, _) = with_stale();
    let asked = [("may be true no longer", ""), ("[q]uit > ", "y"), ("Confirmed", ""), DONE];
    machine.at_terminal(&["review"], &asked);
    assert!(ids(&machine).is_empty());
}

#[test]
fn what_rules_of_earlier_versions_made_is_listed_and_dropped_in_one_step() {
    let machine = machine();
    let count = learned(&machine).len();
    for (id, title) in [("7", "The mill is closed"), ("8", "The oven is cold")] {
        let text = format!(
            "---\nid: 01JZX3P4Q5R6S7T8V9WABCDEF{id}\nkind: fact\nsource:\n  extractor: rules/13\n---\n\n# {title}\n"
        );
        machine.write(&format!("home/work/.throughline/memories/old-{id}.md"), &text);
    }
    let shown = machine.ok(&["review"]);
    assert!(shown.contains("2 made by rules, not looked at"), "{shown}");
    assert!(shown.contains("The mill is closed") && shown.contains("--drop-rules"), "{shown}");
    let marked = learned(&machine).iter().filter(|one| one["made_by_rules"] == true).count();
    assert_eq!((marked, learned(&machine).len()), (2, count + 2));
    machine.ok(&["review", "--keep", "ABCDEF8"]);
    let would = machine.ok(&["review", "--drop-rules", "--dry-run"]);
    assert!(would.contains("The mill is closed") && !would.contains("The oven"), "{would}");
    machine.ok(&["review", "--drop-rules"]);
    assert!(!machine.path("home/work/.throughline/memories/old-7.md").exists());
    assert!(machine.path("home/work/.throughline/memories/old-8.md").exists());
    assert!(machine.ok(&["list", "--forgotten"]).contains("The mill is closed"));
    let none = machine.remark(&["review", "--drop-rules"]);
    assert_eq!(none, "No memory that rules made is left to look at.\n");
}
