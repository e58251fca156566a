//! Episodes: a request and what followed until the next one. Prompts that only go on ("yes",
//! "commit this") belong to the episode they go on with, so that a commit message stands beside
//! the work it is about.

use std::ops::Range;

use memory_store::Timestamp;
use memory_store::signature::telling_lines;

use super::clean::{cut, plain};
use super::own_words::{own_words, request};
use super::prose::{self, Sentence};
use super::shell::{Message, commit_message};
use super::words;
use crate::transcript::session::{Call, Input, PromptBy, Session, Step, StepKind, Turn};

/// Where a sentence was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The user typed it.
    User,
    /// A plan that the user accepted.
    Plan,
    /// The last message of a turn.
    Final,
    /// A message on the way.
    Said,
    /// The summary of a compaction.
    Summary,
}

/// A sentence of an episode with its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The sentence.
    pub sentence: Sentence,
    /// Where it was said.
    pub channel: Channel,
    /// The record that holds it.
    pub uuid: String,
    /// When it was said.
    pub at: Timestamp,
    /// The step it was said in, counted over the episode; 0 for the prompt.
    pub step: usize,
    /// Its number among the statements of the episode.
    pub order: usize,
    /// Whether it says what was done next or how things stood: no knowledge.
    pub transient: bool,
}

impl Statement {
    /// Whether it is a line of a pasted log.
    pub fn is_pasted(&self) -> bool {
        self.sentence.block == PASTED
    }

    /// Its plain text.
    pub fn text(&self) -> &str {
        &self.sentence.text
    }
}

/// A step of an episode with its number.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// Its number in the episode, from 1.
    pub step: usize,
    /// The step.
    pub what: &'a Step,
}

/// A commit made in an episode.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The message.
    pub message: Message,
    /// The record of the call.
    pub uuid: String,
    /// When.
    pub at: Timestamp,
    /// The step.
    pub step: usize,
}

/// A request and what followed.
#[derive(Debug)]
pub struct Episode<'a> {
    /// The turns, the request's first.
    pub turns: &'a [Turn],
    /// The request: plain text of the prompt, or the title of its plan; empty without one.
    pub ask: String,
    /// Whether the request is an accepted plan.
    pub plan: bool,
    /// All steps.
    pub steps: Vec<At<'a>>,
    /// All that was said.
    pub statements: Vec<Statement>,
    /// The commits made, the last version of each.
    pub commits: Vec<Commit>,
    /// Whether a program or another agent gave any of its prompts. What such a prompt says is nobody's wish.
    pub by_program: bool,
}

impl Episode<'_> {
    /// The request in the user's words, or the title of the plan that was accepted.
    pub fn request(&self) -> &str {
        &self.ask
    }

    /// The tool calls with their steps.
    pub fn calls(&self) -> impl Iterator<Item = (At<'_>, &Call)> {
        self.steps.iter().filter_map(|at| match &at.what.what {
            StepKind::Call(call) => Some((*at, call.as_ref())),
            StepKind::Text { .. } | StepKind::Thinking { .. } | StepKind::Queued { .. } => None,
        })
    }
}

/// Cuts a session into episodes.
pub fn episodes(session: &Session) -> Vec<Episode<'_>> {
    let driven = driven_by_programs(&session.turns);
    bounds(&session.turns)
        .into_iter()
        .map(|turns| episode(&session.turns[turns.clone()], &driven[turns]))
        .collect()
}

/// Returns the last episodes of a session, from the last one that asks for something on; all of them where none does.
/// Sentences of the others are not looked at.
pub fn last_episodes(session: &Session) -> Vec<Episode<'_>> {
    let driven = driven_by_programs(&session.turns);
    let mut last = Vec::new();
    for turns in bounds(&session.turns).into_iter().rev() {
        last.push(episode(&session.turns[turns.clone()], &driven[turns]));
        if last.last().is_some_and(|episode| !episode.request().trim().is_empty()) {
            break;
        }
    }
    last.reverse();
    last
}

/// The turns of each episode.
fn bounds(turns: &[Turn]) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        if starts.is_empty() || opens(turn) {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([turns.len()]);
    starts.iter().copied().zip(ends).map(|(from, to)| from..to).collect()
}

