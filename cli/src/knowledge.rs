//! Names, facts and connections in the memories of both stores.

use std::io::Write;

use memory_store::embed::Table;
use memory_store::knowledge::entities::{EntityId, JoinedBy};
use memory_store::knowledge::facts::Statement;
use memory_store::knowledge::graph::SessionWork;
use memory_store::knowledge::time::History;
use memory_store::knowledge::{Graph, Knowledge, KnowledgeOptions};
use memory_store::memory::{Memory, Status};
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;
use memory_store::{MemoryId, Timestamp};
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::sessions::PastSessions;
use crate::stores::Stores;
use crate::view;
use crate::view::style::{CARE, paint};

/// Maximum words of a name in a question.
const NAME_WORDS_MAX: usize = 4;

/// Memories that are not withheld, read together.
pub struct ReadKnowledge {
    /// The memories.
    pub memories: Vec<Stored>,
    /// The names and facts in these memories.
    pub knowledge: Knowledge,
}

impl ReadKnowledge {
    /// Reads all memories of both stores, and reports unreadable files.
    pub fn open(stores: &Stores) -> Result<Self> {
        let listing = stores.list()?;
        view::warn_broken(&listing.broken);
        let memories = stores.without_held(listing.memories)?;
        Ok(Self::of(stores, memories, None))
    }

    /// Reads all memories of both stores, without reporting unreadable files.
    pub fn quietly(stores: &Stores) -> Result<Self> {
        let mut memories = stores.without_held(stores.list()?.memories)?;
        memories
            .retain(|stored| !matches!(stored.memory.status, Status::Rejected | Status::Archived));
        let all: Vec<&Memory> = memories.iter().map(|stored| &stored.memory).collect();
        let knowledge = of_memories(&all, stores);
        Ok(Self { memories, knowledge })
    }

    /// Reads the names and facts of saved memories together with those of one memory that is not saved yet.
    pub fn of(stores: &Stores, mut memories: Vec<Stored>, new: Option<&Memory>) -> Self {
        memories
            .retain(|stored| !matches!(stored.memory.status, Status::Rejected | Status::Archived));
        view::warn_broken(&stores.project.names().1);
        let all = memories.iter().map(|stored| &stored.memory).chain(new);
        let knowledge = of_memories(&all.collect::<Vec<_>>(), stores);
        Self { memories, knowledge }
    }

    /// Returns the graph as of the time `at`.
    pub fn graph(&self, stores: &Stores, at: Timestamp) -> Graph {
        let memories: Vec<&Memory> = self.memories.iter().map(|stored| &stored.memory).collect();
        Graph::of(&memories, &works(stores), &self.knowledge.entities, &self.knowledge.book, at)
    }

    /// Finds the entity with a name. The failure for an unknown name lists similar names.
    pub fn entity(&self, name: &str) -> Result<EntityId> {
        let entities = &self.knowledge.entities;
        entities.find(name).ok_or_else(|| unknown(name, &entities.near(name, 5)))
    }

    /// Returns facts that are in force at a time, about names in a text; at most `max`, those about longer names first.
    pub fn facts_named(&self, text: &str, at: Timestamp, max: usize) -> Vec<FactView> {
        let words: Vec<&str> = text
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .collect();
        let mut named: Vec<EntityId> = Vec::new();
        for length in (1..=NAME_WORDS_MAX.min(words.len())).rev() {
            let names = words.windows(length).map(|part| part.join(" "));
            let found = names.filter_map(|name| self.knowledge.entities.find(&name));
            named.extend(found.collect::<Vec<_>>());
        }
        let statements = &self.knowledge.book.statements;
        let about = |id: EntityId| {
            statements.iter().filter(move |it| it.subject == id || it.thing == Some(id))
        };
        let mut facts: Vec<FactView> = Vec::new();
        for statement in named.into_iter().flat_map(about).filter(|it| it.holds_at(at)) {
            let fact = self.view(statement);
            if facts.iter().all(|known| known.sentence() != fact.sentence()) {
                facts.push(fact);
            }
        }
        facts.truncate(max);
        facts
    }

    /// Returns a statement for output.
    pub fn view(&self, statement: &Statement) -> FactView {
        let entities = self.knowledge.entities.all();
        let thing = statement.thing.map(|id| entities[id].name.clone());
        let closed_by = statement.closed.map(|(_, by)| self.knowledge.book.statements[by].memory);
        let not = if statement.predicate.is_negated { "not " } else { "" };
        FactView {
            subject: entities[statement.subject].name.clone(),
            predicate: format!("{not}{}", statement.predicate.group.replace('_', " ")),
            object: thing.unwrap_or_else(|| statement.object.clone()),
            version: statement.version.clone(),
            from: statement.from,
            to: statement.end(),
            memory: statement.memory,
            closed_by: closed_by.filter(|_| statement.end() == statement.closed.map(|(at, _)| at)),
        }
    }
}

