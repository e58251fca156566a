//! What was learned since a person last looked, grouped by kind and best first, with one key for each.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use dialoguer::Input;
use dialoguer::console::{Key, Term};
use memory_store::index::journal::{self, Change as Noted};
use memory_store::memory::{Memory, Status};
use memory_store::store::{Forget, Privacy, Store, Stored, replace};
use memory_store::{Kind, MemoryId};
use serde::{Deserialize, Serialize};

use super::stores::Stores;
use super::{edit, forget, review, view};
use crate::failure::{Failure, Result};
use crate::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::world::World;

/// Bytes of the record of what was looked at: more than a hundred thousand memories.
const SEEN_BYTES_MAX: u64 = 4 << 20;

/// Lines of a plain listing.
const LISTED_MAX: usize = 50;

/// The memories of a project that a person looked at. A private file that may be deleted: then
/// everything is new again.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    ids: BTreeSet<String>,
}

impl Seen {
    /// Reads the record of a project; a missing or damaged one is empty.
    pub fn read(project: &Store) -> Self {
        let path = Self::path(project);
        let is_small = fs::metadata(&path).is_ok_and(|file| file.len() <= SEEN_BYTES_MAX);
        let bytes = is_small.then(|| fs::read(&path).ok()).flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Notes that a person decided about a memory.
    pub fn note(project: &Store, id: MemoryId) -> Result {
        let mut seen = Self::read(project);
        if seen.ids.insert(id.to_string()) {
            // What is gone needs no note: it cannot come back under this id as something new.
            let there: BTreeSet<String> = project
                .list()?
                .memories
                .iter()
                .map(|stored| stored.memory.id.to_string())
                .collect();
            seen.ids.retain(|known| there.contains(known) || *known == id.to_string());
            let text =
                serde_json::to_vec(&seen).map_err(|error| Failure::new(error.to_string()))?;
            replace(&Self::path(project), &text, Privacy::Private)?;
        }
        Ok(())
    }

    fn has(&self, id: MemoryId) -> bool {
        self.ids.contains(&id.to_string())
    }

    fn path(project: &Store) -> PathBuf {
        project.home().0.join("reviewed.json")
    }
}

/// One memory to look at.
pub struct Item {
    /// The memory.
    pub stored: Stored,
    /// Whether it waits to be taken in, and stands nowhere yet.
    pub waits: bool,
}

/// The memories that wait and those that were learned since a person last looked, by kind and best
/// first. What is held back is not among them.
pub fn items(stores: &Stores, waiting: &[Stored], held: &BTreeSet<MemoryId>) -> Result<Vec<Item>> {
    let seen = Seen::read(&stores.project);
    let learned = stores.project.list()?.memories.into_iter().filter(|stored| {
        let memory = &stored.memory;
        // What a person wrote needs no look.
        memory.source.extractor.as_deref().is_some_and(|extractor| extractor != "cli")
            && memory.status == Status::Active
            && memory.superseded_by.is_none()
            && !seen.has(memory.id)
            && waiting.iter().all(|waits| waits.memory.id != memory.id)
    });
    let waiting = waiting.iter().map(|stored| Item { stored: stored.clone(), waits: true });
    let mut items: Vec<Item> =
        waiting.chain(learned.map(|stored| Item { stored, waits: false })).collect();
    items.retain(|item| !held.contains(&item.stored.memory.id));
    items.sort_by(|one, other| {
        let (one, other) = (&one.stored.memory, &other.stored.memory);
        rank(one.kind)
            .cmp(&rank(other.kind))
            .then(other.confidence.total_cmp(&one.confidence))
            .then(one.id.cmp(&other.id))
    });
    Ok(items)
}

fn rank(kind: Kind) -> usize {
    Kind::ALL.iter().position(|one| *one == kind).unwrap_or(Kind::ALL.len())
}

/// Lists what was learned and stands already, for those who cannot be asked.
pub fn list(items: &[Item], out: &mut dyn Write) -> Result {
    let learned: Vec<&Memory> =
        items.iter().filter(|item| !item.waits).map(|item| &item.stored.memory).collect();
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

/// Says what was decided about one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Keep,
    Edit,
    Drop,
    Supersede,
    Skip,
    Quit,
}

/// Asks about each; what was decided by the time somebody quits is done.
pub fn go_through(world: &World, stores: &Stores, items: Vec<Item>, out: &mut dyn Write) -> Result {
    let all = items.len();
    for (number, item) in items.into_iter().enumerate() {
        let Item { mut stored, waits } = item;
        let kind = stored.memory.kind;
        let place = format!("{} of {all}", number + 1);
        loop {
            let waiting = if waits { ", waits to be taken in" } else { "" };
            writeln!(out, "\n{} {}{waiting}", paint(STRONG, &place), paint(QUIET, kind.name()))?;
            view::whole(&stored, out)?;
            out.flush()?;
            let word = ask()?;
            if word == Word::Quit {
                return Ok(());
            }
            match decide(world, stores, &stored, waits, word, out) {
                Ok(true) => break,
                Ok(false) => {}
                Err(failure) => {
                    writeln!(out, "{}", paint(CARE, failure.to_string()))?;
                    if let Some(hint) = failure.hint {
                        writeln!(out, "{hint}")?;
                    }
                }
            }
            // Edited, or not done: it is shown as it is now.
            let Ok((_, now)) = stores.find(&stored.memory.id.to_string()) else { break };
            stored = now;
        }
    }
    writeln!(out, "That was all.")?;
    Ok(())
}

/// Does what was decided; tells whether the memory is done with.
fn decide(
    world: &World,
    stores: &Stores,
    stored: &Stored,
    waits: bool,
    word: Word,
    out: &mut dyn Write,
) -> Result<bool> {
    let id = stored.memory.id;
    match word {
        Word::Skip | Word::Quit => return Ok(true),
        Word::Edit => {
            edit::in_editor(world, &id.to_string(), out)?;
            return Ok(false);
        }
        Word::Keep if waits => review::accept(world, stores, stored, out)?,
        Word::Keep => Seen::note(&stores.project, id)?,
        Word::Drop if waits => review::reject(world, stores, stored, out)?,
        Word::Drop => {
            let store = stores.store_of(stored);
            forget::put_aside(world, stores, store, stored, Forget::Archive, out)?;
        }
        Word::Supersede => {
            let newer: String = Input::new()
                .with_prompt("Id of the memory that replaces it (empty: none)")
                .allow_empty(true)
                .interact_text()
                .map_err(|error| Failure::new(format!("the terminal: {error}")))?;
            if newer.trim().is_empty() {
                return Ok(false);
            }
            supersede(world, stores, stored, waits, newer.trim(), out)?;
        }
    }
    Ok(true)
}

/// Lets another memory stand for this one.
fn supersede(
    world: &World,
    stores: &Stores,
    older: &Stored,
    waits: bool,
    newer: &str,
    out: &mut dyn Write,
) -> Result {
    let (store, newer) = stores.find(newer)?;
    let (older_id, newer_id) = (older.memory.id, newer.memory.id);
    if older_id == newer_id {
        return Err(Failure::new("a memory cannot replace itself"));
    }
    if waits {
        // It never stood anywhere: nothing has to be told what replaced it.
        return review::reject(world, stores, older, out);
    }
    let link = |memory: &mut Memory| {
        if !memory.supersedes.contains(&older_id) {
            memory.supersedes.push(older_id);
        }
    };
    change(world, stores, store, newer_id, link)?;
    let store = stores.store_of(older);
    change(world, stores, store, older_id, |memory| memory.superseded_by = Some(newer_id))?;
    Seen::note(&stores.project, older_id)?;
    let (older, newer) = (older_id.short(), newer_id.short());
    writeln!(out, "Replaced: {} by {}", paint(NAME, older), paint(NAME, newer))?;
    Ok(())
}

fn change(
    world: &World,
    stores: &Stores,
    store: &Store,
    id: MemoryId,
    change: impl FnOnce(&mut Memory),
) -> Result {
    let redactor = store.redactor_for_writing(&stores.settings)?;
    let saved = store.edit(&id.to_string(), &redactor, change)?.stored;
    let quarantine = stores.quarantine(store)?;
    let noted = Noted::Saved(&saved, &redactor, &quarantine);
    journal::note(&world.dirs, &stores.tree, stores.scope_of(&saved), noted)?;
    Ok(())
}

/// Waits for a key that means something.
fn ask() -> Result<Word> {
    let terminal = Term::stderr();
    let failed = |error: std::io::Error| Failure::new(format!("the terminal: {error}"));
    terminal.write_str("[k]eep  [e]dit  [d]rop  [s]upersede  [n]ext  [q]uit > ").map_err(failed)?;
    loop {
        let word = match terminal.read_key().map_err(failed)? {
            Key::Char('k') | Key::Enter => Word::Keep,
            Key::Char('e') => Word::Edit,
            Key::Char('d') => Word::Drop,
            Key::Char('s') => Word::Supersede,
            Key::Char('n' | ' ') => Word::Skip,
            Key::Char('q') | Key::Escape | Key::CtrlC => Word::Quit,
            _ => continue,
        };
        terminal.write_line("").map_err(failed)?;
        return Ok(word);
    }
}
