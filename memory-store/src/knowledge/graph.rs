//! The graph of memories, entities, files, sessions and commits as of a time. Its edges are derived from the fields of
//! memories and from session records.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use petgraph::Direction;
pub use petgraph::graph::NodeIndex;
use petgraph::graph::{DiGraph, EdgeIndex};
use petgraph::visit::EdgeRef as _;
use serde::Serialize;

use super::entities::{Entities, EntityId};
use super::facts::FactBook;
use super::time::History;
use crate::id::MemoryId;
use crate::memory::{EntityType, Memory};
use crate::time::Timestamp;

/// Maximum depth of a neighbourhood.
pub const DEPTH_MAX: usize = 5;
/// Maximum number of topics that a name may connect. A name in more topics is too general.
const TOPICS_MAX: usize = 12;
/// Name endings of document files.
const DOCUMENT_ENDS: [&str; 6] = [".md", ".mdx", ".rst", ".adoc", ".txt", ".pdf"];

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A thing that memories name.
    Entity,
    /// A memory.
    Memory,
    /// A file or folder.
    File,
    /// A file of prose.
    Document,
    /// A session.
    Session,
    /// A commit of a session.
    Commit,
}

impl NodeKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Entity, Self::Memory, Self::File, Self::Document, Self::Session, Self::Commit];

    /// Returns the name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Memory => "memory",
            Self::File => "file",
            Self::Document => "document",
            Self::Session => "session",
            Self::Commit => "commit",
        }
    }
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Kind of the node.
    pub kind: NodeKind,
    /// Identifies the node: id of a memory or session, path of a file, name of an entity, or subject of a commit.
    pub id: String,
    /// Text shown to people.
    pub label: String,
    /// Topic of a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Type of an entity.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub of_type: Option<&'static str>,
}

/// An edge, from the subject of a relation to its object.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Name of the relation: a predicate group, `names`, `about`, `learned in`, `supersedes`, or the kind of a link
    /// between memories.
    pub what: Cow<'static, str>,
    /// Start of a fact's validity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Memory that states a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
}

/// Work of a session: a plain form of the session record.
#[derive(Clone, Debug, Default)]
pub struct SessionWork {
    /// Id of the session.
    pub session: String,
    /// Title of the session.
    pub title: String,
    /// Time of the first step.
    pub at: Timestamp,
    /// Subjects of the session's commits.
    pub commits: Vec<String>,
    /// Files that the session wrote, relative to the project's root.
    pub written: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NodeKey {
    Memory(MemoryId),
    Entity(EntityId),
    File(String),
    Session(String),
    Commit(String),
}

/// The graph at one time.
#[derive(Debug, Default)]
pub struct Graph {
    graph: DiGraph<Node, Link>,
    by_key: HashMap<NodeKey, NodeIndex>,
    /// Position of each node when sorted by kind and label.
    ranks: Vec<usize>,
    /// Pairs of a memory and a name in it. There are so many that a search for each edge would be slow.
    names: HashSet<(NodeIndex, NodeIndex)>,
}

/// A node with the edge by which it was reached.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// The node.
    pub node: NodeIndex,
    /// Number of edges from the start node.
    pub depth: usize,
    /// The last edge to the node; `None` for the start node.
    pub through: Option<EdgeIndex>,
}

/// A connection between two topics.
#[derive(Debug, Serialize)]
pub struct Bridge {
    /// The two topics.
    pub topics: [String; 2],
    /// The nodes that memories of both topics name.
    #[serde(skip)]
    pub through: Vec<NodeIndex>,
}

impl Graph {
    /// Builds the graph of all memories and sessions that were known and in force at a time.
    pub fn of(
        memories: &[&Memory],
        sessions: &[SessionWork],
        entities: &Entities,
        book: &FactBook,
        at: Timestamp,
    ) -> Self {
        let mut graph = Self::default();
        let history = History::of(memories.iter().copied());
        let standing: Vec<&&Memory> =
            memories.iter().filter(|memory| history.was_in_force(memory, at)).collect();
        let places = graph.files_of(entities, &standing);
        for memory in &standing {
            graph.node(NodeKey::Memory(memory.id), || memory_node(memory));
        }
        let sessions: HashMap<&str, &SessionWork> = sessions
            .iter()
            .filter(|work| work.at <= at)
            .map(|work| (work.session.as_str(), work))
            .collect();
        for memory in &standing {
            graph.memory(memory, entities, &places, &sessions);
        }
        for statement in book.statements.iter().filter(|statement| statement.holds_at(at)) {
            // A fact of an archived or rejected memory has no statement, so this memory can at most be superseded.
            let (Some(thing), false) = (statement.thing, statement.predicate.is_negated) else {
                continue;
            };
            let subject = graph.entity(statement.subject, entities, &places);
            let object = graph.entity(thing, entities, &places);
            let what = statement.predicate.group.replace('_', " ").into();
            let (from, memory) = (Some(statement.from), Some(statement.memory));
            graph.link(subject, object, Link { what, from, memory });
        }
        for statement in book.statements.iter().filter(|statement| statement.holds_at(at)) {
            let subject = graph.entity(statement.subject, entities, &places);
            if let Some(&memory) = graph.by_key.get(&NodeKey::Memory(statement.memory)) {
                graph.name(memory, subject);
            }
        }
        let mut works: Vec<&&SessionWork> = sessions.values().collect();
        works.sort_by(|a, b| a.session.cmp(&b.session));
        for work in works {
            graph.session(work);
        }
        graph.rank();
        graph
    }

