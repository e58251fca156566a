//! Windows: the parts of a session that are sent to a model one at a time.
//!
//! A *window* consists of consecutive whole turns. A turn that is larger than a window is split between its steps, and
//! a larger text is split between its paragraphs, so that all words of the user and all plans are included. Windows do
//! not overlap and are filled from the beginning of the session, so only the last window changes if a session
//! continues.

use memory_store::Timestamp;
use memory_store::memory::SaidBy;

use crate::extract::own_words;
use crate::transcript::session::{Call, Input, PromptBy, Session, StepKind, Turn};

/// Maximum number of characters of one window. `room.rs` reduces it for models with a small context.
pub const WINDOW_CHARS_MAX: usize = 16_000;
/// Maximum number of characters of the request that is repeated before a window that begins inside a turn.
const REQUEST_CHARS_MAX: usize = 600;
/// Maximum number of windows of one session. If windows are smaller, there may be proportionally more. The rest of the
/// session is not sent to the model.
pub const WINDOWS_MAX: usize = 64;
/// Maximum number of characters of one text by the assistant.
const TEXT_CHARS_MAX: usize = 4_000;
/// Maximum number of characters of a tool call, and of its output.
const CALL_CHARS_MAX: usize = 600;

/// A part of a window with the id of its record, so that a quote can be traced to its source.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowPiece {
    /// Id of the transcript record.
    pub uuid: String,
    /// The time of the record.
    pub at: Timestamp,
    /// The speaker.
    pub said_by: SaidBy,
    /// Text for the model, without the label.
    pub text: String,
    /// The complete words of the record. A quote must occur in these.
    pub evidence: Vec<String>,
    /// The complete text of a person, including passages that the person passed on from others. A quote that occurs
    /// only here is never a wish.
    pub passed_on: Option<String>,
    /// The files that this part names.
    pub paths: Vec<String>,
    /// Whether the part is a message or a plan. A window without such a part is not sent.
    pub is_said: bool,
    /// Whether the part is a failed tool call.
    pub is_failure: bool,
}

/// Part of a session that is sent to a model at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionWindow {
    /// Beginning of the request to which the first part belongs, if the request is in an earlier window. It is context,
    /// not evidence.
    pub request: Option<String>,
    /// The parts of the window, in the order of the session.
    pub pieces: Vec<WindowPiece>,
}

impl SessionWindow {
    /// Returns the text for the model.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(request) = &self.request {
            text.push_str(&format!("[user, before this part] {request}\n"));
        }
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
        let request = self.request.as_ref().map_or(0, |text| text.chars().count() + LABEL_CHARS);
        request + self.pieces.iter().map(WindowPiece::chars).sum::<usize>()
    }
}

/// Maximum number of characters of a label with the separator before the next part.
const LABEL_CHARS: usize = 26;

impl WindowPiece {
    fn chars(&self) -> usize {
        self.text.chars().count() + LABEL_CHARS
    }
}

/// Splits a session into windows of at most `chars_max` characters.
pub fn windows(session: &Session, chars_max: usize) -> Vec<SessionWindow> {
    let mut windows: Vec<SessionWindow> = Vec::new();
    let mut open = SessionWindow::default();
    for turn in session.turns.iter().filter(|turn| is_worth_reading(turn)) {
        let pieces = pieces(turn, chars_max);
        let chars: usize = pieces.iter().map(WindowPiece::chars).sum();
        if open.chars() + chars > chars_max {
            close(&mut windows, &mut open);
        }
        for (at, piece) in pieces.into_iter().enumerate() {
            if open.chars() + piece.chars() > chars_max {
                close(&mut windows, &mut open);
            }
            if open.pieces.is_empty() && at > 0 {
                let request = cut_middle(&turn.prompt.text, request_chars(chars_max));
                open.request = Some(request).filter(|request| !request.is_empty());
            }
            open.pieces.push(piece);
        }
    }
    close(&mut windows, &mut open);
    windows.truncate(WINDOWS_MAX * (WINDOW_CHARS_MAX / chars_max.max(1)).max(1));
    windows
}

fn close(windows: &mut Vec<SessionWindow>, open: &mut SessionWindow) {
    let window = std::mem::take(open);
    if window.pieces.iter().any(|piece| piece.is_said) {
        windows.push(window);
    }
}

fn is_worth_reading(turn: &Turn) -> bool {
    match turn.prompt.by {
        PromptBy::User
        | PromptBy::Sdk
        | PromptBy::Agent
        | PromptBy::Command
        | PromptBy::Summary => true,
        PromptBy::Machine => !turn.steps.is_empty(),
    }
}

