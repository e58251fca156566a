//! Extraction by rules: what a session shows without anybody reading it. Rules write one kind of memory alone, standing
//! wishes in explicit words (`wishes.rs`); a model and people write all others. What tool calls proved is data of the
//! session (`proven.rs`).
//!
//! Everything here is a pure function of the session: no clock, no disk, no order of processing.

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
pub mod proven;
mod retold;
mod roots;
mod sets;
mod shell;
mod tasks;
mod wishes;
mod words;

use crate::transcript::session::Session;
use draft::Draft;
use proven::Proven;

pub use clean::{cut, plain};
pub use episode::goes_on;
pub use fixes::{REACH_STEPS, changed_line, fails_at_end, is_sibling};
pub use own_words::{own_words, request};
pub use retold::retells_order as text_retells_order;
pub use roots::Roots;
pub use sets::{overlap, word_set};
pub(crate) use shell::commit_message;

/// Episodes for other parts of the processor: where the work was left is told from them too.
pub mod episodes {
    pub use super::episode::{
        Channel, Episode, Statement, episodes as of, handed_plan, last_episodes as last_of,
        words_of,
    };
    pub use super::landed::Landed;
    pub use super::tasks::open_todos;

    /// Whether a statement names something that is left to do: a sentence that says so, or an item of a list
    /// under a heading that does.
    pub fn names_open(statement: &Statement) -> bool {
        super::words::leaves_open(statement.text()) || super::tasks::is_item_of_open(statement)
    }

    /// Whether an output says that the command was put wrongly.
    pub fn is_usage(output: &str) -> bool {
        super::words::USAGE.is_match(output)
    }

    /// Whether a sentence proposes what to do next.
    pub fn proposes(sentence: &str) -> bool {
        super::words::PROPOSES.is_match(sentence)
    }
}

/// The name and version of this extractor, as memories carry it. Versions before
/// [`memory_store::memory::Source::WISHES_ALONE`] wrote other kinds of memories.
pub const EXTRACTOR: &str = "rules/15";

/// What rules found in a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Standing wishes in explicit words, in the session's order.
    pub wishes: Vec<Draft>,
    /// What its tool calls proved.
    pub proven: Proven,
}

/// Returns what rules find in a session. `roots` are the project's working trees.
pub fn mine(session: &Session, roots: &Roots) -> Found {
    let roots = &roots.with_folders(session.turns.iter().map(|turn| turn.cwd.as_str()));
    let miner = SessionMiner { session, roots };
    let proven = Proven { commands: commands::mine(&miner), cures: fixes::mine(&miner) };
    // A subagent's prompts are another agent's.
    let wishes = if session.agent.is_some() { Vec::new() } else { wishes::mine(session, roots) };
    Found { wishes, proven }
}

/// Whether a text says that something is broken.
pub fn says_broken(text: &str) -> bool {
    words::FAILS.is_match(text)
}

/// A session and the working trees of its project.
#[derive(Clone, Copy, Debug)]
struct SessionMiner<'a> {
    session: &'a Session,
    roots: &'a Roots,
}

/// Returns a memory under another title: its first sentence, with the old title said at the end.
/// `None` when the body has no sentence that can stand in front.
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
    Some((self::title(named), sets::join(&parts)))
}

/// Words of a sentence that can be a title.
const RETITLE_WORDS_MIN: usize = 4;

/// One line, without the stop at its end.
fn title(text: &str) -> String {
    let text = clean::capital(text.trim());
    text.trim_end_matches(['.', ':', ';', ',']).replace('\n', " ")
}

/// Returns whether a text names a path of somebody's machine: nobody else has it.
fn names_machine(text: &str) -> bool {
    words::MACHINE_PATH.is_match(text)
}

#[cfg(test)]
mod tests;
