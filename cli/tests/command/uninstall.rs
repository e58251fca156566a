//! `throughline uninstall` restores all projects, and lists the lines and files that the user has to delete by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Machine;

const SETTINGS: &str = "home/.claude/settings.json";
const EXTRAS: &str = "skill,agents,rules,merge-driver";
/// Folder of the second project.
const OTHER: &str = "home/other";

fn git(folder: &Path, home: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]).args(args);
    let done = git.current_dir(folder).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").status();
    assert!(done.unwrap().success(), "{args:?}");
}

/// Returns all files of the home with their contents, except Throughline's own folders and git's objects.
fn everything(machine: &Machine) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![machine.path("home")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let is_ours = name == "throughline" || name == ".throughline";
            if path.is_dir() {
                if !is_ours && name != "objects" && name != "logs" {
                    folders.push(path);
                }
            } else if name != "index" {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Returns the names of the files that differ.
fn differing(one: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let names = one.keys().chain(other.keys());
    let mut differing: Vec<String> = names
        .filter(|path| one.get(*path) != other.get(*path))
        .map(|path| {
            let text = |files: &BTreeMap<PathBuf, Vec<u8>>| {
                files.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            format!("{}\n{:?}\n{:?}", path.display(), text(one), text(other))
        })
        .collect();
    differing.dedup();
    differing
}

/// Returns a machine with two git projects. All files into which Throughline inserts its parts already exist there.
fn two_projects() -> Machine {
    let machine = Machine::new();
    fs::remove_dir_all(machine.path("home/work/.git")).unwrap();
    fs::create_dir_all(machine.path(OTHER)).unwrap();
    machine.write(SETTINGS, "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    machine
        .write("home/.claude.json", "{\"numStartups\": 4, \"projects\": {\"/x\": {\"a\": 1}}}\n");
    machine.write("home/.claude/CLAUDE.md", "# Mine\n");
    for project in ["home/work", OTHER] {
        git(&machine.path(project), &machine.path("home"), &["init", "-q", "-b", "main"]);
        machine.write(&format!("{project}/AGENTS.md"), "# Rules\n\nBe kind.\n");
        machine.write(&format!("{project}/CLAUDE.md"), "# Claude\n");
        machine.write(&format!("{project}/.gitattributes"), "* text=auto\n");
        machine.write(&format!("{project}/.claude/settings.json"), "{\"env\": {\"A\": \"1\"}}\n");
        machine.write(&format!("{project}/.git/hooks/pre-commit"), "#!/bin/sh\nmake lint\n");
        machine.write(
            &format!("{project}/.pre-commit-config.yaml"),
            "repos:\n    - repo: https://example.com/a\n      rev: v1\n",
        );
    }
    machine
}

/// Appends a text to a file.
fn append(machine: &Machine, below: &str, text: &str) {
    let before = fs::read_to_string(machine.path(below)).unwrap_or_default();
    machine.write(below, &format!("{before}{text}"));
}

/// Sets a key of a JSON file without changing its layout.
fn set(machine: &Machine, below: &str, key: &str, value: &str) {
    let text = machine.read(below);
    let (head, _) = text.rsplit_once('}').unwrap();
    let head = head.trim_end();
    let comma = if head.ends_with('{') { "" } else { "," };
    machine.write(below, &format!("{head}{comma}\n  \"{key}\": {value}\n}}\n"));
}

/// Adds all parts that `init` offers in both projects, and the additions that the documentation describes.
fn set_up(machine: &Machine) {
    for (project, scope) in [("home/work", "user"), (OTHER, "local")] {
        let folder = machine.path(project);
        let place = ["-C", folder.to_str().unwrap()];
        let init = ["init", "--yes", "--no-sync", "--settings", scope, "--with", EXTRAS];
        machine.ok(&[&init[..], &place].concat());
        machine.ok(&[&["add", "Bread is baked at night"][..], &place].concat());
        // A user copied the paragraph into another file.
        let agents = machine.read(&format!("{project}/AGENTS.md"));
        let (_, paragraph) = agents.split_once("Be kind.\n").unwrap();
        append(machine, &format!("{project}/CLAUDE.md"), paragraph);
        // The addition in docs/team.md.
        append(
            machine,
            &format!("{project}/.git/hooks/pre-commit"),
            "throughline check --staged\n",
        );
        append(
            machine,
            &format!("{project}/.pre-commit-config.yaml"),
            "    - repo: local\n      hooks:\n        - id: throughline\n          name: memory files\n          entry: \
             throughline check --staged\n          language: system\n          files: ^\\.throughline/memories/\n",
        );
        // The plugin, as in docs/install.md, in the format of the client.
        let settings = format!("{project}/.claude/settings.json");
        set(machine, &settings, "enabledPlugins", "{\"throughline@throughline\": true}");
    }
    // The addition in docs/usage.md.
    let line = "{ \"type\": \"command\", \"command\": \"throughline statusline\" }";
    set(machine, SETTINGS, "statusLine", line);
    // The server in docs/mcp.md, for one project and under another name.
    let servers = "{\"/x\": {\"a\": 1, \"mcpServers\": {\"memory\": {\"command\": \"throughline-mcp\", \"args\": []}}}}";
    let state = machine.read("home/.claude.json");
    let mut value: serde_json::Value = serde_json::from_str(&state).unwrap();
    let added: serde_json::Value = serde_json::from_str(servers).unwrap();
    value["projects"]["/x"] = added["/x"].clone();
    machine.write("home/.claude.json", &value.to_string());
    let script = machine.ok(&["completions", "fish"]);
    machine.write("home/.config/fish/completions/throughline.fish", &script);
    let man = machine.path("home/.local/share/man/man1");
    machine.ok(&["man", man.to_str().unwrap()]);
}

/// The parts that the dry run lists.
const PARTS: [&str; 19] = [
    "take the hooks out of /home/.claude/settings.json",
    "take the rules out of /home/.claude/settings.json",
    "take the status line out of /home/.claude/settings.json",
    "take the MCP server out of /home/.claude.json",
    "take the hooks out of /home/other/.claude/settings.local.json",
    "take the rules out of /home/other/.claude/settings.local.json",
    "take the plugin out of /home/work/.claude/settings.json",
    "take the plugin out of /home/other/.claude/settings.json",
    "remove /home/.claude/skills/throughline/SKILL.md",
    "remove /home/other/.claude/skills/throughline/SKILL.md",
    "take the paragraph out of /home/work/AGENTS.md",
    "take the paragraph out of /home/other/AGENTS.md",
    "take the paragraph out of /home/other/CLAUDE.md",
    "take the line out of /home/other/.gitattributes",
    "take the merge driver out of /home/other/.git/config",
    "take the check out of /home/other/.git/hooks/pre-commit",
    "take the check out of /home/other/.pre-commit-config.yaml",
    "remove /home/.config/fish/completions/throughline.fish",
    "remove /home/.local/share/man/man1/throughline-config-set.1",
];

#[test]
fn all_projects_are_as_they_were() {
    let machine = two_projects();
    let before = everything(&machine);
    set_up(&machine);
    let with_all = everything(&machine);
    let told = machine.json(&["uninstall", "--dry-run", "--json"]);
    let would: Vec<&str> =
        told["would"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    for part in PARTS {
        assert_eq!(would.iter().filter(|line| **line == part).count(), 1, "{part}\n{would:#?}");
    }
    assert_eq!(differing(&with_all, &everything(&machine)), Vec::<String>::new(), "a dry run");
    let said = machine.ok(&["uninstall"]);
    assert!(said.contains("Taken out of /home/other/.git/config\n"), "{said}");
    let mut after = everything(&machine);
    // Claude Code rewrote its own file in the meantime, so its values are compared.
    let state = machine.path("home/.claude.json");
    let value = |files: &BTreeMap<PathBuf, Vec<u8>>| -> serde_json::Value {
        serde_json::from_slice(&files[&state]).unwrap()
    };
    assert_eq!(value(&after), value(&before));
    after.insert(state.clone(), before[&state].clone());
    // Later edits by the user are kept, with their layout.
    let settings: Vec<PathBuf> =
        after.keys().filter(|path| path.ends_with(".claude/settings.json")).cloned().collect();
    for path in settings {
        let text = String::from_utf8(after[&path].clone()).unwrap();
        assert!(!text.contains("throughline"), "{text}");
        after.insert(path.clone(), before[&path].clone());
    }
    after.retain(|path, _| !path.to_string_lossy().contains(".backup."));
    assert_eq!(differing(&before, &after), Vec::<String>::new());
    // Memories are kept.
    assert!(machine.path("home/other/.throughline/memories").is_dir());
    let again = machine.json(&["uninstall", "--dry-run", "--json"]);
    assert_eq!(again["would"], serde_json::json!([]));
}

#[test]
fn what_is_written_in_a_way_of_ones_own_is_named_and_stays() {
    let machine = Machine::new();
    machine.write(
        SETTINGS,
        "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"mine; throughline statusline\" }\n}\n",
    );
    machine.write(
        "home/work/.mcp.json",
        "{\n  \"mcpServers\": {\n    \"throughline\": { \"command\": \"other-server\" },\n    \"memory\": { \"command\": \
         \"sh\", \"args\": [\"-c\", \"throughline-mcp\"] }\n  }\n}\n",
    );
    machine.write(
        "home/.bashrc",
        "alias ll=ls\n# throughline is fine\neval \"$(throughline completions bash)\"\n",
    );
    machine.write(
        "home/.cursor/mcp.json",
        "{\"mcpServers\":\n{\"x\": {\"command\": \"throughline-mcp\"}}}\n",
    );
    machine.write(
        "home/work/.git/hooks/pre-commit",
        "#!/bin/sh\nthroughline check --staged || exit 0\n",
    );
    machine.write("home/.config/fish/completions/throughline.fish", "complete -c throughline -f\n");
    let before = everything(&machine);
    for args in [&["uninstall", "--dry-run"][..], &["uninstall"]] {
        let said = machine.ok(args);
        for line in [
            "/home/.claude/settings.json:2: \"statusLine\"",
            "/home/work/.mcp.json:4: \"memory\"",
            "/home/.bashrc:3: eval \"$(throughline completions bash)\"",
            "/home/.cursor/mcp.json:2: {\"x\": {\"command\": \"throughline-mcp\"}}}",
            "/home/work/.git/hooks/pre-commit:2: throughline check --staged || exit 0",
        ] {
            assert!(said.contains(&format!("  {line}\n")), "{line}\n{said}");
        }
        assert!(!said.contains("other-server"), "{said}");
        assert_eq!(differing(&before, &everything(&machine)), Vec::<String>::new(), "{args:?}");
    }
    let told = machine.json(&["uninstall", "--json"]);
    assert_eq!(told["by_hand"].as_array().unwrap().len(), 5, "{told:#}");
    let shell = &told["by_hand"][0];
    assert_eq!((&shell["path"], &shell["line"]), (&"/home/.bashrc".into(), &3.into()));
}

#[test]
fn a_file_that_has_nothing_else_goes_with_its_part() {
    let machine = Machine::new();
    let before = everything(&machine);
    machine
        .write("home/work/.git/hooks/pre-commit", "#!/bin/sh\nexec throughline check --staged\n");
    machine.ok(&["init", "--yes", "--no-sync", "--with", "agents,skill"]);
    machine.ok(&["uninstall"]);
    assert_eq!(differing(&before, &everything(&machine)), Vec::<String>::new());
}
