//! Tests of names, facts and connections of memories.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{self, Fixture};
use memory_store::file::{MemoryFile, merge};
use memory_store::knowledge::entities::{Entities, JoinedBy, Similarity, compare};
use memory_store::knowledge::facts::{Conflict, FactPair};
use memory_store::knowledge::graph::{NodeKind, SessionWork};
use memory_store::knowledge::time::History;
use memory_store::knowledge::{ConfirmedNames, Graph, Knowledge, KnowledgeOptions};
use memory_store::layout::UserDirs;
use memory_store::memory::{Fact, PathRef, Relation, SaidBy, Status};
use memory_store::settings::KnowledgeSettings;
use memory_store::store::Store;
use memory_store::time::DAY_MS;
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use proptest::prelude::*;

fn joined(one: &str, other: &str) -> Option<JoinedBy> {
    let settings = KnowledgeSettings::default();
    compare(one, other, Similarity { settings: &settings, embed: &|_| None })
}

#[test]
fn names_of_one_thing_are_joined() {
    for (one, other) in [
        ("billing-service", "Billing Service"),
        ("BillingService", "the billing service"),
        ("billing_svc", "billing_svc"),
        ("Redis (service)", "`redis`"),
        ("Postgres", "PostgreSQL"),
        ("MongoDB", "mongodb"),
        ("k8s", "Kubernetes"),
        ("GitHub Actions", "Github actions"),
        ("config loader", "configuration loader"),
        ("db migration", "database migrations"),
        ("HTTPServer", "http server"),
        ("parse()", "parse"),
        ("./src/cart.rs", "src/cart.rs"),
        ("Café", "Cafe"),
        ("UTF-8", "utf8"),
        ("Vue.js", "vuejs"),
        ("Node.js", "NodeJS"),
        ("acme/api", "api"),
        ("auth::login", "login()"),
        ("api v2", "API 2"),
        ("Kubernets", "Kubernetes"),
        ("reconcilliation job", "reconciliation job"),
    ] {
        assert!(joined(one, other).is_some(), "{one} and {other}");
        assert_eq!(joined(one, other), joined(other, one), "{one} and {other}");
    }
}

#[test]
fn another_number_version_or_word_is_another_thing() {
    for (one, other) in [
        ("Redis 6", "Redis 7"),
        ("tokio 1.38", "tokio 1.39"),
        ("tokio", "tokio 1.38"),
        ("api v1", "api v2"),
        ("server-1", "server-11"),
        ("api server", "api gateway"),
        ("React", "React Native"),
        ("Java", "JavaScript"),
        ("C", "C++"),
        ("C++", "C#"),
        ("import job", "export job"),
        ("staging cluster", "production cluster"),
        ("get_user", "get_users"),
        ("users.rs (file)", "user.rs (file)"),
        ("src/cart.rs", "src/cards.rs"),
        ("language.go", "languages.go"),
        ("config.toml", "conf.toml"),
        ("cart.js", "carts.js"),
        (".env", "env"),
        ("parser", "parse"),
        ("contact form", "contract form"),
    ] {
        assert_eq!(joined(one, other), None, "{one} and {other}");
    }
}

fn resolve(names: &[&str], confirmed: &ConfirmedNames) -> Entities {
    let settings = KnowledgeSettings::default();
    let by = Similarity { settings: &settings, embed: &|_| None };
    Entities::resolve(names.iter().map(|name| (*name, 1)), confirmed, by)
}

