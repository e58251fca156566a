//! A slip in a prompt costs no memory, and a word that is one is never taken for another.

use crate::common::vectors::{Shipped, assets};
use crate::common::{Fixture, NOW, id, memory};
use memory_store::index::build::{Publisher, Turns};
use memory_store::{Kind, MemoryId};

fn fixture(titles: &[&str]) -> Fixture {
    let mut fixture = Fixture::filled();
    fixture.dirs.models = Some(assets());
    for (number, title) in (60..).zip(titles) {
        fixture.write(memory(number, Kind::Convention, title, ""));
    }
    let vectors = Shipped::open();
    let publisher = Publisher::begin(&fixture.index()).unwrap().vectors(&vectors);
    fixture.publish_with(publisher, &fixture.list(), Turns::Keep);
    fixture
}

fn given(fixture: &Fixture, prompt: &str) -> Vec<MemoryId> {
    let found = fixture.recall().prompt(prompt, NOW, &|_| false);
    found.hits.iter().map(|hit| hit.id).collect()
}

#[test]
fn a_slip_brings_what_the_word_brings() {
    let fixture = fixture(&["Before a commit the linter and the migrations of the ledger are run"]);
    let right = given(&fixture, "what runs before committing migrations?");
    assert_eq!(right, [id(60)]);
    for slip in [
        "what runs before comitting migrations?",
        "what runs before commiting migrations?",
        "what runs before committing migratoins?",
        "what runs before committing migrationns?",
        "What runs before Comitting migrazions?",
    ] {
        assert_eq!(given(&fixture, slip), right, "{slip}");
    }
}

#[test]
fn a_word_of_its_own_is_no_slip() {
    // Both are words: "slack" is in the embedder's vocabulary, though technical text of the table lacks it.
    let fixture =
        fixture(&["The stack of batches is drained by the evaluation worker before it stops"]);
    assert_eq!(given(&fixture, "evaluation batches stack").first(), Some(&id(60)));
    let with_slack = fixture.recall().prompt("send a slack message", NOW, &|_| false);
    assert!(with_slack.hits.is_empty(), "{:?}", with_slack.hits);
}

#[test]
fn a_word_that_the_store_knows_is_meant_as_it_stands() {
    let fixture = fixture(&[
        "The frobnik queue is drained before a deploy",
        "The frobnix exporter writes one file per night",
    ]);
    assert_eq!(given(&fixture, "where does the frobnix exporter write?").first(), Some(&id(61)));
    assert_eq!(given(&fixture, "when is the frobnik queue drained?").first(), Some(&id(60)));
}
