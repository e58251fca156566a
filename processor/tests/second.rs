//! The second space, with a stand-in for Ollama, and with a real Ollama if `OLLAMA_HOST` names it.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::scripts::{self, Sealed, eventful, now};
use crate::standin::ollama::{Behaviour, Ollama};
use memory_store::custom_embedder::Second;
use memory_store::file::{MemoryFile, file_name};
use memory_store::layout::TreeDir;
use memory_store::recall::{Recall, Recalled, Search};
use memory_store::{Kind, Memory, MemoryId, settings_file};
use processor::llm;
use processor::publish::custom_embedder::{Asker, standing};
use processor::sync::{SyncReport, sync};
use processor::upkeep::purge::{PurgeTarget, purge};
use serde_json::Value;

const MODEL: &str = "nomic-embed-text:latest";

/// Returns a vector that depends only on the topics in a text.
fn topics(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let has = |words: &[&str]| f32::from(words.iter().any(|word| text.contains(word)));
    vec![
        has(&["unwrap", "crash"]) * 3.0,
        has(&["locked", "test"]),
        has(&["mismatched", "overflow"]),
        0.5,
    ]
}

fn server() -> Ollama {
    let server = Ollama::start(&[MODEL], Behaviour::Says(str::to_owned));
    server.embed_by(topics);
    server
}

/// Returns a project with memories, and with the model at this host as its embedder.
fn sealed(host: &str, more: &str) -> Sealed {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    set(&sealed, &format!("[embedder]\nhost = \"{host}\"\n{more}"));
    sealed
}

fn set(sealed: &Sealed, settings: &str) {
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    fs::write(sealed.dirs.config_file(), settings).unwrap();
}

fn state(sealed: &Sealed) -> TreeDir {
    sealed.dirs.tree(&sealed.tree.root)
}

fn file(sealed: &Sealed) -> Option<Second> {
    Second::open(&state(sealed).second).unwrap()
}

fn stands(sealed: &Sealed) -> (usize, usize) {
    let (settings, _) = settings_file::load(&sealed.dirs, Some(&sealed.tree));
    standing(&state(sealed), &settings.embedder.unwrap()).unwrap()
}

fn search(sealed: &Sealed, text: &str) -> Recalled {
    let (settings, _) = settings_file::load(&sealed.dirs, Some(&sealed.tree));
    let mut recall = Recall::open(&sealed.dirs, &sealed.tree, None);
    if let Some(asker) = Asker::new(&settings, None) {
        recall = recall.with_second(Box::new(asker));
    }
    recall.search(&Search { text: text.into(), ..Search::default() }, now())
}

/// Returns the texts that were sent to the embedder.
fn sent(server: &Ollama) -> Vec<String> {
    let texts = |body: Value| match &body["input"] {
        Value::Array(texts) => texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
        other => vec![other.as_str().unwrap_or_default().to_owned()],
    };
    server.asked("/api/embed").into_iter().flat_map(texts).collect()
}

fn only_warning(report: &SyncReport) -> &str {
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    &report.warnings[0]
}

#[test]
fn memories_get_vectors_once_and_a_search_goes_by_them() {
    let server = server();
    let sealed = sealed(&server.host, "");
    let report = sealed.sync();
    assert!(report.second_embedded > 1 && !report.second_waits, "{report:?}");
    let (have, all) = stands(&sealed);
    assert!(have == all && all > 1);
    let texts = sent(&server);
    assert_eq!(texts.len(), report.second_embedded);
    assert!(texts.iter().all(|text| text.starts_with("search_document: ")), "{texts:?}");

    // The next sync does nothing.
    let before = sealed.files(|_| false);
    assert!(sealed.sync().nothing_new);
    assert_eq!(sealed.files(|_| false), before);
    assert_eq!(sent(&server).len(), texts.len());

    // No memory contains this word, and without the model no memory is similar to it.
    let found = search(&sealed, "crash");
    assert_eq!(found.notes, Vec::<String>::new());
    let best = &found.hits[0];
    assert!(format!("{} {}", best.title, best.text).contains("unwrap"), "{best:?}");
    assert_eq!(sent(&server).last().unwrap(), "search_query: crash");
    let without = Recall::open(&sealed.dirs, &sealed.tree, None);
    let plain = Search { text: "crash".into(), ..Search::default() };
    assert_eq!(without.search(&plain, now()).hits, []);
}