    fn rank(&mut self) {
        let mut order: Vec<NodeIndex> = self.graph.node_indices().collect();
        order.sort_by_key(|&at| {
            let node = &self.graph[at];
            (node.kind, node.label.as_str(), at)
        });
        self.ranks = vec![0; order.len()];
        for (rank, at) in order.into_iter().enumerate() {
            self.ranks[at.index()] = rank;
        }
    }

    /// Returns the path for each entity that names a file in the memories' paths, so that both become one node.
    fn files_of(&self, entities: &Entities, memories: &[&&Memory]) -> HashMap<EntityId, String> {
        let mut by_end: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for path in memories.iter().flat_map(|memory| &memory.paths) {
            let path = path.path.trim_end_matches('/');
            let name = path.rsplit('/').next().unwrap_or(path);
            by_end.entry(name).or_default().insert(path);
        }
        let file = |entity: &super::entities::NamedEntity| -> Option<String> {
            let is_file = entity.of_type == Some(EntityType::File) || entity.name.contains('/');
            let name = entity.name.rsplit('/').next()?;
            let mut found = by_end.get(name).filter(|_| is_file)?.iter();
            let mut matching = found.by_ref().filter(|path| path.ends_with(&entity.name));
            let path = matching.next()?;
            matching.next().is_none().then(|| (*path).to_owned())
        };
        let all = entities.all().iter().enumerate();
        all.filter_map(|(id, entity)| Some((id, file(entity)?))).collect()
    }

    fn memory(
        &mut self,
        memory: &Memory,
        entities: &Entities,
        places: &HashMap<EntityId, String>,
        sessions: &HashMap<&str, &SessionWork>,
    ) {
        let node = self.by_key[&NodeKey::Memory(memory.id)];
        for id in memory.entities.iter().filter_map(|name| entities.find(name)) {
            let entity = self.entity(id, entities, places);
            self.name(node, entity);
        }
        for path in &memory.paths {
            let file = self.file(path.path.trim_end_matches('/'));
            self.link_once(node, file, "about");
        }
        if let Some(id) = memory.source.session.as_deref() {
            let title = sessions.get(id).map_or("", |work| work.title.as_str());
            let session = self.session_node(id, title);
            self.link_once(node, session, "learned in");
        }
        let others = memory.relations.iter().map(|it| (it.to, it.kind.as_str()));
        let others = others.chain(memory.supersedes.iter().map(|&id| (id, "supersedes")));
        for (to, what) in others {
            if let Some(&other) = self.by_key.get(&NodeKey::Memory(to)) {
                self.link_once(node, other, what);
            }
        }
    }

    fn session(&mut self, work: &SessionWork) {
        // Files that no memory is about are omitted, because they would outnumber all other nodes.
        let written: Vec<NodeIndex> = work
            .written
            .iter()
            .filter_map(|path| self.by_key.get(&NodeKey::File(path.clone())).copied())
            .collect();
        let is_known = self.by_key.contains_key(&NodeKey::Session(work.session.clone()));
        if written.is_empty() && !is_known {
            return;
        }
        let session = self.session_node(&work.session, &work.title);
        for file in written {
            self.link_once(session, file, "wrote");
        }
        for subject in &work.commits {
            let commit = self.node(NodeKey::Commit(subject.clone()), || {
                node(NodeKind::Commit, subject.clone(), subject.clone())
            });
            self.link_once(session, commit, "committed");
        }
    }

    fn session_node(&mut self, id: &str, title: &str) -> NodeIndex {
        self.node(NodeKey::Session(id.to_owned()), || {
            let label = format!("{} {title}", crate::short_session(id));
            node(NodeKind::Session, id.to_owned(), label.trim_end().to_owned())
        })
    }

