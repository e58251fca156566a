//! Failed commands as passages: the first line of the error, and what was changed before the same command passed.

use memory_store::signature::{error_signature, names_cause, normalise_command, telling_lines};

use super::markdown::cut;
use crate::extract::{REACH_STEPS, Roots, changed_line};
use crate::transcript::session::{Call, Input, Session, Step, StepKind};

/// Lines of an output in which what went wrong is looked for: that a script failed says nothing.
const LINES_TRIED: usize = 6;
/// Characters of a command, and of a line of an error or of a change.
const LINE_CHARS_MAX: usize = 160;
/// Files of a change that are named.
const FILES_MAX: usize = 3;
/// Commands between failure and success that are named.
const COMMANDS_MAX: usize = 2;

/// A failed command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Its words.
    pub text: String,
    /// Signature of the error, where the cure is known.
    pub error: Option<String>,
    /// Files that were changed before it passed.
    pub paths: Vec<String>,
}

/// The steps of a session in their order, with what identifies their commands.
pub struct Steps<'a> {
    all: Vec<&'a Step>,
}

impl<'a> Steps<'a> {
    /// Takes the steps of all turns.
    pub fn of(session: &'a Session) -> Self {
        Self { all: session.turns.iter().flat_map(|turn| &turn.steps).collect() }
    }

    /// Returns what a failed command is told as; `None` where nothing tells what went wrong.
    pub fn failure(&self, call: &Call, roots: &Roots) -> Option<Failure> {
        let Input::Shell { command, .. } = &call.input else { return None };
        if !call.failed || call.denied || call.interrupted {
            return None;
        }
        let mut lines = telling_lines(&call.output, LINES_TRIED).into_iter();
        let error = lines.find(|line| names_cause(&line.to_lowercase()))?;
        let key = normalise_command(command);
        if key.is_empty() {
            return None;
        }
        let shown = one_line(command, roots);
        let mut failure = Failure {
            text: format!("`{shown}` failed: {}", cut(roots.strip(&error).trim(), LINE_CHARS_MAX)),
            ..Failure::default()
        };
        let from = self.all.iter().position(|step| is_call(step, call))?;
        if let Some(cure) = self.cure(from, &key, roots) {
            failure.text.push_str(&format!("\nIt passed after {}.", cure.told()));
            failure.error = error_signature(&call.output);
            failure.paths = cure.files;
        }
        Some(failure)
    }

    /// What was done between a failure and the next success of the same command.
    fn cure(&self, from: usize, key: &str, roots: &Roots) -> Option<Cure> {
        let mut cure = Cure::default();
        for step in self.all.iter().skip(from + 1).take(REACH_STEPS) {
            let StepKind::Call(call) = &step.what else { continue };
            if call.denied || call.interrupted || call.result_uuid.is_none() {
                continue;
            }
            match &call.input {
                // Where it failed again, what was changed so far was not all of it.
                Input::Shell { command, .. }
                    if !call.failed && normalise_command(command) == key =>
                {
                    return (!cure.is_nothing()).then_some(cure);
                }
                Input::Shell { command, .. } if !call.failed => {
                    cure.commands.push(one_line(command, roots));
                }
                Input::Edit { path, old, new } if !call.failed => {
                    let path = roots.relative(path).unwrap_or_else(|| path.clone());
                    if !cure.files.contains(&path) {
                        cure.files.push(path);
                    }
                    cure.change = changed_line(old, new).map(str::to_owned);
                }
                _ => {}
            }
        }
        None
    }
}

/// What made a command pass.
#[derive(Default)]
struct Cure {
    files: Vec<String>,
    commands: Vec<String>,
    /// The only line that the last edit wrote anew.
    change: Option<String>,
}

impl Cure {
    fn is_nothing(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty()
    }

    fn told(&self) -> String {
        if self.files.is_empty() {
            let last = self.commands.iter().rev().take(COMMANDS_MAX).rev();
            let last: Vec<String> = last.map(|command| format!("`{command}`")).collect();
            return last.join(" and ");
        }
        let files = self.files[..self.files.len().min(FILES_MAX)].join(", ");
        match &self.change {
            Some(line) => format!("a change in {files}: `{}`", cut(line, LINE_CHARS_MAX)),
            None => format!("a change in {files}"),
        }
    }
}

fn is_call(step: &Step, call: &Call) -> bool {
    matches!(&step.what, StepKind::Call(other) if std::ptr::eq(other.as_ref(), call))
}

/// A command line as it is told.
fn one_line(command: &str, roots: &Roots) -> String {
    let line = command.lines().next().unwrap_or_default();
    cut(&roots.strip(line.trim()).replace('`', "'"), LINE_CHARS_MAX)
}
