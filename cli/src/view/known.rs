//! Prints a whole memory with facts that are not in its file.

use std::io::Write;
use std::path::PathBuf;

use memory_store::memory::Status;
use memory_store::recall::Recall;
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;
use memory_store::trust::LABEL;

use super::MemoryView;
use super::style::{CARE, paint};
use crate::failure::Result;
use crate::inspect::damage;
use crate::stores::{HeldFile, Stores};
use crate::view;

/// Facts that are read only once for all printed memories.
pub struct MemoryFacts {
    /// The index.
    pub recall: Recall,
    reviewed: Reviewed,
    /// Archive files of sessions whose evidence is lost, with the ids of the sessions.
    lost: Vec<(PathBuf, String)>,
}

impl MemoryFacts {
    /// Reads the facts.
    pub fn open(stores: &Stores) -> Self {
        Self {
            recall: stores.recall(),
            reviewed: Reviewed::read(&stores.project.home),
            lost: damage::lost(&stores.world.dirs.project(stores.tree.project)),
        }
    }

    /// Converts a memory for JSON output.
    pub fn view<'a>(&self, stored: &'a Stored) -> MemoryView<'a> {
        let staleness = self.recall.staleness(stored.memory.id);
        MemoryView::from(stored).stale(staleness.as_ref())
    }

    /// Prints a whole memory, and the reason if it is withheld or may be stale.
    pub fn show(
        &self,
        stored: &Stored,
        is_pulled: bool,
        stores: &Stores,
        out: &mut dyn Write,
    ) -> Result {
        view::whole(stored, out)?;
        if is_pulled {
            let label = format!("{LABEL}: `throughline trust` releases it");
            writeln!(out, "{}", paint(CARE, label))?;
        }
        if let Some(staleness) = self.recall.staleness(stored.memory.id) {
            writeln!(
                out,
                "{}\n`throughline review --keep {}` says that it still holds.",
                paint(CARE, view::why_stale(&staleness)),
                stored.memory.id.short()
            )?;
        }
        for link in self.reviewed.proposals_of(stored.memory.id) {
            let (id, link) =
                (stored.memory.id.short(), format!("{} {}", link.kind, link.to.short()));
            writeln!(
                out,
                "A model proposes: {}. `throughline edit {id} --relation \"{}\"` adds it.",
                view::plain(&link),
                view::plain(&link)
            )?;
        }
        let session = stored.memory.source.session.as_deref();
        if session.is_some_and(|session| self.lost.iter().any(|(_, known)| known == session)) {
            let told = "its evidence is lost: the archived session cannot be read, and its transcript is gone";
            writeln!(out, "{}", paint(CARE, told))?;
        }
        if stored.memory.status == Status::Archived {
            return Ok(());
        }
        if let Some(HeldFile { why, release, .. }) = stores.held_as(stored)? {
            let why = format!("withheld: {}", view::plain(&why.to_string()));
            writeln!(
                out,
                "{}\n`throughline review --release {release}` releases it.",
                paint(CARE, why)
            )?;
        }
        Ok(())
    }
}
