//! Choices: accepted plans with their reason, commits that say why, choices stated on the way.

use memory_store::Kind;

use super::clean::headline;
use super::draft::Draft;
use super::episode::{Commit, Statement};
use super::pool::{self, Pool, TEXT_CHARS_MAX, join, texts};
use super::score::Channel;
use super::{Miner, Said, mean_score, words};

/// Statements under one heading that a memory of their own needs.
const CHOICES_MIN: usize = 2;

/// What a choice is worth more that is called one.
const LABEL_GAIN: f32 = 0.8;

/// Words of a stated choice.
const STATED_WORDS_MIN: usize = 6;

/// What a commit message that says why is worth more: it was written to be read later.
const COMMIT_GAIN: f32 = 1.0;

/// Stated choices of one episode.
const STATED_MAX: usize = 1;

/// An accepted plan: what is to be done and why; then what it decides about how.
pub fn plan(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Vec<Draft> {
    let episode = pool.episode;
    let mut drafts = Vec::new();
    if !pool.left().any(|statement| statement.channel == Channel::Plan) {
        return drafts;
    }
    let why = |statement: &Statement| {
        statement.channel == Channel::Plan
            && (statement.sentence.heading.is_empty()
                || words::WHY_HEADING.is_match(&statement.sentence.heading))
    };
    let how = |statement: &Statement| {
        statement.channel == Channel::Plan
            && words::CHOICE_HEADING.is_match(&statement.sentence.heading)
    };
    let title = episode.subject.clone();
    let opening = pool
        .left()
        .find(|statement| why(statement) && !words::POINTS_BACK.is_match(statement.text()));
    drafts.extend(told(miner, pool, &title, opening, &why, 1, 0.9));
    if pool.left().filter(|statement| how(statement)).count() >= CHOICES_MIN {
        let heading = pool
            .left()
            .find(|statement| how(statement))
            .map(|statement| statement.sentence.heading.clone());
        let title = heading.map_or_else(
            || title.clone(),
            |heading| format!("{title}: {}", heading.to_lowercase()),
        );
        drafts.extend(told(miner, pool, &title, None, &how, CHOICES_MIN, 0.7));
    }
    drafts
}

/// A memory of the statements that are wanted, when there are enough.
fn told<'a>(
    miner: &Miner<'_>,
    pool: &mut Pool<'a>,
    title: &str,
    lead: Option<&'a Statement>,
    wanted: &dyn Fn(&Statement) -> bool,
    least: usize,
    gain: f32,
) -> Option<Draft> {
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + 2);
    let lead: Vec<&Statement> = lead
        .filter(|lead| lead.text().chars().count() < room && !pool.says(title, lead))
        .into_iter()
        .collect();
    let chosen = pool.fill(title, &lead, room, wanted);
    if chosen.len() < least {
        return None;
    }
    let says_why = chosen.iter().any(|statement| {
        words::REASON.is_match(statement.text()) || words::CHOICE.is_match(statement.text())
    });
    let kind = if says_why { Kind::Decision } else { Kind::Session };
    let worth = mean_score(&chosen) + gain - if says_why { 0.0 } else { 0.3 };
    let said = Said {
        kind,
        title: title.to_owned(),
        body: join(&texts(&chosen)),
        evidence: best_first(&chosen),
        confidence: 0.8,
        worth,
    };
    let draft = miner.draft(pool.episode, said);
    pool.entitle(title);
    pool.tell(&chosen);
    draft
}

/// Commit messages that say why, each with what was said of it in the final message.
pub fn commits(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Vec<Draft> {
    let episode = pool.episode;
    episode.commits.iter().filter_map(|commit| commit_draft(miner, pool, commit)).collect()
}

fn commit_draft(miner: &Miner<'_>, pool: &mut Pool<'_>, commit: &Commit) -> Option<Draft> {
    let of_commit: Vec<&Statement> = pool
        .left()
        .filter(|statement| {
            statement.channel == Channel::Commit
                && statement.uuid == commit.uuid
                && statement.text().trim_end_matches('.')
                    != commit.message.subject.trim_end_matches('.')
        })
        .collect();
    let body = commit.message.body.as_str();
    if of_commit.is_empty() || !(words::REASON.is_match(body) || words::CAUSE.is_match(body)) {
        return None;
    }
    let first = of_commit.first().copied();
    // A commit is often called what its plan was called.
    let (title, rest) = if pool.is_title(&commit.message.subject) {
        headline(of_commit[0].text(), super::TITLE_CHARS_MAX)
    } else {
        (commit.message.subject.clone(), String::new())
    };
    let renamed = title != commit.message.subject;
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + 2);
    let near = |statement: &Statement| {
        statement.step <= commit.step
            && matches!(statement.channel, Channel::Commit | Channel::Final | Channel::Said)
            && (statement.channel != Channel::Commit || statement.uuid == commit.uuid)
    };
    let mut lead = fitting(of_commit.into_iter().skip(usize::from(renamed)), room);
    let chosen = pool.fill(&title, &lead, room, &near);
    let mut parts = vec![rest];
    parts.extend(texts(&chosen));
    if lead.is_empty() {
        lead.extend(first);
    }
    let kind = if cures(commit) { Kind::Fix } else { Kind::Decision };
    let worth = mean_score(&chosen) + COMMIT_GAIN;
    let said = Said {
        kind,
        title,
        body: join(&parts),
        evidence: best_first(&lead),
        confidence: 0.8,
        worth,
    };
    let draft = miner.draft(pool.episode, said);
    pool.tell(&chosen);
    pool.tell_text(&commit.message.subject);
    pool.entitle(&commit.message.subject);
    draft
}

/// The first statements that fit into `room` characters, one at least.
fn fitting<'a>(statements: impl Iterator<Item = &'a Statement>, room: usize) -> Vec<&'a Statement> {
    let mut fitting: Vec<&Statement> = Vec::new();
    let mut used = 0;
    for statement in statements {
        let chars = statement.text().chars().count() + 1;
        if used + chars <= room || fitting.is_empty() {
            used += chars;
            fitting.push(statement);
        }
    }
    fitting
}

/// Whether a commit says what was broken and that it is whole now.
fn cures(commit: &Commit) -> bool {
    let body = commit.message.body.as_str();
    words::FIX_SUBJECT.is_match(&commit.message.subject)
        && [&words::FAILS, &words::CAUSE, &words::SURPRISE].iter().any(|says| says.is_match(body))
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
        pool::situate(&mut parts, "Decided while working on", &episode.subject, room);
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
