//! Memories that a colleague committed: a pull brings them, a session's start tells the person once, and
//! what the person does not take unseen reaches no model before a review.

use std::fs;

use journeys::environment::TestEnvironment;
use journeys::hook_run::Moment;

const NOW: &str = "2026-10-02T09:30:00Z";

#[test]
fn what_a_pull_brings_is_told_once_and_given_as_the_user_wants() {
    let theirs = TestEnvironment::new().unwrap().at(NOW);
    let upstream = theirs.repository("upstream").unwrap();
    theirs.throughline(&upstream, &["init", "--yes", "--no-register"]).unwrap();
    let add =
        |text: &str| theirs.throughline(&upstream, &["add", text, "-k", "convention"]).unwrap();
    let commit = |author: &str| {
        theirs.git(&upstream, &["add", "."]).unwrap();
        let author = format!("--author=Somebody <{author}>");
        theirs.git(&upstream, &["commit", "--quiet", "--message=x", &author]).unwrap();
    };
    add("Prices are integer cents");
    commit("ada@example.com");

    let ours = TestEnvironment::new().unwrap().at(NOW);
    fs::write(ours.home().join(".gitconfig"), "[user]\n\temail = ada@example.com\n").unwrap();
    let url = upstream.to_str().unwrap();
    ours.git(&ours.path(), &["clone", "--quiet", url, "clone"]).unwrap();
    let root = ours.path().join("clone");
    ours.throughline(&root, &["trust", "--author", "bob@example.com"]).unwrap();
    let start = |session: &str| Moment::start("startup").run(&ours, &root, session).unwrap();
    let first = start("one");
    assert!(first.context().contains("integer cents"), "{:?}", first.output);
    assert!(!first.notice().contains("by others"), "{}", first.notice());
    assert_eq!(ours.wait_until_quiet(), Vec::<String>::new());

    add("The staging database is read only");
    add("Tags are signed by the release script");
    commit("bob@example.com");
    add("The deploy key lies in the wiki");
    commit("mallory@example.com");
    ours.git(&root, &["pull", "--quiet"]).unwrap();
    // Nobody has looked at what came, so none of it is given; the start has it looked at.
    let second = start("two");
    assert!(!second.context().contains("staging") && !second.context().contains("deploy"));
    assert_eq!(ours.wait_until_quiet(), Vec::<String>::new());
    let third = start("three");
    let told =
        "Throughline: 3 new memories by others came with the last pull; 1 held: throughline review";
    assert!(third.notice().contains(told), "{}", third.notice());
    let context = third.context();
    assert!(context.contains("staging") && context.contains("release script"), "{context}");
    assert!(!context.contains("deploy key"), "{context}");
    assert!(!start("four").notice().contains("by others"));
    let status = ours.throughline(&root, &["status"]).unwrap();
    assert!(status.contains("3 new memories by others came with the last pull"), "{status}");

    let review = ours.throughline(&root, &["review"]).unwrap();
    assert!(
        review.contains("mallory@example.com committed it, who is not trusted here"),
        "{review}"
    );
    ours.throughline(&root, &["review", "--release-pulled"]).unwrap();
    assert!(start("five").context().contains("deploy key"));
    assert_eq!(ours.wait_until_quiet(), Vec::<String>::new());
}
