//! If a command fails like an earlier command, but with other words in its output, recall returns the cure of the
//! earlier failure. It does not return the cure for errors of another kind.

use crate::common::vectors::{Shipped, assets};
use crate::common::{Fixture, NOW, id, memory};
use memory_store::memory::Memory;
use memory_store::signature::error_signature;
use memory_store::{Kind, MemoryId};

/// Returns a project with a cure for a refused connection, and a warning about it.
fn fixture(kind: Kind) -> Fixture {
    let mut fixture = Fixture::filled();
    fixture.dirs.models = Some(assets());
    let cure = memory(
        60,
        kind,
        "The ledger database refuses connections until it is started",
        "`make migrate` failed: could not connect to the ledger database: connection refused. Start it with \
         `make db-up` first.",
    );
    let error = "error: could not connect to the ledger database: connection refused";
    let signatures = match kind {
        Kind::Fix => error_signature(error).into_iter().collect(),
        _ => Vec::new(),
    };
    fixture.write(Memory { signatures, ..cure });
    let vectors = Shipped::open();
    let publisher = fixture.publisher(&vectors);
    fixture.publish_with(publisher, &fixture.list(), None);
    fixture
}

#[test]
fn an_error_in_other_words_brings_what_cured_it_and_only_once() {
    for kind in [Kind::Fix, Kind::Gotcha] {
        let fixture = fixture(kind);
        let recall = fixture.recall();
        for error in [
            "FATAL: connecting to database ledger was refused by the server",
            "Traceback (most recent call last):\n  File \"/app/migrate.py\", line 12, in <module>\n    main()\n\
             psycopg2.OperationalError: connection to server at db, port 5432 failed: Connection refused. Is the \
             server running?",
        ] {
            let given = |skip: &dyn Fn(MemoryId) -> bool| -> Vec<MemoryId> {
                let found = recall.error("make migrate", error, NOW, skip);
                found.hits.iter().map(|hit| hit.id).collect()
            };
            assert_eq!(given(&|_| false).first(), Some(&id(60)), "{error}");
            assert!(!given(&|given| given == id(60)).contains(&id(60)), "{error}");
        }
    }
}

#[test]
fn an_error_of_another_kind_brings_no_cure_that_only_looks_like_one() {
    let fixture = fixture(Kind::Fix);
    let recall = fixture.recall();
    for error in [
        "error: cannot open file ledger.toml",
        "error[E0432]: unresolved import `ledger::database`",
        "fatal: unable to access 'https://example.com/x.git/': Could not resolve host: example.com",
        "FAILED tests/test_totals.py::test_sum - AssertionError: assert 41 == 42",
        "npm ERR! code ERESOLVE could not resolve dependency tree",
        "bash: line 3: gradle: command not found",
    ] {
        let found = recall.error("make check", error, NOW, &|_| false);
        assert!(found.hits.iter().all(|hit| hit.id != id(60)), "{error}");
    }
}
