//! Summaries: of each session one memory that says what was asked, done and left.

use memory_store::Kind;
use memory_store::left::LeftSession;

use super::clean::cut;
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::pool::{TEXT_CHARS_MAX, join, overlap, word_set};
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX, words};

/// What a summary is worth: a session that says nothing better keeps at least this.
const WORTH: f32 = 0.6;

/// Requests that are named, and characters of what is told of one thing.
const ASKED_MAX: usize = 4;
const ITEM_CHARS_MAX: usize = 110;

/// Returns what a session asked, did and left; `None` where nothing came of it, or where that is no
/// more than one piece of work, of which other memories tell.
pub fn mine(
    miner: &Miner<'_>,
    episodes: &[Episode<'_>],
    left: Option<LeftSession>,
) -> Option<Draft> {
    let left = left?;
    let worked: Vec<&Episode<'_>> =
        episodes.iter().filter(|episode| !episode.name().is_empty()).collect();
    let first = worked.first()?;
    let evidence = opening(first)?;
    let mut told = vec![first.name().to_owned()];
    let subjects = worked.iter().skip(1).map(|episode| episode.name().to_owned());
    let others = unlike(&mut told, subjects, ASKED_MAX);
    let done = unlike(&mut told, done(&worked, &left).into_iter(), usize::MAX);
    let not_done = unlike(&mut told, left.not_done.into_iter(), usize::MAX);
    let next = left.next.filter(|next| !words::NARRATION.is_match(next));
    let next = unlike(&mut told, next.into_iter(), 1);
    let committed =
        if worked.iter().all(|episode| episode.commits.is_empty()) { 0 } else { done.len() };
    if others.len() + committed < PIECES_MIN {
        return None;
    }
    let mut parts = Vec::new();
    parts.extend(listed("Then", &others));
    parts.extend(listed("Done", &done));
    parts.extend(listed("Not done", &not_done));
    parts.extend(listed("Next", &next));
    parts.extend(left.failing.map(|failing| format!("Still failing: {failing}")));
    let title = cut(&format!("Session: {}", first.name()), TITLE_CHARS_MAX);
    let body = cut(&join(&parts), TEXT_CHARS_MAX.saturating_sub(title.chars().count()));
    let said = Said {
        kind: Kind::Session,
        title,
        body,
        evidence: vec![evidence],
        confidence: 0.7,
        worth: WORTH,
    };
    miner.draft(first, said)
}

/// Pieces of work beside the first that a summary needs.
const PIECES_MIN: usize = 2;

/// Texts that share this much of their words tell of the same.
const SAME_SHARE: f32 = 0.6;

/// The items that say something else than all that is told; they are told now.
fn unlike(told: &mut Vec<String>, items: impl Iterator<Item = String>, max: usize) -> Vec<String> {
    let mut new = Vec::new();
    for item in items {
        let words = word_set(&item);
        if new.len() < max
            && told.iter().all(|known| overlap(&word_set(known), &words) < SAME_SHARE)
        {
            told.push(item.clone());
            new.push(cut(&item, ITEM_CHARS_MAX));
        }
    }
    new
}

/// The commits of the session, or what its last message says was done.
fn done(worked: &[&Episode<'_>], left: &LeftSession) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    for subject in
        worked.iter().flat_map(|episode| &episode.commits).map(|commit| &commit.message.subject)
    {
        if !done.iter().any(|known| overlap(&word_set(known), &word_set(subject)) >= 0.9) {
            done.push(subject.clone());
        }
    }
    if done.is_empty() { left.done.clone() } else { done }
}

fn listed(label: &str, items: &[String]) -> Option<String> {
    let items: Vec<&str> = items.iter().map(|item| item.trim_end_matches('.')).collect();
    (!items.is_empty()).then(|| format!("{label}: {}", items.join("; ")))
}

/// The first statement of an episode, which dates the session and shows that it took place.
fn opening<'a>(episode: &'a Episode<'a>) -> Option<&'a Statement> {
    let asked = |statement: &&Statement| matches!(statement.channel, Channel::User | Channel::Plan);
    episode.statements.iter().find(asked).or(episode.statements.first())
}