#[test]
fn an_end_is_joined_to_its_only_owner() {
    let none = ConfirmedNames::default();
    let are_one = |names: &[&str], one: &str, other: &str| {
        let entities = resolve(names, &none);
        entities.find(one).unwrap() == entities.find(other).unwrap()
    };
    let one = ["src/auth/login.rs", "auth/login.rs", "login.rs", "auth::login"];
    for other in &one[1..] {
        assert!(are_one(&one, one[0], other), "{other}");
    }
    let several = ["src/auth/login.rs", "src/admin/login.rs", "login.rs", "auth/login.rs"];
    assert!(!are_one(&several, several[0], "login.rs"), "two files have this name");
    assert!(!are_one(&several, several[0], several[1]));
    assert!(are_one(&several, several[0], "auth/login.rs"));
    // A misspelling follows, and so does a type.
    let repos =
        ["acme/billing", "billing", "biling", "acme/web", "redis (service)", "src/redis.rs"];
    assert!(are_one(&repos, "acme/billing", "biling"));
    assert!(!are_one(&repos, "redis (service)", "src/redis.rs"));
    let entities = resolve(&repos, &none);
    let name = &entities.all()[entities.find("billing").unwrap()];
    assert_eq!(name.name, "acme/billing");
    let entities = resolve(&several, &none);
    let name = &entities.all()[entities.find("auth/login.rs").unwrap()];
    assert_eq!((&*name.name, name.others["auth/login.rs"]), (several[0], JoinedBy::End));
    let mut apart = ConfirmedNames::default();
    apart.split("billing", "acme/billing", true);
    let entities = resolve(&repos, &apart);
    assert_ne!(entities.find("billing"), entities.find("acme/billing"));
}

#[test]
fn a_person_joins_separates_and_renames() {
    let mut names = ConfirmedNames::default();
    let all = ["PG cluster", "main database", "Kubernets", "Kubernetes"];
    let same = |names: &ConfirmedNames, one: &str, other: &str| {
        let entities = resolve(&all, names);
        entities.find(one) == entities.find(other)
    };
    assert!(!same(&names, "PG cluster", "main database"));
    assert!(
        names.merge("PG cluster", "main database") && same(&names, "pg-cluster", "Main Database")
    );
    assert!(!names.merge("PG cluster", "main database"), "it is so already");
    // Joining two names in the opposite order is not a cycle: the newer decision replaces the older one.
    assert!(names.merge("main database", "PG cluster"));
    let entities = resolve(&all, &names);
    assert_eq!(entities.all()[entities.find("main database").unwrap()].name, "PG cluster");
    assert!(names.split("main database", "PG cluster", false));
    assert!(!same(&names, "PG cluster", "main database"));
    assert_eq!(names, ConfirmedNames::default(), "nothing is left of it");
    assert!(same(&names, "Kubernets", "Kubernetes"));
    assert!(
        names.split("Kubernets", "Kubernetes", true) && !same(&names, "Kubernets", "Kubernetes")
    );
    assert!(names.merge("Kubernets", "Kubernetes") && same(&names, "Kubernets", "Kubernetes"));
    assert!(names.merge("kubernetes", "K8s platform"));
    let entities = resolve(&all, &names);
    let name = &entities.all()[entities.find("Kubernets").unwrap()].name;
    assert_eq!(name, "K8s platform", "a name stands for the one that its own stands for");
    let mut names = ConfirmedNames::default();
    names.merge("Kubernetes", "our platform");
    assert!(same(&names, "Kubernets", "our platform"), "a misspelling follows its name");
}

#[test]
fn a_line_of_the_file_is_read_by_itself() {
    let path = Path::new("entities.toml");
    let text = "# names\n\"PG\" = \"PostgreSQL\"\n<<<<<<< ours\n\"a\" = 1\n\"b\" = { is = \"c\", not = [\"d\"] }\nx y\n\"b\" = { no = [] }\n";
    let (names, broken) = ConfirmedNames::parse(path, text);
    let lines: Vec<String> = broken.iter().map(|error| error.to_string()).collect();
    let places: Vec<bool> = [3, 4, 6, 7]
        .iter()
        .zip(&lines)
        .map(|(line, told)| told.starts_with(&format!("entities.toml:{line}:1: expected")))
        .collect();
    assert_eq!(places, [true; 4], "{lines:?}");
    let entities = resolve(&["PG", "PostgreSQL", "b", "c", "d"], &names);
    assert_eq!(entities.find("PG"), entities.find("PostgreSQL"));
    assert_eq!(entities.find("b"), entities.find("c"));
    let (again, broken) = ConfirmedNames::parse(path, &names.text());
    assert!(broken.is_empty() && again == names, "{}", names.text());
    // Names that two people add independently are on separate lines, so the files can be merged line by line.
    let (mut ours, mut theirs) = (names.clone(), names.clone());
    ours.merge("web shop", "shop");
    theirs.merge("mailer", "mail service");
    let lines =
        |names: &ConfirmedNames| names.text().lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let union: Vec<String> = lines(&ours).union(&lines(&theirs)).cloned().collect();
    let (merged, broken) = ConfirmedNames::parse(path, &union.join("\n"));
    assert!(broken.is_empty());
    ours.merge("mailer", "mail service");
    assert_eq!(merged, ours);
}

