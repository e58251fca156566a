//! Names, facts and connections on the command line: `graph`, `timeline NAME`, `--fact`, `--as-of`, and facts in
//! `review`.

use serde_json::{Value, json};

use super::common::Machine;

fn ready() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

/// Writes a memory file, as a person does with an editor.
fn write(machine: &Machine, number: u8, created: &str, title: &str, front: &str) {
    let id = format!("01K9ZZZZZZZZZZZZZZZZZZZZ{number:02}");
    let text = format!(
        "---\nid: {id}\nkind: fact\ncreated: {created}\n{front}---\n\n# {title}\n\nText.\n"
    );
    machine.write(&format!("home/work/.throughline/memories/note-{number}.md"), &text);
}

fn short(number: u8) -> String {
    format!("zzzz{number:02}")
}

const REDIS: &str = "entities: [\"Redis (service)\", cart]\ntopic: shop/cart\nfacts:\n  - subject: cart\n    predicate: is stored in\n    object: Redis\n";
const VALKEY: &str = "entities: [Valkey (service)]\ntopic: shop/mail\nfacts:\n  - subject: the cart\n    predicate: kept in\n    object: Valkey\n";

fn with_carts() -> Machine {
    let machine = ready();
    write(&machine, 1, "2026-03-01T09:00:00Z", "Carts lie in Redis", REDIS);
    write(&machine, 2, "2026-06-01T09:00:00Z", "Carts moved to Valkey", VALKEY);
    machine
}

