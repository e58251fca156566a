//! Relations on the command line: links to other memories, each written as "KIND ID".

use std::io::Write;

use memory_store::field_lines;
use memory_store::memory::{Memory, Relation, SUPERSEDES};
use memory_store::store::Stored;
use memory_store::{MemoryId, reviewed::Reviewed};

use crate::caller::Caller;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::person;
use crate::stores::Stores;
use crate::usage;
use crate::view::{self, plain};

/// Links to add to a memory, and links to remove from it.
#[derive(Default)]
pub struct RelationChanges {
    added: Vec<Relation>,
    removed: Vec<Relation>,
    /// The memories to which the added links of the kind `supersedes` point.
    replaced: Vec<Stored>,
    restored: Vec<Stored>,
}

impl RelationChanges {
    /// Parses links, and finds the memories to which they point. `of` is the memory that contains the links, if it
    /// exists.
    pub fn read(
        added: &[String],
        removed: &[String],
        of: Option<&Memory>,
        stores: &Stores,
    ) -> Result<Self> {
        let mut changes = Self::default();
        for text in added {
            let (kind, other) = read(text, stores)?;
            let to = other.memory.id;
            if of.is_some_and(|memory| memory.id == to) {
                let told = format!("{} is that memory itself", to.short());
                return Err(Failure::new(told).code(exit::USAGE));
            }
            if kind != SUPERSEDES {
                warn_of_unusual(&kind);
                changes.added.push(Relation { kind, to });
                continue;
            }
            if stores.world.caller != Caller::Person
                && stores.store_of(&other).is_persons(&other)?
            {
                let typed = format!("throughline edit --relation \"{text}\"");
                return Err(person::refused("it is what you said, wrote or kept", &typed));
            }
            changes.replaced.push(other);
        }
        let reviewed = Reviewed::read(&stores.project.home);
        for text in removed {
            let (kind, other) = read(text, stores)?;
            let link = Relation { kind, to: other.memory.id };
            let is_there = of.is_some_and(|memory| match link.kind == SUPERSEDES {
                true => memory.supersedes.contains(&link.to),
                false => memory.relations.contains(&link),
            });
            let is_proposed = || {
                let mut proposed =
                    reviewed.proposals().filter(|(id, _)| of.is_some_and(|of| of.id == *id));
                proposed.any(|(_, proposed)| proposed == link)
            };
            if !is_there && !is_proposed() {
                let told = format!("it has no relation `{}`", plain(text));
                return Err(Failure::new(told).code(exit::NOT_FOUND));
            }
            match link.kind == SUPERSEDES {
                true => changes.restored.push(other),
                false => changes.removed.push(link),
            }
        }
        Ok(changes)
    }

    /// Returns the memories that added links supersede.
    pub fn take_replaced(&mut self) -> Vec<Stored> {
        std::mem::take(&mut self.replaced)
    }

    /// Applies the changes to the fields of the memory.
    pub fn apply(&self, memory: &mut Memory) {
        memory.relations.retain(|link| !self.removed.contains(link));
        for link in &self.added {
            if !memory.relations.contains(link) {
                memory.relations.push(link.clone());
            }
        }
        memory.supersedes.retain(|id| !self.restored.iter().any(|other| other.memory.id == *id));
        for id in self.replaced.iter().map(|other| other.memory.id) {
            if !memory.supersedes.contains(&id) {
                memory.supersedes.push(id);
            }
        }
    }

    /// Marks the memories that added links supersede, restores those of removed links, and reports both.
    pub fn mark_others(&self, id: MemoryId, stores: &Stores, out: &mut dyn Write) -> Result {
        for older in &self.replaced {
            neighbours::supersede(stores, older, id, out)?;
        }
        let restored = self.restored.iter().filter(|it| it.memory.superseded_by == Some(id));
        restored.into_iter().try_for_each(|older| neighbours::restore(stores, older, out))
    }

    /// Removes the links from the proposals of a model, since a person has decided about them.
    pub fn settle(&self, id: MemoryId, stores: &Stores) -> Result {
        let decided: Vec<&Relation> = self.added.iter().chain(&self.removed).collect();
        if !decided.is_empty() {
            Reviewed::change(&stores.project.home, |reviewed| {
                decided.iter().for_each(|link| reviewed.settle_proposal(id, link));
            })?;
        }
        Ok(())
    }
}

/// Prints a remark if a kind of link is not one of the usual ones.
fn warn_of_unusual(kind: &str) {
    if Relation::KINDS.contains(&kind) {
        return;
    }
    let usual = usage::alike(kind, Relation::KINDS.map(str::to_owned).to_vec());
    let usual = usual.first().map_or_else(
        || format!("the usual ones are {}", Relation::KINDS.join(", ")),
        |usual| format!("did you mean `{usual}`?"),
    );
    view::remark(format_args!("`{}` is a kind of link of your own; {usual}", plain(kind)));
}

/// Parses a link, and finds the memory to which it points.
fn read(text: &str, stores: &Stores) -> Result<(String, Stored)> {
    let (kind, id) = field_lines::relation(text).map_err(|problem| {
        Failure::new(format!("`{}` is no relation: {}", plain(text), plain(&problem)))
            .code(exit::USAGE)
            .hint(format!("Write {}.", field_lines::RELATION_FORM))
    })?;
    Ok((kind, stores.find(&id)?.1))
}
