//! Corrections: a reply that opens with agreement marks the prompt before it as a correction or a choice. The
//! user's words name the memory; what the reply says of them, in its first paragraph, stands beside them.

use memory_store::Kind;

use super::clean::{capital, plain};
use super::draft::Draft;
use super::episode::{self, Episode};
use super::own_words::own_words;
use super::retold::retells_order;
use super::unit;
use super::{DraftText, SessionMiner, prose, words};
use crate::transcript::session::{PromptBy, Step, StepKind};

/// Confidence in a correction that was agreed to.
const SURE: f32 = 0.5;

/// Worth of a correction.
const WORTH: f32 = 2.2;

/// Words of a prompt that says what is right; a longer one is a document.
const WORDS_MIN: usize = 6;
const WORDS_MAX: usize = 80;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 180;

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let of = |episode| of_episode(miner, episode);
    episodes.iter().filter(|episode| !episode.by_program).flat_map(of).collect()
}

fn of_episode(miner: &SessionMiner<'_>, episode: &Episode<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut step = 0;
    for turn in episode.turns {
        let mut asked: Option<(&str, &str, memory_store::Timestamp)> =
            (turn.prompt.by == PromptBy::User).then_some((&turn.prompt.text, &turn.uuid, turn.at));
        for what in &turn.steps {
            step += 1;
            match &what.what {
                StepKind::Queued { text } => asked = Some((text, &what.uuid, what.at)),
                StepKind::Text { text } => {
                    if let Some(prompt) = asked.take() {
                        drafts.extend(correction(miner, episode, prompt, (what, text, step)));
                    }
                }
                StepKind::Call(_) | StepKind::Thinking { .. } => {}
            }
        }
    }
    drafts
}

fn correction(
    miner: &SessionMiner<'_>,
    episode: &Episode<'_>,
    (prompt, uuid, at): (&str, &str, memory_store::Timestamp),
    (reply, text, step): (&Step, &str, usize),
) -> Option<Draft> {
    let agreed = words::AGREES.find(text)?;
    let prompt = plain(&own_words(prompt));
    let count = prompt.split_whitespace().count();
    if !(WORDS_MIN..=WORDS_MAX).contains(&count)
        || episode::goes_on(&prompt)
        || unit::names_machine(&prompt)
        || words::LOG.is_match(&prompt)
    {
        return None;
    }
    // The first paragraph of the reply, without the words that agree.
    let first = unit::units(text).into_iter().next()?;
    let said = first
        .text
        .get(agreed.end().min(first.text.len())..)?
        .trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`');
    let said: Vec<&str> = prose::split(said)
        .into_iter()
        .map(str::trim)
        .filter(|sentence| {
            !words::NARRATION.is_match(sentence)
                && !words::INTENDS.is_match(sentence)
                && !words::STATUS.is_match(sentence)
                && !words::QUESTION.is_match(sentence)
        })
        .collect();
    let said = said.join(" ");
    let asks = words::QUESTION.is_match(&prompt);
    let stands = prose::split(&prompt).into_iter().map(str::trim).find(|sentence| {
        sentence.split_whitespace().count() >= WORDS_MIN
            && sentence.chars().count() <= TITLE_CHARS_MAX
            && !words::QUESTION.is_match(sentence)
            && !words::POINTS_BACK.is_match(sentence)
            && !words::REQUEST.is_match(sentence)
    });
    let (title, body, quote) = match stands {
        Some(title) if !asks => {
            // Of the user's words nobody asks that: a reply may retell what a page or a file told Claude to say.
            if retells_order(&said) {
                return None;
            }
            let whole = title.len() == prompt.trim().len();
            let quoted = if whole { String::new() } else { format!("The user: \"{prompt}\" ") };
            (
                words::LEAD_IN.replace(title, "").into_owned(),
                format!("{quoted}{}", capital(&said)),
                None,
            )
        }
        // A question or a request says nothing that stands; the reply says what was settled, in Claude's words.
        _ => {
            let sentences = prose::split(&said);
            let quote = sentences.first()?.trim().to_owned();
            let title = capital(&quote);
            if !unit::stands_alone(&title) || title.chars().count() > TITLE_CHARS_MAX {
                return None;
            }
            let rest = said[quote.len()..].trim();
            (
                title,
                format!("{rest} The user had asked: \"{prompt}\"").trim().to_owned(),
                Some(quote),
            )
        }
    };
    if unit::names_machine(&body) || body.chars().count() > unit::CHARS_MAX {
        return None;
    }
    let by_user = quote.is_none();
    let (first, second) = if by_user { (uuid, &*reply.uuid) } else { (&*reply.uuid, uuid) };
    let mut draft = miner.draft(
        std::slice::from_ref(episode),
        DraftText {
            kind: if by_user { Kind::Preference } else { Kind::Decision },
            title,
            body: body.trim().to_owned(),
            quote: quote.as_deref().unwrap_or(&prompt),
            uuid: first,
            at: if by_user { at } else { reply.at },
            step,
            by_user,
            is_prose: !by_user,
            confidence: SURE,
            worth: WORTH,
        },
    )?;
    draft.turns.push(second.to_owned());
    Some(draft)
}
