//! Claude's notes: a memory that Claude saved is attributed to Claude, not to the user.

use memory_store::memory::{SaidBy, Scope, Source};

use super::*;

in_each_search_mode! {
    a_memory_saved_by_claude_is_labelled_as_its_note_and_holds_in_no_other_project,
    claude_changes_no_statement_of_the_user,
    only_the_user_rearranges_and_archives_statements_of_the_user,
}

fn a_memory_saved_by_claude_is_labelled_as_its_note_and_holds_in_no_other_project(
    search: SearchMode,
) {
    let world = World::searched(search);
    let mut server = world.connect(&[]);
    for (kind, title) in [
        ("preference", "Answers to the harbour are in German"),
        ("convention", "German answers name their source"),
        ("fact", "Answers about tides were German once"),
    ] {
        let (said, saved, failed) =
            server.call("remember", json!({"kind": kind, "title": title, "scope": "user"}));
        assert!(!failed, "{said}");
        assert!(saved["note"].as_str().unwrap().contains("throughline add --user"), "{said}");
    }
    assert!(!world.dirs.user_memories().exists());
    assert_eq!(fs::read_dir(world.root.join(".throughline/memories")).unwrap().count(), 3);
    let check = |server: &mut Server| {
        let (text, found, _) = server.call("recall", json!({"query": "German answers"}));
        assert_eq!(text.matches("noted by Claude on 2026-10-02").count(), 3, "{text}");
        assert!(!text.contains("asked on") && !text.contains("user's"), "{text}");
        assert_eq!(found["hits"][0]["said_by"], "Claude", "{found}");
    };
    check(&mut server);
    world.publish(Vec::new());
    check(&mut server);
    assert_eq!(server.end(), Some(0));
}

fn claude_changes_no_statement_of_the_user(search: SearchMode) {
    let world = World::searched(search);
    let saved = |store: &Store, scope, title: &str, text: &str| {
        let memory = Memory {
            scope,
            source: Source { said_by: Some(SaidBy::User), ..Source::default() },
            ..Memory::new(MemoryId([scope as u8; 16]), Kind::Preference, title, text, now())
        };
        store.save(memory, &Redactor::default(), now()).unwrap().stored
    };
    let of_project = world.store();
    let of_user = Store::user(&world.dirs).unwrap();
    let wish = saved(&of_project, Scope::Project, "Ask before a release", "Each time.");
    let own = saved(&of_user, Scope::User, "Answers in German", "In every project.");
    let mut server = world.connect(&[]);
    remember(&mut server, "preference", "Ask before a release", "Not needed on Fridays.");
    assert_eq!(fs::read_to_string(&wish.path).unwrap().matches("Each time.").count(), 1);
    // Without an index, the author of the wish is unknown.
    world.publish(Vec::new());
    let (text, ..) = server.call("recall", json!({"query": "ask before a release"}));
    assert!(text.contains("asked on 2026-10-02: Ask before a release. Each time."), "{text}");
    assert!(text.contains("noted by Claude on 2026-10-02: Ask before a release. Not"), "{text}");
    let replaces = json!({"kind": "preference", "title": "Answers in French",
        "supersedes": [own.memory.id.short()]});
    let (said, _, failed) = server.call("remember", replaces);
    assert!(failed && said.contains("throughline edit"), "{said}");
    assert_eq!(server.end(), Some(0));
}

fn only_the_user_rearranges_and_archives_statements_of_the_user(search: SearchMode) {
    let world = World::searched(search);
    save(&world, Memory { pinned: true, ..wish() });
    let own = Memory {
        scope: Scope::User,
        ..by(SaidBy::User, fact(4, "Answers in German", "In every project."))
    };
    Store::user(&world.dirs).unwrap().save(own, &Redactor::default(), now()).unwrap();
    world.publish(Vec::new());
    let files = || {
        walk(world.home.path())
            .into_iter()
            .filter(|path| path.extension().is_some_and(|it| it == "md"))
    };
    let texts = || files().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>();
    let before = texts();
    let mut server = world.connect(&[]);
    let wish = MemoryId([3; 16]).short();
    for change in [json!({"paths": ["src/money.rs"]}), json!({"tags": "x"}), json!({"pin": false})]
    {
        let mut asked = change.clone();
        asked["id"] = wish.clone().into();
        let (said, _, failed) = server.call("remember", asked);
        assert!(failed && said.contains(&format!("throughline edit {wish}")), "{change}: {said}");
    }
    let own = MemoryId([4; 16]).short();
    let (said, _, failed) = server.call("forget", json!({"id": own}));
    assert!(failed && said.contains(&format!("throughline forget {own}")), "{said}");
    for change in [json!({"pin": true}), json!({"text": "No."}), json!({"supersedes": [wish]})] {
        let mut asked = change.clone();
        asked["id"] = own.clone().into();
        let (said, _, failed) = server.call("remember", asked);
        assert!(failed && said.contains("only the user changes it"), "{change}: {said}");
        assert!(!said.contains("supersedes"), "{said}");
    }
    // Confirming a memory does not change it.
    let (said, _, failed) = server.call("remember", json!({"id": own, "still_true": true}));
    assert!(!failed && said.contains("still holds"), "{said}");
    assert_eq!(texts(), before);
    // No answer suggests an action that would be rejected.
    let other = json!({"kind": "fact", "title": "Never answers in German"});
    let (said, note, _) = server.call("remember", other);
    assert!(said.contains(&format!("{own}, which is the user's for every project")), "{said}");
    assert!(!said.contains("supersedes"), "{said}");
    world.publish(Vec::new());
    let answer = server.request("prompts/get", json!({"name": "tidy"}));
    let tidy = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(tidy.contains(&own) && tidy.contains(note["id"].as_str().unwrap()), "{tidy}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_note_with_the_title_of_the_users_wish_asks_how_they_relate() {
    let (world, mut server) = serving(World::searched(SearchMode::Scan), vec![wish()]);
    let wish = MemoryId([3; 16]).short();
    let note =
        json!({"kind": "preference", "title": "ask before a release.", "text": "Not on Fridays."});
    let (said, saved, failed) = server.call("remember", note.clone());
    assert!(!failed && saved["change"] == "created", "{said}");
    assert_eq!(saved["neighbours"][0]["id"], wish.as_str(), "{said}");
    assert!(said.contains(&format!("It may contradict {wish}")), "{said}");
    let tidy = |server: &mut Server| {
        let answer = server.request("prompts/get", json!({"name": "tidy"}));
        answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    let text = tidy(&mut server);
    assert!(text.contains("They say the same") && text.contains(&wish), "{text}");
    // The note itself is updated, and is not reported as its own neighbour.
    let mut again = note;
    again["both_hold"] = true.into();
    let (said, again, _) = server.call("remember", again);
    assert_eq!((&again["id"], &again["neighbours"]), (&saved["id"], &json!([])), "{said}");
    assert!(said.contains(&format!("holds beside {wish}")), "{said}");
    let text = tidy(&mut server);
    assert!(text.contains("nothing to tidy up"), "{text}");
    drop(world);
    assert_eq!(server.end(), Some(0));
}