/// For each turn whether a program or another agent drives the session there: what it queues, answers and accepts is not
/// the user's. A machine's turn, such as a notice that a task ended, belongs to whoever drove before.
fn driven_by_programs(turns: &[Turn]) -> Vec<bool> {
    let mut driven = false;
    let of = |turn: &Turn| {
        driven = match turn.prompt.by {
            PromptBy::Sdk | PromptBy::Agent => true,
            PromptBy::User | PromptBy::Command => false,
            PromptBy::Machine | PromptBy::Summary => driven,
        };
        driven
    };
    turns.iter().map(of).collect()
}

/// Whether a turn asks for something new.
fn opens(turn: &Turn) -> bool {
    match turn.prompt.by {
        PromptBy::User | PromptBy::Sdk | PromptBy::Agent => !goes_on(&turn.prompt.text),
        PromptBy::Command => command_ask(&turn.prompt.text).is_some(),
        PromptBy::Machine | PromptBy::Summary => false,
    }
}

/// Whether a prompt only goes on with what was begun.
pub fn goes_on(prompt: &str) -> bool {
    words::GOES_ON.is_match(prompt)
        || prompt.trim().chars().filter(|c| c.is_alphabetic()).count() < 3
}

/// Returns the request of a slash command beyond its name: its arguments, where they say something.
fn command_ask(text: &str) -> Option<&str> {
    let (_, arguments) = text.trim().split_once(char::is_whitespace)?;
    (arguments.split_whitespace().count() >= 3).then_some(arguments)
}

/// Returns the title of the plan that a prompt hands over in Claude Code's words, if it does.
pub fn handed_plan(prompt: &str) -> Option<String> {
    words::PLAN_PROMPT.find(prompt).map(|found| title_of_plan(&prompt[found.end()..]))
}

/// The words of a prompt that asks for work; empty of a machine's.
pub fn words_of(turn: &Turn) -> &str {
    match turn.prompt.by {
        PromptBy::User | PromptBy::Sdk | PromptBy::Agent => &turn.prompt.text,
        PromptBy::Command => command_ask(&turn.prompt.text).unwrap_or_default(),
        PromptBy::Machine | PromptBy::Summary => "",
    }
}

fn episode<'a>(turns: &'a [Turn], driven: &[bool]) -> Episode<'a> {
    let steps: Vec<At<'_>> = turns
        .iter()
        .flat_map(|turn| &turn.steps)
        .zip(1..)
        .map(|(what, step)| At { step, what })
        .collect();
    let prompt = words_of(&turns[0]);
    let commits = commits(&steps);
    let mut statements = Vec::new();
    say_prompts(&mut statements, turns, driven);
    say_texts(&mut statements, turns);
    let plan_title = handed_plan(prompt);
    let ask = plan_title.clone().unwrap_or_else(|| plain(&request(first_lines(prompt))));
    let by_program = driven.contains(&true);
    Episode { turns, ask, plan: plan_title.is_some(), steps, statements, commits, by_program }
}

/// The words of a prompt before what was pasted under them.
fn first_lines(prompt: &str) -> &str {
    let log = words::LOG.find(prompt).map(|found| found.start());
    let head = prompt[..log.unwrap_or(prompt.len())].trim();
    // A log that begins in the middle of a line comes after a colon.
    let head = match head.find(": ") {
        Some(at) if log.is_some() && head.len() - at > PASTED_BYTES_MIN => head[..at].trim(),
        _ => head,
    };
    let head = if head.is_empty() { prompt.trim() } else { head };
    &head[..head.floor_char_boundary(PROMPT_BYTES_MAX)]
}

/// Returns the text of a prompt besides the words of the request; `None` without a log.
fn pasted(prompt: &str) -> Option<&str> {
    let prompt = prompt.trim_start();
    words::LOG.find(prompt)?;
    let rest = &prompt[first_lines(prompt).len()..];
    Some(rest.trim_start_matches([':', ' ', '\n'])).filter(|rest| !rest.is_empty())
}

/// Bytes from which a text that follows a colon in front of a log counts as pasted, too.
const PASTED_BYTES_MIN: usize = 80;

/// Bytes of a prompt that are its request; what follows is pasted.
const PROMPT_BYTES_MAX: usize = 1200;