fn pieces(turn: &Turn, chars_max: usize) -> Vec<WindowPiece> {
    let said_by = match turn.prompt.by {
        PromptBy::User | PromptBy::Command => SaidBy::User,
        PromptBy::Sdk | PromptBy::Agent | PromptBy::Machine | PromptBy::Summary => {
            SaidBy::Assistant
        }
    };
    let prompt = WindowPiece {
        uuid: turn.uuid.clone(),
        at: turn.at,
        said_by,
        text: turn.prompt.text.trim().to_owned(),
        evidence: vec![own_of(said_by, &turn.prompt.text)],
        passed_on: (said_by == SaidBy::User).then(|| turn.prompt.text.clone()),
        paths: Vec::new(),
        is_said: true,
        is_failure: false,
    };
    let steps = turn.steps.iter().filter_map(|step| {
        let said = |said_by, text: &str| WindowPiece {
            uuid: step.uuid.clone(),
            at: step.at,
            said_by,
            text: cut_middle(text, TEXT_CHARS_MAX),
            evidence: vec![own_of(said_by, text)],
            passed_on: (said_by == SaidBy::User).then(|| text.to_owned()),
            paths: Vec::new(),
            is_said: true,
            is_failure: false,
        };
        match &step.what {
            StepKind::Text { text } => Some(said(SaidBy::Assistant, text)),
            StepKind::Queued { text } => {
                Some(WindowPiece { text: text.trim().to_owned(), ..said(said_by, text) })
            }
            StepKind::Thinking { .. } => None,
            StepKind::Call(call) => Some(WindowPiece {
                text: call_text(call),
                evidence: call_evidence(call),
                paths: call_paths(call),
                is_said: matches!(call.input, Input::Plan { .. }),
                is_failure: call.failed && !call.denied,
                ..said(SaidBy::Tool, "")
            }),
        }
    });
    let pieces = std::iter::once(prompt).chain(steps);
    let pieces = pieces.filter(|piece| !piece.text.trim().is_empty());
    pieces.flat_map(|piece| split(piece, chars_max)).collect()
}

/// Returns the maximum number of characters of the request before a window of `chars_max` characters.
fn request_chars(chars_max: usize) -> usize {
    REQUEST_CHARS_MAX.min(chars_max / 8)
}

/// Splits a part that is larger than a window between its paragraphs, or else between its lines.
fn split(piece: WindowPiece, chars_max: usize) -> Vec<WindowPiece> {
    let room = chars_max.saturating_sub(request_chars(chars_max) + 3 * LABEL_CHARS).max(1);
    let mut parts = Vec::new();
    let mut rest = piece.text.as_str();
    while let Some((end, _)) = rest.char_indices().nth(room) {
        let head = &rest[..end];
        let gap = head.rfind("\n\n").or_else(|| head.rfind('\n')).or_else(|| head.rfind(' '));
        let (part, after) = rest.split_at(gap.filter(|at| *at > 0).unwrap_or(end));
        parts.push(WindowPiece { text: part.trim_end().to_owned(), ..piece.clone() });
        rest = after.trim_start();
    }
    let last = rest.to_owned();
    parts.push(WindowPiece { text: last, ..piece });
    parts
}

/// Returns the speaker's own part of a text. A person may also pass on another person's words.
fn own_of(said_by: SaidBy, text: &str) -> String {
    if said_by == SaidBy::User { own_words(text) } else { text.to_owned() }
}

/// Returns the words of a call that occur in the transcript, without words added here.
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

