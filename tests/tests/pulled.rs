//! Memories that a colleague committed: a pull fetches them, the start of a session notifies the user once, and each
//! memory is labelled. With `pulled = "reviewed"`, none of them is injected before its release.

use std::fs;

use journeys::environment::TestEnvironment;
use journeys::hook_run::Moment;

const NOW: &str = "2026-10-02T09:30:00Z";

#[test]
fn pulled_memories_are_announced_once_and_given_as_the_user_wants() {
    let theirs = TestEnvironment::new().unwrap().at(NOW);
    let upstream = theirs.repository("upstream").unwrap();
    theirs.throughline(&upstream, &["init", "--yes", "--no-register"]).unwrap();
    let add = |text: &str, kind: &str| {
        theirs.throughline(&upstream, &["add", text, "-k", kind]).unwrap();
        theirs.git(&upstream, &["add", "."]).unwrap();
        theirs.git(&upstream, &["commit", "--quiet", "--message=x"]).unwrap();
    };
    add("Prices are integer cents", "convention");

    let ours = TestEnvironment::new().unwrap().at(NOW);
    let url = upstream.to_str().unwrap();
    ours.git(&ours.path(), &["clone", "--quiet", url, "clone"]).unwrap();
    let root = ours.path().join("clone");
    let run = |arguments: &[&str]| ours.throughline(&root, arguments).unwrap();
    let vouched = run(&["trust", "--no-release"]);
    assert!(vouched.contains("Vouched") && !vouched.contains("Released"), "{vouched}");
    assert!(run(&["trust"]).contains("integer cents"));
    run(&["trust", "--yes"]);
    run(&["sync"]);
    let start = |session: &str| {
        let started = Moment::start("startup").run(&ours, &root, session).unwrap();
        assert_eq!(ours.wait_until_quiet(), Vec::<String>::new());
        started
    };
    let first = start("one");
    assert!(first.context().contains("integer cents"), "{:?}", first.output);
    assert!(!first.context().contains("from the repository]"), "{}", first.context());
    assert!(!first.notice().contains("from the repository"), "{}", first.notice());

    add("The staging database is read only", "convention");
    add("Tags are signed with the release key", "preference");
    ours.git(&root, &["pull", "--quiet"]).unwrap();
    // The new files were not checked yet. The start of the session begins a check, and the sync waits for its end.
    assert!(!start("two").context().contains("staging"));
    run(&["sync"]);
    let third = start("three");
    let told = "Throughline: 2 new memories from the repository, labelled so: throughline trust";
    assert!(third.notice().contains(told), "{}", third.notice());
    let context = third.context();
    assert!(context.contains("from the repository] 2026-10-02: The staging"), "{context}");
    assert!(!context.contains("release key"), "a wish of somebody else: {context}");
    let status = run(&["status"]);
    assert!(status.contains("2 new memories from the repository"), "{status}");

    let config = ours.home().join(".config/throughline/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "pulled = \"reviewed\"\n").unwrap();
    let context = start("four").context().to_owned();
    assert!(context.contains("integer cents") && !context.contains("staging"), "{context}");
    run(&["trust", "--yes"]);
    let context = start("five").context().to_owned();
    assert!(context.contains("staging") && context.contains("release key"), "{context}");
    assert!(!context.contains("from the repository]"), "{context}");
}
