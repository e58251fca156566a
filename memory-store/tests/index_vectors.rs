//! Tests of vectors in an index: they are written, kept, replaced by better ones, and found.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::common::{self, Fixture, NOW, put};
use memory_store::embed::{Encoder, Space, Vector};
use memory_store::fs::lock::LOCK_WAIT;
use memory_store::index::build::{Graphs, Vectors, is_unsettled, settle};
use memory_store::index::document::Passage;
use memory_store::index::journal::{self, Entry};
use memory_store::index::{Index, segment::Segment};
use memory_store::recall::background_prompts;
use memory_store::settings::IndexSearch;

/// An embedder whose vectors derive from the hash of a text. Vectors of texts in one group are close to each other.
struct Hashed {
    space: Space,
    /// Texts whose vector by the transformer is available.
    known: BTreeSet<String>,
    asked: Cell<usize>,
}

impl Hashed {
    fn new() -> Self {
        Self { space: Space([7; 16]), known: BTreeSet::new(), asked: Cell::new(0) }
    }
}

fn noise(seed: &str, place: usize) -> f32 {
    let mut hash = memory_store::text::term_hash(seed) ^ (place as u64).wrapping_mul(0x9e37_79b9);
    hash = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((hash >> 40) as f32 / (1u64 << 24) as f32) - 0.5
}

/// Returns a vector close to the vectors of the same group. The group is the text before the colon.
fn vector(text: &str) -> Vector {
    let group = text.split(':').next().unwrap_or_default();
    let components = std::array::from_fn(|at| noise(group, at) + 0.7 * noise(text, at));
    Vector::of(&components).unwrap()
}

impl Vectors for Hashed {
    fn space(&self) -> Space {
        self.space
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.asked.set(self.asked.get() + 1);
        let encoder =
            if self.known.contains(text) { Encoder::Transformer } else { Encoder::Static };
        (!text.is_empty()).then(|| (encoder, vector(text)))
    }

    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.known.contains(text).then(|| (Encoder::Transformer, vector(text)))
    }
}

fn turn(number: u32, text: String) -> Passage {
    Passage { session: "s".into(), turn: number, at: NOW, text, ..Passage::default() }
}

fn text(number: u32) -> String {
    format!("group {}: turn {number}", number / 25)
}

fn add(fixture: &Fixture, vectors: &dyn Vectors, numbers: std::ops::Range<u32>) {
    let publisher = fixture.publisher(vectors);
    let mut turns = numbers.map(|number| turn(number, text(number)));
    let turns = fixture.staged(Some(vectors), false, &mut turns);
    fixture.publish_with(publisher, &fixture.list(), turns);
}

fn segments(fixture: &Fixture) -> Vec<Segment> {
    let (segments, damage) = Index::open(&fixture.index()).unwrap().unwrap().passages();
    assert!(damage.is_none());
    segments
}

#[test]
fn memories_and_turns_have_their_vectors() {
    let fixture = Fixture::filled();
    let vectors = Hashed::new();
    add(&fixture, &vectors, 0..3);
    let index = Index::open(&fixture.index()).unwrap().unwrap();
    let memories = index.memories.as_ref().unwrap();
    let head = memories.vector_head().unwrap().unwrap();
    assert_eq!((head.space, head.count, head.transformed), (vectors.space, memories.docs(), 0));
    for doc in 0..memories.docs() {
        let record = memories.record(&memories.entry(doc).unwrap()).unwrap();
        let expected = vector(&format!("{}\n{}", record.title, record.text));
        let found = memories.vector(doc).unwrap().unwrap();
        assert_eq!((found.vector, found.encoder), (expected, Encoder::Static));
        let near = memories.nearest(&expected, 3, IndexSearch::Auto).unwrap();
        assert_eq!(near[0].doc, doc);
        assert!((near[0].cosine - 1.0).abs() < 1e-6 && near[0].cosine > near[1].cosine);
    }
    let turns = &segments(&fixture)[0];
    assert_eq!(turns.nearest(&vector(&text(1)), 1, IndexSearch::Auto).unwrap()[0].doc, 1);
}

