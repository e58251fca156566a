//! Compares the tokeniser with the reference implementation, which `scripts/build-wordpiece-tables` ran on the same
//! texts.

use memory_store::embed::wordpiece::{PIECE_BYTES_MAX, WordCut};
use memory_store::embed::{DIMENSIONS, Space, Table, build};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    /// Numbers in the reference's vocabulary, with their pieces.
    pieces: Vec<(u32, String)>,
    /// Texts, each with the numbers of its tokens.
    texts: Vec<(String, Vec<u32>)>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("fixtures/wordpiece.json")).unwrap()
}

/// Returns a table of these pieces, stored in its own file.
fn table(pieces: &[&str]) -> (tempfile::TempDir, Table) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.bin");
    let rows = vec![1.0; pieces.len() * DIMENSIONS];
    let file = build::table_file(pieces, &rows, Space([0; 16]), WordCut::default());
    std::fs::write(&path, file).unwrap();
    let table = Table::open_file(&path).unwrap();
    (dir, table)
}

#[test]
fn every_text_has_the_tokens_of_the_reference() {
    let fixture = fixture();
    let pieces: Vec<&str> = fixture.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    let (_dir, table) = table(&pieces);
    let mut tokens = 0;
    for (text, expected) in &fixture.texts {
        let found = table.tokens(text).unwrap();
        let found: Vec<u32> = found.iter().map(|&row| fixture.pieces[row as usize].0).collect();
        assert_eq!(&found, expected, "{text:?}");
        tokens += found.len();
    }
    assert!(fixture.texts.len() > 400 && tokens > 4000, "{tokens} tokens");
}

#[test]
fn an_index_of_any_size_finds_every_piece_and_no_other() {
    for count in [0, 1, 2, 7, 100, 5000] {
        let pieces: Vec<String> = (0..count).map(|number| format!("p{number}")).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let (_dir, table) = table(&pieces);
        for number in 0..count + 50 {
            let found = table.tokens(&format!("p{number}")).unwrap();
            // If the vocabulary does not contain `[UNK]`, an unknown word has no token.
            let expected: Vec<u32> = (number < count).then_some(number).into_iter().collect();
            assert_eq!(found, expected, "p{number} of {count}");
        }
    }
}

#[test]
fn the_longest_pieces_are_found() {
    let long = "x".repeat(PIECE_BYTES_MAX);
    // With the prefix of two bytes, this piece has the maximum length, and the word has fewer than 100 characters.
    let more = format!("##{}", "щ".repeat(PIECE_BYTES_MAX / 2 - 1));
    let (_dir, table) = table(&[&long, &more, "x"]);
    assert_eq!(table.tokens(&(long + &more[2..])).unwrap(), [0, 1]);
    assert_eq!(table.tokens("x").unwrap(), [2]);
}
