//! Names of people in committed files, with a stand-in for Ollama.

use std::fs;

use crate::scripts::{Script, Sealed, learns};
use crate::standin::ollama::{Behaviour, Ollama};
use memory_store::memory::Status;
use memory_store::store::Store;
use processor::sync::sync;
use serde_json::{Value, json};

/// Returns the answer of a model that finds some names of people and also reads sessions.
fn names(question: &str) -> String {
    let known = ["Petra Holm", "Holm", "Nobody Else"];
    let names: Vec<&str> = known.into_iter().filter(|name| question.contains(name)).collect();
    let all = [names, vec!["Someone Invented"]].concat();
    let mut answer: Value = serde_json::from_str(&learns(question)).unwrap();
    answer["names"] = json!(all);
    answer.to_string()
}

fn sealed(host: &str) -> Sealed {
    let sealed = Sealed::new();
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    let settings = format!(
        "[names]\nmodel = \"tiny\"\nhost = \"{host}\"\n[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"{host}\"\n"
    );
    fs::write(sealed.dirs.config_file(), settings).unwrap();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("From now on never deploy without asking Petra Holm first.");
    script.say("Understood.");
    sealed.write_script(&script);
    sealed
}

/// Returns the texts of the memories, and the number of pending memories.
fn memories(sealed: &Sealed) -> (String, usize) {
    let listed = Store::open(&sealed.dirs, &sealed.tree).unwrap().list().unwrap().memories;
    let waiting = listed.iter().filter(|stored| stored.memory.status == Status::Held).count();
    let text = |title: &str, body: &str, quote: Option<&str>| {
        format!("{title}\n{body}\n{}\n", quote.unwrap_or_default())
    };
    let texts = listed.iter().map(|stored| {
        let memory = &stored.memory;
        text(&memory.title, &memory.body, memory.source.quote.as_deref())
    });
    (texts.collect(), waiting)
}

#[test]
fn names_are_not_committed_and_asked_about_once() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(names));
    let sealed = sealed(&server.host);
    sealed.sync();
    let (text, waiting) = memories(&sealed);
    assert!(text.contains("[redacted:name]") && !text.contains("Holm"), "{text}");
    assert_eq!(waiting, 0);
    let asked = server.asked("/api/chat").len();
    assert!(asked > 0);
    assert!(sealed.sync().nothing_new);
    assert_eq!(server.asked("/api/chat").len(), asked);
}

#[test]
fn a_memory_whose_names_are_not_known_waits_and_is_not_lost() {
    let server = Ollama::start(&["tiny"], Behaviour::Fails(500, "out of memory"));
    let sealed = sealed(&server.host);
    let report = sync(&sealed.options()).unwrap();
    assert!(report.warnings.iter().any(|it| it.contains("are pending")), "{report:?}");
    let (text, waiting) = memories(&sealed);
    assert!(text.contains("Holm") && waiting > 0, "{text}");
    let committed = sealed.files(|path| !path.starts_with("work/.throughline"));
    assert!(committed.iter().all(|(_, bytes)| !bytes.windows(4).any(|word| word == b"Holm")));

    server.behave(Behaviour::Says(names));
    sealed.sync();
    let (text, waiting) = memories(&sealed);
    assert!(text.contains("[redacted:name]") && !text.contains("Holm"), "{text}");
    assert_eq!(waiting, 0);
}

#[test]
fn no_other_machine_is_asked_about_names() {
    let sealed = sealed("box.example.org");
    let report = sync(&sealed.options()).unwrap();
    assert!(report.warnings.iter().any(|it| it.contains("another machine")), "{report:?}");
    assert!(memories(&sealed).1 > 0);
}
