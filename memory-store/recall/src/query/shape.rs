//! Shapes of questions: the kind of answer that a question asks for, which changes the order of an explicit search.
//!
//! A shape is detected by general English words in a text that has the form of a question. Prompts in hooks have no
//! shape.

use std::fmt;

use crate::query::time_expression;
use memory_store_base::time::Timestamp;

/// Maximum number of words of a question; longer texts are errors or prose.
const WORDS_MAX: usize = 40;
/// Maximum number of words of a question for a latest value, a preference or a recommendation. In longer ones, such
/// words often belong to a circumstance.
const SHORT_WORDS_MAX: usize = 16;
/// Maximum number of words on each side of a comparison.
const SIDE_WORDS_MAX: usize = 3;

/// Kind of answer that a question asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryShape {
    /// The latest or current value: the newest of the best hits is first.
    Latest,
    /// The state at this time, which is the last moment of the named time.
    AsOf(Timestamp),
    /// A list or a number: more hits, of more sessions.
    List,
    /// A preference: wishes first, and few hits of each other kind.
    Preference,
    /// A recommendation: few hits of each kind.
    Recommendation,
    /// A comparison: hits about both sides.
    Comparison([String; 2]),
}

impl fmt::Display for QueryShape {
    /// Writes the name with the effect.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => write!(f, "the latest value: newest first"),
            Self::AsOf(at) => write!(f, "the state as of {}: no later result", at.date()),
            Self::List => write!(f, "a list: more results, of more sessions"),
            Self::Preference => write!(f, "a preference: wishes first"),
            Self::Recommendation => write!(f, "a recommendation: few of each kind first"),
            Self::Comparison([one, other]) => write!(f, "a comparison: both {one} and {other}"),
        }
    }
}

/// Words with which a question or a request begins.
const BEGINNINGS: &str = "what, what's, which, who, whose, where, when, why, how, do, does, did, is, are, was, were, can, \
    could, should, would, will, has, have, tell, show, list, give, remind, compare, count, enumerate, \
    any, suggest, recommend, in, as";
/// Phrases that ask for the latest value.
const LATEST: &str = "latest, newest, current, currently, nowadays, presently, most recent, most recently, right now, \
    these days, at the moment";
/// The same words about a place or a thing of the moment, which is no value that changed.
const PLACES: &str = "current directory, current folder, current dir, current working, current user, current file, \
    current line, current path, current process, current shell, current thread";
/// Phrases that ask for a list or a number.
const LIST: &str =
    "how many, what are, which are, all the, all of, all our, all my, every, list of";
/// Phrases that ask for a duration instead.
const DURATIONS: &str = "how long, how many days, how many weeks, how many months, how many years, how many hours, how many minutes";
/// First words that ask for a list or a number.
const LIST_BEGINNINGS: &str = "list, count, enumerate";
/// Phrases that ask for a preference.
const PREFERENCE: &str = "prefer, prefers, preferred, preference, preferences, favourite, favorite, i like, we like, i want, \
    we want, user like, user want, my style, our style, our conventions";
/// Phrases that ask for a recommendation.
const RECOMMENDATION: &str = "recommend, recommended, recommendation, recommendations, suggest, suggestions, advise, advice, \
    should i, should we, best way, best option, any tips";
/// Phrases before a time that ask for the state at that time.
const AS_OF: &str = "as of, back in, back on, back at";
/// Words between compared names, before them, and of a choice between names.
const VERSUS: &str = "vs, versus";
const COMPARED: &str = "compare, comparing, difference between, differences between, differ";
const CHOICE: &str = "better, prefer, choose, rather, should";
/// Words that are no part of a compared name.
const AROUND: &str = "not, a, an, the, our, my, using, use, with, for, is, are, was, do, does, did, we, i, better, of, in, on, \
    to, and, what, which, how, why, about";

impl QueryShape {
    /// Returns the shape of a question; `None` if it has none, or the text is no question.
    pub fn of(text: &str, now: Timestamp) -> Option<Self> {
        let words: Vec<String> = text
            .split_whitespace()
            .map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
            .filter(|word| !word.is_empty())
            .take(WORDS_MAX + 1)
            .collect();
        let (first, last) = (words.first()?.as_str(), words.last()?.as_str());
        // Each word has a space on both sides.
        let spaced = format!(" {} ", words.join(" "));
        let has = |phrases: &str| phrases.split(", ").any(|it| spaced.contains(&format!(" {it} ")));
        let begins = |list: &str| list.split(", ").any(|word| word == first);
        let is_question = begins(BEGINNINGS) || text.trim_end().ends_with('?') || has(VERSUS);
        if words.len() > WORDS_MAX || !is_question {
            return None;
        }
        if let Some(sides) = sides(&spaced, has(CHOICE)) {
            return Some(Self::Comparison(sides));
        }
        let named = time_expression::find(text, now);
        let end = named.as_ref().and_then(|named| named.span.to).map(|to| Timestamp(to.0 - 1));
        let is_past = words.iter().take(4).any(|word| word == "was" || word == "were");
        if let Some(at) = end.filter(|at| *at <= now && (has(AS_OF) || is_past)) {
            return Some(Self::AsOf(at));
        }
        let is_latest = last == "now" || has(LATEST) && !has(PLACES) && !has(DURATIONS);
        let is_list = begins(LIST_BEGINNINGS) || has(LIST) && !has(DURATIONS);
        match () {
            () if is_list => Some(Self::List),
            () if words.len() > SHORT_WORDS_MAX => None,
            () if is_latest && named.is_none() => Some(Self::Latest),
            () if has(PREFERENCE) => Some(Self::Preference),
            () if has(RECOMMENDATION) => Some(Self::Recommendation),
            () => None,
        }
    }