/// Returns one line about an action, with its result if that may matter.
fn call_text(call: &Call) -> String {
    let outcome = match (call.denied, call.failed, call.interrupted) {
        (true, ..) => " (refused by the user)",
        (_, true, _) => " (failed)",
        (.., true) => " (interrupted)",
        _ => "",
    };
    let (what, shows_output) = match &call.input {
        Input::Shell { command, .. } => {
            (format!("$ {}", cut_middle(command, CALL_CHARS_MAX)), true)
        }
        Input::Read { path } => (format!("read {path}"), false),
        Input::Edit { path, .. } => (format!("edited {path}"), false),
        Input::Search { pattern, .. } => (format!("searched {}", cut_middle(pattern, 200)), false),
        Input::Question { asked } => {
            let asked: Vec<String> =
                asked.iter().map(|(question, answer)| format!("{question} -> {answer}")).collect();
            (asked.join("; "), false)
        }
        Input::Plan { plan } => (format!("plan: {}", plan.trim()), false),
        Input::Todos { items } => {
            let items: Vec<String> =
                items.iter().map(|item| format!("{} ({})", item.text, item.state)).collect();
            (cut_middle(&format!("todos: {}", items.join("; ")), CALL_CHARS_MAX), false)
        }
        Input::Agent { agent, prompt } => {
            (format!("asked {agent}: {}", cut_middle(prompt, CALL_CHARS_MAX)), true)
        }
        Input::Other { .. } | Input::Unknown => (format!("used {}", call.tool), false),
    };
    let output = call.output.trim();
    if output.is_empty() || !(shows_output || call.failed || call.denied) {
        return format!("{what}{outcome}");
    }
    format!("{what}{outcome}\n{}", cut_middle(output, CALL_CHARS_MAX))
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

/// Returns the beginning and the end of a long text with a mark between them, `chars_max` characters in total.
pub(super) fn cut_middle(text: &str, chars_max: usize) -> String {
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
    use std::collections::BTreeSet;

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
                    what: StepKind::Text { text: text("say") },
                })
                .collect(),
            ..Turn::default()
        }
    }

    #[test]
    fn what_a_prompt_quotes_is_no_evidence_of_a_wish() {
        let mut turn = turn(1, 1, 0);
        turn.prompt.text = "Answer this mail:\n\nAlways name the zone of a date.".to_owned();
        let session = Session { turns: vec![turn], ..Session::default() };
        let piece = &windows(&session, WINDOW_CHARS_MAX)[0].pieces[0];
        assert_eq!(piece.evidence, [""]);
        assert!(piece.passed_on.as_ref().unwrap().contains("name the zone"));
    }

    #[test]
    fn windows_hold_whole_turns_and_everything_once() {
        let session =
            Session { turns: (0..40).map(|n| turn(n, 700, 1)).collect(), ..Session::default() };
        let windows = windows(&session, WINDOW_CHARS_MAX);
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
        // Turns that are added at the end change only the last window.
        let mut grown = session.clone();
        grown.turns.extend((40..43).map(|n| turn(n, 700, 1)));
        let all = windows.len() - 1;
        assert_eq!(super::windows(&grown, WINDOW_CHARS_MAX)[..all], windows[..all]);
    }

    #[test]
    fn no_word_of_the_user_and_no_plan_is_left_out() {
        let words = |tag: &str| -> String {
            (0..6_000)
                .map(|n| format!("{tag}{n}{}", if n % 40 == 0 { "\n\n" } else { " " }))
                .collect()
        };
        let plan = Call { input: Input::Plan { plan: words("p") }, ..Call::default() };
        let step = |what| Step { uuid: "s".into(), at: Timestamp(0), what };
        let turn = Turn {
            prompt: Prompt { text: words("u"), ..Prompt::default() },
            steps: vec![
                step(StepKind::Call(Box::new(plan))),
                step(StepKind::Queued { text: words("q") }),
            ],
            ..Turn::default()
        };
        let session = Session { turns: vec![turn], ..Session::default() };
        for chars_max in [WINDOW_CHARS_MAX, 3_000] {
            everything_is_shown(&windows(&session, chars_max), chars_max);
        }
    }

    fn everything_is_shown(windows: &[SessionWindow], chars_max: usize) {
        assert!(windows.iter().all(|window| window.text().chars().count() <= chars_max));
        let shown: BTreeSet<String> = windows
            .iter()
            .flat_map(|window| &window.pieces)
            .flat_map(|piece| piece.text.split_whitespace())
            .map(str::to_owned)
            .collect();
        for tag in ["u", "p", "q"] {
            assert!((0..6_000).all(|n| shown.contains(&format!("{tag}{n}"))), "{tag}");
        }
        assert_eq!(windows[0].request, None);
        assert!(windows[1..].iter().all(|window| {
            window.request.as_ref().is_some_and(|request| request.starts_with("u0"))
        }));
    }

    #[test]
    fn a_turn_larger_than_a_window_is_cut_between_steps() {
        let session = Session { turns: vec![turn(0, 3_900, 9)], ..Session::default() };
        let windows = windows(&session, WINDOW_CHARS_MAX);
        assert_eq!(windows.iter().map(|window| window.pieces.len()).sum::<usize>(), 10);
        assert!(windows.iter().all(|window| window.chars() <= WINDOW_CHARS_MAX));
    }
}
