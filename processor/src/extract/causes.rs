//! Causes: why something was as it was, and what cured it. With a cure it is a fix, without one a
//! gotcha.

use std::collections::BTreeSet;

use memory_store::Kind;
use memory_store::signature::error_signature;

use super::clean::headline;
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::pool::{
    self, Pool, TEXT_CHARS_MAX, join, overlap, shared_subject, subject_of, texts, word_set,
};
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
        let known = drafts.iter().any(|draft: &Draft| is_same(draft, lead));
        if !known {
            drafts.extend(cause(miner, pool, lead));
        }
        pool.tell(&[lead]);
    }
    drafts
}

/// Whether a cause speaks of what another of the same episode is about.
fn is_same(draft: &Draft, lead: &Statement) -> bool {
    let told = subject_of(&format!("{} {}", draft.title, draft.body));
    shared_subject(&told, &subject_of(lead.text()))
}

fn best<'a>(pool: &Pool<'a>) -> Option<&'a Statement> {
    // What went wrong stands in front of what cured it.
    let cures = |statement: &Statement| words::NAMES_FIX.is_match(statement.text());
    pool.left().filter(|statement| is_cause(statement) && statement.score >= SCORE_MIN).max_by(
        |a, b| {
            let named = cures(b).cmp(&cures(a));
            named.then(a.score.total_cmp(&b.score)).then(b.order.cmp(&a.order))
        },
    )
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
        && !words::leaves_open(text)
        && (explains || warns)
}

/// A cause that only points at the sentence before it is told with that one in front.
fn lead_of<'a>(episode: &'a Episode<'a>, found: &'a Statement) -> Option<&'a Statement> {
    if !words::POINTS_BACK.is_match(found.text()) {
        return Some(found);
    }
    let tells = |before: &&Statement| {
        before.uuid == found.uuid
            && !before.transient
            && !words::POINTS_BACK.is_match(before.text())
    };
    let before = episode.statements.get(found.order.checked_sub(1)?).filter(tells)?;
    // What names the cure says more than what goes on about it.
    let named = before.order.checked_sub(1).and_then(|at| episode.statements.get(at));
    Some(
        named
            .filter(|named| tells(named) && words::NAMES_FIX.is_match(named.text()))
            .unwrap_or(before),
    )
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

/// What the last message says of how it was cured.
fn cure<'a>(pool: &Pool<'a>, lead: &Statement, about: &BTreeSet<String>) -> Option<&'a Statement> {
    let names = |statement: &Statement| words::NAMES_FIX.is_match(statement.text());
    pool.left()
        .filter(|statement| statement.channel == Channel::Final && statement.order != lead.order)
        .filter(|statement| statement.step >= lead.step && pool.shares(statement, about))
        .filter(|statement| names(statement) || words::CURE.is_match(statement.text()))
        .max_by(|a, b| {
            names(a).cmp(&names(b)).then(a.score.total_cmp(&b.score)).then(b.order.cmp(&a.order))
        })
}

fn cause(miner: &Miner<'_>, pool: &mut Pool<'_>, lead: &Statement) -> Option<Draft> {
    let episode = pool.episode;
    let found = episode.statements.get(lead.order)?;
    let lead = lead_of(episode, found)?;
    let (title, rest) = headline(lead.text(), TITLE_CHARS_MAX);
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + rest.chars().count() + 2);
    let about = subject_of(lead.text());
    let beside = |statement: &Statement| {
        belongs(statement, lead)
            || statement.step >= lead.step
                && statement.channel == Channel::Final
                && pool.shares(statement, &about)
    };
    let names = words::NAMES_FIX.is_match(lead.text());
    let cure = cure(pool, lead, &about).filter(|cure| !names && cure.text().len() < room);
    let cure: Vec<&Statement> = cure.into_iter().collect();
    let chosen = pool.fill(lead.text(), &cure, room, &|statement| {
        statement.order != lead.order && beside(statement)
    });
    let cured = names
        || words::CURED.is_match(lead.text())
        || chosen.iter().any(|statement| words::CURE.is_match(statement.text()));
    // What was so before it was changed is no longer so: only its cure is worth keeping.
    if !cured && lead.channel != Channel::Final && episode.edits_after(lead.step) {
        pool.tell(&[lead, found]);
        return None;
    }
    let broke = names || words::FAILS.is_match(lead.text()) || words::ROOT.is_match(lead.text());
    let kind = if cured && broke { Kind::Fix } else { Kind::Gotcha };
    let mut parts = vec![rest];
    parts.extend(texts(&chosen));
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count());
    let shown = episode.statements.iter().find(|statement| statement.is_pasted());
    if let Some(shown) = shown.filter(|_| kind == Kind::Fix && episode.pasted().is_some()) {
        pool::situate(&mut parts, "It showed as", shown.text(), room);
    }
    pool::situate(&mut parts, "Seen while working on", episode.name(), room);
    let mut evidence = vec![lead];
    evidence.extend(chosen.iter().copied().filter(|statement| statement.order != lead.order));
    let worth = mean_score(&evidence) + CAUSE_GAIN;
    let confidence = if words::ROOT.is_match(lead.text()) { 0.8 } else { 0.65 };
    let said = Said { kind, title, body: join(&parts), evidence, confidence, worth };
    let mut draft = miner.draft(episode, said);
    // What a person pasted is how the trouble shows.
    if let Some(draft) = draft.as_mut().filter(|_| kind == Kind::Fix) {
        draft.signatures.extend(episode.pasted().and_then(error_signature));
    }
    pool.tell(&chosen);
    pool.tell(&[lead, found]);
    draft
}
