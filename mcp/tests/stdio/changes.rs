//! Changing one memory by its id, and saving beside what an index does not know yet.

use memory_store::memory::{SaidBy, Source};

use super::*;

#[test]
fn a_memory_is_changed_by_its_id_and_the_users_words_are_not() {
    let world = World::trusted();
    let wish = Memory {
        source: Source { said_by: Some(SaidBy::User), ..Source::default() },
        ..Memory::new(
            MemoryId([3; 16]),
            Kind::Preference,
            "Ask before a release",
            "Each time.",
            now(),
        )
    };
    save(&world, wish);
    for is_published in [false, true] {
        if is_published {
            world.publish(Vec::new());
        }
        let mut server = world.connect(&[]);
        let title = format!("The quota probe has a pool, {is_published}");
        let saved = remember(&mut server, "fact", &title, "It has five places.");
        let change = json!({
            "id": saved["id"], "text": "It has nine places.", "paths": ["src/money.rs"],
            "pin": true, "valid_until": "2027-01-31", "tags": "quota",
        });
        let (said, changed, failed) = server.call("remember", change);
        assert!(!failed && changed["change"] == "updated", "{said}");
        let file = fs::read_to_string(world.root.join(changed["file"].as_str().unwrap())).unwrap();
        for part in ["nine places", "src/money.rs", "pinned: true", "2027-01-31T23:59:59", "quota"]
        {
            assert!(file.contains(part), "{part}: {file}");
        }
        let (said, again, failed) =
            server.call("remember", json!({"id": saved["id"], "pin": true}));
        assert!(!failed && again["change"] == "unchanged", "{said}");
        assert!(said.contains("still_true"), "it says what would change it: {said}");
        let wish = MemoryId([3; 16]).short();
        let (said, _, failed) =
            server.call("remember", json!({"id": wish, "text": "Not on Fridays."}));
        assert!(
            failed && said.contains("supersedes") && said.contains("throughline edit"),
            "{said}"
        );
        let (said, pinned, failed) = server.call("remember", json!({"id": wish, "pin": true}));
        assert!(!failed && pinned["title"] == "Ask before a release", "{said}");
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn the_same_title_is_one_memory_however_many_say_it_at_once() {
    let world = World::trusted();
    world.publish(Vec::new());
    let mut servers: Vec<Server> = (0..4).map(|_| world.connect(&[])).collect();
    for server in &mut servers {
        for id in 300..305 {
            let arguments = json!({"kind": "fact", "title": "The probe  pool is SMALL", "text": format!("Said {id}.")});
            let call = json!({"name": "remember", "arguments": arguments});
            let request =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
            server.send(&request.to_string());
        }
    }
    for server in &mut servers {
        for _ in 0..5 {
            let answer = server.receive();
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
    }
    assert_eq!(world.store().files().len(), 1);
    servers.into_iter().for_each(|server| assert_eq!(server.end(), Some(0)));
}

#[test]
fn what_is_asked_about_one_memory_reads_no_other_file() {
    let world = World::trusted();
    for number in 1..40 {
        let source = Source { said_by: Some(SaidBy::Assistant), ..Source::default() };
        let fact = fact(number, &format!("Fact {number} of the shop"), "It is so.");
        save(&world, Memory { source, ..fact });
    }
    world.publish(Vec::new());
    // A reader finds no memory now.
    for entry in fs::read_dir(world.store().folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains("fact-7-of") {
            fs::write(path, "no memory").unwrap();
        }
    }
    let mut server = world.connect(&[]);
    let (status, counts, failed) = server.call("status", json!({}));
    // That one tells what became of them, and counts what the index has.
    assert!(!failed && counts["memories"] == 39 && counts["broken_count"] == 38, "{status}");
    let saved = remember(&mut server, "fact", "Fact 40 of the shop", "It is so.");
    assert_eq!(saved["change"], "created");
    let again = remember(&mut server, "fact", "fact 7 OF the shop", "It was so.");
    assert_eq!(
        (&again["id"], &again["change"]),
        (&json!(MemoryId([7; 16]).short()), &json!("updated"))
    );
    let (said, _, failed) = server.call("forget", json!({"id": MemoryId([7; 16]).short()}));
    assert!(!failed && said.contains("Fact 7"), "{said}");
    assert_eq!(server.end(), Some(0));
}
