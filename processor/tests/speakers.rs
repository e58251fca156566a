//! Authors of prompts. Only the person has wishes and determines the handoff; other agents, programs, and texts that a
//! prompt passes on do not. The everyday prompts were written without knowledge of the rules.

use memory_store::handoff::Handoff;
use memory_store::memory::SaidBy;
use memory_store::recall::{Recall, render};
use memory_store::store::{Store, Stored};
use serde_json::{Value, json};

use crate::scripts::{Script, Sealed, now};

/// Returns the everyday prompts in a file, one JSON object per line.
fn everyday(name: &str) -> Vec<Value> {
    let path = format!("{}/../tests/fixtures/everyday/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes one session for each prompt, with `reply` as Claude's answer.
fn sessions(sealed: &Sealed, prompts: &[Value], reply: &str) {
    for prompt in prompts {
        let mut script = Script::new(prompt["id"].as_str().unwrap(), sealed.root());
        script.prompt(prompt["prompt"].as_str().unwrap());
        script.edit(&format!("{}/src/price.rs", sealed.root()), "f64", "i64");
        script.bash("make check", "passed: 4");
        script.say(reply);
        sealed.write_script(&script);
    }
}

fn memories(sealed: &Sealed) -> Vec<Stored> {
    Store::open(&sealed.dirs, &sealed.tree).unwrap().list().unwrap().memories
}

fn handoff(sealed: &Sealed) -> Handoff {
    Handoff::read(&sealed.dirs.tree(&sealed.tree.root).handoff)
}

/// Returns a text in a form for comparisons: in lower case, with single spaces.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the texts that are stored as the user's.
fn attributed(sealed: &Sealed) -> Vec<String> {
    let of_user = |stored: &Stored| stored.memory.source.said_by != Some(SaidBy::Assistant);
    let mut texts: Vec<String> = memories(sealed)
        .into_iter()
        .filter(of_user)
        .map(|stored| {
            let memory = stored.memory;
            format!(
                "{} {} {:?} {:?} {:?}",
                memory.title, memory.body, memory.source.quote, memory.tags, memory.cues
            )
        })
        .collect();
    texts.push(format!("{:?}", handoff(sealed)));
    let recall = Recall::open(&sealed.dirs, &sealed.tree, None);
    let given = render::injection("start", &recall.start(now(), 4_000).hits, 4_000).text;
    texts.extend(given.lines().filter(|line| line.contains(" asked on ")).map(str::to_owned));
    texts.iter().map(|text| folded(text)).collect()
}

#[test]
fn words_of_others_are_attributed_to_nobody_here() {
    for reply in
        ["I looked at it and did what was asked.", "You're right, I will do that from now on."]
    {
        for file in ["others_words.jsonl", "others_words_seen.jsonl"] {
            let sealed = Sealed::new();
            let prompts = everyday(file);
            sessions(&sealed, &prompts, reply);
            sealed.sync();
            let attributed = attributed(&sealed);
            assert!(attributed.len() > 1 || !handoff(&sealed).sessions.is_empty());
            let mut taken = Vec::new();
            for prompt in &prompts {
                for foreign in prompt["foreign"].as_array().unwrap() {
                    let foreign = folded(foreign.as_str().unwrap());
                    if let Some(text) = attributed.iter().find(|text| text.contains(&foreign)) {
                        taken.push(format!("{}: {foreign} in {text}", prompt["id"]));
                    }
                }
            }
            assert!(taken.is_empty(), "{file}, {reply}: {taken:#?}");
        }
    }
}

/// Adds a prompt whose record has these fields, and an answer by Claude.
fn add_turn(script: &mut Script, text: &str, more: &Value) {
    let mut line = more.clone();
    line["message"] = json!({"role": "user", "content": text});
    script.line("user", line);
    script.bash("make check", "passed: 4");
    script.say("Done as asked.\n\nShall I add the tests, too?");
}

#[test]
fn only_a_persons_session_is_where_the_work_was_left() {
    let others = [
        ("member", json!({"teamName": "alpha", "agentName": "worker"})),
        ("peer", json!({"origin": {"kind": "peer"}, "turnOrigin": "peer"})),
        ("headless", json!({"entrypoint": "sdk-cli", "promptSource": "sdk"})),
        ("script", json!({"entrypoint": "sdk-py"})),
        ("hook", json!({"origin": {"kind": "hook"}})),
        ("message", json!({})),
    ];
    let sealed = Sealed::new();
    let mut person = Script::new("person", sealed.root());
    add_turn(
        &mut person,
        "From now on never use floats for prices, store whole cents.",
        &json!({}),
    );
    sealed.write_script(&person);
    for (name, more) in &others {
        let mut script = Script::new(name, sealed.root()).starting("2026-11-21T09:00:00Z");
        let mut text = format!("From now on always write three bullets, {name}.");
        if *name == "message" {
            text = format!("<teammate-message teammate_id=\"lead\">{text}</teammate-message>");
        }
        add_turn(&mut script, &text, more);
        sealed.write_script(&script);
    }
    sealed.sync();
    let left = handoff(&sealed);
    let sessions: Vec<&str> = left.sessions.iter().map(|left| left.session.as_str()).collect();
    assert_eq!(sessions, ["person"]);
    let titles: Vec<String> =
        memories(&sealed).into_iter().map(|stored| stored.memory.title).collect();
    assert!(titles.iter().any(|title| title.contains("whole cents")), "{titles:?}");
    assert!(!titles.iter().any(|title| title.contains("three bullets")), "{titles:?}");
    let listed =
        processor::collect::session_list::sessions(&sealed.dirs.project(sealed.tree.project));
    let listed = serde_json::to_value(listed).unwrap();
    let speaker = |name: &str| {
        let session = listed.as_array().unwrap().iter().find(|it| it["session"] == name).unwrap();
        session["speaker"].as_str().unwrap_or("person").to_owned()
    };
    let speakers = ["person", "member", "peer", "headless", "script", "message"].map(speaker);
    assert_eq!(speakers, ["person", "agent", "agent", "program", "program", "agent"]);
}

#[test]
fn a_person_who_leads_a_team_or_types_in_an_editor_is_one() {
    let sealed = Sealed::new();
    for (name, wish, more) in [
        (
            "lead",
            "From now on never use floats for prices.",
            json!({"teamName": "alpha", "agentName": "team-lead"}),
        ),
        (
            "editor",
            "From now on, write a migration for each renamed column.",
            json!({"entrypoint": "claude-vscode", "promptSource": "sdk"}),
        ),
        (
            "desktop",
            "From now on answer in German in every session.",
            json!({"entrypoint": "claude-desktop", "promptSource": "sdk", "origin": {"kind": "human"}}),
        ),
        (
            "typed",
            "Going forward keep the changelog sorted by date.",
            json!({"entrypoint": "cli", "promptSource": "typed", "turnOrigin": "human"}),
        ),
    ] {
        let mut script = Script::new(name, sealed.root());
        add_turn(&mut script, wish, &more);
        sealed.write_script(&script);
    }
    sealed.sync();
    let titles: Vec<String> =
        memories(&sealed).into_iter().map(|stored| stored.memory.title).collect();
    for word in ["floats", "migration", "German", "changelog"] {
        assert!(titles.iter().any(|title| title.contains(word)), "{word}: {titles:?}");
    }
    assert_eq!(handoff(&sealed).sessions.len(), 4);
}
