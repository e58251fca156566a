//! `throughline log --follow` prints injections as they happen.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Machine;

/// Waits for a program to end, and returns its status.
fn end(mut child: Child) -> std::process::ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("it goes on");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a machine with a memory, and a function that adds receipts of its injection.
fn ready() -> (Machine, impl Fn(&Machine, &str, &str)) {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "Ports are even", "--kind", "fact"]);
    machine.ok(&["sync"]);
    let id = machine.json(&["list", "--json"])[0]["id"].clone();
    let give = move |machine: &Machine, at: &str, session: &str| {
        machine.receipt(&json!({
            "at": at, "event": "UserPromptSubmit", "session": session, "tokens": 40, "micros": 900,
            "memories": [{"id": id, "why": "words: port", "score": 2.5}], "text_bytes": 160,
        }));
    };
    (machine, give)
}

fn follow(machine: &Machine, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = machine.command(&[&["log", "--follow"][..], args].concat());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

fn line(from: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line
}

#[test]
fn each_injection_is_a_line_as_it_happens_until_it_is_interrupted() {
    let (machine, give) = ready();
    give(&machine, "2026-10-02T09:00:00Z", "first");
    give(&machine, "2026-10-02T09:01:00Z", "second");
    let (child, mut lines) = follow(&machine, &["-n", "1"]);
    assert_eq!(line(&mut lines), "09:01:00         prompt   second    40 tokens  Ports are even\n");
    give(&machine, "2026-10-02T09:02:03Z", "third");
    assert_eq!(line(&mut lines), "09:02:03         prompt   third    40 tokens  Ports are even\n");
    // The receipts of the next day are in a separate file.
    give(&machine, "2026-10-03T00:00:01Z", "fourth");
    assert!(line(&mut lines).starts_with("00:00:01 "));
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: the process is a child of this one, and no call has waited for it yet.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    assert_eq!(end(child).signal(), Some(libc::SIGINT));
}

#[test]
fn it_is_json_by_line_for_one_session_and_ends_with_its_reader() {
    let (machine, give) = ready();
    let (child, mut lines) = follow(&machine, &["--json", "--session", "th"]);
    for session in ["second", "third"] {
        give(&machine, "2026-10-02T09:02:03Z", session);
    }
    let told: Value = serde_json::from_str(&line(&mut lines)).unwrap();
    assert_eq!(
        (&told["session"], &told["memories"][0]["title"]),
        (&json!("third"), &json!("Ports are even"))
    );
    drop(lines);
    assert_eq!(end(child).code(), Some(0));
}
