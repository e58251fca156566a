//! Known secrets of a project. Each record is first redacted independently, so the result does not depend on the
//! portions in which a transcript is read. Values that look random are recorded with their [`SecretSource`].
//!
//! A value spreads, which means that it is removed from all other texts, only if it looks random and its source is the
//! user's text or answer, or a file or store of credentials. Any other value that looks random is hidden only in the
//! records of the session in which it was found. If the project's own texts contain a value, it is not hidden in any
//! other place ([`ProjectTexts`]); if such a text is a person's memory, the person decides in `throughline review`.
//!
//! The list of values is written before a record is archived, because the record's transcript is not read again. The
//! list marks earlier records as not searched until they have been searched.

pub mod clean;
pub mod files;
mod mask;
mod pieces;
pub mod search;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use anyhow::{Context, Result};
use memory_store::fs::open_regular::{self, Links};
use memory_store::git_dirs::has_git_entry;
use memory_store::layout::{ProjectDir, Tree, UserDirs};
use memory_store::redact::known::{KEY_BYTES, Known, Pending, Scope};
use memory_store::redact::{
    Given, PLACEHOLDER_OPEN, Redactor, corrects, is_secrets_file, prints_secret, reads_secrets,
    request,
};
use memory_store::store::{Proposal, Store, Stored};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::collect::archive;
use crate::lock::{BUSY_MAX, Busy, Lock};
use crate::private_files::modified_ns;
use crate::project_texts::{Contained, ProjectTexts};
use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::session::{Input, PromptBy};
use crate::transcript::{Redact, TextOrigin};

/// Known secrets of a project.
pub struct Secrets {
    known: Known,
    dirs: UserDirs,
    home: ProjectDir,
    /// The working trees. Folder names below them may be redacted.
    roots: Vec<PathBuf>,
    /// Texts of the project. Values in these are not hidden elsewhere.
    project: ProjectTexts,
    written: Mutex<FileText>,
}

/// Content of the list's file.
#[derive(Clone, Debug)]
struct FileText {
    /// Number of values that are hidden in all texts.
    values: usize,
    /// Revision of the known values.
    revision: usize,
    pending: Pending,
}

/// Source of a recognised value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SecretSource {
    /// The user's words or answer, or the content of a file or store of credentials.
    Trusted,
    /// The tool call with this id, or its result. The call determines the actual source.
    Tool(String),
    /// Any other source, such as a web page or words of the model.
    Other,
}

/// A value that looks random and was found in a record, with its source.
type Noted = (String, SecretSource);

impl Secrets {
    /// Reads the known secrets. `roots` are the roots of all current and former working trees of the project; `trees`
    /// are the existing trees.
    pub fn open(
        dirs: &UserDirs,
        home: &ProjectDir,
        roots: &[PathBuf],
        trees: &[Tree],
    ) -> Result<Self> {
        let mut fresh = [0; KEY_BYTES];
        getrandom::fill(&mut fresh).context("no random numbers")?;
        let (known, pending) = Known::open(dirs, home, fresh);
        let written =
            Mutex::new(FileText { values: known.len(), revision: known.revision(), pending });
        let (roots, project) = (roots.to_vec(), ProjectTexts::new(dirs, trees));
        Ok(Self { known, dirs: dirs.clone(), home: home.clone(), roots, project, written })
    }

    /// Returns the known secrets. More are added while records are read.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Saves the secrets that were learned since the last save, if any.
    pub fn save(&self) -> Result<()> {
        let mut written = self.written();
        let (values, revision) = (self.known.len(), self.known.revision());
        if written.revision != revision {
            let unclean = written.pending.unclean || written.values != values;
            let pending = Pending { unclean, ..written.pending.clone() };
            self.known.write_file(&self.dirs, &self.home, &pending)?;
            *written = FileText { values, revision, pending };
        }
        Ok(())
    }

