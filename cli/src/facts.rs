//! Facts on the command line: `S | P | O | FROM..TO`, and their relations to facts of other memories.

use std::io::Write;

use memory_store::knowledge::facts::Conflict;
use memory_store::memory::{Fact, Memory};
use memory_store::recall::time_named;
use memory_store::{MemoryId, Timestamp};
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::knowledge::{FactView, ReadKnowledge};
use crate::stores::Stores;
use crate::view::plain;
use crate::view::style::{NAME, paint};

/// Parses a fact: subject, predicate and object, and the time from and until which it is true.
pub fn read(text: &str, now: Timestamp) -> Result<Fact> {
    let wrong = |problem: &str| {
        Failure::new(format!("`{}` is no fact: {problem}", plain(text)))
            .code(exit::USAGE)
            .hint("Write \"SUBJECT | PREDICATE | OBJECT\", and if it is not always true \" | 2026-03-01..2026-04-01\".")
    };
    let parts: Vec<&str> = text.split('|').map(str::trim).collect();
    let (parts, span) = match parts[..] {
        [subject, predicate, object] => ([subject, predicate, object], None),
        [subject, predicate, object, span] => ([subject, predicate, object], Some(span)),
        _ => return Err(wrong("it has three parts, and perhaps a time")),
    };
    if parts.iter().any(|part| part.is_empty()) {
        return Err(wrong("a part is empty"));
    }
    let [subject, predicate, object] = parts.map(str::to_owned);
    let mut fact = Fact { subject, predicate, object, ..Fact::default() };
    if let Some(span) = span {
        let (from, to) = span.split_once("..").unwrap_or((span, ""));
        let time = |text: &str| -> Result<Option<Timestamp>> {
            let text = text.trim();
            if text.is_empty() {
                return Ok(None);
            }
            // Relative times are resolved now: "yesterday" means another day tomorrow.
            let named = || time_named(text, now).and_then(|span| span.from);
            let at = Timestamp::parse(text).or_else(named);
            at.map(Some).ok_or_else(|| wrong(&format!("`{}` is no date", plain(text))))
        };
        (fact.from, fact.to) = (time(from)?, time(to)?);
        if fact.from.zip(fact.to).is_some_and(|(from, to)| to < from) {
            return Err(wrong("it ends before it begins"));
        }
    }
    Ok(fact)
}

/// Parses facts.
pub fn read_all(texts: &[String], now: Timestamp) -> Result<Vec<Fact>> {
    texts.iter().map(|text| read(text, now)).collect()
}

/// Returns whether two facts state the same, at whatever time.
pub fn is_same(one: &Fact, other: &Fact) -> bool {
    let parts = |fact: &Fact| {
        [&fact.subject, &fact.predicate, &fact.object].map(|part| part.trim().to_lowercase())
    };
    parts(one) == parts(other)
}

/// Adds a fact to a memory; one that states the same gets the times of the new one.
pub fn put(memory: &mut Memory, fact: &Fact) {
    match memory.facts.iter_mut().find(|known| is_same(known, fact)) {
        Some(known) => {
            known.from = fact.from.or(known.from);
            known.to = fact.to.or(known.to);
        }
        None => memory.facts.push(fact.clone()),
    }
}

/// Relation of a fact of a memory to one of another memory, as printed by `--json`.
#[derive(Serialize)]
pub struct RelatedFact {
    relation: Conflict,
    fact: FactView,
    other: FactView,
}

impl RelatedFact {
    /// Prints it in a line.
    pub fn print(&self, out: &mut dyn Write) -> Result {
        let (fact, other) = (plain(&self.fact.sentence()), plain(&self.other.sentence()));
        let id = paint(NAME, self.other.memory.short());
        match self.relation {
            Conflict::Repeats => writeln!(out, "Fact: {fact}. {id} states it already.")?,
            Conflict::Closes if self.other.closed_by == Some(self.fact.memory) => {
                let until = self.other.to.map(Timestamp::date).unwrap_or_default();
                writeln!(out, "Fact: {fact}. It ends \"{other}\" of {id} on {until}.")?;
            }
            Conflict::Closes => {
                writeln!(out, "Fact: {fact}. The newer \"{other}\" of {id} ends it.")?;
            }
            Conflict::Asks => writeln!(
                out,
                "Fact: {fact}. It may contradict \"{other}\" of {id}: both stand until you decide in `throughline review`."
            )?,
        }
        Ok(())
    }
}

/// Returns the relations of the facts of a memory, saved or not, to those of other memories.
pub fn related(stores: &Stores, memory: &Memory) -> Result<Vec<RelatedFact>> {
    if memory.facts.is_empty() {
        return Ok(Vec::new());
    }
    let mut memories = stores.without_held(stores.list()?.memories)?;
    memories.retain(|stored| stored.memory.id != memory.id);
    let read = ReadKnowledge::of(stores, memories, Some(memory));
    Ok(related_in(&read, memory.id))
}

fn related_in(read: &ReadKnowledge, id: MemoryId) -> Vec<RelatedFact> {
    let book = &read.knowledge.book;
    let view = |at: usize| read.view(&book.statements[at]);
    let pairs = book.pairs_of(id).map(|pair| {
        let is_newer = book.statements[pair.newer].memory == id;
        let (mine, other) =
            if is_newer { (pair.newer, pair.older) } else { (pair.older, pair.newer) };
        RelatedFact { relation: pair.conflict, fact: view(mine), other: view(other) }
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_933_400_000);

    #[test]
    fn a_fact_is_read_with_its_time() {
        let fact = read(" cart | stored in | Redis 7 | 2026-03-01.. ", NOW).unwrap();
        assert_eq!((&*fact.subject, &*fact.object), ("cart", "Redis 7"));
        assert_eq!((fact.from.unwrap().date(), fact.to), ("2026-03-01".to_owned(), None));
        let ended = read("a|b|c|..2026-03-01", NOW).unwrap();
        assert_eq!((ended.from, ended.to.unwrap().date()), (None, "2026-03-01".to_owned()));
        let relative = read("a|b|c|yesterday..", NOW).unwrap().from.unwrap();
        assert_eq!(relative.date(), "2026-10-01");
        for wrong in ["a | b", "a | | c", "a|b|c|soon", "a|b|c|2026-03-02..2026-03-01", "a|b|c|d|e"]
        {
            assert_eq!(read(wrong, NOW).unwrap_err().code, exit::USAGE, "{wrong}");
        }
    }
}
