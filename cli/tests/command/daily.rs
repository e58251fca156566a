//! What a person looks at every day: the overview, and views of what was learned, given and spent.

use serde_json::json;

use crate::common::{Machine, strip};

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";

/// A machine on which a session of yesterday was learned from, with hooks.
pub fn learned() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.ok(&["init", "--yes"]);
    machine
}

fn at(machine: &Machine, now: &str, args: &[&str]) -> String {
    let said = machine.run_with(args, &[("THROUGHLINE_NOW", now)]);
    assert_eq!(said.code, 0, "{args:?}\n{}", said.whole());
    said.stdout
}

/// A text with a word in the place of each id.
fn without_ids(machine: &Machine, text: &str) -> String {
    let all = machine.json(&["list", "--all", "--json"]);
    let ids = all.as_array().unwrap().iter().map(|one| one["short"].as_str().unwrap());
    ids.fold(text.to_owned(), |text, id| text.replace(id, "[id]"))
}

#[test]
fn the_overview_is_one_screen() {
    let machine = learned();
    insta::assert_snapshot!(without_ids(&machine, &machine.ok(&[])), @r#"
    ~/work  2 memories, committed with the project

    Known       1 decision, 1 preference
    Learned     2 so far
                [id]  decision    The total was computed in f64, which loses ce...
                [id]  preference  From now on, never use floats for money: alwa...
    Review      2 not looked at yet
    Given       nothing to a session yet
    Health      good, last sync just now

    Next        throughline review  look at them, one key each
    "#);
}

#[test]
fn the_overview_tells_what_came_since_the_last_look() {
    let machine = learned();
    assert!(machine.json(&["--json"])["since"].is_null());
    assert!(machine.ok(&[]).contains(" so far\n"));
    // Another look within the hour is the same visit.
    machine.ok(&["add", "Berths are numbered from the north pier"]);
    for now in ["2026-10-02T09:50:00Z", "2026-10-02T10:29:59Z"] {
        let said = at(&machine, now, &[]);
        assert!(said.contains("  1 since ") && said.contains("Berths are numbered"), "{said}");
    }
    // JSON is for programs: it is no look.
    let later = "2026-10-02T18:00:00Z";
    at(&machine, later, &["--json"]);
    assert!(at(&machine, later, &[]).contains("  1 since today 09:30\n"));
    assert!(at(&machine, later, &[]).contains("  nothing since just now\n"));
    assert!(at(&machine, "2026-10-03T08:00:00Z", &[]).contains("nothing since yesterday 18:00"));
}

#[test]
fn nothing_is_noted_where_nothing_may_be_written() {
    let machine = learned();
    for _ in 0..2 {
        let said = machine.run_with(&[], &[("THROUGHLINE", "read")]);
        assert!(said.stdout.contains(" so far\n"), "{}", said.whole());
    }
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
    assert!(
        said.contains(
            "Given       18 minutes ago    where the work was left (1 token)\n            20 minutes ago    \
             Berths are numbered (42 tokens)\n"
        ),
        "{said}"
    );
    assert!(said.contains("Health      good, last sync "), "{said}");
    machine.ok(&["off"]);
    let said = machine.ok(&[]);
    assert!(said.contains("Health      ! Everything is off: `throughline on`"), "{said}");
    assert!(said.contains("Next        throughline on  "), "{said}");
    let told = machine.json(&["--json"]);
    assert_eq!(
        (&told["next"], &told["injections"][1]["titles"][0]),
        (&json!("throughline on"), &json!("Berths are numbered"))
    );
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
    // The prompt of the shell takes a line, too.
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
    // Where a memory folder came with the repository, it is to be looked at first.
    machine.write("home/work/.throughline/memories/a.md", "");
    assert!(machine.run(&[]).stdout.contains("`throughline trust`"));
    assert_eq!(machine.run(&["--json", "status"]).code, 2);
}
