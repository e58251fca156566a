//! A hook and a model on this machine: asked only where that was set, and never waited for.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{World, memories};
use memory_store::MemoryId;
use memory_store::second::{Direction, Given, TextHash, write};
use memory_store::settings::{Embedder, Settings};

/// Runs of a hook until one of them found the time to ask: the machine may be busy.
const RUNS_MAX: usize = 200;
/// Words of the second memory.
const PROMPT: &str = "Where are invoices archived for auditors?";

/// A model that answers after a while.
struct Model {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Model {
    fn answering_after(time: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 8192];
                let count = stream.read(&mut request).unwrap_or_default();
                let text = String::from_utf8_lossy(&request[..count]).into_owned();
                heard.lock().unwrap().push(text);
                std::thread::sleep(time);
                // A hook that gave up is not there any more.
                let _ = stream.write_all(
                    b"HTTP/1.0 200 OK\r\nContent-Length: 22\r\n\r\n{\"embeddings\":[[0,1]]}",
                );
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A project with memories and their vectors.
fn world(model: &Model, hook_ms: u32) -> World {
    let embedder = Embedder { hook_ms, hook_address: model.address.clone(), ..Embedder::default() };
    let settings = Settings { embedder: Some(embedder.clone()), ..Settings::default() };
    let world = World::trusted();
    world.publish(&memories(), &settings);
    let vectors: Vec<(MemoryId, TextHash, Direction)> = memories()
        .iter()
        .enumerate()
        .map(|(number, memory)| {
            let direction = Direction::of(&[1.0, if number == 1 { 5.0 } else { 0.1 }]).unwrap();
            (memory.id, TextHash::of(&memory.title), direction)
        })
        .collect();
    let space = embedder.space();
    let given = Given { model: &space, digest: [0; 16], complete: true, vectors: &vectors };
    write(&world.state().second(), &given).unwrap();
    world
}

#[test]
fn a_model_that_may_be_asked_is_asked_about_the_prompt() {
    let model = Model::answering_after(Duration::ZERO);
    let world = world(&model, 40);
    for run in 0..RUNS_MAX {
        let context = world.prompt(&format!("session {run}"), PROMPT).context("UserPromptSubmit");
        assert!(context.contains("archived in Postgres"), "{context}");
        if !model.asked().is_empty() {
            break;
        }
    }
    let asked = model.asked();
    assert!(asked[0].starts_with("POST /api/embed HTTP/1.0\r\n"), "{asked:?}");
    assert!(asked[0].contains(&format!("search_query: {PROMPT}")), "{asked:?}");
    assert!(asked[0].contains("\"nomic-embed-text\""), "{asked:?}");
}

#[test]
fn nobody_is_asked_unless_that_was_set() {
    let model = Model::answering_after(Duration::ZERO);
    let world = world(&model, 0);
    let context = world.prompt("one", PROMPT).context("UserPromptSubmit");
    assert!(context.contains("archived in Postgres"), "{context}");
    assert_eq!(model.asked(), Vec::<String>::new());
}

#[test]
fn a_model_that_is_late_costs_nothing_but_its_word() {
    let model = Model::answering_after(Duration::from_secs(60));
    let world = world(&model, 40);
    // That the hook ends in time is checked where its output is read.
    let context = world.prompt("one", PROMPT).context("UserPromptSubmit");
    assert!(context.contains("archived in Postgres"), "{context}");
}
