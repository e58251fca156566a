//! Tense: whether a sentence tells how things were before the work, how they are to be, why, or what
//! came of it. A sentence about the state before an edit is false after it, so it may only serve as
//! the reason for the edit, and says so.

use std::sync::LazyLock;

use regex::Regex;

use super::clean::{capital, pattern};
use super::episode::{Episode, Statement};
use super::score::Channel;
use super::words;

/// What a sentence tells of, seen from after the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tense {
    /// How things were.
    Before,
    /// Why they are to change.
    Reason,
    /// How they are to be.
    Aim,
    /// What came of it.
    Outcome,
    /// What was said while working.
    Talk,
}

/// Words that say how things are to be.
static AIMS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:goals?|objective|aim|solution|fix|result)\b\W{0,3}[:—–-]|\b(?:wants?|want(?:ed)? to|should|we(?:'|’)ll|will|must|we need to|the (?:plan|redesign|change|fix)\b|this (?:plan|change|adds?|makes?|replaces?))\b",
    )
});

/// Words that say that something was so when it was written.
static NOW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:current(?:ly)?|at (?:the moment|present)|right now|today|existing|now (?:shows?|uses?|has|is|does)|hard-?cod(?:es|ed)|has no|have no|there (?:is|are) no|lacks?|minimal|placeholder)\b",
    )
});

/// Returns what a statement of an episode tells of.
pub fn of(statement: &Statement, episode: &Episode<'_>) -> Tense {
    let text = statement.text();
    match statement.channel {
        Channel::Commit | Channel::Final => Tense::Outcome,
        Channel::Said | Channel::Summary => Tense::Talk,
        Channel::User if NOW.is_match(text) => Tense::Before,
        Channel::User => Tense::Aim,
        Channel::Plan => {
            let heading = statement.sentence.heading.as_str();
            let reasons = heading.is_empty() || words::WHY_HEADING.is_match(heading);
            if AIMS.is_match(text) || words::CHOICE_HEADING.is_match(heading) {
                Tense::Aim
            } else if reasons
                && !NOW.is_match(text)
                && (words::SAYS_WHY.is_match(text) || episode.writes())
            {
                Tense::Reason
            } else if reasons {
                Tense::Before
            } else {
                Tense::Talk
            }
        }
    }
}

/// The words by which a sentence claims to speak of the present.
static CLAIM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)^currently,? |\s+currently\b|\bcurrent "));

/// Returns how things were, told as that.
pub fn told_before(text: &str) -> String {
    let text = CLAIM.replace_all(text, "");
    format!("Before: {}", capital(text.trim()))
}
