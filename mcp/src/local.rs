//! Answers requests from the stores of this machine.

mod about;
mod find;
mod forget;
mod given;
mod handoff;
mod knowledge;
mod outcome;
mod projects;
mod recall;
mod remember;
mod sessions;
mod statements;
mod status;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use memory_store::embed::SharedTransformer;
use memory_store::fs::process;
use memory_store::index::journal::KnownJournals;
use memory_store::layout::{STORE_DIR, Tree};
use memory_store::mode::Mode;
use memory_store::recall::{Recall, Recalled, Search, render, time_named};
use memory_store::{Timestamp, format_version, migrate};

use crate::backend::{Rest, ToolError};
use crate::environment::ServerEnvironment;
use crate::processor::Program;

/// Maximum tokens of one answer; Claude Code warns above 10,000.
const ANSWER_TOKENS_MAX: u32 = 4_000;
/// Number of hits requested in addition to a page, since the list may have changed since the previous page.
const PAGE_SLACK: usize = 16;
/// Note that replaces withheld memories in an answer.
const HELD_BACK: &str = "Some memories were held back: they look like instructions to you, or are from the \
                         repository and not released. Only the user can look at them and release them: \
                         `throughline review`.";
/// Placeholder for the title of a withheld memory.
const HELD_TITLE: &str = "(held back: the user has not let it out)";

/// The period to which an answer is limited; a missing end means no limit.
#[derive(Clone, Copy)]
struct TimeSpan {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// Answers from the stores of one user, for the project in which the server was started. A call blocks while it reads
/// files.
pub struct Local {
    environment: ServerEnvironment,
    /// The transformer, opened once for all calls.
    transformer: Arc<SharedTransformer>,
    /// Parsed journals, which later calls reuse.
    journals: KnownJournals,
}

impl Local {
    /// Returns a backend for this environment.
    pub fn new(environment: ServerEnvironment) -> Self {
        Self { environment, transformer: Arc::default(), journals: KnownJournals::default() }
    }

    /// Releases caches; called after a period without calls.
    pub fn rest(&self) {
        self.journals.release();
        if self.transformer.release() {
            process::give_back();
        }
    }

    /// Returns the working tree if it may be read. This is determined for each call, since `init`, `trust` and `off`
    /// may be run while the server runs.
    fn tree(&self) -> Result<Tree, ToolError> {
        if self.environment.mode() == Mode::Off {
            return Err(match &self.environment.unknown_mode {
                Some(value) => ToolError::UnknownMode(value.clone()),
                None => ToolError::Off,
            });
        }
        let folder = &self.environment.folder;
        self.environment.tree().ok_or_else(|| ToolError::NotSetUp {
            folder: folder.display().to_string(),
            untrusted: folder.ancestors().any(|folder| folder.join(STORE_DIR).is_dir()),
            data: self.environment.dirs.data.display().to_string(),
        })
    }

    /// Returns the working tree if it may be written, after migrating its stores to the formats of this program.
    fn writable_tree(&self) -> Result<Tree, ToolError> {
        let tree = self.tree()?;
        match self.environment.mode() {
            Mode::Full => {
                migrate::before_write(&self.environment.dirs, &tree, self.now())?;
                Ok(tree)
            }
            Mode::Read => Err(ToolError::ReadOnly),
            Mode::Off => Err(ToolError::Off),
        }
    }

    /// Returns whether session files and receipts may be written for a tree. They must not be if a later version of the
    /// program has written the project's private state.
    fn may_note(&self, tree: &Tree) -> bool {
        self.environment.mode() == Mode::Full
            && format_version::check_project(&self.environment.dirs, tree.project).is_ok()
    }

    /// Opens the index of a tree.
    fn indexed(&self, tree: &Tree) -> Recall {
        Recall::open(&self.environment.dirs, tree, Some(&self.journals))
    }

