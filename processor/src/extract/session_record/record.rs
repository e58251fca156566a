//! Data of a session record, and merging of the records of one session.

use memory_store::memory::CommandRecord;
use memory_store::signature::classify;
use memory_store::suspicion::{TextOrigin, suspicion};
use memory_store::{Kind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::extract::clean::{cut, plain};
use crate::extract::draft::Draft;
use crate::extract::landed::Landed;
use crate::extract::sets::{overlap, word_set};
use crate::transcript::Speaker;
use crate::transcript::session::Todo;

/// Format of a record. If it changes, all records are rebuilt.
pub const VERSION: u32 = 1;

/// Maximum number of files of a session. The most recent files are kept.
const FILES_MAX: usize = 200;
/// Maximum number of commands that failed and did not pass later. The last ones are kept.
pub(super) const FAILING_MAX: usize = 8;
/// Maximum number of lines of passed commands. The last ones are kept.
pub(super) const PASSING_MAX: usize = 100;
/// Maximum number of items of a plan or a todo list.
pub(super) const ITEMS_MAX: usize = 30;
/// Minimum share of common words from which a task found by a model counts as an existing item.
const SAME_TASK_SHARE: f32 = 0.5;
/// Maximum number of tool calls that the user rejected. The last ones are kept.
pub(super) const REJECTED_MAX: usize = 10;
/// Maximum length in characters of a request or an answer (`TEXT_CHARS_MAX`), and of an item of a list
/// (`ITEM_CHARS_MAX`).
pub(super) const TEXT_CHARS_MAX: usize = 400;
pub(super) const ITEM_CHARS_MAX: usize = 160;

/// Record of a session, of a part of a session, or of a subagent. All texts are redacted and short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRecord {
    /// Format ([`VERSION`]); 0 in files of versions before session records, which contain only commands and cures.
    pub version: u32,
    /// Id of the session.
    pub session: String,
    /// Id of the subagent, if this is the record of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Speaker of the session's prompts; `None` if it has no prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<Speaker>,
    /// Time of the first step.
    pub first: Timestamp,
    /// Time of the last step.
    pub last: Timestamp,
    /// Working directory of the first turn, as recorded in the transcript.
    pub folder: String,
    /// Git branch of the last turn; empty outside git.
    pub branch: String,
    /// Title, derived from the request.
    pub title: String,
    /// The first request.
    pub first_request: String,
    /// The last request.
    pub last_request: String,
    /// Number of prompts by the speaker.
    pub prompts: usize,
    /// Whether the session changed anything, by files, commits or commands.
    pub changed: bool,
    /// Files that the session read or edited, the most recent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TouchedFile>,
    /// Commands that passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// Commands that failed and did not pass later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<CommandRecord>,
    /// Lines of the last passed commands, in their normal form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passing: Vec<String>,
    /// Calls that failed and were cured, with the actions between failure and success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cures: Vec<Cure>,
    /// Commits made in the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<Landed>,
    /// The last plan that the user accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<AcceptedPlan>,
    /// The last todo list, with the state of each item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Todo>,
    /// Tool calls that the user rejected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedCall>,
    /// The last question to the user, if it was not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The last text of the assistant, if the last turn was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// First paragraph of the last answer.
    pub answer: String,
    /// Completed work as listed by Claude at the end of the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    /// Decisions that a model found in the session, or that Claude listed at its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Tasks that are open at the end of the session, as found by a model or listed by Claude.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// True if the transcript was imported from a folder. It may then be another person's session.
    #[serde(skip)]
    pub brought: bool,
}

/// File that a session read or edited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TouchedFile {
    /// Path relative to the root of the working tree.
    pub path: String,
    /// Number of edits.
    pub edits: usize,
    /// Number of reads.
    pub reads: usize,
    /// Time of the last edit or read.
    pub last: Timestamp,
    /// Time of the last edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited: Option<Timestamp>,
}

/// Plan that the user accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AcceptedPlan {
    /// The first heading of the plan.
    pub title: String,
    /// The items of the lists in the plan.
    pub items: Vec<String>,
}

/// Tool call that the user rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RejectedCall {
    /// Name of the tool.
    pub tool: String,
    /// Command line or file of the call.
    pub what: String,
}

/// A call that failed and later passed, or for which another command later did the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cure {
    /// Time of the failure.
    pub at: Timestamp,
    /// Ids of the transcript records of the failure and of the success.
    pub turns: Vec<String>,
    /// The failed call: a command line, or a tool and a file.
    pub call: String,
    /// The line of the output that names the error.
    pub error: String,
    /// Signature of the error, if the signature is specific to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The solution, in one sentence.
    pub cure: String,
    /// The files that were changed, and the files that the call names.
    pub paths: Vec<String>,
    /// Number of steps from the failure to its end; 0 in records of versions that did not count them.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(steps: &usize) -> bool {
    *steps == 0
}

