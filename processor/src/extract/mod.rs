//! Extraction: from the turns of a session to drafts, by rules alone.
//!
//! Each source of material has a module: commit messages, replies that agree, knowledge files, wishes, answers,
//! plans, final messages, commands, fixes, open tasks. What is told is a whole paragraph, list item or table row
//! (`unit.rs`), or nothing: precision comes first, and a session without anything worth keeping leaves nothing.
//! How sure a draft is, is how often a strict reader judged its source useful, middling ones counted half
//! (`scripts/fit-confidence --sources VERDICTS`).
//!
//! Everything here is a pure function of the session: no clock, no disk, no order of processing.

mod answers;
mod clean;
mod commands;
mod commits;
mod corrections;
mod cues;
pub mod draft;
mod episode;
mod findings;
mod fixes;
mod knowledge;
mod landed;
mod listings;
mod own_words;
mod paths;
mod pattern;
mod plans;
mod prose;
mod retold;
mod roots;
pub mod score;
mod sets;
mod shell;
mod tasks;
mod unit;
mod wishes;
mod words;

use std::collections::HashMap;

use memory_store::memory::{SaidBy, Scope};
use memory_store::{Kind, Timestamp, text};

use crate::transcript::session::Session;
use draft::{Draft, Effect};
use episode::Episode;

pub use clean::{cut, plain};
pub use episode::goes_on;
pub use fixes::{COMMAND_CURE_WORTH, REACH_STEPS, fails_at_end, is_sibling};
pub use own_words::{own_words, request};
pub use retold::retells_order as text_retells_order;
pub use roots::Roots;
pub use sets::{WORDS_FEW, overlap, word_set};
pub use tasks::OPEN;

