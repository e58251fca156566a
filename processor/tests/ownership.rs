//! Committed memories if the reader or the settings change: the bytes of a person's files stay the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use memory_store::memory::{HeldFor, Status};
use memory_store::store::Store;
use serde_json::json;

use crate::scripts::{Script, Sealed, git};
use crate::standin::ollama::{Behaviour, Ollama};

const WISH: &str = "From now on, never use floats for money, keep cents as integers.";

/// Returns a repository with the committed memories of two sessions.
fn committed() -> Sealed {
    let sealed = Sealed::new();
    sealed.read_by_model();
    git(&sealed.tree.root, &["init", "-q", "-b", "main"]);
    for (number, wish) in [(1, WISH), (2, "From now on, always run `make tide` before a push.")] {
        let mut script = Script::new(&format!("s{number}"), sealed.root());
        script.prompt(wish);
        script.bash_fails("make check", "Exit code 2\nfixtures/prices.json: No such file");
        script.bash("make fixtures && make check", "passed: 4");
        script.say(
            "Done. The root cause: the tide tables have no entry for leap days, so that `fetch` of `tides.json` fails on 29 February.",
        );
        sealed.write_script(&script);
    }
    sealed.sync();
    git(&sealed.tree.root, &["add", "-A"]);
    git(&sealed.tree.root, &["commit", "-q", "-m", "memories"]);
    sealed
}

fn files(sealed: &Sealed) -> BTreeMap<PathBuf, String> {
    let folder = Store::open(&sealed.dirs, &sealed.tree).unwrap().folder;
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

fn users_settings(sealed: &Sealed, text: &str) {
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    fs::write(sealed.dirs.config_file(), text).unwrap();
}

#[test]
fn settings_bound_what_is_learned_from_now_on() {
    let sealed = committed();
    let before = files(&sealed);
    assert!(before.len() > 2, "{before:?}");
    let text = "kinds = [\"fact\"]\n";
    fs::write(sealed.tree.root.join(".throughline/config.toml"), text).unwrap();
    sealed.sync();
    assert_eq!(files(&sealed), before, "{text}");
    let mut script = Script::new("s3", sealed.root()).starting("2026-11-20T15:00:00Z");
    script.prompt("From now on, always sign the manifests of cargo.");
    script.say("Noted.");
    sealed.write_script(&script);
    sealed.sync();
    assert_eq!(files(&sealed), before, "{text}");
    fs::remove_file(sealed.tree.root.join(".throughline/config.toml")).unwrap();
    users_settings(&sealed, "retention_days = 1\n");
    sealed.sync();
    users_settings(&sealed, "kinds = [\"fact\"]\n");
    sealed.sync();
    users_settings(&sealed, "");
    sealed.sync();
    let after = files(&sealed);
    assert!(before.iter().all(|(path, text)| after.get(path) == Some(text)), "{after:#?}");
}

fn nothing(_: &str) -> String {
    json!({"memories": []}).to_string()
}

fn other_words(question: &str) -> String {
    let quote = "never use floats for money";
    let memory = json!({
        "kind": "preference", "title": "Money is never a float", "text": "Cents are integers.",
        "quote": quote, "confidence": 90, "importance": 90, "standing": true, "paths": [], "cues": [],
    });
    let memories = if question.contains(quote) { vec![memory] } else { Vec::new() };
    json!({ "memories": memories }).to_string()
}

fn chatter(_: &str) -> String {
    "I would rather talk about the weather.".to_owned()
}

#[test]
fn no_change_of_reader_touches_what_was_committed() {
    for says in [nothing, other_words, chatter] {
        let sealed = committed();
        let before = files(&sealed);
        let server = Ollama::start(&["m"], Behaviour::Says(says));
        let llm =
            format!("[llm]\nprovider = \"ollama\"\nmodel = \"m\"\nhost = \"{}\"\n", server.host);
        for settings in [llm.as_str(), "", llm.as_str()] {
            users_settings(&sealed, settings);
            // If a model cannot be used, this is reported and has no other effects.
            processor::sync::sync(&sealed.options()).unwrap();
            let after = files(&sealed);
            assert!(before.iter().all(|(path, text)| after.get(path) == Some(text)), "{after:#?}");
        }
        let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
        for held in store.drafts().unwrap().memories {
            assert_eq!(held.memory.status, Status::Held);
            assert!(held.memory.held_for.is_some_and(|why| why != HeldFor::Review), "{held:?}");
        }
    }
}
