//! Memories of the user's other projects that the user shares.

use super::*;

/// Creates another project, with these memories.
fn stock(world: &World, memories: Vec<Memory>) -> Tree {
    let other = world.root.parent().unwrap().join("stock");
    fs::create_dir_all(&other).unwrap();
    let observed = Observed { root: other.clone(), ..Observed::default() };
    identity::vouch(&world.dirs, &observed, Some(Mode::Committed), [6; 16], now()).unwrap();
    let tree = Tree::find(&world.dirs, &other).unwrap();
    let store = Store::open(&world.dirs, &tree).unwrap();
    for memory in memories {
        store.save(memory, &Redactor::default(), now()).unwrap();
    }
    tree
}

fn share(world: &World, tree: &Tree) {
    fs::write(world.dirs.project(tree.project).shared, "").unwrap();
}

#[test]
fn other_projects_are_asked_where_the_user_shares_them() {
    let world = World::trusted();
    let theirs = fact(7, "The conveyor runs at night", "The motor needs grease.");
    let tree = stock(&world, vec![theirs]);
    let mut server = world.connect(&[]);
    let asked = json!({"query": "conveyor motor grease", "projects": "all"});
    let (text, found, _) = server.call("recall", asked.clone());
    assert!(!text.contains("at night") && text.contains("throughline share on"), "{text}");
    assert_eq!(found["hits"], json!([]));
    share(&world, &tree);
    let (text, found, _) = server.call("recall", asked);
    assert!(text.contains("Of the project stock:") && text.contains("at night"), "{text}");
    assert_eq!(found["hits"][0]["project"], "stock");
    let (text, ..) = server.call("recall", json!({"query": "conveyor motor grease"}));
    assert!(!text.contains("at night"), "{text}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn other_projects_are_asked_with_the_filters_of_the_call() {
    let world = World::trusted();
    let at = |number, title: &str, day: &str| Memory {
        occurred: Timestamp::parse(day),
        ..fact(number, title, "The motor needs grease.")
    };
    let replaced = Memory {
        superseded_by: Some(MemoryId([8; 16])),
        ..at(7, "The conveyor runs at night", "2026-02-01")
    };
    let tree = stock(&world, vec![replaced, at(8, "The conveyor runs by day", "2026-08-01")]);
    share(&world, &tree);
    let mut server = world.connect(&[]);
    let mut titles = |arguments: Value| {
        let mut arguments = arguments;
        arguments["projects"] = "all".into();
        let (text, found, failed) = server.call("recall", arguments);
        assert!(!failed, "{text}");
        let hits = found["hits"].as_array().unwrap().iter();
        let mut titles: Vec<String> =
            hits.map(|hit| hit["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        (titles, text)
    };
    let (night, day) = ("The conveyor runs at night", "The conveyor runs by day");
    let query = "conveyor motor grease";
    assert_eq!(titles(json!({"query": query})).0, [day]);
    assert_eq!(titles(json!({"query": query, "history": true})).0, [night, day]);
    assert_eq!(titles(json!({"query": query, "as_of": "2026-03-01"})).0, [night]);
    assert_eq!(titles(json!({"query": query, "since": "2026-09-01"})).0, [""; 0]);
    assert_eq!(titles(json!({"query": query, "before": "2026-07-01"})).0, [""; 0]);
    let (found, text) = titles(json!({"query": query, "detail": "titles"}));
    assert!(found == [day] && !text.contains("grease"), "{text}");
    assert!(text.starts_with("Nothing found in this project.\nOf the project stock:"), "{text}");
    // Without words, other projects are searched by the other filters. If that is impossible, the answer contains the
    // reason.
    assert_eq!(titles(json!({"kinds": ["fact"]})).0, [day]);
    let (found, text) = titles(json!({"paths": ["src/money.rs"]}));
    assert!(found.is_empty() && text.contains("were not searched"), "{text}");
    assert!(!text.contains("Also searched"), "{text}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_memory_of_another_project_is_opened_by_its_id() {
    let world = World::trusted();
    let tree =
        stock(&world, vec![fact(7, "The conveyor runs at night", "The last word is zygote.")]);
    let short = MemoryId([7; 16]).short();
    let mut server = world.connect(&[]);
    let (text, ..) = server.call("recall", json!({"ids": [short]}));
    assert!(text.contains("There is no memory") && !text.contains("zygote"), "{text}");
    share(&world, &tree);
    for asked in [json!({"ids": [short]}), json!({"query": format!("[fact {short}]")})] {
        let (text, found, _) = server.call("recall", asked);
        assert!(text.contains("Of the project stock:") && text.contains("zygote"), "{text}");
        assert_eq!(found["hits"][0]["project"], "stock", "{found}");
        assert!(!text.contains("There is no memory"), "{text}");
    }
    // The receipt is written into the project of the memory.
    let receipts = fs::read_to_string(world.dirs.tree(&tree.root).receipts("2026-10-02")).unwrap();
    assert!(receipts.contains("mcp recall"), "{receipts}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn other_projects_answer_within_the_limit_and_on_the_first_page_alone() {
    let world = World::trusted();
    let conveyor =
        |number| fact(number, &format!("The conveyor has belt {number}"), "It needs grease.");
    (1..=3).for_each(|number| save(&world, conveyor(number)));
    let tree = stock(&world, (7..=9).map(conveyor).collect());
    share(&world, &tree);
    let mut server = world.connect(&[]);
    let mut asked = json!({"query": "conveyor belt grease", "projects": "all", "limit": 2});
    let count = |found: &Value| {
        let hits = found["hits"].as_array().unwrap();
        let others = hits.iter().filter(|hit| hit["project"] == "stock").count();
        (hits.len() - others, others)
    };
    let (_, found, _) = server.call("recall", asked.clone());
    assert_eq!(count(&found), (2, 2), "{found}");
    asked["cursor"] = found["next_cursor"].clone();
    let (_, found, _) = server.call("recall", asked);
    assert_eq!(count(&found), (1, 0), "{found}");
    assert_eq!(server.end(), Some(0));
}
