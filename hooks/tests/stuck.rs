//! Tests of files that block: a pipe in place of a file, an output pipe that is not read, a lock that is held. The hook
//! must still exit with status 0, and print either nothing or a complete output.
//!
//! The tests measure no time: a hook that hangs is killed after a while, and then has no exit code.

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PROJECT, PROMPT, SESSION_START, STOP, TOOL, World};
use serde_json::{Value, json};

/// Time after which a hook counts as hanging: many times its own time limit.
const PATIENCE: Duration = Duration::from_secs(30);

fn payloads(world: &World) -> Vec<(&'static str, Vec<u8>)> {
    let file = world.root.join("src/rounding.rs");
    let prompt = json!({"prompt": "Where are invoices archived, in Postgres?"});
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": file}});
    vec![
        (SESSION_START, world.payload("SessionStart", "s", json!({"source": "startup"}))),
        (PROMPT, world.payload("UserPromptSubmit", "s", prompt)),
        (TOOL, world.payload("PostToolUse", "s", read)),
        (STOP, world.payload("Stop", "s", json!({"stop_hook_active": false}))),
    ]
}

/// Runs a hook that may hang.
fn outcome(mut command: Command, payload: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    drop(child.stdin.take().unwrap().write_all(payload));
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[track_caller]
fn check(hook: &str, output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{hook}");
    if !output.stdout.is_empty() {
        assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap().is_object());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

fn used() -> World {
    let world = World::with_memories();
    world.start("s", "startup");
    world.leave("Round up", 0);
    world
}

/// Opening a pipe blocks until another process opens its other end.
#[test]
fn a_pipe_in_place_of_any_file() {
    let count = files(used().home()).len();
    assert!(count > 8, "{count}");
    let hang = |number: usize| {
        let world = used();
        let Some(file) = files(world.home()).into_iter().nth(number) else { return };
        fs::remove_file(&file).unwrap();
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        for (hook, payload) in payloads(&world) {
            check(hook, &outcome(world.command(hook), &payload));
        }
    };
    // The hooks mostly wait, so several are run in parallel.
    for numbers in (0..count).collect::<Vec<_>>().chunks(8) {
        thread::scope(|scope| {
            let waiting: Vec<_> =
                numbers.iter().map(|&number| scope.spawn(move || hang(number))).collect();
            waiting.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

#[test]
fn a_reader_that_does_not_read() {
    let hang = |number: usize| {
        let world = World::with_memories();
        let (hook, payload) = payloads(&world).swap_remove(number);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut command = world.command(hook);
        command.stdout(writer.try_clone().unwrap());
        // The pipe is filled, so that the hook's output does not fit. SAFETY: the call only sets flags of a handle that
        // this process owns.
        unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        while writer.write(&[b'x'; 512]).is_ok() {}
        // SAFETY: as above.
        unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, 0) };
        let output = outcome(command, &payload);
        assert_eq!(output.status.code(), Some(0), "{hook}");
        drop(reader);
    };
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..4).map(|number| scope.spawn(move || hang(number))).collect();
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// The time in which a hook waits for a slow client does not count towards its time limit.
#[test]
fn a_payload_that_comes_late() {
    let world = World::with_memories();
    for (hook, payload) in payloads(&world) {
        let mut child = world.command(hook).spawn().unwrap();
        thread::sleep(Duration::from_millis(300));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&payload[..payload.len() / 2]).unwrap();
        thread::sleep(Duration::from_millis(100));
        stdin.write_all(&payload[payload.len() / 2..]).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        check(hook, &output);
        assert_eq!(output.stdout.is_empty(), hook == STOP, "{hook}");
    }
    assert_eq!(world.receipts().len(), 3);
}

/// Hooks never wait for a lock, so a lock of another process has no effect.
#[test]
fn locks_that_are_held() {
    let world = used();
    let lock = world.dirs.project(PROJECT).sync_lock;
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let held: Vec<_> = [world.state().index.join("writer.lock"), lock]
        .map(|path| {
            let file = fs::File::options().create(true).append(true).open(path).unwrap();
            file.lock().unwrap();
            file
        })
        .into();
    let mut said = 0;
    for (hook, payload) in payloads(&world) {
        let output = outcome(world.command(hook), &payload);
        check(hook, &output);
        said += output.stdout.len();
    }
    assert!(said > 0, "what is known was not said");
    drop(held);
}
