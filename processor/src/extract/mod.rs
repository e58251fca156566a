//! Extraction by rules. Rules write only one kind of memory: standing wishes in explicit words (`wishes.rs`). A model
//! and people write all other memories. The results of tool calls become data of the session record
//! (`session_record/`).
//!
//! All functions here are pure functions of the session. They depend neither on clock or disk, nor on the order of
//! processing.

mod clean;
mod commands;
pub mod draft;
mod episode;
mod fixes;
mod landed;
mod own_words;
mod paths;
mod pattern;
mod prose;
mod retold;
mod roots;
pub mod session_record;
mod sets;
mod shell;
mod wishes;
mod words;

use crate::transcript::session::Session;
use draft::Draft;
pub use draft::EXTRACTOR;
use session_record::SessionRecord;

pub use clean::{cut, plain};
pub use episode::goes_on;
pub use fixes::{REACH_STEPS, fails_at_end};
pub use landed::Landed;
pub use own_words::own_words;
pub use retold::retells_order as text_retells_order;
pub use roots::Roots;
pub use sets::{overlap, subject_of, word_set};
pub(crate) use shell::commit_message;

/// Findings of rules in a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleFindings {
    /// Standing wishes in explicit words, in the order of the session.
    pub wishes: Vec<Draft>,
    /// Record of the session.
    pub record: SessionRecord,
}

/// Returns the findings of the rules in a session. `roots` are the project's working trees.
pub fn mine(session: &Session, roots: &Roots) -> RuleFindings {
    let record = SessionRecord::of(session, roots);
    let roots = &roots.with_folders(session.turns.iter().map(|turn| turn.cwd.as_str()));
    // The prompts of a subagent are written by another agent, not by the user.
    let wishes = if session.agent.is_some() { Vec::new() } else { wishes::mine(session, roots) };
    RuleFindings { wishes, record }
}

/// Returns whether a text reports a failure.
pub fn has_failure_words(text: &str) -> bool {
    words::FAILS.is_match(text)
}

/// Returns a title and body for a memory whose title is already used: the first sentence of the body becomes the title,
/// and the old title is moved to the end of the body. `None` if no sentence can be the title.
pub fn retitled(title: &str, body: &str) -> Option<(String, String)> {
    let sentences = prose::split(body);
    let first = sentences.iter().position(|sentence| {
        let says = sentence.split_whitespace().count() >= RETITLE_WORDS_MIN;
        says && !words::POINTS_BACK.is_match(sentence.trim()) && !sentence.contains(": \"")
    })?;
    let named = sentences[first].trim();
    let others = sentences.iter().enumerate().filter(|(at, _)| *at != first);
    let mut parts: Vec<String> = others.map(|(_, text)| text.trim().to_owned()).collect();
    parts.push(format!("Part of: {title}"));
    Some((clean::title(named), sets::join(&parts)))
}

/// Minimum number of words in a sentence that can be a title.
const RETITLE_WORDS_MIN: usize = 4;

#[cfg(test)]
mod tests;
