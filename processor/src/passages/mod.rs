//! Passages of a session: short pieces of its texts and actions, as stored in the index. No rule judges their value.
//!
//! A passage is a paragraph, a list item with its introduction, a table row with its header, a section of a written
//! Markdown file, a commit message, or a failed command with its cure. Output of programs is not a passage. Texts that
//! hooks and memories added to the context are not passages either; the reader of transcripts has removed them.

pub(crate) mod markdown;
#[cfg(test)]
mod tests;

use memory_store::index::document::Passage;
use memory_store::memory::SaidBy;
use memory_store::recall::passages::may_be_given;
use memory_store::signature::{error_signature, names_cause, telling_lines};
use memory_store::text;

use crate::extract::session_record::{Cure, SessionRecord, answer_of, question_of, title_of};
use crate::extract::{Roots, commit_message, subject_of};
use crate::transcript::session::{Call, Input, PromptBy, Session, StepKind, Turn};
use markdown::{CHARS_MAX, count_words, cut};

pub use markdown::{MarkdownUnit, asks, units};

/// Version of the rules that split sessions into passages.
const VERSION: u32 = 4;

/// Returns a version number of the splitting of sessions and of the filter for passages. If it changes, all passages
/// are rebuilt.
pub fn version() -> u32 {
    let [first, second, third, fourth, ..] = memory_store::suspicion::fingerprint();
    u32::from_le_bytes([first, second, third, fourth]) ^ VERSION
}

/// Minimum number of words of a passage of the user, and of any other passage.
const USER_WORDS_MIN: usize = 2;
const WORDS_MIN: usize = 3;
/// Maximum number of passages of a turn.
const TURN_MAX: usize = 400;
/// Maximum number of errors by which the passages of a turn can be found.
const ERRORS_MAX: usize = 16;
/// Maximum number of files by which a passage can be found.
const PATHS_MAX: usize = 8;
/// Maximum number of files by which a turn can be found.
const TOUCHED_MAX: usize = 32;
/// Maximum number of output lines that are searched for a cause. A failed script does not name a cause.
const LINES_TRIED: usize = 6;
/// Maximum number of characters of a command, and of a line of an error.
const LINE_CHARS_MAX: usize = 160;
/// Maximum number of characters of a prompt that may be an answer.
const ANSWER_CHARS_MAX: usize = CHARS_MAX / 2;
/// Folder of the program's memory files. Their text is not part of the conversation.
const OUR_FOLDER: &str = ".throughline/";

/// Returns the passages of a session.
pub fn of_session(session: &Session, roots: &Roots) -> Vec<Passage> {
    let cures = SessionRecord::cures(session, roots);
    let mut passages = Vec::new();
    let mut asked: Option<String> = None;
    for (number, turn) in session.turns.iter().enumerate() {
        let mut writer = Writer::new(roots, turn);
        writer.prompt(asked.take());
        writer.steps(&cures);
        asked = question_of(turn);
        passages.extend(writer.finish(session, number));
    }
    if let Some(first) = passages.first_mut().filter(|_| session.agent.is_none()) {
        first.title = title_beside(session, &first.text);
    }
    passages
}

/// Returns the title of a session, by which its first passage can also be found. Returns an empty text if the passage
/// contains all its words, or if the title must not be given: it may be from a page that Claude read.
fn title_beside(session: &Session, text: &str) -> String {
    let title = title_of(session);
    let is_new = !subject_of(&title).is_subset(&subject_of(text));
    if is_new && may_be_given(&title) { title } else { String::new() }
}

/// Returns the passages of the model's thinking in a session.
pub fn thoughts_of_session(session: &Session, roots: &Roots) -> Vec<Passage> {
    let turns = session.turns.iter().enumerate();
    let passages = turns.flat_map(|(number, turn)| {
        let mut writer = Writer::new(roots, turn);
        for step in &turn.steps {
            if let StepKind::Thinking { text } = &step.what {
                // Thinking is returned only by explicit search, so short pieces are included.
                let units = units(text);
                units.iter().for_each(|unit| writer.add(SaidBy::Assistant, &unit.whole(), &[]));
            }
        }
        writer.finish(session, number)
    });
    passages.collect()
}

