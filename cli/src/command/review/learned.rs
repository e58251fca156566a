//! Memories that are new since the last review or may be outdated. They are grouped by kind, best first, and each
//! decision has one key.

use std::collections::BTreeSet;
use std::io::Write;

use memory_store::id::SHORT_ID_CHARS;
use memory_store::memory::{Memory, Status};
use memory_store::reviewed::Reviewed;
use memory_store::staleness::Staleness;
use memory_store::store::{Forget, Store, Stored};
use memory_store::{Kind, MemoryId};

use super::{made_by_rules, removal, verdict};
use crate::ask;
use crate::editor;
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::stores::Stores;
use crate::view;
use crate::view::style::{CARE, NAME, STRONG, paint};

/// Maximum lines in a plain listing.
const LISTED_MAX: usize = 50;

/// Updates the record of reviewed memories.
pub fn note(project: &Store, change: impl FnOnce(&mut Reviewed)) -> Result {
    // The ids of deleted memories are removed, since no new memory can have the same id.
    let there = project.list()?.memories.into_iter().map(|stored| stored.memory.id).collect();
    Reviewed::change(&project.home, |reviewed| {
        let before = reviewed.clone();
        change(reviewed);
        if *reviewed != before {
            reviewed.keep_only(&there);
        }
    })?;
    Ok(())
}

/// Records that a memory is still valid although its files changed or a name no longer exists, and removes the mark.
/// The next sync compares the memory with the current files.
pub fn confirm(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    note(&stores.project, |reviewed| reviewed.confirm(stored.memory.id, stores.world.now))?;
    stores.store_of(stored).keep_unfound(stored.memory.id)?;
    neighbours::refresh(stores, stored)?;
    let id = paint(NAME, stored.memory.id.short());
    Ok(writeln!(out, "Confirmed: {id} {}", view::plain(&stored.memory.title))?)
}

/// Counts a report of a person that a memory helped, or that it did not. The next sync changes its rank.
pub fn note_use(stores: &Stores, id: MemoryId, helped: bool, out: &mut dyn Write) -> Result {
    note(&stores.project, |reviewed| reviewed.note_use(id, helped))?;
    let word = if helped { "It helped" } else { "It did not help" };
    writeln!(out, "{word}: {}", paint(NAME, id.short()))?;
    Ok(())
}

/// A memory to review.
pub struct LearnedItem {
    /// The memory.
    pub stored: Stored,
    /// Whether the memory is pending, and therefore not yet active.
    pub waits: bool,
    /// Whether the memory was never reviewed.
    pub new: bool,
    /// Changes to the memory's files since it was learned, if they are large.
    pub stale: Option<Staleness>,
}

/// Returns the memories to review by kind, best first: memories learned since the last review and memories that may be
/// outdated, then pending ones. Withheld memories are excluded.
pub fn items(
    stores: &Stores,
    waiting: &[Stored],
    held: &BTreeSet<MemoryId>,
) -> Result<Vec<LearnedItem>> {
    let seen = Reviewed::read(&stores.project.home);
    let recall = stores.recall();
    let unfound = stores.project.unfound()?;
    let item = |stored: Stored, waits: bool| {
        let memory = &stored.memory;
        // Memories that a person wrote need no review.
        let is_learned = memory.source.is_learned();
        let new = is_learned && !seen.ids.contains(&memory.id);
        let is_unfound = || unfound.contains(&memory.id);
        let stale = recall.staleness(memory.id).or_else(|| is_unfound().then(Staleness::unfound));
        LearnedItem { stored, waits, new, stale }
    };
    let standing = stores.project.list()?.memories.into_iter().filter(|stored| {
        stored.memory.status == Status::Active
            && stored.memory.superseded_by.is_none()
            && !made_by_rules::is_one(&stored.memory)
            && waiting.iter().all(|waits| waits.memory.id != stored.memory.id)
    });
    let standing = standing.map(|stored| item(stored, false));
    let standing = standing.filter(|item| item.new || item.stale.is_some());
    // Memories that a person decided to keep private are not shown again.
    let waiting = waiting.iter().filter(|stored| !seen.ids.contains(&stored.memory.id));
    let waiting = waiting.map(|stored| item(stored.clone(), true));
    let mut items: Vec<LearnedItem> = waiting.chain(standing).collect();
    items.retain(|item| !held.contains(&item.stored.memory.id));
    items.sort_by(|one_item, other_item| {
        let (one, other) = (&one_item.stored.memory, &other_item.stored.memory);
        (one_item.waits, rank(one.kind))
            .cmp(&(other_item.waits, rank(other.kind)))
            .then(other.confidence.total_cmp(&one.confidence))
            .then(one.id.cmp(&other.id))
    });
    Ok(items)
}

fn rank(kind: Kind) -> usize {
    Kind::ALL.iter().position(|one| *one == kind).unwrap_or(Kind::ALL.len())
}

