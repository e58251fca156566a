//! Episodes. An episode is a request with everything until the next request. A prompt that only continues the work
//! ("yes", "commit this") belongs to the previous episode, so that a commit message is in the same episode as its work.

use std::ops::Range;

use memory_store::Timestamp;
use memory_store::signature::telling_lines;

use super::clean::{cut, plain};
use super::own_words::{own_words, request};
use super::prose::{self, ProseSentence};
use super::shell::{Message, commit_message};
use super::words;
use crate::transcript::session::{Input, PromptBy, Session, Step, StepKind, Turn};

/// A sentence that the user typed.
#[derive(Clone, Debug)]
pub struct TypedSentence {
    /// The sentence.
    pub sentence: ProseSentence,
    /// The record that contains it.
    pub uuid: String,
    /// The time of the statement.
    pub at: Timestamp,
}

impl TypedSentence {
    /// Returns whether the sentence is a line of a pasted log.
    pub fn is_pasted(&self) -> bool {
        self.sentence.block == PASTED
    }

    /// Returns the plain text of the sentence.
    pub fn text(&self) -> &str {
        &self.sentence.text
    }
}

/// A commit made in a session.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The message.
    pub message: Message,
    /// The time of the commit.
    pub at: Timestamp,
}

/// A request and its results.
#[derive(Debug)]
pub struct Episode {
    /// Whether the request is a plan that the user accepted.
    pub plan: bool,
    /// The sentences that the user typed.
    pub statements: Vec<TypedSentence>,
    /// Whether a program or another agent sent one of the prompts. Such a prompt contains no wish of the user.
    pub by_program: bool,
}

/// Splits a session into episodes.
pub fn episodes(session: &Session) -> Vec<Episode> {
    let driven = driven_by_programs(&session.turns);
    bounds(&session.turns)
        .into_iter()
        .map(|turns| episode(&session.turns[turns.clone()], &driven[turns]))
        .collect()
}

/// Returns the range of turns of each episode.
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

/// Returns, for each turn, whether a program or another agent controls the session. Prompts that such a program queues,
/// answers or accepts are not the user's. A turn started by a machine, such as a notice about the end of a task, counts
/// like the previous turn.
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

/// Returns whether a turn contains a new request.
fn opens(turn: &Turn) -> bool {
    match turn.prompt.by {
        PromptBy::User | PromptBy::Sdk | PromptBy::Agent => !goes_on(&turn.prompt.text),
        PromptBy::Command => command_ask(&turn.prompt.text).is_some(),
        PromptBy::Machine | PromptBy::Summary => false,
    }
}

/// Returns whether a prompt only asks Claude to continue.
pub fn goes_on(prompt: &str) -> bool {
    words::GOES_ON.is_match(prompt)
        || prompt.trim().chars().filter(|c| c.is_alphabetic()).count() < 3
}

/// Returns the arguments of a slash command; `None` if they have no content.
fn command_ask(text: &str) -> Option<&str> {
    let (_, arguments) = text.trim().split_once(char::is_whitespace)?;
    (arguments.split_whitespace().count() >= 3).then_some(arguments)
}

/// Returns the title of the plan that Claude Code inserted into a prompt; `None` if there is none.
pub fn handed_plan(prompt: &str) -> Option<String> {
    plan_in(prompt).map(title_of_plan)
}

/// Returns the plan that Claude Code inserted into a prompt; `None` if there is none.
pub fn plan_in(prompt: &str) -> Option<&str> {
    words::PLAN_PROMPT.find(prompt).map(|found| &prompt[found.end()..])
}

/// Returns the text of a prompt that may ask for work; empty for a prompt by a machine.
pub fn words_of(turn: &Turn) -> &str {
    match turn.prompt.by {
        PromptBy::User | PromptBy::Sdk | PromptBy::Agent => &turn.prompt.text,
        PromptBy::Command => command_ask(&turn.prompt.text).unwrap_or_default(),
        PromptBy::Machine | PromptBy::Summary => "",
    }
}

fn episode(turns: &[Turn], driven: &[bool]) -> Episode {
    Episode {
        plan: handed_plan(words_of(&turns[0])).is_some(),
        statements: statements(turns, driven),
        by_program: driven.contains(&true),
    }
}