#[test]
fn what_was_embedded_is_not_embedded_again() {
    let server = server();
    let sealed = sealed(&server.host, "");
    let first = sealed.sync().second_embedded;
    fs::remove_file(&state(&sealed).second).unwrap();
    let again = sealed.sync();
    assert_eq!((again.second_embedded, again.nothing_new), (0, false));
    assert!(file(&sealed).unwrap().complete);
    // Only the new texts are sent.
    sealed.write_script(&eventful("s2", sealed.root(), 2));
    let more = sealed.sync().second_embedded;
    assert!(more > 0 && more < first * 2);
    assert_eq!(sent(&server).len(), first + more);
    assert!(file(&sealed).unwrap().complete);
}

#[test]
fn a_run_that_breaks_off_loses_one_portion() {
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    static BREAKS: AtomicBool = AtomicBool::new(true);
    let server = server();
    server.embed_by(|text| {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(given < 16 || !BREAKS.load(Ordering::Relaxed), "the server is gone");
        topics(text)
    });
    let sealed = sealed(&server.host, "");
    let folder = sealed.tree.store().join("memories");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..20 {
        let id = MemoryId([number; 16]);
        let title = format!("Server {number} crashes each night");
        let memory = Memory::new(id, Kind::Fact, &title, "", now());
        let file = MemoryFile::new(memory.clone()).unwrap();
        fs::write(folder.join(file_name(&memory)), file.text().as_bytes()).unwrap();
    }
    let report = sync(&sealed.options()).unwrap();
    assert_eq!((report.second_embedded, report.second_waits), (16, true), "{report:?}");
    assert!(only_warning(&report).contains("wait for their vectors"), "{report:?}");
    let written = file(&sealed).unwrap();
    assert_eq!((written.count, written.complete), (16, false));
    // The vectors so far are already used.
    assert!(!search(&sealed, "unwrap").hits.is_empty());

    BREAKS.store(false, Ordering::Relaxed);
    let before = sent(&server).len();
    let rest = sealed.sync().second_embedded;
    assert_eq!(sent(&server).len() - before, rest, "the first ones are kept");
    let (have, all) = stands(&sealed);
    assert!(have == all && all == 16 + rest && rest > 4);
}

#[test]
fn without_the_server_or_the_model_search_works_and_reports_the_reason_once() {
    let server = Ollama::start(&["other"], Behaviour::Says(str::to_owned));
    let sealed = sealed(&server.host, "");
    let report = sync(&sealed.options()).unwrap();
    assert!(only_warning(&report).contains("`ollama pull nomic-embed-text`"), "{report:?}");
    assert!(report.memories > 1);
    assert!(file(&sealed).is_none());
    // If nothing was embedded, the server is not used.
    assert_eq!(search(&sealed, "unwrap").notes, Vec::<String>::new());

    let good = self::server();
    set(&sealed, &format!("[embedder]\nhost = \"{}\"\n", good.host));
    sealed.sync();
    good.behave(Behaviour::Fails(500, "out of memory"));
    let found = search(&sealed, "unwrap");
    assert!(!found.hits.is_empty());
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].contains("without the second space"), "{:?}", found.notes);
    assert!(found.notes[0].contains("out of memory"), "{:?}", found.notes);
}

#[test]
fn another_machine_is_asked_with_consent_only() {
    let sealed = sealed("box.example.org", "");
    let report = sync(&sealed.options()).unwrap();
    let told = only_warning(&report);
    assert!(
        told.contains("box.example.org") && told.contains("embedder.consented_hosts"),
        "{told}"
    );
}

#[test]
fn nothing_is_sent_that_the_user_never_keeps() {
    let server = server();
    let sealed = sealed(&server.host, "[redact]\ndeny = [\"(?i)pars[a-z]+\"]\n");
    sealed.sync();
    let found = search(&sealed, "parsers of token ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6");
    assert_eq!(found.notes, Vec::<String>::new());
    let texts = sent(&server);
    assert!(texts.iter().any(|text| text.contains("[redacted:denied]")));
    assert!(!texts.iter().any(|text| text.contains("pars") || text.contains("ghp_")), "{texts:?}");
}

