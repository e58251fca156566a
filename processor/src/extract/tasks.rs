//! Open work of a session: the items of its todo list, and what Claude lists as left to do.

use super::episode::{Episode, Statement};
use super::prose::Sentence;
use super::words;
use crate::transcript::session::{Input, Todo};

/// Returns the items of the last todo list that are not done, unless all are.
pub fn open_todos<'a>(episodes: &'a [Episode<'_>]) -> Option<(usize, &'a str, Vec<&'a Todo>)> {
    episodes.iter().enumerate().rev().find_map(|(index, episode)| {
        let mut last = None;
        for (at, call) in episode.calls() {
            if let Input::Todos { items } = &call.input
                && !items.is_empty()
            {
                last = Some((at.what.uuid.as_str(), items));
            }
        }
        last.map(|(uuid, items)| {
            (index, uuid, items.iter().filter(|item| item.state != "completed").collect())
        })
    })
}

/// Whether a statement stands in a list of what is left to do: under a heading such as "Remaining", or behind
/// the words.
pub fn is_item_of_open(statement: &Statement) -> bool {
    let Sentence { heading, list, .. } = &statement.sentence;
    *list && words::OPEN_LABEL.is_match(&format!("{heading}:"))
}
