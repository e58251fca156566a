//! Windows: what of a session is shown to a model at a time. A *window* is a run of whole turns;
//! a turn that is larger by itself is cut between its steps. Windows do not overlap.

use memory_store::Timestamp;
use memory_store::memory::SaidBy;

use crate::transcript::session::{Call, Input, PromptBy, Session, Turn, What};

/// Characters of one window: with instructions and answer it fits into 8,192 tokens.
pub const WINDOW_CHARS_MAX: usize = 16_000;
/// Windows of one session; what is beyond is left to the rules.
pub const WINDOWS_MAX: usize = 64;
/// Characters kept of one text of the user or the assistant.
const TEXT_CHARS_MAX: usize = 4_000;
/// Characters kept of a tool call and of its output.
const CALL_CHARS_MAX: usize = 600;

/// A part of a window with the record it comes from, so that a quote leads back to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The transcript record.
    pub uuid: String,
    /// When.
    pub at: Timestamp,
    /// Who said it.
    pub said_by: SaidBy,
    /// What the model is shown, without the label.
    pub text: String,
    /// The record's own words, in full: a quote must be found here.
    pub evidence: Vec<String>,
    /// The files it names.
    pub paths: Vec<String>,
}

/// What is shown to a model at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Its parts, in order.
    pub pieces: Vec<Piece>,
}

impl Window {
    /// The text that the model is shown.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            text.push_str(match piece.said_by {
                SaidBy::User => "[user] ",
                SaidBy::Assistant => "[assistant] ",
                SaidBy::Tool => "[tool] ",
            });
            text.push_str(&piece.text);
            text.push('\n');
        }
        text
    }

    fn chars(&self) -> usize {
        self.pieces.iter().map(Piece::chars).sum()
    }
}

impl Piece {
    fn chars(&self) -> usize {
        const LABEL_CHARS: usize = 14;
        self.text.chars().count() + LABEL_CHARS
    }
}

/// Cuts a session into windows.
pub fn windows(session: &Session) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let mut open = Window::default();
    for turn in session.turns.iter().filter(|turn| is_worth_reading(turn)) {
        let pieces = pieces(turn);
        let chars: usize = pieces.iter().map(Piece::chars).sum();
        if open.chars() + chars > WINDOW_CHARS_MAX {
            close(&mut windows, &mut open);
        }
        for piece in pieces {
            if open.chars() + piece.chars() > WINDOW_CHARS_MAX {
                close(&mut windows, &mut open);
            }
            open.pieces.push(piece);
        }
    }
    close(&mut windows, &mut open);
    windows.truncate(WINDOWS_MAX);
    windows
}

fn close(windows: &mut Vec<Window>, open: &mut Window) {
    let window = std::mem::take(open);
    let said = window.pieces.iter().any(|piece| piece.said_by != SaidBy::Tool);
    if said {
        windows.push(window);
    }
}

fn is_worth_reading(turn: &Turn) -> bool {
    match turn.prompt.by {
        PromptBy::User | PromptBy::Sdk | PromptBy::Command | PromptBy::Summary => true,
        PromptBy::Machine => !turn.steps.is_empty(),
    }
}

fn pieces(turn: &Turn) -> Vec<Piece> {
    let said_by = match turn.prompt.by {
        PromptBy::User | PromptBy::Command => SaidBy::User,
        PromptBy::Sdk | PromptBy::Machine | PromptBy::Summary => SaidBy::Assistant,
    };
    let prompt = Piece {
        uuid: turn.uuid.clone(),
        at: turn.at,
        said_by,
        text: cut(&turn.prompt.text, TEXT_CHARS_MAX),
        evidence: vec![turn.prompt.text.clone()],
        paths: Vec::new(),
    };
    let steps = turn.steps.iter().filter_map(|step| {
        let said = |said_by, text: &str| Piece {
            uuid: step.uuid.clone(),
            at: step.at,
            said_by,
            text: cut(text, TEXT_CHARS_MAX),
            evidence: vec![text.to_owned()],
            paths: Vec::new(),
        };
        match &step.what {
            What::Text { text } => Some(said(SaidBy::Assistant, text)),
            What::Queued { text } => Some(said(said_by, text)),
            What::Thinking { .. } => None,
            What::Call(call) => Some(Piece {
                text: call_text(call),
                evidence: call_evidence(call),
                paths: call_paths(call),
                ..said(SaidBy::Tool, "")
            }),
        }
    });
    std::iter::once(prompt).chain(steps).filter(|piece| !piece.text.trim().is_empty()).collect()
}

