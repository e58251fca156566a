//! Tests of the table of token vectors: its results, and its errors for invalid files.

use std::path::Path;

use memory_store::embed::wordpiece::WordCut;
use memory_store::embed::{DIMENSIONS, Space, Table, Vector, build, model};

const PIECES: [&str; 6] = ["[UNK]", "red", "green", "##er", "rare", "grey"];

/// Returns a row with this value at one position and zeros elsewhere.
fn row(at: usize, weight: f32) -> [f32; DIMENSIONS] {
    let mut row = [0.0; DIMENSIONS];
    row[at] = weight;
    row
}

fn rows() -> Vec<f32> {
    let mut rows = vec![[0.0; DIMENSIONS]];
    rows.extend([row(1, 1.0), row(2, 1.0), row(3, 0.5), row(4, 4.0)]);
    rows.push([1.0; DIMENSIONS]);
    rows.concat()
}

fn file() -> Vec<u8> {
    let cut = WordCut { humps: true, digits: false };
    build::table_file(&PIECES, &rows(), Space([7; 16]), cut)
}

fn open(bytes: &[u8]) -> Result<Table, memory_store::Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.bin");
    std::fs::write(&path, bytes).unwrap();
    // The open file stays readable after its folder is removed.
    Table::open_file(&path)
}

/// Returns the expected vector, the sum of weights at positions.
fn vector(parts: &[(usize, f32)]) -> Vector {
    let mut sum = [0.0; DIMENSIONS];
    for &(at, weight) in parts {
        sum[at] += weight;
    }
    Vector::of(&sum).unwrap()
}

fn assert_close(found: Vector, expected: Vector) {
    for (found, expected) in found.0.iter().zip(&expected.0) {
        assert!((i16::from(*found) - i16::from(*expected)).abs() <= 1);
    }
}

#[test]
fn a_text_is_the_weighted_sum_of_its_tokens() {
    let table = open(&file()).unwrap();
    assert_eq!(table.space(), Space([7; 16]));
    let embed = |text| table.embed(text).unwrap();
    assert_close(embed("Red").unwrap(), vector(&[(1, 1.0)]));
    assert_close(embed("red green, unknown").unwrap(), vector(&[(1, 1.0), (2, 1.0)]));
    assert_close(embed("red red greener").unwrap(), vector(&[(1, 2.0), (2, 1.0), (3, 0.5)]));
    assert_close(embed("rareRed").unwrap(), vector(&[(1, 1.0), (4, 4.0)]));
    assert_eq!(embed("unknown words"), None);
    assert_eq!(embed(""), None);
    assert_eq!(embed("red green"), embed("green\u{300} red"));
}

#[test]
fn a_long_text_is_cut() {
    let table = open(&file()).unwrap();
    let long = "red ".repeat(256) + &"rare ".repeat(5000);
    assert_eq!(table.embed(&long).unwrap(), table.embed("red").unwrap());
    assert_eq!(table.tokens(&long).unwrap(), [1; 256]);
}

#[test]
fn reading_it_all_at_once_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    build::place(dir.path(), &file(), b"no transformer").unwrap();
    let (open, load) = (Table::open(dir.path()).unwrap(), Table::load(dir.path()).unwrap());
    for text in ["red greener", "grey RARE red", "nothing"] {
        assert_eq!(open.embed(text).unwrap(), load.embed(text).unwrap());
    }
}

#[test]
fn a_model_is_found_by_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let error = Table::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("MODEL: "), "{error}");

    let placed = build::place(dir.path(), &file(), b"no transformer").unwrap();
    assert_eq!(model::EmbedderModel::read(dir.path()).unwrap(), placed);
    assert!(placed.table.starts_with("table-v1-") && placed.table.len() == 29, "{}", placed.table);
    let red = Table::open(dir.path()).unwrap().embed("red").unwrap();
    assert_eq!(red, Table::load(dir.path()).unwrap().embed("red").unwrap());

    assert_eq!(model::EmbedderModel::verify(dir.path()).unwrap(), placed);
    std::fs::write(dir.path().join(&placed.transformer), b"another one").unwrap();
    let error = model::EmbedderModel::verify(dir.path()).unwrap_err().to_string();
    assert!(error.contains("its content is not what its name says"), "{error}");

    std::fs::remove_file(dir.path().join(&placed.table)).unwrap();
    let error = Table::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains(&placed.table), "{error}");
}

#[test]
fn an_invalid_file_is_reported_with_the_reason() {
    let good = file();
    let error = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
    assert!(error(&good[..50]).contains("cut off"));
    assert!(error(&good[..good.len() - 1]).contains("expected"));
    assert!(error(&[]).contains("cut off"));
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    assert!(error(&changed(0)).contains("not the expected kind"));
    assert!(error(&changed(8)).contains("format version 17, expected 1"));
    assert!(error(&changed(40)).contains("header's checksum"));
    assert!(error(&changed(128)).contains("checksum of its index"));
    let io = Table::open_file(Path::new("/nowhere/table.bin")).unwrap_err();
    assert!(matches!(io, memory_store::Error::Io { .. }));
}

#[test]
fn no_flipped_bit_gives_another_vector() {
    let good = file();
    let text = "red greener rare grey unknown";
    let expected = open(&good).unwrap().embed(text).unwrap();
    let mut noticed = 0;
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        match open(&bytes).and_then(|table| table.embed(text)) {
            // Padding and unused rows are not read, so a change in them has no effect.
            Ok(vector) => assert_eq!(vector, expected, "byte {at}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 5 * DIMENSIONS, "{noticed}");
}