    /// Returns whether stored data must be searched: a secret was learned since the last search, or a file that could
    /// not be searched has changed.
    pub fn is_unclean(&self) -> bool {
        let written = self.written();
        let Pending { unclean, left } = &written.pending;
        *unclean
            || written.values != self.known.len()
            || left.iter().any(|(path, was)| look(path) != *was)
    }

    /// Records that all stored data was searched, except these paths.
    pub fn note_clean(&self, but: &BTreeSet<PathBuf>) -> Result<()> {
        let mut written = self.written();
        let left = but.iter().map(|path| (path.clone(), look(path))).collect();
        let pending = Pending { unclean: false, left };
        self.known.write_file(&self.dirs, &self.home, &pending)?;
        let (values, revision) = (self.known.len(), self.known.revision());
        *written = FileText { values, revision, pending };
        Ok(())
    }

    fn written(&self) -> MutexGuard<'_, FileText> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a text for comparisons, in which each secret is replaced by a hash, so that different secrets stay
    /// different.
    pub fn comparable(&self, text: &str, redactor: &Redactor) -> Result<String> {
        let clean = self.known.comparable(text, &redactor.redact(text));
        if clean != text && !self.home.known_secrets.exists() {
            // The list is saved because it contains the key of the hash, and the next run must compute the same hash.
            let pending = Pending { unclean: self.is_unclean(), ..self.written().pending.clone() };
            self.known.write_file(&self.dirs, &self.home, &pending)?;
        }
        Ok(clean)
    }

    /// Learns the recorded values of a session's records that were read together. The `records` determine the source of
    /// each tool's output.
    pub fn learn(&self, session: &str, learning: &Learning<'_>, records: &[Record]) {
        let noted = learning.take();
        if noted.is_empty() {
            return;
        }
        let in_stores = calls_of_stores(records);
        let mut values: BTreeMap<String, bool> = BTreeMap::new();
        for (value, source) in noted {
            let is_trusted = match &source {
                SecretSource::Trusted => true,
                SecretSource::Tool(id) => in_stores.contains(id.as_str()),
                SecretSource::Other => false,
            };
            *values.entry(value).or_default() |= is_trusted;
        }
        let contained = self.project.contain(&values.keys().cloned().collect());
        for (value, is_trusted) in &values {
            let scope = match contained.get(value) {
                Some(Contained::Nowhere) if *is_trusted => Scope::Project,
                Some(Contained::Nowhere) => self.known.session_scope(session),
                Some(Contained::Memory) if *is_trusted => Scope::Disputed,
                Some(Contained::Memory | Contained::Project) | None => continue,
            };
            self.known.learn_for(value, scope);
        }
    }

