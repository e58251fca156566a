//! Habits of command-line tools: help, examples, colours, pager, settings one by one. docs/habits.md is made here.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::{Machine, strip};
use crate::daily::learned;

/// Lines of a screen.
const SCREEN_LINES: usize = 50;

/// All commands, as `--help` lists them in two columns.
fn commands(machine: &Machine) -> Vec<String> {
    let help = machine.ok(&["--help"]);
    let (_, listed) = help.split_once("Every day:\n").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    let lines = listed.lines().filter(|line| line.starts_with("  "));
    let names = lines.flat_map(|line| [line.get(2..14), line.get(40..52)]).flatten();
    names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_help_is_one_screen() {
    let machine = Machine::new();
    let commands = commands(&machine);
    assert!(commands.len() > 35, "{commands:?}");
    let helps = commands.iter().map(|name| machine.ok(&[name, "--help"]));
    for help in helps.chain([machine.ok(&["--help"])]) {
        assert!(help.lines().count() <= SCREEN_LINES, "{help}");
    }
    assert_eq!(machine.ok(&["add", "-h"]), machine.ok(&["add", "--help"]));
    let nested = machine.ok(&["config", "llm", "ollama", "--help"]);
    assert!(nested.contains("The model; without, the first one"), "{nested}");
}

/// Runs an example as a shell does; returns its exit code and what it said.
fn example(machine: &Machine, line: &str) -> (i32, String) {
    let mut command = machine.command(&[]);
    let path = format!("{}:/usr/bin:/bin", machine.path("bin").display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).current_dir(machine.work()).env_clear();
    shell.envs(
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
    );
    command.env("PATH", &path);
    shell.env("PATH", &path).stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), said)
}

/// Commands whose examples change what the examples of others need.
const CHANGING: [&str; 9] =
    ["forget", "restore", "uninstall", "purge", "off", "init", "link", "trust", "edit"];

fn stand() -> (Machine, String) {
    let machine = learned();
    machine.write("home/work/notes.txt", "Bread is baked at night.\n");
    machine.write("home/work/src/price.rs", "");
    machine.program("claude", "#!/bin/sh\n");
    let id = machine.json(&["add", "Bread is baked in the oven", "--json"])["short"].clone();
    (machine, id.as_str().unwrap().to_owned())
}

#[test]
fn every_example_of_the_help_runs() {
    let shared = stand();
    for name in commands(&shared.0) {
        let own = CHANGING.contains(&&*name).then(stand);
        let (machine, id) = own.as_ref().unwrap_or(&shared);
        let help = machine.ok(&[&name, "--help"]);
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{help}"));
        let examples: Vec<&str> =
            examples.lines().map_while(|line| line.strip_prefix("  ")).collect();
        assert_eq!(examples.len(), 2, "{help}");
        for line in examples {
            assert!(line.starts_with(&format!("throughline {name}")), "{line}");
            if name == "restore" {
                machine.ok(&["forget", id]);
            }
            // It never ends by itself.
            let watches = if name == "watch" { "timeout 1 " } else { "" };
            let (code, said) =
                example(machine, &format!("{watches}{}", line.replace("96tfds", id)));
            let expected: &[i32] = match &*name {
                "watch" => &[124],
                // These may find nothing here.
                "search" | "fixes" | "resume" => &[0, 1],
                // The programs beside it are scripts here.
                "doctor" => &[0, 6],
                "selftest" => &[6],
                _ => &[0],
            };
            assert!(expected.contains(&code), "{line}: {code}\n{said}");
        }
    }
}

#[test]
fn other_names_do_the_same() {
    let (machine, id) = stand();
    assert_eq!(machine.ok(&["recall", "bread"]), machine.ok(&["search", "bread"]));
    assert!(machine.ok(&["remember", "Rolls are baked at noon"]).starts_with("Added "));
    assert!(machine.ok(&["rm", &id]).starts_with("Put aside "));
    assert!(machine.ok(&["forget", "--help"]).contains("Also called: throughline rm\n"));
}

