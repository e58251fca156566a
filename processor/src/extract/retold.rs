//! Instructions that Claude repeats from a source. An instruction in a web page, a file or an output is not a wish of
//! the user, and does not become a fact if Claude repeats it.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};
use super::prose;

/// Nouns for texts by other authors, as the pattern `NOUN`.
const NOUN: &str = r"(?:(?:e-?)?mails?|messages?|issues?|tickets?|reports?|articles?|posts?|threads?|comments?|reviews?|feedback|transcripts?|logs?|letters?|tweets?|pages?|readme|docs?|documentation|faq|snippets?|answers?|repl(?:y|ies)|questions?|chats?|conversations?|spec|papers?|excerpts?|quotes?|citations?|texts?|paragraphs?|sentences?|notes?|diffs?|patch(?:es)?|translations?|descriptions?)";

/// Returns a pattern in which `NOUN` is replaced by [`NOUN`].
fn with_noun(text: &str) -> Pattern {
    pattern(&text.replace("NOUN", NOUN))
}

/// A reference to a source that Claude read. The content of the source follows.
static SOURCE: LazyLock<Pattern> = LazyLock::new(|| {
    with_noun(
        r"(?ix)\b(?:says?|states?|reads?|tells?\ (?:us|me)|instructs?|asks?|demands?|recommends?|insists?|wrote|writes|said)\b|\baccording\ to\b|\bas\ per\b|\b(?:from|in|of)\s+(?:the|its?|an?)\s+(?:[\w.-]+\s+){0,2}?(?:website|site|wiki|handbook|manual|file|web|server|NOUN)\b",
    )
});
/// An instruction at the beginning of a clause that applies repeatedly.
static ORDER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b(?:from now on|going forward|from here on|in (?:the )?future|in (?:all|every|each|future) (?:future )?sessions?)\b|(?:^\s*|[:,;.!"“«'`—–-]\s*|\bthat\s+|\bto\s+)(?:please\s+)?(?:you (?:must|should|have to|need to)|(?:one|we|claude|agents?|assistants?) (?:must|should)|must|always|never|do not|don['’]t|make sure|be sure)\s+(?:always\s+|never\s+|to\s+)?\p{L}+"#,
    )
});
/// Returns whether a text by Claude repeats an instruction from a source. The author of such an instruction is not the
/// user. Claude may repeat statements of a source as facts, but not instructions.
pub fn retells_order(text: &str) -> bool {
    let sentences: Vec<&str> = prose::split(text).into_iter().map(str::trim).collect();
    (0..sentences.len()).any(|at| {
        let Some(source) = SOURCE.find(sentences[at]) else { return false };
        let said = &sentences[at][source.end()..];
        // The instruction after a colon may be in the next sentence.
        let next = sentences.get(at + 1).filter(|_| said.ends_with(':') || said.contains(": "));
        ORDER.is_match(said) || next.is_some_and(|next| ORDER.is_match(next))
    })
}

/// All patterns of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[&SOURCE, &ORDER];

#[cfg(test)]
#[path = "retold_tests.rs"]
mod tests;
