//! Tests that every view prints the same numbers of memories.

use serde_json::Value;

use crate::common::{Machine, strip};

const SESSION: &str = "33333333-3333-4333-8333-333333333333";

/// Numbers of active memories in the project below, which contains memories in each state.
const IN_REPOSITORY: u64 = 3;
const USERS: u64 = 2;
const REPLACED: u64 = 1;
const EXPIRED: u64 = 1;
const FORGOTTEN: u64 = 1;

fn add(machine: &Machine, args: &[&str]) -> String {
    let added = machine.json(&[&["add"], args, &["--both", "--json"]].concat());
    added["short"].as_str().unwrap().to_owned()
}

/// Returns a project with active, pending, replaced, expired and archived memories, and with memories of the user.
fn project() -> Machine {
    let machine = Machine::new();
    machine.write("home/.config/throughline/config.toml", "review = true\n");
    machine.transcript(&format!("home/.claude/projects/-w/{SESSION}.jsonl"), SESSION, "2026-10-01");
    machine.ok(&["init", "--yes", "--no-register"]);
    add(&machine, &["Bread is baked at night"]);
    add(&machine, &["Rolls come without seeds", "--kind", "decision"]);
    let older = add(&machine, &["The mill is in the valley"]);
    add(&machine, &["The mill is on the hill", "--supersedes", &older]);
    let aside = add(&machine, &["The oven is cold"]);
    machine.ok(&["forget", &aside]);
    for title in ["Answer in short", "Ask before a release"] {
        add(&machine, &[title, "--user", "--kind", "preference"]);
    }
    machine.write(
        "home/work/.throughline/memories/over.md",
        "---\nid: 01JZX3P4Q5R6S7T8V9WABCDEF7\nkind: fact\ncreated: 2026-09-01\nvalid_until: 2026-09-20\n---\n\n# The shop is closed in September\n",
    );
    machine.ok(&["sync"]);
    machine
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value:#}"))
}

/// Returns the first number in the line that begins with `start`.
fn first_number(text: &str, start: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(start));
    let line = line.unwrap_or_else(|| panic!("{start}: {text}"));
    let digits: String =
        line.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn every_view_prints_the_same_numbers() {
    let machine = project();
    let waiting = machine.json(&["review", "--json"]);
    let waiting = waiting.as_array().unwrap();
    let held = waiting.iter().filter(|one| one["status"] == "held").count() as u64;
    assert!(held >= 2, "{waiting:#?}");
    let in_project = IN_REPOSITORY + held;

    let status = machine.json(&["status", "--json"]);
    let overview = machine.json(&["--json"]);
    let synced = machine.json(&["sync", "--rebuild", "--json"])[0].clone();
    for (name, view) in [("status", &status), ("overview", &overview), ("sync", &synced)] {
        let numbers = [
            ("memories", in_project),
            ("in_repository", IN_REPOSITORY),
            ("held", held),
            ("private", 0),
            ("user_memories", USERS),
            ("replaced", REPLACED),
            ("expired", EXPIRED),
        ];
        for (key, expected) in numbers {
            assert_eq!(number(view, key), expected, "{name}: {key}\n{view:#}");
        }
        let kinds = view["by_kind"].as_object().unwrap().values().map(|it| it.as_u64().unwrap());
        assert_eq!(kinds.sum::<u64>(), in_project, "{name}");
    }
    assert_eq!(number(&status, "waiting_for_review"), held);
    assert_eq!(number(&status, "forgotten"), FORGOTTEN);

    let listed = |more: &[&str]| {
        let list = machine.json(&[&["list", "--json"], more].concat()).as_array().unwrap().len();
        let lines = machine.ok(&[&["list"], more].concat()).lines().count();
        assert_eq!(list, lines, "{more:?}");
        list as u64
    };
    assert_eq!(listed(&[]), in_project + USERS);
    assert_eq!(listed(&["--all"]), in_project + USERS + REPLACED + EXPIRED);
    assert_eq!(listed(&["--forgotten"]), FORGOTTEN);
    let all = machine.ok(&["list", "--all"]);
    for (mark, count) in [("[replaced]", REPLACED), ("[expired]", EXPIRED)] {
        assert_eq!(all.matches(mark).count() as u64, count, "{all}");
    }

    let stats = machine.json(&["status", "--stats", "--json"])["stats"].clone();
    assert_eq!(number(&stats, "memories"), in_project + USERS, "{stats:#}");
    assert_eq!((number(&stats, "replaced"), number(&stats, "expired")), (REPLACED, EXPIRED));

    let text = machine.ok(&["status"]);
    assert_eq!(first_number(&text, "Stored"), in_project, "{text}");
    assert!(
        text.contains(&format!("{in_project}, {IN_REPOSITORY} of them in /home/work")),
        "{text}"
    );
    assert!(text.contains(&format!("{held} pending, private until")), "{text}");
    assert!(text.contains("Besides     1 replaced, 1 expired, 1 archived"), "{text}");
    assert!(text.contains(&format!("{USERS} of yours for every project")), "{text}");
    let text = machine.ok(&[]);
    assert!(text.contains(&format!("{in_project} memories, committed")), "{text}");
    assert!(text.contains(&format!("but for {held} held")), "{text}");
    assert!(text.contains(&format!("{USERS} of yours for every project")), "{text}");
    let text = machine.ok(&["sync", "--rebuild"]);
    assert_eq!(first_number(&text, ""), in_project, "{text}");
    let text = machine.run(&["doctor"]).stdout;
    assert_eq!(first_number(&text, "ok    memories"), in_project + USERS, "{text}");
    let shown = strip(&machine.at_terminal(&["browse"], &[("leave", "q")]));
    assert!(shown.contains(&format!("Memories {}", in_project + USERS)), "{shown}");
}

