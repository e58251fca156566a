//! Ids as answers print them and models copy them: `[fix k3v9qa, replaced by 8h248h]`, `#k3v9qa`, `decision k3v9qa`, or
//! alone.

use memory_store::Kind;
use memory_store::id::SHORT_ID_CHARS;
use memory_store::recall::Recall;

/// Returns the id that a text names; the whole text where it names none.
pub fn id_of(text: &str) -> String {
    let bare = text.trim().trim_start_matches(['[', '#', '(', '-', ' ']);
    // Behind a comma stands what became of it, behind the bracket its title.
    let bare = bare.split([',', ']', ')']).next().unwrap_or(bare);
    let words: Vec<&str> = words(bare).collect();
    let like_id = words.iter().find(|word| Recall::is_like_id(word));
    let id = like_id.or(words.last()).map_or(text.trim(), |id| *id);
    id.to_ascii_lowercase()
}

/// Returns the ids that a text names: several with commas or spaces between them, or one in each bracket.
pub fn ids_of(text: &str) -> Vec<String> {
    let pieces = pieces(text);
    let mut ids: Vec<String> = pieces.iter().filter_map(|piece| bracketed(piece)).collect();
    if !ids.is_empty() {
        return ids;
    }
    for piece in pieces {
        let alike: Vec<&str> = words(piece).filter(|word| Recall::is_like_id(word)).collect();
        match piece.contains('[') || alike.len() < 2 {
            true => ids.push(id_of(piece)),
            false => ids.extend(alike.into_iter().map(str::to_ascii_lowercase)),
        }
    }
    ids
}

/// Returns the ids that a query consists of, or that lines of an answer begin with; none where it is words.
pub fn ids_in(query: &str) -> Vec<String> {
    let pieces = pieces(query);
    let bracketed: Vec<String> = pieces.iter().filter_map(|piece| bracketed(piece)).collect();
    if !bracketed.is_empty() {
        return bracketed;
    }
    let mut ids = Vec::new();
    for piece in pieces {
        let words: Vec<&str> = words(piece).collect();
        let kinds = words.iter().take_while(|word| is_kind(word)).count();
        let named = words.get(kinds..).unwrap_or_default();
        if named.is_empty() || !named.iter().all(|word| is_shaped(word)) {
            return Vec::new();
        }
        ids.extend(named.iter().map(|id| id.to_ascii_lowercase()));
    }
    // Words of six letters alone are words.
    match ids.iter().any(|id| Recall::is_like_id(id)) {
        true => ids,
        false => Vec::new(),
    }
}

/// Returns whether a word has the length and the letters of an id, be it a word of prose.
fn is_shaped(word: &str) -> bool {
    let is_letter = |c: u8| c.is_ascii_alphanumeric() && !b"ilou".contains(&c.to_ascii_lowercase());
    Recall::is_like_id(word) || word.len() == SHORT_ID_CHARS && word.bytes().all(is_letter)
}

/// The id in a bracket that has a kind before it.
fn bracketed(piece: &str) -> Option<String> {
    // Its title may be followed by the next one in a line of its own.
    let line = piece.rsplit('\n').next()?;
    let (_, inner) = line.rsplit_once('[')?;
    let inner = inner.split([',', ']']).next()?;
    let mut words = words(inner).skip_while(|word| *word == "user's");
    let (kind, id) = (words.next()?, words.next()?);
    (is_kind(kind) && words.next().is_none() && id.len() >= SHORT_ID_CHARS)
        .then(|| id.to_ascii_lowercase())
}

fn is_kind(word: &str) -> bool {
    Kind::from_name(word).is_some() || word == "user's" || word.eq_ignore_ascii_case("id")
}

/// The words of a text without what stands around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    words
        .map(|word| word.strip_prefix("id:").unwrap_or(word))
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// The parts of a text between commas and behind brackets; what is in a bracket stays together.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        inside = (inside || c == '[') && c != ']';
        if (c == ',' && !inside) || c == ']' {
            pieces.push(&text[start..at]);
            start = at + 1;
        }
    }
    pieces.push(&text[start..]);
    pieces.retain(|piece| piece.contains(|c: char| c.is_ascii_alphanumeric()));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_ids_is_told_from_words() {
        for (query, ids) in [
            ("k3v9qa", &["k3v9qa"][..]),
            ("K3V9QA, #8h248h", &["k3v9qa", "8h248h"]),
            ("[fact ananan]", &["ananan"]),
            ("[user's preference ananan, pending]", &["ananan"]),
            ("- [fix k3v9qa] 2026-09-20: The importer stops, often", &["k3v9qa"]),
            ("- [fix k3v9qa] One\n- [fact 8h248h] Two", &["k3v9qa", "8h248h"]),
            ("decision k3v9qa", &["k3v9qa"]),
            ("id:k3v9qa", &["k3v9qa"]),
            ("id: k3v9qa", &["k3v9qa"]),
            ("what is [decision k3v9qa]?", &["k3v9qa"]),
            ("k3v9qa zzzzzz", &["k3v9qa", "zzzzzz"]),
            ("zzzzzz", &[]),
            ("k3v9qa in full", &[]),
            ("why cents", &[]),
            ("the parser", &[]),
            ("fix", &[]),
            ("array[fact]", &[]),
            ("[ERROR something] broke", &[]),
            ("", &[]),
        ] {
            assert_eq!(ids_in(query), ids, "{query}");
        }
    }

    #[test]
    fn an_id_is_never_empty() {
        for (text, id) in [("[]", "[]"), ("zzzzzz", "zzzzzz"), ("#", "#"), ("no such", "such")] {
            assert_eq!(id_of(text), id);
        }
    }
}
