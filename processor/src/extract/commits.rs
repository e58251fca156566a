//! Commits: messages that give a reason or a rule. They were written to be read later, so each stands as
//! it was written: the subject names it, whole paragraphs follow.

use memory_store::Kind;

use super::draft::Draft;
use super::episode::{Commit, Episode};
use super::unit::{self, Unit};
use super::{DraftText, SessionMiner, paths, words};

/// Confidence in a message that gives a reason, in a paragraph of it that stands by itself, and in a message
/// that tells what was done alone.
const REASON_SURE: f32 = 0.6;
const REST_SURE: f32 = 0.5;
const PLAIN_SURE: f32 = 0.6;

/// Worth of a message, and the gain for each further sign of a reason.
const WORTH: f32 = 1.2;
const SIGN_GAIN: f32 = 0.25;

/// Loss of a message that is about texts, tests or the build alone.
const CHORE_LOSS: f32 = 0.5;

/// Further memories of one message.
const REST_MAX: usize = 1;

/// Returns what the commits of a session say, the last version of each.
pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (at, episode) in episodes.iter().enumerate() {
        for commit in episode.commits.iter().filter(|commit| stands(commit, &episodes[at..])) {
            let run = run_of(episodes, at);
            drafts.extend(of_commit(miner, commit, run));
        }
    }
    drafts
}

/// The episodes whose work the commits of the one at `at` hold: those since the commit before.
fn run_of<'e, 'a>(episodes: &'e [Episode<'a>], at: usize) -> &'e [Episode<'a>] {
    let before = episodes[..at].iter().rposition(|episode| !episode.commits.is_empty());
    &episodes[before.map_or(0, |before| before + 1)..=at]
}

/// Whether a commit was neither written again nor reverted, nor rejected by the next request. `from` begins with its
/// own episode.
fn stands(commit: &Commit, from: &[Episode<'_>]) -> bool {
    let subject = commit.message.subject.as_str();
    let later =
        || from.iter().flat_map(|episode| &episode.commits).filter(|other| other.at > commit.at);
    let again = later().any(|other| {
        other.message.subject == subject
            || words::REVERTS.is_match(&other.message.subject)
                && other.message.subject.contains(subject)
    });
    let rejected = from
        .get(1)
        .is_some_and(|next| words::WHOLE.is_match(&next.ask) && words::OBJECTS.is_match(&next.ask));
    !again && !rejected && !words::WORK_IN_PROGRESS.is_match(subject)
}

fn of_commit(miner: &SessionMiner<'_>, commit: &Commit, run: &[Episode<'_>]) -> Vec<Draft> {
    let subject = commit.message.subject.trim_end_matches('.');
    let units: Vec<Unit> = unit::units(&miner.roots.strip(&commit.message.body))
        .into_iter()
        .filter(|unit| {
            !unit::names_machine(&unit.raw)
                && !words::BOOKKEEPING.is_match(&unit.text)
                && !unit.text.starts_with("BREAKING CHANGE")
        })
        .collect();
    let mut room = unit::CHARS_MAX.saturating_sub(subject.chars().count());
    let mut body: Vec<&Unit> = Vec::new();
    let mut rest: Vec<&Unit> = Vec::new();
    for unit in &units {
        let chars = unit.text.chars().count() + 2;
        // A paragraph may rest on an earlier one that found no room.
        if chars <= room && rest.is_empty() {
            room -= chars;
            body.push(unit);
        } else {
            rest.push(unit);
        }
    }
    let told = body.iter().map(|unit| unit.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let signs = signs(&told);
    let listed = body.iter().all(|unit| unit.item && words::EDIT_NOTE.is_match(&unit.text));
    let mut drafts = Vec::new();
    let chore = if words::CHORE_SUBJECT.is_match(subject) { CHORE_LOSS } else { 0.0 };
    let says = signs > 0 || chore == 0.0;
    if says && !listed && told.split_whitespace().count() >= BODY_WORDS_MIN {
        drafts.extend(miner.draft(
            run,
            DraftText {
                kind: if cures(subject, &told) { Kind::Fix } else { Kind::Decision },
                title: subject.to_owned(),
                body: told,
                quote: &commit.message.body,
                uuid: &commit.uuid,
                at: commit.at,
                step: commit.step,
                by_user: false,
                is_prose: true,
                confidence: if signs > 0 { REASON_SURE - chore * 0.2 } else { PLAIN_SURE },
                worth: WORTH + SIGN_GAIN * f32::from(signs) - chore,
            },
        ));
    }
    let further = rest.iter().filter(|unit| signs_of(unit) > 0).filter_map(|unit| {
        let (title, body) = unit.told()?;
        miner.draft(
            run,
            DraftText {
                kind: Kind::Decision,
                title,
                body: format!("{body}\n\nPart of: {subject}").trim().to_owned(),
                quote: &unit.raw,
                uuid: &commit.uuid,
                at: commit.at,
                step: commit.step,
                by_user: false,
                is_prose: true,
                confidence: REST_SURE,
                worth: WORTH - CHORE_LOSS + SIGN_GAIN * f32::from(signs_of(unit)),
            },
        )
    });
    drafts.extend(further.take(REST_MAX));
    for draft in &mut drafts {
        let text = format!("{} {}", draft.title, draft.body);
        let changed = paths::changed(miner.roots, miner.files, run, &text);
        if !changed.is_empty() {
            draft.paths = changed;
        }
    }
    drafts
}

/// Words of a message that gives a reason.
const BODY_WORDS_MIN: usize = 8;

/// How many signs of a reason, a rule or a trap a text has.
pub fn signs(text: &str) -> u8 {
    [&words::SAYS_WHY, &words::CAUSE, &words::RULES, &words::SURPRISE, &words::CHOICE]
        .iter()
        .map(|says| u8::from(says.is_match(text)))
        .sum()
}

fn signs_of(unit: &Unit) -> u8 {
    signs(&unit.text)
}

/// Whether work is called a cure, and is told with what was broken.
fn cures(subject: &str, body: &str) -> bool {
    words::FIX_SUBJECT.is_match(subject)
        && [&words::FAILS, &words::CAUSE, &words::SURPRISE].iter().any(|says| says.is_match(body))
}