#[test]
fn a_private_project_counts_its_own_folder() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--private", "--no-register"]);
    add(&machine, &["Bread is baked at night"]);
    let status = machine.json(&["status", "--json"]);
    assert_eq!((number(&status, "memories"), number(&status, "private")), (1, 1));
    assert_eq!(number(&status, "in_repository"), 0);
    let text = machine.ok(&[]);
    assert!(text.contains("1 memory, private"), "{text}");
}

/// Memories that a sync writes into another working tree are counted separately.
#[test]
fn memories_of_another_working_tree_are_counted_separately() {
    let machine = Machine::new();
    let git = |folder: &str, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]).args(args);
        git.current_dir(machine.path(folder)).env("HOME", machine.path("home"));
        assert!(git.status().unwrap().success(), "{args:?}");
    };
    std::fs::remove_dir_all(machine.path("home/work/.git")).unwrap();
    git("home/work", &["init", "-q", "-b", "main"]);
    git("home/work", &["commit", "-q", "--allow-empty", "-m", "one"]);
    git("home/work", &["worktree", "add", "-q", "../side"]);
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    add(&machine, &["Bread is baked at night"]);
    let side = machine.path("home/side");
    let side = side.to_str().unwrap();
    let counted = |machine: &Machine| {
        let status = machine.json(&["-C", side, "status", "--json"]);
        (number(&status, "memories"), number(&status, "elsewhere_in_project"))
    };
    // A linked working tree without a memory folder uses the memories of the main one.
    assert_eq!(counted(&machine), (1, 0));
    let text = machine.ok(&["-C", side, "sync", "--rebuild"]);
    assert!(text.starts_with("1 memory (0 new"), "{text}");
    machine.write(
        "home/side/.throughline/memories/tea.md",
        "---\nid: 01JZX3P4Q5R6S7T8V9WABCDEF7\nkind: fact\ncreated: 2026-09-01\n---\n\n# Tea is green here\n",
    );
    assert_eq!(counted(&machine), (2, 0));
    // The main working tree does not contain memories that exist only in the linked one.
    let here = machine.json(&["status", "--json"]);
    assert_eq!((number(&here, "memories"), number(&here, "elsewhere_in_project")), (1, 1));
    assert!(machine.ok(&["status"]).contains("Besides     1 in other working trees"));
    let text = machine.ok(&["sync", "--rebuild"]);
    assert!(text.starts_with("1 memory here and 1 in other working trees ("), "{text}");
}
