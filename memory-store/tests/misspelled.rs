//! A typing error in a prompt does not prevent recall, and an existing word is never corrected to another word.

use crate::common::{Fixture, id, memory};
use memory_store::Kind;

fn fixture(titles: &[&str]) -> Fixture {
    let convention = |(number, title): (u8, &&str)| memory(number, Kind::Convention, title, "");
    Fixture::with((60..).zip(titles).map(convention), &[])
}

#[test]
fn a_slip_brings_what_the_word_brings() {
    let fixture = fixture(&["Before a commit the linter and the migrations of the ledger are run"]);
    let right = fixture.given("what runs before committing migrations?");
    assert_eq!(right, [id(60)]);
    for slip in [
        "what runs before comitting migrations?",
        "what runs before commiting migrations?",
        "what runs before committing migratoins?",
        "what runs before committing migrationns?",
        "What runs before Comitting migrazions?",
    ] {
        assert_eq!(fixture.given(slip), right, "{slip}");
    }
}

#[test]
fn a_word_of_its_own_is_no_slip() {
    // "slack" is in the embedder's vocabulary, but not in the table of words in technical text.
    let fixture = fixture(&["The stack is unwound before the worker stops"]);
    assert_eq!(fixture.given("what is the stack?"), [id(60)]);
    assert_eq!(fixture.given("what is the slack?"), []);
}

#[test]
fn many_unknown_words_are_names_and_no_typing_errors() {
    let fixture = fixture(&["Before a commit the linter and the migrations of the ledger are run"]);
    assert_eq!(fixture.given("comitting migratoins"), [id(60)]);
    assert_eq!(fixture.given("comitting migratoins ledgerr"), []);
}

#[test]
fn a_word_of_the_store_is_not_corrected() {
    let fixture =
        fixture(&["Comitt is the exporter of nightly invoices", "A commit needs a ticket"]);
    assert_eq!(fixture.given("what is comitt?").first(), Some(&id(60)));
    assert_eq!(fixture.given("what is a commti?").first(), Some(&id(61)));
}