proptest! {
    /// The result does not depend on the order of names. Each name is joined to the name of its entity, not to names
    /// similar to that. Names with different numbers are never joined.
    #[test]
    fn resolution_is_stable_and_keeps_numbers(
        names in proptest::collection::vec("[a-cA-C]{4,6}([ -][a-c]{4,5})?( [0-9]{1,2})?", 1..24),
        seed in any::<u64>(),
    ) {
        let mut shuffled: Vec<&str> = names.iter().map(String::as_str).collect();
        let one = resolve(&shuffled, &ConfirmedNames::default());
        for at in 0..shuffled.len() {
            let other = (seed as usize).wrapping_mul(at + 7) % shuffled.len();
            shuffled.swap(at, other);
        }
        let other = resolve(&shuffled, &ConfirmedNames::default());
        prop_assert_eq!(one.all(), other.all());
        let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
        for name in &names {
            let id = one.find(name).unwrap();
            prop_assert_eq!(Some(id), other.find(name));
            let entity = &one.all()[id];
            prop_assert_eq!(digits(name), digits(&entity.name), "{} in {:?}", name, entity);
            prop_assert!(joined(name, &entity.name).is_some(), "{} is not {:?}", name, entity);
        }
    }
}

const MARCH: i64 = 1_772_323_200_000;

fn day(number: i64) -> Timestamp {
    Timestamp(MARCH + (number - 1) * DAY_MS)
}

fn memory(number: u8, on: i64, facts: &[&str]) -> Memory {
    let mut memory =
        Memory::new(MemoryId([number; 16]), Kind::Fact, format!("Note {number}"), "", day(on));
    memory.facts = facts.iter().map(|text| fact(text)).collect();
    memory
}

fn fact(text: &str) -> Fact {
    let parts: Vec<&str> = text.split(" | ").collect();
    let [subject, predicate, object] = parts[..] else { panic!("{text}") };
    let (subject, predicate, object) =
        (subject.to_owned(), predicate.to_owned(), object.to_owned());
    Fact { subject, predicate, object, ..Fact::default() }
}

fn read(memories: &[Memory]) -> Knowledge {
    let options = KnowledgeOptions {
        settings: &KnowledgeSettings::default(),
        confirmed: &ConfirmedNames::default(),
        embed: &|_| None,
        hold_both: &|_, _| false,
    };
    Knowledge::of(&memories.iter().collect::<Vec<_>>(), &options)
}

/// Returns the relation of a fact of 5 March to a fact of 1 March.
fn relation(older: &str, newer: &str) -> Option<Conflict> {
    let book = read(&[memory(1, 1, &[older]), memory(2, 5, &[newer])]).book;
    assert!(book.pairs.len() <= 1);
    let pair = book.pairs.first()?;
    assert_eq!((pair.newer, pair.older), (1, 0));
    assert_eq!(book.statements[0].end(), (pair.conflict == Conflict::Closes).then(|| day(5)));
    Some(pair.conflict)
}