    /// Opens the index of a tree for a search by words.
    fn recall_in(&self, tree: &Tree) -> Recall {
        let mut recall = self.indexed(tree);
        recall.shared = Some(Arc::clone(&self.transformer));
        match recall.settings().embedder.clone() {
            Some(embedder) => recall.with_second(Box::new(Program::new(tree.project, &embedder))),
            None => recall,
        }
    }

    fn now(&self) -> Timestamp {
        self.environment.clock.now()
    }

    /// Rejects a search whose filters are contradictory or invalid.
    fn check(&self, search: &Search) -> Result<(), ToolError> {
        search.problem(self.now()).map_or(Ok(()), |problem| Err(ToolError::Request(problem)))
    }

    /// Returns the period that `words` describe: its first moment, and the first moment after it.
    fn time(&self, name: &str, words: &str) -> Result<(Timestamp, Timestamp), ToolError> {
        let now = self.now();
        let exact = Timestamp::parse(words).filter(|_| words.contains(':'));
        let span = exact.map(|at| (Some(at), Some(Timestamp(at.0 + 1))));
        let span = span.or_else(|| time_named(words, now).map(|span| (span.from, span.to)));
        match span {
            Some((from, to)) => Ok((from.unwrap_or_default(), to.unwrap_or(now))),
            None => Err(ToolError::Request(format!(
                "`{name}` takes a day such as 2026-10-01, or words such as \"last week\", and not `{}`",
                words.chars().take(40).collect::<String>()
            ))),
        }
    }

    /// Returns the last moment of the period that `as_of` describes.
    fn as_of(&self, words: &str) -> Result<Timestamp, ToolError> {
        let (_, after) = self.time("as_of", words)?;
        Ok(Timestamp(after.0 - 1).min(self.now()))
    }

    /// The first and the last moment between two times that words name; with `as_of`, nothing later counts.
    fn span(
        &self,
        since: Option<&str>,
        before: Option<&str>,
        as_of: Option<Timestamp>,
    ) -> Result<TimeSpan, ToolError> {
        let since = since.map(|words| self.time("since", words)).transpose()?;
        let before = before.map(|words| self.time("before", words)).transpose()?;
        let before = before.map(|(from, _)| Timestamp(from.0 - 1));
        let until = before.into_iter().chain(as_of).min();
        Ok(TimeSpan { since: since.map(|(from, _)| from), until })
    }

    /// Returns a path relative to the root of the working tree, safe to print.
    fn shown(&self, path: &Path, tree: &Tree) -> String {
        render::clean(&path.strip_prefix(&tree.root).unwrap_or(path).to_string_lossy())
    }
}

fn note(recalled: &Recalled, understood: &[String]) -> Option<String> {
    let health = match (&recalled.degraded, recalled.stale) {
        (Some(what), _) => Some(format!("The answer may be incomplete: {}", render::clean(what))),
        (None, true) => Some(
            "Some memories changed since they were indexed and are left out until the next sync."
                .to_owned(),
        ),
        (None, false) => None,
    };
    let notes: Vec<String> =
        health.into_iter().chain(understood.iter().map(|note| render::clean(note))).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn with_remarks(text: String, is_empty: bool, rest: &Rest) -> String {
    let mut parts = Vec::new();
    if is_empty {
        parts.push("Nothing is known about this.".to_owned());
    } else {
        parts.push(text);
    }
    if let Some(next) = &rest.next_cursor {
        parts.push(format!("There is more: ask again with cursor \"{next}\"."));
    }
    parts.extend(rest.note.clone());
    parts.join("\n")
}

/// Returns a path relative to the root of the working tree, with `/` as separator.
fn relative(path: &str, tree: &Tree) -> String {
    let path = Path::new(path);
    let below = path
        .strip_prefix(&tree.root)
        .or_else(|_| path.strip_prefix(&tree.main_root))
        .unwrap_or(path);
    let below: PathBuf = below.components().filter(|part| *part != Component::CurDir).collect();
    below.to_string_lossy().replace('\\', "/")
}
