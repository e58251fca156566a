//! Messages of commands are correct, name the things concerned, and contain a remedy.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::common::{Machine, strip};

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";
const CONFIG: &str = "home/.config/throughline/config.toml";

fn ready() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

fn learned() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

/// The project's private folder.
fn project(machine: &Machine) -> PathBuf {
    let projects = machine.path("home/.local/share/throughline/projects");
    fs::read_dir(projects).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_purge_reports_the_number_of_sessions_and_the_command_to_continue() {
    let machine = learned();
    let told = machine.ok(&["purge", "--before", "2026-12-01", "--dry-run"]);
    assert!(told.contains("before 2026-12-01 00:00 +00:00, of 1 session."), "{told}");
    let shown = strip(&machine.on_screen(&["purge", "--everything", "--dry-run"], 80));
    assert!(shown.contains("archive of 1 session"), "{shown}");
    // A file of unknown origin in a private folder still contains the text.
    let wish = "From now on, never use floats for money: always keep amounts as integer cents.";
    fs::write(
        project(&machine).join("left.txt"),
        format!("{wish} Fix the rounding in src/price.rs.\n"),
    )
    .unwrap();
    let said = machine.run(&["purge", "--session", "1111", "--yes"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    let again = format!("throughline purge --session {SESSION}");
    assert!(said.stderr.contains(&again), "{}", said.whole());
    machine.ok(&["purge", "--session", SESSION, "--yes"]);
}

#[test]
fn a_long_question_is_broken_at_words() {
    let machine = learned();
    let shown =
        strip(&machine.at_terminal_of(80, &["purge", "--before", "2026-12-01"], &[("[y/N]", "y")]));
    let (asked, _) = shown.split_once(" [y/N]").unwrap();
    assert!(asked.ends_with("of 1 session?"), "{shown}");
    assert_eq!(asked.lines().find(|line| line.chars().count() > 80), None, "{shown}");
}

#[test]
fn answers_for_reading_fit_the_terminal() {
    let machine = learned();
    let shown = strip(&machine.on_screen(&["pack"], 60));
    assert_eq!(shown.lines().find(|line| line.chars().count() > 60), None, "{shown}");
}

#[test]
fn a_plan_names_the_files_of_extras_and_of_drafts() {
    let machine = Machine::new();
    let plan = ["init", "--dry-run", "--drafts", "--with", "skill,agents,rules,merge-driver"];
    let told = machine.ok(&plan);
    let files = [
        "~/.claude/skills/throughline/SKILL.md",
        "~/work/AGENTS.md",
        "~/work/.gitattributes",
        "~/work/.git/config",
        "`review = true` in ~/.config/throughline/config.toml, for all your projects",
    ];
    for file in files {
        assert!(told.contains(file), "{file}: {told}");
    }
    let told = machine.json(&[&plan[..], &["--json"]].concat());
    assert_eq!(told["extras"].as_array().unwrap().len(), 5, "{told}");
    let said = machine.ok(&["init", "--yes", "--no-register", "--drafts"]);
    assert!(said.contains("config.toml, for all your projects"), "{said}");
}

#[test]
fn a_host_is_refused_until_the_user_agrees_to_it() {
    let machine = ready();
    for (host, name, consent) in [
        ("http://example.com", "example.com:80", &[][..]),
        ("http://example.com", "example.com:80", &["--consent", "other.com"]),
        ("notaurl", "notaurl", &["--dry-run"]),
    ] {
        let args = [&["config", "llm", "openai", "m", "--host", host], consent].concat();
        let said = machine.run(&args);
        assert_eq!(said.code, 1, "{}", said.whole());
        assert!(said.stderr.contains(&format!("--consent {name}")), "{}", said.whole());
    }
    assert!(machine.run(&["config", "llm", "ollama", "m", "--host", "a.example"]).code == 1);
    assert!(!machine.path(CONFIG).exists());
    machine.ok(&["config", "llm", "openai", "m", "--host", "a.example", "--consent", "a.example"]);
}

#[test]
fn the_trouble_of_another_host_is_not_reported() {
    let machine = ready();
    machine.write(CONFIG, "[llm]\nprovider = \"openai\"\nmodel = \"m\"\nhost = \"localhost:1\"\n");
    let trouble = json!({ "provider": "openai/m", "host": "localhost:1", "why": "no route",
        "at": "2026-10-02T09:00:00Z" });
    let folder = project(&machine).join("llm");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("trouble.json"), trouble.to_string()).unwrap();
    assert!(machine.ok(&["status"]).contains("no route"));
    machine.ok(&["config", "llm", "openai", "m", "--host", "localhost:2"]);
    assert!(!machine.ok(&["status"]).contains("no route"));
}

#[test]
fn a_damaged_archive_file_is_named_and_its_session_stays_listed() {
    let machine = learned();
    let name = format!("{SESSION}.jsonl.gz");
    let archived = project(&machine).join("archive").join(&name);
    let bytes = fs::read(&archived).unwrap();
    fs::write(&archived, &bytes[..bytes.len() / 2]).unwrap();
    for command in [&["resume", "rounding"][..], &["timeline"], &["blame", "src/price.rs"]] {
        let said = machine.run(command);
        assert!(said.stdout.contains(&SESSION[..8]), "{}", said.whole());
    }
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains(&format!("{name}: this archived session is damaged")), "{doctor}");
    machine.ok(&["sync"]);
    assert_eq!(machine.run(&["timeline"]).stderr, "");
}

#[test]
fn a_filter_that_fits_nothing_is_named() {
    let machine = ready();
    for command in ["log", "why"] {
        let said = machine.run(&[command, "--session", "zzz"]);
        assert_eq!((said.code, &*said.stdout), (1, ""), "{}", said.whole());
        assert!(said.stderr.contains("a session zzz"), "{}", said.whole());
    }
}

#[test]
fn an_uninstall_in_json_names_all_that_it_changed() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-sync", "--with", "skill,agents"]);
    let changed = machine.json(&["uninstall", "--json"])["changed"].to_string();
    for file in ["settings.json", "SKILL.md", "AGENTS.md"] {
        assert!(changed.contains(file), "{file}: {changed}");
    }
}

