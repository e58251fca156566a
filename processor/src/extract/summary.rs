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

/// Requests that are named, and characters of one.
const ASKED_MAX: usize = 4;
const ASKED_CHARS_MAX: usize = 90;

/// Returns what a session asked, did and left; `None` where nothing came of it, or where the digest
/// of its only request says it already.
pub fn mine(
    miner: &Miner<'_>,
    episodes: &[Episode<'_>],
    left: Option<LeftSession>,
    told_already: bool,
) -> Option<Draft> {
    let left = left?;
    let worked: Vec<&Episode<'_>> = episodes
        .iter()
        .filter(|episode| episode.edited() || !episode.commits.is_empty() || episode.plan)
        .filter(|episode| !episode.subject.is_empty())
        .collect();
    let first = worked.first()?;
    if told_already && worked.len() == 1 && left.not_done.is_empty() {
        return None;
    }
    let evidence = opening(first)?;
    let mut parts = Vec::new();
    let others: Vec<String> = worked
        .iter()
        .skip(1)
        .take(ASKED_MAX)
        .map(|episode| cut(&episode.subject, ASKED_CHARS_MAX))
        .collect();
    if !others.is_empty() {
        parts.push(format!("Then: {}", others.join("; ")));
    }
    parts.extend(told("Done", &done(&worked, &left)));
    parts.extend(told("Not done", &left.not_done));
    let next = left.next.filter(|next| !words::NARRATION.is_match(next));
    parts.extend(next.map(|next| format!("Next: {next}")));
    parts.extend(left.failing.map(|failing| format!("Still failing: {failing}")));
    if parts.is_empty() {
        return None;
    }
    let title = cut(&format!("Session: {}", first.subject), TITLE_CHARS_MAX);
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

fn told(label: &str, items: &[String]) -> Option<String> {
    let items: Vec<&str> = items.iter().map(|item| item.trim_end_matches('.')).collect();
    (!items.is_empty()).then(|| format!("{label}: {}", items.join("; ")))
}

/// The first statement of an episode, which dates the session and shows that it took place.
fn opening<'a>(episode: &'a Episode<'a>) -> Option<&'a Statement> {
    let asked = |statement: &&Statement| matches!(statement.channel, Channel::User | Channel::Plan);
    episode.statements.iter().find(asked).or(episode.statements.first())
}
