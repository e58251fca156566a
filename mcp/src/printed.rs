//! Parses ids in the printed forms that models copy: `[fix k3v9qa, replaced by 8h248h]`, `#k3v9qa`, `decision k3v9qa`,
//! or only the id.

use memory_store::Kind;
use memory_store::id::SHORT_ID_CHARS;
use memory_store::recall::Recall;

/// Returns the id in a text; the whole text if it contains none.
pub fn id_of(text: &str) -> String {
    let id = ids_of(text).into_iter().next();
    id.unwrap_or_else(|| text.trim().to_ascii_lowercase())
}

/// Returns the ids in a text: those in brackets after a kind, if there are any. Otherwise, of each part between commas,
/// the words that resemble an id, or else the last word.
pub fn ids_of(text: &str) -> Vec<String> {
    let mut ids = bracketed(text);
    if ids.is_empty() {
        for piece in text.split(',') {
            let (alike, others): (Vec<&str>, Vec<&str>) =
                words(piece).partition(|word| Recall::is_like_id(word));
            let named =
                if alike.is_empty() { others.last().copied().into_iter().collect() } else { alike };
            ids.extend(named.into_iter().map(str::to_ascii_lowercase));
        }
    }
    ids
}

/// Returns the ids in a query that consists of ids or of copied lines of an answer. Empty if the query consists of
/// other words.
pub fn ids_in(query: &str) -> Vec<String> {
    let bracketed = bracketed(query);
    if !bracketed.is_empty() {
        return bracketed;
    }
    let ids: Vec<String> =
        words(query).filter(|word| !is_kind(word)).map(str::to_ascii_lowercase).collect();
    // Words of six letters count as ids only if at least one of them is clearly an id.
    match ids.iter().all(|id| is_shaped(id)) && ids.iter().any(|id| Recall::is_like_id(id)) {
        true => ids,
        false => Vec::new(),
    }
}

/// Returns whether a word has the length and letters of an id. Words of prose may have them too.
fn is_shaped(word: &str) -> bool {
    let is_letter = |c: u8| c.is_ascii_alphanumeric() && !b"ilou".contains(&c);
    Recall::is_like_id(word) || word.len() == SHORT_ID_CHARS && word.bytes().all(is_letter)
}

/// Returns the ids in brackets that follow a kind.
fn bracketed(text: &str) -> Vec<String> {
    let ids = text.split('[').skip(1).filter_map(|inside| {
        let mut words =
            words(inside.split([',', ']']).next()?).skip_while(|word| *word == "user's");
        let (kind, id) = (words.next()?, words.next()?);
        (is_kind(kind) && words.next().is_none() && id.len() >= SHORT_ID_CHARS)
            .then(|| id.to_ascii_lowercase())
    });
    ids.collect()
}

fn is_kind(word: &str) -> bool {
    Kind::from_name(word).is_some() || word == "user's" || word.eq_ignore_ascii_case("id")
}

/// Returns the words of a text without surrounding punctuation.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    words
        .map(|word| word.strip_prefix("id:").unwrap_or(word))
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_ids_is_distinguished_from_words() {
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
