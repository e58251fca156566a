//! Notes of Claude: what it chose to save is told as its own, and is no word of the user's.

use memory_store::memory::{SaidBy, Scope, Source};

use super::*;

in_each_search_mode! {
    what_claude_saves_is_told_as_its_note_and_holds_in_no_other_project,
    claude_changes_nothing_that_the_user_said,
}

fn what_claude_saves_is_told_as_its_note_and_holds_in_no_other_project(search: SearchMode) {
    let world = World::searched(search);
    let mut server = world.connect(&[]);
    for kind in ["preference", "convention", "fact"] {
        let title = format!("Answers in German, as a {kind}");
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

fn claude_changes_nothing_that_the_user_said(search: SearchMode) {
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
    // Without an index nobody knows whose wish it is.
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
