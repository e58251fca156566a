//! Links between memories that a model proposes. A link is written into a file only if a person decides so.

use std::io::Write;

use memory_store::MemoryId;
use memory_store::memory::{Memory, Relation};
use memory_store::reviewed::Reviewed;
use memory_store::store::{By, Stored};

use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{NAME, STRONG, paint};

/// Maximum links in a plain listing.
const LISTED_MAX: usize = 20;

/// A proposed link, with both memories.
pub struct ProposedLink {
    /// The memory that would contain the link.
    pub stored: Stored,
    /// The link.
    pub link: Relation,
    other_title: String,
}

/// Returns the proposed links between memories that exist.
pub fn all(stores: &Stores) -> Result<Vec<ProposedLink>> {
    let reviewed = Reviewed::read(&stores.project.home);
    if reviewed.proposals().next().is_none() {
        return Ok(Vec::new());
    }
    let memories = stores.without_held(stores.list()?.memories)?;
    let find = |id: MemoryId| memories.iter().find(|stored| stored.memory.id == id);
    let links = reviewed.proposals().filter_map(|(id, link)| {
        let (stored, other) = (find(id)?, find(link.to)?);
        let is_there = stored.memory.relations.contains(&link);
        let other_title = other.memory.title.clone();
        (!is_there).then(|| ProposedLink { stored: stored.clone(), link, other_title })
    });
    Ok(links.collect())
}

/// Prints the proposed links with the options that accept or reject them.
pub fn list(links: &[ProposedLink], out: &mut dyn Write) -> Result {
    if links.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", paint(STRONG, "Links that a model proposes"))?;
    for ProposedLink { stored, link, other_title } in links.iter().take(LISTED_MAX) {
        let Memory { id, title, .. } = &stored.memory;
        let (id, to) = (paint(NAME, id.short()), paint(NAME, link.to.short()));
        let (title, other) = (plain(title), plain(other_title));
        writeln!(out, "  {id} {title}\n        {} {to} {other}", plain(&link.kind))?;
    }
    if links.len() > LISTED_MAX {
        writeln!(out, "  ... and {} more", links.len() - LISTED_MAX)?;
    }
    writeln!(
        out,
        "`throughline review --link ID` adds those of a memory, `--no-link ID` drops them.\n"
    )?;
    Ok(())
}

/// Adds the proposed links of a memory to its file, or rejects them.
pub fn settle(stores: &Stores, stored: &Stored, adds: bool, out: &mut dyn Write) -> Result {
    let id = stored.memory.id;
    let links: Vec<Relation> = Reviewed::read(&stores.project.home).proposals_of(id).collect();
    if links.is_empty() {
        return Err(Failure::new(format!("no link of {} is proposed", id.short())));
    }
    if adds {
        let store = stores.store_of(stored);
        let redactor = stores.redactor_for_writing(store)?;
        let change = |memory: &mut Memory| {
            let new = links.iter().filter(|link| !memory.relations.contains(link)).cloned();
            let new: Vec<Relation> = new.collect();
            memory.relations.extend(new);
        };
        let saved = store.edit_at(&stored.path, id, By::Person, &redactor, change)?.stored;
        stores.note_saved(store, &saved, &redactor)?;
    }
    Reviewed::change(&stores.project.home, |reviewed| {
        links.iter().for_each(|link| reviewed.settle_proposal(id, link));
    })?;
    let done = if adds { "Linked" } else { "Not linked" };
    for link in &links {
        let (id, to) = (paint(NAME, id.short()), paint(NAME, link.to.short()));
        writeln!(out, "{done}: {id} {} {to}", plain(&link.kind))?;
    }
    Ok(())
}