#[test]
fn a_newer_fact_repeats_ends_or_questions_an_older_one() {
    use Conflict::{Asks, Closes, Repeats};
    for (older, newer, expected) in [
        // Predicates with one value at a time.
        ("cart | is stored in | Redis", "the cart | kept in | Valkey", Some(Closes)),
        ("API | port | 8080", "api | listens on port | 8081", Some(Closes)),
        ("API | port | 8080", "api | runs on port | 8080", Some(Repeats)),
        ("cart | stored in | redis", "cart | stored in | Redis", Some(Repeats)),
        ("queue | limit | three retries", "queue | limit | three tries", Some(Asks)),
        ("search | status | in sync", "search | state | in sync", Some(Repeats)),
        // Predicates with several values.
        ("API | uses | tokio", "API | requires | serde", None),
        ("API | uses | tokio", "API | depends on | Tokio", Some(Repeats)),
        ("API | is | slow", "API | is | documented", None),
        ("API | shipped by | Ana's team", "API | shipped by | Bo's team", None),
        // A version is a separate value.
        ("API | uses | tokio, version 1.38", "API | requires | tokio 1.40", Some(Closes)),
        ("API | uses | tokio v1.38", "API | uses | tokio@1.38", Some(Repeats)),
        ("API | uses | Postgres 16", "API | uses | Postgres 17", Some(Closes)),
        ("API | uses | Postgres", "API | uses | Postgres 17", Some(Repeats)),
        ("API | version | 1.2", "API | is at version | 1.3", Some(Closes)),
        // Negations.
        ("API | uses | Redis", "API | no longer uses | Redis", Some(Closes)),
        ("API | uses | Redis", "API | does not use | Kafka", None),
        ("API | does not use | Redis", "API | doesn't use | Kafka", None),
        // Different subjects.
        ("cart | stored in | Redis", "card | stored in | Valkey", None),
    ] {
        assert_eq!(relation(older, newer), expected, "{older}; {newer}");
    }
}

#[test]
fn only_what_is_as_well_founded_ends_a_fact() {
    let facts = [&["cart | stored in | Redis"][..], &["cart | stored in | Valkey"][..]];
    let [mut older, mut newer] = [memory(1, 1, facts[0]), memory(2, 5, facts[1])];
    let conflict = |older: &Memory, newer: &Memory| {
        read(&[older.clone(), newer.clone()]).book.pairs.first().map(|pair| pair.conflict)
    };
    newer.source.said_by = Some(SaidBy::Assistant);
    assert_eq!(conflict(&older, &newer), Some(Conflict::Asks), "a note ends no word of the user");
    older.source.said_by = Some(SaidBy::Assistant);
    assert_eq!(conflict(&older, &newer), Some(Conflict::Closes));
    newer.confidence = 0.5;
    assert_eq!(conflict(&older, &newer), Some(Conflict::Asks));
    newer.facts[0].confidence = Some(0.95);
    assert_eq!(conflict(&older, &newer), Some(Conflict::Closes), "a fact may have its own");
    newer.created = older.created;
    assert_eq!(conflict(&older, &newer), Some(Conflict::Asks), "neither is newer");
    older.facts[0].to = Some(day(1));
    assert_eq!(conflict(&older, &newer), None, "it is settled");
    older.facts[0].to = None;
    older.status = Status::Archived;
    assert_eq!(conflict(&older, &newer), None);
}

#[test]
fn a_chain_of_values_has_one_value_at_a_time() {
    let values = ["Redis", "Valkey", "Postgres", "Redis"];
    let memories: Vec<Memory> = values
        .iter()
        .zip(1u8..)
        .map(|(value, number)| {
            memory(number, i64::from(number) * 10, &[&format!("cart | stored in | {value}")])
        })
        .collect();
    let book = read(&memories).book;
    for (value, on) in values.iter().zip([15, 25, 35, 45]) {
        let now: Vec<String> = book
            .statements
            .iter()
            .filter(|statement| statement.holds_at(day(on)))
            .map(memory_store::knowledge::Statement::value)
            .collect();
        assert_eq!(now, [*value]);
    }
    assert!(book.pairs.contains(&FactPair { newer: 1, older: 0, conflict: Conflict::Closes }));
    assert!(book.pairs.contains(&FactPair { newer: 3, older: 2, conflict: Conflict::Closes }));
}

