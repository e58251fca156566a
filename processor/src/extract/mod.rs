//! Extraction: from the turns of a session to drafts, by rules alone.
//!
//! The unit is the *episode*: a request and what followed until the next one. Of each episode its
//! kinds of thing are looked for in turn (wishes, choices, causes, what was given up); each
//! statement is told once, by the first kind that claims it, and what is left over goes into a
//! digest of the episode. Commands and fixes come from the tool calls instead.
//!
//! Everything here is a pure function of the session: no clock, no disk, no order of processing.

mod answers;
mod causes;
mod choices;
mod clean;
mod commands;
mod digest;
pub mod draft;
mod episode;
mod failed;
mod fixes;
mod paths;
mod pool;
mod prose;
pub mod score;
mod shell;
mod summary;
mod tables;
mod tasks;
mod tense;
mod wishes;
mod words;
mod work;

use std::collections::{BTreeSet, HashMap};

use memory_store::memory::{SaidBy, Scope};
use memory_store::{Kind, text};

use crate::transcript::session::Session;
use draft::{Draft, Effect};
use episode::{Episode, Statement};
use pool::{Pool, Words};
use score::Channel;

pub(crate) use clean::pattern;
pub use clean::{cut, plain};
pub use episode::goes_on;
pub use fixes::is_sibling;
pub use paths::Roots;
pub use pool::{TEXT_CHARS_MAX, overlap, word_set};
pub use tasks::OPEN;
pub use work::tells_work;

/// Episodes for other parts of the processor: where the work was left is told from them too.
pub mod episodes {
    pub use super::episode::{Episode, Statement, episodes as of};
    pub use super::score::Channel;
    pub use super::tasks::open_todos;

    /// Whether a statement names something that is left to do: a sentence that says so, or an item of a list
    /// under a heading that does.
    pub fn names_open(statement: &Statement) -> bool {
        super::words::leaves_open(statement.text()) || super::tasks::is_item_of_open(statement)
    }

    /// Whether an output says that the command was put wrongly.
    pub fn is_usage(output: &str) -> bool {
        super::words::USAGE.is_match(output)
    }

    /// Whether a sentence proposes what to do next.
    pub fn proposes(sentence: &str) -> bool {
        super::words::PROPOSES.is_match(sentence)
    }
}

/// The name and version of this extractor, as memories carry it.
pub const EXTRACTOR: &str = "rules/4";

/// Tags of a memory.
const TAGS_MAX: usize = 8;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 130;

/// Characters of a quote.
const QUOTE_CHARS_MAX: usize = 300;

/// What a draft loses for each better one of its episode: memories are spread over episodes.
const SPREAD_LOSS: f32 = 0.5;

/// Returns what a session is worth remembering for, in the order of the session. `roots` are the
/// project's working trees.
pub fn mine(session: &Session, roots: &Roots) -> Vec<Draft> {
    let miner = Miner { session, roots };
    let mut drafts = commands::mine(&miner);
    let (fixes, told) = fixes::mine(&miner);
    drafts.extend(fixes);
    let mut told: Vec<Words> = told.iter().map(|text| word_set(text)).collect();
    // A subagent's words are for the agent that asked: what matters of them is said again there.
    if session.agent.is_none() {
        let episodes = episode::episodes(session);
        let mut found: Vec<Draft> = Vec::new();
        for (at, episode) in episodes.iter().enumerate() {
            if episode.notes_changes() {
                continue;
            }
            let named = |before: &&Episode<'_>| before.plan || !before.commits.is_empty();
            let around = Around {
                before: episodes[..at].iter().rev().find(named),
                run: work::run_of(&episodes, at),
                conclusion: work::conclusion(&episodes, at),
            };
            let mut mined = mine_episode(&miner, episode, around, &told);
            mined.retain(|draft| !(tells_work(draft) && work::is_taken_back(&episodes, at)));
            told.extend(mined.iter().map(|draft| word_set(&text_of(draft))));
            found.extend(mined);
        }
        drafts.extend(best_digest(found));
        let left = crate::left::session(session, roots);
        drafts.extend(summary::mine(&miner, &episodes, left));
        let tasks = tasks::mine(&miner, &episodes);
        drafts.retain(|draft| !tasks.iter().any(|task| tells_task(draft, task)));
        drafts.extend(tasks);
    }
    drafts.sort_by(|a, b| a.occurred.cmp(&b.occurred).then_with(|| a.turns.cmp(&b.turns)));
    number(&mut drafts);
    drafts
}

/// Whether a text says that something is broken.
pub fn says_broken(text: &str) -> bool {
    words::FAILS.is_match(text)
}

