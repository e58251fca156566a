//! Memories that rules of earlier versions wrote. They stay in the repository because git contains them. `review` lists
//! them together, and one option archives all of them.

use std::io::Write;

use memory_store::memory::{Memory, Source};
use memory_store::reviewed::Reviewed;
use memory_store::store::{Forget, Stored};

use super::removal;
use crate::ask;
use crate::failure::Result;
use crate::stores::Stores;
use crate::view;

/// Maximum memories listed.
const LISTED_MAX: usize = 10;

/// Returns whether rules of an earlier version wrote a memory.
pub fn is_one(memory: &Memory) -> bool {
    memory.source.extractor.as_deref().is_some_and(Source::is_retired)
}

/// Returns the memories that rules of earlier versions wrote, and about which no person has decided.
pub fn all(stores: &Stores) -> Result<Vec<Stored>> {
    let seen = Reviewed::read(&stores.project.home);
    let undecided = stores.project.undecided()?;
    let mut memories = stores.project.list()?.memories;
    memories.retain(|Stored { memory, text, .. }| {
        is_one(memory)
            && !memory.pinned
            && !seen.ids.contains(&memory.id)
            && undecided(memory.id, text)
    });
    Ok(memories)
}

/// Lists the memories.
pub fn list(memories: &[Stored], out: &mut dyn Write) -> Result {
    if memories.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} made by rules, not looked at:\n", memories.len())?;
    for Stored { memory, .. } in memories.iter().take(LISTED_MAX) {
        view::line(memory, out)?;
    }
    if memories.len() > LISTED_MAX {
        writeln!(out, "... and {} more: `throughline list`", memories.len() - LISTED_MAX)?;
    }
    Ok(writeln!(
        out,
        "\nRules write such memories no more. `throughline review --drop-rules` archives all of them, \
         `throughline review --keep ID` keeps one.\n"
    )?)
}

/// Archives the memories; at a terminal, only after a confirmation.
pub fn drop_all(stores: &Stores, out: &mut dyn Write) -> Result {
    let memories = all(stores)?;
    if memories.is_empty() {
        view::remark("No memory that rules made is left to look at.");
        return Ok(());
    }
    let question = format!("Archive {}?", view::plural(memories.len(), "memory"));
    if stores.world.interactive && !ask::confirm(&stores.world, &question, false)? {
        writeln!(out, "Nothing was changed.")?;
        return Ok(());
    }
    for stored in &memories {
        let store = stores.store_of(stored);
        removal::put_aside(stores, store, stored, Forget::Archive, out)?;
    }
    Ok(())
}
