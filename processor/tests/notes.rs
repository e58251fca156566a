//! Notes by a model with all fields of its form: the path from transcripts to memory files and the session record.

use std::fs;

use memory_store::handoff::Handoff;
use memory_store::memory::{Fact, Memory, SaidBy};
use memory_store::redact::Redactor;
use memory_store::store::Store;
use memory_store::{Kind, MemoryId, Timestamp};
use processor::session_records::{self, OpenKind, open_items};
use serde_json::json;

use crate::scripts::{Script, Sealed, git};
use crate::standin::ollama::{Behaviour, Ollama};

const STORED: &str = "Carts live in Redis since 2026-03-01, because a restart lost them twice";
const HOURS: &str = "The importer takes three hours on the large catalogue";
const TASK: &str = "Backfill the keys of old refunds";
const THOUGHT: &str = "Perhaps the proxy drops the cookie of the carts";

/// Proposes a note for each known sentence in a window. In the question about a session's work, declares the note about
/// carts replaced.
fn answer(question: &str) -> String {
    if question.contains("<work>") {
        let line = question.lines().find(|line| line.starts_with('E') && line.contains("Redis"));
        let note = line.and_then(|line| line.split(' ').next());
        let over = json!({"note": note, "by": "N0", "why": "replaced", "how": "Postgres has them"});
        return json!({"overtaken": [over]}).to_string();
    }
    if !question.contains("<session>") {
        return json!({"relations": [], "overtaken": []}).to_string();
    }
    let note = |kind: &str, said: &str| {
        let text = match kind {
            "task" => "The audit of March found forty refunds without idempotency keys.",
            "gotcha" => "Nginx strips headers longer than a kilobyte, which browsers then forget.",
            _ if said == HOURS => {
                "Start it before midnight, or the storefront shows yesterday's prices."
            }
            _ => "Snapshots are written each minute, so that a crash costs little.",
        };
        json!({
            "kind": kind, "title": said, "text": text, "quote": said, "importance": 80, "standing": true,
            "paths": [], "cues": [], "because": "", "confirmed": true, "entities": [], "facts": [],
            "topic": "Import / Refunds",
        })
    };
    let mut stored = note("fact", STORED);
    stored["paths"] = json!(["src/carts.rs"]);
    stored["topic"] = json!("carts/storage");
    stored["entities"] = json!([
        {"name": "Redis", "type": "service"},
        {"name": "carts.rs", "type": "file"},
        {"name": "Zookeeper", "type": "service"},
    ]);
    stored["facts"] = json!([
        {"subject": "carts", "predicate": "live in", "object": "Redis", "since": "2026-03-01"},
        {"subject": "carts", "predicate": "live in", "object": "Zookeeper", "since": ""},
    ]);
    let mut thought = note("gotcha", THOUGHT);
    thought["confirmed"] = json!(false);
    let notes = [stored, note("fact", HOURS), note("task", TASK), thought];
    let is_shown = |note: &serde_json::Value| question.contains(note["title"].as_str().unwrap());
    json!({"memories": notes.into_iter().filter(is_shown).collect::<Vec<_>>()}).to_string()
}

fn with_model(server: &Ollama) -> Sealed {
    let sealed = Sealed::new();
    let path = sealed.dirs.config_file();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let host = &server.host;
    let config =
        format!("[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"http://{host}\"\n");
    fs::write(path, config).unwrap();
    sealed
}

fn first(sealed: &Sealed) -> Script {
    let name = "10000000-0000-4000-8000-000000000000";
    let mut script = Script::new(name, sealed.root()).starting("2026-11-01T09:00:00Z");
    script.prompt(&format!("{STORED}. And note that {HOURS}. {TASK} later, not today."));
    script.edit(&format!("{}/src/carts.rs", sealed.root()), "memory", "Redis");
    script.say(&format!("It is done. {THOUGHT}."));
    script
}

fn second(sealed: &Sealed) -> Script {
    let name = "20000000-0000-4000-8000-000000000000";
    let mut script = Script::new(name, sealed.root()).starting("2026-11-02T09:00:00Z");
    script.prompt("Move them to Postgres, please.");
    script.edit(&format!("{}/src/carts.rs", sealed.root()), "Redis", "Postgres");
    script.say("They are in Postgres.");
    script
}

fn memories(sealed: &Sealed) -> Vec<Memory> {
    let listing = Store::open(&sealed.dirs, &sealed.tree).unwrap().list().unwrap();
    let mut memories: Vec<Memory> =
        listing.memories.into_iter().map(|stored| stored.memory).collect();
    memories.sort_by_key(|memory| memory.id);
    memories
}

fn on_carts(sealed: &Sealed) -> Option<Memory> {
    memories(sealed).into_iter().find(|memory| memory.title == STORED)
}

#[test]
fn names_facts_and_topic_are_kept_and_a_topic_is_offered_again() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(answer));
    let sealed = with_model(&server);
    sealed.write_script(&first(&sealed));
    sealed.sync();
    let carts = on_carts(&sealed).unwrap();
    assert_eq!(carts.entities, ["Redis (service)", "carts.rs (file)"]);
    assert_eq!(carts.topic.as_deref(), Some("carts/storage"));
    let [fact] = &carts.facts[..] else { panic!("{:?}", carts.facts) };
    assert_eq!((fact.subject.as_str(), fact.object.as_str()), ("carts", "Redis"));
    assert_eq!(fact.from.unwrap().date(), "2026-03-01");
    let titles: Vec<String> = memories(&sealed).into_iter().map(|memory| memory.title).collect();
    assert!(!titles.iter().any(|title| title == THOUGHT), "{titles:?}");

    sealed.write_script(&second(&sealed));
    sealed.sync();
    let asked = server.asked("/api/chat");
    let windows: Vec<String> =
        asked.iter().map(ToString::to_string).filter(|body| body.contains("<session>")).collect();
    let topics = "Topics of the project: carts/storage, import/refunds";
    assert!(windows[0].contains("The part is of 2026-11-01.") && !windows[0].contains("Topics of"));
    assert!(windows[1].contains(topics) && windows[1].contains("The part is of 2026-11-02."));
}

