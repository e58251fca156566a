//! Past sessions, read from their session records, or from the archive if all turns are needed.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_store::Timestamp;
use processor::collect::archive::{Archive, file_name};
use processor::extract::session_record::SessionRecord;
use processor::session_records;
use processor::state::State;
use processor::transcript::record::{Record, RecordWhat};
use processor::transcript::session::PromptBy;
use processor::transcript::{Speaker, parts};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{CARE, paint};

/// A session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PastSession {
    /// Id of the session.
    pub session: String,
    /// Time of the session's first record.
    pub first: Timestamp,
    /// Time of the session's last record.
    pub last: Timestamp,
    /// Last git branch of the session; empty outside git.
    pub branch: String,
    /// The folder in which the session was started.
    pub folder: PathBuf,
    /// Speaker of the session's prompts.
    #[serde(skip_serializing_if = "Speaker::is_person")]
    pub speaker: Speaker,
    /// Title, derived from the request of the session.
    pub title: String,
    /// The first request in the session.
    pub wish: String,
    /// Number of prompts that the speaker sent.
    pub prompts: usize,
    /// Whether Claude Code still has the transcript, so that the session can be resumed.
    pub is_resumable: bool,
}

/// The sessions that a list is asked for.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionFilter {
    /// Only sessions with prompts by this speaker (repeatable)
    #[arg(long, value_name = "SPEAKER", value_parser = speakers())]
    by: Vec<Speaker>,
}

impl SessionFilter {
    /// Returns whether the filter excludes any session.
    pub fn is_given(&self) -> bool {
        !self.by.is_empty()
    }

    /// Returns whether a session passes the filter.
    pub fn keeps(&self, session: &PastSession) -> bool {
        self.keeps_speaker(session.speaker)
    }

    /// Returns whether a speaker passes the filter.
    pub fn keeps_speaker(&self, speaker: Speaker) -> bool {
        self.by.is_empty() || self.by.contains(&speaker)
    }
}

fn speakers() -> impl TypedValueParser<Value = Speaker> {
    PossibleValuesParser::new(["person", "agent", "program"]).map(|name| match name.as_str() {
        "agent" => Speaker::Agent,
        "program" => Speaker::Program,
        _ => Speaker::Person,
    })
}

/// Opens the archive of a project.
pub fn archive(stores: &Stores) -> Archive {
    Archive::open(&stores.world.dirs.project(stores.tree.project))
}

/// Sessions of a project, read from their session records.
pub struct PastSessions {
    all: Vec<(PastSession, SessionRecord)>,
}

impl PastSessions {
    /// Reads the sessions, newest first.
    pub fn open(stores: &Stores) -> Self {
        let home = stores.world.dirs.project(stores.tree.project);
        let state = State::read(&home);
        let transcripts: BTreeSet<&str> = state
            .seen
            .keys()
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl") && path.is_file())
            .filter_map(|path| path.file_stem()?.to_str())
            .collect();
        let records = session_records::read(&home).into_iter();
        let records = records.filter(|record| record.agent.is_none());
        let all = records.map(|record| (PastSession::of(&record, &transcripts), record)).collect();
        Self { all }
    }

    /// Returns the sessions with their records, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &(PastSession, SessionRecord)> {
        self.all.iter()
    }

    /// Returns the session with this id; `None` if there is no record of it.
    pub fn of(&self, session: &str) -> Option<&PastSession> {
        self.iter().map(|(known, _)| known).find(|known| known.session == session)
    }
}

/// Reads the transcript records of a session, without those of its subagents, which are in separate files. Returns
/// `None` if the archive does not contain the session or the file is unreadable; the latter is reported on stderr.
pub fn transcript_records(archive: &Archive, session: &str) -> Option<Vec<Record>> {
    let load = |name: &str| match archive.load(name) {
        Ok(file) => file,
        Err(error) => {
            // A write error is ignored: a closed stderr cannot be repaired.
            let label = paint(CARE, "left out:");
            let _ = writeln!(anstream::stderr(), "{label} {error}; `throughline doctor` says more");
            None
        }
    };
    let name = file_name(session, None);
    let file = load(&name)?;
    let mut records = Vec::new();
    for part in 1..=file.header.parts {
        if let Some(closed) = load(&parts::name(&name, part)) {
            records.extend(closed.records);
        }
    }
    records.extend(file.records);
    Some(records)
}

/// Returns the archive names of all sessions, without subagents, in the order in which they are read fastest.
pub fn names(archive: &Archive) -> Result<Vec<String>> {
    let mut names = archive.names().map_err(|error| Failure::new(format!("{error:#}")))?;
    names.retain(|name| is_main(name));
    Ok(names)
}

/// A prompt that a person typed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypedPrompt {
    /// Time of the prompt.
    pub at: Timestamp,
    /// Text of the prompt.
    pub text: String,
    /// The session.
    pub session: String,
}

/// Returns the last prompts that people typed, newest first, from the sessions that changed last.
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
        // An unreadable session is skipped here; `doctor` reports it.
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

impl PastSession {
    /// Converts a session record. `transcripts` are the ids of the sessions whose transcripts exist.
    fn of(record: &SessionRecord, transcripts: &BTreeSet<&str>) -> Self {
        let id = record.session.as_str();
        Self {
            session: id.to_owned(),
            first: record.first,
            last: record.last,
            branch: record.branch.clone(),
            folder: PathBuf::from(&record.folder),
            speaker: record.speaker.unwrap_or_default(),
            title: record.title.clone(),
            wish: record.first_request.clone(),
            prompts: record.prompts,
            is_resumable: is_plain(id) && transcripts.contains(id),
        }
    }

    /// Returns the title for a list, with a label if the speaker is not a person.
    pub fn subject(&self) -> String {
        match self.speaker.label() {
            "" => self.title.clone(),
            label => format!("[prompts by {label}] {}", self.title),
        }
    }
}

/// Returns the name of a branch, as a prefix for a description of the work on it.
pub fn on_branch(branch: &str) -> String {
    if branch.is_empty() { String::new() } else { format!("{}: ", plain(branch)) }
}

/// Returns whether an archive file contains a session itself, not a subagent or an earlier part.
fn is_main(name: &str) -> bool {
    !name.contains('.') && parts::of_name(name).1 == 0
}

/// Returns whether an id is safe in a command line. The id is from a transcript, which other people may have written.
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