/// Whether a heading announces what holds, however the work is done.
pub fn lays_down(heading: &str) -> bool {
    words::DECIDED_HEADING.is_match(heading)
}

/// Looks for one kind of thing in what is left to tell of an episode.
type Finder<'f, 'a> = &'f dyn Fn(&mut Pool<'a>) -> Vec<Draft>;

/// Whether a draft says no more than that a task is open.
fn tells_task(draft: &Draft, task: &Draft) -> bool {
    let named = task.title.strip_prefix(OPEN).unwrap_or(&task.title).trim_end_matches('…');
    let head = &named[..named.floor_char_boundary(TASK_HEAD_BYTES)];
    !head.is_empty() && draft.title.starts_with(head) && draft.turns.first() == task.turns.first()
}

/// Bytes of two titles that show that they are the same.
const TASK_HEAD_BYTES: usize = 48;

/// What an episode has to do with the others of its session.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// The work before it that has a name.
    before: Option<&'a Episode<'a>>,
    /// What its commits conclude, itself included.
    run: &'a [Episode<'a>],
    /// The commit that tells of what was done in it.
    conclusion: Option<&'a str>,
}

/// Of the digests of a session, the best of each kind alone.
fn best_digest(mut drafts: Vec<Draft>) -> Vec<Draft> {
    for kind in [Kind::Session, Kind::Fact] {
        let is_digest = |draft: &Draft| draft.kind == kind && draft.confidence < DIGEST_SURE;
        let best = drafts
            .iter()
            .enumerate()
            .filter(|(_, draft)| is_digest(draft))
            .max_by(|(at, a), (other, b)| a.worth.total_cmp(&b.worth).then(other.cmp(at)))
            .map(|(at, _)| at);
        let mut at = 0..;
        drafts.retain(|draft| at.next() == best || !is_digest(draft));
    }
    drafts
}

/// Digests are less sure than this, what a commit says more.
const DIGEST_SURE: f32 = 0.6;

fn mine_episode<'a>(
    miner: &Miner<'_>,
    episode: &'a Episode<'a>,
    around: Around<'a>,
    told: &[Words],
) -> Vec<Draft> {
    let mut pool = Pool::new(episode);
    pool.tell_alike(told);
    let mut drafts = Vec::new();
    let steps: [Finder<'_, 'a>; 8] = [
        &|pool| answers::mine(miner, pool),
        &|pool| wishes::mine(miner, pool, around.before),
        &|pool| choices::planned(miner, pool).into_iter().collect(),
        &|pool| work::mine(miner, pool, around.run, told, around.conclusion.is_some()),
        &|pool| tables::mine(miner, pool).into_iter().collect(),
        &|pool| failed::mine(miner, pool),
        &|pool| causes::mine(miner, pool),
        &|pool| choices::stated(miner, pool),
    ];
    for step in steps {
        for draft in step(&mut pool) {
            if draft.kind == Kind::Fix && retells(&draft, &drafts) {
                continue;
            }
            pool.tell_said(&format!("{} {}", draft.title, draft.body));
            drafts.push(draft);
        }
    }
    // Of work, a commit or plan tells already; what is left is a detail of it.
    let told = around.conclusion.or(drafts.iter().any(tells_work).then(|| episode.name()));
    let part = told.filter(|_| episode.plan || episode.edited());
    let known = word_set(&drafts.iter().map(text_of).collect::<Vec<_>>().join("\n"));
    drafts.extend(digest::mine(miner, &mut pool, part).filter(|digest| says_more(digest, &known)));
    spread(&mut drafts);
    drafts
}

/// Whether a cause is told by the work that cured it.
fn retells(cause: &Draft, drafts: &[Draft]) -> bool {
    let words = word_set(&text_of(cause));
    let work = drafts.iter().filter(|draft| tells_work(draft) || draft.kind == Kind::Fix);
    work.map(text_of).any(|text| pool::within(&words, &word_set(&text)) >= RETOLD_SHARE)
}

/// The share of a cause's words by which it is known again.
const RETOLD_SHARE: f32 = 0.45;

fn text_of(draft: &Draft) -> String {
    format!("{}\n{}", draft.title, draft.body)
}

/// Whether a digest says enough that the other memories of its episode do not.
fn says_more(digest: &Draft, known: &BTreeSet<String>) -> bool {
    pool::within(&word_set(&text_of(digest)), known) < KNOWN_SHARE_MAX
}

/// The share of a digest's words that other memories may say, too.
const KNOWN_SHARE_MAX: f32 = 0.5;