#[test]
fn a_dry_run_of_forget_changes_nothing() {
    let (machine, id) = stand();
    let said = machine.ok(&["forget", &id, "--dry-run"]);
    assert_eq!(said, format!("Would put aside {id} Bread is baked in the oven.\n"));
    let said = machine.ok(&["forget", &id, "--dry-run", "--delete"]);
    assert!(said.starts_with("Would delete "), "{said}");
    assert_eq!(machine.json(&["forget", &id, "--dry-run", "--json"])[0]["short"], id.as_str());
    assert!(machine.ok(&["list"]).contains(&id));
}

#[test]
fn colours_are_as_they_are_asked_for() {
    let (machine, _) = stand();
    assert!(!machine.ok(&["list"]).contains('\u{1b}'));
    assert!(machine.ok(&["list", "--color", "always"]).contains("\u{1b}["));
    assert!(machine.on_screen(&["list", "--no-pager"], 80).contains("\u{1b}["));
    assert!(!machine.on_screen(&["list", "--color=never", "--no-pager"], 80).contains("\u{1b}["));
    assert_eq!(machine.run(&["list", "--color", "sometimes"]).code, 2);
}

#[test]
fn quiet_leaves_answers_and_errors_and_verbose_says_where_it_looked() {
    let (machine, id) = stand();
    assert_eq!(machine.ok(&["add", "Rolls are baked at noon", "-q"]), "");
    assert!(machine.ok(&["list", "-q"]).contains("Rolls are baked at noon"));
    assert_eq!(machine.ok(&["-q", "forget", &id]), "");
    let said = machine.run(&["-q", "forget", &id]);
    assert!(said.code == 1 && said.stderr.contains("put aside already"), "{}", said.whole());
    let json = machine.ok(&["add", "Bagels are boiled", "-q", "--json"]);
    assert!(json.starts_with('{'), "JSON is an answer: {json}");
    let said = machine.run(&["status", "-v"]);
    assert_eq!(said.stdout, machine.ok(&["status"]));
    for row in
        ["project   /home/work\n", "settings  /home/.config/throughline/config.toml\n", "took "]
    {
        assert!(said.stderr.contains(row), "{}", said.whole());
    }
}

#[test]
fn long_output_goes_to_the_pager_of_the_user() {
    let (machine, _) = stand();
    for number in 0..30 {
        machine.ok(&["add", &format!("Oven number {number} is hot"), "--both"]);
    }
    // Where a pager got it, each line says so.
    let machine = machine.with("PAGER", "sed 's/^/PAGED /'");
    let paged = |args: &[&str]| strip(&machine.on_screen(args, 80)).contains("PAGED ");
    assert!(paged(&["list"]));
    assert!(!paged(&["list", "-n", "3"]), "it fits the screen");
    assert!(!paged(&["list", "--no-pager"]));
    assert!(!machine.ok(&["list"]).contains("PAGED"), "no terminal");
    let whole = strip(&machine.on_screen(&["list"], 80));
    assert_eq!(whole.matches("PAGED ").count(), whole.lines().count(), "{whole}");
    let machine = machine.with("NO_PAGER", "1");
    assert!(!strip(&machine.on_screen(&["list"], 80)).contains("PAGED "));
    // One that is not there costs nothing.
    let machine = machine.with("NO_PAGER", "").with("PAGER", "no-such-pager");
    assert!(strip(&machine.on_screen(&["list"], 80)).contains("Oven number 7 is hot"));
}