    fn file(&mut self, path: &str) -> NodeIndex {
        self.node(NodeKey::File(path.to_owned()), || {
            let is_document = DOCUMENT_ENDS.iter().any(|end| path.to_lowercase().ends_with(end));
            let kind = if is_document { NodeKind::Document } else { NodeKind::File };
            node(kind, path.to_owned(), path.to_owned())
        })
    }

    fn entity(
        &mut self,
        id: EntityId,
        entities: &Entities,
        places: &HashMap<EntityId, String>,
    ) -> NodeIndex {
        if let Some(&known) = self.by_key.get(&NodeKey::Entity(id)) {
            return known;
        }
        let found = match places.get(&id) {
            Some(path) => self.file(path),
            None => {
                let entity = &entities.all()[id];
                let of_type = entity.of_type.map(EntityType::name);
                let plain = node(NodeKind::Entity, entity.name.clone(), entity.name.clone());
                self.graph.add_node(Node { of_type, ..plain })
            }
        };
        self.by_key.insert(NodeKey::Entity(id), found);
        found
    }

    fn node(&mut self, key: NodeKey, make: impl FnOnce() -> Node) -> NodeIndex {
        let graph = &mut self.graph;
        *self.by_key.entry(key).or_insert_with(|| graph.add_node(make()))
    }

    fn link(&mut self, from: NodeIndex, to: NodeIndex, link: Link) {
        if from != to {
            self.graph.add_edge(from, to, link);
        }
    }

    fn name(&mut self, memory: NodeIndex, entity: NodeIndex) {
        if self.names.insert((memory, entity)) {
            self.link(memory, entity, Link { what: "names".into(), from: None, memory: None });
        }
    }

    fn link_once(&mut self, from: NodeIndex, to: NodeIndex, what: &str) {
        let is_there = self.graph.edges_connecting(from, to).any(|edge| edge.weight().what == what);
        if !is_there {
            let what = Cow::Owned(what.to_owned());
            self.link(from, to, Link { what, from: None, memory: None });
        }
    }

    /// Returns a node.
    pub fn at(&self, node: NodeIndex) -> &Node {
        &self.graph[node]
    }

    /// Returns an edge with its two end nodes.
    pub fn edge(&self, edge: EdgeIndex) -> Option<(NodeIndex, &Link, NodeIndex)> {
        let (from, to) = self.graph.edge_endpoints(edge)?;
        Some((from, &self.graph[edge], to))
    }

    /// Returns the edges that connect two of these nodes.
    pub fn edges_among(&self, nodes: &BTreeSet<NodeIndex>) -> Vec<EdgeIndex> {
        let all = self.graph.edge_references();
        let inner = all.filter(|it| nodes.contains(&it.source()) && nodes.contains(&it.target()));
        inner.map(|edge| edge.id()).collect()
    }

    /// Finds a node by the name of an entity, a path, the id of a memory or session, the end of a memory's id, or the
    /// subject of a commit.
    pub fn find(&self, name: &str, entities: &Entities) -> Option<NodeIndex> {
        let find = |key| self.by_key.get(&key).copied();
        let name = name.trim();
        let path = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
        let by_id = || {
            let asked = name.to_ascii_lowercase();
            let is_id = asked.len() >= crate::store::SHORT_ID_CHARS_MIN;
            let mut nodes = self.graph.node_indices().filter(|&at| {
                let node = &self.graph[at];
                match node.kind {
                    NodeKind::Memory => is_id && node.id.ends_with(&asked),
                    NodeKind::Session => is_id && node.id.starts_with(&asked),
                    _ => false,
                }
            });
            nodes.next().filter(|_| nodes.next().is_none())
        };
        find(NodeKey::File(path.to_owned()))
            .or_else(|| entities.find(name).and_then(|id| find(NodeKey::Entity(id))))
            .or_else(|| find(NodeKey::Commit(name.to_owned())))
            .or_else(by_id)
    }

    /// Returns the nodes within a distance, nearest first. Each node is returned only once, also in cycles.
    pub fn within(&self, start: NodeIndex, depth: usize) -> Vec<Reached> {
        let mut reached = vec![Reached { node: start, depth: 0, through: None }];
        let mut seen = vec![false; self.graph.node_count()];
        seen[start.index()] = true;
        let mut next = 0;
        while let Some(&here) = reached.get(next).filter(|here| here.depth < depth) {
            next += 1;
            for (edge, node) in self.around(here.node) {
                if !std::mem::replace(&mut seen[node.index()], true) {
                    reached.push(Reached { node, depth: here.depth + 1, through: Some(edge) });
                }
            }
        }
        reached
    }

