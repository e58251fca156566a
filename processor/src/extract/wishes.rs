//! Wishes: what the user wants to be so for all times. A wish that stands by itself is one, and one that says
//! itself that it holds beyond the task; any other inside a task is the task, unless another session says it again.

use memory_store::Kind;
use memory_store::memory::Scope;

use super::clean::capital;
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::score::Channel;
use super::{DraftText, SessionMiner, paths, unit, words};

/// Words of a wish: fewer say nothing alone, more are a document.
const WORDS_MIN: usize = 5;
const WORDS_MAX: usize = 45;

/// Sentences of a prompt that is one wish.
const SENTENCES_MAX: usize = 3;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 220;

/// Confidence in a wish that stands alone, and in one inside a task.
const ALONE_SURE: f32 = 0.55;
const INSIDE_SURE: f32 = 0.3;

/// Worth of a wish that stands alone. One inside a task is worth keeping once it is said again.
const ALONE_WORTH: f32 = 2.0;
const INSIDE_WORTH: f32 = -0.6;

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let of = |episode| of_episode(miner, episode);
    episodes.iter().filter(|episode| !episode.by_program && !episode.plan).flat_map(of).collect()
}

fn of_episode(miner: &SessionMiner<'_>, episode: &Episode<'_>) -> Vec<Draft> {
    let wishes = episode.statements.iter().filter(|statement| is_wish(statement));
    wishes.filter_map(|wish| draft(miner, episode, wish)).collect()
}

fn is_wish(statement: &Statement) -> bool {
    let text = statement.text();
    statement.channel == Channel::User
        && (WORDS_MIN..=WORDS_MAX).contains(&text.split_whitespace().count())
        && text.chars().count() <= TITLE_CHARS_MAX
        && !statement.is_pasted()
        && !words::QUESTION.is_match(text)
        && !words::POINTS_BACK.is_match(&words::LEAD_IN.replace(text, ""))
        && !words::POINTS_AT.is_match(text)
        && !words::ASKS_ONCE.is_match(text)
        && !words::GUESSES.is_match(text)
        && !unit::names_machine(&statement.sentence.raw)
        && !words::ADDRESS.is_match(text)
        && (words::FOR_ALL_TIMES.is_match(text) && !words::LASTING.is_match(text)
            || words::HABIT.is_match(text))
        && (!words::REQUEST.is_match(text) || words::EVERMORE.is_match(text))
}

fn draft(miner: &SessionMiner<'_>, episode: &Episode<'_>, wish: &Statement) -> Option<Draft> {
    let of_prompt: Vec<&Statement> = episode
        .statements
        .iter()
        .filter(|statement| statement.uuid == wish.uuid && statement.channel == Channel::User)
        .collect();
    // One that says itself where or how long it holds is no part of a request beside it.
    let holds = words::EVERYWHERE.is_match(wish.text()) && words::EVERMORE.is_match(wish.text());
    let alone = holds
        || of_prompt.len() <= SENTENCES_MAX
            && of_prompt.iter().all(|beside| {
                beside.order == wish.order
                    || !words::REQUEST.is_match(beside.text())
                        && !words::QUESTION.is_match(beside.text())
            });
    let text = capital(words::LEAD_IN.replace(wish.text(), "").as_ref());
    let whole = of_prompt.iter().map(|statement| statement.text()).collect::<Vec<_>>().join(" ");
    let body = if alone && !holds && of_prompt.len() > 1 && whole.chars().count() <= unit::CHARS_MAX
    {
        format!("The user: \"{whole}\"")
    } else {
        String::new()
    };
    let said = DraftText {
        kind: if words::HABIT.is_match(wish.text()) { Kind::Convention } else { Kind::Preference },
        title: text,
        body,
        quote: &wish.sentence.raw,
        uuid: &wish.uuid,
        at: wish.at,
        step: wish.step,
        by_user: true,
        is_prose: false,
        confidence: if alone { ALONE_SURE } else { INSIDE_SURE },
        worth: if alone { ALONE_WORTH } else { INSIDE_WORTH },
    };
    let mut draft = miner.draft(std::slice::from_ref(episode), said)?;
    draft.standing = alone;
    limit(miner, wish, &mut draft);
    Some(draft)
}

/// A wish that says where it applies applies only there.
fn limit(miner: &SessionMiner<'_>, wish: &Statement, draft: &mut Draft) {
    let Some(found) = words::ONLY_HERE.find(wish.text()) else { return };
    let named = paths::named(miner.roots, found.as_str());
    if !named.is_empty() {
        draft.paths = named;
    }
    if !draft.paths.is_empty() {
        draft.scope = Scope::Paths;
    }
}
