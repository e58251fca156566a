//! Answers requests from this machine's stores.

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

/// Maximum tokens of one answer: clients warn above 10,000.
const ANSWER_TOKENS_MAX: u32 = 4_000;
/// Hits requested in addition to a page, since the list may have changed since the previous page.
const PAGE_SLACK: usize = 16;
/// Note in place of withheld memories.
const HELD_BACK: &str = "Some memories were held back: they look like instructions to you, or are from the \
                         repository and not released. Only the user can look at them and release them: \
                         `throughline review`.";
/// Placeholder for the title of a withheld memory.
const HELD_TITLE: &str = "(held back: the user has not let it out)";

/// Period of an answer; a missing end is unlimited.
#[derive(Clone, Copy)]
struct TimeSpan {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// Answers from the stores of one user, for the project that the server was started in. Calls may block while files are
/// read.
pub struct Local {
    environment: ServerEnvironment,
    /// Opened once for all questions.
    transformer: Arc<SharedTransformer>,
    /// Parsed journals, reused by the next request.
    journals: KnownJournals,
}

impl Local {
    /// Answers for this environment.
    pub fn new(environment: ServerEnvironment) -> Self {
        Self { environment, transformer: Arc::default(), journals: KnownJournals::default() }
    }

    /// Releases caches after a time without calls.
    pub fn rest(&self) {
        self.journals.release();
        if self.transformer.release() {
            process::give_back();
        }
    }

    /// The working tree, if it may be read now. Asked anew each time: `init`, `trust` and `off`
    /// may happen while the server lives.
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

    /// The working tree, if it may be written now. Its stores have the formats of this program then.
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

    /// Returns whether notes may be written to the state of a tree: never beside private state that a later version of
    /// the program has written.
    fn may_note(&self, tree: &Tree) -> bool {
        self.environment.mode() == Mode::Full
            && format_version::check_project(&self.environment.dirs, tree.project).is_ok()
    }

    /// Opens the index of a tree.
    fn indexed(&self, tree: &Tree) -> Recall {
        Recall::open(&self.environment.dirs, tree, Some(&self.journals))
    }

    /// Opens the index of a tree for searches by words.
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

    /// Refuses a search with a filter that makes no sense.
    fn check(&self, search: &Search) -> Result<(), ToolError> {
        search.problem(self.now()).map_or(Ok(()), |problem| Err(ToolError::Request(problem)))
    }

    /// The times that words name, from the first moment to the first one after them.
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

    /// The last moment of the time that `as_of` names.
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

    /// Returns a path as a member of the project would write it.
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

/// Returns a path below the root of the working tree relative to it, with `/`.
fn relative(path: &str, tree: &Tree) -> String {
    let path = Path::new(path);
    let below = path
        .strip_prefix(&tree.root)
        .or_else(|_| path.strip_prefix(&tree.main_root))
        .unwrap_or(path);
    let below: PathBuf = below.components().filter(|part| *part != Component::CurDir).collect();
    below.to_string_lossy().replace('\\', "/")
}