/// Lowers the worth of each draft by the number of better ones of the same episode.
fn spread(drafts: &mut [Draft]) {
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by(|&a, &b| drafts[b].worth.total_cmp(&drafts[a].worth).then(a.cmp(&b)));
    let mut loss = 0.0;
    for index in order {
        drafts[index].worth -= loss;
        loss += SPREAD_LOSS;
    }
}

/// Counts drafts of one kind with the same first record.
fn number(drafts: &mut [Draft]) {
    let mut counts: HashMap<(Kind, String), u32> = HashMap::new();
    for draft in drafts {
        let first = draft.turns.first().cloned().unwrap_or_default();
        let count = counts.entry((draft.kind, first)).or_default();
        draft.ordinal = *count;
        *count += 1;
    }
}

/// A session and the working trees of its project.
#[derive(Clone, Copy, Debug)]
struct Miner<'a> {
    session: &'a Session,
    roots: &'a Roots,
}

/// What a draft says, before paths, tags and evidence are added.
#[derive(Debug)]
struct Said<'a> {
    kind: Kind,
    title: String,
    body: String,
    /// The statements it rests on, the one that matters most first.
    evidence: Vec<&'a Statement>,
    confidence: f32,
    worth: f32,
}

impl Miner<'_> {
    /// Makes a draft of what was said in an episode.
    fn draft(&self, episode: &Episode<'_>, said: Said<'_>) -> Option<Draft> {
        let first = said.evidence.first()?;
        let title = title(&said.title);
        if !title.chars().any(char::is_alphanumeric) {
            return None;
        }
        let paths =
            paths::nearest(self.roots, episode, &said.evidence, &format!("{title} {}", said.body));
        let tags = text::keywords(&format!("{title}\n{}", said.body), TAGS_MAX);
        let mut turns: Vec<String> = Vec::new();
        for statement in &said.evidence {
            if !turns.contains(&statement.uuid) {
                turns.push(statement.uuid.clone());
            }
        }
        Some(Draft {
            kind: said.kind,
            title,
            body: said.body,
            scope: Scope::Project,
            occurred: first.at,
            confidence: said.confidence,
            session: self.session.id.clone(),
            turns,
            ordinal: 0,
            quote: quote(&first.sentence.raw),
            said_by: said_by(first.channel),
            paths,
            tags,
            signatures: Vec::new(),
            command: None,
            extractor: EXTRACTOR.to_owned(),
            worth: said.worth,
            importance: None,
            standing: false,
            cues: Vec::new(),
            effect: Effect::New,
        })
    }
}

/// Returns a memory under another title: its first sentence, with the old title said at the end.
/// `None` when the body has no sentence that can stand in front.
pub fn retitled(title: &str, body: &str) -> Option<(String, String)> {
    let sentences = prose::split(body);
    let first = sentences.iter().position(|sentence| {
        let says = sentence.split_whitespace().count() >= RETITLE_WORDS_MIN;
        says && !words::POINTS_BACK.is_match(sentence.trim()) && !sentence.contains(": \"")
    })?;
    let (named, rest) = clean::headline(sentences[first].trim(), TITLE_CHARS_MAX);
    let mut parts = vec![rest];
    parts.extend(
        sentences
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != first)
            .map(|(_, text)| text.trim().to_owned()),
    );
    parts.push(format!("Part of: {title}"));
    Some((self::title(&named), pool::join(&parts)))
}

/// Words of a sentence that can be a title.
const RETITLE_WORDS_MIN: usize = 4;

/// One line, without the stop at its end.
fn title(text: &str) -> String {
    let text = clean::capital(text.trim());
    cut(text.trim_end_matches(['.', ':', ';', ',']), TITLE_CHARS_MAX)
}

/// The beginning of what was written, word for word.
fn quote(raw: &str) -> String {
    raw.chars().take(QUOTE_CHARS_MAX).collect::<String>().trim().to_owned()
}

fn said_by(channel: Channel) -> SaidBy {
    match channel {
        Channel::User | Channel::Plan => SaidBy::User,
        Channel::Commit | Channel::Final | Channel::Said | Channel::Summary => SaidBy::Assistant,
    }
}

/// The mean worth of the best sentences of a memory.
fn mean_score(statements: &[&Statement]) -> f32 {
    let mut scores: Vec<f32> = statements.iter().map(|statement| statement.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores.truncate(3);
    #[expect(clippy::cast_precision_loss, reason = "at most three")]
    let count = scores.len().max(1) as f32;
    scores.iter().sum::<f32>() / count
}

#[cfg(test)]
mod tests;
