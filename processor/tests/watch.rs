//! Watching: growing transcripts are processed without hooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::scripts::{self, Sealed, eventful};
use memory_store::background;
use processor::watch::{self, Options, Pace, Waker};

/// A watcher in a thread. Its messages are received through a channel.
struct Watching {
    waker: Waker,
    thread: JoinHandle<()>,
    said: mpsc::Receiver<String>,
}

impl Watching {
    fn begin(sealed: &Sealed, processor: &Path, polls: bool) -> Self {
        let pace = Pace {
            quiet: Duration::from_millis(50),
            patience: Duration::from_secs(1),
            gap: Duration::from_millis(50),
            poll: Duration::from_millis(100),
            ..Pace::default()
        };
        let options =
            Options { dirs: sealed.dirs.clone(), processor: processor.to_owned(), polls, pace };
        let waker = Waker::default();
        let (tell, said) = mpsc::channel();
        let ours = waker.clone();
        let work = move || {
            let mut say = |line: &str| tell.send(line.to_owned()).unwrap_or_default();
            watch::run(&options, &ours, &mut say).unwrap();
        };
        Self { waker, thread: std::thread::spawn(work), said }
    }

    fn end(self) -> Vec<String> {
        self.waker.stop();
        self.thread.join().unwrap();
        self.said.try_iter().collect()
    }
}

/// Returns a script that runs the processor with a sealed home, because the watcher has the environment of the tests.
fn processor(sealed: &Sealed) -> PathBuf {
    let program = env!("CARGO_BIN_EXE_throughline-processor");
    let home = sealed.base.display();
    let now = scripts::NOW;
    script(
        sealed,
        &format!(
            "env -u CI -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CONFIG_HOME -u CLAUDE_CONFIG_DIR \
             HOME='{home}' THROUGHLINE=full THROUGHLINE_NOW={now} '{program}' \"$@\"\n\
             echo \"$@\" >>'{home}/calls'"
        ),
    )
}

fn script(sealed: &Sealed, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = sealed.base.join("processor.sh");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Waits until a condition is true. The limit is far longer than the usual time.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn memories(sealed: &Sealed) -> usize {
    fs::read_dir(sealed.dirs.project(sealed.tree.project).drafts).map_or(0, Iterator::count)
}

fn calls(sealed: &Sealed) -> usize {
    fs::read_to_string(sealed.base.join("calls")).map_or(0, |calls| calls.lines().count())
}

#[test]
fn a_transcript_that_grows_is_learned_from() {
    for polls in [false, true] {
        let sealed = Sealed::new();
        fs::create_dir_all(sealed.dirs.claude.join("projects")).unwrap();
        let watching = Watching::begin(&sealed, &processor(&sealed), polls);
        until("it looks once when it begins", || calls(&sealed) == 1);
        assert_eq!(memories(&sealed), 0);
        sealed.write_script(&eventful("s1", sealed.root(), 1));
        until("a new transcript", || memories(&sealed) > 0);
        until("that sync ended", || calls(&sealed) >= 2);
        let before = calls(&sealed);
        let mut text = eventful("s1", sealed.root(), 1).text();
        text.push_str(&eventful("s1", sealed.root(), 2).text());
        sealed.write("s1.jsonl", text.as_bytes());
        until("a grown one", || calls(&sealed) > before);
        let said = watching.end();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].starts_with("Watching"), !polls, "{said:?}");
    }
}

#[test]
fn a_folder_that_was_just_made_is_looked_at_once_more() {
    let sealed = Sealed::new();
    // A write through a hard link outside of the folder causes no event, as in a folder that is not watched yet.
    let told = sealed.write("s1.jsonl", b"");
    let untold = sealed.base.join("untold");
    fs::hard_link(&told, &untold).unwrap();
    let watching = Watching::begin(&sealed, &processor(&sealed), false);
    until("it looks once when it begins", || calls(&sealed) == 1);
    watching.waker.rescan();
    // The first scan usually ends within this time. A later first scan finds the same change.
    std::thread::sleep(Duration::from_millis(20));
    fs::write(&untold, eventful("s1", sealed.root(), 1).text()).unwrap();
    until("a new transcript", || memories(&sealed) > 0);
    assert!(watching.end()[0].starts_with("Watching"));
}

#[test]
fn a_folder_that_comes_later_is_watched_then() {
    let sealed = Sealed::new();
    let watching = Watching::begin(&sealed, &processor(&sealed), false);
    until("it looks once when it begins", || calls(&sealed) == 1);
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    until("a new transcript", || memories(&sealed) > 0);
    let said = watching.end();
    assert!(said[0].contains("not there yet") && said[1].starts_with("Watching"), "{said:?}");
}

#[test]
fn transcripts_of_others_start_nothing() {
    let sealed = Sealed::new();
    fs::create_dir_all(sealed.dirs.claude.join("projects")).unwrap();
    let watching = Watching::begin(&sealed, &processor(&sealed), true);
    until("it looks once when it begins", || calls(&sealed) == 1);
    let elsewhere = sealed.base.join("elsewhere");
    sealed.write_script(&eventful("s1", elsewhere.to_str().unwrap(), 1));
    sealed.write_script(&eventful("s2", sealed.root(), 2));
    until("ours", || memories(&sealed) > 0);
    // Transcripts are scanned in the order of their names, so the other project's transcript was read before.
    until("that sync ended", || calls(&sealed) > 1);
    watching.end();
    assert_eq!(calls(&sealed), 2);
}

#[test]
fn no_child_is_left_when_it_ends() {
    let sealed = Sealed::new();
    let pids = sealed.base.join("pids");
    let text =
        format!("sleep 600 &\necho $$ $! >'{0}.new'\nmv '{0}.new' '{0}'\nwait", pids.display());
    let watching = Watching::begin(&sealed, &script(&sealed, &text), true);
    until("a sync runs", || pids.exists());
    watching.end();
    for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
        let lives = || Command::new("kill").args(["-0", pid]).output().unwrap().status.success();
        until("what it started is gone", || !lives() || is_zombie(pid));
    }
}

/// Returns whether a process has ended without being waited for.
fn is_zombie(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn who_is_at_work_already_is_left_to_it() {
    let sealed = Sealed::new();
    let lock = processor::lock::Lock::take(
        &sealed.dirs.project(sealed.tree.project).sync_lock,
        processor::lock::Busy::Leave,
    )
    .unwrap();
    assert!(background::is_running(&sealed.dirs.project(sealed.tree.project)));
    let watching = Watching::begin(&sealed, &processor(&sealed), true);
    assert!(watching.said.recv().unwrap().contains("from time to time"));
    watching.end();
    assert_eq!(calls(&sealed), 0);
    drop(lock);
}

#[test]
fn one_watches_for_a_user() {
    let sealed = Sealed::new();
    assert!(!watch::is_running(&sealed.dirs));
    let lock = watch::take_turn(&sealed.dirs).unwrap();
    assert!(lock.is_some() && watch::is_running(&sealed.dirs));
    assert!(watch::take_turn(&sealed.dirs).unwrap().is_none());
    drop(lock);
    assert!(!watch::is_running(&sealed.dirs));
}
