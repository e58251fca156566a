//! Drafts: with `review = true`, saved memories are pending, and replace no other memory until the user accepts them.

use super::*;

/// Creates a project with `review = true` and an old memory by Claude.
fn reviewing() -> (World, Server) {
    let world = World::searched(SearchMode::Scan);
    fs::create_dir_all(&world.dirs.config).unwrap();
    fs::write(world.dirs.config_file(), "review = true\n").unwrap();
    let helm = Memory { kind: Kind::Decision, ..fact(1, "We deploy with Helm", "Charts.") };
    serving(world, vec![by(SaidBy::Assistant, helm)])
}

#[test]
fn a_draft_replaces_nothing_before_the_user_takes_it() {
    let (world, mut server) = reviewing();
    let helm = MemoryId([1; 16]).short();
    let draft = remember(&mut server, "decision", "We deploy with Kustomize", "");
    let replaces = json!({"id": draft["id"], "supersedes": [helm]});
    let (said, _, failed) = server.call("remember", replaces);
    assert!(!failed && said.contains("waits for the user's"), "{said}");
    assert!(!said.contains("is marked as replaced"), "{said}");
    for is_published in [false, true] {
        if is_published {
            world.publish(Vec::new());
        }
        let (text, found, _) = server.call("recall", json!({"query": "deploy with Helm"}));
        assert_eq!(
            (&found["hits"][0]["id"], &found["hits"][0]["status"]),
            (&json!(helm), &json!("active")),
            "{text}"
        );
    }
    world.store().reject(draft["id"].as_str().unwrap(), &Redactor::default(), now()).unwrap();
    world.publish(Vec::new());
    let (text, found, _) = server.call("recall", json!({"query": "deploy with"}));
    assert_eq!(
        (&found["hits"][0]["id"], &found["hits"][0]["status"]),
        (&json!(helm), &json!("active")),
        "{text}"
    );
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_draft_is_this_machines_before_the_next_sync() {
    let (world, mut server) = reviewing();
    let draft = remember(&mut server, "fact", "The probe pool is small", "It has five places.");
    for is_published in [false, true] {
        if is_published {
            world.publish(Vec::new());
        }
        let (text, found, _) = server.call("recall", json!({"query": "probe pool"}));
        assert!(text.contains("pending") && !text.contains("from the repository"), "{text}");
        assert_eq!(found["hits"][0]["from_repository"], false, "{found}");
    }
    let again = remember(&mut server, "fact", "the probe POOL is small", "It has nine places.");
    assert_eq!((&again["id"], &again["change"]), (&draft["id"], &json!("updated")));
    assert_eq!(server.end(), Some(0));
}