/// Reads the names and facts of memories, using the settings and a person's decisions about names.
pub fn of_memories(memories: &[&Memory], stores: &Stores) -> Knowledge {
    let table = Table::installed(&stores.world.dirs);
    let reviewed = Reviewed::read(&stores.project.home);
    Knowledge::of(
        memories,
        &KnowledgeOptions {
            settings: &stores.settings.knowledge,
            confirmed: &stores.project.names().0,
            embed: &|text| table.as_ref()?.embed(text).ok().flatten(),
            hold_both: &|one, other| reviewed.hold_both(one, other),
        },
    )
}

/// A fact, as printed.
#[derive(Clone, Serialize)]
pub struct FactView {
    pub subject: String,
    pub predicate: String,
    pub object: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub from: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    pub memory: MemoryId,
    /// The memory whose newer fact ended this fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<MemoryId>,
}

impl FactView {
    /// Returns subject, predicate and object in one line.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.subject, self.property())
    }

    /// Returns predicate and object.
    pub fn property(&self) -> String {
        let version = self.version.as_ref().map(|it| format!(", version {it}")).unwrap_or_default();
        format!("{}: {}{version}", self.predicate, self.object)
    }
}

/// State of a memory at a given time, or now.
pub struct StateThen {
    at: Option<Timestamp>,
    /// Whether the memory was in force; `None` if no time was given.
    pub in_force: Option<bool>,
    /// Facts of the memory that newer facts of other memories had ended by then.
    pub ended: Vec<FactView>,
}

impl StateThen {
    /// Returns the state of a memory.
    pub fn of(memory: &Memory, read: &ReadKnowledge, at: Option<Timestamp>) -> Self {
        let history = History::of(read.memories.iter().map(|stored| &stored.memory));
        let statements = read.knowledge.book.statements.iter();
        let facts = statements.filter(|it| it.memory == memory.id).map(|it| read.view(it));
        let ended = facts.filter(|fact| {
            fact.closed_by.is_some() && fact.to.zip(at).is_none_or(|(to, at)| to <= at)
        });
        let in_force = at.map(|at| history.was_in_force(memory, at));
        Self { at, in_force, ended: ended.collect() }
    }

    /// Prints the state.
    pub fn show(&self, out: &mut dyn Write) -> Result {
        if let (Some(at), Some(in_force)) = (self.at, self.in_force) {
            let word = if in_force { "It was in force" } else { "It was not in force" };
            writeln!(out, "{}", paint(CARE, format_args!("{word} on {}.", view::clock::date(at))))?;
        }
        for fact in &self.ended {
            let by = fact.closed_by.map(MemoryId::short).unwrap_or_default();
            let until = fact.to.map(Timestamp::date).unwrap_or_default();
            let told = format!("until {until}: {} ({by} is newer)", view::plain(&fact.sentence()));
            writeln!(out, "{}", paint(CARE, told))?;
        }
        Ok(())
    }
}

/// Another name of an entity, as printed.
#[derive(Serialize)]
pub struct AliasView<'a> {
    pub name: &'a str,
    pub joined_by: JoinedBy,
}

/// Returns the failure for a name that no memory mentions.
pub fn unknown(name: &str, near: &[&str]) -> Failure {
    let failure = Failure::new(format!("no memory names `{}`", view::plain(name)));
    let near: Vec<String> = near.iter().map(|name| view::plain(name)).collect();
    match near.is_empty() {
        true => failure.hint("`throughline graph --stats` prints the names with most connections."),
        false => failure.hint(format!("Names like it: {}.", near.join(", "))),
    }
    .code(exit::NOT_FOUND)
}

/// Parses the time of `--as-of`: a date, or words such as "last week". For a span of time, the last moment counts.
pub fn as_of(text: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>> {
    let Some(text) = text else { return Ok(None) };
    let span = crate::typed::span(text, now)?;
    let at = span.to.map(|to| Timestamp(to.0 - 1)).or(span.from);
    Ok(at.map(|at| at.min(now)))
}

/// Returns the work of past sessions.
fn works(stores: &Stores) -> Vec<SessionWork> {
    let sessions = PastSessions::open(stores);
    let works = sessions.iter().map(|(session, record)| SessionWork {
        session: session.session.clone(),
        title: session.subject(),
        at: session.first,
        commits: record.commits.iter().map(|commit| commit.subject.clone()).collect(),
        written: record
            .files
            .iter()
            .filter(|file| file.edits > 0)
            .map(|file| file.path.clone())
            .collect(),
    });
    works.collect()
}