#[test]
fn a_memory_in_the_past_is_as_it_was_then() {
    let mut older = memory(1, 1, &[]);
    let newer = memory(2, 10, &[]);
    older.superseded_by = Some(newer.id);
    let mut late = memory(3, 2, &[]);
    (late.valid_from, late.valid_until) = (Some(day(4)), Some(day(6)));
    let all = [older, newer, late];
    let history = History::of(&all);
    let then = |on: i64| {
        let in_force = all.iter().filter(|memory| history.was_in_force(memory, day(on)));
        in_force.map(|memory| memory.id.0[0]).collect::<Vec<u8>>()
    };
    assert!(then(0).is_empty());
    assert_eq!(then(3), [1]);
    assert_eq!(then(5), [1, 3]);
    assert_eq!(then(12), [2]);
}

#[test]
fn the_graph_ends_at_circles_and_has_each_node_once() {
    let mut memories = vec![
        memory(1, 1, &["a lib | uses | b lib"]),
        memory(2, 2, &["b lib | uses | c lib"]),
        memory(3, 3, &["c lib | uses | a lib", "a lib | port | 80"]),
    ];
    memories[0].relations = vec![Relation { kind: "refines".to_owned(), to: memories[1].id }];
    memories[1].relations = vec![Relation { kind: "refines".to_owned(), to: memories[0].id }];
    memories[0].paths = vec![PathRef { path: "src/a.rs".to_owned(), seen: None }];
    memories[2].entities = vec!["a.rs (file)".to_owned(), "B-Lib (library)".to_owned()];
    memories[2].source.session = Some("5e55".to_owned());
    let sessions = [SessionWork {
        session: "5e55".to_owned(),
        at: day(1),
        commits: vec!["Add a".to_owned()],
        written: vec!["src/a.rs".to_owned(), "src/other.rs".to_owned()],
        ..SessionWork::default()
    }];
    let knowledge = read(&memories);
    let refs: Vec<&Memory> = memories.iter().collect();
    let graph = Graph::of(&refs, &sessions, &knowledge.entities, &knowledge.book, day(9));
    let counts = graph.counts();
    let count = |kind: NodeKind| counts[kind.name()];
    assert_eq!(
        NodeKind::ALL.map(count),
        [3, 3, 1, 0, 1, 1],
        "the entity `a.rs` is the file, `B-Lib` is `b lib`"
    );
    let start = graph.find("A lib", &knowledge.entities).unwrap();
    let all = graph.within(start, 5);
    let nodes: BTreeSet<_> = all.iter().map(|reached| reached.node).collect();
    assert_eq!((nodes.len(), all.len()), (9, 9), "all, and each once");
    let commit = graph.find("Add a", &knowledge.entities).unwrap();
    let path = graph.path(start, commit).unwrap();
    let path: Vec<&str> = path.iter().map(|step| graph.at(step.node).label.as_str()).collect();
    assert_eq!(path, ["a lib", "Note 3", "5e55", "Add a"]);
    assert_eq!(graph.path(start, start).unwrap().len(), 1);
    let early = Graph::of(&refs, &sessions, &knowledge.entities, &knowledge.book, day(1));
    assert_eq!(early.counts()["memory"], 1);
    assert!(early.find("c lib", &knowledge.entities).is_none(), "it was not known then");
}

#[test]
fn topics_are_connected_by_what_memories_of_both_name() {
    let mut memories: Vec<Memory> = (1..=4).map(|number| memory(number, 1, &[])).collect();
    for (memory, (topic, name)) in memories.iter_mut().zip([
        ("shop/cart", "Redis"),
        ("shop/search", "redis"),
        ("shop/search", "Elastic"),
        ("shop/mail", "SMTP"),
    ]) {
        memory.topic = Some(topic.to_owned());
        memory.entities = vec![name.to_owned()];
    }
    let knowledge = read(&memories);
    let refs: Vec<&Memory> = memories.iter().collect();
    let graph = Graph::of(&refs, &[], &knowledge.entities, &knowledge.book, day(2));
    let bridges = graph.bridges();
    let [bridge] = &bridges[..] else { panic!("{bridges:?}") };
    assert_eq!(bridge.topics, ["shop/cart", "shop/search"]);
    let through: Vec<&str> = bridge.through.iter().map(|&at| &*graph.at(at).label).collect();
    assert_eq!(through, ["Redis"]);
    assert_eq!(graph.isolated(), 0);
}