/// Lists active learned memories, for output without a terminal.
pub fn list(items: &[LearnedItem], out: &mut dyn Write) -> Result {
    list_stale(items, out)?;
    let learned: Vec<&Memory> = items
        .iter()
        .filter(|item| !item.waits && item.stale.is_none())
        .map(|item| &item.stored.memory)
        .collect();
    if learned.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} learned since you last looked:\n", learned.len())?;
    let mut kind = None;
    for memory in learned.iter().take(LISTED_MAX) {
        if kind != Some(memory.kind) {
            kind = Some(memory.kind);
            let count = learned.iter().filter(|other| other.kind == memory.kind).count();
            writeln!(out, "{}", paint(STRONG, format!("{} ({count})", memory.kind.name())))?;
        }
        view::line(memory, out)?;
    }
    if learned.len() > LISTED_MAX {
        writeln!(out, "... and {} more: `throughline list`", learned.len() - LISTED_MAX)?;
    }
    Ok(writeln!(
        out,
        "\nAll of them are in use. `throughline review` at a terminal asks about each; `throughline edit ID` and \
         `throughline forget ID` change one."
    )?)
}

/// Lists memories that may be outdated.
fn list_stale(items: &[LearnedItem], out: &mut dyn Write) -> Result {
    let stale: Vec<(&Memory, &Staleness)> = items
        .iter()
        .filter(|item| !item.waits)
        .filter_map(|item| Some((&item.stored.memory, item.stale.as_ref()?)))
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} may be out of date:\n", stale.len())?;
    for (memory, staleness) in stale.iter().take(LISTED_MAX) {
        view::line(memory, out)?;
        writeln!(out, "        {}", paint(CARE, view::why_stale(staleness)))?;
    }
    if stale.len() > LISTED_MAX {
        writeln!(out, "... and {} more", stale.len() - LISTED_MAX)?;
    }
    Ok(writeln!(
        out,
        "\n`throughline review --keep ID` confirms one, `throughline edit ID` and \
         `throughline forget ID` change one.\n"
    )?)
}

/// Decision about a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedWord {
    /// Keep the memory as it is.
    Keep,
    /// Edit the memory.
    Edit,
    /// Delete the memory.
    Drop,
    /// Keep the memory private, and do not show it again.
    Leave,
}

/// Executes a decision; returns whether the question about the memory is answered.
pub fn decide(
    stores: &Stores,
    stored: &Stored,
    (waits, stale): (bool, bool),
    word: LearnedWord,
    out: &mut dyn Write,
) -> Result<bool> {
    let id = stored.memory.id;
    match word {
        LearnedWord::Edit => {
            editor::in_editor(&stores.world, &id.to_string(), out)?;
            return Ok(false);
        }
        LearnedWord::Keep if waits => verdict::accept(stores, stored, out)?,
        LearnedWord::Keep if stale => confirm(stores, stored, out)?,
        LearnedWord::Keep | LearnedWord::Leave => note(&stores.project, |reviewed| {
            reviewed.ids.insert(id);
        })?,
        LearnedWord::Drop if waits => verdict::reject(stores, stored, out)?,
        LearnedWord::Drop => {
            let store = stores.store_of(stored);
            removal::put_aside(stores, store, stored, Forget::Archive, out)?;
        }
    }
    Ok(true)
}

/// Asks the user for the memory that replaces this one: one of its neighbours, or any other by its id. Enter without a
/// choice selects none.
pub fn replacement(stores: &Stores, memory: &Memory) -> Result<Option<MemoryId>> {
    let near = neighbours::near(&stores.recall(), &stores.world, memory);
    let mut choices = vec!["None".to_owned()];
    choices.extend(
        near.iter().map(|near| format!("{} {}", near.id.short(), view::plain(&near.title))),
    );
    choices.push("Another one, by its id".to_owned());
    match ask::select_or_stop("Replaced by", &choices, 0)? {
        None | Some(0) => Ok(None),
        Some(chosen) if chosen <= near.len() => Ok(Some(near[chosen - 1].id)),
        Some(_) => match &*ask::line("Its id (empty: none)", SHORT_ID_CHARS, |_| Ok(()))? {
            "" => Ok(None),
            id => Ok(Some(stores.find(id)?.1.memory.id)),
        },
    }
}

/// Replaces a memory by another one. The files of both memories contain the link, unless the replaced memory is a
/// draft: a draft is deleted.
pub fn supersede(
    stores: &Stores,
    older: &Stored,
    waits: bool,
    newer: MemoryId,
    out: &mut dyn Write,
) -> Result {
    let (_, newer) = stores.find(&newer.to_string())?;
    let (older_id, newer_id) = (older.memory.id, newer.memory.id);
    if older_id == newer_id {
        return Err(Failure::new("a memory cannot replace itself"));
    }
    let link = |memory: &mut Memory| {
        if !memory.supersedes.contains(&older_id) {
            memory.supersedes.push(older_id);
        }
    };
    stores.edit(&newer, link)?;
    if waits {
        return verdict::reject(stores, older, out);
    }
    neighbours::supersede(stores, older, newer_id, out)?;
    note(&stores.project, |reviewed| {
        reviewed.ids.insert(older_id);
    })
}
