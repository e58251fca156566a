//! Turns as the index holds them: the prompt and what was said in answer; and apart from these what
//! the model thought, where a transcript tells.

use memory_store::index::document::{TURN_BYTES_MAX, Turn};
use memory_store::signature::error_signature;

use crate::transcript::session::{Input, PromptBy, Session, StepKind, Turn as SessionTurn};

/// Bytes of a turn's text in the index.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of it that the prompt may take.
const PROMPT_BYTES_MAX: usize = 1 << 10;
/// Different errors of a turn that it is found by.
const ERRORS_MAX: usize = 16;

/// The turns of a session that say something.
pub fn of_session(session: &Session) -> Vec<Turn> {
    turns(session, |turn| (text(turn), errors(turn)))
}

/// Returns the model's thinking in the turns of a session.
pub fn thoughts_of_session(session: &Session) -> Vec<Turn> {
    turns(session, |turn| (thoughts(turn), errors(turn)))
}

/// The turns of a session, of each what `held` says: its text, and the errors it is found by.
fn turns(session: &Session, held: impl Fn(&SessionTurn) -> (String, Vec<String>)) -> Vec<Turn> {
    let turns = session.turns.iter().enumerate();
    turns
        .filter_map(|(number, turn)| {
            let (text, errors) = held(turn);
            (!text.is_empty()).then(|| Turn {
                session: session.id.clone(),
                agent: session.agent.clone(),
                number: u32::try_from(number).unwrap_or(u32::MAX),
                at: turn.at,
                text,
                errors,
            })
        })
        .collect()
}

/// The errors of commands that came up in a turn, each once.
fn errors(turn: &SessionTurn) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    for step in &turn.steps {
        let StepKind::Call(call) = &step.what else { continue };
        if !matches!(call.input, Input::Shell { .. }) || !call.failed || call.denied {
            continue;
        }
        if let Some(signature) = error_signature(&call.output)
            && !errors.contains(&signature)
        {
            errors.push(signature);
        }
    }
    errors.truncate(ERRORS_MAX);
    errors
}

fn thoughts(turn: &SessionTurn) -> String {
    let thoughts = turn.steps.iter().filter_map(|step| match &step.what {
        StepKind::Thinking { text } => Some(text.trim()),
        StepKind::Text { .. } | StepKind::Queued { .. } | StepKind::Call(_) => None,
    });
    let mut text = thoughts.collect::<Vec<_>>().join("\n\n");
    text.truncate(text.floor_char_boundary(TURN_BYTES_MAX));
    text
}

fn text(turn: &SessionTurn) -> String {
    let mut parts: Vec<&str> = Vec::new();
    match turn.prompt.by {
        PromptBy::User
        | PromptBy::Sdk
        | PromptBy::Agent
        | PromptBy::Command
        | PromptBy::Summary => {
            let prompt = &turn.prompt.text;
            parts.push(&prompt[..prompt.floor_char_boundary(PROMPT_BYTES_MAX)]);
        }
        PromptBy::Machine => {}
    }
    let said = turn.steps.iter().filter_map(|step| match &step.what {
        StepKind::Text { text } | StepKind::Queued { text } => Some(text.as_str()),
        StepKind::Thinking { .. } | StepKind::Call(_) => None,
    });
    // The last text of a turn is its final message: it says what came of it.
    let mut said: Vec<&str> = said.collect();
    if let Some(last) = said.pop() {
        parts.push(last);
    }
    parts.extend(said);
    let mut text = parts.join("\n").trim().to_owned();
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}
