//! The project's name alone brings nothing, and takes nothing away from what else a prompt says.

use crate::common::vectors::{Shipped, assets};
use crate::common::{Fixture, NOW, id, memory};
use memory_store::{Kind, MemoryId};

/// A store with two memories that name the project, which is called `called`.
fn fixture(called: &[&str]) -> Fixture {
    let mut fixture = Fixture::filled();
    fixture.dirs.models = Some(assets());
    let notes = [
        "The FAQ of parcel-desk is built from the wiki each night",
        "parcel-desk talks to the lockers over MQTT",
    ];
    for (number, title) in (60..).zip(notes) {
        fixture.write(memory(number, Kind::Fact, title, ""));
    }
    let vectors = Shipped::open();
    let mut publisher = fixture.publisher(&vectors);
    publisher.names = called.iter().map(|&name| name.to_owned()).collect();
    fixture.publish_with(publisher, &fixture.list(), None);
    fixture
}

fn given(fixture: &Fixture, prompt: &str) -> Vec<MemoryId> {
    let found = fixture.recall().prompt(prompt, None, NOW, &|_| false);
    found.hits.iter().map(|hit| hit.id).collect()
}

#[test]
fn a_prompt_that_shares_only_the_name_is_about_nothing_known() {
    let prompt = "translate the parcel-desk slogan to german";
    assert!(!given(&fixture(&[]), prompt).is_empty(), "without a name known, it opens the gate");
    let fixture = fixture(&["work", "Parcel-Desk"]);
    assert!(given(&fixture, prompt).is_empty());
    assert!(given(&fixture, "parcel-desk").is_empty());
    let asked = given(&fixture, "how does parcel-desk talk to the lockers?");
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
