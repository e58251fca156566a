//! Splits a long session into parts, so that the amount read and mined again when it continues does not grow with it.
//!
//! A part ends before a prompt with a new request, and is closed once an equal amount follows it. Both depend only on
//! the records in their order, so slices of a transcript are split like the whole.

use serde::{Deserialize, Serialize};

use super::assemble::{Assembly, assemble};
use super::record::{Record, RecordWhat};
use super::session::PromptBy;
use super::tasks::Tasks;
use crate::extract::{fails_at_end, goes_on};

/// Minimum size in bytes of the records of a part, as archived, and of those after it when it is closed. One more turn
/// costs as much as mining twice as many bytes. Smaller parts would split sessions of a day, whose turns explain one
/// another.
pub const PART_BYTES: u64 = 1 << 20;

/// Size of the open part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Growth {
    /// Bytes of its records.
    #[serde(skip_serializing_if = "is_none")]
    pub bytes: u64,
    /// Beginning of the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<PartBeginning>,
    /// Whether subagents were written into it (1.0.x). Their turns are counted apart: it is not cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Tasks at the beginning of the part.
    #[serde(skip_serializing_if = "Tasks::is_none")]
    pub tasks: Tasks,
    /// Whether the part before it ends with a failure that may be cured in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub after_failure: bool,
}

/// The record that a part begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartBeginning {
    /// Its line.
    pub uuid: String,
    /// Its number among the records of that line.
    pub part: u32,
    /// Bytes of the records before it.
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
        // A record is plain data: it can be written.
        let _ = serde_json::to_writer(&mut bytes, record);
        self.bytes += bytes.0;
    }

    /// Returns whether a part must be closed.
    pub fn is_full(&self, part_bytes: u64) -> bool {
        self.cut.as_ref().is_some_and(|cut| self.bytes - cut.before >= part_bytes)
    }

    /// Splits the part to be closed off the records, and leaves the open rest; `None` if the record at which it ends
    /// was removed.
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

    /// Returns the header data of a part that is closed now: the state at its beginning.
    pub fn beginning(&self) -> Self {
        let Self { tasks, after_failure, .. } = self.clone();
        Self { tasks, after_failure, ..Self::default() }
    }
}

/// Returns whether a person, or a program in their place, makes a new request.
fn opens(record: &Record) -> bool {
    match &record.what {
        RecordWhat::Prompt { text, by, .. } => {
            matches!(by, PromptBy::User | PromptBy::Sdk | PromptBy::Agent) && !goes_on(text)
        }
        _ => false,
    }
}

/// Counts what is written.
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

/// Character between the name of a session and the number of a part.
const MARK: char = '~';

/// Highest part number whose name sorts after those of the parts before it.
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

/// Returns the session of an archive file, and the number of its part; 0 for the open one.
pub fn of_name(name: &str) -> (&str, u32) {
    match name.rsplit_once(MARK) {
        Some((session, number)) => (session, number.parse().unwrap_or(0)),
        None => (name, 0),
    }
}
