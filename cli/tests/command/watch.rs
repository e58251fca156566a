//! `throughline watch` and `throughline service`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Machine;

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const UNIT: &str = "home/.config/systemd/user/throughline-watch.service";

/// A machine whose processor notes that it was called and with what.
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

/// Waits until something is so; far longer than it takes.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts to watch; returns once it said where.
fn watch(machine: &Machine) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = machine.spawn(&["watch"], Stdio::piped());
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains(".claude/projects"), "{line}");
    (child, stdout)
}

#[test]
fn one_watches_until_it_is_told_to_stop() {
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
        assert_eq!(machine.json(&["service", "status", "--json"])["running"], true);

        let told = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        assert!(child.wait().unwrap().success());
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "Stopped.\n");
        assert_eq!(machine.json(&["service", "status", "--json"])["running"], false);
    }
}

#[test]
fn a_transcript_is_noticed_where_the_client_says_its_files_are() {
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

/// A `systemctl` that notes how it is called.
fn with_systemctl(machine: &Machine) -> String {
    machine.program(
        "systemctl",
        &format!("#!/bin/sh\necho \"$@\" >>'{}'\n", machine.path("home/systemctl").display()),
    );
    format!("{}:/usr/bin:/bin", machine.path("bin").display())
}

#[test]
#[cfg(not(target_os = "macos"))]
fn a_service_is_installed_and_taken_out_again() {
    let machine = Machine::new();
    let path = with_systemctl(&machine);
    let variables = [("PATH", path.as_str())];
    let run = |args: &[&str]| {
        let said = machine.run_with(args, &variables);
        assert_eq!(said.code, 0, "{args:?} {}", said.stderr);
        said.stdout
    };
    let before = crate::common::files(&machine.path("home"));
    let dry = run(&["service", "install", "--dry-run"]);
    assert!(dry.contains("ExecStart=\"/bin/throughline\" watch"), "{dry}");
    assert_eq!(crate::common::files(&machine.path("home")), before);

    let said = run(&["service", "install"]);
    assert!(said.contains("watches now and whenever you log in"), "{said}");
    let unit = machine.read(UNIT);
    let program = machine.path("bin/throughline");
    assert!(unit.contains(&format!("ExecStart=\"{}\" watch", program.display())), "{unit}");
    assert!(unit.contains(&format!("Environment=\"PATH={path}\"")), "{unit}");
    assert_eq!(
        machine.read("home/systemctl"),
        "--user daemon-reload\n--user enable throughline-watch.service\n--user restart throughline-watch.service\n"
    );
    run(&["service", "install"]);
    assert_eq!(machine.read(UNIT), unit);
    fs::remove_file(machine.path("home/systemctl")).unwrap();

    let said = run(&["service", "uninstall"]);
    assert!(said.contains("Removed") && !machine.path(UNIT).exists(), "{said}");
    assert_eq!(
        machine.read("home/systemctl"),
        "--user disable --now throughline-watch.service\n--user daemon-reload\n"
    );
    fs::remove_file(machine.path("home/systemctl")).unwrap();
    assert_eq!(crate::common::files(&machine.path("home")), before);
    assert!(run(&["service", "uninstall"]).contains("No service is installed"));
}

#[test]
#[cfg(not(target_os = "macos"))]
fn where_nobody_can_be_asked_to_start_it_it_says_what_to_run() {
    let machine = Machine::new();
    let path = machine.path("bin").display().to_string();
    machine.program("systemctl", "#!/bin/sh\nexit 1\n");
    let said = machine.run_with(&["service", "install"], &[("PATH", &path)]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("  systemctl --user enable throughline-watch.service"));
    let doctor = |machine: &Machine| {
        let said = machine.run(&["doctor", "--json"]);
        let checks: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        let of_service = |check: &&serde_json::Value| check["name"] == "service";
        checks.as_array().unwrap().iter().find(of_service).cloned()
    };
    assert_eq!(doctor(&machine).unwrap()["state"], "care");
    let moved = machine.read(UNIT).replace("bin/throughline", "bin/gone");
    machine.write(UNIT, &moved);
    let broken = doctor(&machine).unwrap();
    assert_eq!(broken["state"], "bad");
    assert!(broken["seen"].as_str().unwrap().contains("bin/gone, which is gone"), "{broken}");

    machine.ok(&["uninstall"]);
    assert!(!machine.path(UNIT).exists() && doctor(&machine).is_none());
}

#[test]
#[cfg(not(target_os = "macos"))]
fn a_unit_of_somebody_else_is_left_alone() {
    let machine = Machine::new();
    machine.write(UNIT, "[Service]\nExecStart=/bin/true\n");
    for args in [["service", "install"], ["service", "uninstall"]] {
        let said = machine.run(&args);
        assert_eq!(said.code, 1);
        assert!(said.stderr.contains("was not written by Throughline"), "{}", said.stderr);
    }
    machine.ok(&["uninstall"]);
    assert!(Path::new(&machine.path(UNIT)).exists());
}
