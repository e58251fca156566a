//! Syntheses: what several memories state about one name, as one memory, proposed until a person accepts it.
//!
//! It is an extract of the best memories, without a model. A further one is proposed when the name has more memories; it
//! replaces one that a person accepted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use memory_store::knowledge::Entities;
use memory_store::memory::{Entity, Relation, SUPPORTED, SaidBy, Status};
use memory_store::{Kind, Memory, MemoryId, ProjectId, Timestamp};

use crate::extract::EXTRACTOR;

/// Numbers of memories of a name at which a synthesis is proposed.
const STEPS: [usize; 4] = [3, 5, 10, 20];
/// Number of memories in a synthesis.
const MEMORIES_MAX: usize = 3;
/// Maximum number of proposed syntheses, those of the names with most memories.
const SYNTHESES_MAX: usize = 10;
/// Maximum number of characters that are taken from a memory's text.
const EXCERPT_CHARS_MAX: usize = 400;

/// Returns the syntheses of memories that are in force. `accepted` are those that a person accepted or wrote.
pub fn syntheses(
    project: ProjectId,
    memories: &[&Memory],
    accepted: &[&Memory],
    entities: &Entities,
) -> Vec<Memory> {
    let mut of_entities: BTreeMap<usize, Vec<&Memory>> = BTreeMap::new();
    for &memory in memories {
        let subjects = memory.facts.iter().map(|fact| &fact.subject);
        let names = memory.entities.iter().chain(subjects);
        let named: BTreeSet<usize> = names.filter_map(|name| entities.find(name)).collect();
        for id in named {
            of_entities.entry(id).or_default().push(memory);
        }
    }
    let mut of_entities: Vec<(usize, Vec<&Memory>)> = of_entities.into_iter().collect();
    of_entities.sort_by_key(|(id, of)| (Reverse(of.len()), &entities.all()[*id].name));
    let mut taken: BTreeSet<Vec<MemoryId>> = BTreeSet::new();
    let mut made = Vec::new();
    for (id, mut of) in of_entities {
        let Some(step) = STEPS.into_iter().rfind(|step| *step <= of.len()) else { break };
        of.sort_by_key(|memory| (memory.when(), memory.id));
        let reached = of[step - 1].when();
        of.sort_by(|a, b| {
            let newest = (Reverse(a.when()), a.id).cmp(&(Reverse(b.when()), b.id));
            b.confidence.total_cmp(&a.confidence).then(newest)
        });
        of.truncate(MEMORIES_MAX);
        let mut sources: Vec<MemoryId> = of.iter().map(|memory| memory.id).collect();
        sources.sort();
        // Of several names in the same memories, the first has their synthesis.
        if !taken.insert(sources) {
            continue;
        }
        let entity = &entities.all()[id];
        let evidence = entity.name.to_lowercase();
        let own = MemoryId::derived(reached, project, Kind::Synthesis, &evidence, step as u32);
        let is_of_it = |it: &&&Memory| {
            it.id != own && it.entities.iter().any(|name| entities.find(name) == Some(id))
        };
        let earlier = accepted.iter().filter(is_of_it).map(|memory| memory.id);
        let name = Entity { name: entity.name.clone(), of_type: entity.of_type };
        let mut synthesis = extract(own, reached, &name, &of);
        synthesis.supersedes = earlier.collect();
        made.push(synthesis);
        if made.len() == SYNTHESES_MAX {
            break;
        }
    }
    made
}

fn extract(id: MemoryId, at: Timestamp, entity: &Entity, of: &[&Memory]) -> Memory {
    let points: Vec<String> = of
        .iter()
        .map(|memory| {
            let first = memory.body.split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = first.split_whitespace().collect();
            let excerpt: String = words.join(" ").chars().take(EXCERPT_CHARS_MAX).collect();
            format!("- {}. {excerpt}", memory.title.trim_end_matches('.')).trim_end().to_owned()
        })
        .collect();
    let title = format!("What is known about {}", entity.name);
    let mut memory = Memory::new(id, Kind::Synthesis, title, points.join("\n"), at);
    memory.occurred = Some(at);
    memory.confidence = of.iter().map(|memory| memory.confidence).fold(1.0, f32::min);
    memory.topic = of[0].topic.clone().filter(|_| of.iter().all(|it| it.topic == of[0].topic));
    memory.entities = vec![entity.to_string()];
    let link = |memory: &&Memory| Relation { kind: SUPPORTED.to_owned(), to: memory.id };
    memory.relations = of.iter().map(link).collect();
    memory.source.said_by = Some(SaidBy::Assistant);
    memory.source.extractor = Some(EXTRACTOR.to_owned());
    memory
}

/// Returns whether a memory may be a part of a synthesis.
pub fn counts(memory: &Memory) -> bool {
    matches!(memory.status, Status::Active | Status::Held)
        && memory.superseded_by.is_none()
        && memory.agent.is_none()
        && !matches!(memory.kind, Kind::Session | Kind::Synthesis | Kind::Task)
}
