//! Splits a long session into parts. When the session continues, only the open part is read and mined again, so the
//! cost does not grow with the session.
//!
//! A part ends before a prompt with a new request. It is closed when the records after its end have the minimum size of
//! a part. Both depend only on the records and their order, so a transcript that is read in portions is split in the
//! same way.

use serde::{Deserialize, Serialize};

use super::assemble::{Assembly, assemble};
use super::record::{Record, RecordWhat};
use super::session::PromptBy;
use super::tasks::Tasks;
use crate::extract::{fails_at_end, goes_on};

/// Minimum size in bytes of the archived records of a part, and of the records after it before it is closed. With twice
/// the size, a new turn costs twice as much mining. A smaller size would split the sessions of one day, whose turns
/// explain one another.
pub const PART_BYTES: u64 = 1 << 20;

/// State of the open part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Growth {
    /// Size of the records in bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub bytes: u64,
    /// Beginning of the next part, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<PartBeginning>,
    /// Whether the session contains subagents (1.0.x). Their turns are counted separately, so such a session is not
    /// split.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Tasks at the beginning of the part.
    #[serde(skip_serializing_if = "Tasks::is_none")]
    pub tasks: Tasks,
    /// Whether the previous part ends with a failure that may be cured in this part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub after_failure: bool,
}

/// The first record of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartBeginning {
    /// The uuid of the record's line.
    pub uuid: String,
    /// Index of the record among the records of that line.
    pub part: u32,
    /// Size in bytes of the records before this record.
    pub before: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

impl Growth {
    /// Adds a record.
    pub fn add(&mut self, record: &Record, part_bytes: u64) {
        self.whole |= record.side;
        if self.whole {
            return;
        }
        if self.cut.is_none() && self.bytes >= part_bytes && opens(record) {
            let uuid = record.uuid.clone();
            self.cut = Some(PartBeginning { uuid, part: record.part, before: self.bytes });
        }
        let mut bytes = ByteCounter(0);
        // Serialising a record cannot fail, because it is plain data.
        let _ = serde_json::to_writer(&mut bytes, record);
        self.bytes += bytes.0;
    }

    /// Returns whether a part must be closed.
    pub fn is_full(&self, part_bytes: u64) -> bool {
        self.cut.as_ref().is_some_and(|cut| self.bytes - cut.before >= part_bytes)
    }

    /// Removes the records of the full part from `records` and returns them; `None` if the first record of the next
    /// part was removed.
    pub fn close(&mut self, records: &mut Vec<Record>) -> Option<Vec<Record>> {
        let cut = self.cut.take()?;
        let is_cut = |record: &Record| record.uuid == cut.uuid && record.part == cut.part;
        let at = records.iter().position(is_cut).filter(|at| *at > 0)?;
        self.bytes -= cut.before;
        let rest = records.split_off(at);
        let closed = std::mem::replace(records, rest);
        self.tasks = self.tasks.after(&closed);
        let sessions = assemble("", None, &closed, &Assembly::ALONE);
        self.after_failure = sessions.first().is_some_and(fails_at_end);
        Some(closed)
    }

    /// Returns the state to store in the header of a part that is closed now, which is the state at its beginning.
    pub fn beginning(&self) -> Self {
        let Self { tasks, after_failure, .. } = self.clone();
        Self { tasks, after_failure, ..Self::default() }
    }
}

/// Returns whether a record is a new request by a person, a program or another agent.
fn opens(record: &Record) -> bool {
    match &record.what {
        RecordWhat::Prompt { text, by, .. } => {
            matches!(by, PromptBy::User | PromptBy::Sdk | PromptBy::Agent) && !goes_on(text)
        }
        _ => false,
    }
}

/// Writer that only counts the bytes.
struct ByteCounter(u64);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Separator between the name of a session and the number of a part.
const MARK: char = '~';

/// Maximum number of a part. Names with higher numbers would not be sorted in the order of the parts.
pub const NUMBER_MAX: u32 = 99_999;

/// Returns the name of the archive file of a part.
pub fn name(session: &str, number: u32) -> String {
    if number == 0 { session.to_owned() } else { format!("{session}{MARK}{number:05}") }
}

/// Returns the possible names of the part after a closed one: the next number, or the open part.
pub fn after(closed: &str) -> Vec<String> {
    match of_name(closed) {
        (_, 0) => Vec::new(),
        (session, number) => vec![name(session, number + 1), name(session, 0)],
    }
}

/// Returns the session of an archive file, and the number of the part; 0 for the open part.
pub fn of_name(name: &str) -> (&str, u32) {
    match name.rsplit_once(MARK) {
        Some((session, number)) => (session, number.parse().unwrap_or(0)),
        None => (name, 0),
    }
}