/// Episodes for other parts of the processor: where the work was left is told from them too.
pub mod episodes {
    pub use super::episode::{
        Episode, Statement, episodes as of, handed_plan, last_episodes as last_of, words_of,
    };
    pub use super::landed::Landed;
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

/// The name and version of this extractor, as memories carry it: of what the user wished or corrected, what was seen in
/// tool calls, what was written into knowledge files, and what Claude itself labels as a rule, a decision or a trap.
pub const EXTRACTOR: &str = "rules/14";

/// The name for the rules' *prose*: what Claude's messages, plans, questions and commit messages tell besides. Strict
/// readers would keep 4 in 100 of such memories in a repository and 68 of the others (`docs/measuring.md`), but recall
/// finds answers in both.
const PROSE_EXTRACTOR: &str = "rules/14 prose";

/// Returns whether this is the name of an extractor, of any version, for prose of the rules.
pub fn is_prose(extractor: &str) -> bool {
    extractor.starts_with("rules/") && extractor.ends_with(" prose")
}

/// Tags of a memory.
const TAGS_MAX: usize = 8;

/// Characters of a quote.
const QUOTE_CHARS_MAX: usize = 300;

/// Characters of a memory that is put together from tool calls.
const TEXT_CHARS_MAX: usize = 360;

/// Loss of a draft for each better one of its episode: memories are spread over episodes.
const SPREAD_LOSS: f32 = 0.25;

/// Returns what a session is worth remembering for, in the order of the session. `roots` are the
/// project's working trees.
pub fn mine(session: &Session, roots: &Roots) -> Vec<Draft> {
    let roots = &roots.with_folders(session.turns.iter().map(|turn| turn.cwd.as_str()));
    let files = &paths::TouchedFiles::of(session, roots);
    let miner = SessionMiner { session, roots, files };
    let mut drafts = commands::mine(&miner);
    drafts.extend(fixes::mine(&miner));
    // A subagent's words are for the agent that asked: what matters of them is said again there.
    if session.agent.is_none() {
        let episodes = episode::episodes(session);
        let mut said = commits::mine(&miner, &episodes);
        said.extend(knowledge::mine(&miner, &episodes));
        said.extend(corrections::mine(&miner, &episodes));
        said.extend(answers::mine(&miner, &episodes));
        said.extend(wishes::mine(&miner, &episodes));
        said.extend(plans::mine(&miner, &episodes));
        let told: Vec<sets::Words> = said.iter().map(|draft| word_set(&text_of(draft))).collect();
        said.extend(findings::mine(&miner, &episodes, &told));
        spread(&mut said);
        said.extend(tasks::mine(&miner, &episodes));
        drafts.extend(said);
    }
    drafts.retain(|draft| !names_machine(draft) && !retells_order(draft));
    for draft in &mut drafts {
        draft.quote = roots.strip(&draft.quote);
        if unit::names_machine(&draft.quote) {
            draft.quote.clear();
        }
    }
    drafts.sort_by(|a, b| a.occurred.cmp(&b.occurred).then_with(|| a.turns.cmp(&b.turns)));
    number(&mut drafts);
    drafts
}

fn text_of(draft: &Draft) -> String {
    format!("{} {}", draft.title, draft.body)
}

/// Whether a draft names a path of somebody's machine: nobody else has it.
fn names_machine(draft: &Draft) -> bool {
    let command = draft.command.as_ref().map_or("", |command| command.line.as_str());
    let texts = [draft.title.as_str(), &draft.body, command].into_iter();
    texts.chain(draft.paths.iter().chain(&draft.cues).map(String::as_str)).any(unit::names_machine)
}

/// Whether a draft retells what something that Claude read wants to be done.
fn retells_order(draft: &Draft) -> bool {
    draft.said_by != SaidBy::User
        && draft.kind != Kind::Command
        && retold::retells_order(&format!("{}. {}", draft.title, draft.body))
}

/// Whether a text says that something is broken.
pub fn says_broken(text: &str) -> bool {
    words::FAILS.is_match(text)
}

/// Whether a heading announces what holds, however the work is done.
pub fn lays_down(heading: &str) -> bool {
    words::DECIDED_HEADING.is_match(heading)
}

/// Whether a memory tells of work, rather than of a wish or of what was found out.
pub fn tells_work(draft: &Draft) -> bool {
    matches!(draft.kind, Kind::Decision | Kind::Session)
}

/// Lowers the worth of each draft by the number of better ones of the same record.
fn spread(drafts: &mut [Draft]) {
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by(|&a, &b| drafts[b].worth.total_cmp(&drafts[a].worth).then(a.cmp(&b)));
    let mut told: HashMap<String, f32> = HashMap::new();
    for index in order {
        let record = drafts[index].turns.first().cloned().unwrap_or_default();
        let loss = told.entry(record).or_default();
        drafts[index].worth -= *loss;
        *loss += SPREAD_LOSS;
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

/// A session, the working trees of its project and the files it touched.
#[derive(Clone, Copy, Debug)]
struct SessionMiner<'a> {
    session: &'a Session,
    roots: &'a Roots,
    files: &'a paths::TouchedFiles,
}

/// Content of a draft before paths, tags and cues are added.
#[derive(Debug)]
struct DraftText<'a> {
    kind: Kind,
    title: String,
    body: String,
    /// The text of the record, word for word.
    quote: &'a str,
    /// The record it stands in.
    uuid: &'a str,
    at: Timestamp,
    /// The step it was said in, counted over its episode.
    step: usize,
    by_user: bool,
    /// Whether nothing but Claude's prose, or what was picked from it, tells it.
    is_prose: bool,
    confidence: f32,
    worth: f32,
}

impl SessionMiner<'_> {
    /// Makes a draft of what was said in the last of some episodes, for what all of them asked.
    fn draft(&self, episodes: &[Episode<'_>], said: DraftText<'_>) -> Option<Draft> {
        let title = title(&self.roots.strip(&said.title));
        let body = self.roots.strip(said.body.trim());
        if !title.chars().any(char::is_alphanumeric) {
            return None;
        }
        let whole = format!("{title}\n{body}");
        let paths = paths::nearest(self.roots, self.files, episodes.last()?, said.step, &whole);
        Some(Draft {
            kind: said.kind,
            tags: text::keywords(&whole, TAGS_MAX),
            title,
            body,
            scope: Scope::Project,
            occurred: said.at,
            confidence: said.confidence,
            session: self.session.id.clone(),
            turns: vec![said.uuid.to_owned()],
            ordinal: 0,
            quote: quote(said.quote),
            said_by: if said.by_user { SaidBy::User } else { SaidBy::Assistant },
            paths,
            signatures: Vec::new(),
            command: None,
            extractor: if said.is_prose { PROSE_EXTRACTOR } else { EXTRACTOR }.to_owned(),
            worth: said.worth,
            importance: None,
            standing: false,
            cues: cues::of(episodes),
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
    let named = sentences[first].trim();
    let others = sentences.iter().enumerate().filter(|(at, _)| *at != first);
    let mut parts: Vec<String> = others.map(|(_, text)| text.trim().to_owned()).collect();
    parts.push(format!("Part of: {title}"));
    Some((self::title(named), sets::join(&parts)))
}

/// Words of a sentence that can be a title.
const RETITLE_WORDS_MIN: usize = 4;

/// One line, without the stop at its end.
fn title(text: &str) -> String {
    let text = clean::capital(text.trim());
    text.trim_end_matches(['.', ':', ';', ',']).replace('\n', " ")
}

/// The beginning of what was written, word for word.
fn quote(raw: &str) -> String {
    raw.chars().take(QUOTE_CHARS_MAX).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests;
