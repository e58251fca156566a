//! Digests: what is left to tell of an episode, as one or a few session memories. The request
//! stands in front, so that each can be read alone.

use memory_store::Kind;

use super::choices::best_first;
use super::clean::cut;
use super::clean::headline;
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::pool::{Pool, TEXT_CHARS_MAX, join, overlap, texts, word_set};
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX, mean_score, words};

/// Digests of one episode. Long turns hold more than one thing.
const DIGESTS_MAX: usize = 3;

/// Statements that each further digest needs to draw from.
const STATEMENTS_PER_DIGEST: usize = 5;

/// Characters of the request that stand in front.
const ASK_CHARS_MAX: usize = 150;

/// With less than this said in answer, the request is what is worth telling.
const OUTCOME_MIN: usize = 3;

/// Characters of such a request.
const ASK_ALONE_CHARS_MAX: usize = 280;

/// What the best sentences of a further digest are worth at least.
const FURTHER_SCORE_MIN: f32 = 1.2;

/// Characters that say what a further digest is part of.
const PART_CHARS_MAX: usize = 70;

/// What a digest loses against a memory that says one kind of thing.
const WORTH_LOSS: f32 = 0.6;

/// Returns the digests of an episode; `first` says that nothing else was found in it.
pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>, first: bool) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let episode = pool.episode;
    for number in 0..DIGESTS_MAX {
        let left = pool.left().filter(|statement| told(statement)).count();
        if number > 0 && left < STATEMENTS_PER_DIGEST {
            break;
        }
        let front = if number == 0 && !episode.plan && !pool.asked {
            asked(pool, &episode.ask, &episode.subject)
        } else {
            String::new()
        };
        let mut named = number == 0 && !pool.is_title(&episode.subject);
        let talks = words::CONVERSES.is_match(&episode.subject);
        let lead = if named && !talks { None } else { best(pool, &front) };
        if named {
            named = lead.is_none();
        } else if lead.is_none() {
            break;
        }
        let (title, rest) = lead.map_or_else(
            || (episode.subject.clone(), String::new()),
            |lead| headline(lead.text(), TITLE_CHARS_MAX),
        );
        let part = if named || talks && !front.is_empty() {
            String::new()
        } else {
            cut(&episode.subject, PART_CHARS_MAX)
        };
        let taken = title.chars().count()
            + rest.chars().count()
            + front.chars().count()
            + part.chars().count()
            + if named { 3 } else { 12 };
        let mut chosen = pool.fill(
            &format!("{title} {rest} {front} {part}"),
            &[],
            TEXT_CHARS_MAX.saturating_sub(taken),
            &|statement| told(statement) && lead.is_none_or(|lead| lead.order != statement.order),
        );
        let mut parts = vec![front, rest];
        parts.extend(texts(&chosen));
        if !part.is_empty() {
            parts.push(format!("Part of: {part}"));
        }
        chosen.extend(lead);
        let answered = chosen.iter().any(|statement| statement.channel != Channel::User);
        if chosen.is_empty() || !answered && (talks || !first) {
            break;
        }
        let evidence = best_first(&chosen);
        let body = join(&parts);
        if number > 0 && mean_score(&chosen) < FURTHER_SCORE_MIN {
            break;
        }
        let worth = mean_score(&chosen) - WORTH_LOSS;
        drafts.extend(miner.draft(
            episode,
            Said { kind: Kind::Session, title, body, evidence, confidence: 0.5, worth },
        ));
        pool.tell(&chosen);
        pool.entitle(&episode.subject);
    }
    drafts
}

/// The words of the request, where the title does not say them.
fn asked(pool: &Pool<'_>, ask: &str, title: &str) -> String {
    let said = overlap(&word_set(ask), &word_set(title)) >= 0.8
        && ask.chars().count() <= title.chars().count() + 20;
    if ask.is_empty() || said {
        return String::new();
    }
    let outcome =
        pool.left().filter(|statement| told(statement) && statement.channel != Channel::User);
    let chars_max = if outcome.count() < OUTCOME_MIN { ASK_ALONE_CHARS_MAX } else { ASK_CHARS_MAX };
    format!("Asked: \"{}\".", cut(ask.trim_end_matches(['.', ' ']), chars_max))
}

/// What may be told in a digest: anything but a question and the words of a compaction's summary.
fn told(statement: &Statement) -> bool {
    statement.channel != Channel::Summary && !words::QUESTION.is_match(statement.text())
}

/// The best statement that is left and can stand in front.
fn best<'a>(pool: &Pool<'a>, front: &str) -> Option<&'a Statement> {
    pool.left()
        .filter(|statement| leads(statement) && !tells_before(pool.episode, statement))
        .filter(|statement| !front.contains(statement.text()) && !names_commit(statement.text()))
        .max_by(|a, b| a.score.total_cmp(&b.score).then(b.order.cmp(&a.order)))
}

/// Whether a statement can name a memory: it says why something is so, by itself. What was merely
/// changed is in the code; what was asked for is told as asked.
fn leads(statement: &Statement) -> bool {
    let text = statement.text();
    told(statement)
        && statement.channel != Channel::User
        && words::TELLS_WHY.is_match(text)
        && (!words::EDIT_NOTE.is_match(text) || words::CAUSE.is_match(text))
        && !words::NARRATION.is_match(text)
        && !words::POINTS_BACK.is_match(text)
        && !statement.sentence.is_table()
}

/// Whether a statement tells how things were before they were changed.
fn tells_before(episode: &Episode<'_>, statement: &Statement) -> bool {
    let before = episode.first_edit().is_some_and(|edit| statement.step < edit);
    let chosen = words::CHOICE_HEADING.is_match(&statement.sentence.heading)
        || words::ROOT.is_match(statement.text());
    before && matches!(statement.channel, Channel::Plan | Channel::Said) && !chosen
}

/// Whether a text names a commit by its hash.
fn names_commit(text: &str) -> bool {
    words::HASH
        .find_iter(text)
        .any(|found| (HASH_CHARS_MIN..=HASH_CHARS_MAX).contains(&found.len()))
}

/// Characters of a commit's hash.
const HASH_CHARS_MIN: usize = 7;
const HASH_CHARS_MAX: usize = 40;
