//! Tests in which a file-system call fails or its process is killed. Afterwards the store must be valid and contain all
//! acknowledged data. A hook must exit 0, and print either nothing or a complete result.
//!
//! The tests run a few hundred faults, which a seed determines, and a crowd for a few seconds. `scripts/stress` runs
//! any number.
#![cfg(target_os = "linux")]

use std::time::Duration;

use journeys::fault::{self, Fault, Plan};
use journeys::trial::crowd::crowd;
use journeys::trial::storm::{self, Storm};
use journeys::trial::{Trial, Writer};

/// Returns whether faults can be injected. Old kernels do not support it, and containers may forbid it.
fn can_strike() -> bool {
    let available = fault::is_available();
    if !available {
        eprintln!("SKIPPED: this kernel does not hand calls to a test (seccomp user notification)");
    }
    available
}

fn assert_sound(storm: &Storm, strikes: u32) {
    assert!(storm.faults.is_empty(), "{:#?}", storm.faults);
    assert!(storm.strikes() >= strikes, "{storm:?}");
}

#[test]
fn hooks_bear_every_failing_call() {
    if can_strike() {
        assert_sound(&storm::each_call_of_hooks(23).unwrap(), 40);
    }
}

#[test]
fn writers_bear_failing_calls() {
    if can_strike() {
        assert_sound(&storm::failures(24, 0x2026_1122).unwrap(), 20);
    }
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged() {
    if can_strike() {
        assert_sound(&storm::kills(30, 0x2026_1122).unwrap(), 30);
    }
}

/// Tests the fault injection itself: an error is returned, a write is cut in half, and a killed process has no exit
/// code.
#[test]
fn faults_strike_where_they_are_meant_to() {
    if !can_strike() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let write = |name: &str, fault: Fault| {
        let mut command = std::process::Command::new("/bin/sh");
        command.arg("-c").arg(format!("printf 12345678 > {name}")).current_dir(&root);
        let plan = Plan::counting(&root).of(&[fault::Class::Write]).striking(1, fault);
        let run = fault::run(&mut command, b"", plan).unwrap();
        assert_eq!(run.struck.unwrap().path, root.join(name));
        (run.status.code(), std::fs::read_to_string(root.join(name)).unwrap())
    };
    assert_eq!(write("short", Fault::Torn), (None, "1234".to_owned()));
    assert_eq!(write("killed", Fault::Kill), (None, String::new()));
    let (status, text) = write("full", Fault::ErrorFromHere(libc::ENOSPC));
    assert!(status != Some(0) && text.is_empty());
}

/// Git removes the folder while a memory is being written into it. The folder is created again, a few times if
/// necessary.
#[test]
fn a_folder_that_goes_away_meanwhile_is_made_again() {
    if !can_strike() {
        return;
    }
    let mut trial = Trial::new().unwrap();
    for (fault, is_saved) in
        [(Fault::Error(libc::ENOENT), true), (Fault::ErrorFromHere(libc::ENOENT), false)]
    {
        let plan = |plan: Plan| plan.of(&[fault::Class::Rename]).striking(1, fault);
        let run = trial.run(Writer::Add, plan).unwrap();
        let memories = trial.sample.memories_dir();
        assert!(run.struck.is_some_and(|point| point.path.starts_with(&memories)), "{fault:?}");
        assert_eq!(run.status.success(), is_saved, "{}", run.stderr);
        assert_eq!(trial.faults_after_recovery().unwrap(), Vec::<String>::new());
    }
}

/// On a file system without locks, commands that need a lock report this and acknowledge nothing; hooks continue.
#[test]
fn without_locks_nothing_is_written_and_recall_goes_on() {
    if !can_strike() {
        return;
    }
    let mut trial = Trial::new().unwrap();
    let mut run = |writer, error| {
        let strike = Fault::ErrorFromHere(error);
        trial.run(writer, |plan| plan.of(&[fault::Class::Lock]).striking(1, strike)).unwrap()
    };
    for error in [libc::ENOLCK, libc::EOPNOTSUPP] {
        let words = std::io::Error::from_raw_os_error(error).to_string();
        for writer in [Writer::Add, Writer::Sync, Writer::Remember] {
            let run = run(writer, error);
            let said = format!("{}{}", run.stderr, String::from_utf8_lossy(&run.stdout));
            assert!(run.struck.is_some() && said.contains(&words), "{writer:?}: {said}");
        }
        let run = run(Writer::Prompt, error);
        assert_eq!((run.status.code(), Trial::hook_faults(&run)), (Some(0), Vec::new()));
    }
    assert_eq!(trial.faults_after_recovery().unwrap(), Vec::<String>::new());
}

/// The messages about a full disk, a read-only store, and a file system without locks contain a remedy.
#[test]
fn errors_of_the_file_system_are_reported() {
    if !can_strike() {
        return;
    }
    let mut trial = Trial::new().unwrap();
    for (writer, class, error, words) in [
        (Writer::Add, fault::Class::Write, libc::ENOSPC, "No space left on device"),
        (Writer::Sync, fault::Class::Create, libc::EROFS, "Read-only file system"),
        (Writer::Sync, fault::Class::Lock, libc::ENOLCK, "No locks available"),
    ] {
        let strike = Fault::ErrorFromHere(error);
        let run = trial.run(writer, |plan| plan.of(&[class]).striking(1, strike)).unwrap();
        assert!(run.struck.is_some(), "{writer:?}");
        assert!(!run.status.success() && run.stderr.contains(words), "{writer:?}: {}", run.stderr);
        assert_eq!(trial.faults_after_recovery().unwrap(), Vec::<String>::new());
    }
}

/// Several sessions run in parallel with processors, commands, a server, git and an editor. There must be no error, no
/// lost data, no unintended deletion, and no process that still runs. `scripts/stress sessions` runs this for any time.
#[test]
fn a_crowd_loses_nothing_and_leaves_nobody() {
    let crowd = crowd(4, Duration::from_secs(5), 0x2026_1122).unwrap();
    assert!(crowd.faults.is_empty(), "{:#?}", crowd.faults);
    assert!(crowd.done.values().sum::<u32>() > 0, "{crowd:?}");
}
