//! The end of a session. It is sent with each window of the session, because a window does not contain later fixes,
//! completions and retractions.

use super::window::cut_middle;
use crate::extract::Landed;
use crate::extract::session_record::{is_done, last_text, todos};
use crate::transcript::session::{Input, Session, StepKind};

/// Maximum number of commits in the text. The last are used.
const COMMITS_MAX: usize = 16;
/// Maximum number of characters of the last answer.
const ANSWER_CHARS_MAX: usize = 1_800;
/// Maximum number of open items in the text.
const OPEN_MAX: usize = 8;
/// Maximum number of characters of one line.
const LINE_CHARS_MAX: usize = 160;

/// State at the end of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Subjects of the session's commits, in their order.
    pub commits: Vec<String>,
    /// Unfinished items of the session's last todo list.
    pub open: Vec<String>,
    /// The last command, if it failed.
    pub failing: Option<String>,
    /// The assistant's last message with content.
    pub answer: String,
}

impl Ending {
    /// Determines the end of a session.
    pub fn of(session: &Session) -> Self {
        let commits = Landed::of(session).into_iter();
        let mut commits: Vec<String> = commits.map(|commit| line(&commit.subject)).collect();
        commits.drain(..commits.len().saturating_sub(COMMITS_MAX));
        let open = todos(&session.turns).iter().filter(|item| !is_done(item)).take(OPEN_MAX);
        let open = open.map(|item| line(&item.text)).collect();
        Self {
            commits,
            open,
            failing: failing(session),
            answer: cut_middle(answer(session), ANSWER_CHARS_MAX),
        }
    }

    /// Returns the text for a question; empty if there is no information. It has at most `chars_max` characters, and a
    /// mark if it was truncated.
    pub fn text_within(&self, chars_max: usize) -> String {
        let text = self.text();
        let mut text = cut_middle(&text, chars_max);
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.commits.is_empty() {
            text.push_str(&format!("commits:\n- {}\n", self.commits.join("\n- ")));
        }
        if !self.open.is_empty() {
            text.push_str(&format!("open todos:\n- {}\n", self.open.join("\n- ")));
        }
        if let Some(command) = &self.failing {
            text.push_str(&format!("failed last: {command}\n"));
        }
        if !self.answer.is_empty() {
            text.push_str(&format!("last answer: {}\n", self.answer));
        }
        text
    }
}

/// Returns the last answer that describes the state of the work. A short answer ("Pushed.") is returned only if there
/// is no longer one.
fn answer(session: &Session) -> &str {
    let mut answers = session.turns.iter().rev().filter_map(last_text).map(str::trim);
    let last = answers.next().unwrap_or_default();
    let says = |answer: &&str| answer.chars().count() >= ANSWER_CHARS_MIN;
    if says(&last) { last } else { answers.take(ANSWERS_MAX).find(says).unwrap_or(last) }
}

/// Minimum number of characters of an answer that probably describes the state of the work.
const ANSWER_CHARS_MIN: usize = 240;
/// Maximum number of answers that are searched for a long one.
const ANSWERS_MAX: usize = 8;

/// Returns the last shell command of a session if it failed, else `None`.
fn failing(session: &Session) -> Option<String> {
    let steps = session.turns.iter().flat_map(|turn| &turn.steps).rev();
    let mut commands = steps.filter_map(|step| match &step.what {
        StepKind::Call(call) => match &call.input {
            Input::Shell { command, .. } => Some((call, command)),
            _ => None,
        },
        StepKind::Text { .. } | StepKind::Thinking { .. } | StepKind::Queued { .. } => None,
    });
    let (call, command) = commands.next()?;
    (call.failed && !call.denied).then(|| line(command))
}

fn line(text: &str) -> String {
    cut_middle(text.lines().next().unwrap_or_default(), LINE_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use memory_store::Timestamp;

    use super::*;
    use crate::transcript::session::{Call, Prompt, Step, Todo, Turn};

    #[test]
    fn the_end_has_commits_open_items_the_failure_and_the_answer() {
        let step = |what| Step { uuid: "s".into(), at: Timestamp(0), what };
        let run = |command: &str, failed| {
            let input = Input::Shell { command: command.into(), description: String::new() };
            step(StepKind::Call(Box::new(Call {
                tool: "Bash".into(),
                input,
                failed,
                ..Call::default()
            })))
        };
        let items = vec![
            Todo { text: "write the docs".into(), state: "pending".into() },
            Todo { text: "fix the sum".into(), state: "completed".into() },
        ];
        let todos = Call { input: Input::Todos { items }, ..Call::default() };
        let say = |text: &str| step(StepKind::Text { text: text.into() });
        let turn = Turn {
            prompt: Prompt { text: "Fix the sum and write the docs".into(), ..Prompt::default() },
            steps: vec![
                step(StepKind::Call(Box::new(todos))),
                run("git commit -m 'Round half to even'", false),
                say("The sum is right now."),
                run("npm run docs", true),
                say("The docs do not build yet."),
            ],
            ..Turn::default()
        };
        let session = Session { turns: vec![turn], ..Session::default() };
        let text = Ending::of(&session).text();
        assert_eq!(
            text,
            "commits:\n- Round half to even\nopen todos:\n- write the docs\nfailed last: npm run docs\n\
             last answer: The docs do not build yet.\n"
        );
        assert_eq!(Ending::of(&Session::default()).text(), "");
    }
}
