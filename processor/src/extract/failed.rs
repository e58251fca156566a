//! Failed approaches: what was tried and given up, and why.

use memory_store::Kind;

use super::clean::headline;
use super::draft::Draft;
use super::episode::Statement;
use super::pool::{self, Pool, TEXT_CHARS_MAX, join, subject_of, texts};
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX, mean_score, words};

/// What a failed approach is worth more than what was merely done.
const FAILED_GAIN: f32 = 0.6;

/// Failed approaches of one episode.
const FAILED_MAX: usize = 1;

/// One says at least this much.
const WORDS_MIN: usize = 8;

pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Vec<Draft> {
    let episode = pool.episode;
    let mut leads: Vec<&Statement> = pool.left().filter(|statement| is_failed(statement)).collect();
    leads.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.order.cmp(&b.order)));
    let mut drafts = Vec::new();
    for lead in leads.into_iter().take(FAILED_MAX) {
        let (title, rest) = headline(lead.text(), TITLE_CHARS_MAX);
        let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + rest.chars().count() + 2);
        let beside = |statement: &Statement| {
            statement.uuid == lead.uuid && statement.order.abs_diff(lead.order) <= 3
                || statement.step >= lead.step
                    && statement.channel == Channel::Final
                    && words::CURE.is_match(statement.text())
        };
        let about = subject_of(lead.text());
        let chosen = pool.fill(lead.text(), &[], room, &|statement| {
            statement.order != lead.order && beside(statement) && pool.shares(statement, &about)
        });
        let mut parts = vec![rest];
        parts.extend(texts(&chosen));
        let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count());
        pool::situate(&mut parts, "Tried while working on", episode.name(), room);
        let mut evidence = vec![lead];
        evidence.extend(chosen.iter().copied().filter(|statement| statement.order != lead.order));
        let worth = mean_score(&evidence) + FAILED_GAIN;
        let said = Said {
            kind: Kind::FailedApproach,
            title,
            body: join(&parts),
            evidence,
            confidence: 0.65,
            worth,
        };
        drafts.extend(miner.draft(episode, said));
        pool.tell(&chosen);
        pool.tell(&[lead]);
    }
    drafts
}

fn is_failed(statement: &Statement) -> bool {
    let text = statement.text();
    matches!(statement.channel, Channel::Final | Channel::Said)
        && text.split_whitespace().count() >= WORDS_MIN
        && words::TRIED.is_match(text)
        && !words::NAMES_FIX.is_match(text)
        && !words::NARRATION.is_match(text)
}
