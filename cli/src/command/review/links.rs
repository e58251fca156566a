//! Links between memories that a model proposes. A link is written into a file only if a person decides so.

use std::io::Write;

use memory_store::MemoryId;
use memory_store::memory::Relation;
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;

use crate::ask;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{NAME, STRONG, paint};

/// Maximum links in a plain listing.
const LISTED_MAX: usize = 20;
/// Heading of a listing, and of a question.
const HEADING: &str = "Links that a model proposes";

/// A proposed link, with both memories.
pub struct ProposedLink {
    /// The memory that would contain the link.
    pub stored: Stored,
    /// The link.
    pub link: Relation,
    other_title: String,
}

impl ProposedLink {
    const fn id(&self) -> MemoryId {
        self.stored.memory.id
    }

    fn print(&self, out: &mut dyn Write) -> Result {
        let Self { stored, link, other_title } = self;
        let (id, to) = (paint(NAME, self.id().short()), paint(NAME, link.to.short()));
        let (title, other) = (plain(&stored.memory.title), plain(other_title));
        Ok(writeln!(out, "  {id} {title}\n        {} {to} {other}", plain(&link.kind))?)
    }
}

/// Returns the proposed links of memories that are there.
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
    writeln!(out, "{}", paint(STRONG, HEADING))?;
    links.iter().take(LISTED_MAX).try_for_each(|link| link.print(out))?;
    if links.len() > LISTED_MAX {
        writeln!(out, "  ... and {} more", links.len() - LISTED_MAX)?;
    }
    Ok(writeln!(
        out,
        "`throughline review --link ID` adds those of a memory, `--no-link ID` drops them.\n"
    )?)
}

/// Asks about the proposed links of each memory; returns whether the user continues.
pub fn go_through(stores: &Stores, links: &[ProposedLink], out: &mut dyn Write) -> Result<bool> {
    let is_same = |one: &ProposedLink, other: &ProposedLink| one.id() == other.id();
    let of_memories: Vec<&[ProposedLink]> = links.chunk_by(is_same).collect();
    let show = |links: &&[ProposedLink], out: &mut dyn Write| {
        writeln!(out, "{}", paint(STRONG, HEADING))?;
        links.iter().try_for_each(|link| link.print(out))?;
        Ok(["Add to the memory", "Drop"])
    };
    ask::about_each(&of_memories, out, show, |links, adds, out| {
        links.first().map_or(Ok(()), |link| settle(stores, &link.stored, adds, out))
    })
}

/// Adds the proposed links of a memory to its file, or rejects them.
pub fn settle(stores: &Stores, stored: &Stored, adds: bool, out: &mut dyn Write) -> Result {
    let id = stored.memory.id;
    let links: Vec<Relation> = Reviewed::read(&stores.project.home).proposals_of(id).collect();
    if links.is_empty() {
        return Err(Failure::new(format!("no link of {} is proposed", id.short())));
    }
    if adds {
        stores.edit(stored, |memory| {
            let new = links.iter().filter(|link| !memory.relations.contains(link)).cloned();
            let new: Vec<Relation> = new.collect();
            memory.relations.extend(new);
        })?;
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
