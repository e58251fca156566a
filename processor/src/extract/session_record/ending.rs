//! End of a session: calls that failed and did not pass later, the unanswered question, and the last answer.

use memory_store::memory::CommandRecord;
use memory_store::signature::{classify, error_signature, normalise_command};

use super::calls;
use super::record::{
    FAILING_MAX, ITEM_CHARS_MAX, PASSING_MAX, REJECTED_MAX, RejectedCall, TEXT_CHARS_MAX, settles,
};
use crate::extract::episode::title_of_plan;
use crate::extract::fixes::is_sibling;
use crate::extract::paths::touched;
use crate::extract::{Roots, cut, plain, words};
use crate::passages::markdown::{MarkdownUnit, asks, count_words, units};
use crate::transcript::Speaker;
use crate::transcript::session::{Call, Input, StepKind, Turn};

/// Maximum number of characters of a question. A longer text does not count as a question.
const QUESTION_CHARS_MAX: usize = 280;
/// Exit status of a failed command if its status is not recorded.
const FAILED: i32 = 1;

/// Returns the last message of a turn. It is never blank, because the reader of transcripts omits blank messages.
pub fn last_text(turn: &Turn) -> Option<&str> {
    turn.steps.iter().rev().find_map(|step| match &step.what {
        StepKind::Text { text } => Some(text.as_str()),
        StepKind::Thinking { .. } | StepKind::Queued { .. } | StepKind::Call(_) => None,
    })
}

/// Returns the first paragraph of the last message of a turn that contains words and is not a question; `None` if there
/// is none.
pub fn answer_of(turn: &Turn) -> Option<String> {
    let units = units(last_text(turn)?);
    let tells = |text: &&str| count_words(text) > 0 && !asks(text);
    let whole = units.iter().map(|unit| unit.text.as_str()).find(tells);
    // A short answer is in one unit with the question after it, so only the first line of the unit is used.
    let lines = || units.first().and_then(|unit: &MarkdownUnit| unit.text.lines().find(tells));
    whole.or_else(lines).map(|text| cut(text, TEXT_CHARS_MAX))
}

/// Returns the question at the end of the assistant's last message in a turn; `None` if there is none.
pub fn question_of(turn: &Turn) -> Option<String> {
    let unit = units(last_text(turn)?).pop()?.text;
    (asks(&unit) && unit.chars().count() <= QUESTION_CHARS_MAX).then_some(unit)
}

/// Returns the last question if it was not answered: a question at the end of the assistant's message or in a dialogue,
/// or a question of the user.
pub fn open_question(turns: &[Turn]) -> Option<String> {
    // A notice by the client, for example about the end of a task, is not an answer.
    let turn = turns
        .iter()
        .rev()
        .find(|turn| Speaker::of_prompt(turn.prompt.by).is_some() || last_text(turn).is_some())?;
    let asked = turn.steps.iter().rev().find_map(|step| match &step.what {
        StepKind::Text { .. } => Some(question_of(turn)),
        StepKind::Call(call) => match &call.input {
            Input::Question { asked } => Some(unanswered(call, asked)),
            _ => None,
        },
        // The user typed this prompt after the question, so it counts as the answer.
        StepKind::Queued { .. } => Some(None),
        StepKind::Thinking { .. } => None,
    });
    let prompt = || units(&turn.prompt.text).pop().map(|unit| unit.text).filter(|it| asks(it));
    let question = asked.unwrap_or_else(prompt)?;
    Some(cut(asked_in(&plain(last_line(&question))), QUESTION_CHARS_MAX))
}

/// Returns the part of a text that contains its last question, from the beginning of that sentence.
fn asked_in(text: &str) -> &str {
    let Some(end) = text.rfind(['?', '？']) else { return text };
    let before = text[..end].rmatch_indices(['.', '!', '?', '。', '？']);
    let is_end = |at: usize, stop: &str| {
        let next = &text[at + stop.len()..];
        !stop.is_ascii() || next.starts_with(char::is_whitespace)
    };
    let start = before.into_iter().find(|(at, stop)| is_end(*at, stop));
    start.map_or(text, |(at, stop)| text[at + stop.len()..].trim_start())
}

