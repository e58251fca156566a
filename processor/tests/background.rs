//! The processor in the background, as hooks start it.

use std::fs;
use std::process::Output;
use std::time::Duration;

use crate::scripts::{self, Script, Sealed, eventful};
use memory_store::handoff::Handoff;
use memory_store::progress::Progress;
use processor::lock::{Busy, Lock};
use processor::log;

fn processor(sealed: &Sealed, variables: &[(&str, &str)]) -> Output {
    let mut command = sealed.command(env!("CARGO_BIN_EXE_throughline-processor"));
    command.envs(variables.iter().copied()).args([
        "sync",
        "--project",
        &sealed.tree.project.to_string(),
        "--background",
    ]);
    command.output().unwrap()
}

fn note(sealed: &Sealed) -> u64 {
    let inbox = sealed.dirs.tree(&sealed.tree.root).inbox;
    fs::create_dir_all(inbox.parent().unwrap()).unwrap();
    let transcript = sealed.transcript("s1.jsonl");
    let note = serde_json::json!({"at": scripts::NOW, "event": "Stop", "session": "s1", "transcript": transcript, "cwd": sealed.root()});
    let mut text = fs::read_to_string(&inbox).unwrap_or_default();
    text.push_str(&format!("{note}\n"));
    fs::write(&inbox, &text).unwrap();
    text.len() as u64
}

#[test]
fn notes_are_taken_up_quietly() {
    let sealed = Sealed::new();
    sealed.read_by_model();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    let inbox_bytes = note(&sealed);
    let output = processor(&sealed, &[]);
    assert!(output.status.success());
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{output:?}");
    let state = sealed.dirs.tree(&sealed.tree.root);
    let progress = Progress::read(&state.progress);
    assert_eq!(
        (progress.inbox_bytes, progress.failures, progress.due_minutes),
        (inbox_bytes, 0, Some(5))
    );
    assert_eq!(Handoff::read(&state.handoff).inbox_bytes, inbox_bytes);
    assert!(fs::read_dir(sealed.tree.store().join("memories")).unwrap().count() > 0);
}

#[test]
fn it_does_nothing_where_only_recall_is_wanted() {
    for variable in [("THROUGHLINE", "read"), ("THROUGHLINE", "off"), ("CI", "true")] {
        let sealed = Sealed::new();
        sealed.write_script(&eventful("s1", sealed.root(), 1));
        note(&sealed);
        let before = sealed.files(|_| false);
        assert!(processor(&sealed, &[variable]).status.success());
        assert_eq!(sealed.files(|_| false), before);
    }
}

/// If git hung within the last ten minutes, a run does not call it again.
#[test]
fn what_a_run_before_found_of_git_holds_for_ten_minutes() {
    for (hung_at, is_told) in [("2026-11-21T11:59:00Z", true), ("2026-11-21T11:40:00Z", false)] {
        let sealed = Sealed::new();
        sealed.write_script(&eventful("s1", sealed.root(), 1));
        note(&sealed);
        let hung = serde_json::json!({ (sealed.root()): hung_at });
        fs::create_dir_all(&sealed.dirs.state).unwrap();
        fs::write(sealed.dirs.state.join("hung-git.json"), hung.to_string()).unwrap();
        assert!(processor(&sealed, &[]).status.success());
        // Without a warning there is no log file.
        let log = fs::read_to_string(sealed.dirs.tree(&sealed.tree.root).log);
        let log = log.unwrap_or_default();
        assert_eq!(log.contains("git does not answer there"), is_told, "{log}");
    }
}

#[test]
fn it_leaves_the_work_to_the_one_that_is_at_it() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    note(&sealed);
    let path = sealed.dirs.project(sealed.tree.project).sync_lock;
    let lock = Lock::take(&path, Busy::Wait(Duration::from_secs(5))).unwrap();
    assert!(processor(&sealed, &[]).status.success());
    assert!(!sealed.dirs.tree(&sealed.tree.root).progress.exists());
    drop(lock);
}

#[test]
fn failures_are_counted_and_reported_without_secrets() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    note(&sealed);
    // A file with the name of a folder makes the sync fail.
    let home = sealed.dirs.project(sealed.tree.project);
    fs::create_dir_all(&home.folder).unwrap();
    fs::write(&home.archive, "in the way").unwrap();
    let state = sealed.dirs.tree(&sealed.tree.root);
    for failures in 1..=2 {
        assert!(!processor(&sealed, &[]).status.success());
        let progress = Progress::read(&state.progress);
        assert_eq!(
            (progress.failures, progress.inbox_bytes, progress.announced),
            (failures, 0, false)
        );
        let failure = progress.failure.unwrap();
        assert!(failure.contains("archive") && !failure.contains('\n'), "{failure}");
    }
    fs::remove_file(&home.archive).unwrap();
    assert!(processor(&sealed, &[]).status.success());
    let progress = Progress::read(&state.progress);
    assert_eq!((progress.failures, progress.failure), (0, None));
    assert!(progress.inbox_bytes > 0);
}

#[test]
fn warnings_stand_in_the_log_without_secrets() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    note(&sealed);
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let deny = "[redact]\ndeny = [\"(?i)zephyr\"]\n";
    fs::write(sealed.dirs.config_file(), format!("{secret} = 1\nzephyr = 2\n{deny}")).unwrap();
    assert!(processor(&sealed, &[]).status.success());
    let state = sealed.dirs.tree(&sealed.tree.root);
    let warning = log::last_warning(&state, scripts::now()).unwrap();
    assert!(warning.text.contains("config.toml"), "{warning:?}");
    let log = fs::read_to_string(&state.log).unwrap();
    assert!(!log.contains(&secret) && !log.contains("zephyr"), "{log}");
    assert!(log.contains("[redacted:denied]"), "{log}");
}

#[test]
fn a_full_inbox_is_emptied_once_all_of_it_is_taken_up() {
    let sealed = Sealed::new();
    sealed.write_script(&Script::new("s1", sealed.root()));
    let inbox = sealed.dirs.tree(&sealed.tree.root).inbox;
    fs::create_dir_all(inbox.parent().unwrap()).unwrap();
    fs::write(&inbox, "{\"event\":\"Stop\"}\n".repeat(100_000)).unwrap();
    assert!(processor(&sealed, &[]).status.success());
    assert_eq!(fs::metadata(&inbox).unwrap().len(), 0);
    let progress = Progress::read(&sealed.dirs.tree(&sealed.tree.root).progress);
    assert_eq!(progress.inbox_bytes, 0);
}
