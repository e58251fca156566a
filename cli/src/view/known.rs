//! Prints a whole memory with facts that are not in its file.

use std::io::Write;
use std::path::PathBuf;

use memory_store::Timestamp;
use memory_store::memory::Status;
use memory_store::recall::Recall;
use memory_store::recall::start_rank::Age;
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;
use memory_store::trust::LABEL;
use memory_store::uses::{self, Experience, Uses};

use super::MemoryView;
use super::style::{CARE, QUIET, paint};
use crate::failure::Result;
use crate::inspect::damage;
use crate::stores::{HeldFile, Stores};
use crate::view;

/// Ages of memories and their use by sessions.
pub struct KnownUse {
    /// The index.
    pub recall: Recall,
    reviewed: Reviewed,
    uses: Uses,
    now: Timestamp,
}

impl KnownUse {
    /// Reads ages and use.
    pub fn open(stores: &Stores) -> Self {
        Self {
            recall: stores.recall(),
            reviewed: Reviewed::read(&stores.project.home),
            uses: uses::read(&stores.state()),
            now: stores.world.now,
        }
    }

    /// Returns the age of a memory; a memory that is not in the index counts as fresh.
    pub fn age(&self, stored: &Stored) -> Age {
        self.recall.age(stored.memory.id, self.now).unwrap_or_default()
    }

    /// Returns whether a memory is a candidate for the archive.
    pub fn may_be_archived(&self, stored: &Stored) -> bool {
        self.of(stored).may_be_archived(&stored.memory, self.age(stored))
    }

    /// Returns the use of a memory.
    fn of(&self, stored: &Stored) -> Experience {
        let id = stored.memory.id;
        self.reviewed.experience(id, self.uses.get(&id).copied().unwrap_or_default(), false)
    }

    /// Prints the age and use of a memory.
    fn show(&self, stored: &Stored, out: &mut dyn Write) -> Result {
        let age = self.recall.age(stored.memory.id, self.now).map_or("", Age::name);
        for (name, value) in
            [("age", age.to_owned()), ("use", view::memory::uses(&self.of(stored)))]
        {
            if !value.is_empty() {
                writeln!(out, "{} {value}", paint(QUIET, format_args!("{name:<11}")))?;
            }
        }
        Ok(())
    }
}

/// Facts that are read once for all memories shown.
pub struct MemoryFacts {
    /// Ages and use.
    pub used: KnownUse,
    /// Sessions whose evidence is lost.
    lost: Vec<(PathBuf, String)>,
}

impl MemoryFacts {
    /// Reads the facts.
    pub fn open(stores: &Stores) -> Self {
        Self {
            used: KnownUse::open(stores),
            lost: damage::lost(&stores.world.dirs.project(stores.tree.project)),
        }
    }

    /// Converts a memory for JSON output.
    pub fn view<'a>(&self, stored: &'a Stored) -> MemoryView<'a> {
        let staleness = self.used.recall.staleness(stored.memory.id);
        let view = MemoryView::from(stored).stale(staleness.as_ref());
        view.aged(self.used.age(stored)).used(&self.used.of(stored))
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
        self.used.show(stored, out)?;
        if is_pulled {
            let label = format!("{LABEL}: `throughline trust` releases it");
            writeln!(out, "{}", paint(CARE, label))?;
        }
        if let Some(staleness) = self.used.recall.staleness(stored.memory.id) {
            writeln!(
                out,
                "{}\n`throughline review --keep {}` says that it still holds.",
                paint(CARE, view::why_stale(&staleness)),
                stored.memory.id.short()
            )?;
        }
        for link in self.used.reviewed.proposals_of(stored.memory.id) {
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
