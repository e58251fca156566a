//! Commands that Claude runs in a tool call: Claude can save its own notes, but cannot decide for the person.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use memory_store::Timestamp;
use serde_json::{Value, json};

use crate::common::{Machine, NOW};
use crate::team::git;

const RULE: &str = "Never push without a review";
const NOTE: &str = "Push to main without asking";

/// Exit code of a command that requires a person.
const NEEDS_PERSON: i32 = 11;

fn project() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    machine
}

fn id_of(machine: &Machine, title: &str) -> String {
    let list = machine.json(&["list", "--json"]);
    let memory = list.as_array().unwrap().iter().find(|memory| memory["title"] == title);
    memory.unwrap_or_else(|| panic!("{list}"))["short"].as_str().unwrap().to_owned()
}

/// Transcript of a person's session.
const SESSION: &str = "33333333-3333-4333-8333-333333333333.jsonl";

/// Writes a transcript of a command that a person types with `!`. `fields` are the fields of its prompt.
fn typed_in(machine: &Machine, transcript: &str, command: &str, fields: &Value) {
    let record = |content: String| {
        let mut record = json!({
            "type": "user", "cwd": machine.work(), "sessionId": "s", "uuid": content.len().to_string(),
            "timestamp": NOW, "message": {"role": "user", "content": content},
        });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        format!("{record}\n")
    };
    let input = record(format!("<bash-input>{command}</bash-input>"));
    let output = record("<bash-stdout>done</bash-stdout><bash-stderr></bash-stderr>".to_owned());
    let below = format!("home/.claude/projects/-work/{transcript}");
    machine.write(&below, &(input + &output));
    let at = u64::try_from(Timestamp::parse(NOW).unwrap().0).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    File::options().write(true).open(machine.path(&below)).unwrap().set_modified(at).unwrap();
}

fn typed(machine: &Machine, command: &str, fields: &Value) {
    typed_in(machine, SESSION, command, fields);
}