/// Collects the passages of a turn.
struct Writer<'a> {
    roots: &'a Roots,
    turn: &'a Turn,
    passages: Vec<Passage>,
    /// Signatures of the errors so far, for later statements about them.
    errors: Vec<String>,
    /// Files that the turn read or wrote.
    touched: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(roots: &'a Roots, turn: &'a Turn) -> Self {
        Self { roots, turn, passages: Vec::new(), errors: Vec::new(), touched: Vec::new() }
    }

    /// Adds the prompt of the turn, which may answer the assistant's earlier question `asked`.
    fn prompt(&mut self, asked: Option<String>) {
        let prompt = text::without_plan_notice(self.turn.prompt.text.trim());
        let said_by = match self.turn.prompt.by {
            PromptBy::User | PromptBy::Command => SaidBy::User,
            // The prompt of a program or agent is not the user's, and a summary is the model's.
            PromptBy::Sdk | PromptBy::Agent | PromptBy::Summary => SaidBy::Assistant,
            PromptBy::Machine => return,
        };
        if let Some(question) = asked
            && said_by == SaidBy::User
            && prompt.chars().count() <= ANSWER_CHARS_MAX
        {
            let room = CHARS_MAX.saturating_sub(prompt.chars().count() + 12);
            let text = format!("{}\nThe user: {prompt}", cut(&question, room));
            return self.add(SaidBy::User, &text, &[]);
        }
        let mut units = units(prompt);
        // A question by the user is stored with the beginning of the answer.
        if let [question] = units.as_mut_slice()
            && asks(&question.text)
            && let Some(answer) = answer_of(self.turn)
        {
            let room = CHARS_MAX.saturating_sub(question.text.chars().count() + 9);
            question.text = format!("{}\nClaude: {}", question.text, cut(&answer, room));
        }
        units.iter().for_each(|unit| self.unit(said_by, unit, &[]));
    }

    fn steps(&mut self, cures: &[(&Call, Cure)]) {
        for step in &self.turn.steps {
            match &step.what {
                StepKind::Text { text } => self.say(SaidBy::Assistant, text, &[]),
                StepKind::Queued { text } => self.say(SaidBy::User, text, &[]),
                StepKind::Thinking { .. } => {}
                StepKind::Call(call) => {
                    let mut of_call =
                        cures.iter().filter(|(of, _)| std::ptr::eq(*of, call.as_ref()));
                    self.call(call, of_call.next().map(|(_, cure)| cure));
                }
            }
        }
    }

    fn call(&mut self, call: &Call, cure: Option<&Cure>) {
        self.touch(call);
        let is_shell = matches!(call.input, Input::Shell { .. });
        if let Some(cure) = cure.filter(|_| !is_shell || !call.failed) {
            self.add_cure(&format!("{} failed: {}", cure.call, cure.error), cure);
        }
        match &call.input {
            Input::Shell { command, .. } if call.failed => {
                self.failure(call, command, cure);
                if !call.denied {
                    let signature = error_signature(&call.output);
                    self.errors.extend(signature.filter(|it| it.split(" | ").any(names_cause)));
                    self.errors.dedup();
                    self.errors.truncate(ERRORS_MAX);
                }
            }
            Input::Shell { command, .. } => self.commit(command),
            Input::Edit { path, new, .. } if !call.failed && is_markdown(path) => {
                if let Some(path) = self.roots.relative(path).filter(|it| !is_ours(it)) {
                    self.say(SaidBy::Assistant, new, &[path]);
                }
            }
            Input::Plan { plan } => self.say(SaidBy::Assistant, plan, &[]),
            Input::Question { asked } if !call.denied => {
                for (question, answer) in asked {
                    let question = cut(question, CHARS_MAX / 2);
                    let room = CHARS_MAX.saturating_sub(question.chars().count() + 11);
                    let text = format!("{question}\nThe user: {}", cut(answer, room));
                    self.add(SaidBy::User, &text, &[]);
                }
            }
            _ => {}
        }
    }

    /// Records a file that a call read or wrote.
    fn touch(&mut self, call: &Call) {
        let (Input::Edit { path, .. } | Input::Read { path }) = &call.input else { return };
        let is_done = !call.failed && !call.denied && !call.interrupted;
        let Some(path) = self.roots.relative(path).filter(|path| is_done && !is_ours(path)) else {
            return;
        };
        if self.touched.len() < TOUCHED_MAX && !self.touched.contains(&path) {
            self.touched.push(path);
        }
    }

    /// Adds a failed call with its cure.
    fn add_cure(&mut self, failure: &str, cure: &Cure) {
        let stop = if failure.ends_with(['.', '!', '?']) { "" } else { "." };
        let place = self.passages.len();
        self.add(SaidBy::Tool, &format!("{failure}{stop}\n{}", cure.cure), &cure.paths);
        if let Some(passage) = self.passages.get_mut(place) {
            passage.is_cure = true;
            passage.errors = cure.signature.iter().cloned().collect();
        }
    }

    /// Adds a failed command if its output names a cause or if it was cured.
    fn failure(&mut self, call: &Call, command: &str, cure: Option<&Cure>) {
        let mut lines = telling_lines(&call.output, LINES_TRIED).into_iter();
        let error = lines.find(|line| names_cause(&line.to_lowercase()));
        let error = error.or_else(|| cure.map(|cure| cure.error.clone()));
        let Some(error) = error.filter(|_| !call.denied && !call.interrupted) else { return };
        let line = command.lines().next().unwrap_or_default();
        let line = cut(&self.roots.strip(line.trim()).replace('`', "'"), LINE_CHARS_MAX);
        let error = cut(self.roots.strip(&error).trim(), LINE_CHARS_MAX);
        let text = format!("`{line}` failed: {error}");
        let Some(cure) = cure else { return self.add(SaidBy::Tool, &text, &[]) };
        let signature = error_signature(&call.output);
        self.add_cure(&text, &Cure { signature, ..cure.clone() });
    }

    /// Adds the subject and the first paragraph of the commit message in a command.
    fn commit(&mut self, command: &str) {
        let Some(message) = commit_message(command) else { return };
        let first = units(&message.body).into_iter().next();
        let first = first.map(|unit| format!("\n{}", unit.whole())).unwrap_or_default();
        let text = format!("Commit: {}{first}", message.subject);
        self.add(SaidBy::Assistant, &cut(&text, CHARS_MAX), &[]);
    }

    fn say(&mut self, said_by: SaidBy, markdown: &str, paths: &[String]) {
        units(markdown).iter().for_each(|unit| self.unit(said_by, unit, paths));
    }

    fn unit(&mut self, said_by: SaidBy, unit: &MarkdownUnit, paths: &[String]) {
        let least = if said_by == SaidBy::User { USER_WORDS_MIN } else { WORDS_MIN };
        if count_words(&unit.text) >= least && !unit.text.ends_with([':', '：']) {
            self.add(said_by, &unit.whole(), paths);
        }
    }

    fn add(&mut self, said_by: SaidBy, text: &str, paths: &[String]) {
        let text = text.trim();
        // A passage that repeats another one is omitted.
        if text.is_empty() || self.passages.iter().any(|passage| passage.text == text) {
            return;
        }
        let mut paths = paths.to_vec();
        paths.truncate(PATHS_MAX);
        let errors = if said_by == SaidBy::Assistant { self.errors.clone() } else { Vec::new() };
        self.passages.push(Passage {
            at: self.turn.at,
            text: text.to_owned(),
            said_by: Some(said_by),
            paths,
            errors,
            ..Passage::default()
        });
    }

    /// Returns the passages with the session, the turn and their numbers.
    fn finish(mut self, session: &Session, number: usize) -> Vec<Passage> {
        self.passages.truncate(TURN_MAX);
        let turn = u32::try_from(number).unwrap_or(u32::MAX);
        for (place, passage) in (0..).zip(&mut self.passages) {
            passage.session.clone_from(&session.id);
            passage.agent.clone_from(&session.agent);
            (passage.turn, passage.place) = (turn, place);
        }
        if let Some(first) = self.passages.first_mut() {
            first.touched = self.touched;
        }
        self.passages
    }
}

fn is_markdown(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    ["md", "mdx", "markdown"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}

fn is_ours(path: &str) -> bool {
    path.starts_with(OUR_FOLDER) || path.contains("/.throughline/")
}
