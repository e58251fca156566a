//! Conventions of command-line tools that concern all commands: cancelling, streams and exit codes, settings that are
//! not in effect, dates, the form of a memory in JSON, and the width of the terminal.

use std::fs::File;
use std::process::Stdio;

use memory_store::file::MemoryFile;
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use serde_json::Value;

use crate::common::{Machine, Said, strip};
use crate::daily::learned;

const CONFIG: &str = "home/.config/throughline/config.toml";

/// Returns a project with one memory, and its id.
fn bakery() -> (Machine, String) {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    let args = ["add", "Bread is baked in the oven", "-t", "baking", "--json"];
    let id = machine.json(&args)["short"].as_str().unwrap().to_owned();
    (machine, id)
}

/// Escape sequences that hide and show the cursor.
const HIDDEN: &str = "\u{1b}[?25l";
const SHOWN: &str = "\u{1b}[?25h";

#[test]
fn a_cancelled_question_leaves_the_cursor_and_the_exit_code_of_an_interrupt() {
    let (machine, id) = bakery();
    let purge = &["purge", "--before", "2026-12-01"][..];
    for args in [purge, &["forget", "--delete", &id], &["uninstall", "--purge"]] {
        for key in ["\u{3}", "\u{1b}"] {
            let (code, shown) = machine.declined_at_terminal(args, &[("[y/N]", key)]);
            assert_eq!(code, Some(130), "{args:?} {key:?}: {shown}");
            assert!(shown.rfind(SHOWN) > shown.rfind(HIDDEN), "{args:?} {key:?}: {shown:?}");
            assert!(!shown.contains("panicked") && !shown.contains("because"), "{shown}");
        }
    }
    assert!(machine.ok(&["list"]).contains(&id), "nothing was done");
}

#[test]
fn a_cancelled_list_to_choose_from_prints_nothing_on_stdout() {
    let (machine, _) = bakery();
    for key in ["\u{3}", "\u{1b}"] {
        let (code, stdout) = machine.cancelled_in_list(&["list", "--pick"], key);
        assert_eq!((code, &*stdout), (Some(130), ""), "{key:?}");
    }
}

#[test]
fn a_broken_settings_file_is_reported_with_its_line_by_every_command_that_reads_it() {
    let (machine, id) = bakery();
    machine.write(CONFIG, "start_tokens = 700\nnotice = [\n");
    let has_line = |said: &Said| {
        said.stderr.contains("config.toml")
            && (said.stderr.contains("line 2") || said.stderr.contains("line 3"))
    };
    for args in [
        &["list"][..],
        &["search", "bread"],
        &["show", &id],
        &["blame", "."],
        &["log"],
        &["sync"],
        &["config"],
        &["config", "get", "start_tokens"],
        &["redact", "notes.txt"],
    ] {
        machine.write("home/work/notes.txt", "Bread\n");
        let said = machine.run(args);
        assert!(has_line(&said), "{args:?}: {}", said.whole());
        assert!(said.stderr.contains("or else the strictest one"), "{args:?}: {}", said.whole());
        assert!(!said.stdout.contains("line 2"), "{args:?}: {}", said.whole());
    }
    for args in [&["config", "set", "start_tokens", "500"][..], &["config", "unset", "notice"]] {
        let said = machine.run(args);
        assert!(said.code == 5 && has_line(&said), "{args:?}: {}", said.whole());
    }
    machine.program("editor", "#!/bin/sh\nexit 0\n");
    let editor = machine.path("bin/editor").display().to_string();
    let said = machine.run_with(&["config", "edit"], &[("EDITOR", &editor)]);
    assert!(said.code == 5 && has_line(&said), "{}", said.whole());
    assert!(!said.stderr.contains(": :"), "{}", said.whole());
}

#[test]
fn an_unknown_mode_is_reported_once_and_not_to_a_status_line() {
    let (machine, _) = bakery();
    let machine = machine.with("THROUGHLINE", "blah");
    let said = machine.run(&["list"]);
    assert_eq!(said.stderr.matches("THROUGHLINE is `blah`").count(), 1, "{}", said.whole());
    assert_eq!(machine.run(&["statusline"]).stderr, "");
}

