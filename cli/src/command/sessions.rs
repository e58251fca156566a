//! Past sessions as the archive keeps them.

use std::path::PathBuf;

use memory_store::Timestamp;
use processor::archive::{Archive, SessionFile, file_name};
use processor::transcript::parts;
use processor::transcript::record::{Record, RecordWhat};
use processor::transcript::session::PromptBy;
use serde::Serialize;

use super::stores::Stores;
use crate::failure::{Failure, Result};
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
    /// The first prompt that a person typed.
    pub wish: String,
    /// How many prompts a person typed.
    pub prompts: usize,
    /// Whether Claude Code still has its transcript, so that it can go on.
    pub is_resumable: bool,
}

/// The archive of a project.
pub fn archive(world: &World, stores: &Stores) -> Archive {
    Archive::open(&world.dirs.project(stores.tree.project))
}

/// Reads one session; `None` when nothing of it is kept, or it cannot be read, which `doctor` tells.
pub fn of(archive: &Archive, session: &str) -> Option<Session> {
    let name = file_name(session, None);
    let file = archive.load(&name).ok()??;
    let mut read = Session { session: file.header.session.clone(), ..Session::default() };
    for part in 1..=file.header.parts {
        if let Ok(Some(closed)) = archive.load(&parts::name(&name, part)) {
            closed.records.iter().for_each(|record| read.add(record));
        }
    }
    file.records.iter().for_each(|record| read.add(record));
    read.is_resumable = is_plain(&read.session) && has_transcript(&file);
    Some(read)
}

/// Reads all sessions, without subagents, newest first.
pub fn all(archive: &Archive) -> Result<Vec<Session>> {
    let names = archive.names().map_err(|error| Failure::new(format!("{error:#}")))?;
    let names = names.iter().filter(|name| is_main(name));
    let mut sessions: Vec<Session> = names.filter_map(|name| of(archive, name)).collect();
    sessions.sort_by_key(|session| (std::cmp::Reverse(session.last), session.session.clone()));
    Ok(sessions)
}

impl Session {
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
        if *by == PromptBy::User && !text.trim().is_empty() {
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
