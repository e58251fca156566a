//! Tests of `throughline watch`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Machine;

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const UNIT: &str = "home/.config/systemd/user/throughline-watch.service";

/// Returns a machine whose processor records its calls and their arguments.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    let calls = machine.path("home/calls");
    machine.program(
        "throughline-processor",
        &format!("#!/bin/sh\necho \"$@\" >>'{}'\n", calls.display()),
    );
    machine
}

/// Waits for a condition, with a generous time limit.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts to watch; returns once the program has printed the path.
fn watch(machine: &Machine) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = machine.spawn(&["watch"], Stdio::piped());
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains(".claude/projects"), "{line}");
    (child, stdout)
}

#[test]
fn a_single_watch_runs_until_a_signal_stops_it() {
    for signal in ["-TERM", "-INT"] {
        let machine = machine();
        fs::create_dir_all(machine.path("home/.claude/projects")).unwrap();
        let (mut child, mut stdout) = watch(&machine);
        let calls = || fs::read_to_string(machine.path("home/calls")).unwrap_or_default();
        until("it begins with a look at every project", || calls().lines().count() == 1);
        assert!(calls().starts_with("sync --project ") && calls().ends_with(" --background\n"));

        let second = machine.run(&["watch"]);
        assert_eq!(second.code, 8, "{}", second.stderr);
        assert!(second.stderr.contains("another `throughline watch`"), "{}", second.stderr);

        let told = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        assert!(child.wait().unwrap().success());
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "Stopped.\n");
    }
}

#[test]
fn a_transcript_is_noticed_in_the_folder_configured_for_the_client() {
    let machine = machine();
    let moved = machine.path("home/elsewhere");
    fs::create_dir_all(moved.join("projects")).unwrap();
    let mut command = machine.command(&["watch"]);
    command.env("CLAUDE_CONFIG_DIR", &moved).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let calls = || fs::read_to_string(machine.path("home/calls")).unwrap_or_default();
    until("it begins with a look at every project", || calls().lines().count() == 1);
    machine.transcript(
        &format!("home/elsewhere/projects/-w/{SESSION}.jsonl"),
        SESSION,
        "2026-10-01",
    );
    until("a new transcript", || calls().lines().count() >= 2);
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert!(child.wait().unwrap().success());
}

#[test]
fn nothing_is_watched_where_nothing_is_learned() {
    let said = machine().run_with(&["watch"], &[("THROUGHLINE", "read")]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("nothing is learned here"), "{}", said.stderr);
}

#[test]
fn a_service_that_starts_it_is_named_by_uninstall_and_left_alone() {
    let machine = Machine::new();
    machine.write(UNIT, "[Service]\nExecStart=%h/.local/bin/throughline watch\n");
    let said = machine.ok(&["uninstall"]);
    assert!(said.contains("throughline-watch.service"), "{said}");
    assert!(said.contains("systemctl --user disable --now throughline-watch.service"), "{said}");
    assert!(machine.path(UNIT).exists());
}

#[test]
fn install_writes_the_file_of_a_service_and_starts_nothing() {
    let machine = Machine::new().with("OLLAMA_HOST", "gpu.example:80");
    let unit = if cfg!(target_os = "macos") {
        "home/Library/LaunchAgents/throughline.watch.plist"
    } else {
        UNIT
    };
    assert!(machine.ok(&["watch", "install", "--dry-run"]).starts_with("Would write "));
    assert!(!machine.path(unit).exists());
    let said = machine.ok(&["watch", "install"]);
    let text = machine.read(unit);
    assert!(text.contains("bin/throughline") && text.contains("gpu.example:80"), "{text}");
    assert!(said.starts_with("Wrote ") && said.contains("each login:\n  "), "{said}");
    assert!(machine.ok(&["watch", "install"]).starts_with("Unchanged: "));
    // A service file that was changed is replaced only if the user agrees.
    machine.write(unit, "mine\n");
    assert_eq!(machine.run(&["watch", "install"]).code, 11);
    assert_eq!(machine.read(unit), "mine\n");
    assert_eq!(machine.json(&["watch", "install", "--yes", "--json"])["changed"], true);
    assert_eq!(machine.read(unit), text);
    assert!(machine.ok(&["uninstall"]).contains("starts `throughline watch`"));
}
