//! Records the memories and turns in answers of the MCP server. They are added to the session's file, so that no hook
//! injects them again. Each answer also leaves a receipt for `throughline why`, `status` and the worth of a memory.
//!
//! Both files are those of the hooks. Hooks and this module append to them without a lock; `hooks::session` describes
//! the format of the lines.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Instant;

use memory_store::MemoryId;
use memory_store::fs::disk::append_within;
use memory_store::fs::open_regular::read_beginning;
use memory_store::layout::{RECEIPTS_BYTES_MAX, SESSION_BYTES_MAX, Tree, path_hash};
use memory_store::recall::{Hit, render};
use serde_json::json;

use super::{ANSWER_TOKENS_MAX, Local};

/// Maximum characters of a memory's text that hooks may inject again after a compaction.
const AGAIN_CHARS_MAX: usize = 700;

/// An answer that contains memories or turns of sessions.
pub(super) struct GivenAnswer<'a> {
    pub tree: &'a Tree,
    /// Name of the tool or the prompt.
    pub event: &'a str,
    pub query: Option<&'a str>,
    pub hits: &'a [Hit],
    pub rendered: &'a render::Rendered,
    /// Whether the answer contains any memories or turns.
    pub found: bool,
    /// Time at which the call began.
    pub started: Instant,
}

impl Local {
    /// Records the memories and turns of an answer in the session's file and a receipt. Errors are ignored.
    pub(super) fn record_given(&self, answer: &GivenAnswer<'_>) {
        if !answer.found || !self.may_note(answer.tree) {
            return;
        }
        if !answer.rendered.pieces.is_empty() {
            drop(self.claim(answer.tree, answer.rendered));
        }
        drop(self.leave_receipt(answer));
    }

    /// Records in the session's file that the session contains a memory that it saved. Errors are ignored.
    pub(super) fn record_saved(&self, id: MemoryId, tree: &Tree) {
        if self.environment.session.is_none() {
            return;
        }
        let saved = self.indexed(tree).listed(id, self.now()).filter(|hit| !hit.held);
        let hits: Vec<Hit> = saved.into_iter().collect();
        drop(self.claim(tree, &render::injection("search", &hits, ANSWER_TOKENS_MAX)));
    }

    fn claim(&self, tree: &Tree, rendered: &render::Rendered) -> io::Result<()> {
        let Some(session) = &self.environment.session else { return Ok(()) };
        let path = self.environment.dirs.tree(&tree.root).session(session, None);
        let before = read_beginning(&path, SESSION_BYTES_MAX as u64).unwrap_or_default();
        let before = String::from_utf8_lossy(&before);
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let claimant = u64::from_le_bytes(random);
        // If a full disk truncated the last line, the new line must not continue it.
        let mut lines = String::new();
        if !before.is_empty() && !before.ends_with('\n') {
            lines.push('\n');
        }
        for piece in &rendered.pieces {
            let id = format!("{:032x}", u128::from_be_bytes(piece.id.0));
            let is_known = since_clear(&before)
                .any(|line| line.strip_prefix("c ").is_some_and(|claim| claim.ends_with(&id)));
            if is_known {
                continue;
            }
            let text = rendered.text.get(piece.range.clone()).unwrap_or_default();
            let text: String = text.chars().take(AGAIN_CHARS_MAX).collect();
            let given = json!({"id": piece.id, "text": render::clean(&text)});
            let _ = write!(lines, "c {claimant:016x} {id}\ng {given}\n");
        }
        match lines.trim().is_empty() {
            true => Ok(()),
            false => append_within(&path, lines.as_bytes(), SESSION_BYTES_MAX as u64).map(drop),
        }
    }

    /// Appends a receipt of an answer to the receipts of the day.
    pub(super) fn leave_receipt(&self, answer: &GivenAnswer<'_>) -> io::Result<()> {
        let now = self.now();
        let memories: Vec<_> = answer
            .rendered
            .pieces
            .iter()
            .filter_map(|piece| {
                let hit = answer.hits.iter().find(|hit| hit.id == piece.id)?;
                let (start, end) = (piece.range.start, piece.range.end);
                Some(json!({
                    "id": hit.id, "why": hit.why, "score": hit.score, "start": start, "end": end,
                }))
            })
            .collect();
        let query = answer.query.map(|text| {
            let hash = path_hash(Path::new(text));
            json!({"hash": hash.get(..16).unwrap_or_default(), "len": text.len()})
        });
        let mut receipt = json!({
            "at": now,
            "event": format!("mcp {}", answer.event),
            "session": self.environment.session.as_deref().unwrap_or_default(),
            "memories": memories,
            "tokens": render::tokens(&answer.rendered.text),
            "micros": u64::try_from(answer.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            "text_bytes": answer.rendered.text.len(),
        });
        if let (Some(query), Some(receipt)) = (query, receipt.as_object_mut()) {
            receipt.insert("query".to_owned(), query);
        }
        let path = self.environment.dirs.tree(&answer.tree.root).receipts(&now.date());
        append_within(&path, format!("{receipt}\n").as_bytes(), RECEIPTS_BYTES_MAX).map(drop)
    }
}

/// Returns the lines after the last `/clear`.
fn since_clear(text: &str) -> impl Iterator<Item = &str> {
    let start = text.rfind("\nx\n").map_or(0, |at| at + 3);
    text.get(start..).unwrap_or_default().lines()
}