/// The title of a plan: its first heading, without the word "plan".
pub fn title_of_plan(plan: &str) -> String {
    let line = plan.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = plain(line.trim_start_matches('#').trim());
    let lower = line.to_lowercase();
    let rest = ["plan:", "implementation plan:", "plan -", "plan —"]
        .iter()
        .find(|prefix| lower.starts_with(**prefix))
        .map_or(line.as_str(), |prefix| line[prefix.len()..].trim());
    rest.to_owned()
}

/// Returns the commits of the steps; a message tried again replaces the one before.
fn commits(steps: &[At<'_>]) -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    for at in steps {
        let StepKind::Call(call) = &at.what.what else { continue };
        let Input::Shell { command, .. } = &call.input else { continue };
        let Some(message) = commit_message(command) else { continue };
        commits.retain(|known| known.message.subject != message.subject);
        if !call.failed && !call.denied {
            commits.push(Commit {
                message,
                uuid: at.what.uuid.clone(),
                at: at.what.at,
                step: at.step,
            });
        }
    }
    commits
}

/// Adds the statements that the user made or accepted. A program's prompt, given in the user's place, only
/// shows what a session was about, so it is not a statement.
fn say_prompts(statements: &mut Vec<Statement>, turns: &[Turn], driven: &[bool]) {
    let mut step = 0;
    for (turn, &driven) in turns.iter().zip(driven) {
        let prompt = words_of(turn);
        let place = |channel| TurnPlace { channel, uuid: &turn.uuid, at: turn.at, step };
        if driven {
            step += turn.steps.len();
            continue;
        }
        if let Some(found) = words::PLAN_PROMPT.find(prompt) {
            let plan = words::PLAN_TAIL.replace(&prompt[found.end()..], "");
            say(statements, &plan, place(Channel::Plan));
        } else if !goes_on(prompt) {
            say(statements, &own_words(first_lines(prompt)), place(Channel::User));
            say_log(statements, prompt, place(Channel::User));
        }
        if turn.prompt.by == PromptBy::Summary {
            say(statements, &turn.prompt.text, place(Channel::Summary));
        }
        for what in &turn.steps {
            step += 1;
            match &what.what {
                StepKind::Queued { text } if !goes_on(text) => {
                    say(
                        statements,
                        &own_words(first_lines(text)),
                        TurnPlace { channel: Channel::User, uuid: &what.uuid, at: what.at, step },
                    );
                }
                StepKind::Call(call) => {
                    if let Input::Plan { plan } = &call.input
                        && !call.failed
                        && !call.denied
                    {
                        say(
                            statements,
                            plan,
                            TurnPlace {
                                channel: Channel::Plan,
                                uuid: &what.uuid,
                                at: what.at,
                                step,
                            },
                        );
                    }
                }
                StepKind::Queued { .. } | StepKind::Text { .. } | StepKind::Thinking { .. } => {}
            }
        }
    }
}

/// Of a pasted log, the lines that say what went wrong.
fn say_log(statements: &mut Vec<Statement>, prompt: &str, place: TurnPlace<'_>) {
    let Some(pasted) = pasted(prompt) else { return };
    let mut seen: Vec<String> = Vec::new();
    for line in telling_lines(pasted, LOG_LINES_MAX) {
        let text = cut(&plain(&line), LOG_CHARS_MAX);
        if text.split_whitespace().count() < 3 || seen.contains(&text) {
            continue;
        }
        let sentence = Sentence {
            raw: line.trim().to_owned(),
            heading: String::new(),
            list: false,
            block: PASTED,
            code: false,
            text: text.clone(),
        };
        push(statements, sentence, place);
        seen.push(text);
        if seen.len() == LOG_LINES_MAX {
            break;
        }
    }
}

/// The paragraph of what was pasted.
const PASTED: usize = usize::MAX;

/// Characters of a log line, and lines of a log, that are kept.
const LOG_CHARS_MAX: usize = 200;
const LOG_LINES_MAX: usize = 4;

