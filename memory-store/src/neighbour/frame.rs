//! Frames: the words of a title in their order, so that two titles which differ in one place, or in a
//! negation alone, are told from titles on different subjects.
//!
//! Two such titles seldom hold both: "deploy with Helm" and "deploy with Kustomize". The rules are narrow,
//! because many do: "the API is slow" and "the API is documented".

use crate::text::is_stop_word;

use super::words::Words;

/// Words of a title that are compared; a longer one is a text.
const FRAME_WORDS_MAX: usize = 24;
/// Words in the one place where two titles differ.
const SLOT_WORDS_MAX: usize = 3;

/// Words at the beginning that say nothing of the subject.
const LEADING: &[&str] =
    &["we", "i", "you", "they", "the", "a", "an", "our", "this", "please", "let's"];

/// Adverbs that do not change what is claimed.
const FILLERS: &[&str] = &[
    "now",
    "currently",
    "always",
    "instead",
    "just",
    "please",
    "also",
    "still",
    "already",
    "again",
];

/// Words that turn a claim into its opposite.
const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "no",
    "longer",
    "don't",
    "doesn't",
    "isn't",
    "aren't",
    "won't",
    "shouldn't",
    "mustn't",
    "cannot",
    "can't",
    "without",
    "avoid",
];

/// Words before the one thing that something is done with, made into or called: there another one
/// seldom holds beside it.
const BEFORE_VALUE: &[&str] = &[
    "with", "via", "through", "using", "by", "as", "to", "into", "over", "use", "uses", "prefer",
    "prefers", "choose", "called", "named", "return", "returns",
];

/// Words after which `in` and `on` stand before such a thing, and not before a time or a place in the code.
const PLACED: &[&str] = &[
    "stored", "kept", "saved", "cached", "written", "hosted", "deployed", "built", "based", "run",
    "runs",
];

/// Words that begin what limits a claim.
const BEFORE_LIMIT: &[&str] = &[
    "for", "in", "on", "at", "of", "from", "when", "while", "if", "unless", "because", "since",
    "so", "and", "as", "with", "by", "to", "before", "after", "during",
];

/// Words before a number that is a name.
const BEFORE_NAME: &[&str] = &[
    "issue",
    "step",
    "pr",
    "phase",
    "task",
    "ticket",
    "section",
    "chapter",
    "line",
    "page",
    "part",
    "number",
    "no",
    "case",
    "example",
    "milestone",
    "sprint",
];

const ARTICLES: &[&str] = &["the", "a", "an", "our"];

/// A title as a sequence of words.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    words: Vec<String>,
    /// Words that are not negations.
    claim: Words,
    negated: bool,
}

impl Frame {
    /// Returns the frame of a title.
    pub(crate) fn of(title: &str) -> Self {
        let words = title.split_whitespace().map(|word| {
            word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '/'))
                .to_lowercase()
                .replace('\u{2019}', "'")
        });
        let words: Vec<String> = words
            .filter(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()))
            .skip_while(|word| LEADING.contains(&word.as_str()))
            .take(FRAME_WORDS_MAX + 1)
            .collect();
        let is_negation = |word: &&String| NEGATIONS.contains(&word.as_str());
        let negated = words.iter().any(|word| is_negation(&word));
        let claim = words
            .iter()
            .filter(|word| !is_negation(word) && !is_stop_word(word))
            .map(String::as_str)
            .collect();
        Self { words, claim, negated }
    }

    /// Returns whether one claims what the other denies.
    pub(crate) fn is_opposite(&self, other: &Self) -> bool {
        self.negated != other.negated && !self.claim.is_empty() && self.claim == other.claim
    }

    /// Returns whether both claim the same of something but for one value.
    pub(crate) fn is_other_value(&self, other: &Self) -> bool {
        let (one, another) = (&self.words, &other.words);
        let shorter = one.len().min(another.len());
        // A value never comes first, which settles most pairs.
        if one.first() != another.first()
            || one.len().max(another.len()) > FRAME_WORDS_MAX
            || self.negated != other.negated
        {
            return false;
        }
        let same = |(a, b): &(&String, &String)| a == b;
        let before = one.iter().zip(another).take_while(same).count();
        let backwards = one.iter().rev().zip(another.iter().rev());
        let after = backwards.take(shorter - before).take_while(same).count();
        let slots = [one, another].map(|words| &words[before..words.len() - after]);
        let (prefix, suffix) = (&one[..before], &one[one.len() - after..]);
        let says = |word: &String| !is_stop_word(word) && !BEFORE_VALUE.contains(&word.as_str());
        slots.iter().all(|slot| slot.len() <= SLOT_WORDS_MAX && slot.iter().any(says))
            && (before + after) * 2 >= shorter
            && prefix.iter().chain(suffix).any(says)
            && if slots.iter().all(|slot| is_number(slot)) {
                is_amount(prefix, suffix)
            } else {
                is_value(prefix, suffix)
            }
    }
}

