//! Digests: what came of an episode of which no other memory tells, as one session memory. Its title
//! is the best sentence of the answer, never the request.

use memory_store::Kind;

use super::choices::best_first;
use super::clean::{cut, headline};
use super::draft::Draft;
use super::episode::Statement;
use super::pool::{Pool, TEXT_CHARS_MAX, join, overlap, subject_of, texts, word_set};
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX, mean_score, words};

/// A request longer than this is not told: cut, it says nothing.
const ASK_CHARS_MAX: usize = 120;

/// Words of a sentence that can stand in front.
const LEAD_WORDS_MIN: usize = 6;

/// Words of a sentence that can stand in front although it gives no reason.
const PLAIN_WORDS_MIN: usize = 10;

/// What a sentence in front gains for speaking of what was asked for.
const ASKED_GAIN: f32 = 1.5;

/// What a digest loses against a memory that says one kind of thing.
const WORTH_LOSS: f32 = 0.6;

/// Returns the digest of an episode; `None` where nothing came of it that is worth reading alone.
/// `part` names the work that another memory tells of: then only what explains is told.
pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>, part: Option<&str>) -> Option<Draft> {
    let episode = pool.episode;
    let lead = lead(pool, &|lead| match part {
        Some(_) => explains(lead),
        None if episode.edited() => {
            words::TELLS_WHY.is_match(lead.text())
                || lead.text().split_whitespace().count() >= PLAIN_WORDS_MIN
        }
        None => words::TELLS_WHY.is_match(lead.text()) || lead.sentence.code,
    })?;
    let (title, rest) = headline(lead.text(), TITLE_CHARS_MAX);
    let asked = match part {
        None => asked(pool, &title),
        Some("") => String::new(),
        Some(part) => format!("Part of: {}.", cut(part, ASK_CHARS_MAX)),
    };
    let subject = subject_of(&format!("{} {}", lead.text(), asked));
    let taken: usize = [&title, &rest, &asked].iter().map(|part| part.chars().count() + 2).sum();
    let room = TEXT_CHARS_MAX.saturating_sub(taken);
    let chosen = pool.fill(lead.text(), &[], room, &|statement| {
        statement.order != lead.order
            && came(statement)
            && (follows(statement, lead, !episode.edited()) || pool.shares(statement, &subject))
    });
    let mut parts = vec![rest];
    parts.extend(texts(&chosen));
    parts.push(asked);
    let mut told = chosen;
    told.push(lead);
    let worth = mean_score(&told) - WORTH_LOSS;
    // What answers a question tells how things are; what was changed tells what was done.
    let kind = if episode.edited() || episode.plan { Kind::Session } else { Kind::Fact };
    let said = Said {
        kind,
        title,
        body: join(&parts),
        evidence: best_first(&told),
        confidence: 0.5,
        worth,
    };
    let draft = miner.draft(episode, said);
    pool.tell(&told);
    draft
}

/// The request, where it is short enough to be told whole, names its subject and says more than the
/// title.
fn asked(pool: &Pool<'_>, title: &str) -> String {
    let ask = pool.episode.ask.trim_end_matches(['.', ':', '?', '!', ' ']);
    let said = overlap(&word_set(ask), &word_set(title)) >= SAID_SHARE;
    let tells = ask.chars().count() <= ASK_CHARS_MAX
        && ask.split_whitespace().count() >= LEAD_WORDS_MIN
        && !words::CHORE_REQUEST.is_match(ask);
    if pool.asked || said || !tells || pool.episode.by_program {
        return String::new();
    }
    format!("Asked: \"{}\".", cut(ask, ASK_CHARS_MAX))
}

/// A title that shares this much with the request says it.
const SAID_SHARE: f32 = 0.6;

/// The best sentence of the answer that can stand in front, judged by what was asked for, too.
fn lead<'a>(pool: &Pool<'a>, wanted: &dyn Fn(&Statement) -> bool) -> Option<&'a Statement> {
    let ask = word_set(&pool.episode.ask);
    let gain = |statement: &Statement| {
        statement.score + ASKED_GAIN * overlap(&word_set(statement.text()), &ask)
    };
    pool.left()
        .filter(|statement| came(statement) && leads(statement) && wanted(statement))
        .max_by(|a, b| gain(a).total_cmp(&gain(b)).then(b.order.cmp(&a.order)))
}

/// Whether a statement tells what came of the request.
fn came(statement: &Statement) -> bool {
    let text = statement.text();
    statement.channel == Channel::Final
        && !words::NARRATION.is_match(text)
        && !words::GUESSES.is_match(text)
}

/// Whether a statement can name a memory: it says by itself how something is or why.
fn leads(statement: &Statement) -> bool {
    let text = statement.text();
    text.split_whitespace().count() >= LEAD_WORDS_MIN
        && (words::TELLS_WHY.is_match(text) || !words::EDIT_NOTE.is_match(text))
        && !words::POINTS_BACK.is_match(text)
        && !statement.sentence.is_table()
}

/// Whether a statement says why, and not only what was edited.
fn explains(statement: &Statement) -> bool {
    statement.score >= DETAIL_SCORE_MIN
        && !statement.sentence.list
        && words::TELLS_WHY.is_match(statement.text())
        && !words::EDIT_NOTE.is_match(statement.text())
}

/// What a detail of work that is told already is worth at least.
const DETAIL_SCORE_MIN: f32 = 1.2;

/// Sentences of an answer that stand this near belong together.
const NEAR_MAX: usize = 3;

/// Whether a statement stands in the same paragraph as another, or near it in an answer.
fn follows(statement: &Statement, lead: &Statement, answers: bool) -> bool {
    statement.uuid == lead.uuid
        && (statement.sentence.block == lead.sentence.block
            || answers && statement.order.abs_diff(lead.order) <= NEAR_MAX)
}