/// Returns the last line of a unit. A unit may consist of several short paragraphs.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

fn unanswered(call: &Call, asked: &[(String, String)]) -> Option<String> {
    let is_open = |answer: &str| call.denied || call.interrupted || answer.trim().is_empty();
    let open = asked.iter().find(|(_, answer)| is_open(answer))?;
    open.0.lines().next().map(str::to_owned)
}

/// Returns the last text of the assistant if the last turn was interrupted, else `None`.
pub fn stopped(turns: &[Turn]) -> Option<String> {
    let turn = turns.last().filter(|turn| turn.interrupted)?;
    let unit = units(last_text(turn)?).pop()?;
    Some(cut(&plain(last_line(&unit.text)), ITEM_CHARS_MAX))
}

/// Returns the tool calls that the user rejected.
pub fn rejected(turns: &[Turn], roots: &Roots) -> Vec<RejectedCall> {
    let what = |call: &Call| match &call.input {
        Input::Shell { command, .. } => command.lines().next().unwrap_or_default().to_owned(),
        Input::Plan { plan } => title_of_plan(plan),
        _ => touched(call).unwrap_or_default().to_owned(),
    };
    let rejected = calls(turns).filter(|call| call.denied).map(|call| RejectedCall {
        tool: call.tool.clone(),
        what: cut(&roots.strip(&what(call)), ITEM_CHARS_MAX),
    });
    let mut rejected: Vec<RejectedCall> = rejected.collect();
    rejected.drain(..rejected.len().saturating_sub(REJECTED_MAX));
    rejected
}

/// Returns the commands that failed and did not pass later, in the order of the session.
pub fn failing(turns: &[Turn], roots: &Roots) -> Vec<CommandRecord> {
    let mut failing: Vec<(String, CommandRecord)> = Vec::new();
    for turn in turns {
        for step in &turn.steps {
            let StepKind::Call(call) = &step.what else { continue };
            let Input::Shell { command, .. } = &call.input else { continue };
            let key = normalise_command(command);
            if key.is_empty() || call.denied || call.interrupted {
                continue;
            }
            failing.retain(|(known, _)| *known != key && (call.failed || !settles(&key, known)));
            if call.failed && is_failure(&key, call) {
                let record = CommandRecord {
                    line: cut(&key, ITEM_CHARS_MAX),
                    directory: roots.directory(&turn.cwd, "").unwrap_or_else(|| ".".to_owned()),
                    exit_status: exit_status(&call.output),
                    passed: 0,
                    last: step.at,
                };
                failing.push((key, record));
            }
        }
    }
    failing.drain(..failing.len().saturating_sub(FAILING_MAX));
    failing.into_iter().map(|(_, record)| record).collect()
}

/// Returns the commands that passed, in their normal form and in the order of the session.
pub fn passing(turns: &[Turn]) -> Vec<String> {
    let mut passing: Vec<String> = Vec::new();
    for call in calls(turns) {
        let Input::Shell { command, .. } = &call.input else { continue };
        if call.failed || call.denied || call.interrupted {
            continue;
        }
        let line = cut(&normalise_command(command), ITEM_CHARS_MAX);
        passing.retain(|known| *known != line);
        if !line.is_empty() {
            passing.push(line);
        }
    }
    passing.drain(..passing.len().saturating_sub(PASSING_MAX));
    passing
}

/// Returns the exit status that the client wrote before the output of a failed command.
fn exit_status(output: &str) -> i32 {
    let rest = output.trim_start().strip_prefix("Exit code ").unwrap_or_default();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().unwrap_or(FAILED)
}

/// Returns whether a failed call is worth reporting. For example, a search without a match has an error status, but is
/// not worth reporting.
fn is_failure(key: &str, call: &Call) -> bool {
    let fails = classify(key).is_some() || error_signature(&call.output).is_some();
    fails && !words::USAGE.is_match(&call.output) && !is_sibling(call)
}
