//! Prints the result of commands that save a memory.

use std::io::Write;

use memory_store::neighbour::Neighbour;
use memory_store::store::{Change, Saved, Stored, places};
use memory_store::trust::HeldBack;
use serde::Serialize;

use super::memory::MemoryView;
use super::style::{NAME, paint};
use super::{path, plain};
use crate::failure::Result;
use crate::neighbours::NeighbourView;

/// A saved memory, as printed by `--json`.
#[derive(Serialize)]
struct SavedView<'a> {
    #[serde(flatten)]
    memory: MemoryView<'a>,
    /// Number of secret or personal values that were redacted.
    redacted: usize,
    /// Reason why the memory is withheld, and how to release it; `None` if it is not withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Places that resemble a credential, if the memory is pending for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    looks_like_credential: Option<String>,
    /// Neighbours of the memory, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbours: Option<Vec<NeighbourView<'a>>>,
}

/// Prints a saved memory as JSON, with the same data as [`show`].
pub fn json(
    saved: &Saved,
    held: Option<&HeldBack>,
    neighbours: Option<&[Neighbour]>,
    out: &mut dyn Write,
) -> Result {
    let Saved { stored, hidden, suspects, .. } = saved;
    let view = SavedView {
        memory: MemoryView::from(stored).held(held.is_some()),
        redacted: *hidden,
        note: held.map(|held| note(held, stored)),
        looks_like_credential: (!suspects.is_empty()).then(|| places(suspects)),
        neighbours: neighbours.map(|near| near.iter().map(NeighbourView::from).collect()),
    };
    super::json(&view, out)
}

/// Prints a sentence about a saved memory, the number of redacted values, and the reason if the memory is withheld.
pub fn show(done: &str, saved: &Saved, held: Option<&HeldBack>, out: &mut dyn Write) -> Result {
    let Saved { stored, hidden, suspects, .. } = saved;
    let done = if suspects.is_empty() { done } else { "Held" };
    writeln!(out, "{done} {} in {}", paint(NAME, stored.memory.id.short()), path(&stored.path))?;
    if !suspects.is_empty() {
        writeln!(
            out,
            "It is not in the repository, because it contains something that looks like a credential: {}. Sessions are \
             given it without that part. `throughline review` shows the place and takes it in, if it may be committed.",
            plain(&places(suspects))
        )?;
    }
    if *hidden > 0 {
        writeln!(out, "{hidden} secret or personal value(s) were taken out before saving.")?;
    }
    if let Some(held) = held {
        writeln!(out, "{}", note(held, stored))?;
    }
    Ok(())
}

/// Prints the result for a memory that existed before.
pub fn show_changed(saved: &Saved, held: Option<&HeldBack>, out: &mut dyn Write) -> Result {
    let done = match saved.change {
        Change::Created | Change::Updated => "Changed",
        Change::Unchanged => "As it was:",
    };
    show(done, saved, held, out)
}

fn note(held: &HeldBack, stored: &Stored) -> String {
    let id = stored.memory.id.short();
    let why = plain(&held.to_string());
    format!("It is withheld: {why}. `throughline review --release {id}` releases it.")
}