#[test]
fn settings_are_read_and_set_one_by_one() {
    let machine = Machine::new();
    let file = "home/.config/throughline/config.toml";
    let start = machine.ok(&["config", "get", "start_tokens"]);
    assert!(start.trim().parse::<u32>().is_ok(), "{start}");
    machine.write(file, "# mine\nnotice = \"off\" # quiet\n");
    machine.ok(&["config", "set", "start_tokens", "700"]);
    machine.ok(&["config", "set", "redact.harmless", "[\"bread\"]"]);
    assert_eq!(
        machine.read(file),
        "# mine\nnotice = \"off\" # quiet\nstart_tokens = 700\n\n[redact]\nharmless = [\"bread\"]\n"
    );
    assert_eq!(machine.ok(&["config", "get", "start_tokens"]), "700\n");
    assert_eq!(machine.json(&["config", "get", "redact.harmless", "--json"])[0], "bread");
    machine.ok(&["config", "unset", "redact"]);
    assert_eq!(machine.run(&["config", "get", "llm"]).code, 1);
    let before = machine.read(file);
    for (args, code) in [
        (&["config", "set", "start_tokens", "many"][..], 2),
        (&["config", "set", "start_tokens", "-5"], 2),
        (&["config", "set", "nonsense", "1"], 3),
        (&["config", "get", "nonsense"], 3),
        (&["config", "unset", "nonsense"], 3),
        (&["config", "set", "notice.deeper", "1"], 2),
        (&["config", "set", "start_tokens", "900", "--dry-run"], 0),
    ] {
        let said = machine.run(args);
        assert_eq!(said.code, code, "{args:?}\n{}", said.whole());
        assert_eq!(machine.read(file), before, "{args:?}");
    }
    machine.write(file, "alpha = \n");
    assert_eq!(machine.run(&["config", "set", "start_tokens", "700"]).code, 5);
    assert_eq!(machine.read(file), "alpha = \n");
}

#[test]
fn the_settings_file_is_edited_and_checked() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["config", "edit"]).code, 2);
    machine.program("ed-good", "#!/bin/sh\necho 'start_tokens = 700' > \"$1\"\n");
    machine.program("ed-bad", "#!/bin/sh\necho 'start_tokens = []' > \"$1\"\n");
    let editor = |name: &str| machine.path("bin").join(name).display().to_string();
    let said = machine.run_with(&["config", "edit"], &[("EDITOR", &editor("ed-good"))]);
    assert!(said.code == 0 && said.stdout.contains("config.toml is valid."), "{}", said.whole());
    assert_eq!(machine.ok(&["config", "get", "start_tokens"]), "700\n");
    let said = machine.run_with(&["config", "edit"], &[("EDITOR", &editor("ed-bad"))]);
    assert!(said.code == 5 && said.stderr.contains("start_tokens"), "{}", said.whole());
}