#[test]
fn a_newer_fact_of_a_person_ends_the_fact_in_a_file_of_the_program() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(answer));
    let sealed = with_model(&server);
    sealed.write_script(&first(&sealed));
    sealed.sync();
    assert_eq!(on_carts(&sealed).unwrap().facts[0].to, None);
    let at = Timestamp::parse("2026-11-03").unwrap();
    let mut own = Memory::new(MemoryId([7; 16]), Kind::Fact, "The shop moved to Valkey", "", at);
    own.source.said_by = Some(SaidBy::User);
    own.facts.push(Fact {
        subject: "The carts".to_owned(),
        predicate: "are kept in".to_owned(),
        object: "Valkey".to_owned(),
        ..Fact::default()
    });
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let own = store.save(own, &Redactor::default(), at).unwrap().stored;
    let before = fs::read(&own.path).unwrap();
    let mut other = Script::new("30000000-0000-4000-8000-000000000000", sealed.root())
        .starting("2026-11-04T09:00:00Z");
    other.prompt("Which page is slow?");
    other.say("The page of offers.");
    sealed.write_script(&other);
    sealed.sync();
    let carts = on_carts(&sealed).unwrap();
    assert_eq!(carts.facts[0].to, Some(at));
    assert_eq!(carts.superseded_by, None);
    assert_eq!(fs::read(&own.path).unwrap(), before);
}

#[test]
fn a_task_of_a_model_is_an_open_item_and_no_memory() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(answer));
    let sealed = with_model(&server);
    sealed.write_script(&first(&sealed));
    sealed.sync();
    assert!(memories(&sealed).iter().all(|memory| memory.kind != Kind::Task));
    let home = sealed.dirs.project(sealed.tree.project);
    let open = || -> Vec<(OpenKind, String)> {
        let items = open_items(&session_records::read(&home)).into_iter();
        items.map(|item| (item.kind, item.text)).collect()
    };
    assert_eq!(open(), [(OpenKind::Task, TASK.to_owned())]);
    let handoff = || Handoff::read(&sealed.dirs.tree(&sealed.tree.root).handoff);
    assert_eq!(handoff().sessions[0].not_done, [TASK]);
    // A sync with nothing new keeps the task in the handoff.
    sealed.sync();
    assert_eq!(handoff().sessions[0].not_done, [TASK]);
    // A later commit about the task settles it.
    let mut next = second(&sealed);
    next.bash("git commit -am 'Backfill keys for old refunds'", "[main 1a2b3c4] Backfill keys");
    sealed.write_script(&next);
    sealed.sync();
    assert_eq!(open(), []);
}

#[test]
fn work_on_a_file_overtakes_a_note_of_the_program_and_marks_one_of_a_person() {
    for is_persons in [false, true] {
        let server = Ollama::start(&["tiny"], Behaviour::Says(answer));
        let sealed = with_model(&server);
        sealed.write_script(&first(&sealed));
        sealed.sync();
        let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
        let carts = on_carts(&sealed).unwrap();
        let path = |store: &Store| {
            let listing = store.list().unwrap();
            listing.memories.into_iter().find(|it| it.memory.id == carts.id).map(|it| it.path)
        };
        let file = path(&store).unwrap();
        if is_persons {
            git(&sealed.tree.root, &["init", "-q", "-b", "main"]);
            git(&sealed.tree.root, &["add", "-A"]);
            git(&sealed.tree.root, &["commit", "-q", "-m", "memories"]);
            sealed.sync();
        }
        let before = fs::read(&file).unwrap();
        sealed.write_script(&second(&sealed));
        sealed.sync();
        assert_eq!(path(&store).is_some(), is_persons);
        if is_persons {
            assert_eq!(fs::read(&file).unwrap(), before, "a person's file keeps its bytes");
            assert_eq!(store.unfound().unwrap(), [carts.id], "it is proposed in a review");
        }
        assert!(memories(&sealed).iter().any(|memory| memory.title == HOURS));
    }
}
