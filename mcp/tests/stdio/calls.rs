//! Calls as models write them, with the answers. The table in docs/mcp.md is generated from them;
//! `THROUGHLINE_ACCEPT=1` updates the table.

use memory_store::memory::{PathRef, SaidBy, Scope, Source};

use super::*;

/// Returns a project with memories whose ids are fixed, an index and two sessions.
fn shop() -> World {
    let world = World::trusted();
    let day = |day: &str| Timestamp::parse(day).unwrap();
    let memory = |number: u8, kind, title: &str, text: &str, at: &str| Memory {
        occurred: Some(day(at)),
        source: Source {
            session: Some("4f1c2a7e-0000-4000-8000-000000000001".to_owned()),
            said_by: Some(SaidBy::Assistant),
            ..Source::default()
        },
        ..Memory::new(MemoryId([number; 16]), kind, title, text, day(at))
    };
    let path = |path: &str| PathRef { path: path.to_owned(), seen: None };
    let cents = Memory {
        paths: vec![path("src/money.rs")],
        tags: vec!["money".to_owned()],
        ..memory(
            17,
            Kind::Decision,
            "Amounts are integer cents",
            "Floats lose pennies when invoices are summed.",
            "2026-09-02",
        )
    };
    let floats = Memory {
        superseded_by: Some(MemoryId([17; 16])),
        ..memory(34, Kind::Decision, "Amounts are floats", "It was quick to write.", "2026-03-01")
    };
    let wish = Memory {
        source: Source { said_by: Some(SaidBy::User), ..Source::default() },
        ..memory(
            51,
            Kind::Preference,
            "Ask before a release",
            "Each time, also for a patch.",
            "2026-08-20",
        )
    };
    let fix = Memory {
        paths: vec![path("src/import.rs")],
        tags: vec!["ci".to_owned()],
        ..memory(
            68,
            Kind::Fix,
            "The importer stops at a byte order mark",
            "Strip it before the first line is split.",
            "2026-09-20",
        )
    };
    let freeze = Memory {
        valid_until: Some(day("2026-09-10")),
        ..memory(
            85,
            Kind::Fact,
            "No deploys in the first week of September",
            "The data centre moves.",
            "2026-08-25",
        )
    };
    let command = memory(
        102,
        Kind::Command,
        "`make check` runs the tests",
        "In the root; it takes a minute.",
        "2026-09-01",
    );
    let rounding = Memory {
        paths: vec![path("src/money.rs")],
        ..memory(
            119,
            Kind::Gotcha,
            "Rounding happens once, at the end of an invoice",
            "Per line it drifts by a cent.",
            "2026-09-03",
        )
    };
    for memory in [&cents, &floats, &wish, &fix, &freeze, &command, &rounding] {
        save(&world, memory.clone());
    }
    let user = Memory {
        scope: Scope::User,
        source: Source { said_by: Some(SaidBy::User), ..Source::default() },
        ..memory(136, Kind::Preference, "Answers are in English", "In every project.", "2026-07-01")
    };
    Store::user(&world.dirs).unwrap().save(user, &Redactor::default(), now()).unwrap();
    let own = Store::user(&world.dirs).unwrap().list().unwrap().memories;
    let index = world.dirs.user_state().index;
    let content = Content {
        root: &world.dirs.data,
        memories: &own,
        passages: None,
        start: &[],
        settings: &Settings::default(),
        now: now(),
    };
    Publisher::begin(&index).unwrap().publish(content).unwrap();
    let turn = |number, at: &str, text: &str| Passage {
        session: "4f1c2a7e-0000-4000-8000-000000000001".to_owned(),
        turn: number,
        at: day(at),
        text: text.to_owned(),
        ..Passage::default()
    };
    world.publish(vec![
        turn(
            0,
            "2026-09-02",
            "Sum the invoices. They drift by a cent, so amounts become integer cents.",
        ),
        turn(1, "2026-09-02", "Now round once. Rounding moved to the end of the invoice."),
        turn(2, "2026-09-03", "Write a test for that. There is one, and it passes."),
    ]);
    world
}

