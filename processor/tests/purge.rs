//! Purging: what a person wants gone is gone, everywhere, and does not come back.

mod scripts;

use std::fs;
use std::path::PathBuf;

use memory_store::Timestamp;
use memory_store::recall::{Recall, Search};
use processor::purge::{PurgeReport, What, purge};
use scripts::{Sealed, eventful, now};
use serde_json::json;

fn purged(sealed: &Sealed, what: &What) -> PurgeReport {
    let report = purge(&sealed.options(), what).unwrap().unwrap();
    assert_eq!(report.left, Vec::<PathBuf>::new());
    assert!(report.scanned > 0);
    report
}

fn turns(sealed: &Sealed, text: &str) -> usize {
    let search = Search { text: text.into(), limit: 20, turns: true, ..Search::default() };
    let hits = Recall::open(&sealed.dirs, &sealed.tree).search(&search, now()).hits;
    hits.iter().filter(|hit| hit.text.contains(text)).count()
}

/// Whether any file of ours still holds the text.
fn anywhere(sealed: &Sealed, text: &str) -> Option<String> {
    for (path, bytes) in sealed.files(|path| path.starts_with(".claude")) {
        let bytes = if path.extension().is_some_and(|ending| ending == "gz") {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text)
                .unwrap();
            text
        } else {
            bytes
        };
        if memchr::memmem::find(&bytes, text.as_bytes()).is_some() {
            return Some(path.display().to_string());
        }
    }
    None
}

/// A text that a session was given.
fn given(sealed: &Sealed, session: &str, agent: Option<&str>, text: &str) -> PathBuf {
    let path = sealed.dirs.tree(&sealed.tree.root).session(session, agent);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_session_goes_with_its_copies_and_what_was_learned() {
    let sealed = Sealed::new();
    let original = eventful("aaaa", sealed.root(), 1);
    let mut fork = original.clone();
    fork.session = "ffff".into();
    fork.prompt("in the fork: always keep the changelog sorted");
    for script in [&original, &fork, &eventful("bbbb", sealed.root(), 2)] {
        sealed.write_script(script);
    }
    sealed.sync();
    assert!(anywhere(&sealed, "parser dropped its buffer").is_some());
    let given = [("aaaa", None), ("aaaa", Some("helper")), ("bbbb", None)]
        .map(|(session, agent)| given(&sealed, session, agent, "what it was told"));
    let report = purged(&sealed, &What::Session("aa".into()));
    assert_eq!(given.map(|text| text.exists()), [false, false, true]);
    assert_eq!(report.sessions, 1);
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
    assert_eq!(turns(&sealed, "parser"), 0);
    assert!(turns(&sealed, "changelog") > 0 && turns(&sealed, "cache") > 0);
    // The transcripts are still there.
    sealed.sync();
    fs::remove_dir_all(sealed.dirs.project(sealed.tree.project).mined()).unwrap();
    sealed.sync();
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
}

#[test]
fn what_is_older_than_a_time_goes() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("aaaa", sealed.root(), 1));
    sealed.write_script(&eventful("bbbb", sealed.root(), 10));
    sealed.sync();
    let told = given(&sealed, "later", None, "the parser dropped its buffer before the flush");
    let time = Timestamp::parse("2026-11-05").unwrap();
    purged(&sealed, &What::Before(time));
    assert!(!told.exists());
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
    assert!(anywhere(&sealed, "cache dropped its buffer").is_some());
    fs::remove_dir_all(sealed.dirs.project(sealed.tree.project).mined()).unwrap();
    sealed.sync();
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
}

#[test]
fn a_project_goes_and_starts_anew() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("aaaa", sealed.root(), 1));
    sealed.sync();
    let state = sealed.dirs.tree(&sealed.tree.root);
    fs::create_dir_all(state.receipts("2026-11-20").parent().unwrap()).unwrap();
    let receipt =
        json!({"at": "2026-11-20T09:00:00Z", "session": "aaaa", "event": "UserPromptSubmit"});
    fs::write(state.receipts("2026-11-20"), format!("{receipt}\n")).unwrap();
    let report = purged(&sealed, &What::Project);
    assert_eq!((report.sessions, report.receipts), (1, 1));
    assert!(!state.receipts("2026-11-20").exists());
    assert_eq!(anywhere(&sealed, "parser"), None);
    let mut script = eventful("cccc", sealed.root(), 2);
    script = script.starting("2026-11-21T12:30:00Z");
    script.prompt("from now on: always use spaces");
    sealed.write_script(&script);
    assert!(sealed.sync().lines > 0);
    assert!(turns(&sealed, "spaces") > 0);
}

#[test]
fn an_unknown_or_unclear_session_is_said_so() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("ab1", sealed.root(), 1));
    sealed.write_script(&eventful("ab2", sealed.root(), 2));
    sealed.sync();
    let error = |id: &str| {
        format!("{:#}", purge(&sealed.options(), &What::Session(id.into())).unwrap_err())
    };
    assert!(error("x").contains("no archived session begins with x"));
    assert!(error("ab").contains("2 sessions begin with ab"));
}
