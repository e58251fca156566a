//! A session that continues after a language model has read it: the path from transcripts to memory files.

use std::fs;

use crate::scripts::{Script, Sealed};
use crate::standin::ollama::{Behaviour, Ollama};
use memory_store::Timestamp;
use memory_store::store::Store;
use processor::lock::Busy;
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::transcript::parts::PART_BYTES;
use serde_json::json;

const CHOICE: &str = "We keep the carts in Redis, because they are short-lived.";
const MINUTE_MS: i64 = 60_000;

/// Proposes the decision if a window contains it, and declares it replaced if the session's end contains the
/// replacement.
fn reader(question: &str) -> String {
    if question.contains("when it was shorter") {
        let is_replaced = question.contains("Postgres") && question.contains("D1 [decision");
        let note = json!({"note": "D1", "why": "replaced", "how": "carts live in Postgres"});
        return json!({"overtaken": if is_replaced { vec![note] } else { Vec::new() }}).to_string();
    }
    let part = question.split("<session>").nth(1).unwrap_or_default();
    let memory = json!({
        "kind": "decision", "title": "Carts are kept in Redis", "text": "They are short-lived.",
        "quote": CHOICE, "paths": [], "importance": 80, "standing": true, "cues": [],
    });
    json!({"memories": if part.contains(CHOICE) { vec![memory] } else { Vec::new() }}).to_string()
}

/// Adds turns that fill several windows.
fn talk(script: &mut Script, turns: usize, says: &str) {
    for number in 0..turns {
        let more = "More about it. ".repeat(150);
        script.prompt(&format!("Please describe shelf {number} of the shop. {more}"));
        script.say(&format!("{says} {}", "And so on. ".repeat(200)));
    }
}

#[test]
fn what_the_end_of_a_session_overtook_goes_once_the_session_rests() {
    what_was_overtaken_goes(PART_BYTES);
}

#[test]
fn what_the_end_overtook_goes_from_a_part_that_is_closed() {
    what_was_overtaken_goes(6_000);
}

fn what_was_overtaken_goes(part_bytes: u64) {
    let server = Ollama::start(&["tiny"], Behaviour::Says(reader));
    let sealed = Sealed::new();
    let config = sealed.dirs.config_file();
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\n").unwrap();
    let synced = |script: &Script, minutes: i64, busy: Busy| -> SyncReport {
        let now = Timestamp(Timestamp::parse(&script.time()).unwrap().0 + minutes * MINUTE_MS);
        let ollama_host = Some(server.host.as_str());
        let options = SyncOptions { now, busy, ollama_host, part_bytes, ..sealed.options() };
        let report = sync(&options).unwrap();
        assert_eq!(report.warnings, Vec::<String>::new());
        report
    };
    let is_kept = || {
        let listing = Store::open(&sealed.dirs, &sealed.tree).unwrap().list().unwrap();
        listing.memories.iter().any(|stored| stored.memory.title == "Carts are kept in Redis")
    };
    let standing = || {
        let asked = server.asked("/api/chat");
        asked.iter().filter(|body| body.to_string().contains("when it was shorter")).count()
    };

    let mut script = Script::new("s1", sealed.root());
    script.prompt("Where do we keep the carts?");
    script.say(CHOICE);
    talk(&mut script, 4, "Carts are stored.");
    sealed.write_script(&script);
    let first = synced(&script, 40, Busy::Leave);
    assert!(first.questions > 1 && is_kept(), "{first:?}");
    assert_eq!(standing(), 0);

    // The session continues. Until its end, no question is sent and no memory is lost.
    talk(&mut script, 4, "Carts live in Postgres by now.");
    sealed.write_script(&script);
    let going = synced(&script, 1, Busy::Leave);
    assert!(going.questions == 0 && going.asked_later > 0, "{going:?}");
    assert!(is_kept());

    let asked = server.asked("/api/chat").len();
    let rested = synced(&script, 40, Busy::Leave);
    assert_eq!((standing(), rested.asked_later), (1, 0));
    assert_eq!(server.asked("/api/chat").len() - asked, rested.questions);
    assert!(!is_kept());

    // The question is sent only once.
    synced(&script, 80, Busy::Leave);
    assert_eq!(standing(), 1);
    assert!(!is_kept());
}