/// The words of a call that stand in the transcript, not ours about it.
fn call_evidence(call: &Call) -> Vec<String> {
    let mut evidence = vec![call.output.clone()];
    match &call.input {
        Input::Shell { command, description } => {
            evidence.extend([command.clone(), description.clone()]);
        }
        Input::Read { path } => evidence.push(path.clone()),
        Input::Edit { path, old, new } => evidence.extend([path.clone(), old.clone(), new.clone()]),
        Input::Search { pattern, path } => evidence.extend([pattern.clone(), path.clone()]),
        Input::Question { asked } => {
            evidence
                .extend(asked.iter().flat_map(|(question, answer)| [question, answer]).cloned());
        }
        Input::Plan { plan } => evidence.push(plan.clone()),
        Input::Todos { items } => evidence.extend(items.iter().map(|item| item.text.clone())),
        Input::Agent { prompt, .. } => evidence.push(prompt.clone()),
        Input::Other { json } => evidence.push(json.clone()),
        Input::Unknown => {}
    }
    evidence
}

/// One line on what was done, and what came of it where that can matter.
fn call_text(call: &Call) -> String {
    let outcome = match (call.denied, call.failed, call.interrupted) {
        (true, ..) => " (refused by the user)",
        (_, true, _) => " (failed)",
        (.., true) => " (interrupted)",
        _ => "",
    };
    let (what, shows_output) = match &call.input {
        Input::Shell { command, .. } => (format!("$ {}", cut(command, CALL_CHARS_MAX)), true),
        Input::Read { path } => (format!("read {path}"), false),
        Input::Edit { path, .. } => (format!("edited {path}"), false),
        Input::Search { pattern, .. } => (format!("searched {}", cut(pattern, 200)), false),
        Input::Question { asked } => {
            let asked: Vec<String> =
                asked.iter().map(|(question, answer)| format!("{question} -> {answer}")).collect();
            (cut(&asked.join("; "), TEXT_CHARS_MAX), false)
        }
        Input::Plan { plan } => (format!("plan: {}", cut(plan, TEXT_CHARS_MAX)), false),
        Input::Todos { items } => {
            let items: Vec<String> =
                items.iter().map(|item| format!("{} ({})", item.text, item.state)).collect();
            (cut(&format!("todos: {}", items.join("; ")), CALL_CHARS_MAX), false)
        }
        Input::Agent { agent, prompt } => {
            (format!("asked {agent}: {}", cut(prompt, CALL_CHARS_MAX)), true)
        }
        Input::Other { .. } | Input::Unknown => (format!("used {}", call.tool), false),
    };
    let output = call.output.trim();
    if output.is_empty() || !(shows_output || call.failed || call.denied) {
        return format!("{what}{outcome}");
    }
    format!("{what}{outcome}\n{}", cut(output, CALL_CHARS_MAX))
}

fn call_paths(call: &Call) -> Vec<String> {
    match &call.input {
        Input::Read { path } | Input::Edit { path, .. } => vec![path.clone()],
        Input::Shell { .. }
        | Input::Search { .. }
        | Input::Question { .. }
        | Input::Plan { .. }
        | Input::Todos { .. }
        | Input::Agent { .. }
        | Input::Other { .. }
        | Input::Unknown => Vec::new(),
    }
}

/// Keeps the beginning and the end of a long text.
fn cut(text: &str, chars_max: usize) -> String {
    const MARK: &str = " [...] ";
    let text = text.trim();
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let end_chars = chars_max / 3;
    let start: String = text.chars().take(chars_max - end_chars).collect();
    let end: String = text.chars().skip(chars - end_chars).collect();
    format!("{start}{MARK}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::session::{Prompt, Step};

    fn turn(number: usize, chars: usize, steps: usize) -> Turn {
        let text = |word: &str| format!("{word} {number} {}", "x".repeat(chars));
        Turn {
            uuid: format!("p{number}"),
            prompt: Prompt { text: text("ask"), ..Prompt::default() },
            steps: (0..steps)
                .map(|step| Step {
                    uuid: format!("s{number}.{step}"),
                    at: Timestamp(0),
                    what: What::Text { text: text("say") },
                })
                .collect(),
            ..Turn::default()
        }
    }

    #[test]
    fn windows_hold_whole_turns_and_everything_once() {
        let session =
            Session { turns: (0..40).map(|n| turn(n, 700, 1)).collect(), ..Session::default() };
        let windows = windows(&session);
        assert!(windows.len() > 2);
        let uuids: Vec<&str> = windows
            .iter()
            .flat_map(|window| &window.pieces)
            .map(|piece| piece.uuid.as_str())
            .collect();
        let expected: Vec<String> =
            (0..40).flat_map(|n| [format!("p{n}"), format!("s{n}.0")]).collect();
        assert_eq!(uuids, expected);
        for window in &windows {
            assert!(window.text().chars().count() <= WINDOW_CHARS_MAX);
            assert!(window.pieces[0].uuid.starts_with('p'), "a turn was cut");
        }
    }

    #[test]
    fn a_turn_larger_than_a_window_is_cut_between_steps() {
        let session = Session { turns: vec![turn(0, 3_900, 9)], ..Session::default() };
        let windows = windows(&session);
        assert_eq!(windows.iter().map(|window| window.pieces.len()).sum::<usize>(), 10);
        assert!(windows.iter().all(|window| window.chars() <= WINDOW_CHARS_MAX));
    }
}
