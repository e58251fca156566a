//! Passages, titles, fixes and commands of sessions in the output of `why`, `show`, `search`, `resume`, `fixes` and
//! `timeline`.

use serde_json::{Value, json};

use crate::common::{Machine, assistant, result, user};

const ONE: &str = "3f2a1b2c-1111-4111-8111-111111111111";
const TWO: &str = "4e5d6c7b-2222-4222-8222-222222222222";
const THREE: &str = "5a6b7c8d-3333-4333-8333-333333333333";

fn say(text: &str) -> Value {
    assistant(json!({ "type": "text", "text": text }))
}

fn call(id: &str, tool: &str, input: &Value) -> Value {
    assistant(json!({ "type": "tool_use", "id": id, "name": tool, "input": input }))
}

fn shell(id: &str, command: &str) -> Value {
    call(id, "Bash", &json!({ "command": command }))
}

/// Returns a project with three sessions: one with a question and a fix, one that executes a plan, and one that runs
/// its tests.
fn machine() -> Machine {
    let machine = Machine::new();
    let file = machine.work().join("src/ledger.rs");
    machine.session(
        ONE,
        "2026-09-20",
        vec![
            user(json!("Why is the write-ahead log of the harbour database never emptied?")),
            say("The checkpoint of the write-ahead log waits for the slowest reader of the harbour database."),
            user(json!("Then run the importer, please, and look at what it says about the tide table")),
            shell("t1", "python run.py"),
            result("t1", "Traceback\nsqlite3.OperationalError: database is locked", true),
            shell("t2", "pkill -f run.py"),
            result("t2", "", false),
            shell("t3", "python run.py"),
            result("t3", "imported 4 berths", false),
            user(json!("Make the totals of the quay exact, and nothing else")),
            call("t4", "Edit", &json!({ "file_path": file, "old_string": "f64", "new_string": "i64" })),
            result("t4", "The file has been updated.", false),
            say("The totals are exact now. The rest of the tide table is computed in `src/moon.rs:12`."),
        ],
    );
    machine.session(
        TWO,
        "2026-09-21",
        vec![
            user(json!(
                "Implement the following plan:\n\n# Gulls over the breakwater\n\n## Context\n\nThe siren is too loud in the \
                 morning, and the keeper complains about it every day.\n\n## Steps\n\n1. Lower the volume of the siren before \
                 seven o'clock.\n2. Tell the keeper."
            )),
            say("The volume of the siren is lower before seven o'clock now."),
        ],
    );
    for (session, day) in
        [(THREE, "2026-09-22"), ("6b7c8d9e-4444-4444-8444-444444444444", "2026-09-23")]
    {
        machine.session(
            session,
            day,
            vec![
                user(json!(
                    "Check whether everything is fine before the release of the ferry table"
                )),
                shell(&format!("c-{day}"), "cargo nextest run --workspace"),
                result(&format!("c-{day}"), "Summary: 12 tests run: 12 passed", false),
                say("Everything is fine."),
            ],
        );
    }
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

fn hits(machine: &Machine, args: &[&str]) -> Vec<Value> {
    let args = [&["search", "--json"], args].concat();
    let said = machine.run(&args);
    let found: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.whole()));
    found["hits"].as_array().unwrap().clone()
}

fn texts(hits: &[Value]) -> Vec<&str> {
    hits.iter().map(|hit| hit["text"].as_str().unwrap()).collect()
}

