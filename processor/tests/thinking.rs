//! Thinking is archived with its turn, found only on request, and removed with the session.

use std::path::Path;

use crate::scripts::{self, Script, Sealed, now};
use memory_store::recall::{Collection, Hit, Recall, Search, Tier};
use processor::upkeep::purge::{PurgeTarget, purge};
use serde_json::json;

/// Returns a session whose second turn has two pieces of thinking: one with a secret, and an empty one as written by
/// newer clients.
fn thoughtful(sealed: &Sealed, session: &str, secret: &str) -> Script {
    let mut script = Script::new(session, sealed.root());
    script.prompt("Make the importer faster");
    script.say("It is faster now.");
    script.prompt("Why was the importer slow?");
    let thought =
        format!("The zebra cache is rebuilt for each row. password={secret} helps nobody.");
    script.block_of("m1", json!({"type": "thinking", "thinking": thought, "signature": "x"}));
    script.block_of("m1", json!({"type": "thinking", "thinking": "", "signature": "only"}));
    script.block_of("m1", json!({"type": "text", "text": "It did the same work for every row."}));
    script.prompt("Thanks");
    script.block_of(
        "m2",
        json!({"type": "thinking", "thinking": "Nothing is left to do here.", "signature": "x"}),
    );
    script.block_of("m2", json!({"type": "text", "text": "You are welcome."}));
    script
}

fn found(sealed: &Sealed, search: Search) -> Vec<Hit> {
    let recalled = Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now());
    assert_eq!(recalled.degraded, None);
    recalled.hits
}

fn thoughts(sealed: &Sealed, text: &str) -> Vec<Hit> {
    found(sealed, Search { text: text.into(), tier: Tier::Thinking, ..Search::default() })
}

#[test]
fn a_thought_is_found_where_it_is_asked_for_and_nowhere_else() {
    let sealed = Sealed::new();
    sealed.want_thinking();
    sealed.write_script(&thoughtful(&sealed, "s1", "hunter2hunter2"));
    sealed.sync();
    let hits = thoughts(&sealed, "zebra rows");
    assert_eq!(hits.len(), 1);
    let hit = &hits[0];
    assert_eq!((hit.collection, hit.turn), (Collection::Thinking, 1));
    assert_eq!(hit.session.as_deref(), Some("s1"));
    assert!(hit.text.starts_with("The zebra cache is rebuilt for each row."), "{}", hit.text);
    assert!(!hit.text.contains("hunter2"), "{}", hit.text);
    assert_eq!(thoughts(&sealed, "importer slow"), [], "that was said");
    assert_eq!(
        found(&sealed, Search { text: "zebra".into(), tier: Tier::Passages, ..Search::default() }),
        []
    );
    assert_eq!(found(&sealed, Search { text: "zebra".into(), ..Search::default() }), []);
    let recall = Recall::open(&sealed.dirs, &sealed.tree, None);
    let asked = recall.prompt("Is the zebra cache rebuilt for each row?", None, now(), &|_| false);
    assert!(asked.hits.iter().all(|hit| !hit.text.contains("zebra")), "{:?}", asked.hits);
    let committed = sealed.files(|path| !path.starts_with("work/.throughline"));
    assert!(committed.iter().all(|(_, bytes)| !bytes.windows(5).any(|word| word == b"zebra")));
}

#[test]
fn it_is_indexed_once_somebody_searches_it() {
    let sealed = Sealed::new();
    sealed.write_script(&thoughtful(&sealed, "s1", "x"));
    sealed.sync();
    let folder = sealed.dirs.tree(&sealed.tree.root).thinking;
    assert!(!folder.exists());
    let search = Search { text: "zebra".into(), tier: Tier::Thinking, ..Search::default() };
    let recalled = Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now());
    assert_eq!(recalled.hits, []);
    assert!(recalled.degraded.is_some_and(|told| told.contains("the next sync")));
    sealed.want_thinking();
    sealed.sync();
    assert_eq!(thoughts(&sealed, "zebra").len(), 1);
    // An index that was not requested, as older versions created it, is removed.
    std::fs::remove_file(sealed.dirs.tree(&sealed.tree.root).thinking_wanted).unwrap();
    sealed.sync();
    assert!(!folder.exists());
}

#[test]
fn a_session_that_goes_on_adds_to_it_and_a_lost_index_is_made_again() {
    let sealed = Sealed::new();
    sealed.want_thinking();
    let mut script = thoughtful(&sealed, "s1", "x");
    sealed.write_script(&script);
    sealed.sync();
    script.prompt("And the exporter?");
    script.block_of(
        "m3",
        json!({"type": "thinking", "thinking": "The exporter has a yak cache.", "signature": "x"}),
    );
    script.say("It is fine.");
    sealed.write_script(&script);
    sealed.sync();
    assert_eq!(thoughts(&sealed, "yak").len(), 1);
    assert_eq!(thoughts(&sealed, "zebra").len(), 1);
    std::fs::remove_dir_all(sealed.dirs.tree(&sealed.tree.root).thinking).unwrap();
    sealed.sync();
    assert_eq!((thoughts(&sealed, "yak").len(), thoughts(&sealed, "zebra").len()), (1, 1));
}

#[test]
fn a_purge_takes_it_and_proves_it() {
    let sealed = Sealed::new();
    sealed.want_thinking();
    sealed.write_script(&thoughtful(&sealed, "s1", "x"));
    sealed.write_script(&scripts::eventful("s2", sealed.root(), 1));
    sealed.sync();
    assert_eq!(thoughts(&sealed, "zebra").len(), 1);
    let report = purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
    assert!(report.left.is_empty(), "{:?}", report.left);
    assert_eq!(thoughts(&sealed, "zebra").len(), 0);
    for (path, bytes) in sealed.files(|path: &Path| path.starts_with(".claude")) {
        assert!(!bytes.windows(11).any(|word| word == b"zebra cache"), "{}", path.display());
        assert!(!path.ends_with("s1.jsonl.gz"));
    }
}