    /// Returns its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::AsOf(_) => "as-of",
            Self::List => "list",
            Self::Preference => "preference",
            Self::Recommendation => "recommendation",
            Self::Comparison(_) => "comparison",
        }
    }

    /// Returns the time of a question about the state at a time.
    pub fn as_of(text: &str, now: Timestamp) -> Option<Timestamp> {
        match Self::of(text, now)? {
            Self::AsOf(at) => Some(at),
            _ => None,
        }
    }
}

/// Returns the two compared names: "A vs B", "difference between A and B", "compare A with B", "A or B" of a choice.
fn sides(spaced: &str, is_choice: bool) -> Option<[String; 2]> {
    let split = |text: &str, list: &str| {
        let splits = list.split(", ").filter_map(|it| text.split_once(&format!(" {it} ")));
        let first = splits.min_by_key(|(before, _)| before.len());
        first.map(|(before, after)| (format!("{before} "), format!(" {after}")))
    };
    let (one, other) = match (split(spaced, VERSUS), split(spaced, COMPARED)) {
        (Some(sides), _) => sides,
        (None, Some((_, compared))) => split(&compared, "and, with, to, from")?,
        (None, None) => split(spaced, "or").filter(|_| is_choice)?,
    };
    let is_name = |word: &&str| AROUND.split(", ").all(|around| around != *word);
    let mut one: Vec<&str> =
        one.split_whitespace().rev().take_while(is_name).take(SIDE_WORDS_MAX).collect();
    one.reverse();
    let other = other.split_whitespace().skip_while(|word| !is_name(word));
    let other: Vec<&str> = other.take_while(is_name).take(SIDE_WORDS_MAX).collect();
    (!one.is_empty() && !other.is_empty()).then(|| [one.join(" "), other.join(" ")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_question_give_its_shape() {
        let now = Timestamp::parse("2026-10-02T09:30:00Z").unwrap();
        for (name, questions) in [
            (
                "latest",
                &[
                    "What is the current retry limit?",
                    "which database do we use now?",
                    "what was the most recent release about",
                    "where are uploads stored at the moment?",
                ][..],
            ),
            (
                "as-of",
                &[
                    "which database was it in March?",
                    "as of 2026-03-31, where are carts stored",
                    "what did the cache use back in June?",
                ],
            ),
            (
                "list",
                &[
                    "How many services use Redis?",
                    "list the open tasks",
                    "what are our deploy steps?",
                    "which tests cover all the currencies?",
                ],
            ),
            (
                "preference",
                &[
                    "Which test runner does the user prefer?",
                    "how do I like commit messages written?",
                ],
            ),
            (
                "recommendation",
                &[
                    "What should we use for caching?",
                    "can you recommend a parser",
                    "best way to retry?",
                ],
            ),
            (
                "comparison",
                &[
                    "Redis vs Valkey",
                    "what is the difference between unit tests and journeys?",
                    "compare the old parser with the new parser",
                    "should we use Helm or Kustomize?",
                ],
            ),
        ] {
            for question in questions {
                let shape = QueryShape::of(question, now);
                assert_eq!(shape.as_ref().map(QueryShape::name), Some(name), "{question}");
            }
        }
        for plain in [
            "why cents",
            "find files in the current directory",
            "What is the current directory of the runner?",
            "error: expected one of `;` or `}`, what now",
            "how are amounts kept?",
            "how many days passed between the two releases?",
            "how long has the current limit been in force?",
            "which file did the latest import of 2026-05-02 read?",
            "Considering our current limits of uploads and of the proxy, why did the import of videos fail on Friday?",
            "what did the user say about 2026-03-05?",
            "what was it in 2027?",
            "",
        ] {
            assert_eq!(QueryShape::of(plain, now), None, "{plain}");
        }
    }

    #[test]
    fn a_comparison_has_the_names_of_both_sides() {
        let now = Timestamp(0);
        for (question, one, other) in [
            ("Redis vs. Valkey for carts", "redis", "valkey"),
            (
                "What is the difference between the old parser and the new parser?",
                "old parser",
                "new parser",
            ),
            ("should we use Helm or Kustomize?", "helm", "kustomize"),
        ] {
            let expected = Some(QueryShape::Comparison([one.into(), other.into()]));
            assert_eq!(QueryShape::of(question, now), expected, "{question}");
        }
        let march = QueryShape::as_of("where was it in March 2026?", Timestamp(1_790_000_000_000));
        assert_eq!(march.map(Timestamp::date), Some("2026-03-31".to_owned()));
    }
}