fn stored_in(machine: &Machine, more: &[&str]) -> Vec<String> {
    let shown = machine.json(&[&["graph", "cart", "--json"], more].concat());
    let facts = shown["facts"].as_array().unwrap();
    facts.iter().map(|fact| fact["object"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_graph_shows_what_holds_now_and_what_held_then() {
    let machine = with_carts();
    assert_eq!(stored_in(&machine, &[]), ["Valkey"]);
    assert_eq!(stored_in(&machine, &["--as-of", "2026-04-01"]), ["Redis"]);
    let said = machine.ok(&["graph", "Cart"]);
    assert!(
        said.starts_with("cart") && said.contains("stored in: Valkey (since 2026-06-01"),
        "{said}"
    );
    assert!(said.contains("Carts moved to Valkey"), "{said}");
    let early = machine.run(&["graph", "cart", "--as-of", "2026-01-01"]);
    assert_eq!(early.code, 3, "{}", early.stdout);
    assert!(early.stderr.contains("nothing was known about `cart` then"), "{}", early.stderr);
    let unknown = machine.run(&["graph", "the carts database"]);
    assert_eq!(unknown.code, 3);
    assert!(unknown.stderr.contains("Names like it: cart"), "{}", unknown.stderr);
    let dot = machine.ok(&["graph", "cart", "--depth", "2", "--dot"]);
    assert!(
        dot.starts_with("digraph knowledge {") && dot.contains("[label=\"stored in\"]"),
        "{dot}"
    );
    assert_eq!(machine.run(&["graph", "--path", "Redis", "shop"]).code, 3);
}

#[test]
fn older_and_other_states_are_asked_for_alike() {
    let machine = with_carts();
    let titles = |args: &[&str]| -> Vec<String> {
        let listed = machine.json(args);
        let listed = listed
            .as_array()
            .cloned()
            .unwrap_or_else(|| listed["hits"].as_array().unwrap().clone());
        listed.iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&["list", "--as-of", "2026-04-01", "--json"]), ["Carts lie in Redis"]);
    assert_eq!(titles(&["list", "--json"]).len(), 2);
    machine.ok(&["sync"]);
    let then = titles(&["search", "carts", "--as-of", "2026-04-01", "--json"]);
    assert_eq!(then, ["Carts lie in Redis"]);
    assert_eq!(titles(&["search", "carts", "--json"]).len(), 2);
    let shown = machine.json(&["show", &short(1), &short(2), "--as-of", "2026-04-01", "--json"]);
    assert_eq!((&shown[0]["in_force"], &shown[1]["in_force"]), (&json!(true), &json!(false)));
    let said = machine.ok(&["show", &short(1)]);
    assert!(said.contains("until 2026-06-01: cart stored in: Redis"), "{said}");
    assert_eq!(machine.run(&["list", "--as-of", "whenever"]).code, 2);
}

#[test]
fn a_timeline_of_a_name_has_what_began_and_ended() {
    let machine = with_carts();
    let events = machine.json(&["timeline", "cart", "--json"]);
    let events: Vec<(&str, &str)> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["what"].as_str().unwrap(), it["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        events,
        [
            ("learned", "Carts lie in Redis"),
            ("began", "cart stored in: Redis"),
            ("learned", "Carts moved to Valkey"),
            ("began", "cart stored in: Valkey"),
            ("ended", "cart stored in: Redis"),
        ]
    );
    let said = machine.ok(&["timeline", "cart", "-n", "1"]);
    assert!(said.contains("until     zzzz01  cart stored in: Redis (by zzzz02)"), "{said}");
    assert_eq!(machine.run(&["timeline", "nothing of it"]).code, 3);
}

#[test]
fn facts_are_written_checked_dated_and_removed() {
    let machine = with_carts();
    let fact = "cart | storage | Postgres | 2026-09-01..";
    let check = machine.json(&["add", "Carts in Postgres", "--fact", fact, "--dry-run", "--json"]);
    assert_eq!(check["facts"][0]["relation"], "closes", "{check:#}");
    assert_eq!(machine.json(&["list", "--json"]).as_array().unwrap().len(), 2, "nothing is saved");
    let said = machine.ok(&["add", "Carts in Postgres", "--fact", fact]);
    assert!(said.contains("It ends \"cart stored in: Valkey\" of zzzz02 on 2026-09-01."), "{said}");
    assert_eq!(stored_in(&machine, &[]), ["Postgres"]);
    let args = ["add", "The cart uses Postgres", "--fact", "cart | kept in | Postgres"];
    let id = machine.json(&[&args[..], &["--json"]].concat())["short"].as_str().unwrap().to_owned();
    let again = machine.ok(&args);
    assert!(again.contains("states it already"), "{again}");
    machine.ok(&["edit", &id, "--fact", "Cart | kept in | postgres | ..2026-10-01"]);
    let shown = machine.json(&["show", &id, "--json"]);
    assert_eq!(shown[0]["facts"][0]["to"], "2026-10-01T00:00:00Z", "{shown:#}");
    machine.ok(&["edit", &id, "--unfact", "cart | kept in | Postgres"]);
    assert_eq!(machine.json(&["show", &id, "--json"])[0].get("facts"), None);
    assert_eq!(machine.run(&["edit", &id, "--unfact", "cart | kept in | Postgres"]).code, 3);
    assert_eq!(machine.run(&["add", "X", "--fact", "cart | kept in"]).code, 2);
}

#[test]
fn a_file_of_a_person_gets_the_end_of_a_fact_by_a_decision_only() {
    let machine = with_carts();
    let file = "home/work/.throughline/memories/note-1.md";
    let before = machine.read(file);
    machine.ok(&["sync"]);
    let said = machine.ok(&["review"]);
    let told =
        "cart stored in: Valkey (since 2026-06-01) ends cart stored in: Redis (since 2026-03-01)";
    assert!(said.contains(told), "{said}");
    assert_eq!(machine.read(file), before);
    // The person can also decide that both facts are true.
    machine.keep();
    machine.ok(&["review", "--both", &short(2)]);
    assert_eq!(stored_in(&machine, &[]), ["Redis", "Valkey"]);
    assert_eq!(machine.read(file), before);
    machine.restore();
    let said = machine.ok(&["review", "--prefer", &short(2)]);
    assert!(said.contains("Ended on 2026-06-01: cart is stored in Redis, in zzzz01"), "{said}");
    let shown = machine.json(&["show", &short(1), "--json"]);
    assert_eq!(shown[0]["facts"][0]["to"], "2026-06-01T09:00:00Z");
    let newer = machine.json(&["show", &short(2), "--json"]);
    assert_eq!(shown[0]["superseded_by"], newer[0]["id"], "it states nothing else");
    assert!(!machine.ok(&["review"]).contains("stored in"));
}

#[test]
fn a_question_is_settled_either_way() {
    let machine = ready();
    let limit = |value: &str| {
        format!(
            "facts:\n  - {{subject: queue, predicate: limit, object: {value}}}\n  - {{subject: queue, predicate: uses, object: AMQP}}\n"
        )
    };
    write(&machine, 1, "2026-03-01", "The first limit", &limit("three retries"));
    write(&machine, 2, "2026-06-01", "A later limit", &limit("three tries"));
    let said = machine.ok(&["review"]);
    assert!(
        said.contains("three tries (since 2026-06-01) or queue limit: three retries"),
        "{said}"
    );
    machine.ok(&["review", "--prefer", &short(1)]);
    let shown = machine.json(&["show", &short(2), "--json"]);
    assert_eq!(shown[0]["facts"][0]["to"], "2026-06-01T00:00:00Z", "it was never true");
    assert_eq!(shown[0].get("superseded_by"), None, "it states something else as well");
    assert!(!machine.ok(&["review"]).contains("three tries"));
}

#[test]
fn names_are_joined_separated_and_renamed_by_the_person() {
    let machine = with_carts();
    let file = "home/work/.throughline/entities.toml";
    let would = machine.ok(&["graph", "--merge", "Valkey", "Redis", "--dry-run"]);
    assert!(would.contains("Would make `Valkey` another name of `Redis`"), "{would}");
    assert!(!machine.path(file).exists());
    assert_eq!(machine.run(&["graph", "--merge", "Valkey", "Redis"]).code, 11, "it asks");
    assert_eq!(machine.run_by_claude(&["graph", "--merge", "Valkey", "Redis", "--yes"]).code, 11);
    let done = machine.ok(&["graph", "--merge", "Valkey", "Redis", "--yes"]);
    assert!(done.contains("`throughline graph --split Valkey Redis` undoes it."), "{done}");
    assert!(machine.read(file).ends_with("\n\"Valkey\" = \"Redis\"\n"), "{}", machine.read(file));
    let shown = machine.json(&["graph", "valkey", "--json"]);
    assert_eq!(shown["name"]["id"], "Redis");
    assert_eq!(shown["aliases"], json!([{"name": "Valkey", "joined_by": "person"}]));
    assert_eq!(stored_in(&machine, &[]), ["Redis", "Redis"], "both state the same now");
    machine.ok(&["graph", "--split", "Valkey", "Redis", "--yes"]);
    assert_eq!(stored_in(&machine, &[]), ["Valkey"]);
    machine.ok(&["graph", "--rename", "cart", "Shopping cart", "--yes"]);
    assert!(machine.ok(&["graph", "cart"]).starts_with("Shopping cart"));
    machine.write(file, "\"a\" = \n\"cart\" = \"Shopping cart\"\n");
    let said = machine.run(&["graph", "shopping cart"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("entities.toml:1:1: expected one entry"), "{}", said.stderr);
    let refused = machine.run(&["graph", "--merge", "Valkey", "Redis", "--yes"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("entities.toml:1:1"),
        "{}",
        refused.stderr
    );
    assert_eq!(machine.run(&["graph", "--merge", "Valkey", "no such", "--yes"]).code, 3);
}

#[test]
fn names_of_others_wait_like_their_memories() {
    let machine = with_carts();
    let file = "home/work/.throughline/entities.toml";
    machine.write(file, "\"Valkey\" = \"Redis\"\n");
    let name =
        |machine: &Machine| machine.json(&["graph", "Valkey", "--json"])["name"]["id"].clone();
    assert_eq!(name(&machine), "Redis");
    machine.ok(&["trust", "--yes"]);
    machine.ok(&["config", "set", "pulled", "reviewed"]);
    let said = machine.run(&["graph", "Valkey", "--json"]);
    assert!(said.stderr.contains("not released; they are not used"), "{}", said.stderr);
    assert_eq!(name(&machine), "Valkey");
    assert!(machine.run(&["graph", "--merge", "cart", "Redis", "--yes"]).code != 0);
    machine.ok(&["graph", "--release-names"]);
    assert_eq!(name(&machine), "Redis");
    machine.write(file, "\"Valkey\" = \"cart\"\n");
    assert_eq!(name(&machine), "Valkey", "another text waits again");
    // The memories of an untrusted folder are not read.
    machine.ok(&["trust", "--revoke"]);
    assert_eq!(machine.run(&["graph", "Valkey"]).code, 4);
}

#[test]
fn numbers_and_connections_of_topics_are_printed() {
    let machine = with_carts();
    write(&machine, 3, "2020-01-01", "An old note", "entities: [redis]\ntopic: shop/search\n");
    write(&machine, 4, "2026-09-01", "Loose", "");
    let stats = machine.json(&["graph", "--stats", "--json"]);
    assert_eq!(stats["facts"]["in_force"], 1, "{stats:#}");
    assert_eq!((&stats["facts"]["closed"], &stats["unconnected"]), (&json!(1), &json!(1)));
    assert_eq!(stats["staleness"], json!({"aging": 1, "fresh": 2, "stale": 1}));
    assert_eq!(stats["entities"], json!({"service": 2, "untyped": 1}));
    let bridges = machine.json(&["graph", "--bridges", "--json"]);
    let topics: Vec<&Value> = bridges.as_array().unwrap().iter().map(|it| &it["topics"]).collect();
    assert_eq!(topics, [&json!(["shop/cart", "shop/mail"]), &json!(["shop/cart", "shop/search"])]);
    let said = machine.ok(&["graph", "--bridges"]);
    assert!(said.contains("shop/cart - shop/search  Redis, their only connection"), "{said}");
    let path = machine.ok(&["graph", "--path", "Redis", "Valkey"]);
    assert!(path.starts_with("Redis (service)") && path.contains("Valkey (service)"), "{path}");
    let none = machine.run(&["graph", "--path", "Redis", &short(4)]);
    assert_eq!((none.code, none.stdout.as_str()), (1, "Nothing connects them.\n"));
}

#[test]
fn ages_and_use_are_listed_and_shown() {
    let machine = ready();
    write(&machine, 1, "2020-03-01T09:00:00Z", "Carts lie in Redis", "");
    write(&machine, 2, "2020-03-01T09:00:00Z", "Mail is sent at night", "pinned: true\n");
    write(&machine, 3, "2026-09-01T09:00:00Z", "Carts lie in Valkey", "");
    machine.ok(&["sync"]);
    let listed = |age: &str| -> Vec<String> {
        let listed = machine.run(&["list", "--age", age, "--json"]);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let short = |it: &Value| it["short"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(short).collect()
    };
    assert_eq!(listed("fresh"), [short(3)]);
    assert_eq!(listed("aging"), [] as [String; 0]);
    assert_eq!(listed("stale"), [short(1), short(2)]);
    assert_eq!(listed("archive"), [short(1)], "what is pinned stays");
    let said = machine.ok(&["list"]);
    assert!(said.contains("Carts lie in Redis [from the repository] [stale]"), "{said}");
    let numbers = machine.json(&["graph", "--stats", "--json"]);
    assert_eq!(numbers["staleness"], json!({"aging": 0, "fresh": 1, "stale": 2}));

    let id = "01K9ZZZZZZZZZZZZZZZZZZZZ01";
    machine
        .receipt(&json!({"at": "2026-10-02T09:00:00Z", "session": "s", "memories": [{"id": id}]}));
    machine.at_terminal(&["browse"], &[("leave", "/Redis\r++-uq")]);
    machine.ok(&["sync"]);
    let shown = machine.ok(&["show", &short(1)]);
    assert!(shown.contains("given 1 time, helped 2 times\n"), "{shown}");
    assert!(shown.contains("age         stale\n"), "{shown}");
    let shown = machine.json(&["show", &short(1), "--json"]);
    assert_eq!(shown[0]["uses"], json!({"given": 1, "used": 0, "helped": 2, "did_not_help": 0}));
    assert_eq!(shown[0]["age"], "stale");
    assert_eq!(listed("archive"), [] as [String; 0], "it helped");
}

#[test]
fn a_synthesis_is_proposed_renewed_and_accepted() {
    let machine = ready();
    let add = |title: &str, object: &str| {
        let fact = format!("cart | has | {object}");
        machine.ok(&["add", title, "--fact", &fact, "--kind", "fact"]);
        machine.ok(&["sync"]);
    };
    let proposed = || -> Vec<Value> {
        let waiting = machine.json(&["review", "--json"]);
        let all = waiting.as_array().unwrap().iter();
        all.filter(|it| it["kind"] == "synthesis").cloned().collect()
    };
    add("Carts lie in Valkey", "Valkey");
    add("Carts expire after a week", "an expiry");
    assert_eq!(proposed(), [] as [Value; 0], "two are too few");
    add("Carts are merged at login", "a merge");
    let [first] = &proposed()[..] else { panic!("{:?}", proposed()) };
    assert_eq!(first["title"], "What is known about cart");
    let body = first["body"].as_str().unwrap();
    assert!(body.contains("- Carts lie in Valkey.") && body.contains("- Carts expire"), "{body}");
    let links = first["relations"].as_array().unwrap();
    assert!(links.len() == 3 && links.iter().all(|link| link["kind"] == "supports"), "{first:#}");
    assert!(machine.ok(&["graph", "cart"]).contains("What is known about cart"));
    let pairs = machine.json(&["review", "--json"]);
    let repeats =
        |it: &Value| it.get("repeats").is_some_and(|of| !of.as_array().unwrap().is_empty());
    assert!(!pairs.as_array().unwrap().iter().any(repeats), "it is no copy of its parts");
    let id = |of: &Value| of["short"].as_str().unwrap().to_owned();
    machine.ok(&["review", "--accept", &id(first)]);
    machine.ok(&["sync"]);
    assert_eq!(proposed(), [] as [Value; 0]);
    add("Carts have at most 50 lines", "a limit");
    add("Carts belong to one shop", "a shop");
    let [second] = &proposed()[..] else { panic!("{:?}", proposed()) };
    assert_ne!(id(first), id(second));
    let said = machine.ok(&["show", &id(first)]);
    assert!(said.contains("status      active\n") && !said.contains("true no longer"), "{said}");
    machine.ok(&["review", "--accept", &id(second)]);
    let listed = machine.ok(&["list", "--kind", "synthesis"]);
    assert!(listed.contains(&id(second)) && !listed.contains(&id(first)), "{listed}");
    // One that was turned down is not proposed again.
    let machine = ready();
    for title in ["Mail is sent at night", "Mail goes through a queue", "Mail has a footer"] {
        machine.ok(&["add", title, "--fact", &format!("mail | has | {title}")]);
    }
    machine.ok(&["sync"]);
    let waiting = machine.json(&["review", "--json"]);
    let found = waiting.as_array().unwrap().iter().find(|it| it["kind"] == "synthesis");
    machine.ok(&["review", "--reject", found.unwrap()["short"].as_str().unwrap()]);
    machine.ok(&["sync"]);
    assert!(!machine.ok(&["review", "--json"]).contains("What is known about mail"));
}

/// Splits a command line into arguments; double quotes hold one together, and `\\|` is the separator of a table's cell.
fn arguments(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "|");
    let pieces = line.split('"').enumerate();
    let arguments = pieces.flat_map(|(at, piece)| match at % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect(),
        _ => vec![piece.to_owned()],
    });
    arguments.collect()
}

#[test]
fn each_call_of_another_program_has_a_command_here() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/knowledge.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("## Calls of other programs").unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`throughline "))
        .collect();
    assert!(rows.len() >= 28, "{}", rows.len());
    for program in ["ferrex `store`", "LocalNest `kg_as_of`", "Lattice `lattice_answer`"] {
        assert!(rows.iter().any(|row| row.contains(program)), "{program}");
    }
    let machine = ready();
    let added = |title: &str| {
        let shown = machine.json(&["add", title, "--fact", "cart | has | lines", "--json"]);
        shown["short"].as_str().unwrap().to_owned()
    };
    let (one, two) = (added("Carts are kept in Redis"), added("Carts were kept in files"));
    for title in ["A cart has at most 50 lines", "Old carts are dropped", "A cart has one owner"] {
        added(title);
    }
    machine.ok(&["sync"]);
    for row in rows {
        let (_, command) = row.split_once("`throughline ").unwrap();
        let command = command.trim_end_matches(['|', ' ', '`']);
        let command = command.replace("ID2", &two).replace("ID", &one);
        let arguments = arguments(&command);
        let said = machine.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        // Without a model, only the sources are printed.
        let expected = i32::from(command.starts_with("ask "));
        assert_eq!(said.code, expected, "{row}\n{}", said.whole());
    }
}