#[test]
fn a_refused_value_is_reported_without_the_consequences_of_one_in_a_file() {
    let machine = ready();
    for (key, value) in
        [("start_tokens", "70000000"), ("ignore_paths", "7"), ("half_life_days", "fix = 30")]
    {
        let said = machine.run(&["config", "set", key, value]);
        assert_eq!(said.code, 2, "{}", said.whole());
        assert!(said.stderr.contains("found "), "{}", said.whole());
        for consequence in ["ignored", "until it is mended"] {
            assert!(!said.stderr.contains(consequence), "{}", said.whole());
        }
    }
    machine.ok(&["config", "set", "half_life_days", "{ fix = 30 }"]);
}

#[test]
fn a_setting_that_changes_nothing_is_reported() {
    let machine = ready();
    assert!(machine.ok(&["config", "unset", "llm.model"]).contains("was not set"));
    assert!(!machine.path(CONFIG).exists());
    machine.write("home/work/.throughline/config.toml", "start_tokens = 500\n");
    let said = machine.run(&["config", "set", "start_tokens", "600"]).stderr;
    assert!(said.contains("work/.throughline/config.toml sets it, too, and that counts"), "{said}");
    let said = machine.ok(&["link", "."]);
    assert!(said.contains("already") && !said.contains("now belongs"), "{said}");
}

#[test]
fn silence_is_reported_with_its_end_and_its_cause() {
    let machine = ready();
    let off = [("THROUGHLINE", "off")];
    let said = machine.run_with(&[], &off).stdout;
    assert!(said.contains("Next        unset THROUGHLINE"), "{said}");
    assert!(machine.run_with(&["on"], &off).stdout.contains("unset it"));
    machine.ok(&["off", "--for", "2h"]);
    for command in [&[][..], &["status"]] {
        let said = machine.ok(command);
        assert!(said.contains("off until 2026-10-02 11:30"), "{said}");
    }
}

#[test]
fn a_quote_of_several_lines_is_shown_in_one() {
    let machine = ready();
    machine.ok(&["add", "Berths are numbered"]);
    let folder = machine.work().join(".throughline/memories");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    let quote = "  said_by: user\n  quote: \"one\\ntwo\\n\\nthree\"";
    fs::write(&file, text.replace("  said_by: user", quote)).unwrap();
    let id = machine.json(&["list", "--json"])[0]["short"].as_str().unwrap().to_owned();
    let said = machine.ok(&["show", &id]);
    assert!(said.contains("said        one two three\n"), "{said}");
}

#[test]
fn a_missing_path_is_reported_with_the_remedy() {
    let machine = ready();
    for command in [
        &["trust", "/nowhere"][..],
        &["redact", "/nowhere"],
        &["-C", "/nowhere", "list"],
        &["link", "/nowhere"],
        &["check", "nofile"],
    ] {
        let said = machine.run(command);
        assert_eq!(said.code, 3, "{}", said.whole());
        let (what, how) = said.stderr.split_once("hint: ").unwrap();
        assert!(
            what.contains("does not exist") && how.contains("that is there"),
            "{}",
            said.whole()
        );
    }
    assert!(machine.run(&["link", "zz"]).stderr.contains("no project has an id like"));
}

#[test]
fn a_bar_never_shows_more_than_all() {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    let shown = strip(&machine.on_screen(&["init", "--yes", "--no-register"], 80));
    assert!(shown.contains("/1"), "{shown}");
    assert!(!shown.contains("/0"), "{shown}");
}

#[test]
fn a_count_of_one_is_printed_in_the_singular() {
    let machine = learned();
    for (command, told) in
        [(&["sync"][..], "Nothing new in 1 session."), (&["status"], "Archive     1 session, ")]
    {
        let said = machine.ok(command);
        assert!(said.contains(told), "{said}");
    }
    machine.ok(&["purge", "--everything", "--yes"]);
    let said = machine.ok(&["sync"]);
    assert!(!said.contains(" 1 sessions") && !said.contains(" 1 turns"), "{said}");
}
