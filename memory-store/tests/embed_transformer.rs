//! Tests of the transformer: all code paths return the same vector, and the vector is close to that of the reference
//! implementation.

use std::path::Path;
use std::sync::OnceLock;

use memory_store::embed::transformer::{
    CodePath, INNER, Layer, Linear, Norm, POSITIONS, Projection, TOKENS_MAX, WIDTH, Weights,
};
use memory_store::embed::{Transformer, build};

const PIECES: [&str; 7] = ["[UNK]", "[CLS]", "[SEP]", "red", "green", "##er", "grey"];

/// Pseudo-random numbers from a fixed seed.
struct Chance(u32);

impl Chance {
    fn numbers(&mut self, count: usize, size: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0) * size
        };
        (0..count).map(|_| next()).collect()
    }

    fn linear(&mut self, channels: usize, inputs: usize) -> Linear {
        let weights = self.numbers(channels * inputs, 0.1);
        Linear::new(&weights, &self.numbers(channels, 0.1), inputs)
    }

    fn norm(&mut self) -> Norm {
        Norm { gain: self.numbers(WIDTH, 2.0), bias: self.numbers(WIDTH, 0.1) }
    }
}

/// Returns a transformer of one layer with random weights.
fn file() -> Vec<u8> {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(new_file).clone()
}

fn new_file() -> Vec<u8> {
    let mut chance = Chance(1);
    let layer = Layer {
        attention: chance.linear(3 * WIDTH, WIDTH),
        output: chance.linear(WIDTH, WIDTH),
        attention_norm: chance.norm(),
        widen: chance.linear(INNER, WIDTH),
        narrow: chance.linear(WIDTH, INNER),
        norm: chance.norm(),
    };
    let weights = Weights {
        positions: chance.numbers(POSITIONS * WIDTH, 0.1),
        norm: chance.norm(),
        layers: vec![layer],
        projection: Projection::first_axes(),
    };
    build::transformer_file(&PIECES, &chance.numbers(PIECES.len() * WIDTH, 1.0), &weights)
}

fn open(bytes: &[u8]) -> Result<Transformer, memory_store::Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("transformer.bin");
    std::fs::write(&path, bytes).unwrap();
    Transformer::open_file(&path)
}

#[test]
fn every_code_path_gives_the_same_bits() {
    let file = file();
    // Texts whose lengths do and do not leave a remainder after the tiles and blocks.
    let texts = ["red", "green greener grey", &"red green grey ".repeat(11)];
    let of_path = |path| {
        let mut transformer = open(&file).unwrap();
        transformer.path = path;
        texts.map(|text| transformer.pooled(text).unwrap().map(f32::to_bits))
    };
    let portable = of_path(CodePath::Portable);
    for path in CodePath::available() {
        assert_eq!(of_path(path), portable, "{path:?}");
    }
}

#[test]
fn a_text_has_a_frame_and_a_limit() {
    let transformer = open(&file()).unwrap();
    assert_eq!(transformer.tokens("Red greener blue").unwrap(), [1, 3, 4, 5, 0, 2]);
    let long = transformer.tokens(&"red ".repeat(500)).unwrap();
    assert_eq!((long.len(), long[0], long[127]), (TOKENS_MAX, 1, 2));
    assert_eq!(transformer.embed(" ").unwrap(), None);
    let red = transformer.embed("red").unwrap().unwrap();
    assert_eq!(transformer.embed("  RED\n").unwrap(), Some(red));
    assert!(transformer.embed("green").unwrap().unwrap().cosine(&red) < 0.99);
}

#[test]
fn an_invalid_file_is_reported_with_the_reason() {
    let good = file();
    let error = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
    assert!(error(&good[..good.len() - 9]).contains("expected"));
    for (at, reason) in [
        (0, "not the expected kind"),
        (8, "format version"),
        (60, "header's checksum"),
        (130, "checksum of its index"),
        (good.len() - 1, "checksum of its weights"),
    ] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        assert!(error(&bytes).contains(reason), "{}", error(&bytes));
    }
    let table = build::table_file(
        &PIECES,
        &vec![1.0; PIECES.len() * 256],
        open(&good).unwrap().space(),
        Default::default(),
    );
    assert!(error(&table).contains("not the expected kind"));
}

#[test]
fn other_weights_are_another_space() {
    let mut weights = file();
    let space = open(&weights).unwrap().space();
    assert_eq!(open(&file()).unwrap().space(), space);
    weights = build::transformer_file(
        &PIECES,
        &vec![0.5; PIECES.len() * WIDTH],
        &Weights {
            positions: vec![0.0; POSITIONS * WIDTH],
            norm: Chance(2).norm(),
            layers: Vec::new(),
            projection: Projection::first_axes(),
        },
    );
    assert_ne!(open(&weights).unwrap().space(), space);
}

/// `scripts/build-reference-vectors` computed the reference vectors in double precision from the published weights.
#[test]
fn the_shipped_transformer_is_close_to_the_reference() {
    let transformer = Transformer::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/assets")));
    let transformer = transformer.unwrap();
    let cases: Vec<(String, Vec<f32>)> =
        serde_json::from_str(include_str!("fixtures/vectors.json")).unwrap();
    assert!(cases.len() > 5);
    for (text, expected) in cases {
        let pooled = transformer.pooled(&text).unwrap();
        let cosine: f32 = pooled.iter().zip(&expected).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{cosine} for {text:?}");
    }
}
