//! Memories that are new since a person last looked or may be true no longer, grouped by kind and best first, with
//! one key for each.

use std::collections::BTreeSet;
use std::io::Write;

use dialoguer::Input;
use memory_store::memory::{Memory, Status};
use memory_store::reviewed::Reviewed;
use memory_store::staleness::Staleness;
use memory_store::store::{By, Forget, Store, Stored};
use memory_store::{Kind, MemoryId};

use super::{made_by_rules, removal, verdict};
use crate::ask;
use crate::editor;
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::stores::Stores;
use crate::view;
use crate::view::style::{CARE, NAME, STRONG, paint};

/// Lines of a plain listing.
const LISTED_MAX: usize = 50;

/// Changes the record of what a person decided about.
pub fn note(project: &Store, change: impl FnOnce(&mut Reviewed)) -> Result {
    // A memory that is gone needs no note: it cannot come back under its id as something new.
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

/// Notes that a memory still holds although its files changed or a name is gone, and takes its mark away. The next sync
/// compares with the files as they are now.
pub fn confirm(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    note(&stores.project, |reviewed| reviewed.confirm(stored.memory.id, stores.world.now))?;
    stores.store_of(stored).keep_unfound(stored.memory.id)?;
    neighbours::refresh(stores, stored)?;
    let id = paint(NAME, stored.memory.id.short());
    writeln!(out, "Confirmed: {id} {}", view::plain(&stored.memory.title))?;
    Ok(())
}

/// One memory to look at.
pub struct LearnedItem {
    /// The memory.
    pub stored: Stored,
    /// Whether it waits to be taken in, and stands nowhere yet.
    pub waits: bool,
    /// Whether nobody looked at it yet.
    pub new: bool,
    /// Change of its files since it was learned, where that is much.
    pub stale: Option<Staleness>,
}

/// The memories that were learned since a person last looked, those that may be out of date,
/// and at the end those that wait, by kind and best first. What is held back is not among them.
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
        // A memory that a person wrote needs no look.
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
    // One that a person left private is not asked about again.
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

/// Lists what was learned and stands already, for those who cannot be asked.
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
    writeln!(
        out,
        "\nAll of them are in use. `throughline review` at a terminal asks about each; `throughline edit ID` and \
         `throughline forget ID` change one."
    )?;
    Ok(())
}

/// Lists the memories that may be out of date.
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
    writeln!(
        out,
        "\n`throughline review --keep ID` confirms one, `throughline edit ID` and \
         `throughline forget ID` change one.\n"
    )?;
    Ok(())
}

/// Says what was decided about one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedWord {
    /// It holds.
    Keep,
    /// It is changed in the editor.
    Edit,
    /// It goes.
    Drop,
    /// It stays private, and is not asked about again.
    Leave,
}

/// Does what was decided; tells whether the memory is done with.
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

/// Asks which memory replaces this one: one of those near it, or any by its id. Enter alone replaces nothing.
pub fn replacement(stores: &Stores, memory: &Memory) -> Result<Option<MemoryId>> {
    let near = neighbours::near(&stores.recall(), &stores.world, memory);
    let mut choices = vec!["None".to_owned()];
    choices.extend(
        near.iter().map(|near| format!("{} {}", near.id.short(), view::plain(&near.title))),
    );
    choices.push("Another one, by its id".to_owned());
    match ask::select("Replaced by", &choices, 0)? {
        None | Some(0) => Ok(None),
        Some(chosen) if chosen <= near.len() => Ok(Some(near[chosen - 1].id)),
        Some(_) => {
            let id: String = Input::new()
                .with_prompt("Its id (empty: none)")
                .allow_empty(true)
                .interact_text()
                .map_err(|error| Failure::new(format!("the terminal: {error}")))?;
            match id.trim() {
                "" => Ok(None),
                id => Ok(Some(stores.find(id)?.1.memory.id)),
            }
        }
    }
}

/// Lets another memory stand for this one. Both say so; of a draft, which goes, only the other one does.
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
    change(stores, &newer, link)?;
    if waits {
        return verdict::reject(stores, older, out);
    }
    neighbours::supersede(stores, older, newer_id, out)?;
    note(&stores.project, |reviewed| {
        reviewed.ids.insert(older_id);
    })
}

fn change(stores: &Stores, stored: &Stored, change: impl FnOnce(&mut Memory)) -> Result {
    let store = stores.store_of(stored);
    let redactor = stores.redactor_for_writing(store)?;
    let saved =
        store.edit_at(&stored.path, stored.memory.id, By::Person, &redactor, change)?.stored;
    stores.note_saved(store, &saved, &redactor)?;
    Ok(())
}