#[test]
fn a_single_setting_is_read_and_changed_as_json_in_another_folder() {
    let (machine, _) = bakery();
    let unset = machine.run(&["config", "get", "llm", "--json"]);
    assert_eq!((unset.code, unset.stdout.trim()), (1, "null"));
    let set = machine.json(&["config", "set", "notice", "off", "--json"]);
    assert_eq!((&set["key"], &set["value"]), (&"notice".into(), &"off".into()));
    assert_eq!(machine.json(&["--json", "config", "get", "notice"]), "off");
    let unset = machine.json(&["config", "unset", "notice", "--json"]);
    assert!(unset["changed"] == true && unset["value"] != "off", "{unset}");
    let would = machine.json(&["config", "set", "notice", "off", "--json", "--dry-run"]);
    assert!(would["would"][0].as_str().unwrap().starts_with("set notice in "), "{would}");
    machine.write("home/work/.throughline/config.toml", "start_tokens = 321\n");
    machine.write("home/elsewhere/x", "");
    let get = ["config", "-C", "../work", "get", "start_tokens"];
    let mut command = machine.command(&get);
    let output = command.current_dir(machine.path("home/elsewhere")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "321\n", "{output:?}");
    assert_eq!(machine.run(&["config", "--no-llm", "get", "notice"]).code, 2);
}

#[test]
fn options_for_every_command_are_accepted_before_and_after_it() {
    let (machine, id) = bakery();
    for args in [&["list"][..], &["show", &id], &["search", "bread"], &["status"]] {
        let before = machine.json(&[&["--json"], args].concat());
        assert_eq!(before, machine.json(&[args, &["--json"]].concat()), "{args:?}");
        assert_eq!(before, machine.json(&[&["--json"], args, &["--json"]].concat()), "{args:?}");
    }
    let word = machine.json(&["--json", "search", "--", "bread", "--json"]);
    assert!(word["hits"].is_array(), "after `--` it is a word of the search: {word}");
    let words = ["--json", "search", "--", "bread"];
    assert_eq!(machine.json(&words)["hits"][0]["short"], id.as_str());
    let none = machine.run(&["--json", "completions", "bash"]);
    assert!(none.code == 2 && none.stderr.contains("--json"), "{}", none.whole());
    machine.write("home/work/file", "");
    let said = machine.run(&["-C", "file", "list"]);
    assert!(said.code == 2 && said.stderr.contains("is no folder"), "{}", said.whole());
}

#[test]
fn results_are_on_stdout_and_remarks_on_stderr() {
    let (machine, _) = bakery();
    for (args, code) in [
        (&["list", "--kind", "fix"][..], 1),
        (&["list", "--tag", "nosuch"], 1),
        (&["list", "--since", "2020-01-01", "--until", "2020-12-31"], 1),
        (&["list", "--path", "nosuch/"], 1),
        (&["list", "--forgotten"], 0),
        (&["search", "zeppelin"], 1),
        (&["search", "--all", "zeppelin"], 1),
        (&["blame", "nosuch.rs"], 1),
        (&["fixes", "zeppelin"], 1),
        (&["resume", "zeppelin"], 1),
        (&["log"], 0),
        (&["log", "--session", "9"], 1),
        (&["log", "--since", "3d"], 1),
        (&["why", "--session", "9"], 1),
        (&["timeline", "--until", "2020-01-01"], 1),
        (&["timeline", "--open"], 0),
        (&["review"], 0),
    ] {
        let said = machine.run(args);
        assert_eq!((said.code, &*said.stdout), (code, ""), "{args:?}\n{}", said.whole());
        assert!(!said.stderr.is_empty(), "{args:?}");
        let quiet = machine.run(&[args, &["-q"]].concat());
        assert_eq!((quiet.code, quiet.stdout, quiet.stderr), (code, String::new(), String::new()));
    }
}

