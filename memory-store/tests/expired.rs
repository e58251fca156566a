//! An expired memory suppresses no other memory. The memory that it superseded is valid again, its repetitions are
//! returned, and other cures are found for its error. Each test uses an index that was published before the expiry and
//! an index that was published after it.

use crate::common::{Fixture, NOW, id, memory};
use memory_store::index::document::Passage;
use memory_store::memory::Memory;
use memory_store::recall::passages::Already;
use memory_store::recall::{Recalled, Search};
use memory_store::signature::error_signature;
use memory_store::{Kind, Timestamp};

/// End of validity for an index that is published before the expiry.
const UNTIL: Timestamp = Timestamp(NOW.0 + 1000);
/// A time after `UNTIL`.
const LATER: Timestamp = Timestamp(NOW.0 + 2000);

/// Runs a test with an index that was published before the expiry, and with an index that was published after it.
fn both(write: impl Fn(&Fixture, Timestamp), check: impl Fn(&Fixture, Timestamp)) {
    for (until, now) in [(UNTIL, LATER), (Timestamp(NOW.0 - 1), NOW)] {
        let fixture = Fixture::filled();
        write(&fixture, until);
        fixture.publish();
        check(&fixture, now);
    }
}

fn ids(recalled: &Recalled) -> Vec<String> {
    recalled.hits.iter().map(|hit| hit.title.clone()).collect()
}

/// Returns a fact about the port of the fictitious quota probe.
fn port(number: u8, port: u16) -> Memory {
    memory(number, Kind::Fact, &format!("The quota probe listens on port {port}"), "Set by hand.")
}

fn asked(fixture: &Fixture, now: Timestamp) -> [Vec<String>; 2] {
    let recall = fixture.recall();
    let prompt = recall.prompt("which port does the quota probe listen on?", None, now, &|_| false);
    let search = Search { text: "quota probe port".to_owned(), ..Search::default() };
    let searched = ids(&recall.search(&search, now));
    let about = |titles: Vec<String>| -> Vec<String> {
        titles.into_iter().filter(|title| title.contains("quota probe")).collect()
    };
    [about(ids(&prompt)), about(searched)]
}

#[test]
fn what_an_expired_memory_replaced_holds_again() {
    for names in ["supersedes", "superseded_by"] {
        let write = |fixture: &Fixture, until: Timestamp| {
            let (mut old, mut new) = (port(60, 7440), port(61, 7450));
            match names {
                "supersedes" => new.supersedes = vec![id(60)],
                _ => old.superseded_by = Some(id(61)),
            }
            new.valid_until = Some(until);
            fixture.write(old);
            fixture.write(new);
        };
        both(write, |fixture, now| {
            let expected = vec!["The quota probe listens on port 7440".to_owned()];
            assert_eq!(asked(fixture, now), [expected.clone(), expected], "{names}");
        });
        // Before its expiry, the newer memory supersedes the older one.
        let fixture = Fixture::filled();
        write(&fixture, UNTIL);
        fixture.publish();
        let expected = vec!["The quota probe listens on port 7450".to_owned()];
        assert_eq!(asked(&fixture, NOW), [expected.clone(), expected], "{names}");
    }
}

#[test]
fn what_replaced_an_expired_memory_stands_for_both() {
    both(
        |fixture, until| {
            let middle =
                Memory { supersedes: vec![id(60)], valid_until: Some(until), ..port(61, 7450) };
            fixture.write(port(60, 7440));
            fixture.write(middle);
            fixture.write(Memory { supersedes: vec![id(61)], ..port(62, 7460) });
        },
        |fixture, now| {
            let expected = vec!["The quota probe listens on port 7460".to_owned()];
            assert_eq!(asked(fixture, now), [expected.clone(), expected]);
        },
    );
}

#[test]
fn an_expired_memory_is_no_reason_to_omit_one_with_the_same_content() {
    both(
        |fixture, until| {
            let title = "The quota probe is paused while the audit runs";
            let surer = Memory {
                confidence: 1.0,
                pinned: true,
                valid_until: Some(until),
                ..memory(60, Kind::Fact, title, "")
            };
            fixture.write(surer);
            fixture.write(memory(61, Kind::Gotcha, title, ""));
        },
        |fixture, now| {
            let found =
                fixture.recall().prompt("is the quota probe paused?", None, now, &|_| false);
            assert_eq!(found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(61)]);
        },
    );
}

#[test]
fn an_expired_cure_keeps_nothing_else_from_answering_its_error() {
    let error = "error: cannot find quota probe socket /run/quota.sock";
    let signatures: Vec<String> = error_signature(error).into_iter().collect();
    assert_eq!(signatures.len(), 1);
    for (until, now) in [(UNTIL, LATER), (Timestamp(NOW.0 - 1), NOW)] {
        let fixture = Fixture::filled();
        let cure = memory(60, Kind::Fix, "Create the quota probe socket by hand", "As root.");
        fixture.write(Memory { signatures: signatures.clone(), valid_until: Some(until), ..cure });
        let turn = Passage {
            session: "earlier".into(),
            at: NOW,
            text: "cannot find quota probe socket: systemctl restart quota.socket made it".into(),
            errors: signatures.clone(),
            ..Passage::default()
        };
        fixture.publish_turns(fixture.added(&mut std::iter::once(turn)));
        let found = fixture.recall().error("quota status", error, now, &|_| false);
        assert!(found.hits.is_empty() && !found.given_before, "{found:?}");
        let recall = fixture.recall();
        let passage = recall.passage_of_error("quota status", error, now, &Already::NOTHING);
        assert!(passage.unwrap().text.contains("systemctl restart"));
    }
}
