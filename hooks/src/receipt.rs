//! Receipts: records of injections with their reasons and costs. `throughline why` reads them.

use std::io;
use std::ops::Range;

use memory_store_base::fs::disk::append_within;
use memory_store_base::layout::{RECEIPTS_BYTES_MAX, TreeDir};
use memory_store_base::{MemoryId, Timestamp};
use serde::Serialize;

/// A record of one injection. It contains neither the injected text nor the query.
#[derive(Debug, Serialize)]
pub struct HookReceipt<'a> {
    /// Time of the injection.
    pub at: Timestamp,
    /// Name of the event that caused the injection.
    pub event: &'a str,
    /// Id of the session.
    pub session: &'a str,
    /// Id of the subagent, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<&'a str>,
    /// The query without its text; `None` for the session-start block, which has no query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<ReceiptQuery>,
    /// The injected memories.
    pub memories: Vec<InjectedMemory<'a>>,
    /// Number of tokens of the injected text.
    pub tokens: u32,
    /// Microseconds between the receipt of the payload and the creation of this record.
    pub micros: u64,
    /// Length of the injected text in bytes.
    pub text_bytes: usize,
}

/// A query without its text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptQuery {
    /// The first 16 hexadecimal digits of the text's blake3 hash.
    pub hash: String,
    /// Length of the text in bytes.
    pub len: usize,
}

/// A memory that was injected.
#[derive(Debug, Serialize)]
pub struct InjectedMemory<'a> {
    /// Id of the memory.
    pub id: MemoryId,
    /// Reason why the memory was returned.
    pub why: &'a str,
    /// Score of the hit.
    pub score: f32,
    /// Start of the memory in the text, in bytes.
    pub start: usize,
    /// End of the memory in the text, in bytes.
    pub end: usize,
}

impl ReceiptQuery {
    /// Returns the hash and the length of a query.
    pub fn of(text: &str) -> Self {
        let hash = memory_store_base::layout::path_hash(std::path::Path::new(text));
        Self { hash: hash.get(..16).unwrap_or_default().to_owned(), len: text.len() }
    }
}

impl<'a> InjectedMemory<'a> {
    /// Returns a memory with its byte range in the text.
    pub const fn at(id: MemoryId, why: &'a str, score: f32, place: &Range<usize>) -> Self {
        Self { id, why, score, start: place.start, end: place.end }
    }
}

impl HookReceipt<'_> {
    /// Appends the receipt to the file of its day.
    pub fn leave(&self, tree: &TreeDir) -> io::Result<()> {
        let mut line = serde_json::to_vec(self).map_err(io::Error::other)?;
        line.push(b'\n');
        append_within(&tree.receipts(&self.at.date()), &line, RECEIPTS_BYTES_MAX).map(drop)
    }
}