    /// Returns a shortest path from one node to another; `None` if they are not connected.
    pub fn path(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<Reached>> {
        let mut before: HashMap<NodeIndex, (NodeIndex, EdgeIndex)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(here) = queue.pop_front().filter(|here| *here != to) {
            for (edge, node) in self.around(here) {
                if node != from && !before.contains_key(&node) {
                    before.insert(node, (here, edge));
                    queue.push_back(node);
                }
            }
        }
        let mut steps = Vec::new();
        let mut here = to;
        while here != from {
            let (previous, edge) = *before.get(&here)?;
            steps.push((here, Some(edge)));
            here = previous;
        }
        steps.push((from, None));
        let steps = steps.into_iter().rev().enumerate();
        Some(steps.map(|(depth, (node, through))| Reached { node, depth, through }).collect())
    }

    /// Returns the edges of a node in both directions, each with its other end, in a fixed order.
    fn around(&self, node: NodeIndex) -> Vec<(EdgeIndex, NodeIndex)> {
        let out = self.graph.edges(node).map(|edge| (edge.id(), edge.target()));
        let back = self.graph.edges_directed(node, Direction::Incoming);
        let mut around: Vec<_> = out.chain(back.map(|edge| (edge.id(), edge.source()))).collect();
        around.sort_by_key(|(edge, node)| (self.ranks[node.index()], *edge));
        around
    }

    /// Returns pairs of topics with the names and files that memories of both topics mention. Pairs with few
    /// connections are first.
    pub fn bridges(&self) -> Vec<Bridge> {
        let names: BTreeSet<&str> =
            self.graph.node_weights().filter_map(|node| node.topic.as_deref()).collect();
        let numbers: HashMap<&str, usize> =
            names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let topic_of = |node: &Node| numbers.get(node.topic.as_deref()?).copied();
        let topics_of: Vec<Option<usize>> = self.graph.node_weights().map(topic_of).collect();
        let mut bridges: BTreeMap<[usize; 2], Vec<NodeIndex>> = BTreeMap::new();
        for at in self.graph.node_indices() {
            if !matches!(
                self.graph[at].kind,
                NodeKind::Entity | NodeKind::File | NodeKind::Document
            ) {
                continue;
            }
            let memories = self.graph.neighbors_undirected(at);
            let mut topics: Vec<usize> =
                memories.filter_map(|memory| topics_of[memory.index()]).collect();
            topics.sort_unstable();
            topics.dedup();
            if topics.len() > TOPICS_MAX {
                continue;
            }
            for (number, &one) in topics.iter().enumerate() {
                for &other in &topics[number + 1..] {
                    bridges.entry([one, other]).or_default().push(at);
                }
            }
        }
        let mut bridges: Vec<Bridge> = bridges
            .into_iter()
            .map(|(topics, through)| Bridge {
                topics: topics.map(|number| names[number].to_owned()),
                through,
            })
            .collect();
        bridges.sort_by(|a, b| (a.through.len(), &a.topics).cmp(&(b.through.len(), &b.topics)));
        bridges
    }

    /// Returns the number of nodes of each kind.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts: BTreeMap<&'static str, usize> =
            NodeKind::ALL.iter().map(|kind| (kind.name(), 0)).collect();
        for node in self.graph.node_weights() {
            *counts.entry(node.kind.name()).or_default() += 1;
        }
        counts
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> usize {
        self.graph.edge_count()
    }

    /// Returns the number of memories that have no edge except to their session.
    pub fn isolated(&self) -> usize {
        let is_alone = |at: NodeIndex| {
            self.graph.neighbors_undirected(at).all(|it| self.graph[it].kind == NodeKind::Session)
        };
        let nodes = self.graph.node_indices();
        nodes.filter(|&at| self.graph[at].kind == NodeKind::Memory && is_alone(at)).count()
    }

    /// Returns the `max` entities with the most edges, each with its number of edges.
    pub fn hubs(&self, max: usize) -> Vec<(usize, &Node)> {
        let entities =
            self.graph.node_indices().filter(|&at| self.graph[at].kind == NodeKind::Entity);
        let degree = |at: NodeIndex| self.graph.neighbors_undirected(at).count();
        let mut hubs: Vec<(usize, &Node)> =
            entities.map(|at| (degree(at), &self.graph[at])).collect();
        hubs.sort_by(|a, b| (b.0, &a.1.label).cmp(&(a.0, &b.1.label)));
        hubs.truncate(max);
        hubs
    }
}

fn memory_node(memory: &Memory) -> Node {
    let plain = node(NodeKind::Memory, memory.id.to_string(), memory.title.clone());
    Node { topic: memory.topic.clone(), ..plain }
}

fn node(kind: NodeKind, id: String, label: String) -> Node {
    Node { kind, id, label, topic: None, of_type: None }
}
