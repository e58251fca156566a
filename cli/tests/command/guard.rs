//! Guards: adding, listing, testing, accepting and removing them.

use serde_json::{Value, json};

use crate::common::Machine;

fn machine() -> (Machine, String) {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    let added = machine.json(&["add", "Never force a push", "--kind", "preference", "--json"]);
    let id = added["short"].as_str().unwrap_or_else(|| panic!("{added:#}")).to_owned();
    (machine, id)
}

fn file_of(machine: &Machine, id: &str) -> std::path::PathBuf {
    let shown = machine.json(&["show", id, "--json"]);
    // The output has no path above the machine's folder.
    machine.path(shown[0]["file"].as_str().unwrap().trim_start_matches('/'))
}

#[test]
fn a_guard_is_added_tested_and_ended() {
    let (machine, id) = machine();
    let force = ["guard", "add", "--reason", &id, "--command", "git push --force*"];
    let would = machine.ok(&[&force[..], &["--dry-run"]].concat());
    assert!(would.starts_with("Would add to "), "{would}");
    assert!(machine.ok(&["guard"]).contains("There are no guards"));
    machine.ok(&[&force[..], &["--action", "deny"]].concat());
    assert!(std::fs::read_to_string(file_of(&machine, &id)).unwrap().contains("guard:\n"));

    let listed = machine.json(&["guard", "list", "--json"]);
    assert_eq!((&listed[0]["in_force"], &listed[0]["acted"]), (&json!("deny"), &json!(0)));
    assert_eq!(listed[0]["command"], "git push --force*");
    assert!(machine.ok(&["guard", "test", "git push -f"]).starts_with("deny: "));
    let other = machine.run(&["guard", "test", "git push"]);
    assert_eq!((other.code, other.stdout.as_str()), (1, ""), "{}", other.whole());
    assert!(other.stderr.contains("No guard applies."), "{}", other.whole());

    machine.ok(&["guard", "off", &id]);
    assert_eq!(machine.run(&["guard", "test", "git push -f"]).code, 1);
    assert!(machine.ok(&["guard"]).contains("you did not accept it"));
    machine.ok(&["guard", "trust", &id]);
    assert!(machine.ok(&["guard", "test", "git push -f"]).starts_with("deny: "));
    machine.ok(&["guard", "remove", &id]);
    assert_eq!(machine.json(&["guard", "list", "--json"]), json!([]));
    assert!(!std::fs::read_to_string(file_of(&machine, &id)).unwrap().contains("guard"));
    assert_eq!(machine.run(&["guard", "off", &id]).code, 3);
}

#[test]
fn edits_are_guarded_by_path_and_content() {
    let (machine, id) = machine();
    machine.ok(&["guard", "add", "--reason", &id, "--path", "db/migrations/**", "--action", "ask"]);
    machine.ok(&["guard", "add", "--reason", &id, "--content", "unwrap(", "--action", "warn"]);
    let test = |path: &str, text: &str| {
        machine.run(&["guard", "test", "--path", path, "--content", text]).stdout
    };
    assert!(test("db/migrations/1.sql", "x").starts_with("ask: "));
    assert!(test("src/a.rs", "b.unwrap()").starts_with("warn: "));
    assert_eq!(test("src/a.rs", "b"), "");
}

#[test]
fn only_the_person_decides_about_guards() {
    let (machine, id) = machine();
    let add = ["guard", "add", "--reason", &id, "--command", "make"];
    assert_eq!(machine.run_by_claude(&add).code, 11);
    machine.ok(&add);
    for args in [["guard", "off", &id], ["guard", "remove", &id], ["guard", "trust", &id]] {
        assert_eq!(machine.run_by_claude(&args).code, 11, "{args:?}");
    }
    for args in [&["guard"][..], &["guard", "test", "make"], &["guard", "log"]] {
        assert_eq!(machine.run_by_claude(args).code, 0, "{args:?}");
    }
}

#[test]
fn a_guard_in_a_file_waits_for_its_acceptance_also_beside_an_accepted_one() {
    let (machine, id) = machine();
    let file = file_of(&machine, &id);
    let text = std::fs::read_to_string(&file).unwrap();
    let foreign = "guard:\n  - action: deny\n    command: make release\ncreated:";
    std::fs::write(&file, text.replacen("created:", foreign, 1)).unwrap();
    machine.ok(&["guard", "add", "--reason", &id, "--command", "make deploy"]);
    let effects: Vec<Value> =
        machine.json(&["guard", "list", "--json"]).as_array().unwrap().to_vec();
    let of = |command: &str| {
        effects.iter().find(|it| it["command"] == command).unwrap()["in_force"].clone()
    };
    assert_eq!(of("make deploy"), "pause");
    assert_eq!(of("make release"), Value::Null);
    assert_eq!(machine.run(&["guard", "test", "make release"]).code, 1);
}

#[test]
fn a_guard_ends_with_its_memory() {
    let (machine, id) = machine();
    machine.ok(&["guard", "add", "--reason", &id, "--command", "make deploy"]);
    machine.ok(&["forget", &id]);
    assert_eq!(machine.run(&["guard", "test", "make deploy"]).code, 1);
    let state = std::fs::read_dir(machine.path("home/.local/state/throughline/trees")).unwrap();
    for tree in state {
        assert!(!tree.unwrap().path().join("guards").exists());
    }
}

#[test]
fn a_guard_that_can_match_nothing_is_refused() {
    let (machine, id) = machine();
    for options in [
        &["--command", "curl x | sh"][..],
        &["--command", "* --force"],
        &["--branch", "main"],
        &["--command", "make", "--path", "src"],
        &["--command", "if make"],
    ] {
        let said = machine.run(&[&["guard", "add", "--reason", &id], options].concat());
        assert_eq!(said.code, 2, "{options:?}: {}", said.whole());
    }
    assert_eq!(machine.json(&["guard", "list", "--json"]), json!([]));
}
