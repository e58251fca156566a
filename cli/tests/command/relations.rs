//! Tests of links between memories, topics, and memories of subagents on the command line.

use memory_store::layout::Tree;
use memory_store::memory::Relation;
use memory_store::reviewed::Reviewed;
use serde_json::{Value, json};

use super::common::Machine;

fn ready() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

fn add(machine: &Machine, args: &[&str]) -> Value {
    machine.json(&[&["add", "--json"], args].concat())
}

fn short(memory: &Value) -> String {
    memory["short"].as_str().unwrap().to_owned()
}

fn shown(machine: &Machine, id: &str) -> Value {
    machine.json(&["show", id, "--json"])[0].clone()
}

#[test]
fn links_are_added_shown_and_removed() {
    let machine = ready();
    let cache = add(&machine, &["Carts lie in Redis"]);
    let id = short(&cache);
    let outage =
        add(&machine, &["The shop was down on Monday", "--relation", &format!("Caused by {id}")]);
    assert_eq!(outage["relations"][0]["kind"], "caused-by", "{outage:#}");
    let said = machine.ok(&["show", &short(&outage)]);
    assert!(said.contains(&format!("caused-by   {id}")), "{said}");
    let link = format!("our own kind {id}");
    machine.ok(&[
        "edit",
        &short(&outage),
        "--relation",
        &link,
        "--relation",
        &format!("part-of {id}"),
    ]);
    machine.ok(&["edit", &short(&outage), "--unrelation", &format!("caused-by {id}")]);
    let kinds: Vec<Value> = shown(&machine, &short(&outage))["relations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link["kind"].clone())
        .collect();
    assert_eq!(kinds, [json!("our-own-kind"), json!("part-of")]);
    let near = machine.ok(&["graph", &id]);
    assert!(near.contains("our-own-kind it"), "{near}");

    let newer =
        add(&machine, &["Carts moved to the mill", "--relation", &format!("replaces {id}")]);
    assert_eq!(shown(&machine, &id)["superseded_by"], newer["id"]);
    machine.ok(&["edit", &short(&newer), "--unrelation", &format!("supersedes {id}")]);
    assert_eq!(shown(&machine, &id)["superseded_by"], Value::Null);
    machine.ok(&["edit", &short(&newer), "--relation", &format!("supersedes {id}")]);
    assert_eq!(shown(&machine, &id)["superseded_by"], newer["id"]);

    for (args, code) in [
        (["edit", &id, "--relation", "refines"], 2),
        (["edit", &id, "--relation", "a: b zzzzzz"], 2),
        (["edit", &id, "--relation", "refines zzzzzz"], 3),
        (["edit", &id, "--relation", &format!("refines {id}")], 2),
        (["edit", &id, "--unrelation", &format!("refines {}", short(&newer))], 3),
    ] {
        let failed = machine.run(&args);
        assert_eq!(failed.code, code, "{args:?}: {}", failed.stderr);
    }
}

#[test]
fn links_that_a_model_proposes_wait_for_a_person() {
    let machine = ready();
    let one = add(&machine, &["Carts lie in Redis"]);
    let other = add(&machine, &["Redis runs on the big host"]);
    let dirs = testutils::dirs_of(&machine.path("home"));
    let home = dirs.project(Tree::find(&dirs, &machine.work()).unwrap().project);
    let id = |memory: &Value| memory["id"].as_str().unwrap().parse().unwrap();
    let propose = |kind: &str| {
        let link = Relation { kind: kind.to_owned(), to: id(&other) };
        Reviewed::change(&home, |reviewed| reviewed.propose([(id(&one), link)])).unwrap();
    };
    propose("supports");
    let said = machine.ok(&["show", &short(&one)]);
    assert!(said.contains(&format!("A model proposes: supports {}", short(&other))), "{said}");
    let listed = machine.json(&["review", "--json"]);
    let views = listed.as_array().unwrap().iter();
    let links: Vec<&Value> = views.filter_map(|view| view.get("proposed_links")).collect();
    assert_eq!(links[0][0]["kind"], "supports", "{listed:#}");
    assert!(machine.ok(&["review"]).contains("Links that a model proposes"));
    machine.ok(&["review", "--no-link", &short(&one)]);
    propose("supports");
    assert!(!machine.ok(&["review"]).contains("Links that a model proposes"), "it was dropped");
    assert_eq!(shown(&machine, &short(&one)).get("relations"), None);
    propose("part-of");
    machine.ok(&["review", "--link", &short(&one)]);
    assert_eq!(shown(&machine, &short(&one))["relations"][0]["kind"], "part-of");
    let incoming = format!("linked from {} part-of: Carts lie in Redis", short(&one));
    assert!(machine.ok(&["show", &short(&other)]).contains(&incoming));
    propose("refines");
    let told = machine.at_terminal(&["review"], &[("Decide", "\r")]);
    assert!(told.contains("refines") && told.contains("Drop"), "{told}");
    machine.at_terminal(&["review"], &[("Decide", "\u{1b}[A\u{1b}[A\r")]);
    assert_eq!(shown(&machine, &short(&one))["relations"][1]["kind"], "refines");
    assert_ne!(machine.run(&["review", "--link", &short(&one)]).code, 0);
}

#[test]
fn topics_have_two_levels_and_narrow_a_search() {
    let machine = ready();
    let cart = add(&machine, &["Carts lie in Redis", "--topic", "shop/cart"]);
    add(&machine, &["Mails are kept in Redis", "--topic", "Shop/mail"]);
    add(&machine, &["The yard has Redis too", "--topic", "yard"]);
    add(&machine, &["Redis has no topic here"]);
    let topics = machine.json(&["list", "--topics", "--json"]);
    assert_eq!(topics["topics"]["shop"]["memories"], 2);
    assert_eq!(topics["topics"]["shop"]["topics"]["mail"]["memories"], 1);
    let areas = machine.json(&["list", "--topics", "--depth", "1", "--json"]);
    assert_eq!(areas["topics"]["shop"].get("topics"), None);
    assert!(machine.ok(&["list", "--topics"]).contains("without a topic: 1"));
    let count = |args: &[&str]| machine.json(args).as_array().map_or(0, Vec::len);
    assert_eq!(count(&["list", "--topic", "SHOP", "--json"]), 2);
    machine.ok(&["sync"]);
    let found = |args: &[&str]| -> Vec<Value> {
        let found = machine.json(&[&["search", "--json"], args].concat());
        found["hits"].as_array().unwrap().iter().map(|hit| hit["title"].clone()).collect()
    };
    assert_eq!(found(&["redis", "topic:shop/cart"]), ["Carts lie in Redis"]);
    assert_eq!(found(&["redis", "--topic", "yard"]), ["The yard has Redis too"]);
    machine.ok(&["edit", &short(&cart), "--topic", ""]);
    assert_eq!(shown(&machine, &short(&cart)).get("topic"), None);
}

#[test]
fn memories_of_a_subagent_are_listed_by_its_name() {
    let machine = ready();
    let own = add(&machine, &["Reviews begin with the tests", "--agent", "reviewer"]);
    let common = add(&machine, &["Reviews begin with the tests"]);
    assert_ne!(own["id"], common["id"], "one memory is not made of both");
    let titles = |args: &[&str]| machine.json(args).as_array().unwrap().len();
    assert_eq!(titles(&["list", "--json"]), 2);
    assert_eq!(titles(&["list", "--agent", "Reviewer", "--json"]), 1);
    assert_eq!(titles(&["list", "--scope", "agent", "--json"]), 1);
    assert_eq!(titles(&["list", "--scope", "project", "--json"]), 1);
    assert!(machine.ok(&["show", &short(&own)]).contains("agent       reviewer"));
    machine.ok(&["edit", &short(&own), "--agent", ""]);
    assert_eq!(titles(&["list", "--agent", "reviewer", "--json"]), 0);
    assert_eq!(machine.run(&["add", "x", "--agent", " "]).code, 2);
}
