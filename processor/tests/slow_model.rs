//! A model with time for only one question in each sync. The newest session is read first, and answers are kept while
//! other sessions wait.

use std::time::Duration;

use crate::scripts::{Script, Sealed};
use crate::standin::openai::{Act, OpenAi};
use memory_store::identity::Mode;
use memory_store::store::Store;
use processor::lock::Busy;
use processor::sync::{SyncOptions, SyncReport, sync};
use serde_json::json;

const THINGS: [&str; 6] = [
    "harbour crane",
    "invoice number",
    "tide gauge",
    "weather mast",
    "staging server",
    "photographs",
];

/// Rules that the user states, one in each part.
const SAID: [&str; 6] = [
    "Grease the harbour crane before each season because salt eats its bearings",
    "An invoice number is never used twice, not even after a refund",
    "Poll the tide gauge every seventeen seconds; its firmware drops faster readers",
    "Readings of the weather mast are stored as knots, since pilots think in them",
    "Deploys go through the staging server on Thursdays, never straight to production",
    "Keep the original photographs untouched and write thumbnails beside them",
];

/// Returns an answer with all rules. A part contains only one of them, so only this one is accepted.
fn answer() -> String {
    let memory = |number: usize| {
        json!({
            "kind": "decision", "title": SAID[number], "text": "The user laid it down.",
            "quote": SAID[number], "importance": 90, "standing": true,
        })
    };
    json!({"memories": (0..THINGS.len()).map(memory).collect::<Vec<_>>()}).to_string()
}

/// Returns three sessions of two parts each, with `server` as their reader.
fn project(server: &OpenAi) -> Sealed {
    let sealed = Sealed::with_mode(Mode::Private);
    for session in 0..3 {
        let start = format!("2026-11-1{session}T09:00:00Z");
        let name = format!("{session}0000000-0000-4000-8000-000000000000");
        let mut script = Script::new(&name, sealed.root()).starting(&start);
        for part in 0..2 {
            let filler = "This is how it was always done at the quay. ".repeat(250);
            script.prompt(&format!("{}. {filler}", SAID[2 * session + part]));
            script.say("Understood.");
        }
        sealed.write_script(&script);
    }
    let config = format!(
        "[llm]\nprovider = \"openai\"\nmodel = \"tiny\"\nhost = \"http://{}\"\n",
        server.host
    );
    let path = sealed.dirs.config_file();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, config).unwrap();
    sealed
}

/// Runs a sync without time for questions, which nevertheless sends one.
fn one_question(sealed: &Sealed) -> SyncReport {
    let options =
        SyncOptions { busy: Busy::Leave, asked_at_once: Duration::ZERO, ..sealed.options() };
    sync(&options).unwrap()
}

/// Returns the subjects of the model's memories.
fn remembered(sealed: &Sealed) -> Vec<&'static str> {
    let listing = Store::open(&sealed.dirs, &sealed.tree).unwrap().list().unwrap();
    let of_model = |title: &str| {
        listing.memories.iter().any(|stored| {
            stored.memory.source.extractor.as_deref() == Some("openai/tiny")
                && stored.memory.title.contains(title)
        })
    };
    THINGS.into_iter().filter(|thing| of_model(thing)).collect()
}

#[test]
fn what_was_answered_stays_while_the_rest_waits() {
    let server = OpenAi::start(&["json_schema"], Act::Says(answer()));
    let sealed = project(&server);
    // The newest session is read from its beginning; then the session before it.
    let parts = [4, 5, 2, 3, 0, 1];
    for (run, waiting) in [3, 2, 2, 1, 1, 0].into_iter().enumerate() {
        let mut answered = parts[..=run].to_vec();
        answered.sort_unstable();
        let expected: Vec<&str> = answered.into_iter().map(|part| THINGS[part]).collect();
        let report = one_question(&sealed);
        assert_eq!((report.questions, report.asked_later), (1, waiting), "run {run}: {report:?}");
        // In the first run, all sessions are mined. In later runs, one session is read, and the others stay unchanged.
        assert_eq!(report.sessions_mined, if run == 0 { 3 } else { 1 }, "run {run}");
        assert_eq!(remembered(&sealed), expected, "run {run}");
        assert_eq!(processor::mining::waiting(&sealed.dirs.project(sealed.tree.project)), waiting);
        assert_eq!(report.asking_left_s.is_some(), waiting > 0);
    }
    let questions = server.asked().len();
    while one_question(&sealed).relations_later > 0 {}
    let report = one_question(&sealed);
    assert!(report.nothing_new, "{report:?}");
    let about_notes = server.asked().len() - questions;
    assert!(about_notes <= 6, "{about_notes} questions how six notes relate");
}