#[test]
fn quiet_commands_print_no_progress_and_no_sums() {
    let machine = Machine::new();
    let session = "22222222-2222-4222-8222-222222222222";
    let path = format!("home/.claude/projects/-home-work/{session}.jsonl");
    machine.transcript(&path, session, "2026-10-01");
    for args in [
        &["init", "--yes", "--no-register", "-q"][..],
        &["sync", "-q"],
        &["sync", "--rebuild", "-q"],
        &["doctor", "--secrets", "-q"],
        &["share", "on", "-q"],
        &["trust", "--yes", "-q"],
        &["review", "--accept-all", "-q"],
        &["config", "set", "start_tokens", "700", "-q"],
    ] {
        let said = machine.run(args);
        assert_eq!((said.code, &*said.stdout, &*said.stderr), (0, "", ""), "{args:?}");
    }
    let all = machine.run(&["doctor"]);
    let problems = machine.run(&["doctor", "-q"]);
    assert!(all.stdout.contains("ok   ") && !problems.stdout.contains("ok   "), "{}", all.whole());
    assert_eq!(all.code, problems.code);
}

/// Runs a command whose output is on a full disk; returns the exit code and the error.
fn on_full_disk(machine: &Machine, args: &[&str]) -> (Option<i32>, String) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = machine.command(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let (machine, id) = bakery();
    for args in [
        &["--help"][..],
        &["--version"],
        &["help", "search"],
        &["list", "--help"],
        &["list"],
        &["show", &id, "--json"],
        &["config", "get", "start_tokens"],
        &["completions", "bash"],
        &["man"],
        &[],
    ] {
        let (code, stderr) = on_full_disk(&machine, args);
        assert!(code == Some(1) && stderr.contains("space"), "{args:?}: {code:?} {stderr}");
    }
}

#[test]
fn colours_of_help_and_errors_are_as_they_are_asked_for() {
    let machine = Machine::new();
    for args in [
        &["--color", "always", "--help"][..],
        &["--color=always", "list", "--help"],
        &["list", "--color", "always", "-h"],
    ] {
        assert!(machine.ok(args).contains("\u{1b}["), "{args:?}");
    }
    let said = machine.run(&["--color", "always", "searhc"]);
    assert!(said.stderr.contains("\u{1b}["), "{}", said.whole());
    let machine = machine.with("CLICOLOR_FORCE", "1");
    for args in [&["--color", "never", "--help"][..], &["list", "--color=never", "--knd"]] {
        let said = machine.run(args);
        assert!(!said.whole().contains('\u{1b}'), "{args:?}: {}", said.whole());
    }
}

/// Fields that every memory in JSON output has.
const FIELDS: [&str; 6] = ["id", "short", "kind", "title", "body", "created"];

#[test]
fn a_memory_has_the_same_fields_in_every_answer() {
    let (machine, id) = bakery();
    let listed = machine.json(&["list", "--json"])[0].clone();
    assert!(FIELDS.iter().all(|field| !listed[field].is_null()), "{listed:#}");
    let found = machine.json(&["search", "bread", "--json"])["hits"][0].clone();
    let shown = machine.json(&["show", &id, "--json"])[0].clone();
    let why = machine.json(&["why", &id, "--json"]);
    for (name, other) in [("search", &found), ("show", &shown), ("why", &why)] {
        for (field, value) in listed.as_object().unwrap() {
            assert_eq!(&other[field], value, "{name}: {field}");
        }
    }
    assert!(found["text"].is_null() && found["date"].is_null(), "{found:#}");
    machine.receipt(&serde_json::json!({ "at": "2026-10-01T10:01:00Z", "event": "SessionStart",
        "session": "s", "tokens": 40, "memories": [{ "id": listed["id"], "why": "", "score": 1.0 }] }));
    for command in ["log", "why"] {
        let given = machine.json(&[command, "--json"])[0]["memories"][0].clone();
        for field in ["id", "short", "kind", "title"] {
            assert_eq!(given[field], listed[field], "{command}: {given:#}");
        }
    }
    let tried = machine.json(&["why", "how is bread baked?", "--json"]);
    assert_eq!(tried["candidates"][0]["short"], listed["short"], "{tried:#}");
    let gone = machine.json(&["forget", &id, "--json"])[0].clone();
    let tombstone = machine.json(&["list", "--forgotten", "--json"])[0].clone();
    for field in ["id", "short", "title"] {
        assert_eq!((&gone[field], &tombstone[field]), (&listed[field], &listed[field]), "{field}");
    }
}

#[test]
fn a_turn_has_its_time_under_the_same_name_in_every_answer() {
    let machine = learned();
    let found = machine.json(&["search", "--turns", "floats", "--json"])["hits"][0].clone();
    let shown = machine.json(&["show", found["short"].as_str().unwrap(), "--json"])[0].clone();
    assert!(found["at"].is_string() && found["date"].is_null(), "{found:#}");
    assert!(shown["at"].is_string() && shown["date"].is_null(), "{shown:#}");
}