#[test]
fn without_an_embedder_there_are_no_vectors() {
    let fixture = Fixture::filled();
    let index = Index::open(&fixture.index()).unwrap().unwrap();
    let memories = index.memories.unwrap();
    assert_eq!(memories.vector_head().unwrap(), None);
    assert_eq!(memories.vector(0).unwrap(), None);
    assert!(memories.nearest(&vector("x"), 5, IndexSearch::Auto).unwrap().is_empty());
}

#[test]
fn merging_carries_vectors_along() {
    let fixture = Fixture::filled();
    let vectors = Hashed::new();
    add(&fixture, &vectors, 0..10);
    vectors.asked.set(0);
    add(&fixture, &vectors, 10..20);
    let segments = segments(&fixture);
    assert_eq!(segments.iter().map(Segment::docs).collect::<Vec<_>>(), [20]);
    // Vectors are computed for the ten new passages and for the prompts that calibrate their gate. The texts of the
    // memories are unchanged.
    assert_eq!(vectors.asked.get(), 10 + background_prompts().count());
    for doc in 0..20 {
        // The index stores two bits of each component.
        let kept = segments[0].vector(doc).unwrap().unwrap().vector;
        assert!(kept.cosine(&vector(&text(doc))) > 0.9, "{doc}");
    }
    // A sync without an embedder keeps the present vectors.
    let mut more = (20..50).map(|number| turn(number, text(number)));
    fixture.publish_turns(fixture.added(&mut more));
    let merged = &self::segments(&fixture)[0];
    assert_eq!((merged.docs(), merged.vector_head().unwrap().unwrap().count), (50, 20));
}

#[test]
fn another_space_replaces_the_vectors_it_meets() {
    let fixture = Fixture::filled();
    let mut vectors = Hashed::new();
    add(&fixture, &vectors, 0..10);
    vectors.space = Space([8; 16]);
    add(&fixture, &vectors, 10..20);
    let head = segments(&fixture)[0].vector_head().unwrap().unwrap();
    assert_eq!((head.space, head.count), (vectors.space, 20));
}

#[test]
fn vectors_of_the_transformer_come_later() {
    let fixture = Fixture::filled();
    let mut vectors = Hashed::new();
    add(&fixture, &vectors, 0..40);
    add(&fixture, &vectors, 40..45);
    let settle = |vectors: &Hashed| settle(&fixture.index(), Some(vectors), None, NOW).unwrap();
    assert!(!settle(&vectors));
    vectors.known = (0..43).map(text).collect();
    while settle(&vectors) {}
    let segments = segments(&fixture);
    assert_eq!(segments.iter().map(Segment::docs).collect::<Vec<_>>(), [40, 5]);
    let transformed = segments.iter().map(|it| it.vector_head().unwrap().unwrap().transformed);
    assert_eq!(transformed.collect::<Vec<_>>(), [40, 3]);
    // The vectors of memories are computed again at each publication.
    vectors.known.extend(
        fixture
            .list()
            .iter()
            .map(|stored| format!("{}\n{}", stored.memory.title, stored.memory.body.trim())),
    );
    let publisher = fixture.publisher(&vectors);
    assert!(fixture.publish_with(publisher, &fixture.list(), None).changed);
    let memories = Index::open(&fixture.index()).unwrap().unwrap().memories.unwrap();
    assert_eq!(memories.vector_head().unwrap().unwrap().transformed, memories.docs());
}

/// A builder that links each vector with the vectors at the neighbouring positions.
struct Beside;

impl Graphs for Beside {
    fn link(&self, vectors: &[&Vector]) -> Vec<Vec<u32>> {
        let last = vectors.len().saturating_sub(1) as u32;
        let beside = |own: u32| vec![own.saturating_sub(1), (own + 1).min(last)];
        (0..=last).map(beside).collect()
    }

    fn passages_min(&self) -> u32 {
        40
    }
}

/// A builder that returns one list too few.
struct Short;

impl Graphs for Short {
    fn link(&self, vectors: &[&Vector]) -> Vec<Vec<u32>> {
        vec![Vec::new(); vectors.len() - 1]
    }

