//! Vectors: the table's are stored immediately, the transformer's when they are computed, and none without a model.

use std::fs;
use std::path::Path;

use crate::scripts::{Sealed, eventful};
use memory_store::embed::transformer::{Norm, POSITIONS, Projection, WIDTH, Weights};
use memory_store::embed::wordpiece::WordCut;
use memory_store::embed::{DIMENSIONS, Encoder, Table, build};
use memory_store::index::Index;
use memory_store::index::segment::Segment;
use memory_store::layout::ProjectDir;
use processor::sync::{SyncOptions, sync};
use processor::upkeep::purge::{PurgeTarget, purge};
use serde_json::json;

/// Returns word pieces that cover any word of small letters.
fn pieces() -> Vec<String> {
    let letters = || ('a'..='z').chain('0'..='9');
    let mut pieces = vec!["[UNK]".to_owned(), "[CLS]".to_owned(), "[SEP]".to_owned()];
    pieces.extend(letters().map(String::from));
    pieces.extend(letters().map(|letter| format!("##{letter}")));
    pieces
}

/// Creates a complete model with random numbers. `seed` determines its space.
fn place_model(dir: &Path, seed: u32) {
    let mut state = seed;
    let mut numbers = |count: usize| -> Vec<f32> {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    };
    let pieces = pieces();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let weights = Weights {
        positions: numbers(POSITIONS * WIDTH),
        norm: Norm { gain: numbers(WIDTH), bias: numbers(WIDTH) },
        layers: Vec::new(),
        projection: Projection::first_axes(),
    };
    let transformer = build::transformer_file(&pieces, &numbers(pieces.len() * WIDTH), &weights);
    let beside = dir.with_extension("bin");
    fs::write(&beside, &transformer).unwrap();
    let space = memory_store::embed::Transformer::open_file(&beside).unwrap().space();
    let rows = numbers(pieces.len() * DIMENSIONS);
    let table = build::table_file(&pieces, &rows, space, WordCut::default());
    build::place(dir, &table, &transformer).unwrap();
}

/// Returns a project with memories and turns, and with a model.
fn sealed() -> Sealed {
    let mut sealed = Sealed::new();
    let models = sealed.dirs.data.join("models");
    place_model(&models, 1);
    sealed.dirs.models = Some(models);
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    sealed
}

fn index(sealed: &Sealed) -> Index {
    Index::open(&sealed.dirs.tree(&sealed.tree.root).index).unwrap().unwrap()
}

/// Returns, for each memory and turn, the encoder of its vector.
fn encoders(sealed: &Sealed) -> Vec<Option<Encoder>> {
    let index = index(sealed);
    let of = |segment: &Segment| {
        let vector = |doc| segment.vector(doc).unwrap().map(|embedded| embedded.encoder);
        (0..segment.docs()).map(vector).collect::<Vec<_>>()
    };
    let (turns, damage) = index.passages();
    assert!(damage.is_none());
    index.memories.iter().chain(&turns).flat_map(of).collect()
}

fn all(encoders: &[Option<Encoder>], expected: Option<Encoder>) -> bool {
    encoders.len() > 3 && encoders.iter().all(|encoder| *encoder == expected)
}

fn home(sealed: &Sealed) -> ProjectDir {
    sealed.dirs.project(sealed.tree.project)
}

fn remove_transformer(sealed: &Sealed) {
    let models = sealed.dirs.models.as_ref().unwrap();
    let model = memory_store::embed::model::EmbedderModel::read(models).unwrap();
    fs::remove_file(models.join(model.transformer)).unwrap();
}