fn is_number(slot: &[String]) -> bool {
    slot.len() == 1 && slot[0].starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether a number in this place is an amount, and not the name of one thing among others.
fn is_amount(prefix: &[String], suffix: &[String]) -> bool {
    let names = |word: &String| BEFORE_NAME.contains(&word.as_str());
    prefix.last().is_some_and(|word| !names(word)) && (suffix.len() <= 1 || limits(suffix))
}

/// Returns whether the place is that of a value, and not of the subject or of what limits the claim.
fn is_value(prefix: &[String], suffix: &[String]) -> bool {
    let mut before = prefix.iter().rev().map(String::as_str);
    let mut before = before.by_ref().skip_while(|word| ARTICLES.contains(word));
    let is_before = match before.next() {
        Some("in" | "on") => before.next().is_some_and(|word| PLACED.contains(&word)),
        Some(word) => BEFORE_VALUE.contains(&word),
        None => false,
    };
    is_before && (suffix.is_empty() || limits(suffix))
}

fn limits(suffix: &[String]) -> bool {
    suffix.first().is_some_and(|word| BEFORE_LIMIT.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other_value(a: &str, b: &str) -> bool {
        let (a, b) = (Frame::of(a), Frame::of(b));
        assert_eq!(a.is_other_value(&b), b.is_other_value(&a));
        a.is_other_value(&b)
    }

    #[test]
    fn another_value_in_the_same_place_is_seen() {
        for (a, b) in [
            ("we deploy with Helm", "we deploy with Kustomize"),
            ("We deploy with Helm.", "Deploy now with the Kustomize overlays"),
            ("Use tabs for Go code", "Use spaces for Go code"),
            ("Requests time out after 30 seconds", "Requests time out after 60 seconds"),
            ("The API listens on port 8080", "The API listens on port 9090"),
            ("Logs are written to stderr", "Logs are written to stdout"),
            ("The API returns XML", "The API returns JSON"),
            ("Sessions are stored in Redis", "Sessions are stored in a Postgres table"),
            ("The site is hosted on Fly", "The site is hosted on our Hetzner box"),
        ] {
            assert!(other_value(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn different_subjects_and_conditions_are_no_other_value() {
        for (a, b) in [
            ("The API is slow", "The API is documented"),
            ("Use tabs for Go", "Use tabs for Make"),
            ("Backend tests use pytest", "Backend builds use pytest"),
            ("Tests for the API live in tests", "Tests for the CLI live in tests"),
            ("Use serde", "Use tokio"),
            ("The bug shows in Safari", "The bug shows in Firefox"),
            ("Releases are cut on Tuesdays", "Releases are cut on demand"),
            ("Issue 12 is fixed", "Issue 13 is fixed"),
            ("See issue 12", "See issue 13"),
            ("Deploy with Helm", "Deploy with Helm"),
            ("Deploy with Helm", "Deploy with Helm in production"),
            ("", ""),
            ("Deploy", ""),
        ] {
            assert!(!other_value(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn a_negation_alone_makes_the_opposite() {
        let opposite = |a: &str, b: &str| Frame::of(a).is_opposite(&Frame::of(b));
        assert!(opposite("Commit the lock file", "Never commit the lock file"));
        assert!(opposite("We no longer deploy with Helm", "We deploy with Helm"));
        assert!(opposite("Don\u{2019}t mock the carrier", "Mock the carrier"));
        assert!(!opposite("Never commit the lock file", "Do not commit the lock file"));
        assert!(!opposite("Never commit the lock file", "Commit the changelog"));
        assert!(!opposite("Not", ""));
    }

    proptest::proptest! {
        #[test]
        fn no_titles_break_it(a in "\\PC{0,80}", b in "[a-c ]{0,40}", c in "[a-c ]{0,40}") {
            let (a, b, c) = (Frame::of(&a), Frame::of(&b), Frame::of(&c));
            let _ = (a.is_other_value(&b), b.is_other_value(&c), b.is_opposite(&a));
        }
    }
}