impl SessionRecord {
    /// Returns the unfinished items of the todo list, followed by other open tasks.
    pub fn open_tasks(&self) -> impl Iterator<Item = &str> {
        let listed = self.tasks.iter().filter(|task| !is_done(task)).map(|task| task.text.as_str());
        listed.chain(self.unfinished.iter().map(String::as_str))
    }

    /// Moves drafts of kind task to the open tasks of the session, because tasks do not become memories.
    pub fn take_tasks(&mut self, drafts: &mut Vec<Draft>) {
        let tasks: Vec<Draft> = drafts.extract_if(.., |draft| draft.kind == Kind::Task).collect();
        self.add_unfinished(tasks.into_iter().map(|task| task.title));
    }

    /// Adds open tasks, except tasks that are in the todo list or were added before.
    pub fn add_unfinished(&mut self, tasks: impl Iterator<Item = String>) {
        for task in tasks {
            let task = cut(&plain(&task), ITEM_CHARS_MAX);
            let words = word_set(&task);
            let mut known = self.tasks.iter().map(|it| &it.text).chain(&self.unfinished);
            let is_known = known.any(|it| overlap(&word_set(it), &words) >= SAME_TASK_SHARE);
            if !is_known && self.unfinished.len() < ITEMS_MAX {
                self.unfinished.push(task);
            }
        }
    }

    /// Adds decisions, except existing ones.
    pub fn add_decisions(&mut self, decisions: impl Iterator<Item = String>) {
        for decision in decisions {
            let words = word_set(&decision);
            let is_known =
                self.decisions.iter().any(|it| overlap(&word_set(it), &words) >= SAME_TASK_SHARE);
            if !is_known {
                self.decisions.push(decision);
            }
        }
    }

    /// Whether the session has unfinished work.
    pub fn leaves_open(&self) -> bool {
        let is_open = self.question.is_some() || self.stopped.is_some();
        is_open || !self.failing.is_empty() || self.open_tasks().next().is_some()
    }

    /// Whether the session ran, with success, the command in `line` or another command of its class.
    pub fn passes(&self, line: &str) -> bool {
        self.passing.iter().any(|passed| settles(passed, line))
    }