    /// Hides the user's answer to Claude's question for a secret, the output of a command that prints a secret, the
    /// content of a file that contains only a secret, and the value by which an edit replaces a secret. Returns whether
    /// anything was hidden. The question must be near the end of Claude's message, and the answer in one of the next
    /// short prompts.
    pub fn hide_answers(
        &self,
        session: &str,
        records: &mut [Record],
        learning: &Learning<'_>,
    ) -> bool {
        const PROMPTS_MAX: usize = 3;
        let mut question = String::new();
        let known = of_known(learning.redactor, self.known.in_session(session));
        // Id of the last call that may print a secret, and how certain this is.
        let mut printing = String::new();
        let mut given = Given::Freely;
        let (mut prompts, mut is_next, mut changed) = (0, false, false);
        // Whether the last prompt contained a secret.
        let mut held = false;
        for record in records {
            match &mut record.what {
                RecordWhat::Prompt { text, by: PromptBy::User, .. }
                    if held && text.len() <= ANSWER_BYTES_MAX && corrects(text) =>
                {
                    is_next = false;
                    changed |= learning.hide(ASKED, text, Given::Later, SecretSource::Trusted);
                }
                RecordWhat::Text { text, .. } => {
                    is_next = false;
                    if let Some(asked) = request(text) {
                        asked.clone_into(&mut question);
                        (prompts, is_next) = (0, true);
                    }
                }
                RecordWhat::Prompt { text, by: PromptBy::User, .. } if prompts < PROMPTS_MAX => {
                    let given = if is_next { Given::InWords } else { Given::Later };
                    (prompts, is_next) = (prompts + 1, false);
                    held = text.contains(PLACEHOLDER_OPEN);
                    if question.is_empty() || text.len() > ANSWER_BYTES_MAX {
                        continue;
                    }
                    if learning.hide(&question, text, given, SecretSource::Trusted) {
                        (changed, held) = (true, true);
                    }
                }
                RecordWhat::Result(result) if result.id == printing && !result.failed => {
                    // If the first line of the output is one word, it is the value. The other lines are explanations.
                    let end = result.output.find('\n').unwrap_or(result.output.len());
                    let (line, rest) = result.output.split_at(end);
                    // The output of a read file has line numbers.
                    let (number, value) = line.split_at(line.find('\t').map_or(0, |at| at + 1));
                    if value.contains(char::is_whitespace) {
                        continue;
                    }
                    let mut value = value.to_owned();
                    if learning.hide(ASKED, &mut value, given, SecretSource::Trusted) {
                        result.output = format!("{number}{value}{rest}");
                        changed = true;
                    }
                }
                RecordWhat::Call { id, what: Input::Shell { command, .. }, .. } => {
                    is_next = false;
                    if prints_secret(command) {
                        printing.clone_from(id);
                        given = Given::Freely;
                    }
                }
                RecordWhat::Call { id, what: Input::Read { path }, .. } => {
                    is_next = false;
                    if holds_secret(path) {
                        printing.clone_from(id);
                        given = Given::Later;
                    }
                }
                RecordWhat::Call { what: Input::Edit { path, old, new }, .. } => {
                    is_next = false;
                    let is_value = |text: &str| !text.trim().contains(char::is_whitespace);
                    let is_whole = || old.is_empty() && holds_secret(path);
                    let replaces = || is_value(old) && is_placeholder(&known.redact(old));
                    let source =
                        if is_whole() { SecretSource::Trusted } else { SecretSource::Other };
                    if is_value(new) && (is_whole() || replaces()) {
                        changed |= learning.hide(ASKED, new, Given::Later, source);
                    }
                }
                RecordWhat::Prompt { text, by: PromptBy::User, .. } => {
                    (is_next, held) = (false, text.contains(PLACEHOLDER_OPEN));
                }
                RecordWhat::Prompt { .. } | RecordWhat::Call { .. } => is_next = false,
                _ => {}
            }
        }
        changed
    }

    /// Hides `known` values in records or other plain data. Returns whether any was hidden.
    pub fn hide<T: Serialize + DeserializeOwned>(
        &self,
        known: Known,
        texts: &mut [T],
        redactor: &Redactor,
    ) -> Result<bool> {
        if known.hides_nothing() {
            return Ok(false);
        }
        let known = of_known(redactor, known);
        let mut changed = false;
        for text in texts {
            changed |= clean_texts(&known, text, &self.roots)?;
        }
        Ok(changed)
    }
}

/// A person's decision about a known secret in a memory of that person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretDecision {
    /// The value is removed from the memory and from all stored data.
    Hide,
    /// The value is not a secret, so nothing is changed.
    Keep,
}

/// Applies a person's decision about a proposed change of a memory in this store. Returns the resulting memory; `None`
/// if the memory was changed after it was shown.
pub fn decide(
    dirs: &UserDirs,
    home: &ProjectDir,
    (store, redactor): (&Store, &Redactor),
    proposal: &Proposal,
    decision: SecretDecision,
) -> Result<Option<Stored>> {
    // A running sync would overwrite the list with the values that it read at its beginning.
    let lock = Lock::take(&home.sync_lock, Busy::Wait(BUSY_MAX))?;
    anyhow::ensure!(lock.is_some(), "a sync is at work; try again when it has ended");
    let mut fresh = [0; KEY_BYTES];
    getrandom::fill(&mut fresh).context("no random numbers")?;
    let (known, mut pending) = Known::open(dirs, home, fresh);
    let stored = match decision {
        SecretDecision::Keep => {
            known.settle(&proposal.before, Scope::Harmless);
            Some(proposal.stored.clone())
        }
        SecretDecision::Hide => {
            let made = store.make(proposal, redactor)?;
            if made.is_some() {
                known.settle(&proposal.before, Scope::Project);
                pending.unclean = true;
            }
            made
        }
    };
    known.write_file(dirs, home, &pending)?;
    Ok(stored)
}