/// Returns the request in a prompt: the title of the plan in it, or else the text without material.
pub fn asked(prompt: &str) -> String {
    handed_plan(prompt).unwrap_or_else(|| plain(&request(first_lines(prompt))))
}

/// Returns the text of a prompt before pasted text.
fn first_lines(prompt: &str) -> &str {
    let log = words::LOG.find(prompt).map(|found| found.start());
    let head = prompt[..log.unwrap_or(prompt.len())].trim();
    // If a log begins within a line, a colon precedes it.
    let head = match head.find(": ") {
        Some(at) if log.is_some() && head.len() - at > PASTED_BYTES_MIN => head[..at].trim(),
        _ => head,
    };
    let head = if head.is_empty() { prompt.trim() } else { head };
    &head[..head.floor_char_boundary(PROMPT_BYTES_MAX)]
}

/// Returns the text of a prompt after the request; `None` if the prompt contains no log.
fn pasted(prompt: &str) -> Option<&str> {
    let prompt = prompt.trim_start();
    words::LOG.find(prompt)?;
    let rest = &prompt[first_lines(prompt).len()..];
    Some(rest.trim_start_matches([':', ' ', '\n'])).filter(|rest| !rest.is_empty())
}

/// Minimum size in bytes of a text between a colon and a log that counts as pasted as well.
const PASTED_BYTES_MIN: usize = 80;

/// Maximum size in bytes of the request in a prompt. The text after it counts as pasted.
const PROMPT_BYTES_MAX: usize = 1200;

/// Returns the commits in some steps. If a commit was repeated, only the last attempt is returned.
pub fn commits_of<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    for step in steps {
        let StepKind::Call(call) = &step.what else { continue };
        let Input::Shell { command, .. } = &call.input else { continue };
        let Some(message) = commit_message(command) else { continue };
        if !call.failed && !call.denied {
            commits.retain(|known| known.message.subject != message.subject);
            commits.push(Commit { message, at: step.at });
        }
    }
    commits
}

/// Returns the sentences that the user typed. Prompts in a session controlled by a program, and plans in prompts,
/// contain none.
fn statements(turns: &[Turn], driven: &[bool]) -> Vec<TypedSentence> {
    let mut statements = Vec::new();
    for (turn, _) in turns.iter().zip(driven).filter(|(_, driven)| !**driven) {
        let prompt = words_of(turn);
        if !goes_on(prompt) && plan_in(prompt).is_none() {
            say(&mut statements, prompt, &turn.uuid, turn.at);
            say_log(&mut statements, prompt, &turn.uuid, turn.at);
        }
        for step in &turn.steps {
            if let StepKind::Queued { text } = &step.what
                && !goes_on(text)
            {
                say(&mut statements, text, &step.uuid, step.at);
            }
        }
    }
    statements
}

fn say(statements: &mut Vec<TypedSentence>, text: &str, uuid: &str, at: Timestamp) {
    for sentence in prose::sentences(&own_words(first_lines(text))) {
        statements.push(TypedSentence { sentence, uuid: uuid.to_owned(), at });
    }
}

/// Adds the lines of a pasted log that describe the problem.
fn say_log(statements: &mut Vec<TypedSentence>, prompt: &str, uuid: &str, at: Timestamp) {
    let Some(pasted) = pasted(prompt) else { return };
    let mut seen: Vec<String> = Vec::new();
    for line in telling_lines(pasted, LOG_LINES_MAX) {
        let text = cut(&plain(&line), LOG_CHARS_MAX);
        if text.split_whitespace().count() < 3 || seen.contains(&text) {
            continue;
        }
        let sentence = ProseSentence {
            raw: line.trim().to_owned(),
            heading: String::new(),
            list: false,
            block: PASTED,
            code: false,
            text: text.clone(),
        };
        statements.push(TypedSentence { sentence, uuid: uuid.to_owned(), at });
        seen.push(text);
        if seen.len() == LOG_LINES_MAX {
            break;
        }
    }
}

/// Paragraph number of pasted text.
const PASTED: usize = usize::MAX;

/// Maximum number of characters of a log line, and maximum number of lines of a log.
const LOG_CHARS_MAX: usize = 200;
const LOG_LINES_MAX: usize = 4;

/// Returns the heading of a plan, without the word "plan".
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
