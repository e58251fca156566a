//! `throughline timeline NAME`: shows how the memories and facts about a name changed.

use std::io::Write;

use memory_store::knowledge::time::History;
use memory_store::{MemoryId, Timestamp};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::knowledge::ReadKnowledge;
use crate::stores::Stores;
use crate::view::style::{BAD, CARE, GOOD, NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, plain, wrap};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum EventKind {
    /// A memory that contains the name was learned.
    Learned,
    /// A fact about the name became true.
    Began,
    /// A fact about the name was no longer true.
    Ended,
    /// A memory that contains the name was replaced.
    Replaced,
}

/// An event in the history of a name.
#[derive(Serialize)]
struct NameEvent {
    at: Timestamp,
    what: EventKind,
    memory: MemoryId,
    text: String,
    /// The memory that replaced this one, or whose fact ended the fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<MemoryId>,
}

/// Prints the last events about a name in chronological order.
pub fn run(name: &str, limit: usize, json: bool, stores: &Stores, out: &mut dyn Write) -> Result {
    let read = ReadKnowledge::open(stores)?;
    let id = read.entity(name)?;
    let (entities, book) = (&read.knowledge.entities, &read.knowledge.book);
    let history = History::of(read.memories.iter().map(|stored| &stored.memory));
    let about = book.statements.iter().filter(|it| it.subject == id || it.thing == Some(id));
    let mut events: Vec<NameEvent> = Vec::new();
    for statement in about.clone() {
        let fact = read.view(statement);
        let (memory, text) = (statement.memory, fact.sentence());
        events.push(NameEvent {
            at: statement.from,
            what: EventKind::Began,
            memory,
            text: text.clone(),
            by: None,
        });
        if let Some(at) = statement.end().filter(|at| *at <= stores.world.now) {
            events.push(NameEvent { at, what: EventKind::Ended, memory, text, by: fact.closed_by });
        }
    }
    for memory in read.memories.iter().map(|stored| &stored.memory) {
        let is_named = memory.entities.iter().any(|name| entities.find(name) == Some(id))
            || about.clone().any(|statement| statement.memory == memory.id);
        if !is_named {
            continue;
        }
        let (at, text) = (memory.when(), memory.title.clone());
        let learned = EventKind::Learned;
        events.push(NameEvent {
            at,
            what: learned,
            memory: memory.id,
            text: text.clone(),
            by: None,
        });
        if let Some((at, by)) = history.superseded(memory) {
            let (memory, by) = (memory.id, Some(by));
            events.push(NameEvent { at, what: EventKind::Replaced, memory, text, by });
        }
    }
    events.sort_by_key(|event| (event.at, event.what, event.memory));
    let events = &events[events.len().saturating_sub(limit)..];
    if json {
        return view::json(&events, out);
    }
    Failure::of_empty(events.is_empty())?;
    writeln!(out, "{}", paint(STRONG, plain(&entities.all()[id].name)))?;
    for NameEvent { at, what, memory, text, by } in events {
        let sign = match what {
            EventKind::Learned => paint(QUIET, "learned "),
            EventKind::Began => paint(GOOD, "since   "),
            EventKind::Ended => paint(BAD, "until   "),
            EventKind::Replaced => paint(CARE, "replaced"),
        };
        let by = by.map(|by| format!(" (by {})", by.short())).unwrap_or_default();
        let room = wrap::room().saturating_sub(30 + by.len());
        let text = wrap::cut(&plain(text), room);
        let (at, id) = (clock::date(*at), paint(NAME, memory.short()));
        writeln!(out, "{}  {sign}  {id}  {text}{}", paint(QUIET, at), paint(QUIET, by))?;
    }
    Ok(())
}
