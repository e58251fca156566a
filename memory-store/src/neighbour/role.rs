//! Roles of words in a sentence, for the comparison of clauses: small lists for a few languages.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::folded;

/// Role of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Negates a clause, such as "not".
    Negation,
    /// Has no content, such as "the".
    Article,
    /// An adverb, or a pronoun for the speaker, that does not change the statement.
    Filler,
    /// Indicates a changed value.
    Change,
    /// Connects a subject with its predicate.
    Copula,
    /// Limits when a clause is true.
    Limit,
    /// Precedes a limitation of a value.
    BeforeLimit,
    /// Precedes a value of which there is usually only one: a tool ("with", "via"), a result ("into", "as") or a name
    /// ("called").
    BeforeValue,
    /// Precedes a value, but only after a word of [`Role::Placed`].
    BeforePlace,
    /// Places something, such as "stored". After such a word, "in" or "to" precedes a value instead of a time or a
    /// place in the code.
    Placed,
    /// Joins two things in either order, or two words of one thing.
    Link,
    /// Precedes a number that identifies an item, such as "issue".
    BeforeName,
    /// A day, a month or a period.
    Day,
    /// The unit of a number.
    Unit,
    /// A number word.
    Number,
    /// One of two opposites.
    Opposite,
    /// Introduces a cause.
    Cause,
}

/// Names of the roles in the lists.
const NAMES: &[(&str, Role)] = &[
    ("negation", Role::Negation),
    ("article", Role::Article),
    ("filler", Role::Filler),
    ("change", Role::Change),
    ("copula", Role::Copula),
    ("limit", Role::Limit),
    ("before-limit", Role::BeforeLimit),
    ("before-value", Role::BeforeValue),
    ("before-place", Role::BeforePlace),
    ("placed", Role::Placed),
    ("link", Role::Link),
    ("before-name", Role::BeforeName),
    ("day", Role::Day),
    ("unit", Role::Unit),
    ("number", Role::Number),
    ("opposite", Role::Opposite),
    ("cause", Role::Cause),
];

/// The word lists.
#[derive(Default)]
struct Lists {
    /// Roles of each word, one bit each.
    roles: HashMap<&'static str, u32>,
    numbers: HashMap<&'static str, &'static str>,
    opposites: Vec<(&'static str, &'static str)>,
}

/// The word lists in the form for comparison, which is without the accents of Latin letters.
static TEXT: LazyLock<String> = LazyLock::new(|| folded(include_str!("words.txt")).into_owned());

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut lists = Lists::default();
    for line in TEXT.lines() {
        let Some((name, words)) = line.split_once(": ") else { continue };
        let Some((_, role)) = NAMES.iter().find(|(of, _)| *of == name) else { continue };
        for word in words.split(' ') {
            let (word, other) = word.split_once('=').unwrap_or((word, ""));
            *lists.roles.entry(word).or_default() |= 1 << *role as u32;
            match role {
                Role::Number => drop(lists.numbers.insert(word, other)),
                Role::Opposite => {
                    *lists.roles.entry(other).or_default() |= 1 << *role as u32;
                    lists.opposites.push((word, other));
                }
                _ => {}
            }
        }
    }
    lists
});

/// Returns whether a lower-case word has a role.
pub(super) fn is(word: &str, role: Role) -> bool {
    LISTS.roles.get(word).is_some_and(|roles| roles & (1 << role as u32) != 0)
}

/// Returns the digits of a number word; `None` for other words.
pub(super) fn number(word: &str) -> Option<&'static str> {
    LISTS.numbers.get(word).copied()
}

/// Returns whether two words are opposites.
pub(super) fn are_opposite(one: &str, other: &str) -> bool {
    LISTS.opposites.iter().any(|pair| *pair == (one, other) || *pair == (other, one))
}

/// Returns the length in bytes of the negation at the start of a text in a script without spaces; `None` if there is
/// none.
pub(super) fn negation_at(text: &str) -> Option<usize> {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(3);
    ends.filter(|&end| is(&text[..end], Role::Negation)).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_a_role_and_words_in_lower_case() {
        for line in include_str!("words.txt").lines().filter(|line| !line.starts_with('#')) {
            let Some((name, words)) = line.split_once(": ") else {
                assert!(line.is_empty(), "{line}");
                continue;
            };
            assert!(NAMES.iter().any(|(of, _)| *of == name), "{name}");
            assert_eq!(words, words.to_lowercase());
        }
        assert!(are_opposite("off", "on") && !are_opposite("on", "in"));
        assert_eq!(negation_at("ません。"), Some("ません".len()));
        assert_eq!(number("zwei"), Some("2"));
    }
}
