//! Past sessions as the archive keeps them.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_store::Timestamp;
use processor::collect::archive::{Archive, SessionFile, file_name};
use processor::transcript::record::{Record, RecordWhat};
use processor::transcript::session::{Input, PromptBy};
use processor::transcript::{Speaker, parts};
use serde::Serialize;

use super::stores::Stores;
use crate::failure::{Failure, Result};
use crate::style::{CARE, paint};
use crate::world::World;

/// A session of the archive.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Session {
    /// Its id.
    pub session: String,
    /// The time of its first record.
    pub first: Timestamp,
    /// The time of its last one.
    pub last: Timestamp,
    /// The branch it was on last; empty outside git.
    pub branch: String,
    /// The folder it was started in.
    pub folder: PathBuf,
    /// Its speaker.
    #[serde(skip_serializing_if = "Speaker::is_person")]
    pub speaker: Speaker,
    /// The first prompt of its speaker.
    pub wish: String,
    /// How many prompts its speaker gave.
    pub prompts: usize,
    /// Whether Claude Code still has its transcript, so that it can go on.
    pub is_resumable: bool,
}

/// The sessions that a list is asked for.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionFilter {
    /// Only sessions whose prompts this speaker gave; may be repeated
    #[arg(long, value_name = "SPEAKER", value_parser = speakers())]
    by: Vec<Speaker>,
}

impl SessionFilter {
    /// Returns whether the filter keeps a session.
    pub fn keeps(&self, session: &Session) -> bool {
        self.by.is_empty() || self.by.contains(&session.speaker)
    }
}

fn speakers() -> impl TypedValueParser<Value = Speaker> {
    PossibleValuesParser::new(["person", "agent", "program"]).map(|name| match name.as_str() {
        "agent" => Speaker::Agent,
        "program" => Speaker::Program,
        _ => Speaker::Person,
    })
}

/// The archive of a project.
pub fn archive(world: &World, stores: &Stores) -> Archive {
    Archive::open(&world.dirs.project(stores.tree.project))
}

/// Reads one session; `None` when nothing of it is kept, or it cannot be read, which is told on stderr.
pub fn of(archive: &Archive, session: &str) -> Option<Session> {
    of_name(archive, &file_name(session, None)).map(|(session, _)| session)
}

/// Reads a session and its records, by the name of its file.
fn of_name(archive: &Archive, name: &str) -> Option<(Session, Vec<Record>)> {
    let load = |name: &str| match archive.load(name) {
        Ok(file) => file,
        Err(error) => {
            // Nothing can be done about a closed stderr.
            let label = paint(CARE, "left out:");
            let _ = writeln!(anstream::stderr(), "{label} {error}; `throughline doctor` says more");
            None
        }
    };
    let file = load(name)?;
    let mut records = Vec::new();
    for part in 1..=file.header.parts {
        if let Some(closed) = load(&parts::name(name, part)) {
            records.extend(closed.records);
        }
    }
    let id = &file.header.session;
    let is_resumable = is_plain(id) && has_transcript(&file);
    records.extend(file.records);
    let speaker = Speaker::of(&records).unwrap_or_default();
    let mut session = Session { session: id.clone(), is_resumable, speaker, ..Session::default() };
    records.iter().for_each(|record| session.add(record));
    Some((session, records))
}

/// Reads a session and what was done in it; subagents have files of their own.
pub fn with_records(archive: &Archive, session: &str) -> Option<(Session, Vec<Record>)> {
    of_name(archive, &file_name(session, None))
}

/// The names of all sessions, without subagents, in the order in which they are read at least cost.
pub fn names(archive: &Archive) -> Result<Vec<String>> {
    let mut names = archive.names().map_err(|error| Failure::new(format!("{error:#}")))?;
    names.retain(|name| is_main(name));
    Ok(names)
}

/// Reads all sessions with what was done in them, and keeps what `told` makes of each; newest first.
pub fn all<T>(
    archive: &Archive,
    told: impl Fn(&Session, &[Record]) -> Option<T>,
) -> Result<Vec<(Session, T)>> {
    let mut sessions: Vec<(Session, T)> = names(archive)?
        .iter()
        .filter_map(|name| {
            let (session, records) = of_name(archive, name)?;
            let told = told(&session, &records)?;
            Some((session, told))
        })
        .collect();
    sessions.sort_by_key(|(session, _)| (std::cmp::Reverse(session.last), session.session.clone()));
    Ok(sessions)
}

