//! Memories that reject something by name, such as "SQLite instead of LevelDB" about LevelDB.

use memory_store_base::kind::Kind;
use memory_store_base::text;

/// Words directly before a rejected name, with at most [`BETWEEN_MAX`] other words between them and the name.
const BEFORE: &[&[&str]] = &[
    &["instead", "of"],
    &["rather", "than"],
    &["in", "place", "of"],
    &["over"],
    &["not"],
    &["never"],
    &["no"],
    &["avoid"],
    &["against"],
    &["without"],
    &["rejected"],
    &["reject"],
    &["dropped"],
    &["drop"],
    &["removed"],
    &["remove"],
    &["replaced"],
    &["replace"],
    &["stop"],
    &["don't"],
    &["forbidden"],
    &["banned"],
];
/// Words after a rejected name.
const AFTER: &[&[&str]] = &[
    &["was", "rejected"],
    &["is", "rejected"],
    &["was", "dropped"],
    &["was", "removed"],
    &["was", "replaced"],
    &["is", "forbidden"],
    &["is", "banned"],
    &["must", "not"],
    &["failed"],
    &["did", "not"],
    &["does", "not"],
    &["didn't"],
    &["doesn't"],
];
/// Maximum number of words between such words and the name.
const BETWEEN_MAX: usize = 2;

/// Returns whether a memory advises against a thing with one of these names, given as terms. A failed approach does if
/// its title contains the name.
pub(crate) fn rejects(kind: Kind, title: &str, body: &str, names: &[&str]) -> bool {
    if kind == Kind::FailedApproach && contains_term(title, names) {
        return true;
    }
    [title, body].iter().flat_map(|text| text.split(['.', ';', '\n']).map(str::trim)).any(
        |clause| {
            let words: Vec<String> = clause
                .split(|c: char| {
                    c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')' | '"' | '`')
                })
                .filter(|word| !word.is_empty())
                .map(str::to_lowercase)
                .collect();
            let named = words.iter().enumerate().filter(|(_, word)| contains_term(word, names));
            named
                .map(|(at, _)| at)
                .any(|at| has_phrase_before(&words[..at]) || has_phrase_after(&words[at + 1..]))
        },
    )
}

fn contains_term(written: &str, names: &[&str]) -> bool {
    let mut found = false;
    text::each_term(written, &mut |term, _| found |= names.contains(&term));
    found
}

fn has_phrase_before(words: &[String]) -> bool {
    (0..=BETWEEN_MAX.min(words.len())).any(|between| {
        let words = &words[..words.len() - between];
        BEFORE.iter().any(|phrase| {
            words.len() >= phrase.len()
                && words[words.len() - phrase.len()..].iter().eq(phrase.iter())
        })
    })
}

fn has_phrase_after(words: &[String]) -> bool {
    (0..=BETWEEN_MAX.min(words.len())).any(|between| {
        let words = &words[between..];
        AFTER.iter().any(|phrase| words.iter().take(phrase.len()).eq(phrase.iter()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_rejected_by_the_words_around_it() {
        let of = |text: &str| rejects(Kind::Decision, text, "", &["leveldb"]);
        assert!(of("Use SQLite instead of LevelDB for the queue"));
        assert!(of("Chose SQLite over LevelDB"));
        assert!(of("LevelDB was rejected because of its lock"));
        assert!(of("Do not use LevelDB here"));
        assert!(of("Never add LevelDB"));
        assert!(!of("Use LevelDB for the queue"));
        assert!(!of("LevelDB has the queue; do not delete it"));
        assert!(rejects(Kind::FailedApproach, "LevelDB in the browser", "", &["leveldb"]));
        assert!(!rejects(Kind::FailedApproach, "SQLite in the browser", "", &["leveldb"]));
    }
}
