//! Wishes: what the user wants to be so, in the user's own words; and how things are done here, as
//! far as the user says it. A request for a piece of work is not a wish.
//!
//! A wish for all times ("always", "never") is a memory of its own. The other wishes of a prompt
//! are told together, since each makes sense only beside the others.

use memory_store::Kind;
use memory_store::memory::Scope;

use super::clean::{capital, cut};
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::pool::{Pool, TEXT_CHARS_MAX, join, overlap, texts, within, word_set};
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX, mean_score, paths, words};

/// Wishes of one episode.
const WISHES_MAX: usize = 5;

/// Words of a wish: fewer say nothing alone, more are a document.
const WORDS_MIN: usize = 4;
const WORDS_MAX: usize = 70;

/// A wish of fewer words needs to be told what it is about.
const CLEAR_WORDS: usize = 14;

/// Characters of the user's words in a body.
const WORDING_CHARS_MAX: usize = 300;

/// Returns the wishes of an episode.
pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>, before: Option<&Episode<'_>>) -> Vec<Draft> {
    let wishes: Vec<&Statement> = pool.left().filter(|statement| is_wish(statement)).collect();
    let mut groups: Vec<Vec<&Statement>> = Vec::new();
    for wish in wishes {
        let alone = words::ALWAYS.is_match(wish.text())
            && !words::POINTS_BACK.is_match(wish.text())
            && !is_short(pool.episode, wish);
        let beside = groups.iter_mut().find(|group| {
            let joins = !words::ALWAYS.is_match(group[0].text()) || is_short(pool.episode, wish);
            !alone && group[0].uuid == wish.uuid && joins
        });
        match beside {
            Some(group) => group.push(wish),
            None => groups.push(vec![wish]),
        }
    }
    groups.truncate(WISHES_MAX);
    groups.iter().filter_map(|group| wish(miner, pool, group, before)).collect()
}

/// Whether the whole prompt of a wish is short enough to be told with it.
fn is_short(episode: &Episode<'_>, wish: &Statement) -> bool {
    let of_prompt = episode.statements.iter().filter(|statement| {
        statement.uuid == wish.uuid && statement.channel == Channel::User && !statement.is_pasted()
    });
    of_prompt.map(|statement| statement.text().chars().count() + 1).sum::<usize>()
        <= WORDING_CHARS_MAX
}

fn is_wish(statement: &Statement) -> bool {
    let text = statement.text();
    let count = text.split_whitespace().count();
    let once = words::REQUEST.is_match(text)
        || words::ASKS_ONCE.is_match(text) && !words::ALWAYS.is_match(text);
    let evermore = words::EVERMORE.is_match(text) && !words::LASTING.is_match(text);
    let asks = words::STANDING.is_match(text) && !once || evermore;
    statement.channel == Channel::User
        && (WORDS_MIN..=WORDS_MAX).contains(&count)
        && !statement.is_pasted()
        && !words::QUESTION.is_match(text)
        && (asks || words::HABIT.is_match(text))
}

fn wish(
    miner: &Miner<'_>,
    pool: &mut Pool<'_>,
    group: &[&Statement],
    before: Option<&Episode<'_>>,
) -> Option<Draft> {
    let episode = pool.episode;
    // The wish for all times names the memory, if there is one.
    let first = group.iter().find(|wish| words::ALWAYS.is_match(wish.text())).or(group.first())?;
    let lead = episode.statements.get(first.order)?;
    let wording: Vec<&Statement> = episode
        .statements
        .iter()
        .filter(|statement| statement.uuid == lead.uuid && statement.channel == Channel::User)
        .filter(|statement| !statement.is_pasted())
        .collect();
    let told = wording_of(group, &wording);
    let about = about(episode, lead, before);
    let mut title = title_of(lead, &wording);
    let mut parts = Vec::new();
    // A title that only points is no title.
    let points = words::POINTS_BACK.is_match(&title);
    if points {
        title = cut(
            &format!("{}: {}", cut(about?, ABOUT_CHARS_MAX), uncapital(first_clause(&title))),
            TITLE_CHARS_MAX,
        );
    }
    let titled = within(&word_set(&told), &word_set(&title)) >= TITLE_SHARE;
    if !titled && told.chars().count() > title.chars().count() + 3 {
        parts.push(format!("The user: \"{}\"", cut(&told, WORDING_CHARS_MAX)));
    }
    if let Some(about) = about.filter(|_| !points) {
        parts.push(format!("Said about: {about}"));
    }
    let chosen = outcome(pool, lead, &title, &join(&parts));
    parts.extend(texts(&chosen));
    if parts.iter().all(String::is_empty) {
        let subject = episode.name();
        if !subject.is_empty() {
            parts.push(format!("Said while working on: {subject}"));
        }
    }
    let mut draft = miner.draft(episode, said(lead, &chosen, title, join(&parts)))?;
    limit(miner, lead, &mut draft);
    pool.tell_text(&draft.title);
    pool.tell(group);
    if told.chars().count() <= WORDING_CHARS_MAX {
        pool.tell(&wording);
        pool.asked = true;
    }
    pool.tell(&chosen);
    Some(draft)
}

