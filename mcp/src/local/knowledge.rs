//! Names and facts of all memories in both stores, read together for one call.

use memory_store::embed::Table;
use memory_store::knowledge::facts::{Conflict, Statement};
use memory_store::knowledge::{Knowledge, KnowledgeOptions};
use memory_store::layout::Tree;
use memory_store::memory::{Memory, Status};
use memory_store::recall::render;
use memory_store::reviewed::Reviewed;
use memory_store::settings::Settings;
use memory_store::store::Store;
use memory_store::trust::Trust;
use memory_store::{MemoryId, Timestamp};

use super::Local;
use crate::backend::ToolError;

/// The memories that a caller may read, in redacted form, with their names and facts.
pub(super) struct ReadKnowledge {
    pub memories: Vec<Memory>,
    pub knowledge: Knowledge,
}

impl Local {
    /// Reads the memories of both stores, except withheld memories and those of subagents other than `agent`. Adds a
    /// memory that is not saved yet, or that replaces its saved form.
    pub(super) fn knowledge(
        &self,
        tree: &Tree,
        settings: &Settings,
        agent: Option<&str>,
        new: Option<&Memory>,
    ) -> Result<ReadKnowledge, ToolError> {
        let dirs = &self.environment.dirs;
        let project = Store::open(dirs, tree)?;
        let confirmed = project.names().0;
        let mut memories: Vec<Memory> = Vec::new();
        for store in [project, Store::user(dirs)?] {
            let (trust, redactor) = (Trust::of(&store, settings)?, store.redactor(settings));
            for stored in store.files() {
                let judgement = trust.judgement(&stored, &redactor);
                let memory = judgement.redacted;
                let is_there = matches!(memory.status, Status::Active | Status::Held)
                    && new.is_none_or(|new| new.id != memory.id)
                    && memory.agent.as_deref().is_none_or(|owner| {
                        agent.is_some_and(|agent| agent.eq_ignore_ascii_case(owner))
                    });
                if is_there && judgement.held.is_none() {
                    memories.push(memory);
                }
            }
        }
        memories.extend(new.cloned());
        let table = Table::installed(dirs);
        let reviewed = Reviewed::read(&dirs.project(tree.project));
        let all: Vec<&Memory> = memories.iter().collect();
        let knowledge = Knowledge::of(
            &all,
            &KnowledgeOptions {
                settings: &settings.knowledge,
                confirmed: &confirmed,
                embed: &|text| table.as_ref()?.embed(text).ok().flatten(),
                hold_both: &|one, other| reviewed.hold_both(one, other),
            },
        );
        Ok(ReadKnowledge { memories, knowledge })
    }
}

impl ReadKnowledge {
    /// Returns a statement as a sentence.
    pub fn sentence(&self, statement: &Statement) -> String {
        let subject = &self.knowledge.entities.all()[statement.subject].name;
        render::clean(&format!("{subject} {}", self.property(statement)))
    }

    /// Returns the predicate and the object of a statement.
    pub fn property(&self, statement: &Statement) -> String {
        let not = if statement.predicate.is_negated { "not " } else { "" };
        let predicate = statement.predicate.group.replace('_', " ");
        let thing = statement.thing.map(|id| self.knowledge.entities.all()[id].name.clone());
        let value = match (&thing, &statement.version) {
            (Some(thing), Some(version)) => format!("{thing} {version}"),
            (Some(thing), None) => thing.clone(),
            (None, _) => statement.value(),
        };
        render::clean(&format!("{not}{predicate}: {value}"))
    }

    /// Describes how the facts of a memory relate to facts of other memories.
    pub fn conflicts(&self, id: MemoryId) -> Vec<String> {
        let book = &self.knowledge.book;
        let pairs = book.pairs_of(id).map(|pair| {
            let (newer, older) = (&book.statements[pair.newer], &book.statements[pair.older]);
            let is_newer = newer.memory == id;
            let (own, other) = if is_newer { (newer, older) } else { (older, newer) };
            let (fact, told) = (self.sentence(own), self.sentence(other));
            let short = other.memory.short();
            match pair.conflict {
                Conflict::Repeats => format!("Fact \"{fact}\": {short} states it already."),
                Conflict::Closes if is_newer => format!(
                    "Fact \"{fact}\": it ends \"{told}\" of {short} on {}.",
                    older.closed.map_or(own.from, |(at, _)| at).date()
                ),
                Conflict::Closes => {
                    format!("Fact \"{fact}\": the newer \"{told}\" of {short} ends it.")
                }
                Conflict::Asks => format!(
                    "Fact \"{fact}\": it may contradict \"{told}\" of {short}. If that ended, call `remember` with ends."
                ),
            }
        });
        pairs.collect()
    }

    /// Returns the statements of other memories that are true at a time and equal to a statement of this memory.
    pub fn stated_like(&self, id: MemoryId, at: Timestamp) -> Vec<&Statement> {
        let all = &self.knowledge.book.statements;
        let is_like = |one: &Statement, other: &Statement| {
            let is_same_value = one.thing.is_some() && one.thing == other.thing
                || one.value().to_lowercase() == other.value().to_lowercase()
                || one.version.is_none()
                    && one.object.to_lowercase() == other.object.to_lowercase();
            one.subject == other.subject
                && one.predicate.group == other.predicate.group
                && one.predicate.is_negated == other.predicate.is_negated
                && is_same_value
        };
        let asked: Vec<&Statement> = all.iter().filter(|it| it.memory == id).collect();
        let found = all.iter().filter(|it| {
            it.memory != id
                && it.to.is_none_or(|to| at < to)
                && asked.iter().any(|asked| is_like(asked, it))
        });
        found.collect()
    }
}