#[test]
fn a_sync_embeds_memories_and_turns_and_then_rests() {
    let sealed = sealed();
    let first = sealed.sync();
    assert!(first.embedded > 3 && !first.embedding_waits, "{first:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)), "{:?}", encoders(&sealed));
    let generation = index(&sealed).manifest.generation;
    let second = sealed.sync();
    assert!(second.nothing_new && second.embedded == 0, "{second:?}");
    assert_eq!(index(&sealed).manifest.generation, generation);
}

#[test]
fn a_sync_that_leaves_the_rest_publishes_before_anything_is_embedded() {
    let sealed = sealed();
    let first = sync(&SyncOptions { leaves_rest: true, ..sealed.options() }).unwrap();
    assert!(first.embedded == 0 && first.embedding_waits, "{first:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Static)), "{:?}", encoders(&sealed));
    let second = sealed.sync();
    assert!(second.embedded > 3 && !second.embedding_waits, "{second:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)), "{:?}", encoders(&sealed));
}

#[test]
fn what_the_model_thought_has_vectors_too() {
    let sealed = sealed();
    sealed.want_thinking();
    let mut script = eventful("s2", sealed.root(), 2);
    for number in 0..4 {
        script.prompt("Why is it slow?");
        let thought = format!("The zebra cache number {number} is rebuilt for each row.");
        script.block(json!({"type": "thinking", "thinking": thought, "signature": "x"}));
        script.say("It is not.");
    }
    sealed.write_script(&script);
    remove_transformer(&sealed);
    sync(&sealed.options()).unwrap();
    let thinking = sealed.dirs.tree(&sealed.tree.root).thinking;
    let index = |folder: &Path| Index::open(folder).unwrap().unwrap();
    let encoders = || {
        let (turns, _) = index(&thinking).passages();
        let vectors = |segment: &Segment| -> Vec<Option<Encoder>> {
            let vector = |doc| segment.vector(doc).unwrap().map(|embedded| embedded.encoder);
            (0..segment.docs()).map(vector).collect()
        };
        turns.iter().flat_map(vectors).collect::<Vec<_>>()
    };
    assert!(all(&encoders(), Some(Encoder::Static)), "{:?}", encoders());
    place_model(sealed.dirs.models.as_ref().unwrap(), 1);
    sealed.sync();
    assert!(all(&encoders(), Some(Encoder::Transformer)), "{:?}", encoders());
    let generation = index(&thinking).manifest.generation;
    assert!(sealed.sync().nothing_new);
    assert_eq!(index(&thinking).manifest.generation, generation);
}

#[test]
fn no_text_is_embedded_twice() {
    let sealed = sealed();
    let embedded = sealed.sync().embedded;
    // Vectors of turns are only in the index.
    assert!(!home(&sealed).vectors.join("turns.cache").exists());
    let again = sync(&SyncOptions { afresh: true, ..sealed.options() }).unwrap();
    assert!(embedded > 0 && again.embedded == 0, "{again:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)));
    fs::remove_file(home(&sealed).folder.join("mined/state.json")).unwrap();
    let again = sealed.sync();
    assert!(again.embedded == 0, "{again:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)));
    // Without an index, vectors of turns are computed again, and those of memories are read from their cache.
    let state = sealed.dirs.tree(&sealed.tree.root).index;
    fs::remove_dir_all(&state).unwrap();
    let again = sealed.sync();
    assert!(again.embedded > 0 && again.embedded < embedded, "turns alone: {again:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)));
    assert!(!home(&sealed).vectors.join("turns.cache").exists());
}

#[test]
fn vectors_of_turns_are_kept_until_all_are_published() {
    let sealed = sealed();
    remove_transformer(&sealed);
    sync(&sealed.options()).unwrap();
    let cache = home(&sealed).vectors.join("turns.cache");
    fs::write(&cache, b"of an earlier run").unwrap();
    sync(&SyncOptions { afresh: true, ..sealed.options() }).unwrap();
    let kept = || cache.exists();
    assert!(kept() && all(&encoders(&sealed), Some(Encoder::Static)));
    place_model(sealed.dirs.models.as_ref().unwrap(), 1);
    sealed.sync();
    assert!(!kept() && all(&encoders(&sealed), Some(Encoder::Transformer)));
    // The cache of an earlier version is removed as well.
    fs::write(&cache, b"of an earlier version").unwrap();
    assert!(sealed.sync().nothing_new && !kept());
}

#[test]
fn without_the_transformer_the_table_serves_until_it_comes_back() {
    let sealed = sealed();
    remove_transformer(&sealed);
    let report = sync(&sealed.options()).unwrap();
    assert!(report.warnings.iter().any(|text| text.contains("were not embedded")), "{report:?}");
    assert!(all(&encoders(&sealed), Some(Encoder::Static)));

    place_model(sealed.dirs.models.as_ref().unwrap(), 1);
    assert!(sealed.sync().embedded > 3);
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)));
}

#[test]
fn a_model_that_comes_later_is_taken_up_and_one_that_is_replaced_too() {
    let mut sealed = sealed();
    let models = sealed.dirs.models.take();
    let report = sealed.sync();
    assert_eq!((report.embedded, report.warnings.len()), (0, 0));
    assert!(all(&encoders(&sealed), None));

    sealed.dirs.models = models;
    assert!(sealed.sync().embedded > 3);
    place_model(sealed.dirs.models.as_ref().unwrap(), 2);
    let table = Table::installed(&sealed.dirs).unwrap();
    assert!(sealed.sync().embedded > 3);
    assert!(all(&encoders(&sealed), Some(Encoder::Transformer)));
    assert_eq!(
        index(&sealed).memories.unwrap().vector_head().unwrap().map(|head| head.space),
        Some(table.space())
    );
}

#[test]
fn a_damaged_table_is_reported_and_words_are_used() {
    let sealed = sealed();
    let models = sealed.dirs.models.as_ref().unwrap();
    let model = memory_store::embed::model::EmbedderModel::read(models).unwrap();
    fs::write(models.join(model.table), b"TLTABLE").unwrap();
    let report = sync(&sealed.options()).unwrap();
    assert!(report.warnings.iter().any(|text| text.contains("by words alone")), "{report:?}");
    assert!(report.written > 0);
    assert!(all(&encoders(&sealed), None));
}

#[test]
fn a_purge_takes_the_vectors_along() {
    let sealed = sealed();
    sealed.sync();
    let cache = home(&sealed).vectors.join("memories.cache");
    let before = fs::metadata(&cache).unwrap().len();
    let report = purge(&sealed.options(), &PurgeTarget::Project).unwrap().unwrap();
    assert!(report.left.is_empty(), "{:?}", report.left);
    assert!(fs::metadata(&cache).map_or(0, |cache| cache.len()) < before);
}
