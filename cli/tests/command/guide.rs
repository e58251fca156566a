//! The guide for Claude is installed on request and removed by `uninstall`; `share` and `mcp`.

use crate::common::{Machine, files};

const SETTINGS: &str = "home/.claude/settings.json";
const SKILL: &str = "home/.claude/skills/throughline/SKILL.md";

#[test]
fn skill_paragraph_and_rules_come_and_go_without_a_trace() {
    let machine = Machine::new();
    machine.write(SETTINGS, "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"]\n  }\n}\n");
    machine.write("home/work/AGENTS.md", "# Rules\n\nBe kind.\n");
    let before = files(&machine.path("home"));
    let said = machine.ok(&["init", "--yes", "--no-sync", "--with", "skill,agents,rules"]);
    assert!(said.contains("allow rules") && said.contains("AGENTS.md"), "{said}");
    let settings = machine.read(SETTINGS);
    assert!(
        settings.contains("Bash(ls)") && settings.contains("mcp__throughline__recall"),
        "{settings}"
    );
    assert!(
        !settings.contains("mcp__throughline__forget"),
        "what changes something is asked about"
    );
    assert!(machine.read(SKILL).contains("mcp__throughline__search_sessions"));
    assert!(
        machine.read("home/work/AGENTS.md").starts_with("# Rules\n\nBe kind.\n\n<!-- throughline")
    );
    machine.ok(&["uninstall", "--yes"]);
    let mut after = files(&machine.path("home"));
    after.retain(|(path, _)| before.iter().any(|(known, _)| known == path));
    assert_eq!(after, before);
    assert!(!machine.path("home/.claude/skills/throughline").exists());
}

#[test]
fn nothing_of_it_comes_unasked() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-sync"]);
    assert!(!machine.path(SKILL).exists() && !machine.path("home/work/AGENTS.md").exists());
    assert!(!machine.read(SETTINGS).contains("permissions"));
}

#[test]
fn a_project_is_shared_until_that_ends() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-sync", "--no-register"]);
    assert!(machine.ok(&["share"]).contains("in this project only"));
    assert!(machine.ok(&["share", "on"]).contains("may ask"));
    assert!(machine.ok(&["share"]).contains("may ask"));
    assert!(machine.ok(&["share", "off"]).contains("in this project only"));
}

#[test]
fn a_data_folder_from_the_environment_is_passed_to_the_server() {
    let machine = Machine::new();
    let data = machine.path("elsewhere");
    let said = machine
        .run_with(&["init", "--yes", "--no-sync"], &[("XDG_DATA_HOME", data.to_str().unwrap())]);
    assert_eq!(said.code, 0, "{}", said.whole());
    let state: serde_json::Value =
        serde_json::from_str(&machine.read("home/.claude.json")).unwrap();
    let variables = &state["mcpServers"]["throughline"]["env"];
    assert_eq!(variables["XDG_DATA_HOME"], data.to_str().unwrap(), "{state}");
    assert_eq!(variables.as_object().map(serde_json::Map::len), Some(1), "{state}");
}

#[test]
fn mcp_becomes_the_server_beside_it() {
    let machine = Machine::new();
    machine.program("throughline-mcp", "#!/bin/sh\necho \"served in $(pwd)\"\n");
    let said = machine.ok(&["mcp"]);
    assert!(said.contains("served in"), "{said}");
}