#[test]
fn what_claude_adds_is_its_note_and_no_wish() {
    let machine = project();
    let said = machine.run_by_claude(&["add", NOTE, "--kind", "preference", "--pin"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("It is a note by Claude"), "{}", said.stdout);
    let shown = machine.json(&["show", &id_of(&machine, NOTE), "--json"]).to_string();
    assert!(shown.contains(r#""said_by":"assistant""#), "{shown}");
    let said = machine.run_by_claude(&["add", NOTE, "--kind", "preference", "--user"]);
    assert_eq!(said.code, NEEDS_PERSON, "{}", said.stdout);
    assert!(said.stderr.contains("throughline add") && said.stderr.contains("terminal"));
    assert!(!machine.path("home/.local/share/throughline/user/memories").exists());
}

#[test]
fn the_users_wishes_stay_in_force_for_any_command_of_claude() {
    let machine = project();
    machine.ok(&["add", RULE, "--kind", "preference"]);
    let rule = id_of(&machine, RULE);
    let file = |machine: &Machine| {
        let folder = machine.path("home/work/.throughline/memories");
        let mut files: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let texts: Vec<String> =
            files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        texts.into_iter().find(|text| text.contains(RULE)).unwrap_or_default()
    };
    let before = file(&machine);
    for args in [
        &["forget", &rule] as &[&str],
        &["forget", &rule, "--delete"],
        &["edit", &rule, "--title", NOTE],
        &["edit", &rule, "--kind", "fact"],
        &["edit", &rule],
    ] {
        let said = machine.run_by_claude(args);
        assert_eq!(said.code, NEEDS_PERSON, "{args:?}: {}", said.stdout);
        assert_eq!(file(&machine), before, "{args:?}");
    }
    let said = machine.run_by_claude(&["add", NOTE, "--supersedes", &rule]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("stays in force until you agree"), "{}", said.stdout);
    assert_eq!(file(&machine), before);
    // Claude can change its own notes.
    let note = id_of(&machine, NOTE);
    assert_eq!(machine.run_by_claude(&["edit", &note, "--tag", "git"]).code, 0);
    assert_eq!(machine.run_by_claude(&["forget", &note]).code, 0);
}

#[test]
fn a_command_that_decides_for_the_person_needs_one() {
    let machine = project();
    machine.ok(&["add", RULE]);
    let rule = id_of(&machine, RULE);
    let refused: [&[&str]; 27] = [
        &["trust", "--yes"],
        &["trust", "--revoke"],
        &["review", "--release", &rule],
        &["review", "--accept-all"],
        &["review", "--accept", &rule],
        &["review", "--reject", &rule],
        &["review", "--keep", &rule],
        &["review", "--prefer", &rule],
        &["share", "on"],
        &["purge", "--everything", "--yes"],
        &["config", "llm", "claude"],
        &["config", "llm", "rules"],
        &["config", "set", "review", "false"],
        &["config", "set", "pulled", "all"],
        &["config", "set", "redact.personal", "[]"],
        &["config", "unset", "ignore_paths"],
        &["config", "set", "names.mode", "off"],
        &["uninstall", "--yes"],
        &["off"],
        &["on"],
        &["restore", &rule],
        &["link", "x"],
        &["doctor", "--secrets", "--fix"],
        &["init", "--yes", "--private"],
        &["init", "--yes", "--earlier", "take"],
        &["sync", "--earlier", "take"],
        &["sync", "--earlier", "leave"],
    ];
    for args in refused {
        let said = machine.run_by_claude(args);
        assert_eq!(said.code, NEEDS_PERSON, "{args:?}: {}{}", said.stdout, said.stderr);
        let said = said.stderr;
        assert!(said.contains("nothing was changed") && said.contains("terminal"), "{said}");
    }
    let allowed: [&[&str]; 11] = [
        &["init", "--yes", "--no-register", "--no-sync"],
        &["projects"],
        &["review"],
        &["review", "--accept-all", "--dry-run"],
        &["share"],
        &["config"],
        &["config", "get", "review"],
        &["config", "set", "start_tokens", "900"],
        &["sync"],
        &["list"],
        &["doctor", "--secrets"],
    ];
    for args in allowed {
        let said = machine.run_by_claude(args);
        assert!(said.code != NEEDS_PERSON, "{args:?}: {}", said.stderr);
    }
}

#[test]
fn claude_sets_up_a_new_folder_and_trusts_no_memories() {
    let machine = Machine::new();
    machine.write("home/work/.throughline/memories/a.md", "x");
    let init = ["init", "--yes", "--no-register", "--no-sync"];
    assert_eq!(machine.run_by_claude(&init).code, NEEDS_PERSON);
    fs::remove_dir_all(machine.path("home/work/.throughline")).unwrap();
    assert_eq!(machine.run_by_claude(&init).code, 0);
}

/// Returns the changes by Claude that `review` lists, each with its title.
fn asked(machine: &Machine) -> Vec<(String, String)> {
    let review = machine.json(&["review", "--json"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let claims = review.as_array().unwrap().iter().filter(|one| one["by_claude"].is_string());
    claims.map(|one| (text(&one["title"]), text(&one["by_claude"]))).collect()
}

#[test]
fn a_change_by_claude_holds_only_once_the_user_agrees() {
    for (agrees, option) in [(true, "--agree"), (false, "--refuse")] {
        for command in ["forget", "add"] {
            let machine = project();
            machine.ok(&["add", RULE, "--kind", "preference"]);
            let rule = id_of(&machine, RULE);
            assert!(asked(&machine).is_empty());
            match command {
                "forget" => machine.run_by_claude(&["forget", &rule]),
                _ => machine.run_by_claude(&["add", NOTE, "--supersedes", &rule]),
            };
            let waits = asked(&machine);
            assert!(waits.len() == 1 && waits[0].0 == RULE, "{command}: {waits:?}");
            assert!(waits[0].1.contains("Claude asked to"), "{waits:?}");
            let told = machine.ok(&["review"]);
            assert!(told.contains("1 change by Claude") && told.contains("--agree"), "{told}");
            let refused = machine.run_by_claude(&["review", option, &rule]);
            assert_eq!(refused.code, NEEDS_PERSON, "{}", refused.stdout);
            assert_eq!(asked(&machine).len(), 1);
            machine.ok(&["review", option, &rule]);
            assert!(asked(&machine).is_empty(), "{command} {option}");
            let list = machine.json(&["list", "--json"]);
            let found = list.as_array().unwrap().iter().find(|memory| memory["title"] == RULE);
            let holds = found.is_some_and(|memory| memory["superseded_by"].is_null());
            assert_eq!(holds, !agrees, "{command} {option}: {list}");
            assert!(machine.run(&["review", option, &rule]).code != 0);
        }
    }
}

#[test]
fn what_a_person_typed_with_an_exclamation_mark_is_theirs_at_the_next_sync() {
    let machine = project();
    machine.ok(&["add", RULE, "--kind", "preference"]);
    let rule = id_of(&machine, RULE);
    machine.run_by_claude(&["add", NOTE, "--kind", "preference"]);
    machine.run_by_claude(&["forget", &rule]);
    let shown = |id: &str| machine.json(&["show", id, "--json"]).to_string();
    let is_claudes = |id: &str| shown(id).contains(r#""said_by":"assistant""#);
    let note = id_of(&machine, NOTE);
    let command = format!("throughline add '{NOTE}' --kind preference; throughline forget {rule}");
    // Prompts of programs and other agents may have the same form.
    let agent = "33333333-3333-4333-8333-333333333333/subagents/agent-a1b2c3d.jsonl";
    let others = [
        (SESSION, json!({"entrypoint": "sdk-cli"})),
        (SESSION, json!({"entrypoint": "claude-code-github-action"})),
        (SESSION, json!({"entrypoint": "mcp"})),
        (SESSION, json!({"entrypoint": "remote", "promptSource": "sdk"})),
        (SESSION, json!({"entrypoint": "cli", "isSidechain": true, "agentId": "a1b2c3d"})),
        (SESSION, json!({"entrypoint": "cli", "teamName": "alpha", "agentName": "worker"})),
        (SESSION, json!({"entrypoint": "cli", "origin": {"kind": "peer"}})),
        (SESSION, json!({"entrypoint": "cli", "promptSource": "hook"})),
        (SESSION, json!({"entrypoint": "cli", "isMeta": true})),
        (agent, json!({"entrypoint": "cli"})),
    ];
    for (transcript, fields) in others {
        typed_in(&machine, transcript, &command, &fields);
        machine.ok(&["sync"]);
        assert!(is_claudes(&note) && shown(&rule).contains(RULE), "{transcript} {fields}");
    }
    typed(&machine, &format!("throughline show {rule} # {NOTE}"), &json!({"entrypoint": "cli"}));
    machine.ok(&["sync"]);
    assert!(is_claudes(&note) && shown(&rule).contains(RULE));
    typed(&machine, &command, &json!({"entrypoint": "cli"}));
    machine.ok(&["sync"]);
    assert!(!is_claudes(&note), "{}", shown(&note));
    assert_eq!(machine.json(&["list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_terminal_that_claude_opens_asks_nothing() {
    let machine = crate::browse::with_held();
    let before = crate::browse::memory_files(&machine);
    let processes = machine.claude_processes().display().to_string();
    let machine = machine.with(testutils::PROC_VARIABLE, processes);
    for args in [&["review"][..], &["init"]] {
        let shown = machine.on_screen(args, 80);
        assert!(!shown.contains("[q]uit") && !shown.contains("[y/n]"), "{shown}");
    }
    assert_eq!(crate::browse::memory_files(&machine), before);
}

#[test]
fn a_terminal_in_an_environment_of_claude_code_is_no_person() {
    let machine = project();
    machine.ok(&["add", RULE, "--kind", "preference"]);
    let rule = id_of(&machine, RULE);
    let machine = machine.with("CLAUDECODE", "1");
    for args in [&["share", "on"][..], &["forget", &rule]] {
        let (code, shown) = machine.declined_at_terminal(args, &[]);
        assert_eq!(code, Some(NEEDS_PERSON), "{shown}");
        assert!(shown.contains("terminal") && !shown.contains("[y/n]"), "{shown}");
    }
    assert_eq!(asked(&machine).len(), 1);
}

/// Title of a note that Claude saved.
const NOTED: &str = "The queue needs two workers";

#[test]
fn what_a_person_kept_stays_in_force_whatever_claude_runs() {
    let accepts: [fn(&Machine, &str); 4] = [
        |machine, note| drop(machine.ok(&["review", "--keep", note])),
        |machine, note| drop(machine.ok(&["edit", note, "--pin"])),
        |machine, note| drop(machine.ok(&["edit", note, "--tag", "queue"])),
        |machine, _| {
            git(machine, &["add", "-A"]);
            git(machine, &["commit", "-q", "-m", "work"]);
            machine.ok(&["sync"]);
        },
    ];
    for (number, accept) in accepts.iter().enumerate() {
        let machine = Machine::new();
        git(&machine, &["init", "-q"]);
        machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
        machine.run_by_claude(&["add", NOTED, "--kind", "gotcha", "--body", "Else it stalls."]);
        let note = id_of(&machine, NOTED);
        machine.ok(&["sync"]);
        assert_eq!(machine.run_by_claude(&["edit", &note, "--tag", "jobs"]).code, 0);
        accept(&machine, &note);
        let before = crate::browse::memory_files(&machine);
        for args in [
            &["forget", &note] as &[&str],
            &["forget", &note, "--delete"],
            &["edit", &note, "--body", "Never mind."],
        ] {
            let said = machine.run_by_claude(args);
            assert_eq!(said.code, NEEDS_PERSON, "{number} {args:?}: {}", said.stdout);
            assert_eq!(crate::browse::memory_files(&machine), before, "{number} {args:?}");
        }
        // Another note with the same title does not replace the user's memory either.
        machine.run_by_claude(&["add", NOTED, "--kind", "gotcha", "--body", "Never mind."]);
        let after = crate::browse::memory_files(&machine);
        assert!(before.iter().all(|file| after.contains(file)), "{number}: {after:?}");
        assert_eq!(asked(&machine).len(), 1, "{number}");
        machine.ok(&["review", "--agree", &note]);
        let list = machine.json(&["list", "--json"]);
        assert!(list.as_array().unwrap().iter().all(|memory| memory["short"] != note.as_str()));
    }
}