fn say_texts(statements: &mut Vec<Statement>, turns: &[Turn]) {
    let mut step = 0;
    for turn in turns {
        let last = turn.steps.iter().rposition(|what| matches!(what.what, StepKind::Text { .. }));
        let mut slipped = false;
        for (index, what) in turn.steps.iter().enumerate() {
            step += 1;
            if let StepKind::Text { text } = &what.what {
                let ends = Some(index) == last && !turn.interrupted;
                let channel = if ends { Channel::Final } else { Channel::Said };
                let from = statements.len();
                say(statements, text, TurnPlace { channel, uuid: &what.uuid, at: what.at, step });
                for statement in &mut statements[from..] {
                    statement.transient |= slipped && !ends;
                }
            }
            if let StepKind::Call(call) = &what.what {
                slipped = is_slip(call);
            }
        }
    }
}

/// Whether Claude handled a tool of its own wrongly: an edit found nothing to replace, a file was
/// not read before. What is said of it concerns nobody later.
fn is_slip(call: &Call) -> bool {
    call.failed && !call.denied && matches!(call.input, Input::Edit { .. } | Input::Read { .. })
}

/// Where a text was said.
#[derive(Clone, Copy)]
struct TurnPlace<'a> {
    channel: Channel,
    uuid: &'a str,
    at: Timestamp,
    step: usize,
}

fn say(statements: &mut Vec<Statement>, text: &str, place: TurnPlace<'_>) {
    let sentences = prose::sentences(text);
    for mut sentence in sentences {
        if matches!(place.channel, Channel::Final | Channel::Said) {
            drop_next_step(&mut sentence);
        }
        push(statements, sentence, place);
    }
}

/// Cuts off what is done next where a sentence says something before it.
fn drop_next_step(sentence: &mut Sentence) {
    if let Some(found) = words::THEN_LETS.find(&sentence.text)
        && sentence.text[..found.start()].split_whitespace().count() >= BARE_WORDS_MIN
    {
        let start = found.start();
        sentence.text.truncate(start);
        sentence.text.push('.');
    }
}

fn push(statements: &mut Vec<Statement>, sentence: Sentence, place: TurnPlace<'_>) {
    let transient = is_transient(&sentence, place.channel);
    statements.push(Statement {
        transient,
        sentence,
        channel: place.channel,
        uuid: place.uuid.to_owned(),
        at: place.at,
        step: place.step,
        order: statements.len(),
    });
}

/// A sentence of fewer words that names no code says nothing by itself.
const BARE_WORDS_MIN: usize = 6;

/// Whether a text names a commit by its hash.
fn names_commit(text: &str) -> bool {
    words::HASH
        .find_iter(text)
        .any(|found| (HASH_CHARS_MIN..=HASH_CHARS_MAX).contains(&found.len()))
}

/// Characters of a commit's hash.
const HASH_CHARS_MIN: usize = 7;
const HASH_CHARS_MAX: usize = 40;

/// Whether a sentence only accompanies the work: what comes next, how things stand, a heading for
/// what follows, a question back.
fn is_transient(sentence: &Sentence, channel: Channel) -> bool {
    let text = sentence.text.as_str();
    let by_user = matches!(channel, Channel::User | Channel::Plan);
    if text.ends_with(':') || text.split_whitespace().count() < 3 {
        return true;
    }
    if by_user {
        let short_question =
            words::QUESTION.is_match(text) && text.split_whitespace().count() < BARE_WORDS_MIN;
        return short_question
            || channel == Channel::Plan && words::CHORE_HEADING.is_match(&sentence.heading);
    }
    let bare = text.split_whitespace().count() < BARE_WORDS_MIN
        && !sentence.code
        && !words::PATH.is_match(text);
    if bare || words::AT_LINE.is_match(text) {
        return true;
    }
    if words::QUESTION.is_match(text) || words::BOOKKEEPING.is_match(text) || names_commit(text) {
        return true;
    }
    if channel == Channel::Said && words::GUESSES.is_match(text) {
        return true;
    }
    let chore = words::CHORE_HEADING.is_match(&sentence.heading) && sentence.list;
    if words::LOOKS.is_match(text) || words::INTENDS.is_match(text) {
        return true;
    }
    let accompanies = words::NARRATION.is_match(text) || words::STATUS.is_match(text);
    chore && words::STATUS.is_match(text) || accompanies && !words::RESTRICTS.is_match(text)
}