#[test]
fn every_command_with_a_date_accepts_the_same_forms() {
    let (machine, _) = bakery();
    const TIMES_OF_DAY: [&str; 3] = ["2026-10-01T09:30:00Z", "2026-10-01T11:30:00+02:00", "12h"];
    let forms = [
        "2026-10-01",
        "2026-10-01T09:30:00Z",
        "2026-10-01T11:30:00+02:00",
        "last week",
        "yesterday",
        "3d",
        "2w",
        "12h",
        "2 weeks ago",
        "in March",
        "monday",
    ];
    let commands: [&[&str]; 5] = [
        &["search", "bread", "--since"],
        &["list", "--since"],
        &["timeline", "--since"],
        &["log", "--since"],
        &["purge", "--dry-run", "--before"],
    ];
    for args in commands {
        // The time for a deletion must be whole days, so times of day are omitted.
        let is_deletion = args[0] == "purge";
        for form in forms.into_iter().filter(|form| !is_deletion || !TIMES_OF_DAY.contains(form)) {
            let said = machine.run(&[args, &[form]].concat());
            assert!(matches!(said.code, 0 | 1), "{args:?} {form}: {}", said.whole());
        }
        let said = machine.run(&[args, &["soon"]].concat());
        assert!(
            said.code == 2 && said.stderr.contains("\"last week\""),
            "{args:?}: {}",
            said.whole()
        );
    }
    // The options mean the same as filters in the query.
    assert_eq!(
        machine.json(&["search", "bread", "--since", "3d", "--json"])["hits"][0]["short"],
        machine.json(&["search", "bread since:3d", "--json"])["hits"][0]["short"],
    );
    assert_eq!(machine.run(&["list", "--until", "3d"]).code, 1, "it was added today");
    assert!(machine.ok(&["list", "--since", "2h"]).contains("Bread"));
}

#[test]
fn a_purge_requires_whole_days_with_a_beginning_and_an_end() {
    let machine = learned();
    for (form, problem) in [
        ("6m", "`6m` is a time of day"),
        ("6 m", "is a time of day"),
        ("12h", "is a time of day"),
        ("90 minutes ago", "is a time of day"),
        ("2026-10-01T09:30:00Z", "is a time of day"),
        ("after 2026-10-01", "has no end"),
        ("since last week", "has no end"),
        ("before 2026-10-01", "has no beginning"),
        ("until yesterday", "has no beginning"),
    ] {
        let said = machine.run(&["purge", "--before", form, "--yes"]);
        assert_eq!(said.code, 2, "{form}: {}", said.whole());
        assert!(
            said.stderr.contains(problem) && said.stderr.contains("6mo"),
            "{form}: {}",
            said.stderr
        );
    }
    machine.ok(&["show", "11111111:1"]);
    // The question contains the exact moment.
    let told = machine.with("TZ", "<+12>-12").ok(&["purge", "--before", "2026-06-02", "--dry-run"]);
    assert!(told.contains("archived before 2026-06-02 00:00 +12:00"), "{told}");
}

#[test]
fn dates_of_options_are_days_of_the_time_zone() {
    let (machine, _) = bakery();
    // The memory was added on 2026-10-02 at 09:30 in UTC.
    let lists = |args: &[&str], zone: &str, now: &str| {
        machine
            .run_with(&[&["list"], args].concat(), &[("TZ", zone), ("THROUGHLINE_NOW", now)])
            .stdout
            .contains("Bread")
    };
    let (east, west, utc) = ("<+13>-13", "<-10>10", "UTC");
    for (args, zone, now, expected) in [
        (["--since", "today"], east, "2026-10-02T10:30:00Z", true),
        (["--since", "today"], east, "2026-10-02T12:00:00Z", false),
        (["--since", "today"], utc, "2026-10-02T12:00:00Z", true),
        (["--until", "yesterday"], east, "2026-10-02T12:00:00Z", true),
        (["--until", "2026-10-01"], west, "2026-10-02T12:00:00Z", true),
        (["--until", "2026-10-01"], utc, "2026-10-02T12:00:00Z", false),
        // Points in time do not depend on the time zone.
        (["--since", "2h"], east, "2026-10-02T11:00:00Z", true),
        (["--since", "1h"], east, "2026-10-02T11:00:00Z", false),
        (["--since", "2026-10-02T09:00:00Z"], west, "2026-10-02T12:00:00Z", true),
        (["--since", "2026-10-02T09:00:00-01:00"], west, "2026-10-02T12:00:00Z", false),
    ] {
        assert_eq!(lists(&args, zone, now), expected, "{args:?} {zone} {now}");
    }
}

