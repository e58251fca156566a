//! Follow-up prompts about a fictitious shop. The topic of the preceding prompt helps to recall memories for follow-up
//! prompts, but must not open the gate for other prompts.

use crate::common::vectors::{Shipped, assets};
use crate::common::{Fixture, NOW, memory};
use memory_store::Kind;
use memory_store::index::build::Publisher;
use memory_store::recall::{Recall, Topic};

/// Memories of the shop.
const MEMORIES: &[(&str, &str)] = &[
    ("Deploy staging with make ship-staging", "It needs the VPN and takes four minutes."),
    (
        "Deploy production with make ship-prod",
        "Only from the release branch, and never on Fridays.",
    ),
    ("Retries of the upload client use exponential backoff", "Base 200 ms, at most five times."),
    ("Retries of the download client are off", "The mirror bans addresses that ask twice."),
    (
        "The invoice exporter writes UTF-8 with a byte order mark",
        "Spreadsheets guess wrong without it.",
    ),
    ("The payroll exporter writes Latin-1", "The bank's import rejects anything else."),
    ("Sessions expire after thirty minutes", "Security asked for it after the audit."),
    ("API tokens expire after ninety days", "A cron job mails their owners a week before."),
    ("The orders table is partitioned by month", "Queries without a date scan all of it."),
    (
        "The customers table is replicated to the warehouse",
        "Renaming a column breaks the nightly report.",
    ),
    ("Unit tests run with cargo nextest", "Doc tests are separate."),
    ("Browser tests need a seeded database", "Run make seed-browser first."),
    ("Postgres runs on port 5544 locally", "5432 is taken by the warehouse tunnel."),
    ("Redis runs on port 6380 locally", "Its password is in the vault."),
    ("The search page caches results for a minute", "Longer hid new products."),
    ("The product page must not be cached", "Prices differ between customers."),
    ("Feature flags live in flags.toml", "A restart is not needed."),
    ("The payment sandbox declines amounts that end in 13", "Use it to test declined cards."),
    ("Emails are sent through a queue", "Sending in the request timed out at checkout."),
    ("Pictures are resized by the worker", "The browser gets three widths."),
    ("Log lines are JSON with a trace id", "The collector drops everything else."),
    ("Money is kept in cents", "Floats lost a cent in the March invoices."),
    ("Branches are named after the ticket", "The bot links them."),
    ("The mobile app pins the certificate", "Rotate it two releases ahead."),
    ("Translations come from the weekly export", "Do not edit the files by hand."),
    ("The nightly backup is encrypted with age", "The key is with operations."),
    ("Rate limits are per customer", "Shared addresses were locked out before."),
    ("The admin panel is behind single sign-on", "Local logins are disabled."),
    ("Webhooks are signed with a shared secret", "Old signatures are accepted for a day."),
    ("Stock is reserved for ten minutes", "The worker frees it afterwards."),
];

/// The first prompt of a session, its follow-up prompt, and the beginning of the expected title. The title is empty if
/// no memory answers the follow-up prompt.
const TALKS: &[(&str, &str, &str)] = &[
    ("How do we deploy to staging?", "and production?", "Deploy production"),
    ("deploy the branch to staging please", "now the same for production", "Deploy production"),
    (
        "Set up retries with backoff in the upload client",
        "do the same for the download client",
        "Retries of the download",
    ),
    (
        "What encoding does the invoice exporter write?",
        "what about payroll?",
        "The payroll exporter",
    ),
    ("When do sessions expire?", "and tokens?", "API tokens"),
    ("Which port does Postgres run on locally?", "and redis?", "Redis runs"),
    ("Does the search page cache its results?", "and the product one?", "The product page"),
    ("How do I run the unit tests?", "what about the browser ones?", "Browser tests"),
    (
        "How is the orders table laid out, is it partitioned?",
        "and customers?",
        "The customers table",
    ),
    ("Which port does Postgres run on locally?", "and the second?", ""),
    ("How do we deploy to staging?", "do it again", ""),
    ("How do we deploy to staging?", "do the same for the other one", ""),
    ("When do sessions expire?", "thanks, now write a haiku", ""),
    ("Which port does Postgres run on locally?", "rename the button", ""),
    ("What encoding does the invoice exporter write?", "and the sidebar colour?", ""),
    ("How do I run the unit tests?", "also fix the typo in the heading", ""),
    ("Does the search page cache its results?", "now bump the version", ""),
    ("How is the orders table laid out, is it partitioned?", "and explain closures", ""),
    ("Are webhooks signed?", "and make the font larger", ""),
    ("How long is stock reserved?", "sort the imports too", ""),
    ("deploy the branch to staging please", "and squash the commits", ""),
    ("Where do feature flags live?", "what about dark mode?", ""),
    ("Set up retries with backoff in the upload client", "and fix the page header", ""),
    ("Are webhooks signed?", "also update the table of contents", ""),
    ("How long is stock reserved?", "now run it with verbose logs", ""),
    ("When do sessions expire?", "the second test fails too", ""),
];