#[test]
fn why_quotes_the_passages_that_were_given_and_show_opens_their_turns() {
    let machine = machine();
    let hit = hits(&machine, &["--turns", "slowest reader of the database"])[0].clone();
    machine.receipt(&json!({
        "at": "2026-10-02T09:12:00.000Z", "event": "UserPromptSubmit", "session": TWO, "tokens": 40, "micros": 900,
        "memories": [{"id": hit["id"], "why": "words: reader, checkpoint", "score": 2.5}], "text_bytes": 160,
    }));
    let said = machine.ok(&["why"]);
    assert!(said.contains("Claude got 1 passage with a prompt"), "{said}");
    assert!(said.contains("  3f2a1b2c:1  ") && said.contains(" on 2026-09-20\n"), "{said}");
    assert!(said.contains("\"The checkpoint of the write-ahead log"), "{said}");
    assert!(said.contains("`throughline show 3f2a1b2c:1` prints a whole turn."), "{said}");
    assert!(said.contains("It shares the words") && !said.contains("1 memory"), "{said}");
    assert!(machine.ok(&["log"]).contains("3f2a1b2c:1"));
    let given = &machine.json(&["why", "--json"])[0]["memories"][0];
    assert_eq!(
        (&given["short"], &given["turn"], &given["session"]),
        (&json!("3f2a1b2c:1"), &json!(1), &json!(ONE))
    );
    assert_eq!(given["text"], hit["text"]);
    for name in ["3f2a1b2c:1", hit["id"].as_str().unwrap()] {
        let turn = machine.ok(&["show", name]);
        assert!(
            turn.contains("never emptied?") && turn.contains("waits for the slowest reader"),
            "{turn}"
        );
    }
    assert_eq!(machine.json(&["show", "3f2a1b2c:3", "--json"])[0]["turn"], 3);
    let missing = machine.run(&["show", "3f2a1b2c:99"]);
    assert!(missing.code != 0 && missing.stderr.contains("no turn 99"), "{}", missing.whole());
}

#[test]
fn a_session_is_found_by_the_words_of_its_title() {
    let machine = machine();
    let found = hits(&machine, &["gulls over the breakwater"]);
    assert_eq!(found[0]["session"], TWO, "{found:#?}");
    let resumed = machine.json(&["resume", "gulls", "breakwater", "--json"]);
    assert_eq!(resumed[0]["session"], TWO, "{resumed:#}");
    assert!(machine.ok(&["search", "gulls breakwater"]).contains("Gulls over the breakwater"));
}

#[test]
fn a_path_finds_passages_that_name_the_file_and_turns_that_touched_it() {
    let machine = machine();
    let turns = |path: &str| -> Vec<Value> {
        let mut turns: Vec<Value> =
            hits(&machine, &["--turns", path]).iter().map(|hit| hit["turn"].clone()).collect();
        turns.dedup();
        turns
    };
    assert_eq!(turns("path:src/ledger.rs"), [json!(3)], "an edit, named in no text");
    assert_eq!(turns("path:src/moon.rs"), [json!(3)], "named with a line");
    assert_eq!(turns("path:moon.rs exact"), [json!(3)]);
    assert_eq!(turns("path:src/sun.rs"), [Value::Null; 0]);
}

#[test]
fn a_search_for_fixes_has_the_cures_of_sessions() {
    let machine = machine();
    let listed = machine.ok(&["fixes", "locked"]);
    for search in [&["kind:fix locked"][..], &["--kind", "fix", "locked"], &["kind:fix"]] {
        let found = hits(&machine, search);
        assert_eq!(found.len(), 1, "{search:?}: {found:#?}");
        assert_eq!((&found[0]["kind"], &found[0]["session"]), (&json!("fix"), &json!(ONE)));
        // The text equals that of `fixes`.
        for line in found[0]["text"].as_str().unwrap().lines() {
            assert!(listed.contains(line.trim_end_matches('.')), "{line}: {listed}");
        }
    }
    assert!(
        hits(&machine, &["--turns", "--", "-kind:fix database"])
            .iter()
            .all(|hit| hit["kind"] != "fix")
    );
    machine.finds_nothing(&["search", "kind:decision locked"]);
    // The words are from different errors: the errors that contain most of them are found.
    assert!(machine.ok(&["fixes", "locked", "refused"]).contains("database is locked"));
}

#[test]
fn how_a_command_is_run_is_what_passed() {
    let machine = machine();
    let found = machine.json(&["how", "--json", "cargo", "nextest"]);
    assert_eq!(found[0]["line"], "cargo nextest run --workspace", "{found:#}");
    assert!(found[0]["sessions"].as_u64() >= Some(2), "{found:#}");
    let said = machine.ok(&["how", "nextest"]);
    assert!(said.contains("cargo nextest run --workspace") && said.contains("passed in"), "{said}");
    assert_eq!(machine.run(&["how", "terraform"]).code, 1);
    // No error of these sessions recurred in three of them.
    assert_eq!(machine.json(&["fixes", "--friction", "--json"]), json!([]));
}