    fn passages_min(&self) -> u32 {
        40
    }
}

#[test]
fn a_builder_that_links_too_few_vectors_is_an_error_and_not_asked_for_ever() {
    let fixture = Fixture::filled();
    let mut vectors = Hashed::new();
    vectors.known = (0..40).map(text).collect();
    add(&fixture, &vectors, 0..40);
    let settle = || settle(&fixture.index(), Some(&vectors), Some(&Short), NOW);
    let steps = (0..100).map(|_| settle()).take_while(|step| matches!(step, Ok(true))).count();
    assert!(steps < 100);
    let message = settle().unwrap_err().to_string();
    assert!(message.contains("a graph of 40 vectors was linked with 39 lists"), "{message}");
}

#[test]
fn a_large_segment_gets_a_graph_once_the_transformer_made_its_vectors() {
    let fixture = Fixture::filled();
    let mut vectors = Hashed::new();
    add(&fixture, &vectors, 0..40);
    add(&fixture, &vectors, 40..45);
    let graphs: Option<&dyn Graphs> = Some(&Beside);
    let is_unsettled = |graphs| is_unsettled(&fixture.index(), graphs).unwrap();
    let settle = |vectors: &Hashed, graphs| {
        while settle(&fixture.index(), Some(vectors), graphs, NOW).unwrap() {}
        segments(&fixture).iter().map(Segment::has_graph).collect::<Vec<_>>()
    };
    assert_eq!(settle(&vectors, graphs), [false, false], "the table made them");
    vectors.known = (0..32).map(text).collect();
    assert_eq!(settle(&vectors, None), [false, false]);
    // A missing graph, as after a killed run, is reported as work to be done.
    assert_eq!((is_unsettled(None), is_unsettled(graphs)), (false, true));
    assert_eq!(settle(&vectors, graphs), [true, false]);
    assert!(!is_unsettled(graphs));
    let near = segments(&fixture)[0].nearest(&vector(&text(3)), 3, IndexSearch::Graph).unwrap();
    assert!(near[0].cosine > 0.9);
    // The segment keeps its graph when a few of its vectors are replaced by better ones.
    vectors.known = (0..40).map(text).collect();
    assert_eq!(settle(&vectors, None), [true, false]);
    assert_eq!(segments(&fixture)[0].vector_head().unwrap().unwrap().transformed, 40);
}

#[test]
fn what_was_replaced_is_not_near() {
    let fixture = Fixture::filled();
    let vectors = Hashed::new();
    add(&fixture, &vectors, 0..40);
    let publisher = fixture.publisher(&vectors);
    let mut newer = (0..5).map(|number| turn(number, format!("{} again", text(number))));
    let newer = fixture.staged(Some(&vectors), false, &mut newer);
    fixture.publish_with(publisher, &fixture.list(), newer);
    let segments = segments(&fixture);
    assert_eq!(segments.iter().map(Segment::docs).collect::<Vec<_>>(), [40, 5]);
    let near = segments[0].nearest(&vector(&text(3)), 40, IndexSearch::Auto).unwrap();
    assert_eq!(near.len(), 35);
    assert!(near.iter().all(|near| near.doc >= 5));
}

#[test]
fn a_saved_memory_has_its_vector_at_once() {
    let fixture = Fixture::filled();
    let vectors = Hashed::new();
    let stored = fixture.write(common::memory(
        30,
        memory_store::Kind::Fact,
        "The quota probe is blue",
        "Painted by hand.",
    ));
    let entry = put(&stored, fixture.root()).embedded(&vectors);
    journal::append(&fixture.index(), &entry, LOCK_WAIT).unwrap();
    let index = Index::open(&fixture.index()).unwrap().unwrap();
    assert_eq!(index.journal.entries, [entry]);
    let Entry::Put(document) = &index.journal.entries[0] else { panic!("nothing was saved") };
    let expected = vector("The quota probe is blue\nPainted by hand.");
    assert_eq!(document.vector.unwrap().vector, expected);
}
