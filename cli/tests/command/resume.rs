//! Tests of `throughline resume`, which finds past sessions by their text.

use crate::common::{Machine, strip};

const BAKED: &str = "11111111-1111-4111-8111-111111111111";
const SAILED: &str = "22222222-2222-4222-8222-222222222222";
const FOLDER: &str = "home/.claude/projects/-home-work";

/// Returns a project with two sessions, one of which was started in a subfolder.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.transcript(&format!("{FOLDER}/{BAKED}.jsonl"), BAKED, "2026-10-01");
    machine.transcript(&format!("{FOLDER}/{SAILED}.jsonl"), SAILED, "2026-09-20");
    let text = machine.read(&format!("{FOLDER}/{SAILED}.jsonl"));
    std::fs::create_dir_all(machine.work().join("pier one")).unwrap();
    let there = format!("\"{}\"", machine.work().join("pier one").display());
    let text = text
        .replace(&format!("\"{}\"", machine.work().display()), &there)
        .replace("\"gitBranch\":\"main\"", "\"gitBranch\":\"harbour\"")
        .replace("never use floats for money", "number the berths from the north pier")
        .replace("always keep amounts as integer cents", "and paint them in yellow");
    machine.write(&format!("{FOLDER}/{SAILED}.jsonl"), &text);
    // The client prints its arguments.
    machine.program("claude", "#!/bin/sh\necho \"claude in $PWD: $*\"\n");
    machine.ok(&["init", "--yes"]);
    let bin = machine.path("bin");
    machine.with("PATH", format!("{}:/usr/bin:/bin", bin.display()))
}

#[test]
fn sessions_are_found_by_their_prompts() {
    let machine = machine();
    insta::assert_snapshot!(machine.ok(&["resume", "berths pier", "-n", "1"]), @r#"
    1  2026-09-20 on harbour, 1 prompt (22222222)
       From now on, number the berths from the north pier: and paint them in yellow. From now on, run the tests of a price…
       cd '/home/work/pier one' && claude --resume 22222222-2222-4222-8222-222222222222
    "#);
    let found = machine.json(&["resume", "berths", "--json"]);
    assert_eq!(found[0]["session"], SAILED, "{found:#}");
    assert_eq!(
        (found[0]["prompts"].as_u64(), found[0]["last"].as_str()),
        (Some(1), Some("2026-09-20T10:08:00Z")),
        "{found:#}"
    );
    // Without words, the last sessions are listed.
    let last = machine.json(&["resume", "--json"]);
    let ids: Vec<_> = last.as_array().unwrap().iter().map(|one| one["session"].clone()).collect();
    assert_eq!(ids, [BAKED, SAILED]);
    assert_eq!(last[0]["command"], format!("claude --resume {BAKED}"));
    // The query accepts the filters of `search`.
    let filtered = machine.json(&["resume", "before:2026-09-25", "--json"]);
    assert_eq!(filtered.as_array().unwrap().len(), 1);
    assert_eq!(machine.run(&["resume", "kind:nonsense"]).code, 2);
}

#[test]
fn an_empty_result_is_reported_by_the_exit_code() {
    let machine = machine();
    let said = machine.run(&["resume", "zeppelin", "quorum"]);
    assert_eq!(
        (said.code, &*said.stdout, &*said.stderr),
        (1, "", "No session was found; `throughline sync` says where sessions are looked for.\n")
    );
    let said = machine.run(&["resume", "zeppelin", "quorum", "--json"]);
    assert_eq!((said.code, said.stdout.trim()), (1, "[]"));
    let said = machine.run(&["resume", "zeppelin", "quorum", "--run"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("no session was found"), "{}", said.whole());
}

#[test]
fn run_becomes_claude_in_the_folder_of_the_session() {
    let machine = machine();
    let said = machine.ok(&["resume", "berths", "--run"]);
    assert_eq!(said, format!("claude in /home/work/pier one: --resume {SAILED}\n"));
    let said = machine.ok(&["resume", "--run=1"]);
    assert_eq!(said, format!("claude in /home/work: --resume {BAKED}\n"));
    let said = machine.run(&["resume", "--run=9"]);
    assert!(said.code == 1 && said.stderr.contains("only 2 sessions"), "{}", said.whole());
    std::fs::remove_dir(machine.work().join("pier one")).unwrap();
    let said = machine.run(&["resume", "berths", "--run"]);
    assert!(
        said.code == 3 && said.stderr.contains("is gone: /home/work/pier one"),
        "{}",
        said.whole()
    );
    std::fs::remove_file(machine.path("bin/claude")).unwrap();
    let said = machine.run(&["resume", "floats", "--run"]);
    assert!(said.code == 1 && said.stderr.contains("`claude` is not in PATH"), "{}", said.whole());
}

#[test]
fn a_session_without_a_transcript_is_reported_and_not_started() {
    let machine = machine();
    std::fs::remove_file(machine.path(&format!("{FOLDER}/{SAILED}.jsonl"))).unwrap();
    let said = machine.ok(&["resume", "berths"]);
    assert!(said.contains("its transcript is gone"), "{said}");
    assert!(!said.contains(&format!("--resume {SAILED}")), "{said}");
    let said = machine.run(&["resume", "berths", "--run"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("search --turns session:22222222"), "{}", said.whole());
    assert!(machine.ok(&["search", "--turns", "session:22222222"]).contains("north pier"));
}

#[test]
fn escape_at_the_question_for_a_number_cancels_it() {
    let machine = machine();
    for keys in ["\u{1b}", "1\u{1b}", "\u{3}"] {
        let (code, shown) = machine.declined_at_terminal(&["resume"], &[("empty for none", keys)]);
        assert_eq!(code, Some(130), "{keys:?}: {shown}");
        assert!(!shown.contains("claude in"), "{shown}");
    }
}

#[test]
fn the_matching_turn_has_the_fields_of_a_turn() {
    let found = machine().json(&["resume", "--json"])[0].clone();
    assert!(found["text"].is_string() && found["at"].is_string(), "{found:#}");
    assert!(found["said"].is_null() && found["said_at"].is_null(), "{found:#}");
}

#[test]
fn a_number_at_the_terminal_resumes_that_session() {
    let machine = machine();
    let asked = "Resume which one? 1 to 2, empty for none";
    let shown =
        strip(&machine.at_terminal(&["resume"], &[(asked, "7\r"), ("from 1 to 2", "3\u{7f}2\r")]));
    assert!(
        shown.contains(&format!("claude in /home/work/pier one: --resume {SAILED}")),
        "{shown}"
    );
    let shown = machine.at_terminal(&["resume"], &[(asked, "\r")]);
    assert!(!shown.contains("claude in "), "{shown}");
}
