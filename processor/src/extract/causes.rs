//! Causes: why something was as it was, and what cured it. With a cure it is a fix, without one a
//! gotcha.

use memory_store::Kind;

use super::clean::headline;
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::pool::{self, Pool, TEXT_CHARS_MAX, join, overlap, texts, word_set};
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX, mean_score, words};

/// What a cause is worth more than what was merely done.
const CAUSE_GAIN: f32 = 0.6;

/// Causes of one episode.
const CAUSES_MAX: usize = 3;

/// A cause says at least this much.
const WORDS_MIN: usize = 7;

/// Statements of the same text on either side that may belong to a cause.
const REACH: usize = 3;

/// What a cause needs to be worth to stand alone.
const SCORE_MIN: f32 = 0.9;

pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    while drafts.len() < CAUSES_MAX {
        let Some(lead) = best(pool) else { break };
        drafts.extend(cause(miner, pool, lead));
        pool.tell(&[lead]);
    }
    drafts
}

fn best<'a>(pool: &Pool<'a>) -> Option<&'a Statement> {
    pool.left()
        .filter(|statement| is_cause(statement))
        .max_by(|a, b| a.score.total_cmp(&b.score).then(b.order.cmp(&a.order)))
        .filter(|statement| statement.score >= SCORE_MIN)
}

fn is_cause(statement: &Statement) -> bool {
    let text = statement.text();
    let explains = words::CAUSE.is_match(text)
        && (words::FAILS.is_match(text)
            || words::SURPRISE.is_match(text)
            || words::NOT.is_match(text)
            || words::ROOT.is_match(text));
    let warns = words::WARNS.is_match(text);
    tells(statement)
        && text.split_whitespace().count() >= WORDS_MIN
        && !statement.sentence.is_table()
        && !words::NARRATION.is_match(text)
        && !words::GUESSES.is_match(text)
        && !words::STATES_CHOICE.is_match(text)
        && !words::STATUS.is_match(text)
        && !words::LEFT_OPEN.is_match(text)
        && (explains || warns)
}

/// A cause that only points at the sentence before it is told with that one in front.
fn subject_of<'a>(episode: &'a Episode<'a>, found: &'a Statement) -> Option<&'a Statement> {
    if !words::POINTS_BACK.is_match(found.text()) {
        return Some(found);
    }
    let before = episode.statements.get(found.order.checked_sub(1)?)?;
    let tells = before.uuid == found.uuid
        && !before.transient
        && !words::POINTS_BACK.is_match(before.text());
    tells.then_some(before)
}

/// Whether a statement goes on with what `lead` says: the next ones of its paragraph, or those
/// near it that speak of the same things.
fn belongs(statement: &Statement, lead: &Statement) -> bool {
    if statement.uuid != lead.uuid || statement.channel != lead.channel {
        return false;
    }
    let near = statement.order.abs_diff(lead.order) <= REACH;
    let same = statement.sentence.block == lead.sentence.block;

    near && (same || shared(statement, lead) >= SHARED_MIN)
}

fn shared(statement: &Statement, lead: &Statement) -> f32 {
    overlap(&word_set(statement.text()), &word_set(lead.text()))
}

/// The share of its words that a statement of another paragraph shares with a cause.
const SHARED_MIN: f32 = 0.3;

/// Where causes are told: in messages, and where a plan names a root.
fn tells(statement: &Statement) -> bool {
    match statement.channel {
        Channel::Final | Channel::Said => true,
        Channel::Plan => {
            words::ROOT.is_match(statement.text())
                && words::WHY_HEADING.is_match(&statement.sentence.heading)
        }
        Channel::User | Channel::Commit | Channel::Summary => false,
    }
}

fn cause(miner: &Miner<'_>, pool: &mut Pool<'_>, lead: &Statement) -> Option<Draft> {
    let episode = pool.episode;
    let found = episode.statements.get(lead.order)?;
    let lead = subject_of(episode, found)?;
    let (title, rest) = headline(lead.text(), TITLE_CHARS_MAX);
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + rest.chars().count() + 2);
    let beside = |statement: &Statement| {
        belongs(statement, lead)
            || statement.step >= lead.step
                && statement.channel == Channel::Final
                && words::CURE.is_match(statement.text())
                && shared(statement, lead) >= SHARED_MIN
    };
    let chosen = pool.fill(lead.text(), &[], room, &|statement| {
        statement.order != lead.order && beside(statement)
    });
    let cured = words::CURED.is_match(lead.text())
        || chosen.iter().any(|statement| words::CURE.is_match(statement.text()));
    let broke = words::FAILS.is_match(lead.text()) || words::ROOT.is_match(lead.text());
    let kind = if cured && broke { Kind::Fix } else { Kind::Gotcha };
    let mut parts = vec![rest];
    parts.extend(texts(&chosen));
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count());
    pool::situate(&mut parts, "Seen while working on", &episode.subject, room);
    let mut evidence = vec![lead];
    evidence.extend(chosen.iter().copied().filter(|statement| statement.order != lead.order));
    let worth = mean_score(&evidence) + CAUSE_GAIN;
    let confidence = if words::ROOT.is_match(lead.text()) { 0.8 } else { 0.65 };
    let said = Said { kind, title, body: join(&parts), evidence, confidence, worth };
    let draft = miner.draft(episode, said);
    pool.tell(&chosen);
    pool.tell(&[lead, found]);
    draft
}
