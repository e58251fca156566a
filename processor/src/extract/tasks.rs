//! Tasks: what a session left open. Its todo list as it last stood, and what Claude named as left
//! to do in its last message.

use memory_store::Kind;

use super::TEXT_CHARS_MAX;
use super::clean::{capital, cut, plain};
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::prose::Sentence;
use super::score::Channel;
use super::sets::join;
use super::{DraftText, SessionMiner, words};
use crate::transcript::session::{Input, Todo};

/// Prefix of a task's title.
pub const OPEN: &str = "Open: ";

/// Characters of a title after "Open: ".
const OPEN_TITLE_CHARS_MAX: usize = 200;

/// Confidence in a task, and what it is worth.
const SURE: f32 = 0.3;
const WORTH: f32 = 0.8;

/// Open items told of one session.
const OPEN_MAX: usize = 6;

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    if let Some(episode) = episodes.last() {
        let told = broken_off(miner, episode).or_else(|| named(miner, episode));
        // A task that the last message names is mostly on the list too, and said better.
        drafts.extend(told.or_else(|| todos(miner, episodes)));
    }
    drafts
}

/// Returns the items of the last todo list that are not done, unless all are.
pub fn open_todos<'a>(episodes: &'a [Episode<'_>]) -> Option<(usize, &'a str, Vec<&'a Todo>)> {
    episodes.iter().enumerate().rev().find_map(|(index, episode)| {
        let mut last = None;
        for (at, call) in episode.calls() {
            if let Input::Todos { items } = &call.input
                && !items.is_empty()
            {
                last = Some((at.what.uuid.as_str(), items));
            }
        }
        last.map(|(uuid, items)| {
            (index, uuid, items.iter().filter(|item| item.state != "completed").collect())
        })
    })
}

fn todos(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Option<Draft> {
    let (index, uuid, open) = open_todos(episodes)?;
    // A list that nobody came back to in later episodes was dropped rather than left.
    if open.is_empty() || index + 1 != episodes.len() {
        return None;
    }
    let episode = &episodes[index];
    let items: Vec<String> = open.iter().take(OPEN_MAX).map(|item| plain(&item.text)).collect();
    let at = episode.steps.iter().rev().find(|at| at.what.uuid == uuid)?;
    let body = cut(
        &join(&[format!(
            "Left open in the session on \"{}\": {}",
            episode.subject,
            items.join("; ")
        )]),
        TEXT_CHARS_MAX,
    );
    let title = format!("{OPEN}{}", items.first()?);
    miner.draft(
        std::slice::from_ref(episode),
        DraftText {
            kind: Kind::Task,
            title,
            body,
            // One item, word for word.
            quote: &open.first()?.text,
            uuid,
            at: at.what.at,
            step: at.step,
            by_user: false,
            is_prose: true,
            confidence: SURE,
            worth: WORTH,
        },
    )
}

/// A request at the end of a session that was broken off before anything was changed.
fn broken_off(miner: &SessionMiner<'_>, episode: &Episode<'_>) -> Option<Draft> {
    // A plan that was written is carried out in the next session.
    let planned = episode.calls().any(|(_, call)| match &call.input {
        Input::Plan { .. } => true,
        Input::Edit { path, .. } => path.contains("/.claude/plans/"),
        _ => false,
    });
    let interrupted = episode.turns.iter().any(|turn| turn.interrupted) && !planned;
    let ask = episode
        .statements
        .iter()
        .find(|statement| matches!(statement.channel, Channel::User | Channel::Plan))?;
    let says = episode.ask.split_whitespace().count() >= ASK_WORDS_MIN
        && !words::QUESTION.is_match(&episode.ask);
    if !interrupted || episode.edited() || !episode.commits.is_empty() || !says {
        return None;
    }
    let title = format!("{OPEN}{}", episode.subject);
    let body = format!(
        "Asked: \"{}\". The session ended before anything was changed.",
        cut(&episode.ask, ASK_CHARS_MAX)
    );
    miner.draft(std::slice::from_ref(episode), said(ask, title, body))
}

/// A request says at least this many words, and is told with at most so many characters.
const ASK_WORDS_MIN: usize = 5;
const ASK_CHARS_MAX: usize = 300;

fn is_message(statement: &Statement) -> bool {
    matches!(statement.channel, Channel::Final | Channel::Said)
}

/// Returns the task that the last message names as left to do.
fn named(miner: &SessionMiner<'_>, episode: &Episode<'_>) -> Option<Draft> {
    let last =
        episode.statements.iter().rev().find(|statement| is_message(statement))?.uuid.clone();
    let of_last: Vec<&Statement> = episode
        .statements
        .iter()
        .filter(|statement| statement.uuid == last && is_message(statement))
        .collect();
    let open: Vec<&Statement> =
        of_last.iter().copied().filter(|statement| is_open(statement, &of_last)).take(3).collect();
    let lead = open.first().copied()?;
    let told = with_list(lead, &of_last);
    let told = words::OPEN_LABEL.find(&told).map_or(told.as_str(), |label| &told[label.end()..]);
    let lead_title = capital(told);
    if lead_title.chars().count() > OPEN_TITLE_CHARS_MAX {
        return None;
    }
    let further = open.iter().skip(1);
    let mut parts: Vec<_> = further.map(|statement| with_list(statement, &of_last)).collect();
    let failed = of_last
        .iter()
        .filter(|statement| {
            words::FAILS.is_match(statement.text())
                && !open.iter().any(|known| known.order == statement.order)
        })
        .take(1);
    parts.extend(failed.map(|statement| statement.text().to_owned()));
    let title = format!("{OPEN}{lead_title}");
    let left_open = match episode.name() {
        "" => String::new(),
        name => format!("Left open in the session on \"{name}\""),
    };
    let body = cut(&join(&[join(&parts), left_open]), TEXT_CHARS_MAX);
    miner.draft(std::slice::from_ref(episode), said(lead, title, body))
}

/// A task that a statement names.
fn said(statement: &Statement, title: String, body: String) -> DraftText<'_> {
    DraftText {
        kind: Kind::Task,
        title,
        body,
        quote: &statement.sentence.raw,
        uuid: &statement.uuid,
        at: statement.at,
        step: statement.step,
        by_user: matches!(statement.channel, Channel::User | Channel::Plan),
        is_prose: true,
        confidence: SURE,
        worth: WORTH,
    }
}

