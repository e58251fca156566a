//! Facts, links, topics and subagents of memories, and the outcome of a session.

use memory_store::memory::{Fact, Relation};
use memory_store::reviewed::Reviewed;

use super::*;

fn file(world: &World, saved: &Value) -> String {
    fs::read_to_string(world.root.join(saved["file"].as_str().unwrap())).unwrap()
}

fn saved(server: &mut Server, arguments: Value) -> Value {
    let (text, saved, failed) = server.call("remember", arguments);
    assert!(!failed, "{text}");
    saved
}

fn stated(number: u8, title: &str, at: &str, object: &str) -> Memory {
    let [subject, predicate, object] = ["cart", "stored in", object].map(str::to_owned);
    let at = Timestamp::parse(at).unwrap();
    Memory {
        created: at,
        occurred: Some(at),
        facts: vec![Fact { subject, predicate, object, ..Fact::default() }],
        ..by(SaidBy::Assistant, fact(number, title, "Text."))
    }
}

#[test]
fn facts_are_saved_checked_and_ended() {
    let world = World::trusted();
    let (world, mut server) =
        serving(world, vec![stated(1, "Carts lie in Redis", "2026-03-01", "Redis")]);
    let new = json!({"title": "Carts lie in Postgres", "facts": ["cart | kept in | Postgres"]});
    let mut check = new.clone();
    check["check"] = true.into();
    let files = || fs::read_dir(world.root.join(".throughline/memories")).unwrap().count();
    let before = files();
    let (text, checked, failed) = server.call("remember", check);
    assert!(!failed && text.contains("Nothing was saved."), "{text}");
    let ends = |saved: &Value| {
        let note = saved["note"].as_str().unwrap();
        assert!(note.contains("it ends \"cart stored in: Redis\""), "{note}");
    };
    ends(&checked);
    assert_eq!((files(), &checked["id"]), (before, &json!("")));
    let saved = saved(&mut server, new);
    ends(&saved);
    assert!(file(&world, &saved).contains("object: Postgres"));
    // The fact is written as an object, and the memory has no title.
    let other = json!({"facts": [{"subject": "api", "predicate": "uses", "object": "tokio", "from": "2026-01-01"}]});
    let (text, other, _) = server.call("remember", other);
    assert!(text.contains("api uses tokio"), "{text}");
    assert!(file(&world, &other).contains("from: \"2026-01-01"), "{}", file(&world, &other));

    let ends = json!({"ends": ["api | depends on | tokio | ..2026-09-01"]});
    let (text, ended, failed) = server.call("remember", ends.clone());
    assert!(!failed && ended["change"] == "ended", "{text}");
    assert!(file(&world, &other).contains("to: \"2026-09-01"), "{}", file(&world, &other));
    let (text, again, _) = server.call("remember", ends);
    assert!(again["change"] == "unchanged" && text.contains("No memory states"), "{text}");
    let (text, failed) = server.text("remember", &json!({"title": "x", "facts": ["a | b"]}));
    assert!(failed && text.contains("`facts` takes \"SUBJECT | PREDICATE | OBJECT\""), "{text}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_fact_in_the_words_of_the_user_is_not_ended() {
    let mut wish = stated(3, "Carts lie in Redis", "2026-03-01", "Redis");
    wish.source = Source { said_by: Some(SaidBy::User), ..Source::default() };
    let (world, mut server) = serving(World::trusted(), vec![wish]);
    let before = walk(world.root.as_path());
    let (text, _, failed) = server.call("remember", json!({"ends": ["cart | stored in | Redis"]}));
    assert!(!failed && text.contains("throughline edit"), "{text}");
    let (text, failed) = server
        .text("remember", &json!({"id": MemoryId([3; 16]).short(), "facts": ["cart | is | big"]}));
    assert!(failed && text.contains("not rewritten"), "{text}");
    assert_eq!(walk(world.root.as_path()), before);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn links_are_saved_and_shown_around_a_name() {
    let redis =
        Memory { entities: vec!["Redis (service)".to_owned()], ..by(SaidBy::Assistant, pool()) };
    let (world, mut server) = serving(World::trusted(), vec![redis]);
    let id = pool().id.short();
    let link =
        json!({"title": "Probes wait for Redis", "relations": [format!("Caused by [{id}]")]});
    let note = saved(&mut server, link);
    assert!(file(&world, &note).contains("kind: caused-by"), "{}", file(&world, &note));
    let as_object = json!({"id": note["id"], "relations": {"kind": "part of", "to": id}});
    assert!(file(&world, &saved(&mut server, as_object)).contains("kind: part-of"));
    let replaces =
        json!({"title": "Probes have six places", "relations": [format!("supersedes {id}")]});
    let newer = saved(&mut server, replaces);
    assert!(newer["note"].as_str().unwrap().contains("marked as replaced"), "{newer}");
    let (text, failed) = server.text("remember", &json!({"title": "x", "relations": ["k3v9qa"]}));
    assert!(failed && text.contains("`relations` takes \"KIND ID\""), "{text}");
    let (text, failed) =
        server.text("remember", &json!({"title": "x", "relations": ["refines zzzzzz"]}));
    assert!(failed && text.contains("no memory has the id"), "{text}");

    // The replaced memory was in force at this time.
    let (text, found, failed) =
        server.call("recall", json!({"about": "redis", "as_of": "2026-10-01"}));
    assert!(!failed, "{text}");
    let (text, near, _) = server.call("recall", json!({"about": newer["id"], "depth": 2}));
    assert!(text.contains("Known about Probes have six places (memory)"), "{text} {near}");
    let (text, _, failed) = server.call("recall", json!({"about": "Valkey"}));
    assert!(!failed && text.contains("No memory names `Valkey`"), "{text} {found}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn what_is_known_about_a_name_has_facts_and_connections() {
    let memories = vec![
        stated(1, "Carts lie in Redis", "2026-03-01", "Redis"),
        Memory {
            relations: vec![Relation { kind: "refines".to_owned(), to: MemoryId([1; 16]) }],
            ..stated(2, "Carts lie in Valkey", "2026-06-01", "Valkey")
        },
    ];
    let (_world, mut server) = serving(World::trusted(), memories);
    let facts = |server: &mut Server, more: Value| {
        let mut asked = json!({"about": "Cart"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (text, found, failed) = server.call("recall", asked);
        assert!(!failed && text.starts_with("<throughline-memory"), "{text}");
        found["about"]["facts"].to_string()
    };
    assert!(facts(&mut server, json!({})).contains("stored in: Valkey (since 2026-06-01"));
    assert!(facts(&mut server, json!({"as_of": "2026-04-01"})).contains("stored in: Redis"));
    let (text, near, _) = server.call("recall", json!({"about": "cart", "depth": 9, "limit": 1}));
    assert!(text.contains("more connections are left out"), "{text}");
    assert_eq!(near["about"]["connections"].as_array().unwrap().len(), 1);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn several_memories_are_forgotten_at_once_or_none() {
    let lathe = fact(2, "The lathe is blue", "It is so.");
    let memories = vec![by(SaidBy::Assistant, pool()), by(SaidBy::Assistant, lathe), wish()];
    let (_world, mut server) = serving(World::trusted(), memories);
    let ids = |numbers: &[u8]| -> Vec<String> {
        numbers.iter().map(|&number| MemoryId([number; 16]).short()).collect()
    };
    let mut wrong = ids(&[1, 2]);
    wrong.push("zzzzzz".to_owned());
    let (text, failed) = server.text("forget", &json!({"ids": wrong}));
    assert!(failed && text.contains("no memory has the id `zzzzzz`"), "{text}");
    let (text, gone, failed) = server.call("forget", json!({"ids": ids(&[1, 2, 1])}));
    assert!(!failed, "{text}");
    let gone = gone["forgotten"].as_array().unwrap().iter();
    assert_eq!(gone.filter(|gone| gone["already"] == false).count(), 2, "{text}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_topic_narrows_a_search() {
    let of = |number, title: &str, topic: &str| Memory {
        topic: Some(topic.to_owned()),
        ..fact(number, title, "The cache holds carts.")
    };
    let memories = vec![
        of(1, "Carts of the shop", "shop/cart"),
        of(2, "Mails of the shop", "Shop/mail"),
        of(3, "Carts of the yard", "yard/cart"),
    ];
    let (world, mut server) = serving(World::trusted(), memories);
    let titles = |server: &mut Server, asked: Value| -> Vec<String> {
        let (text, found, failed) = server.call("recall", asked);
        assert!(!failed, "{text}");
        let hits = found["hits"].as_array().unwrap().iter();
        let mut titles: Vec<String> =
            hits.map(|hit| hit["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles
    };
    let shop = ["Carts of the shop", "Mails of the shop"];
    assert_eq!(titles(&mut server, json!({"query": "cache", "topic": "shop"})), shop);
    assert_eq!(titles(&mut server, json!({"topic": "shop/cart"})), shop[..1]);
    assert_eq!(titles(&mut server, json!({"query": "cache topic:yard"})), ["Carts of the yard"]);
    assert_eq!(titles(&mut server, json!({"query": "cache NOT topic:yard"})), shop);
    assert_eq!(titles(&mut server, json!({"topic": "sho"})), [""; 0]);
    let note =
        saved(&mut server, json!({"title": "Crates", "text": "Many.", "topic": "yard/crates"}));
    assert!(file(&world, &note).contains("topic: yard/crates"));
    assert_eq!(titles(&mut server, json!({"topic": "YARD"})), ["Carts of the yard", "Crates"]);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn an_outcome_becomes_notes_with_the_checks_of_all_notes() {
    let (world, mut server) = serving(World::trusted(), vec![pool()]);
    let outcome = json!({"outcome": {
        "done": "Probes are pooled",
        "decided": ["The probe pool has six places. Five were too few."],
        "open": ["Write a test of the pool"],
    }});
    let (text, recorded, failed) = server.call("remember", outcome);
    assert!(!failed && recorded["change"] == "recorded", "{text}");
    let notes = recorded["saved"].as_array().unwrap();
    assert_eq!((&notes[0]["kind"], &notes[1]["kind"]), (&json!("decision"), &json!("task")));
    assert!(!notes[0]["neighbours"].as_array().unwrap().is_empty(), "{text}");
    assert!(file(&world, &notes[0]).contains("Five were too few."));
    let wrong = json!({"outcome": {"finished": ["x"]}});
    let (text, failed) = server.text("remember", &wrong);
    assert!(failed && text.contains("lists of texts named done, decided, open"), "{text}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_memory_of_a_subagent_is_recalled_by_it_alone() {
    let (world, mut server) = serving(World::trusted(), Vec::new());
    let diary =
        json!({"scope": "agent", "agent": "reviewer", "text": "The probe pool is fragile."});
    let note = saved(&mut server, diary);
    let text = file(&world, &note);
    assert!(text.contains("agent: reviewer") && note["kind"] == "session", "{text}");
    let (text, failed) = server.text("remember", &json!({"scope": "agent", "text": "x"}));
    assert!(failed && text.contains("requires `agent`"), "{text}");
    // The same words without a subagent are a different memory.
    let common =
        saved(&mut server, json!({"kind": "session", "text": "The probe pool is fragile."}));
    assert_ne!(common["id"], note["id"]);
    // If two memories state the same, an answer contains only one of them.
    server.call("forget", json!({"ids": [common["id"]]}));
    let (_, found, _) =
        server.call("recall", json!({"query": "pool scope:agent", "agent": "reviewer"}));
    assert_eq!(
        (found["hits"].as_array().unwrap().len(), &found["hits"][0]["id"]),
        (1, &note["id"])
    );
    let (text, failed) = server.text("recall", &json!({"query": "pool scope:moon"}));
    assert!(failed && text.contains("there are: project, user, paths, agent"), "{text}");
    for publishes in [false, true] {
        if publishes {
            world.publish(Vec::new());
        }
        let mut found = |asked: Value| {
            let (_, found, _) = server.call("recall", asked);
            found["hits"].to_string().contains(note["id"].as_str().unwrap())
        };
        assert!(!found(json!({"query": "probe pool"})));
        assert!(found(json!({"query": "probe pool", "agent": "Reviewer"})));
        assert!(!found(json!({"query": "probe pool", "agent": "planner"})));
        assert!(!found(json!({"ids": [note["id"]]})));
        assert!(found(json!({"ids": [note["id"]], "agent": "reviewer"})));
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn whether_a_memory_helped_is_noted_and_changes_no_file() {
    let (world, mut server) = serving(World::trusted(), vec![pool()]);
    let before = walk(world.root.as_path());
    for helpful in [true, true, false] {
        let asked = json!({"id": pool().id.short(), "helpful": helpful});
        assert_eq!(saved(&mut server, asked)["change"], "confirmed");
    }
    let reviewed = Reviewed::read(&world.dirs.project(world.tree().project));
    assert_eq!(reviewed.uses(pool().id), (2, 1));
    assert!(reviewed.confirmed.is_empty(), "its content is not confirmed");
    assert_eq!(walk(world.root.as_path()), before);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn sessions_are_searched_as_of_a_date() {
    let world = World::trusted();
    let turn = |number, at: &str, text: &str| Passage {
        session: "4f1c2a7e-0000-4000-8000-000000000001".to_owned(),
        turn: number,
        at: Timestamp::parse(at).unwrap(),
        text: text.to_owned(),
        ..Passage::default()
    };
    world.publish(vec![
        turn(0, "2026-09-02", "The tide gauge is read each hour."),
        turn(1, "2026-09-20", "The tide gauge is read each minute."),
    ]);
    let mut server = world.connect(&[]);
    let mut asked = json!({"query": "tide gauge", "as_of": "2026-09-10"});
    let (text, ..) = server.call("search_sessions", asked.clone());
    assert!(text.contains("each hour") && !text.contains("each minute"), "{text}");
    asked["as_of"] = "whenever".into();
    let (text, failed) = server.text("search_sessions", &asked);
    assert!(failed && text.contains("`as_of` takes a day"), "{text}");
    assert_eq!(server.end(), Some(0));
}
