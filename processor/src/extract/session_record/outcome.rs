//! Outcome of a session in the words that Claude passed to the tool `remember` at the end of the session.

use serde::Deserialize;

use super::record::{ITEM_CHARS_MAX, ITEMS_MAX};
use super::{SessionRecord, calls};
use crate::extract::{cut, plain};
use crate::transcript::REMEMBER;
use crate::transcript::session::{Input, Turn};

/// A list of texts, or one text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Several(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Outcome {
    done: Option<Texts>,
    decided: Option<Texts>,
    open: Option<Texts>,
}

impl Texts {
    fn items(texts: Option<Self>) -> impl Iterator<Item = String> {
        let texts = match texts {
            None => Vec::new(),
            Some(Self::One(text)) => text.lines().map(str::to_owned).collect(),
            Some(Self::Several(texts)) => texts,
        };
        let texts = texts.into_iter().map(|text| cut(&plain(&text), ITEM_CHARS_MAX));
        texts.filter(|text| !text.is_empty()).take(ITEMS_MAX)
    }
}

/// Adds the outcome from the last call of `remember` that did not fail.
pub(super) fn add(record: &mut SessionRecord, turns: &[Turn]) {
    let told = calls(turns).filter(|call| {
        let is_ours = call.tool.starts_with("mcp__") && call.tool.ends_with(REMEMBER);
        is_ours && !(call.failed || call.denied || call.interrupted)
    });
    let outcomes = told.filter_map(|call| match &call.input {
        Input::Other { json } => serde_json::from_str::<Outcome>(json).ok(),
        _ => None,
    });
    let Some(Outcome { done, decided, open }) = outcomes.last() else { return };
    record.done = Texts::items(done).collect();
    record.add_decisions(Texts::items(decided));
    record.add_unfinished(Texts::items(open));
}
