//! Facts and links in a request to `remember`, and the ending of facts.

use memory_store::field_lines::{self, is_same_fact};
use memory_store::memory::{CONTRADICTS, Fact, Memory, Relation, SUPERSEDES};
use memory_store::recall::render;
use memory_store::store::By;
use memory_store::{Kind, MemoryId, Timestamp};

use super::remember::ProjectStore;
use super::{Local, find::FoundMemory};
use crate::backend::{RememberRequest, RememberResponse, ToolError};

/// Parses facts.
pub(super) fn facts(texts: &[String], name: &str, now: Timestamp) -> Result<Vec<Fact>, ToolError> {
    let read = |text: &String| {
        field_lines::fact(text, now).map_err(|problem| {
            let form = field_lines::FACT_FORM;
            ToolError::Request(format!(
                "`{name}` takes {form}, and not `{}`: {}",
                render::clean(text),
                render::clean(&problem)
            ))
        })
    };
    texts.iter().map(read).collect()
}

impl Local {
    /// Parses the links of a request, and finds the other memories; `own` is the id of the memory that gets them. Also
    /// returns the ids of the memories that it replaces.
    pub(super) fn links(
        &self,
        request: &RememberRequest,
        own: Option<MemoryId>,
        project: &ProjectStore,
    ) -> Result<(Vec<Relation>, Vec<String>), ToolError> {
        let (mut links, mut supersedes) = (Vec::new(), request.supersedes.clone());
        for text in &request.relations {
            let (kind, id) = field_lines::relation(text).map_err(|problem| {
                let form = field_lines::RELATION_FORM;
                ToolError::Request(format!(
                    "`relations` takes {form}, and not `{}`: {}",
                    render::clean(text),
                    render::clean(&problem)
                ))
            })?;
            if kind == SUPERSEDES {
                supersedes.push(id);
                continue;
            }
            let to = self.find(&id, project)?.stored.memory.id;
            let link = Relation { kind, to };
            if own != Some(to) && !links.contains(&link) {
                links.push(link);
            }
        }
        Ok((links, supersedes))
    }

    /// Reports how the facts of a memory relate to facts of other memories.
    pub(super) fn fact_notes(
        &self,
        memory: &Memory,
        project: &ProjectStore,
    ) -> Result<Vec<String>, ToolError> {
        if memory.facts.is_empty() {
            return Ok(Vec::new());
        }
        let ProjectStore { tree, settings, .. } = project;
        let read = self.knowledge(tree, settings, memory.agent.as_deref(), Some(memory))?;
        Ok(read.conflicts(memory.id))
    }

    /// Ends facts in all memories that state them, except in texts of a person.
    pub(super) fn end_facts(
        &self,
        request: &RememberRequest,
        project: &ProjectStore,
    ) -> Result<(Vec<Memory>, Vec<String>), ToolError> {
        let ProjectStore { tree, settings, .. } = project;
        let now = self.now();
        let (mut changed, mut notes) = (Vec::new(), Vec::new());
        for fact in facts(&request.ends, "ends", now)? {
            let end = fact.to.or(fact.from).unwrap_or(now);
            let told = format!("{} | {} | {}", fact.subject, fact.predicate, fact.object);
            // The fact is read as part of a temporary memory, so that its names and predicate are resolved in the same
            // way.
            let asked = Fact { from: None, to: None, ..fact };
            let mut probe =
                Memory::new(MemoryId([0xff; 16]), Kind::Fact, told.clone(), "", Timestamp(0));
            probe.facts.push(asked);
            let read = self.knowledge(tree, settings, request.agent.as_deref(), Some(&probe))?;
            let stated: Vec<(MemoryId, usize)> = read
                .stated_like(probe.id, end)
                .into_iter()
                .map(|statement| (statement.memory, statement.place))
                .collect();
            if stated.is_empty() {
                let near = render::clean(&told);
                notes.push(format!("No memory states `{near}` as true: `recall` with about shows the facts of a name."));
            }
            for (id, place) in stated {
                let found = self.find(&id.to_string(), project)?;
                if request.check {
                    notes.push(format!(
                        "It would end `{}` of {}.",
                        render::clean(&told),
                        id.short()
                    ));
                    continue;
                }
                match self.end_fact(&found, place, end, project)? {
                    Some(memory) => {
                        notes.push(format!("{} states that until {}.", id.short(), end.date()));
                        changed.push(memory);
                    }
                    None => notes.push(format!(
                        "{} states it in the words of the user or of the repository, so it stays: the user can end it with \
                         `throughline edit {} --fact \"{} | ..{}\"`.",
                        id.short(),
                        id.short(),
                        render::clean(&told),
                        end.date()
                    )),
                }
            }
        }
        Ok((changed, notes))
    }

    /// Ends a fact of a memory; `None` if only a person may change the memory.
    fn end_fact(
        &self,
        found: &FoundMemory,
        place: usize,
        end: Timestamp,
        project: &ProjectStore,
    ) -> Result<Option<Memory>, ToolError> {
        let FoundMemory { store, trust, stored, scope } = found;
        if store.is_persons(stored)? || trust.is_from_repository(stored) {
            return Ok(None);
        }
        let Some(fact) = stored.memory.facts.get(place).cloned() else { return Ok(None) };
        let redactor = store.redactor_for_writing(&project.settings)?;
        let change = |memory: &mut Memory| {
            let same = memory.facts.iter_mut().filter(|known| is_same_fact(known, &fact));
            same.for_each(|known| known.to = Some(end));
        };
        let saved = store.edit_at(&stored.path, stored.memory.id, By::Model, &redactor, change)?;
        self.note_again(&saved.stored, (trust, &redactor), *scope, &project.tree);
        Ok(Some(saved.stored.memory))
    }

    /// Answers a request that only ends facts.
    pub(super) fn only_end(
        &self,
        request: &RememberRequest,
        project: &ProjectStore,
    ) -> Result<RememberResponse, ToolError> {
        let (changed, notes) = self.end_facts(request, project)?;
        let change = match (request.check, changed.is_empty()) {
            (true, _) => "checked",
            (false, true) => "unchanged",
            (false, false) => "ended",
        };
        Ok(RememberResponse {
            change: change.to_owned(),
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            ..RememberResponse::default()
        })
    }
}

/// Adds links to a memory. A link of the kind `contradicts` may already exist, since comparing texts creates such
/// links.
pub(super) fn add_links(memory: &mut Memory, links: &[Relation]) {
    for link in links {
        if !memory.relations.contains(link) {
            memory.relations.push(link.clone());
        }
    }
}

/// Returns the links of a memory that comparing its text does not create.
pub(super) fn kept_links(memory: &Memory) -> Vec<Relation> {
    memory.relations.iter().filter(|link| link.kind != CONTRADICTS).cloned().collect()
}