#[test]
fn the_schema_knows_every_setting_and_no_value_of_the_user() {
    let machine = Machine::new();
    machine.write("home/.config/throughline/config.toml", "start_tokens = 777\n");
    let schema = machine.json(&["config", "schema"]);
    let properties = schema["properties"].as_object().unwrap();
    let all = machine.json(&["config", "--json"]);
    let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
    known.sort_unstable();
    let mut keys: Vec<&str> =
        all.as_array().unwrap().iter().map(|line| line["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(known, keys);
    assert_eq!(properties["start_tokens"]["type"], "integer");
    assert_ne!(properties["start_tokens"]["default"], 777);
}

/// A habit, the command that shows it, its exit code, and a part of what it says; `ID` stands for a memory.
const HABITS: [(&str, &[&str], i32, &str); 33] = [
    ("One screen without a command", &[], 0, "Next  "),
    ("Help everywhere", &["timeline", "--help"], 0, "Usage: throughline timeline"),
    ("Commands in groups", &["--help"], 0, "What it did:\n"),
    ("Two examples in every help", &["search", "--help"], 0, "Examples:\n"),
    ("Environment variables in the help", &["--help"], 0, "Environment:\n"),
    ("Exit codes in the help", &["--help"], 0, "Exit codes: "),
    ("The version, with its commit", &["--version"], 0, "throughline 0."),
    ("Did you mean", &["serach"], 2, "'search'"),
    ("Errors with a hint", &["link", "/nowhere"], 3, "throughline: "),
    ("Exit code 1 where a search finds nothing", &["search", "zeppelin"], 1, "Nothing found."),
    ("JSON", &["stats", "--json"], 0, "\"by_month\""),
    ("Times from now where recent", &["log"], 0, "yesterday 10:01"),
    ("RFC 3339 in JSON", &["log", "--json"], 0, "\"2026-10-01T10:01:00Z\""),
    ("Short other names", &["rm", "ID", "--dry-run"], 0, "Would put aside"),
    ("Dry run", &["forget", "ID", "--dry-run"], 0, "Would put aside"),
    ("Undo", &["restore", "--help"], 0, "Usage: throughline restore"),
    ("Destructive commands ask, or take --yes", &["purge", "--session", "1111"], 1, "--yes"),
    ("Colours on demand", &["list", "--color", "always"], 0, "\u{1b}["),
    ("Plain text in pipes", &["list"], 0, "Bread is baked"),
    ("A pager, and none on demand", &["list", "--no-pager"], 0, "Bread is baked"),
    ("Quiet", &["add", "Rolls are baked at noon", "-q"], 0, ""),
    ("Verbose", &["status", "-v"], 0, "took "),
    ("Another folder", &["-C", ".", "list"], 0, "Bread is baked"),
    ("Read a setting", &["config", "get", "notice"], 0, ""),
    ("Set one", &["config", "set", "start_tokens", "700"], 0, "Set start_tokens"),
    ("Unset one", &["config", "unset", "start_tokens"], 0, "Unset start_tokens"),
    ("A schema of the settings", &["config", "schema"], 0, "\"properties\""),
    ("The origin of each setting", &["config"], 0, "# default"),
    ("A full-screen browser, plain in pipes", &["browse"], 0, "Here is no terminal"),
    ("A list to choose from where no id is given", &["show"], 2, "At a terminal"),
    ("Completions", &["completions", "fish"], 0, "complete -c throughline"),
    ("A status line", &["statusline"], 0, "throughline: "),
    ("Doctor", &["doctor", "--help"], 0, "Checks every link"),
];

#[test]
fn the_page_of_habits_is_what_the_program_does() {
    let (machine, id) = stand();
    machine.receipt(&serde_json::json!({ "at": "2026-10-01T10:01:00Z", "event": "SessionStart",
        "session": "s", "tokens": 40, "memories": [] }));
    let mut page = "# Habits\n\nWhat `throughline` does as people know it from other tools, with a command that shows \
        it.\nA test runs each and writes this page (`THROUGHLINE_WRITE_DOCS=1`).\n\n| habit | command | exit code |\n|--|--|--|\n"
        .to_owned();
    for (habit, args, code, part) in HABITS {
        let typed: Vec<&str> =
            args.iter().map(|&arg| if arg == "ID" { &*id } else { arg }).collect();
        let said = machine.run(&typed);
        assert_eq!(said.code, code, "{habit}\n{}", said.whole());
        assert!((said.stdout.clone() + &said.stderr).contains(part), "{habit}\n{}", said.whole());
        let quoted = args
            .iter()
            .map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).to_owned() });
        let line = [String::from("throughline")].into_iter().chain(quoted).collect::<Vec<_>>();
        writeln!(page, "| {habit} | `{}` | {code} |", line.join(" ")).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/habits.md");
    if std::env::var_os("THROUGHLINE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page);
}

#[test]
fn the_version_names_the_commit_where_there_is_one() {
    let said = Machine::new().ok(&["--version"]);
    let (version, commit) =
        said.trim().split_at("throughline ".len() + env!("CARGO_PKG_VERSION").len());
    assert_eq!(version, format!("throughline {}", env!("CARGO_PKG_VERSION")));
    let is_commit = |commit: &str| commit.starts_with(" (") && commit.ends_with(')');
    assert!(commit.is_empty() || is_commit(commit), "{said}");
}