/// A prompt that a person typed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypedPrompt {
    /// Its time.
    pub at: Timestamp,
    /// Its text.
    pub text: String,
    /// The session.
    pub session: String,
}

/// Returns the last prompts that people typed, newest first, from the sessions that were changed last.
pub fn typed_prompts(
    archive: &Archive,
    sessions_max: usize,
    count: usize,
) -> Result<Vec<TypedPrompt>> {
    let failed = |error: anyhow::Error| Failure::new(format!("{error:#}"));
    let mut entries = archive.entries().map_err(failed)?;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.modified_ns));
    let mut prompts = Vec::new();
    for entry in entries.iter().take(sessions_max) {
        // `doctor` reports a session that cannot be read.
        let Ok(Some(file)) = archive.load(&entry.name) else { continue };
        let session = file.header.session;
        prompts.extend(file.records.into_iter().filter_map(|record| match record.what {
            RecordWhat::Prompt { text, by: PromptBy::User, .. } if !text.trim().is_empty() => {
                Some(TypedPrompt { at: record.at, text, session: session.clone() })
            }
            _ => None,
        }));
    }
    prompts.sort_by(|a, b| b.cmp(a));
    prompts.truncate(count);
    Ok(prompts)
}

/// The file that a call reads or edits, and whether it edits it.
pub fn touched(record: &Record) -> Option<(&str, bool)> {
    match &record.what {
        RecordWhat::Call { what: Input::Read { path }, .. } => Some((path, false)),
        RecordWhat::Call { what: Input::Edit { path, .. }, .. } => Some((path, true)),
        _ => None,
    }
}

/// The command line that a call runs.
pub fn ran(record: &Record) -> Option<&str> {
    match &record.what {
        RecordWhat::Call { what: Input::Shell { command, .. }, .. } => Some(command),
        _ => None,
    }
}

impl Session {
    /// Returns its first prompt, for the line of a list, with a mark where its prompts are no person's.
    pub fn subject(&self) -> String {
        match self.speaker.label() {
            "" => self.wish.clone(),
            label => format!("[prompts by {label}] {}", self.wish),
        }
    }

    fn add(&mut self, record: &Record) {
        if record.at != Timestamp::default() {
            self.last = self.last.max(record.at);
            if self.first == Timestamp::default() {
                self.first = record.at;
            }
        }
        let RecordWhat::Prompt { cwd, branch, text, by, .. } = &record.what else { return };
        if self.folder.as_os_str().is_empty() {
            self.folder = cwd.into();
        }
        if !branch.is_empty() {
            self.branch.clone_from(branch);
        }
        let of_speaker = match self.speaker {
            Speaker::Person => PromptBy::User,
            Speaker::Agent => PromptBy::Agent,
            Speaker::Program => PromptBy::Sdk,
        };
        if *by == of_speaker && !text.trim().is_empty() {
            self.prompts += 1;
            if self.wish.is_empty() {
                self.wish.clone_from(text);
            }
        }
    }
}

/// Whether an archive file is of a session itself, and not of a subagent or a closed part.
fn is_main(name: &str) -> bool {
    !name.contains('.') && parts::of_name(name).1 == 0
}

fn has_transcript(file: &SessionFile) -> bool {
    let name = format!("{}.jsonl", file.header.session);
    let mut sources = file.header.sources.iter();
    sources.any(|source| {
        source.path.file_name().is_some_and(|it| *it == *name) && source.path.is_file()
    })
}

/// Whether an id can stand in a command line: it comes from a transcript, which others may have written.
fn is_plain(session: &str) -> bool {
    let mut bytes = session.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_the_shell_takes_as_it_is_can_be_resumed() {
        assert!(is_plain("1111aaaa-1111-4111-8111-111111111111"));
        for id in ["", "-p", "--model", "a b", "a;reboot", "a$(x)", "../a"] {
            assert!(!is_plain(id), "{id}");
        }
    }
}
