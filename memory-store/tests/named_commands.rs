//! A plan that names a command recalls known problems with the command, regardless of the other subjects of the plan.

use crate::common::{self, Fixture, NOW, id, memory};
use memory_store::fs::lock::LOCK_WAIT;
use memory_store::index::journal;
use memory_store::memory::{PathRef, Scope};
use memory_store::{Kind, Memory, Timestamp};

const PLAN: &str = "Implement the following plan:\n\n# Swatches in the sidebar\n\nThe sidebar shows a swatch for each \
                    theme. It gets a tooltip.\n\n## Check\n\n1. `npm run test` passes\n2. The swatches look right";

fn trap(number: u8, text: &str) -> Memory {
    memory(number, Kind::Gotcha, text, "They are not the project's own.")
}

#[test]
fn a_plan_brings_the_trap_of_a_command_it_names() {
    let clones = trap(60, "`npm run test` also runs what lies in cloned repositories");
    let fixture = Fixture::with([clones], &[]);
    assert_eq!(fixture.given(PLAN), [id(60)]);
    let why = &fixture.recall().prompt(PLAN, None, NOW, &|_| false).hits[0].why;
    assert!(why.contains("the command `npm run test`"), "{why:?}");
    for other in ["npm run lint", "npm run test:e2e", "npm test"] {
        assert!(fixture.given(&PLAN.replace("npm run test", other)).is_empty(), "{other}");
    }
    // The memory is also recalled from the journal, before its file is in the index.
    let late = fixture.write(trap(61, "Without a display `npm run build` hangs"));
    let put = common::put(&late, fixture.root());
    journal::append(&fixture.index(), &put, LOCK_WAIT).unwrap();
    assert_eq!(fixture.given(&PLAN.replace("npm run test", "npm run build")), [id(61)]);
}

#[test]
fn a_trap_that_is_not_given_takes_no_place() {
    let mut memories: Vec<Memory> = (60..64)
        .map(|number| {
            trap(number, &format!("On machine {number} `npm run test` needs more memory"))
        })
        .collect();
    for memory in &mut memories[..3] {
        memory.confidence = 1.0;
    }
    memories[0].valid_until = Some(Timestamp(NOW.0 - 1));
    memories[1].superseded_by = Some(id(63));
    memories[2].scope = Scope::Paths;
    memories[2].paths = vec![PathRef { path: "packages/old/**".into(), seen: None }];
    assert_eq!(Fixture::with(memories, &[]).given(PLAN), [id(63)]);
}

#[test]
fn of_many_traps_of_one_command_two_come() {
    let traps: Vec<Memory> = ["Windows", "macOS", "the runner", "Alpine"]
        .iter()
        .zip(60..)
        .map(|(place, number)| {
            trap(number, &format!("On {place} `npm run test` needs more memory"))
        })
        .collect();
    assert_eq!(Fixture::with(traps, &[]).given(PLAN).len(), 2);
}
