//! Numbers about names, facts and memories.

use std::collections::BTreeMap;
use std::io::Write;

use memory_store::Timestamp;
use memory_store::knowledge::Graph;
use memory_store::knowledge::facts::Conflict;
use memory_store::knowledge::time::History;
use memory_store::memory::{EntityType, Memory};
use memory_store::recall::start_rank::Age;
use serde::Serialize;

use crate::failure::Result;
use crate::knowledge::ReadKnowledge;
use crate::stores::Stores;
use crate::view::style::{STRONG, paint};
use crate::view::{self, plain, plural};

/// Number of the best connected names.
const HUBS_MAX: usize = 10;

/// The numbers.
#[derive(Serialize)]
struct KnowledgeNumbers {
    as_of: Timestamp,
    /// Nodes by kind.
    nodes: BTreeMap<&'static str, usize>,
    edges: usize,
    /// Entities of all times by type.
    entities: BTreeMap<&'static str, usize>,
    /// Number of other spellings and names of entities.
    aliases: usize,
    facts: FactNumbers,
    /// Memories in force by age: `fresh` within one half-life of their kind, `aging` within two, otherwise `stale`. A
    /// memory with evidence that it is out of date is `stale` too.
    staleness: BTreeMap<&'static str, usize>,
    /// Memories that name neither an entity nor a file.
    unconnected: usize,
    /// Memories in force without a topic.
    without_topic: usize,
    best_connected: Vec<ConnectedName>,
}

#[derive(Serialize)]
struct FactNumbers {
    in_force: usize,
    ended: usize,
    /// Facts that a newer fact of another memory ended.
    closed: usize,
    repeated: usize,
    /// Undecided pairs, which `review` shows.
    undecided: usize,
}

#[derive(Serialize)]
struct ConnectedName {
    name: String,
    edges: usize,
}

pub(super) fn print(
    read: &ReadKnowledge,
    graph: &Graph,
    stores: &Stores,
    at: Timestamp,
    json: bool,
    out: &mut dyn Write,
) -> Result {
    let numbers = numbers(read, graph, stores, at);
    if json {
        return view::json(&numbers, out);
    }
    let counted = |counts: &BTreeMap<&'static str, usize>| {
        let parts = counts.iter().map(|(&name, &count)| (count, format!("{count} {name}")));
        view::counted(parts)
    };
    let nodes = numbers.nodes.iter().map(|(name, &count)| (count, plural(count, name)));
    let facts = &numbers.facts;
    let facts = [
        (facts.in_force, "in force"),
        (facts.ended, "ended"),
        (facts.closed, "ended by a newer one"),
        (facts.repeated, "repeated"),
        (facts.undecided, "to be decided in `review`"),
    ];
    let hubs: Vec<String> = numbers
        .best_connected
        .iter()
        .map(|hub| format!("{} ({})", plain(&hub.name), hub.edges))
        .collect();
    let rows = [
        ("graph", format!("{}; {}", view::counted(nodes), plural(numbers.edges, "edge"))),
        ("names", counted(&numbers.entities)),
        ("other names", numbers.aliases.to_string()),
        ("facts", view::counted(facts.map(|(count, what)| (count, format!("{count} {what}"))))),
        ("memories", counted(&numbers.staleness)),
        ("unconnected", numbers.unconnected.to_string()),
        ("no topic", numbers.without_topic.to_string()),
        ("connected", hubs.join(", ")),
    ];
    for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "{} {text}", paint(STRONG, format_args!("{name:<12}")))?;
    }
    Ok(())
}

fn numbers(
    read: &ReadKnowledge,
    graph: &Graph,
    stores: &Stores,
    at: Timestamp,
) -> KnowledgeNumbers {
    let all = read.knowledge.entities.all();
    let mut entities: BTreeMap<&'static str, usize> = BTreeMap::new();
    for entity in all {
        *entities.entry(entity.of_type.map_or("untyped", EntityType::name)).or_default() += 1;
    }
    let statements = &read.knowledge.book.statements;
    let in_force = statements.iter().filter(|it| it.holds_at(at)).count();
    let ended = |it: &&memory_store::knowledge::Statement| it.end().is_some_and(|end| end <= at);
    let closed = statements.iter().filter(|it| it.closed.is_some()).filter(ended).count();
    let pairs = |conflict| {
        read.knowledge.book.pairs.iter().filter(|pair| pair.conflict == conflict).count()
    };
    let memories: Vec<&Memory> = read.memories.iter().map(|stored| &stored.memory).collect();
    let history = History::of(memories.iter().copied());
    let standing: Vec<&&Memory> =
        memories.iter().filter(|memory| history.was_in_force(memory, at)).collect();
    let recall = stores.recall();
    let mut staleness = BTreeMap::from(Age::ALL.map(|age| (age.name(), 0)));
    for memory in &standing {
        let by_date = || Age::of(memory.kind, memory.when(), &stores.settings, at);
        let age = recall.age(memory.id, at).unwrap_or_else(by_date);
        *staleness.entry(age.name()).or_default() += 1;
    }
    KnowledgeNumbers {
        as_of: at,
        nodes: graph.counts(),
        edges: graph.edges(),
        entities,
        aliases: all.iter().map(|entity| entity.others.len()).sum(),
        facts: FactNumbers {
            in_force,
            ended: statements.iter().filter(ended).count() - closed,
            closed,
            repeated: pairs(Conflict::Repeats),
            undecided: pairs(Conflict::Asks),
        },
        staleness,
        unconnected: graph.isolated(),
        without_topic: standing.iter().filter(|memory| memory.topic.is_none()).count(),
        best_connected: graph
            .hubs(HUBS_MAX)
            .into_iter()
            .map(|(edges, node)| ConnectedName { name: node.label.clone(), edges })
            .collect(),
    }
}
