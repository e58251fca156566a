//! Views for daily use: the overview, and views of learned memories, injections and costs.

use serde_json::json;

use crate::common::{Machine, strip};

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";

/// Returns a machine that learned from a session of yesterday, with hooks.
pub fn learned() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.ok(&["init", "--yes"]);
    machine
}

/// Replaces each memory id in a text by a word.
fn without_ids(machine: &Machine, text: &str) -> String {
    let all = machine.json(&["list", "--all", "--json"]);
    let ids = all.as_array().unwrap().iter().map(|one| one["short"].as_str().unwrap());
    ids.fold(text.to_owned(), |text, id| text.replace(id, "[id]"))
}

#[test]
fn the_overview_is_one_screen() {
    let machine = learned();
    insta::assert_snapshot!(without_ids(&machine, &machine.ok(&[])), @r#"
    ~/work  2 memories, committed with the project but for 2 held

    Known       2 preferences
    Review      2 pending
    Given       nothing to a session yet
    Health      good, last sync just now

    Next        throughline review  look at them, one key each
    "#);
}

#[test]
fn the_overview_is_the_short_form_of_status() {
    let machine = learned();
    machine.ok(&["add", "Berths are numbered from the north pier"]);
    let said = machine.ok(&[]);
    assert!(said.contains("fact  Berths are numbered from the north pier\n"), "{said}");
    let whole = machine.json(&["status", "--json"]);
    assert_eq!(machine.json(&["--json"]), whole);
    assert_eq!(whole["latest"][0]["title"], "Berths are numbered from the north pier");
    // The full status contains each line of the overview.
    let full = machine.ok(&["status"]);
    assert!(said.lines().all(|line| full.contains(line)), "{full}");
    assert!(full.contains("\nArchive     1 session, "), "{full}");
}

#[test]
fn the_overview_names_what_was_given_and_what_is_wrong() {
    let machine = learned();
    let id = machine.json(&["add", "Berths are numbered", "--json"])["id"].clone();
    machine.receipt(&json!({ "at": "2026-10-02T09:10:00Z", "event": "UserPromptSubmit",
        "session": SESSION, "tokens": 42, "memories": [{ "id": id }] }));
    machine.receipt(&json!({ "at": "2026-10-02T09:12:00Z", "event": "SessionStart",
        "session": SESSION, "tokens": 1, "memories": [] }));
    let said = machine.ok(&[]);
    assert!(said.contains("Given       2 times lately, 21 tokens on average\n"), "{said}");
    assert!(said.contains("Health      good, last sync "), "{said}");
    machine.ok(&["off"]);
    let said = machine.ok(&[]);
    assert!(said.contains("Health      ! Everything is off: `throughline on`"), "{said}");
    assert!(said.contains("Next        throughline on  "), "{said}");
    let told = machine.json(&["--json"]);
    assert_eq!((&told["next"], &told["injections"]), (&json!("throughline on"), &json!(2)));
}

#[test]
fn the_overview_fits_a_small_terminal_however_much_there_is() {
    let machine = learned();
    let long = "The harbour master wants every berth to be numbered from the north pier and never from the south";
    for kind in
        ["fact", "decision", "gotcha", "convention", "procedure", "preference", "failed-approach"]
    {
        let id =
            machine.json(&["add", &format!("{long} ({kind})"), "-k", kind, "--json"])["id"].clone();
        machine.receipt(&json!({ "at": "2026-10-02T09:10:00Z", "event": "UserPromptSubmit",
            "session": SESSION, "tokens": 1234, "memories": [{ "id": id }, { "id": id }] }));
    }
    machine.write("home/work/.throughline/memories/broken.md", "---\nid: [\n---\n");
    let shown = strip(&machine.on_screen(&[], 80));
    let lines: Vec<&str> = shown.lines().collect();
    // One line of the screen is left for the prompt of the shell.
    assert!(lines.len() < 24, "{shown}");
    assert_eq!(lines.iter().find(|line| line.chars().count() > 80), None, "{shown}");
}

#[test]
fn outside_of_a_project_three_lines_say_what_to_do() {
    let machine = Machine::new();
    insta::assert_snapshot!(machine.run(&[]).whole(), @r#"
    code: 4
    /home/work is not set up.
    Run `throughline init` in the project's folder.
    `throughline --help` lists all commands.
    ---
    "#);
    let said = machine.run(&["--json"]);
    assert_eq!(said.code, 4);
    let told: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(told["set_up"], false);
    // If the repository already contains a memory folder, the folder has to be reviewed first.
    machine.write("home/work/.throughline/memories/a.md", "");
    assert!(machine.run(&[]).stdout.contains("`throughline trust`"));
    let said = machine.run(&["--json", "status"]);
    assert!(said.code == 4 && said.stdout.is_empty(), "{}", said.whole());
}

/// Returns a machine with a memory about a file, one about a command, one about neither, and receipts of a session
/// that later edits the file and runs the command.
fn given() -> (Machine, [serde_json::Value; 3]) {
    let machine = learned();
    let add = |args: &[&str]| machine.json(&[&["add"], args, &["--json"]].concat())["id"].clone();
    let ids = [
        add(&["Prices are rounded once", "-p", "src/price.rs"]),
        add(&["Ferries have a timetable", "-p", "src/ferry.rs"]),
        add(&["Berths are numbered"]),
    ];
    let given = |minute: u32, event: &str, micros: u64, of: &[usize]| {
        let memories: Vec<_> = of.iter().map(|at| json!({ "id": ids[*at] })).collect();
        machine.receipt(&json!({ "at": format!("2026-10-01T10:0{minute}:00Z"), "event": event,
            "session": SESSION, "tokens": 40, "micros": micros, "memories": memories }));
    };
    given(0, "SessionStart", 900, &[]);
    given(1, "UserPromptSubmit", 1100, &[0, 1, 2]);
    given(3, "UserPromptSubmit", 2100, &[0]);
    // After this injection, the session does not access the file.
    given(5, "PostToolUseFailure", 700, &[0]);
    (machine, ids)
}

#[test]
fn stats_count_what_was_learned_given_and_spent() {
    let (machine, _) = given();
    machine.write(
        "home/.local/share/throughline/llm-usage.jsonl",
        "{\"day\":\"2026-10-01\",\"provider\":\"ollama/tiny\",\"session\":\"a\",\"questions\":2,\"tokens_in\":900,\"tokens_out\":100,\"millis\":3000}\n\
         {\"day\":\"2026-10-01\",\"provider\":\"claude/small\",\"session\":\"a\",\"questions\":1,\"tokens_in\":50,\"tokens_out\":5,\"usd\":0.0125,\"millis\":1}\n\
         {\"day\":\"2026-10-02\",\"provider\":\"claude/small\",\"session\":\"b\",\"questions\":1,\"tokens_in\":50,\"tokens_out\":5,\"usd\":0.0125,\"millis\":1}\n",
    );
    let said = machine.ok(&["status", "--stats"]);
    let (_, numbers) = said.split_once("\n\nLearned").unwrap();
    let (numbers, _) = numbers.split_once("\n\nNext").unwrap();
    let numbers = format!("Learned{numbers}\n");
    insta::assert_snapshot!(numbers, @r#"
    Learned     2026-10  ############################## 5
    Injected    4 injections to 1 session since yesterday 10:00, 160 tokens, 40 each
    Followed    2 of 5 memories: the session touched their file or ran their command
                2: it did neither; 1: they name no file or command
    Hooks                   count     p50     p90     p99 slowest, in ms
                error           1     0.7     0.7     0.7     0.7
                start           1     0.9     0.9     0.9     0.9
                prompt          2     1.1     2.1     2.1     2.1
    Models      claude/small: 2 questions, 110 tokens, $0.0250, all projects
                ollama/tiny: 2 questions, 1000 tokens, all projects
    "#);
    let told = machine.json(&["status", "--stats", "--json"])["stats"].clone();
    assert_eq!(
        told["injections"]["outcome"],
        json!({ "given": 5, "followed": 2, "not_followed": 2, "unclear": 1 })
    );
    assert_eq!(told["injections"]["since"], "2026-10-01T10:00:00Z");
    assert_eq!(
        told["hooks"]["UserPromptSubmit"],
        json!({ "count": 2, "p50": 1100, "p90": 2100, "p99": 2100, "max": 2100 })
    );
}

#[test]
fn stats_of_an_empty_project_are_short() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    assert!(machine.ok(&["status", "--stats"]).contains("\n\nModels      none was asked\n\nNext "));
}

#[test]
fn the_timeline_lists_added_replaced_and_forgotten_memories() {
    let machine = learned();
    let old =
        machine.json(&["add", "Berths are counted from the south", "--json"])["short"].clone();
    let soon = [("THROUGHLINE_NOW", "2026-10-02T10:00:00Z")];
    let north = ["add", "Berths are counted from the north", "--supersedes", old.as_str().unwrap()];
    assert_eq!(machine.run_with(&north, &soon).code, 0);
    let all = machine.json(&["list", "--json"]);
    let mut all = all.as_array().unwrap().iter();
    let new = all.find(|one| one["title"] == north[1]).unwrap()["short"].clone();
    let gone = machine.json(&["add", "Ferries wait for nobody", "--json"])["short"].clone();
    let later = [("THROUGHLINE_NOW", "2026-10-03T12:00:00Z")];
    assert_eq!(machine.run_with(&["forget", gone.as_str().unwrap()], &later).code, 0);
    let text = without_ids(&machine, &machine.ok(&["timeline"]));
    let text = text.replace(gone.as_str().unwrap(), "[id]");
    // Both wishes are in one record. Their ids differ between projects.
    let mut lines: Vec<&str> = text.lines().collect();
    let first = lines.len() - 2;
    lines[first..].sort_unstable();
    let text = lines.join("\n");
    insta::assert_snapshot!(text, @r#"
    2026-10-03  1 forgotten
      - [id]  Ferries wait for nobody

    2026-10-02  2 learned, 1 replaced
      + [id]  fact: Berths are counted from the south
      + [id]  fact: Berths are counted from the north
      ~ [id]  fact: Berths are counted from the south (by [id])

    2026-10-01  1 session, 2 learned
      > 11111111  main: From now on, never use floats for money: always keep amounts as integer cents. From now on, run the tests of a price…
      + [id]  preference: From now on, never use floats for money: always keep amounts as integer cents
      + [id]  preference: From now on, run the tests of a price quietly
    "#);
    let days = machine.json(&["timeline", "--json", "-n", "2"]);
    assert_eq!(days.as_array().unwrap().len(), 2);
    assert_eq!(days[0]["forgotten"][0]["reason"], "forgotten");
    let by = days[1]["replaced"][0]["superseded_by"].as_str().unwrap();
    assert!(by.ends_with(new.as_str().unwrap()), "{days:#}");
    // Days begin at midnight in the user's time zone.
    let west = machine.run_with(&["timeline"], &[("TZ", "<-11>11")]).stdout;
    assert!(west.contains("2026-09-30  1 session"), "{west}");
}

#[test]
fn the_timeline_lists_what_is_still_open() {
    let machine = Machine::new();
    let path = TRANSCRIPT;
    machine.transcript(path, SESSION, "2026-10-01");
    let text = machine.read(path);
    let last = text.lines().rfind(|line| line.contains("\"assistant\"")).unwrap();
    let mut asks: serde_json::Value = serde_json::from_str(last).unwrap();
    asks["parentUuid"] = asks["uuid"].clone();
    asks["uuid"] = json!("11111111-0000-4000-8000-000000000099");
    asks["message"]["id"] = json!("m99");
    asks["message"]["content"] =
        json!([{ "type": "text", "text": "Shall the old prices be rounded again?" }]);
    machine.write(path, &format!("{text}{asks}\n"));
    machine.ok(&["init", "--yes"]);
    insta::assert_snapshot!(machine.ok(&["timeline", "--open"]), @r#"
    2026-10-01  11111111  question  main: Shall the old prices be rounded again?
    "#);
    let open = machine.json(&["timeline", "--open", "--json"]);
    assert_eq!((&open[0]["kind"], &open[0]["session"]), (&json!("question"), &json!(SESSION)));
    let payload = json!({ "session_id": "another", "cwd": machine.work() }).to_string();
    let said = machine.run_on(&["statusline"], &payload);
    assert_eq!(said.stdout, "throughline: nothing given yet, 1 open\n");
    assert_eq!(machine.run(&["timeline", "--open", "-n", "3"]).code, 2);
    let nothing = learned();
    let said = nothing.remark(&["timeline", "--open"]);
    assert_eq!(said, "No session left a question, a task or a failing command open.\n");
}

#[test]
fn blame_lists_memories_and_sessions_of_a_file() {
    let (machine, _) = given();
    machine.write("home/work/src/price.rs", "");
    let text = without_ids(&machine, &machine.ok(&["blame", "src/price.rs"]));
    insta::assert_snapshot!(text, @r#"
    Memories about src/price.rs
    [id]  2026-10-02  fact            Prices are rounded once

    Sessions that touched src/price.rs
    11111111  yesterday 10:04  1 edit  From now on, never use floats for money: always keep amounts as integer cents. From now on, run the tests of a price…
    "#);
    let folder = machine.json(&["blame", "src/", "--json"]);
    assert!(folder["memories"].as_array().unwrap().len() > 1, "{folder:#}");
    assert_eq!(folder["sessions"][0]["edits"], 1);
    let said = machine.run(&["blame", "src/pier.rs"]);
    assert_eq!((said.code, &*said.stdout), (1, ""), "{}", said.whole());
    assert_eq!(machine.run(&["blame", "/elsewhere/pier.rs"]).code, 2);
}

#[test]
fn fixes_lists_errors_and_their_cure() {
    let machine = learned();
    machine.ok(&[
        "add",
        "error: the lock file is stale",
        "-k",
        "fix",
        "-b",
        "Remove it.\n\nThen build again.",
    ]);
    machine.ok(&["add", "The lock file is committed", "-k", "decision"]);
    insta::assert_snapshot!(without_ids(&machine, &machine.ok(&["fixes", "lock", "stale"])), @r#"
    [id]  2026-10-02  error: the lock file is stale
            Remove it.
            Then build again.
    "#);
    let all = machine.json(&["fixes", "--json"]);
    assert!(
        all.as_array().unwrap().iter().all(|one| one["kind"] == "fix" || one["call"].is_string()),
        "{all:#}"
    );
    assert!(
        all.as_array().unwrap().iter().any(|one| one["call"] == "`cargo test --quiet`"),
        "{all:#}"
    );
    // A few words of an error message find the fix from tool calls.
    let said = machine.ok(&["fixes", "mismatched types"]);
    assert!(said.contains("`cargo test --quiet` failed") && said.contains("price.rs"), "{said}");
    let said = machine.run(&["fixes", "zeppelin"]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (1, "", "No known error fits.\n"));
}

#[test]
fn fixes_that_share_one_word_of_many_are_left_out() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    let title = "error: the lock file is stale";
    machine.ok(&["add", title, "-k", "fix", "-b", "Remove it.", "-q"]);
    let far = "the weather report of Berlin shows a yellow lock beside seven umbrellas";
    for (command, nothing) in
        [("fixes", "No known error fits.\n"), ("search", "Nothing is known about this.\n")]
    {
        let said = machine.run(&[command, far]);
        assert_eq!((said.code, &*said.stdout, &*said.stderr), (1, "", nothing));
        let said = machine.ok(&[command, "lock", "file", "stale"]);
        assert!(said.contains(title), "{said}");
    }
}

#[test]
fn the_log_has_a_line_for_each_injection() {
    let (machine, _) = given();
    insta::assert_snapshot!(machine.ok(&["log", "-n", "3"]), @r#"
    yesterday 10:05  error    11111111    40 tokens  Prices are rounded once
    yesterday 10:03  prompt   11111111    40 tokens  Prices are rounded once
    yesterday 10:01  prompt   11111111    40 tokens  Prices are rounded once (+2)
    "#);
    let all = machine.json(&["log", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 4);
    let given = &all[1]["memories"][0];
    assert_eq!(given["title"], "Prices are rounded once");
    assert!(
        given["id"].as_str().unwrap().to_lowercase().ends_with(given["short"].as_str().unwrap())
    );
    let none = machine.run(&["log", "--session", "9", "--json"]);
    assert_eq!((none.code, none.stdout.trim()), (1, "[]"));
}

#[test]
fn the_status_line_reports_the_memories_given_to_the_session() {
    let (machine, _) = given();
    let payload = |session: &str| {
        json!({ "hook_event_name": "Status", "session_id": session, "cwd": "/nowhere",
            "workspace": { "current_dir": machine.work().join("src"), "project_dir": machine.work() },
            "model": { "display_name": "M" } })
        .to_string()
    };
    let said = |payload: &str| {
        // Claude Code may run it in any folder.
        let said = machine.run_on(&["-C", "/", "statusline"], payload);
        assert_eq!((said.code, &*said.stderr), (0, ""), "{payload}");
        said.stdout
    };
    assert_eq!(said(&payload(SESSION)), "throughline: 3 memories given, 160 tokens\n");
    assert_eq!(said(&payload("another")), "throughline: nothing given yet\n");
    let told = machine.run_on(&["statusline", "--json"], &payload(SESSION)).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["memories"], &told["injections"]), (&json!(3), &json!(4)));
    machine.ok(&["off"]);
    assert_eq!(said(&payload(SESSION)), "throughline: off\n");
}

#[test]
fn the_status_line_never_fails_and_waits_for_nobody() {
    let machine = Machine::new();
    for payload in ["", "{", "[1]", "null", r#"{"session_id":7}"#, r#"{"workspace":null}"#] {
        let said = machine.run_on(&["statusline"], payload);
        assert_eq!((said.code, said.stdout + &said.stderr), (0, String::new()), "{payload}");
    }
    let homeless = machine.command(&["statusline"]).env_remove("HOME").output().unwrap();
    assert!(homeless.status.success() && homeless.stderr.is_empty(), "{homeless:?}");
    // The stdin of this command is never closed.
    let mut child =
        machine.command(&["statusline"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let held = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(held);
    // Receipts with invalid values.
    let machine = learned();
    machine.receipt(&json!({ "at": "2026-10-02T09:00:00Z", "session": SESSION, "tokens": -7 }));
    let payload = json!({ "session_id": SESSION, "cwd": machine.work() }).to_string();
    let said = machine.run_on(&["statusline"], &payload);
    assert_eq!((said.code, &*said.stdout), (0, "throughline: nothing given yet\n"));
}
