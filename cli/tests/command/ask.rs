//! `throughline ask`, and the shapes of questions in `search` and `why`: against a stand-in for Ollama, and without a
//! model.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::common::{Machine, Said};
use super::ollama::{Behaviour, Ollama};

/// A project of memories, with questions.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/questions")
}

fn ready() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    for file in fs::read_dir(fixture().join("memories")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        machine.write(&format!("home/work/.throughline/memories/{name}"), &text);
    }
    machine.ok(&["sync"]);
    machine
}

/// A model that cites the first source with the word that is quoted in this program's instructions for a test, and
/// also one that does not exist.
fn model(asked: &str) -> String {
    let (_, question) = asked.rsplit_once("The question: ").unwrap_or_default();
    if let Some((_, line)) = asked.rsplit_once("The next line: ") {
        return match line {
            "and in April?" => {
                json!({"kind": "question", "text": "Where were carts stored in April?"})
            }
            "we moved them to DragonflyDB" => {
                json!({"kind": "statement", "text": "Carts moved to DragonflyDB"})
            }
            _ => json!({"kind": "question", "text": line}),
        }
        .to_string();
    }
    let number = |words: &str| {
        let line = asked.lines().find(|line| line.starts_with('[') && line.contains(words));
        let number = line.and_then(|line| line[1..].split(']').next()?.parse::<u64>().ok());
        number.unwrap_or(99)
    };
    let statement = |text: &str, source: u64| json!({"text": text, "sources": [source]});
    let statements = match question {
        it if it.contains("April") => vec![statement("Carts were in Redis.", number("Redis"))],
        it if it.contains("carts") => vec![
            statement("Carts are in Valkey since days(2026-03-01, 2026-06-01).", number("Valkey")),
            statement("Oracle holds them.", 99),
        ],
        _ => Vec::new(),
    };
    json!({"statements": statements}).to_string()
}

fn with_model(machine: &Machine) -> Ollama {
    let server = Ollama::start(&["tiny"], Behaviour::Says(model));
    let host = &server.host;
    let settings = format!(
        "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"{host}\"\ntimeout_s = 5\n"
    );
    machine.write("home/.config/throughline/config.toml", &settings);
    server
}

fn json_of(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}{}", said.stdout, said.stderr))
}

#[test]
fn every_question_of_the_fixture_finds_its_sources() {
    let machine = ready();
    let questions = fs::read_to_string(fixture().join("questions.jsonl")).unwrap();
    for line in questions.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let question = expected["question"].as_str().unwrap();
        let said = machine.run(&["ask", "--json", question]);
        assert_eq!(said.code, 1, "there is no model: {}", said.stderr);
        let view = json_of(&said);
        assert_eq!(view["shape"], expected["shape"], "{question}");
        let sources: Vec<&str> = view["citations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| source["short"].as_str().unwrap())
            .collect();
        let wanted = expected["sources"].as_array().unwrap();
        assert_eq!(sources.is_empty(), wanted.is_empty(), "{question}: {sources:?}");
        for source in wanted {
            let first = if expected["shape"] == "list" { sources.len() } else { 3 };
            let mut first = sources.iter().take(first);
            assert!(first.any(|found| found == source), "{question}: {sources:?}");
        }
    }
}

#[test]
fn an_answer_has_numbered_sources_and_none_that_was_invented() {
    let machine = ready();
    let server = with_model(&machine);
    let said = machine.run(&["ask", "Where", "are", "carts", "stored", "now?"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let first = said.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("Carts are in Valkey since 92 days (2026-03-01 to 2026-06-01). ["),
        "{first}"
    );
    assert!(!said.stdout.contains("Oracle") && said.stdout.contains("zzzz02"), "{}", said.stdout);
    assert!(
        said.stderr.contains("the latest value") && said.stderr.contains("1 sentence"),
        "{}",
        said.stderr
    );
    let view = json_of(&machine.run(&["ask", "--json", "Where were carts stored in April?"]));
    assert_eq!((&view["known"], &view["shape"]), (&json!(true), &json!("as-of")));
    assert_eq!(view["as_of"], "2026-04-30T23:59:59.999Z");
    assert_eq!(view["citations"][0]["short"], "zzzz01", "{view}");
    let asked = server.asked("/api/chat").pop().unwrap()["messages"][1]["content"].to_string();
    assert!(!asked.contains("Valkey"), "that is later: {asked}");
    // The model does not know it, and is not asked if there is no source.
    let unknown = machine.run(&["ask", "On which day do releases go out?"]);
    assert_eq!((unknown.code, unknown.stdout.contains("Not known")), (1, true));
    let count = server.asked("/api/chat").len();
    let foreign = machine.run(&["ask", "Which espresso machine is in the kitchen?"]);
    assert_eq!((foreign.code, foreign.stdout.contains("Not known")), (1, true));
    assert_eq!(server.asked("/api/chat").len(), count);
}

#[test]
fn without_a_model_the_sources_are_printed() {
    let machine = ready();
    let said = machine.run(&["ask", "Where are carts stored?"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.starts_with("Sources found:\n  [1] "), "{}", said.stdout);
    assert!(said.stderr.contains("throughline config llm"), "{}", said.stderr);
    let gone = "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"127.0.0.1:9\"\n";
    let elsewhere = "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"models.example\"\n";
    for (settings, why) in [(gone, "nothing answers at"), (elsewhere, "consented_hosts")] {
        machine.write("home/.config/throughline/config.toml", settings);
        let said = machine.run(&["ask", "Where are carts stored?"]);
        assert_eq!((said.code, said.stdout.contains("zzzz02")), (1, true), "{}", said.stdout);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    }
}

#[test]
fn a_conversation_completes_follow_ups_and_offers_statements() {
    let machine = ready();
    let _server = with_model(&machine);
    let lines = "Where are carts stored?\nand in April?\n\nwe moved them to DragonflyDB\n";
    let said = machine.run_on(&["ask"], lines);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("Asked: Where were carts stored in April?"), "{}", said.stderr);
    assert!(said.stdout.contains("Carts were in Redis. ["), "{}", said.stdout);
    let offered = "`throughline add 'Carts moved to DragonflyDB'` saves it.";
    assert!(said.stdout.contains(offered), "{}", said.stdout);
    let shown = machine.at_terminal(
        &["ask"],
        &[(">", "we moved them to DragonflyDB\n"), ("Save as a memory", "y"), (">", "\u{4}")],
    );
    assert!(shown.contains("Added"), "{shown}");
    let listed = machine.ok(&["list", "--json"]);
    assert!(listed.contains("Carts moved to DragonflyDB"), "{listed}");
}

#[test]
fn search_and_why_name_the_shape_of_a_question() {
    let machine = ready();
    let found = machine.json(&["search", "--json", "What is the current upload limit?"]);
    assert_eq!((&found["shape"], &found["hits"][0]["short"]), (&json!("latest"), &json!("zzzz07")));
    let said = machine.run(&["search", "Where were carts stored in April?"]);
    assert!(said.stdout.contains("zzzz01") && !said.stdout.contains("zzzz02"), "{}", said.stdout);
    assert!(said.stderr.contains("as of 2026-04-30"), "{}", said.stderr);
    let plain = machine.json(&["search", "--json", "upload limit"]);
    assert_eq!(plain.get("shape"), None);
    let why = machine.json(&["why", "--json", "Should we use Helm or Kustomize?"]);
    assert_eq!(why["shape"], "comparison");
    let said = machine.ok(&["why", "Should we use Helm or Kustomize?"]);
    assert!(said.contains("both helm and kustomize"), "{said}");
}