    /// Returns the files that the session wrote, with the time of the last write.
    pub fn written(&self) -> impl Iterator<Item = (&str, Timestamp)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.edited?)))
    }

    /// Whether all fields except the version are empty.
    pub fn is_empty(&self) -> bool {
        *self == Self { version: self.version, ..Self::default() }
    }

    /// Merges the record of a later part of the session, or of one of its subagents.
    pub fn extend(&mut self, later: Self) {
        if self.is_empty() {
            *self = later;
            return;
        }
        // A command that passes in the later part is no longer failing.
        let is_later = |known: &CommandRecord| {
            later.passes(&known.line) || later.failing.iter().any(|it| it.line == known.line)
        };
        self.failing.retain(|known| !is_later(known));
        self.passing.extend(later.passing);
        self.passing.drain(..self.passing.len().saturating_sub(PASSING_MAX));
        self.changed |= later.changed;
        merge_files(&mut self.files, later.files);
        merge_commands(&mut self.commands, later.commands);
        self.cures.extend(later.cures);
        self.commits.extend(later.commits);
        self.add_decisions(later.decisions.into_iter());
        if !later.done.is_empty() {
            self.done = later.done;
        }
        self.add_unfinished(later.unfinished.into_iter());
        if later.first != Timestamp::default()
            && (self.first == Timestamp::default() || later.first < self.first)
        {
            self.first = later.first;
        }
        self.last = self.last.max(later.last);
        if self.session.is_empty() {
            self.session = later.session;
        }
        self.version = self.version.max(later.version);
        // The other fields of a subagent's record describe the subagent's own task.
        if later.agent.is_some() {
            return;
        }
        self.agent = None;
        self.speaker = self.speaker.into_iter().chain(later.speaker).min();
        self.prompts += later.prompts;
        self.failing.extend(later.failing);
        self.rejected.extend(later.rejected);
        (self.question, self.stopped) = (later.question, later.stopped);
        self.plan = later.plan.or_else(|| self.plan.take());
        if !later.tasks.is_empty() {
            self.tasks = later.tasks;
        }
        for (known, later) in [
            (&mut self.branch, later.branch),
            (&mut self.last_request, later.last_request),
            (&mut self.answer, later.answer),
        ] {
            if !later.is_empty() {
                *known = later;
            }
        }
        for (known, later) in [
            (&mut self.folder, later.folder),
            (&mut self.title, later.title),
            (&mut self.first_request, later.first_request),
        ] {
            if known.is_empty() {
                *known = later;
            }
        }
    }

    /// Returns the texts written by people, models and programs. These must be checked before they are printed.
    pub fn prose(&mut self) -> Vec<&mut String> {
        self.split_texts().0
    }

    /// Removes the texts of removed turns, but keeps the title, the files, the commits, the commands and the cures.
    pub fn forget_turns(&mut self) {
        for text in [&mut self.first_request, &mut self.last_request, &mut self.answer] {
            text.clear();
        }
        (self.question, self.stopped, self.plan) = (None, None, None);
        self.tasks.clear();
        self.rejected.clear();
    }

    /// Removes texts that resemble an injected instruction. Claude may have repeated such an instruction from a page or
    /// a file, and a later session would receive it.
    pub fn leave_out_orders(&mut self) {
        if !is_sound(&self.answer) {
            self.answer.clear();
        }
        self.question.take_if(|text| !is_sound(text));
        self.stopped.take_if(|text| !is_sound(text));
        self.done.retain(|text| is_sound(text));
        self.decisions.retain(|text| is_sound(text));
        self.unfinished.retain(|text| is_sound(text));
        self.tasks.retain(|task| is_sound(&task.text));
        self.failing.retain(|command| is_sound(&command.line));
        self.commits.retain(|commit| is_sound(&commit.subject));
        if let Some(plan) = &mut self.plan {
            plan.items.retain(|item| is_sound(item));
        }
    }

    /// Returns a copy without the texts that [`Self::leave_out_orders`] removes.
    pub fn without_orders(&self) -> Self {
        let mut sound = self.clone();
        sound.leave_out_orders();
        sound
    }

    /// Returns every text, so that data that must not be stored can be redacted.
    pub fn texts(&mut self) -> Vec<&mut String> {
        let (mut texts, others) = self.split_texts();
        texts.extend(others);
        texts
    }

    /// Returns the texts of [`Self::prose`] and the others.
    fn split_texts(&mut self) -> (Vec<&mut String>, Vec<&mut String>) {
        let mut prose = vec![
            &mut self.title,
            &mut self.first_request,
            &mut self.last_request,
            &mut self.answer,
        ];
        prose.extend(self.question.iter_mut().chain(&mut self.stopped));
        prose.extend(&mut self.done);
        prose.extend(&mut self.decisions);
        prose.extend(&mut self.unfinished);
        prose.extend(self.tasks.iter_mut().map(|task| &mut task.text));
        let mut others = vec![&mut self.folder, &mut self.branch];
        for commit in &mut self.commits {
            prose.push(&mut commit.subject);
            others.push(&mut commit.body);
        }
        if let Some(plan) = &mut self.plan {
            prose.extend(&mut plan.items);
            others.push(&mut plan.title);
        }
        others.extend(self.files.iter_mut().map(|file| &mut file.path));
        others.extend(&mut self.passing);
        let commands = self.commands.iter_mut().chain(&mut self.failing);
        others.extend(commands.flat_map(|command| [&mut command.line, &mut command.directory]));
        for cure in &mut self.cures {
            others.extend([&mut cure.call, &mut cure.error, &mut cure.cure]);
            others.extend(&mut cure.signature);
            others.extend(&mut cure.paths);
        }
        others.extend(self.rejected.iter_mut().map(|call| &mut call.what));
        (prose, others)
    }
}

/// Whether a text does not resemble an injected instruction.
pub fn is_sound(text: &str) -> bool {
    suspicion("", text, TextOrigin::Own).is_none()
}

/// Whether an item of a todo list is completed.
pub fn is_done(task: &Todo) -> bool {
    task.state == "completed"
}

/// Whether a passed command shows that a failed command is cured: it contains the same command, as a whole or joined
/// with `&&`, or both are of the same class.
pub fn settles(passed: &str, failed: &str) -> bool {
    let class = classify(passed);
    passed.split(" && ").any(|one| one == failed) || class.is_some() && classify(failed) == class
}

/// Sorts files with the most recent first. If there are too many, files that were only read are omitted first.
pub(super) fn ordered(mut files: Vec<TouchedFile>) -> Vec<TouchedFile> {
    if files.len() > FILES_MAX {
        files.sort_by(|one, other| {
            other.edited.cmp(&one.edited).then_with(|| other.last.cmp(&one.last))
        });
        files.truncate(FILES_MAX);
    }
    files.sort_by(|one, other| other.last.cmp(&one.last).then_with(|| one.path.cmp(&other.path)));
    files
}

fn merge_files(files: &mut Vec<TouchedFile>, others: Vec<TouchedFile>) {
    for other in others {
        match files.iter_mut().find(|file| file.path == other.path) {
            Some(file) => {
                file.edits += other.edits;
                file.reads += other.reads;
                file.last = file.last.max(other.last);
                file.edited = file.edited.max(other.edited);
            }
            None => files.push(other),
        }
    }
    *files = ordered(std::mem::take(files));
}

fn merge_commands(commands: &mut Vec<CommandRecord>, others: Vec<CommandRecord>) {
    for other in others {
        let is_same = |known: &&mut CommandRecord| {
            known.line == other.line && known.directory == other.directory
        };
        match commands.iter_mut().find(is_same) {
            Some(known) => {
                known.passed += other.passed;
                known.last = known.last.max(other.last);
            }
            None => commands.push(other),
        }
    }
}