/// A title that holds this much of a wish says it.
const TITLE_SHARE: f32 = 0.7;

/// Characters of what a wish is about, in its title.
const ABOUT_CHARS_MAX: usize = 60;

/// A wish that only points, without what it goes on to say.
fn first_clause(text: &str) -> &str {
    let end = text.find(", ").filter(|&end| text[..end].split_whitespace().count() > WORDS_MIN);
    &text[..end.unwrap_or(text.len())]
}

fn uncapital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}

/// The words that name a wish: its own, or those before it where it only points at them. The words
/// of a person are cut, not taken apart.
fn title_of(lead: &Statement, wording: &[&Statement]) -> String {
    let clear = wording.iter().copied().find(|statement| {
        statement.order <= lead.order && statement.text().split_whitespace().count() >= WORDS_MIN
    });
    let points = words::POINTS_BACK.is_match(lead.text());
    let titled = if points { clear.unwrap_or(lead) } else { lead };
    cut(&capital(without_lead_in(titled.text())), TITLE_CHARS_MAX)
}

/// What was said in answer to a wish, before the user spoke again.
fn outcome<'a>(pool: &Pool<'a>, lead: &Statement, title: &str, front: &str) -> Vec<&'a Statement> {
    let until = next_prompt(pool.episode, lead);
    let answers = |statement: &Statement| {
        statement.channel == Channel::Final
            && statement.step > lead.step
            && statement.step <= until
            && !words::NARRATION.is_match(statement.text())
            && !words::POINTS_BACK.is_match(statement.text())
            // What is called a decision is one of its own.
            && !words::LABELLED.is_match(statement.text())
    };
    let taken = title.chars().count() + front.chars().count() + 3;
    let room = TEXT_CHARS_MAX.saturating_sub(taken);
    pool.fill(&format!("{title} {front}"), &[], room, &answers)
}

fn said<'a>(
    lead: &'a Statement,
    chosen: &[&'a Statement],
    title: String,
    body: String,
) -> Said<'a> {
    let standing = words::ALWAYS.is_match(lead.text());
    let kind = if words::HABIT.is_match(lead.text()) { Kind::Convention } else { Kind::Preference };
    let gain = if standing { STANDING_GAIN } else { 0.0 };
    let mut evidence = vec![lead];
    evidence.extend(chosen.iter().copied());
    Said {
        kind,
        title,
        body,
        evidence,
        confidence: if standing { 0.9 } else { 0.75 },
        worth: WISH_WORTH + lead.score.max(0.0) * 0.5 + mean_score(chosen) * 0.3 + gain,
    }
}

/// A wish that says where it applies applies only there.
fn limit(miner: &Miner<'_>, lead: &Statement, draft: &mut Draft) {
    let Some(found) = words::ONLY_HERE.find(lead.text()) else { return };
    let named = paths::named(miner.roots, found.as_str());
    if !named.is_empty() {
        draft.paths = named;
    }
    if !draft.paths.is_empty() {
        draft.scope = Scope::Paths;
    }
}

/// What any wish is worth.
const WISH_WORTH: f32 = 1.0;

/// What a wish for all times is worth more.
const STANDING_GAIN: f32 = 0.6;

/// The user's words: the whole prompt where it is short, the wishes of it where it is long.
fn wording_of(group: &[&Statement], wording: &[&Statement]) -> String {
    let tell = |statements: &[&Statement]| {
        statements.iter().map(|statement| statement.text()).collect::<Vec<_>>().join(" ")
    };
    let whole = tell(wording);
    if whole.chars().count() <= WORDING_CHARS_MAX { whole } else { tell(group) }
}

/// A wish without the words that only lead to it, where enough is left.
fn without_lead_in(text: &str) -> &str {
    let rest = words::LEAD_IN.find(text).map_or(text, |found| &text[found.end()..]);
    if rest.split_whitespace().count() < WORDS_MIN { text } else { rest }
}

/// What a wish is about, where its own words only point: the request, or the one before it.
fn about<'a>(
    episode: &'a Episode<'_>,
    wish: &Statement,
    before: Option<&'a Episode<'_>>,
) -> Option<&'a str> {
    let subject = Some(named(episode, wish, before));
    let text = wish.text();
    let points = words::POINTS_BACK.is_match(text) || text.split_whitespace().count() < CLEAR_WORDS;
    subject
        .filter(|subject| points && !subject.is_empty())
        .filter(|subject| overlap(&word_set(subject), &word_set(text)) < 0.6)
}

/// The work that a wish is about: what was done before it, or the plan it interrupts.
fn named<'a>(
    episode: &'a Episode<'_>,
    wish: &Statement,
    before: Option<&'a Episode<'_>>,
) -> &'a str {
    let before = before.map_or("", Episode::name);
    if wish.step > 0 && !episode.name().is_empty() { episode.name() } else { before }
}

/// The last step before the user spoke again.
fn next_prompt(episode: &Episode<'_>, wish: &Statement) -> usize {
    episode
        .statements
        .iter()
        .filter(|statement| statement.channel == Channel::User)
        .filter(|statement| statement.step > wish.step && statement.uuid != wish.uuid)
        .map(|statement| statement.step)
        .min()
        .unwrap_or(usize::MAX)
}