/// Calls, each with a tool and its arguments. Ids of saved memories are written as `new1`, `new2`, and so on.
const CALLS: &[(&str, &str)] = &[
    ("recall", r#"{"query": "why cents and not floats"}"#),
    ("recall", r#"{"q": "importer byte order mark"}"#),
    ("recall", r#"{"query": "cents", "limit": "1"}"#),
    ("recall", r#"{"query": ["integer", "cents"], "limit": 3.0, "kinds": "all"}"#),
    ("recall", r#"{"query": "importer", "kind": "Fixes, gotcha"}"#),
    ("recall", r#"{"query": "importer", "kinds": ["bug"]}"#),
    ("recall", r#"{"query": "tests", "types": "[\"command\", \"fact\"]"}"#),
    ("recall", r#"{"query": "kind:fix tag:ci importer"}"#),
    ("recall", r#"{"query": "cents since:2026-09-01"}"#),
    ("recall", r#"{"query": "cents since:tomorrowish"}"#),
    ("recall", r#"{"query": "the weather on the moon"}"#),
    ("recall", r#"{"ids": ["248h24"]}"#),
    ("recall", r#"{"id": "[fix 248h24]"}"#),
    ("recall", r#"{"query": "decision 8h248h"}"#),
    ("recall", r#"{"ids": "248h24, 8h248h"}"#),
    ("recall", r#"{"ids": ["zzzzzz"]}"#),
    ("recall", r#"{"paths": ["src/money.rs"]}"#),
    ("recall", r#"{"file_path": "src/import.rs"}"#),
    ("recall", r#"{"query": "rounding", "paths": "src/money.rs"}"#),
    ("recall", r#"{"query": "amounts", "detail": "titles"}"#),
    ("recall", r#"{"query": "amounts", "as_of": "2026-04-01"}"#),
    ("recall", r#"{"query": "amounts", "as_of": "some day"}"#),
    ("recall", r#"{"query": "amounts floats", "history": true}"#),
    ("recall", r#"{"query": "deploys in September", "history": "yes"}"#),
    ("recall", r#"{"query": "amounts", "projects": "all"}"#),
    ("recall", r#"{"query": "amounts", "verbose": true, "project_id": 4}"#),
    ("recall", r#"{"query": "amounts", "cursor": "after-8"}"#),
    ("recall", r#"{"query": "amounts topic:money"}"#),
    ("recall", r#"{"about": "src/money.rs"}"#),
    ("recall", r#"{"query": ""}"#),
    ("recall", r#"{"query": "byte order mark", "format": "json"}"#),
    (
        "remember",
        r#"{"kind": "decision", "title": "We deploy with Helm", "text": "The cluster team keeps the charts."}"#,
    ),
    ("remember", r#"{"kind": "decision", "title": "We deploy with Kustomize"}"#),
    ("remember", r#"{"id": "new2", "both_hold": true}"#),
    ("remember", r#"{"id": "new2", "supersedes": "new1"}"#),
    (
        "remember",
        r#"{"content": "The nightly export needs the VPN. Without it the upload hangs for an hour."}"#,
    ),
    (
        "remember",
        r#"{"type": "Gotcha", "body": "Ports below 1024 need root on the build host.", "tag": "ci"}"#,
    ),
    ("remember", r#"{"kind": "poem", "title": "Roses"}"#),
    (
        "remember",
        r#"{"kind": "fact", "title": "Freeze until spring", "valid_until": "2027-03-20", "pin": "true"}"#,
    ),
    ("remember", r#"{"kind": "fact", "title": "Freeze", "valid_until": "soon"}"#),
    (
        "remember",
        r#"{"id": "new3", "text": "The nightly export needs the VPN of the Berlin office."}"#,
    ),
    ("remember", r#"{"id": "new3", "still_true": true}"#),
    ("remember", r#"{"id": "new3"}"#),
    ("remember", r#"{"id": "sk6csk", "text": "No need to ask."}"#),
    ("remember", r#"{"id": "zzzzzz", "pin": true}"#),
    ("remember", r#"{"kind": "fact", "title": "Two suppliers", "importance": "high"}"#),
    ("remember", r#"{"kind": "convention", "title": "Answers are short", "scope": "user"}"#),
    (
        "remember",
        r#"{"title": "Carts lie in Redis", "facts": ["cart | stored in | Redis"], "relations": ["refines new3"], "topic": "shop/cart"}"#,
    ),
    (
        "remember",
        r#"{"title": "Carts lie in Valkey", "facts": "cart | kept in | Valkey | 2026-10-05..", "check": true}"#,
    ),
    ("recall", r#"{"about": "cart"}"#),
    ("remember", r#"{"ends": ["cart | stored in | Redis | ..2026-10-02"]}"#),
    ("recall", r#"{"about": "cart", "as_of": "2026-10-01"}"#),
    ("remember", r#"{"facts": ["cart | big"]}"#),
    ("remember", r#"{"scope": "agent", "agent": "reviewer", "text": "The importer lacks tests."}"#),
    ("recall", r#"{"query": "importer lacks tests", "agent": "reviewer", "detail": "titles"}"#),
    ("remember", r#"{"id": "new3", "helpful": true}"#),
    (
        "remember",
        r#"{"outcome": {"done": ["Exports resume"], "decided": ["Exports retry twice"], "open": ["Measure the retries"]}}"#,
    ),
    ("remember", r#"{}"#),
    ("forget", r#"{"id": "new4"}"#),
    ("forget", r#"{"memory_id": "[gotcha new4]"}"#),
    ("forget", r#"{"id": "zzzzzz"}"#),
    ("search_sessions", r#"{"query": "integer cents"}"#),
    ("search_sessions", r#"{"query": "integer cents", "paths": ["src/money.rs"]}"#),
    ("search_sessions", r#"{"query": "integer cents", "branch": "release"}"#),
    ("search_sessions", r#"{"file": "src/money.rs"}"#),
    ("search_sessions", r#"{"session": "4f1c2a7e", "turns": "2-"}"#),
    ("search_sessions", r#"{"session_id": "4f1c2a7e", "turn": [1, 2]}"#),
    ("search_sessions", r#"{"session": "4f1c2a7e", "outline": true}"#),
    ("search_sessions", r#"{"session": "99999999", "outline": true}"#),
    ("search_sessions", r#"{"turns": "1-2"}"#),
    ("search_sessions", r#"{"query": "rounding", "thinking": "perhaps"}"#),
    ("status", r#"{"detail": "full"}"#),
];

/// Answers all calls; the path of the home is replaced by `~`.
fn answered(world: &World) -> Vec<(&'static str, &'static str, String, bool)> {
    let no_models = world.home.path().join("no-models");
    let listed = json!([{
        "session": "4f1c2a7e-0000-4000-8000-000000000001", "first": "2026-09-02T08:00:00Z",
        "last": "2026-09-03T09:00:00Z", "branch": "main", "goal": "Sum the invoices.",
        "done": ["Amounts are integer cents"], "files": ["src/money.rs"],
    }]);
    let variables = [
        ("THROUGHLINE_MODELS", no_models.to_str().unwrap()),
        ("CLAUDE_CODE_SESSION_ID", "77777777-0000-4000-8000-000000000002"),
    ];
    let mut server = world.connect_beside(&format!("cat <<'END'\n{listed}\nEND"), &variables);
    let mut saved: Vec<String> = Vec::new();
    let mut answers = Vec::new();
    for (tool, written) in CALLS {
        let mut call = (*written).to_owned();
        for (number, id) in saved.iter().enumerate() {
            call = call.replace(&format!("new{}", number + 1), id);
        }
        let (mut text, failed) = server.text(tool, &serde_json::from_str(&call).unwrap());
        for rest in text.lines().filter_map(|line| line.strip_prefix("created [")) {
            saved.push(rest.split([' ', ']']).nth(1).unwrap().to_owned());
        }
        for (number, id) in saved.iter().enumerate() {
            text = text.replace(id, &format!("new{}", number + 1));
        }
        let home = world.home.path().canonicalize().unwrap();
        answers.push((*tool, *written, text.replace(home.to_str().unwrap(), "~"), failed));
    }
    assert_eq!(server.end(), Some(0));
    answers
}

/// Formats JSON with sorted keys, so that the result does not depend on features of the JSON library.
fn in_order(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let parts = keys.iter().map(|key| format!("\"{key}\":{}", in_order(&object[*key])));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(in_order).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[test]
fn the_documentation_lists_the_calls_with_their_answers() {
    assert_eq!(CALLS.len(), 72);
    let mut table = String::from("| call | answer |\n|--|--|\n");
    for (tool, call, text, failed) in answered(&shop()) {
        let text = match serde_json::from_str(&text) {
            Ok(json @ Value::Object(_)) => in_order(&json),
            Ok(_) | Err(_) => text,
        };
        let text = text.replace('|', "\\|").replace('<', "&lt;");
        let lines: Vec<&str> = text.lines().collect();
        let refused = if failed { "*refused:* " } else { "" };
        let call = call.replace('|', "\\|");
        table.push_str(&format!("| `{tool}` `{call}` | {refused}{} |\n", lines.join("<br>")));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mcp.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- calls -->\n").unwrap();
    let (told, after) = rest.split_once("<!-- end of calls -->").unwrap();
    if std::env::var_os("THROUGHLINE_ACCEPT").is_some() {
        let page = format!("{before}<!-- calls -->\n{table}<!-- end of calls -->{after}");
        fs::write(&path, page).unwrap();
        return;
    }
    for (told, is) in told.lines().zip(table.lines()) {
        assert_eq!(told, is, "run this test with THROUGHLINE_ACCEPT=1 and read what changed");
    }
    assert_eq!(told, table);
}

#[test]
fn no_answer_speaks_of_the_parser_or_of_types() {
    for (tool, call, text, _) in answered(&shop()) {
        for banned in ["invalid type", "missing field", "unknown variant", "expected", "deserial"] {
            assert!(!text.contains(banned), "{tool} {call}: {text}");
        }
    }
}