#[test]
fn an_option_without_its_end_of_a_time_is_refused() {
    let (machine, _) = bakery();
    for command in [&["search", "bread"][..], &["list"], &["timeline"], &["log"]] {
        for (option, form) in [("--until", "since 2026-01-01"), ("--since", "before 2026-01-01")] {
            let said = machine.run(&[command, &[option, form]].concat());
            assert_eq!(said.code, 2, "{command:?} {option}: {}", said.whole());
            assert!(said.stderr.contains(option) && said.stderr.contains(form), "{}", said.stderr);
        }
    }
    assert_eq!(machine.run(&["list", "--until", "before 2026-01-01"]).code, 1);
}

#[test]
fn a_kind_is_accepted_by_each_of_its_names() {
    let (machine, _) = bakery();
    machine.ok(&["add", "Write the price list", "-k", "TODO"]);
    for name in ["task", "todo", "Task"] {
        assert!(machine.ok(&["list", "--kind", name]).contains("price list"), "{name}");
    }
    for name in ["architecture", "Fix", "failed_approach", "failed-approach"] {
        let said = machine.run(&["search", "bread", "--kind", name]);
        assert!(matches!(said.code, 0 | 1), "{name}: {}", said.whole());
    }
    let said = machine.run(&["list", "--kind", "decisoin"]);
    assert!(said.code == 2 && said.stderr.contains("decision"), "{}", said.whole());
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let (machine, _) = bakery();
    for args in [
        &["list", "--forgotten", "--all"][..],
        &["list", "-q", "-v"],
        &["-q", "list", "-v"],
        &["search", "bread", "--since", "2026-12-01", "--until", "2025-01-01"],
        &["list", "--since", "yesterday", "--until", "last week"],
        &["list", "--pick", "--since", "3d"],
    ] {
        let said = machine.run(args);
        assert!(said.code == 2 && said.stdout.is_empty(), "{args:?}: {}", said.whole());
    }
}

#[test]
fn an_unclear_id_names_the_memories_or_the_least_length() {
    let (machine, _) = bakery();
    let mut bytes = [1; 16];
    let now = Timestamp::parse(crate::common::NOW).unwrap();
    let short = MemoryId(bytes).short();
    for title in ["Rolls are sweet", "Bagels are boiled"] {
        bytes[2] += 1;
        let memory = Memory::new(MemoryId(bytes), Kind::Fact, title, "It is so.", now);
        let file = MemoryFile::new(memory).unwrap();
        machine.write(&format!("home/work/.throughline/memories/{title}.md"), file.text());
    }
    for args in [&["show", &short][..], &["forget", &short], &["edit", &short, "--pin"]] {
        let said = machine.run(args);
        assert_eq!(said.code, 3, "{args:?}: {}", said.whole());
        for title in ["Rolls are sweet", "Bagels are boiled"] {
            assert!(said.stderr.contains(title), "{args:?}: {}", said.whole());
        }
    }
    let said = machine.run(&["show", &short[3..]]);
    assert!(said.code == 3 && said.stderr.contains("last 4 characters"), "{}", said.whole());
    assert!(machine.ok(&["list"]).contains("Bagels are boiled"), "nothing was done");
}

#[test]
fn help_suggests_topics_and_lists_kinds() {
    let machine = Machine::new();
    let said = machine.run(&["help", "searhc"]);
    assert!(said.code == 2 && said.stderr.contains("'search'"), "{}", said.whole());
    let said = machine.run(&["help", "config", "gte"]);
    assert!(said.code == 2 && said.stderr.contains("'get'"), "{}", said.whole());
    for command in ["list", "search", "add", "edit"] {
        for help in ["-h", "--help"] {
            let text =
                machine.ok(&[command, help]).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                text.contains("failed-approach, task, session, synthesis"),
                "{command}: {text}"
            );
        }
    }
    let help = machine.ok(&["--help"]);
    for name in ["VISUAL", "CLICOLOR", "CLICOLOR_FORCE", "NO_PAGER", "TZ", "CI,"] {
        assert!(help.contains(name), "{name}: {help}");
    }
}