/// Returns a redactor that only hides these known secrets.
fn of_known(redactor: &Redactor, known: Known) -> Redactor {
    let mut only = Redactor { only_known: true, ..redactor.clone() };
    only.options.known = known;
    only
}

/// Returns the ids of tool calls that read or write a file or store of credentials.
fn calls_of_stores(records: &[Record]) -> BTreeSet<&str> {
    let calls = records.iter().filter_map(|record| match &record.what {
        RecordWhat::Call { id, what, .. } => Some((id.as_str(), what)),
        _ => None,
    });
    let is_store = |input: &Input| match input {
        Input::Shell { command, .. } => reads_secrets(command),
        Input::Read { path } | Input::Edit { path, .. } | Input::Search { path, .. } => {
            is_secrets_file(path) || holds_secret(path)
        }
        _ => false,
    };
    calls.filter(|(_, input)| is_store(input)).map(|(id, _)| id).collect()
}

/// Returns a text that identifies the state of a file or folder. If it changes, the search is repeated.
fn look(path: &Path) -> String {
    let Ok(metadata) = fs::symlink_metadata(path) else { return "gone".to_owned() };
    let is_read = match metadata.is_dir() {
        true => fs::read_dir(path).is_ok(),
        // Reading a pipe would block.
        false => open_regular::open(path, Links::Refuse)
            .and_then(|mut file| io::copy(&mut file, &mut io::sink()))
            .is_ok_and(|_| !is_foreign_pack(path)),
    };
    format!("{} {} {is_read}", metadata.len(), modified_ns(&metadata))
}

/// Returns whether a path is a pack that this version cannot read, although a later version may.
fn is_foreign_pack(path: &Path) -> bool {
    let is_pack = path.extension().is_some_and(|end| end == "pack");
    is_pack && !archive::lists_pack(path)
}

/// Returns whether the name of a file implies that the file contains only a secret.
fn holds_secret(path: &str) -> bool {
    prints_secret(&format!("cat {path}"))
}

/// Returns whether a text is the placeholder of a hidden secret, with or without quotes.
fn is_placeholder(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    bare.strip_prefix(PLACEHOLDER_OPEN)
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
}

/// The question that is used for a value that is recognised as a secret only by its place.
const ASKED: &str = "What is the password?";

/// Maximum size in bytes of a prompt that may be an answer.
const ANSWER_BYTES_MAX: usize = 400;

/// Hides the secrets of each record independently, and notes the values that look random.
pub struct Learning<'r> {
    redactor: &'r Redactor,
    noted: Mutex<BTreeSet<Noted>>,
}

impl<'r> Learning<'r> {
    /// Creates one for the texts of a session.
    pub fn new(redactor: &'r Redactor) -> Self {
        Self { redactor, noted: Mutex::default() }
    }

    fn note(&self, values: Vec<String>, source: &SecretSource) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.extend(values.into_iter().map(|value| (value, source.clone())));
    }

    fn take(&self) -> BTreeSet<Noted> {
        std::mem::take(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hides the part of a text that answers a question. Returns whether anything was hidden.
    fn hide(&self, question: &str, text: &mut String, given: Given, source: SecretSource) -> bool {
        let answer = self.redactor.redact_answer(question, text, given);
        let is_hidden = !answer.hidden.is_empty();
        self.note(answer.recognised, &source);
        if is_hidden {
            *text = answer.text.into_owned();
        }
        is_hidden
    }

    fn redact_of<'a>(&self, text: &'a str, source: &SecretSource) -> Cow<'a, str> {
        let (clean, values) = self.redactor.redact_and_recognise(text);
        self.note(values, source);
        clean
    }
}

