//! Choices: what an accepted plan lays down, and what is stated on the way.

use memory_store::Kind;

use super::clean::headline;
use super::draft::Draft;
use super::episode::Statement;
use super::pool::{self, Pool, TEXT_CHARS_MAX, join, texts};
use super::score::Channel;
use super::{Miner, Said, mean_score, words};

/// Statements under one heading that a memory of their own needs.
const CHOICES_MIN: usize = 2;

/// What a choice is worth more that is called one.
const LABEL_GAIN: f32 = 0.8;

/// Words of a stated choice.
const STATED_WORDS_MIN: usize = 6;

/// What the choices of an accepted plan are worth more.
const PLANNED_GAIN: f32 = 0.7;

/// Stated choices of one episode.
const STATED_MAX: usize = 1;

/// What an accepted plan decides about how: its requirements, rules and edge cases.
pub fn planned(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Option<Draft> {
    let episode = pool.episode;
    let decides = |statement: &Statement| {
        let heading = statement.sentence.heading.as_str();
        // How a text is to be written holds for all of it, whatever is written now.
        let style = episode.writes() && words::CHOICE_HEADING.is_match(heading);
        statement.channel == Channel::Plan && (style || words::DECIDED_HEADING.is_match(heading))
    };
    let headings: Vec<&str> = pool
        .left()
        .filter(|statement| decides(statement))
        .map(|statement| statement.sentence.heading.as_str())
        .collect();
    if headings.len() < CHOICES_MIN {
        return None;
    }
    let heading = headings[0].split(['(', ':']).next().unwrap_or_default().trim().to_lowercase();
    let title = format!("{}: {heading}", episode.subject);
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + 2);
    let chosen = pool.fill(&episode.subject, &[], room, &decides);
    if chosen.len() < CHOICES_MIN {
        return None;
    }
    let said = Said {
        kind: Kind::Decision,
        worth: mean_score(&chosen) + PLANNED_GAIN,
        body: join(&texts(&chosen)),
        evidence: best_first(&chosen),
        title,
        confidence: 0.8,
    };
    let draft = miner.draft(episode, said);
    pool.tell(&chosen);
    draft
}

/// Choices that Claude states with their reason.
pub fn stated(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Vec<Draft> {
    let episode = pool.episode;
    let mut leads: Vec<&Statement> = pool
        .left()
        .filter(|statement| matches!(statement.channel, Channel::Final | Channel::Said))
        .filter(|statement| {
            let text = statement.text();
            text.split_whitespace().count() >= STATED_WORDS_MIN
                && words::STATED.is_match(text)
                && !words::NARRATION.is_match(text)
                && !words::POINTS_BACK.is_match(text)
        })
        .collect();
    leads.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.order.cmp(&b.order)));
    let mut drafts = Vec::new();
    for lead in leads.into_iter().take(STATED_MAX) {
        let labelled = words::LABELLED.find(lead.text()).map_or(0, |label| label.end());
        let (title, rest) = headline(&lead.text()[labelled..], super::TITLE_CHARS_MAX);
        let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + rest.chars().count() + 2);
        let beside = |statement: &Statement| {
            statement.uuid == lead.uuid
                && statement.order.abs_diff(lead.order) <= 3
                && statement.order != lead.order
        };
        let chosen = pool.fill(lead.text(), &[], room, &beside);
        let mut parts = vec![rest];
        parts.extend(texts(&chosen));
        pool::situate(&mut parts, "Decided while working on", episode.name(), room);
        let mut evidence = vec![lead];
        evidence.extend(chosen.iter().copied().filter(|statement| statement.order != lead.order));
        let said = Said {
            kind: Kind::Decision,
            title,
            body: join(&parts),
            evidence,
            confidence: 0.65,
            worth: lead.score + if labelled > 0 { LABEL_GAIN } else { 0.0 },
        };
        drafts.extend(miner.draft(episode, said));
        pool.tell(&chosen);
        pool.tell(&[lead]);
    }
    drafts
}

/// The statements with the best one first, the rest in their order.
pub fn best_first<'a>(statements: &[&'a Statement]) -> Vec<&'a Statement> {
    let best = statements
        .iter()
        .copied()
        .max_by(|a, b| a.score.total_cmp(&b.score).then(b.order.cmp(&a.order)));
    let mut sorted: Vec<&Statement> = best.into_iter().collect();
    sorted.extend(
        statements
            .iter()
            .copied()
            .filter(|statement| best.is_none_or(|best| best.order != statement.order)),
    );
    sorted
}