#[test]
fn a_shell_completes_sessions_tags_and_values() {
    let machine = learned();
    machine.ok(&["add", "Bread is baked in the oven", "-t", "baking"]);
    let complete = |words: &[&str]| {
        let args = [&["--", "throughline"], words].concat();
        machine.run_with(&args, &[("THROUGHLINE_COMPLETE", "fish")]).stdout
    };
    for command in ["search", "purge", "log", "why"] {
        assert!(complete(&[command, "--session", ""]).contains("11111111"), "{command}");
    }
    for command in [&["list", "--tag"][..], &["search", "-t"], &["add", "x", "--tag"]] {
        assert!(complete(&[command, &[""]].concat()).contains("baking"), "{command:?}");
    }
    assert_eq!(complete(&["list", "--kind", "dec"]).split_whitespace().next(), Some("decision"));
    let notice = complete(&["config", "set", "notice", ""]);
    assert!(["off", "first", "each"].iter().all(|value| notice.contains(value)), "{notice}");
    let review = complete(&["config", "set", "review", ""]);
    assert!(review.contains("true") && review.contains("false"), "{review}");
    assert!(complete(&["config", "set", "redact.private.email", ""]).contains("mask"));
}

/// Returns the completions that bash offers after the words of a command line.
fn offered_by_bash(machine: &Machine, words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (line, at) = (quoted.join(" "), words.len() - 1);
    machine.write(
        "script",
        &format!(
            "source <(throughline completions bash)\nCOMP_WORDS=({line}); COMP_CWORD={at}; COMP_TYPE=9\n\
             _clap_complete_throughline throughline '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words[at],
            words[at - 1]
        ),
    );
    let command = machine.command(&[]);
    let mut bash = std::process::Command::new("bash");
    bash.arg(machine.path("script")).current_dir(machine.work()).env_clear();
    bash.envs(
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
    );
    bash.env("PATH", format!("{}:/usr/bin:/bin", machine.path("bin").display()));
    String::from_utf8(bash.output().unwrap().stdout).unwrap()
}

#[test]
fn a_shell_gets_no_tag_that_it_would_interpret() {
    let (machine, _) = bakery();
    let memories = machine.work().join(".throughline/memories");
    let file = std::fs::read_dir(memories).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    let tags = [
        "zz$(touch X)",
        "zz`touch X`",
        "zz;touch",
        "zz\\u001b[2J",
        "zz\\ntouch X",
        "zz-plain",
        &"z".repeat(4000),
    ];
    let tags: String = tags.iter().map(|tag| format!("  - \"{tag}\"\n")).collect();
    // The title of the memory is the help text of its id.
    let text = text.replace("  - baking\n", &tags).replace("Bread is", "Bread \u{1b}]0;x\u{7} is");
    std::fs::write(file, text).unwrap();
    assert!(machine.ok(&["list"]).contains("Bread"), "the file is valid");
    for shell in ["bash", "fish", "zsh"] {
        let complete = |words: &[&str]| {
            let index = (words.len()).to_string();
            let args = [&["--", "throughline"], words].concat();
            let variables = [
                ("THROUGHLINE_COMPLETE", shell),
                ("_CLAP_COMPLETE_INDEX", &*index),
                ("_CLAP_IFS", "\n"),
            ];
            machine.run_with(&args, &variables).stdout
        };
        let offered = complete(&["list", "--tag", "z"]);
        let values: Vec<&str> = offered.lines().collect();
        assert_eq!(values, ["zz-plain"], "{shell}");
        let ids = complete(&["show", ""]);
        assert!(
            ids.lines().next().is_some() && !ids.contains(['\u{1b}', '\u{7}']),
            "{shell}: {ids:?}"
        );
    }
    assert_eq!(offered_by_bash(&machine, &["throughline", "list", "--tag", "zz"]), "zz-plain\n");
}