/// Returns a memory file with these lines of front matter.
fn file(front: &str) -> String {
    format!(
        "---\nid: 01k9zzzzzzzzzzzzzzzzzzzzzz\nkind: fact\ncreated: 2026-03-01\n{front}---\n\n# Carts\n\nText.\n"
    )
}

fn parsed(text: &str) -> memory_store::Result<Memory> {
    let file = MemoryFile::parse(Path::new("carts.md"), text.as_bytes().to_vec());
    file.map(|file| file.memory)
}

#[test]
fn fields_edited_by_hand_are_merged_alike_in_both_orders() {
    let fact = |object: &str, more: &str| {
        format!("  - subject: cart\n    predicate: stored in\n    object: {object}\n{more}")
    };
    let relation = |number: u8| format!("  - {{kind: refines, to: {}}}\n", MemoryId([number; 16]));
    let front = |facts: &[String], names: &str, relations: &[String]| {
        format!("entities: [{names}]\nfacts:\n{}relations:\n{}", facts.concat(), relations.concat())
    };
    let base = file(&front(&[fact("Redis", "")], "Redis", &[relation(1)]));
    let ours = file(
        &(front(
            &[fact("Redis", "    to: 2026-06-01\n"), fact("Valkey", "    from: 2026-06-01\n")],
            "Redis (service), Valkey",
            &[relation(1), relation(2)],
        ) + &format!("topic: shop/cart\nsupersedes: [{}]\n", MemoryId([4; 16]))),
    );
    let theirs = file(
        &(front(
            &[fact("Redis", "    confidence: 0.4\n"), fact("Postgres", "")],
            "Redis, Postgres (service)",
            &[relation(3), relation(1)],
        ) + "agent: reviewer\nvalid_until: 2027-01-01\n"),
    );
    let merged = |ours: &str, theirs: &str| {
        let merged = merge(&base, ours, theirs).unwrap();
        assert!(!merged.has_conflicts);
        let mut memory = parsed(&merged.with_body(&merged.ours, ["a", "b", "c"], 7)).unwrap();
        memory.facts.sort_by(|a, b| a.object.cmp(&b.object));
        memory.entities.sort();
        memory.relations.sort_by_key(|relation| relation.to);
        memory
    };
    let memory = merged(&ours, &theirs);
    assert_eq!(memory, merged(&theirs, &ours));
    assert_eq!(memory.entities, ["Postgres (service)", "Redis (service)", "Valkey"]);
    assert_eq!(
        (memory.topic.as_deref(), memory.agent.as_deref()),
        (Some("shop/cart"), Some("reviewer"))
    );
    assert_eq!(memory.supersedes, [MemoryId([4; 16])]);
    assert!(memory.valid_until.is_some());
    let objects: Vec<&str> = memory.facts.iter().map(|fact| fact.object.as_str()).collect();
    assert_eq!(objects, ["Postgres", "Redis", "Valkey"]);
    assert_eq!(memory.facts[1].confidence, Some(0.4));
    assert_eq!(memory.facts[1].to.unwrap().date(), "2026-06-01");
    assert_eq!(memory.relations.iter().map(|it| it.to.0[0]).collect::<Vec<u8>>(), [1, 2, 3]);
    // Writing and parsing the memory changes nothing.
    let text = MemoryFile::new(memory.clone()).unwrap().text().to_owned();
    assert_eq!(parsed(&text).unwrap(), memory);
}

#[test]
fn an_invalid_field_is_named_with_file_and_line() {
    for (front, line, told) in [
        ("facts:\n  - subject: a\n    object: b\n", 6, "`facts` entry 1 `predicate`"),
        ("facts:\n  - {subject: a, predicate: b, object: c, to: soon}\n", 6, "expected a date"),
        ("facts:\n  - {subject: a, predicate: b, object: c, confidence: 2}\n", 6, "from 0 to 1"),
        ("relations:\n  - {kind: refines, to: nothing}\n", 6, "`relations` entry 1 `to`"),
        ("entities:\n  - {name: Redis}\n", 6, "`entities` entry 1"),
    ] {
        let error = parsed(&file(front)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("carts.md:{line}:")) && error.contains(told), "{error}");
    }
}