#[test]
fn another_model_or_other_lengths_begin_anew_and_none_leaves_nothing() {
    let server = Ollama::start(&[MODEL, "bge-m3"], Behaviour::Says(str::to_owned));
    server.embed_by(topics);
    let sealed = sealed(&server.host, "");
    let first = sealed.sync().second_embedded;
    assert_eq!(file(&sealed).unwrap().dimensions, 4);
    // Under the same name there is now another model, with another vector length.
    server.embed_by(|text| [topics(text), topics(text)].concat());
    assert!(search(&sealed, "crash").notes[0].contains("sync --rebuild"));
    let options = processor::sync::SyncOptions { afresh: true, ..sealed.options() };
    assert_eq!(sync(&options).unwrap().second_embedded, first);
    assert_eq!(file(&sealed).unwrap().dimensions, 8);
    assert!(file(&sealed).unwrap().complete);

    set(&sealed, &format!("[embedder]\nhost = \"{}\"\nmodel = \"bge-m3\"\n", server.host));
    assert_eq!(sealed.sync().second_embedded, first);
    assert_eq!(file(&sealed).unwrap().model, "bge-m3");
    assert!(sent(&server).iter().any(|text| !text.starts_with("search_document: ")));

    set(&sealed, "");
    sealed.sync();
    assert!(file(&sealed).is_none());
    assert!(sealed.sync().nothing_new);
}

#[test]
fn a_damaged_file_is_reported_and_rebuilt() {
    let server = server();
    let sealed = sealed(&server.host, "");
    sealed.sync();
    let path = state(&sealed).second.clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes[70] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let found = search(&sealed, "unwrap");
    assert!(found.degraded.unwrap().contains("second.vectors"));
    assert!(!found.hits.is_empty());
    sealed.sync();
    assert!(file(&sealed).unwrap().complete);
}

#[test]
fn a_purge_takes_the_vectors_along() {
    let server = server();
    let sealed = sealed(&server.host, "");
    let mut script = eventful("s2", sealed.root(), 2);
    // This is the only statement that is learned from this session alone.
    script.prompt("From now on always deploy the shop on Mondays, never on Fridays.");
    sealed.write_script(&script);
    sealed.sync();
    let before = file(&sealed).unwrap().count;
    let report = purge(&sealed.options(), &PurgeTarget::Session("s2".into())).unwrap().unwrap();
    assert!(report.left.is_empty(), "{:?}", report.left);
    assert!(file(&sealed).unwrap().count < before);
    purge(&sealed.options(), &PurgeTarget::Project).unwrap().unwrap();
    assert!(file(&sealed).is_none_or(|file| file.count == 0));
}

/// Requests the vector of a query from the processor, as another program does.
fn vector(sealed: &Sealed, query: &str) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_throughline-processor"))
        .env_clear()
        .env("HOME", &sealed.base)
        .env("THROUGHLINE_NOW", scripts::NOW)
        .args(["vector", "--project", &sealed.tree.project.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(query.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn other_programs_get_a_vector_or_a_reason() {
    let server = server();
    let sealed = sealed(&server.host, "");
    assert_eq!(vector(&sealed, "crash")["vector"], serde_json::json!([3.0, 0.0, 0.0, 0.5]));
    assert_eq!(sent(&server), ["search_query: crash"]);
    set(&sealed, "[embedder]\nhost = \"box.example.org\"\n");
    let problem = vector(&sealed, "crash");
    assert!(problem["problem"].as_str().unwrap().contains("consented_hosts"), "{problem}");
    set(&sealed, "");
    assert_eq!(vector(&sealed, "crash")["problem"], "no model is set");
}

/// Runs only if `OLLAMA_HOST` names a real Ollama with the model.
#[test]
fn a_real_ollama_embeds_where_there_is_one() {
    let Ok(host) = std::env::var("OLLAMA_HOST") else {
        eprintln!("SKIPPED: OLLAMA_HOST is not set, so no real Ollama was asked");
        return;
    };
    let models = llm::probe(&host, None, &[]).unwrap_or_default().unwrap_or_default();
    if !models.iter().any(|model| model.starts_with("nomic-embed-text")) {
        eprintln!("SKIPPED: no Ollama with nomic-embed-text answers at {host}");
        return;
    }
    let sealed = sealed(&host, "timeout_s = 300\nsearch_ms = 60000\n");
    assert!(sealed.sync().second_embedded > 2);
    let found = search(&sealed, "how should a program behave instead of panicking");
    assert_eq!(found.notes, Vec::<String>::new());
    assert!(format!("{} {}", found.hits[0].title, found.hits[0].text).contains("unwrap"));
}