impl Redact for Learning<'_> {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_of(text, &SecretSource::Other)
    }

    fn redact_from<'a>(&self, text: &'a str, origin: &TextOrigin) -> Cow<'a, str> {
        let source = match origin {
            TextOrigin::User => SecretSource::Trusted,
            TextOrigin::Tool(id) => SecretSource::Tool(id.clone()),
        };
        self.redact_of(text, &source)
    }

    fn redact_answer<'a>(
        &self,
        question: &str,
        answer: &'a str,
        given: Given,
    ) -> (Cow<'a, str>, Vec<&'a str>) {
        let answer = self.redactor.redact_answer(question, answer, given);
        // An offered option contains the model's words, even if the user selected it.
        let is_offered = given == Given::Offered;
        let source = if is_offered { SecretSource::Other } else { SecretSource::Trusted };
        self.note(answer.recognised, &source);
        (answer.text, answer.hidden)
    }
}

/// Fields that link a record to others. They are not redacted, because other values would break these links.
const LINKS: [&str; 8] = ["u", "p", "cwd", "id", "message", "after", "leaf", "turns"];

/// The field with a working directory. Its beginning, up to the root of the working tree, identifies the project.
const FOLDER: &str = "cwd";

/// Removes secrets from the texts of JSON data, except from fields that link records. Returns whether there were any.
/// In the field of the working directory, only the part below one of these `roots` is redacted.
pub fn clean_texts<T: Serialize + DeserializeOwned>(
    redactor: &Redactor,
    of: &mut T,
    roots: &[PathBuf],
) -> Result<bool> {
    let mut value = serde_json::to_value(&*of)?;
    let changed = match &mut value {
        Value::Object(fields) => {
            clean_folder(redactor, fields, roots) | clean_fields(redactor, fields, &LINKS)
        }
        Value::Array(values) => values.iter_mut().fold(false, |changed, value| match value {
            Value::Object(fields) => {
                clean_folder(redactor, fields, roots)
                    | clean_fields(redactor, fields, &LINKS)
                    | changed
            }
            other => clean_value(redactor, other) | changed,
        }),
        other => clean_value(redactor, other),
    };
    if changed {
        *of = serde_json::from_value(value)?;
    }
    Ok(changed)
}

/// Redacts the part of a working directory below the root of its working tree, unless the directory is in another
/// repository.
fn clean_folder(redactor: &Redactor, fields: &mut Map<String, Value>, roots: &[PathBuf]) -> bool {
    let Some(Value::String(folder)) = fields.get_mut(FOLDER) else { return false };
    let path = Path::new(folder.as_str());
    let roots = roots.iter().filter(|root| path.starts_with(root));
    let Some(root) = roots.max_by_key(|root| root.as_os_str().len()) else { return false };
    let Some((root, below)) = root.to_str().and_then(|root| folder.split_at_checked(root.len()))
    else {
        return false;
    };
    let Cow::Owned(clean) = redactor.redact(below) else { return false };
    let is_foreign = || path.ancestors().take_while(|it| *it != Path::new(root)).any(has_git_entry);
    if clean == below || is_foreign() {
        return false;
    }
    *folder = format!("{root}{clean}");
    true
}

fn clean_fields(redactor: &Redactor, fields: &mut Map<String, Value>, but: &[&str]) -> bool {
    let fields = fields.iter_mut().filter(|(name, _)| !but.contains(&name.as_str()));
    fields.fold(false, |changed, (_, value)| clean_value(redactor, value) | changed)
}

fn clean_value(redactor: &Redactor, value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(clean) = redactor.redact(text) else { return false };
            let changed = clean != *text;
            *text = clean;
            changed
        }
        Value::Array(values) => {
            values.iter_mut().fold(false, |changed, value| clean_value(redactor, value) | changed)
        }
        Value::Object(fields) => clean_fields(redactor, fields, &[]),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
