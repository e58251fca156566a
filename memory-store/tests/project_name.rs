//! A prompt that has only the project's name in common with memories recalls nothing. The name does not affect the
//! other words of a prompt.

use crate::common::vectors::Shipped;
use crate::common::{Fixture, id, memory};
use memory_store::Kind;

/// Returns a store with two memories that contain the project's name. `called` is the list of names of the project.
fn fixture(called: &[&str]) -> Fixture {
    let notes = [
        "The FAQ of parcel-desk is built from the wiki each night",
        "parcel-desk talks to the lockers over MQTT",
    ];
    let fact = |(number, title): (u8, &str)| memory(number, Kind::Fact, title, "");
    Fixture::with((60..).zip(notes).map(fact), called)
}

#[test]
fn a_prompt_that_shares_only_the_name_is_about_nothing_known() {
    let prompt = "translate the parcel-desk slogan to german";
    assert!(!fixture(&[]).given(prompt).is_empty(), "without a name known, it opens the gate");
    let fixture = fixture(&["work", "Parcel-Desk"]);
    assert!(fixture.given(prompt).is_empty());
    assert!(fixture.given("parcel-desk").is_empty());
    let asked = fixture.given("how does parcel-desk talk to the lockers?");
    assert_eq!(asked.first(), Some(&id(61)));
}

#[test]
fn another_name_is_published_without_another_memory() {
    let fixture = fixture(&[]);
    let vectors = Shipped::open();
    let publish = |name: &str| {
        let mut publisher = fixture.publisher(&vectors);
        publisher.names = [name.to_owned()].into();
        fixture.publish_with(publisher, &fixture.list(), None).changed
    };
    assert_eq!(["parcel-desk", "parcel-desk", "locker-desk"].map(publish), [true, false, true]);
}