fn shop(vectors: Option<&Shipped>) -> Fixture {
    let fixture = Fixture::empty();
    for (number, (title, body)) in (1..).zip(MEMORIES) {
        fixture.write(memory(number, Kind::Decision, title, body));
    }
    let mut publisher = Publisher::begin(&fixture.index()).unwrap();
    publisher.vectors = vectors.map(|vectors| vectors as _);
    fixture.publish_with(publisher, &fixture.list(), None);
    fixture
}

/// Returns the best hit for a follow-up prompt, with or without the topic of the first prompt.
fn ask(recall: &Recall, first: &str, then: &str, with_topic: bool) -> Option<String> {
    let mut topic = Topic::default();
    let answered = recall.prompt(first, Some(&mut topic), NOW, &|_| false);
    let given = answered.hits.first().map(|hit| hit.id);
    // The topic is stored in this form in the session file.
    let mut topic = Topic::from_hex(&if with_topic { topic.to_hex() } else { String::new() });
    let found = recall.prompt(then, Some(&mut topic), NOW, &|id| Some(id) == given);
    Some(found.hits.into_iter().next()?.title)
}

/// Returns two numbers: of sessions with an expected memory whose best hit is right, and of hits for prompts without an
/// expected memory, after every first prompt.
fn counts(recall: &Recall, with_topic: bool) -> (usize, usize) {
    let ask = |first: &str, then: &str| ask(recall, first, then, with_topic);
    let (speaking, silent): (Vec<_>, Vec<_>) =
        TALKS.iter().partition(|(_, _, expected)| !expected.is_empty());
    let right = speaking.iter().filter(|(first, then, expected)| {
        ask(first, then).is_some_and(|title| title.starts_with(expected))
    });
    let fires =
        silent.iter().flat_map(|(_, then, _)| TALKS.iter().map(|(first, ..)| (*first, *then)));
    (right.count(), fires.filter(|(first, then)| ask(first, then).is_some()).count())
}

#[track_caller]
fn check(recall: &Recall) {
    let speaking = TALKS.iter().filter(|(_, _, expected)| !expected.is_empty()).count();
    let asked = (TALKS.len() - speaking) * TALKS.len();
    let (right_alone, fires_alone) = counts(recall, false);
    let (right, fires) = counts(recall, true);
    assert!(right > right_alone, "{right} of {speaking}, without a topic {right_alone}");
    assert!(right + 1 >= speaking, "{right} of {speaking}");
    assert!(
        fires <= fires_alone + asked / 100,
        "{fires} of {asked}, without a topic {fires_alone}"
    );
}

#[test]
fn words_of_the_topic_find_what_a_short_prompt_means_and_nothing_else() {
    check(&shop(None).recall());
}

#[test]
fn so_they_do_where_meaning_is_known() {
    let mut shop = shop(Some(&Shipped::open()));
    shop.dirs.models = Some(assets());
    check(&shop.recall());
}

#[test]
fn what_the_first_prompt_found_does_not_come_again() {
    let shop = shop(None);
    let recall = shop.recall();
    for (then, words_of_its_own) in
        [("and the second?", false), ("do it again", false), ("and the VPN?", true)]
    {
        let mut topic = Topic::default();
        recall.prompt("How do we deploy to staging with make?", Some(&mut topic), NOW, &|_| false);
        let found = recall.prompt(then, Some(&mut topic), NOW, &|_| false);
        assert_eq!(!found.hits.is_empty(), words_of_its_own, "{then}: {:?}", found.hits);
    }
}

#[test]
fn a_topic_lasts_as_long_as_prompts_go_on_with_it() {
    let shop = shop(None);
    let recall = shop.recall();
    let mut topic = Topic::default();
    let mut ask = |prompt: &str| {
        recall.prompt(prompt, Some(&mut topic), NOW, &|_| false);
        topic.clone()
    };
    let first = ask("How do we deploy to staging?");
    assert_ne!(first, Topic::default());
    assert_eq!(ask("ok, thanks"), first, "nothing was said");
    let second = ask("and production?");
    assert!(second.to_hex().ends_with(&first.to_hex()) && second != first);
    let other = ask("Write release notes about the invoice exporter and the warehouse report");
    assert!(!other.to_hex().contains(&first.to_hex()));
}

#[test]
fn a_damaged_topic_is_no_topic() {
    for digits in ["", "12", "zzzzzzzzzzzzzzzz", "+123456789abcdef", "é23456789abcde", "........"]
    {
        assert_eq!(Topic::from_hex(digits), Topic::default(), "{digits}");
    }
    let long = "0123456789abcdef".repeat(100);
    assert_eq!(Topic::from_hex(&long).to_hex(), "0123456789abcdef".repeat(8));
}