#[test]
fn many_problems_of_settings_are_a_few_lines() {
    let (machine, _) = bakery();
    let many: String = (0..2000).map(|number| format!("unknown{number} = 1\n")).collect();
    machine.write("home/work/.throughline/config.toml", &many);
    let said = machine.run(&["list"]);
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert!(
        lines.len() == 1
            && lines[0].contains("2000 values")
            && lines[0].contains("`throughline config`"),
        "{}",
        said.stderr
    );
    // Grave warnings about the user's own file are always printed.
    machine.write(CONFIG, &format!("{many}review = 7\npulled = 1\nignore_paths = 2\nnames = 3\n"));
    let said = machine.run(&["list"]);
    let count = |label: &str| said.stderr.lines().filter(|line| line.starts_with(label)).count();
    assert_eq!((count("wrong:"), count("ignored:")), (4, 2), "{}", said.stderr);
    assert!(said.stderr.contains("ignored: 2000 more (`throughline config`)"), "{}", said.stderr);
    machine.write(CONFIG, &many);
    let said = machine.run(&["list"]);
    assert!(
        said.stderr.contains("unknown0:") && said.stderr.contains("1997 more"),
        "{}",
        said.stderr
    );
    assert_eq!(machine.run(&["list", "-q"]).stderr, "");
    let said = machine.run(&["config"]).stderr;
    assert!(said.lines().count() == 21 && said.contains("3980 more"), "{said}");
}

#[test]
fn a_time_without_events_is_a_search_without_results() {
    let machine = learned();
    let of_no_day = ["--since", "2020-01-01", "--until", "2020-01-02"];
    for (args, remark) in [
        (&["timeline"][..], "Nothing happened in this time."),
        (&["timeline", "--open"], "open in this time."),
        (&["timeline", "--by", "agent"], "Nothing happened in this time in such sessions."),
    ] {
        let said = machine.run(&[args, &of_no_day].concat());
        assert!(said.code == 1 && said.stderr.contains(remark), "{args:?}: {}", said.whole());
        let said = machine.run(&[args, &of_no_day, &["--json"]].concat());
        assert_eq!((said.code, said.stdout.trim()), (1, "[]"), "{args:?}: {}", said.whole());
    }
    let said = machine.run(&[&["timeline", "--handoff"], &of_no_day[..]].concat());
    assert!(said.code == 1 && said.stdout.is_empty(), "{}", said.whole());
    assert_eq!(machine.run(&["timeline", "--since", "2020-01-01"]).code, 0);
}

#[test]
fn nothing_is_wider_than_a_narrow_terminal() {
    let (machine, id) = bakery();
    let title = "\u{5bff}\u{53f8}".repeat(24);
    machine.ok(&["add", &title]);
    let width =
        |line: &str| -> usize { line.chars().map(|c| if c >= '\u{2e80}' { 2 } else { 1 }).sum() };
    for args in [
        &["--help"][..],
        &["list", "--help"],
        &["list"],
        &["show", &id],
        &["search", "bread"],
        &["status"],
        &["timeline"],
        &["list", "--knd"],
        &["list", "--tag", "nosuch"],
        &["show", "zzzzzz"],
        &[],
    ] {
        let shown = strip(&machine.on_screen(&[args, &["--no-pager"]].concat(), 40));
        for line in shown.lines() {
            // A line may be longer if it is a single word, with its label.
            let is_word = line.split_whitespace().count() <= 2;
            assert!(width(line.trim_end()) <= 40 || is_word, "{args:?}: {line:?}\n{shown}");
        }
    }
    let listed = strip(&machine.on_screen(&["config", "--no-pager"], 40));
    let long: Vec<&str> = listed.lines().filter(|line| width(line) > 40).collect();
    assert!(long.iter().all(|line| line.split_whitespace().count() <= 2), "{long:?}");
}

#[test]
fn output_in_a_pipe_is_not_truncated() {
    let machine = learned();
    let title = format!("Bread is {} baked in the oven of the harbour", "very ".repeat(20));
    machine.ok(&["add", &title]);
    for args in [&["timeline"][..], &[]] {
        let said = machine.ok(args);
        assert!(said.contains("oven of the harbour"), "{args:?}: {said}");
    }
    let json: Value = machine.json(&["timeline", "--json"]);
    assert!(json.to_string().contains("oven of the harbour"));
}