/// Returns a memory file with one of five kinds of damage in its front matter, each of which makes it invalid.
fn damaged(seed: u64) -> Vec<u8> {
    let text = file(
        "confidence: 0.5\ntopic: shop/cart\nagent: reviewer\nentities: [Redis (service)]\nvalid_until: 2027-01-01\nfacts:\n  - subject: cart\n    predicate: stored in\n    object: Redis\n    from: 2026-06-01\nrelations:\n  - {kind: refines, to: 01k9zzzzzzzzzzzzzzzzzzzzz1}\n",
    );
    let end = text.find("---\n\n").unwrap();
    let random =
        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let below = |bound: usize| (random >> 33) as usize % bound;
    let (front, body) = text.split_at(end);
    let mut lines: Vec<String> = front.lines().skip(1).map(str::to_owned).collect();
    let fields = ["id", "created", "confidence", "valid_until", "    from"];
    match seed % 5 {
        0 => return text.as_bytes()[..4 + below(end - 4)].to_vec(),
        1 => {
            let mut bytes = text.into_bytes();
            bytes.insert(4 + below(end - 4), 0xFF);
            return bytes;
        }
        2 => {
            let field = fields[below(fields.len())];
            let line =
                lines.iter_mut().find(|line| line.starts_with(&format!("{field}:"))).unwrap();
            *line = format!("{field}: soon{}", below(90));
        }
        3 => {
            let at = below(lines.len());
            lines.insert(at, "tags: [open, \"".to_owned());
        }
        _ => {
            let at = lines.iter().position(|line| line.starts_with("    predicate")).unwrap();
            lines[at] = format!("    verb{}: stored in", below(90));
        }
    }
    format!("---\n{}\n{body}", lines.join("\n")).into_bytes()
}

#[test]
fn every_damaged_file_is_reported_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().as_os_str().to_owned();
    let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| home.clone())).unwrap();
    let store = Store::user(&dirs).unwrap();
    std::fs::create_dir_all(&store.folder).unwrap();
    for seed in 0..300 {
        let bytes = damaged(seed);
        let error = MemoryFile::parse(Path::new("carts.md"), bytes.clone());
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let error = error.map(drop).expect_err(&text).to_string();
        assert!(error.starts_with("carts.md"), "{seed}: {error}");
        std::fs::write(store.folder.join(format!("{seed}.md")), bytes).unwrap();
    }
    std::fs::write(store.folder.join("sound.md"), file("")).unwrap();
    let listing = store.list().unwrap();
    assert_eq!((listing.memories.len(), listing.broken.len()), (1, 300));
}

#[test]
fn a_synthesis_is_given_once_accepted_and_never_beside_its_parts() {
    let prompt = "which port does the ledger service listen on?";
    let part = Fixture::filled().given(prompt)[0];
    let given = |status: Status, skip: Option<MemoryId>| -> Vec<MemoryId> {
        let text = "- The ledger service listens on port 7441. It is only open inside.";
        let mut synthesis =
            common::memory(11, Kind::Synthesis, "What is known about the ledger service", text);
        synthesis.status = status;
        synthesis.relations = vec![Relation { kind: "supports".to_owned(), to: part }];
        let fixture = Fixture::with([synthesis], &[]);
        let found = fixture.recall().prompt(prompt, None, common::NOW, &|id| skip == Some(id));
        found.hits.iter().map(|hit| hit.id).collect()
    };
    let own = common::id(11);
    let proposed = given(Status::Held, None);
    assert!(proposed.contains(&part) && !proposed.contains(&own));
    let accepted = given(Status::Active, None);
    assert_ne!(accepted.contains(&part), accepted.contains(&own), "one of them");
    assert!(!given(Status::Active, Some(part)).contains(&own), "its part was given before");
}
