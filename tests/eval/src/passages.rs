//! Writes the inputs of ranking and of the passage gate, for `scripts/fit-passages`.

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::recall::background_prompts;
use memory_store::recall::passages::PassageJudgement;
use serde::Serialize;

use crate::gold::{Query, Way};
use crate::lines::Lines;
use crate::sealed::Sealed;

/// A prompt with its gate features and ranked passages.
#[derive(Serialize)]
struct PromptLine<'a> {
    /// Origin of the prompt: `query`, `real` or `negative`.
    of: &'a str,
    id: &'a str,
    gold: bool,
    names: &'a [&'a str],
    features: &'a [f32],
    passages: Vec<PassageLine<'a>>,
}

/// A ranked passage.
#[derive(Serialize)]
struct PassageLine<'a> {
    words: f32,
    cosine: f32,
    bytes: u32,
    age_days: f32,
    names_file: bool,
    session: Option<&'a str>,
    turn: u32,
    said_by: Option<memory_store::memory::SaidBy>,
    text: &'a str,
}

/// Returns the background prompts that calibrate the threshold.
pub fn background() -> impl Iterator<Item = Query> {
    background_prompts().enumerate().map(|(number, text)| Query {
        id: format!("background-{number}"),
        way: Way::Prompt,
        text: text.to_owned(),
        after_session: String::new(),
        is_gold: false,
    })
}

/// Writes a line for a prompt. Queries about files and errors are skipped, since they are not ranked.
pub fn write(
    lines: Option<&mut Lines<'_>>,
    sealed: &Sealed,
    of: &str,
    prompt: &Query,
    now: Timestamp,
) -> Result<()> {
    let Some(lines) = lines else { return Ok(()) };
    if !matches!(prompt.way, Way::Prompt | Way::Question) {
        return Ok(());
    }
    let (ranked, hits) = sealed.recall().ranked_passages(&prompt.text, now);
    let passages = ranked.passages.iter().zip(&hits).map(|(ranked, hit)| PassageLine {
        words: ranked.words,
        cosine: ranked.cosine.unwrap_or_default(),
        bytes: ranked.bytes,
        age_days: ranked.age_days,
        names_file: ranked.names_file,
        session: hit.session.as_deref(),
        turn: hit.turn,
        said_by: hit.said_by,
        text: &hit.text,
    });
    lines.write(&PromptLine {
        of,
        id: &prompt.id,
        gold: prompt.is_gold,
        names: &PassageJudgement::names(),
        features: &ranked.judgement.features,
        passages: passages.collect(),
    })
}
