//! Vectors of the second space, which the processor computes.

use memory_store::custom_embedder::{Direction, Given, TextHash, encode};
use memory_store::settings::Embedder;

use super::*;

#[test]
fn the_processor_is_asked_for_vectors_of_the_second_space() {
    let world = World::trusted();
    let tree = world.tree();
    let store = Store::open(&world.dirs, &tree).unwrap();
    let titles = ["Invoices are archived in Postgres", "The parser keeps comments"];
    for (number, title) in titles.iter().enumerate() {
        let id = MemoryId([number as u8 + 1; 16]);
        store
            .save(Memory::new(id, Kind::Fact, *title, "", now()), &Redactor::default(), now())
            .unwrap();
    }
    let embedder = Embedder { search_ms: 20_000, ..Embedder::default() };
    let settings = Settings { embedder: Some(embedder.clone()), ..Settings::default() };
    world.publish_with(Vec::new(), &settings);
    let vectors = [[1.0, 0.0], [0.0, 1.0]].map(|vector| Direction::of(&vector).unwrap());
    let vectors: Vec<_> = (1..)
        .zip(vectors)
        .map(|(number, direction)| (MemoryId([number; 16]), TextHash::of(""), direction))
        .collect();
    let space = embedder.space();
    let given = Given { model: &space, digest: [0; 16], complete: true, vectors: &vectors };
    fs::write(world.dirs.tree(&world.root).second, encode(&given).unwrap()).unwrap();

    let recalled = |script: &str| {
        let mut server = world.connect_beside(script, &[]);
        server.call("recall", json!({"query": "zebra"})).0
    };
    let asked = world.home.path().join("asked");
    let note = format!("echo \"$@ $(cat)\" > {}", asked.display());
    // No memory contains the word, so the most similar memory by the second space is found.
    let found = recalled(&format!("{note}; echo '{{\"vector\": [0.1, 1.0]}}'"));
    assert!(found.contains("The parser keeps comments"), "{found}");
    let asked = fs::read_to_string(asked).unwrap();
    assert_eq!(asked.trim(), format!("vector --project {} zebra", tree.project));
    for (script, told) in [
        ("echo '{\"problem\": \"run `ollama pull nomic-embed-text`\"}'", "ollama pull"),
        ("exit 3", "throughline doctor"),
    ] {
        let found = recalled(script);
        assert!(found.contains("without the second space") && found.contains(told), "{found}");
        // By the built-in vectors, if there are any, the memory is not similar enough.
        let weak = found.contains("Nothing known answers this well");
        assert!(weak || !found.contains("parser keeps"), "{found}");
    }
}
