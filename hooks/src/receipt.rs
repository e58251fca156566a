//! Receipts: injections with their reasons and their cost. `throughline why` reads them.

use std::io;
use std::ops::Range;

use memory_store_base::fs::disk::append_within;
use memory_store_base::layout::{RECEIPTS_BYTES_MAX, TreeDir};
use memory_store_base::{MemoryId, Timestamp};
use serde::Serialize;

/// One injection. The text itself is not kept here, nor what was asked.
#[derive(Debug, Serialize)]
pub struct HookReceipt<'a> {
    /// When.
    pub at: Timestamp,
    /// The event it answered.
    pub event: &'a str,
    /// The session.
    pub session: &'a str,
    /// The subagent, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<&'a str>,
    /// The query; `None` for the session-start block, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<ReceiptQuery>,
    /// The memories.
    pub memories: Vec<InjectedMemory<'a>>,
    /// Number of tokens of the text.
    pub tokens: u32,
    /// Microseconds from receiving the payload until now.
    pub micros: u64,
    /// Length of the text in bytes.
    pub text_bytes: usize,
}

/// A query without its text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptQuery {
    /// blake3 of the text, its first 16 hexadecimal digits.
    pub hash: String,
    /// Length of the text in bytes.
    pub len: usize,
}

/// A memory that was injected.
#[derive(Debug, Serialize)]
pub struct InjectedMemory<'a> {
    /// Its id.
    pub id: MemoryId,
    /// Reason of the hit.
    pub why: &'a str,
    /// Score of the memory.
    pub score: f32,
    /// Start of the memory in the text, in bytes.
    pub start: usize,
    /// End of the memory in the text.
    pub end: usize,
}

impl ReceiptQuery {
    /// Describes a query.
    pub fn of(text: &str) -> Self {
        let hash = memory_store_base::layout::path_hash(std::path::Path::new(text));
        Self { hash: hash.get(..16).unwrap_or_default().to_owned(), len: text.len() }
    }
}

impl<'a> InjectedMemory<'a> {
    /// Returns a memory at a range in the text.
    pub const fn at(id: MemoryId, why: &'a str, score: f32, place: &Range<usize>) -> Self {
        Self { id, why, score, start: place.start, end: place.end }
    }
}

impl HookReceipt<'_> {
    /// Leaves it with the others of the day.
    pub fn leave(&self, tree: &TreeDir) -> io::Result<()> {
        let mut line = serde_json::to_vec(self).map_err(io::Error::other)?;
        line.push(b'\n');
        append_within(&tree.receipts(&self.at.date()), &line, RECEIPTS_BYTES_MAX).map(drop)
    }
}