/// Whether a statement of the last message names something that is left to do, and enough of it.
fn is_open(statement: &Statement, of_message: &[&Statement]) -> bool {
    const WORDS_MIN: usize = 6;
    const LABELLED_WORDS_MIN: usize = 3;
    let text = statement.text();
    let enough = |text: &str, words: usize| text.split_whitespace().count() >= words;
    let named = match words::labelled_open(text) {
        // The list says it.
        Some("") => !with_list(statement, of_message).trim_end().ends_with(':'),
        Some(rest) => enough(rest, LABELLED_WORDS_MIN),
        None => {
            words::LEFT_OPEN.is_match(text) && enough(text, WORDS_MIN)
                || is_item_of_open(statement)
                    && !is_announced(statement, of_message)
                    && enough(text, LABELLED_WORDS_MIN)
        }
    };
    named && !words::QUESTION.is_match(text)
}

/// Whether a statement stands in a list of what is left to do: under a heading such as "Remaining", or behind
/// the words.
pub fn is_item_of_open(statement: &Statement) -> bool {
    let Sentence { heading, list, .. } = &statement.sentence;
    *list && words::OPEN_LABEL.is_match(&format!("{heading}:"))
}

/// Whether a sentence announces the list in which a statement stands, and is told with it.
fn is_announced(statement: &Statement, of_message: &[&Statement]) -> bool {
    let heading = statement.sentence.heading.as_str();
    of_message.iter().any(|other| other.text().strip_suffix(':') == Some(heading))
}

/// A sentence that announces a list, together with it: what is needed often stands there.
fn with_list(statement: &Statement, of_message: &[&Statement]) -> String {
    let text = statement.text();
    if !text.ends_with(':') {
        return text.to_owned();
    }
    let items: Vec<&str> = of_message
        .iter()
        .filter(|item| item.order > statement.order)
        .take_while(|item| item.sentence.list || item.sentence.is_table())
        .take(OPEN_MAX)
        .map(|item| item.text().trim_end_matches('.'))
        .collect();
    format!("{text} {}", items.join("; "))
}
