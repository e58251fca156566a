//! Changing a memory by its id, and saving when the index does not yet contain all memories.

use memory_store::memory::PathRef;
use memory_store::reviewed::Reviewed;

use super::*;

in_each_search_mode! {
    the_users_wishes_stay_in_force_until_the_user_agrees,
    what_is_still_true_keeps_its_date_and_its_file,
    a_memory_is_changed_by_its_id_and_the_users_words_are_not,
}

fn a_memory_is_changed_by_its_id_and_the_users_words_are_not(search: SearchMode) {
    let world = World::searched(search);
    save(&world, wish());
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
        let itself = json!({"id": saved["id"], "supersedes": [saved["id"]]});
        let (said, again, _) = server.call("remember", itself);
        assert!(again["change"] == "unchanged" && said.contains("replaces nothing"), "{said}");
        assert!(said.contains("Nothing changed") && !said.contains("was updated"), "{said}");
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

fn the_users_wishes_stay_in_force_until_the_user_agrees(search: SearchMode) {
    let world = World::searched(search);
    save(&world, wish());
    world.publish(Vec::new());
    let (wish, id) = (MemoryId([3; 16]), MemoryId([3; 16]).short());
    let files = || world.store().files().into_iter().map(|stored| (stored.text, stored.path));
    let before: Vec<_> = files().collect();
    let is_given =
        |server: &mut Server| found_by(server, "ask before a release").contains(&json!(id));
    let mut server = world.connect(&[]);
    let (said, forgotten, failed) = server.call("forget", json!({"id": id}));
    assert!(!failed && said.contains("until the user agrees"), "{said}");
    assert_eq!(forgotten["waits_for_user"], true);
    assert!(is_given(&mut server));
    assert_eq!(files().collect::<Vec<_>>(), before);
    let newer = json!({
        "kind": "preference", "title": "Release without a question", "text": "Nobody is asked.", "supersedes": [id],
    });
    let (said, saved, failed) = server.call("remember", newer);
    assert!(!failed && said.contains("until the user agrees"), "{said}");
    assert!(!said.contains("marked as replaced"), "{said}");
    assert!(is_given(&mut server));
    assert!(before.iter().all(|known| files().any(|file| file == *known)));
    // A change of the note asks the question again, and replaces no memory either.
    let change = json!({"id": saved["id"], "supersedes": [id]});
    let (said, _, failed) = server.call("remember", change);
    assert!(!failed && said.contains("until the user agrees"), "{said}");
    assert!(is_given(&mut server));
    assert!(before.iter().all(|known| files().any(|file| file == *known)));
    let claims = world.store().claims().unwrap();
    let [(change, older, Some(by))] = claims.asked.as_slice() else { panic!("{claims:?}") };
    assert_eq!((change.id, older.memory.id), (wish, wish));
    assert_eq!(by.memory.id.short(), saved["id"].as_str().unwrap());
    let home = world.dirs.project(world.tree().project);
    let notice = fs::read_to_string(&home.claim_notice).unwrap();
    assert!(notice.contains(&wish.to_string()), "{notice}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn the_same_title_is_one_memory_however_many_say_it_at_once() {
    let world = World::searched(SearchMode::Scan);
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
        let fact = fact(number, &format!("Fact {number} of the shop"), "It is so.");
        save(&world, by(SaidBy::Assistant, fact));
    }
    world.publish(Vec::new());
    // The files are no longer valid memories.
    for entry in fs::read_dir(&world.store().folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains("fact-7-of") {
            fs::write(path, "no memory").unwrap();
        }
    }
    let mut server = world.connect(&[]);
    let (status, counts, failed) = server.call("status", json!({}));
    // The status reports these files, and counts the memories in the index.
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

fn what_is_still_true_keeps_its_date_and_its_file(search: SearchMode) {
    let world = World::searched(search);
    let asked = Timestamp::parse("2026-08-20");
    let wish = Memory {
        occurred: asked,
        created: asked.unwrap(),
        paths: vec![PathRef { path: "src/money.rs".into(), seen: None }],
        ..wish()
    };
    save(&world, wish);
    world.publish(Vec::new());
    let files = || world.store().files().into_iter().map(|stored| (stored.text, stored.path));
    let before: Vec<_> = files().collect();
    let mut server = world.connect(&[]);
    let short = MemoryId([3; 16]).short();
    let confirm = json!({"id": short, "still_true": true});
    let (said, confirmed, failed) = server.call("remember", confirm);
    assert!(!failed && confirmed["change"] == "confirmed", "{said}");
    assert!(said.contains("its date stays"), "{said}");
    assert_eq!(files().collect::<Vec<_>>(), before);
    let as_of = json!({"query": "ask before a release", "as_of": "2026-09-01"});
    for asked in [json!({"query": "ask before a release"}), as_of] {
        let (text, ..) = server.call("recall", asked.clone());
        assert!(text.contains("asked on 2026-08-20"), "{asked}: {text}");
    }
    let tree = world.tree();
    let reviewed = Reviewed::read(&world.dirs.project(tree.project));
    assert_eq!(reviewed.confirmed.get(&MemoryId([3; 16])).copied(), Some(now()));
    // The same text with the same last day of validity is unchanged too.
    save(
        &world,
        Memory {
            occurred: asked,
            ..by(SaidBy::Assistant, fact(4, "The probe pool is small", "It has five places."))
        },
    );
    let until = json!({"id": MemoryId([4; 16]).short(), "valid_until": "2026-12-31"});
    assert!(!server.call("remember", until).2);
    let found = world.store().list().unwrap().find(&MemoryId([4; 16]).to_string()).unwrap();
    assert_eq!(found.memory.occurred, asked);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn that_both_hold_is_kept_and_not_asked_again() {
    for by_id in [false, true] {
        let (world, mut server) = serving(World::searched(SearchMode::Scan), Vec::new());
        let helm = remember(&mut server, "decision", "We deploy with Helm", "");
        let other = json!({"kind": "decision", "title": "We deploy with Kustomize"});
        let (said, kustomize, _) = server.call("remember", other.clone());
        assert!(said.contains("both_hold true") && said.contains("with id"), "{said}");
        let tidy = |server: &mut Server| {
            let answer = server.request("prompts/get", json!({"name": "tidy"}));
            answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
        };
        let text = tidy(&mut server);
        assert!(text.contains("Only one of each pair can be true"), "{text}");
        let settled = match by_id {
            // The request may also name the other memory of the pair.
            true => json!({"id": helm["id"], "both_hold": true}),
            false => {
                json!({"kind": "decision", "title": "We deploy with Kustomize", "both_hold": true})
            }
        };
        let (said, _, failed) = server.call("remember", settled);
        assert!(!failed && said.contains("It is noted that it holds beside"), "{said}");
        let tree = world.tree();
        let reviewed = Reviewed::read(&world.dirs.project(tree.project));
        let stored: Vec<MemoryId> =
            world.store().files().iter().map(|stored| stored.memory.id).collect();
        assert!(reviewed.hold_both(stored[0], stored[1]));
        let text = tidy(&mut server);
        assert!(text.contains("nothing to tidy up") && !text.contains("one by one"), "{text}");
        // The next call has no question either.
        for again in
            [other, json!({"id": helm["id"], "text": "The cluster team keeps the charts."})]
        {
            let (said, again, _) = server.call("remember", again);
            assert!(!said.contains("differs in a value"), "{said}");
            let near = again["neighbours"].as_array().unwrap().iter();
            assert!(near.clone().all(|near| near["relation"] == "near"), "{said}");
        }
        assert_ne!(helm["id"], kustomize["id"]);
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn a_memory_reworded_by_id_is_compared_and_takes_another_kind() {
    let (world, mut server) = serving(World::searched(SearchMode::Scan), Vec::new());
    let helm = remember(&mut server, "decision", "We deploy with Helm", "");
    let notes = remember(&mut server, "fact", "The tide table has no leap days", "");
    let other = json!({
        "id": notes["id"], "kind": "decision", "title": "We deploy with Kustomize", "text": "Since spring.",
        "scope": "user",
    });
    let (said, changed, failed) = server.call("remember", other);
    assert!(!failed && changed["kind"] == "decision", "{said}");
    assert_eq!(changed["neighbours"][0]["id"], helm["id"], "{said}");
    assert_eq!(changed["neighbours"][0]["relation"], "newer-value", "{said}");
    assert!(said.contains("supersedes") && said.contains("throughline add --user"), "{said}");
    let file = world.root.join(changed["file"].as_str().unwrap());
    let read = || fs::read_to_string(&file).unwrap();
    assert!(read().contains("kind: decision") && read().contains("contradicts"), "{}", read());
    let replaces = json!({"id": notes["id"], "supersedes": [helm["id"]]});
    let (said, _, failed) = server.call("remember", replaces);
    assert!(!failed && said.contains("is marked as replaced"), "{said}");
    // The kind of the user's memory cannot be changed.
    save(&world, by(SaidBy::User, fact(3, "Ask before a release", "Each time.")));
    let asked = json!({"id": MemoryId([3; 16]).short(), "kind": "preference"});
    let (said, _, failed) = server.call("remember", asked);
    assert!(failed && said.contains("throughline edit"), "{said}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_last_day_in_the_past_is_reported() {
    let (_world, mut server) = serving(World::trusted(), Vec::new());
    let freeze =
        json!({"title": "The queue is frozen", "kind": "fact", "valid_until": "2026-09-30"});
    let (said, saved, failed) = server.call("remember", freeze);
    assert!(!failed && said.contains("2026-09-30 has passed"), "{said}");
    let until = json!({"id": saved["id"], "valid_until": "2026-10-02"});
    let (said, ..) = server.call("remember", until);
    assert!(!said.contains("has passed"), "its last day is today: {said}");
    for nothing in [json!(""), Value::Null] {
        let (said, again, _) =
            server.call("remember", json!({"id": saved["id"], "valid_until": nothing}));
        assert!(
            again["change"] == "unchanged" && said.contains("`valid_until` was kept"),
            "{said}"
        );
        assert!(said.contains("throughline edit"), "{said}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_full_stop_makes_no_other_title() {
    for is_published in [false, true] {
        let world = World::searched(SearchMode::Scan);
        if is_published {
            world.publish(Vec::new());
        }
        let mut server = world.connect(&[]);
        let first = remember(&mut server, "decision", "We cache with Memcached", "");
        let again = remember(&mut server, "decision", "we CACHE with memcached.", "It is fast.");
        assert_eq!((&again["id"], &again["change"]), (&first["id"], &json!("updated")));
        let third = remember(&mut server, "decision", "We cache with  Memcached", "");
        assert_eq!(third["id"], first["id"]);
        assert_eq!(world.store().files().len(), 1);
        assert_eq!(server.end(), Some(0));
    }
}

/// Saves three decisions, each replacing the previous one, and returns their ids.
fn three_decisions(server: &mut Server) -> [Value; 3] {
    let helm = remember(server, "decision", "We deploy with Helm", "");
    let mut replace = |title: &str, older: &Value| {
        let other = json!({"kind": "decision", "title": title, "supersedes": [older["id"]]});
        server.call("remember", other).1
    };
    let kustomize = replace("We deploy with Kustomize", &helm);
    let flux = replace("We deploy with Flux", &kustomize);
    [helm, kustomize, flux].map(|saved| saved["id"].clone())
}

fn found_by(server: &mut Server, query: &str) -> Vec<Value> {
    let (_, found, _) = server.call("recall", json!({"query": query}));
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect()
}

#[test]
fn of_three_that_replace_each_other_the_first_holds_once_the_others_are_forgotten() {
    for (is_published, order) in [(false, [1, 2]), (true, [1, 2]), (false, [2, 1]), (true, [2, 1])]
    {
        let (world, mut server) = serving(World::searched(SearchMode::Scan), Vec::new());
        let ids = three_decisions(&mut server);
        if is_published {
            world.publish(Vec::new());
        }
        let left = [&ids[3 - order[0]], &ids[0]];
        for (gone, left) in order.into_iter().zip(left) {
            let (text, failed) = server.text("forget", &json!({"id": ids[gone]}));
            assert!(!failed, "{text}");
            let found = found_by(&mut server, "deploy with");
            let stands = if gone == 1 && order[0] == 1 { &ids[2] } else { left };
            assert_eq!(found, std::slice::from_ref(stands), "{order:?}, {gone} is gone: {text}");
        }
        world.publish(Vec::new());
        assert_eq!(found_by(&mut server, "deploy with"), [ids[0].clone()]);
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn a_link_that_only_the_newer_file_has_is_lifted() {
    let (world, mut server) = serving(World::searched(SearchMode::Scan), Vec::new());
    let helm = remember(&mut server, "decision", "We deploy with Helm", "");
    let flux =
        json!({"kind": "decision", "title": "We deploy with Flux", "supersedes": [helm["id"]]});
    let (_, flux, _) = server.call("remember", flux);
    let path = world.root.join(helm["file"].as_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    let kept = text.lines().filter(|line| !line.starts_with("superseded_by"));
    fs::write(&path, kept.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    world.publish(Vec::new());
    assert_eq!(found_by(&mut server, "deploy with"), [flux["id"].clone()]);
    let (text, failed) = server.text("forget", &json!({"id": flux["id"]}));
    let id = helm["id"].as_str().unwrap();
    assert!(!failed && text.contains(&format!("replaced {id}, which holds again")), "{text}");
    assert_eq!(found_by(&mut server, "deploy with"), [helm["id"].clone()]);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn going_back_to_an_earlier_memory_puts_it_in_the_place_of_those_after_it() {
    for is_published in [false, true] {
        let (world, mut server) = serving(World::searched(SearchMode::Scan), Vec::new());
        let [helm, _, flux] = three_decisions(&mut server);
        if is_published {
            world.publish(Vec::new());
        }
        let (_, saved, _) = server.call("remember", json!({"id": helm, "supersedes": [flux]}));
        assert_eq!(saved["id"], helm, "{saved}");
        for _ in 0..2 {
            assert_eq!(found_by(&mut server, "deploy with"), std::slice::from_ref(&helm));
            world.publish(Vec::new());
        }
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn where_one_id_is_taken_several_are_refused() {
    let known = vec![fact(1, "Round late", ""), fact(2, "Amounts are cents", "")];
    let (_world, mut server) = serving(World::searched(SearchMode::Scan), known);
    let [one, other] = [1, 2].map(|number| MemoryId([number; 16]).short());
    for both in [format!("{one} and {other}"), format!("{one}, {other}"), format!("{one} ananan")] {
        let (text, failed) = server.text("remember", &json!({"id": both, "pin": true}));
        assert!(failed && text.contains("one id"), "{both}: {text}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn what_a_forgotten_memory_replaced_holds_again() {
    for is_published in [false, true] {
        let (world, mut server) = serving(World::searched(SearchMode::Scan), Vec::new());
        let helm = remember(&mut server, "decision", "We deploy with Helm", "");
        let other = json!({"kind": "decision", "title": "We deploy with Kustomize",
            "supersedes": [helm["id"]]});
        let (_, kustomize, _) = server.call("remember", other);
        if is_published {
            world.publish(Vec::new());
        }
        let (text, failed) = server.text("forget", &json!({"id": kustomize["id"]}));
        let id = helm["id"].as_str().unwrap();
        assert!(
            !failed && text.contains(&format!("It had replaced {id}, which holds again")),
            "{text}"
        );
        assert!(text.contains("(data, not instructions)"), "{text}");
        let file = fs::read_to_string(world.root.join(helm["file"].as_str().unwrap())).unwrap();
        assert!(!file.contains("superseded_by"), "{file}");
        let (_, found, _) = server.call("recall", json!({"query": "deploy with"}));
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(
            (hits.len(), &hits[0]["id"], &hits[0]["status"]),
            (1, &helm["id"], &json!("active")),
            "{found}"
        );
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn a_note_that_a_person_kept_stays_in_force_until_the_user_agrees() {
    let world = World::searched(SearchMode::Scan);
    world.publish(Vec::new());
    let mut server = world.connect(&[]);
    let note = json!({"kind": "gotcha", "title": "The queue needs two workers", "text": "Else it stalls."});
    let (_, saved, _) = server.call("remember", note);
    let id = saved["id"].clone();
    // The note stays Claude's until then, even if Claude confirms that it is still true.
    for change in [json!({"id": id, "still_true": true}), json!({"id": id, "text": "Or it waits."})]
    {
        let (said, _, failed) = server.call("remember", change);
        assert!(!failed, "{said}");
    }
    let home = world.dirs.project(world.tree().project);
    let stored = world.store().files().remove(0);
    Reviewed::change(&home, |reviewed| reviewed.confirm(stored.memory.id, Timestamp(7))).unwrap();
    let changes = [
        json!({"id": id, "title": "The queue needs no workers"}),
        json!({"id": id, "text": "Never mind."}),
        json!({"id": id, "tags": ["x"]}),
    ];
    for change in changes {
        let (said, _, failed) = server.call("remember", change);
        assert!(failed && said.contains("throughline edit"), "{said}");
    }
    let again =
        json!({"kind": "gotcha", "title": "The queue needs two workers", "text": "Never mind."});
    let (said, again, failed) = server.call("remember", again);
    assert!(!failed && again["id"] != id, "{said}");
    let (said, forgotten, _) = server.call("forget", json!({"id": id}));
    assert!(said.contains("until the user agrees") && forgotten["waits_for_user"] == true);
    assert!(world.store().files().iter().any(|file| file.text == stored.text));
    assert_eq!(server.end(), Some(0));
}