#[test]
fn commands_that_passed_are_found_with_their_sessions() {
    let machine = machine();
    for asked in ["cargo nextest", "how do I run the tests", "kind:command"] {
        let said = machine.ok(&["search", asked]);
        let expected =
            "2026-09-23  `cargo nextest run --workspace` passed in 2 sessions, last on 2026-09-23";
        assert!(said.contains(expected), "{asked}: {said}");
    }
    let other = machine.ok(&["search", "slowest reader of the harbour database"]);
    assert!(!other.contains("nextest"), "{other}");
    machine.ok(&["purge", "--session", "6b7c8d9e", "--yes"]);
    let said = machine.ok(&["search", "cargo nextest"]);
    assert!(said.contains("passed in 1 session, last on 2026-09-22"), "{said}");
}

#[test]
fn a_mistyped_filter_is_named() {
    let machine = machine();
    for (text, name) in [
        ("knd:fix locked", "knd:"),
        ("filepath:src/a.rs locked", "filepath:"),
        ("tags:ci locked", "tags:"),
    ] {
        let said = machine.run(&["search", text]).whole();
        assert!(
            said.contains(&format!("There is no filter `{name}`")) && said.contains("kind:, tag:"),
            "{said}"
        );
    }
    for text in [
        "std::vector locked",
        "http://localhost:80 locked",
        "error: locked",
        "at 10:30 locked",
        "std::fs::path::x",
    ] {
        assert!(!machine.run(&["search", text]).whole().contains("There is no filter"), "{text}");
    }
}

#[test]
fn a_question_and_its_answer_are_printed_once() {
    let machine = machine();
    let said = machine.ok(&["search", "write-ahead log"]);
    assert_eq!(said.matches("waits for the slowest reader").count(), 1, "{said}");
    assert_eq!(said.matches("never emptied?").count(), 1, "{said}");
    let found = hits(&machine, &["write-ahead log"]);
    assert!(texts(&found).iter().all(|text| !text.contains("\nClaude: ")), "{found:#?}");
}

#[test]
fn the_timeline_of_a_speaker_has_what_its_sessions_taught_and_no_subagents() {
    let machine = Machine::new();
    let person = "11111111-1111-4111-8111-111111111111";
    machine.transcript(
        &format!("home/.claude/projects/-home-work/{person}.jsonl"),
        person,
        "2026-09-20",
    );
    let mut asked =
        user(json!("List the berths of the harbour that are free tomorrow, and nothing else"));
    asked["entrypoint"] = json!("sdk-cli");
    machine.session(TWO, "2026-09-21", vec![asked, say("Berths four and nine are free tomorrow.")]);
    let agent = [
        user(json!("Look for the ferry table in the sources and report where it is made")),
        say("The ferry table is made in the importer."),
    ];
    machine.agent(person, "a1b2c3d", "2026-09-20", agent);
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "The keeper has the key of the siren"]);
    let listed = |args: &[&str]| machine.ok(&[&["timeline"], args].concat());
    let (by_person, by_program) = (listed(&["--by", "person"]), listed(&["--by", "program"]));
    assert!(
        by_person.contains("> 11111111") && by_person.contains("never use floats"),
        "{by_person}"
    );
    assert!(
        by_person.contains("key of the siren") && !by_person.contains("4e5d6c7b"),
        "{by_person}"
    );
    assert!(by_program.contains("> 4e5d6c7b"), "{by_program}");
    assert!(!by_program.contains("learned") && !by_program.contains("11111111"), "{by_program}");
    let by_agent = machine.run(&["timeline", "--by", "agent"]);
    assert_eq!((by_agent.code, &*by_agent.stdout), (1, ""), "no session of an agent");
    // A subagent is shown as part of its session.
    let all = machine.json(&["timeline", "--json"]);
    let sessions =
        all.as_array().unwrap().iter().flat_map(|day| day["sessions"].as_array().unwrap());
    let ids: Vec<&str> = sessions.map(|session| session["session"].as_str().unwrap()).collect();
    assert_eq!(ids, [TWO, person], "{all:#}");
}
