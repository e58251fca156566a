//! The graph of memories, files and sessions with their relations. If there are too many, only the best connected are
//! kept.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory_store::neighbour::CONTRADICTS;
use memory_store::{MemoryId, short_session};
use serde::Serialize;

use super::data::{ReportSources, stands, wish};
use super::layout::{self, Point};
use crate::view::plain;

/// Maximum nodes of each sort.
const MEMORIES_MAX: usize = 60;
const FILES_MAX: usize = 30;
const SESSIONS_MAX: usize = 30;

/// Type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sort {
    /// A file named by memories.
    File,
    /// An archived session.
    Session,
    /// A memory.
    Memory,
}

impl Sort {
    /// All sorts.
    pub const ALL: [Self; 3] = [Self::Memory, Self::File, Self::Session];

    /// Returns the name of the sort.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
            Self::Session => "session",
        }
    }

    const fn nodes_max(self) -> usize {
        match self {
            Self::Memory => MEMORIES_MAX,
            Self::File => FILES_MAX,
            Self::Session => SESSIONS_MAX,
        }
    }
}

/// A node of the graph.
#[derive(Debug, Serialize)]
pub struct NetworkNode {
    /// Sort of the node.
    pub sort: Sort,
    /// Name of the node.
    pub label: String,
    /// Id of the memory, for a node of this type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    /// Number of all links of the node, including those not shown.
    pub links: usize,
    /// Position in the drawing.
    #[serde(flatten)]
    pub at: Point,
}

/// A link between two nodes, by their indexes in the list.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// First node.
    pub from: usize,
    /// Second node.
    pub to: usize,
    /// Names of the relations between the two nodes.
    pub what: Vec<String>,
}

/// Number of nodes of a sort, and how many of them are kept.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct KeptNodes {
    /// The sort.
    pub sort: Sort,
    /// Number of kept nodes.
    pub kept: usize,
    /// Number of all nodes.
    pub of: usize,
}

/// The graph.
#[derive(Debug, Default, Serialize)]
pub struct Network {
    /// Nodes, best connected first.
    pub nodes: Vec<NetworkNode>,
    /// Links between the nodes.
    pub edges: Vec<Edge>,
    /// Numbers of omitted nodes.
    pub cut: Vec<KeptNodes>,
}

/// Identity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum NodeKey<'a> {
    File(&'a str),
    Session(&'a str),
    Memory(MemoryId),
}

impl NodeKey<'_> {
    const fn sort(&self) -> Sort {
        match self {
            Self::File(_) => Sort::File,
            Self::Session(_) => Sort::Session,
            Self::Memory(_) => Sort::Memory,
        }
    }
}

/// The complete graph: the neighbours of each node, and the relations between them.
#[derive(Default)]
struct Whole<'a> {
    links: BTreeMap<(NodeKey<'a>, NodeKey<'a>), BTreeSet<String>>,
    near: HashMap<NodeKey<'a>, BTreeSet<NodeKey<'a>>>,
}

impl<'a> Whole<'a> {
    fn link(&mut self, from: NodeKey<'a>, to: NodeKey<'a>, what: &str) {
        if from == to {
            return;
        }
        self.links.entry((from.min(to), from.max(to))).or_default().insert(what.to_owned());
        self.near.entry(from).or_default().insert(to);
        self.near.entry(to).or_default().insert(from);
    }

    fn of(sources: &'a ReportSources) -> Self {
        let mut whole = Self::default();
        let standing = sources.memories.iter().map(|stored| &stored.memory);
        let standing: BTreeMap<MemoryId, _> =
            standing.filter(|memory| stands(memory)).map(|memory| (memory.id, memory)).collect();
        let mut files: BTreeSet<&str> = BTreeSet::new();
        let sessions: BTreeSet<&str> =
            sources.sessions.iter().map(|touching| &*touching.session.session).collect();
        for memory in standing.values() {
            let key = NodeKey::Memory(memory.id);
            for path in &memory.paths {
                let path = path.path.trim_end_matches('/');
                files.insert(path);
                whole.link(key, NodeKey::File(path), "is about");
            }
            let session = memory.source.session.as_deref();
            if let Some(session) = session.and_then(|id| sessions.get(id)) {
                whole.link(key, NodeKey::Session(session), "learned in");
            }
            for relation in memory.relations.iter().filter(|it| standing.contains_key(&it.to)) {
                let what = match &*relation.kind {
                    CONTRADICTS => "contradicts".to_owned(),
                    kind => plain(kind),
                };
                whole.link(key, NodeKey::Memory(relation.to), &what);
            }
        }
        for touching in &sources.sessions {
            let edited = touching.files.iter().filter(|(_, (edits, _))| *edits > 0);
            for file in edited.filter_map(|(file, _)| files.get(&**file)) {
                whole.link(
                    NodeKey::Session(&touching.session.session),
                    NodeKey::File(file),
                    "edited",
                );
            }
        }
        // Injections are not included: a frequently injected memory would be linked to every session.
        whole
    }

    fn degree(&self, key: &NodeKey<'a>) -> usize {
        self.near.get(key).map_or(0, BTreeSet::len)
    }

    /// Returns the best connected nodes of each type. Files and sessions are ordered by all their links, memories first
    /// by their links to the kept files and sessions.
    fn best(&self) -> Vec<NodeKey<'a>> {
        let mut kept: BTreeSet<NodeKey<'a>> = BTreeSet::new();
        for sort in [Sort::File, Sort::Session, Sort::Memory] {
            let mut of_sort: Vec<NodeKey<'a>> =
                self.near.keys().filter(|key| key.sort() == sort).copied().collect();
            let shown = |key: &NodeKey<'a>| self.near[key].intersection(&kept).count();
            match sort {
                Sort::Memory => {
                    of_sort
                        .sort_by_key(|key| (Reverse(shown(key)), Reverse(self.degree(key)), *key));
                }
                Sort::File | Sort::Session => {
                    of_sort.sort_by_key(|key| (Reverse(self.degree(key)), *key));
                }
            }
            of_sort.truncate(sort.nodes_max());
            kept.extend(of_sort);
        }
        // Nodes without links to kept nodes are omitted.
        let mut best: Vec<NodeKey<'a>> =
            kept.iter().filter(|key| !self.near[key].is_disjoint(&kept)).copied().collect();
        best.sort_by_key(|key| (Reverse(self.degree(key)), *key));
        best
    }
}

impl Network {
    /// Builds the complete graph, keeps the best connected nodes and places them.
    pub fn of(sources: &ReportSources) -> Self {
        let whole = Whole::of(sources);
        let best = whole.best();
        let position: HashMap<NodeKey<'_>, usize> =
            best.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        let edges: Vec<Edge> = whole
            .links
            .iter()
            .filter_map(|((from, to), what)| {
                let (from, to) = (*position.get(from)?, *position.get(to)?);
                Some(Edge { from, to, what: what.iter().cloned().collect() })
            })
            .collect();
        let pairs: Vec<(usize, usize)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let points = layout::place(best.len(), &pairs);
        let titles: HashMap<MemoryId, &str> = sources
            .memories
            .iter()
            .map(|stored| (stored.memory.id, stored.memory.title.as_str()))
            .collect();
        let wishes: HashMap<&str, String> = sources
            .sessions
            .iter()
            .map(|touching| (&*touching.session.session, wish(&touching.session)))
            .collect();
        let nodes = best.iter().zip(points).map(|(key, at)| {
            let label = match key {
                NodeKey::File(path) => plain(path),
                NodeKey::Memory(id) => plain(titles.get(id).copied().unwrap_or_default()),
                NodeKey::Session(id) => {
                    let wish = wishes.get(id).map(String::as_str).unwrap_or_default();
                    format!("{} {wish}", plain(short_session(id))).trim_end().to_owned()
                }
            };
            let memory = match key {
                NodeKey::Memory(id) => Some(*id),
                NodeKey::File(_) | NodeKey::Session(_) => None,
            };
            NetworkNode { sort: key.sort(), label, memory, links: whole.degree(key), at }
        });
        let nodes: Vec<NetworkNode> = nodes.collect();
        let cut = Sort::ALL.map(|sort| KeptNodes {
            sort,
            kept: nodes.iter().filter(|node| node.sort == sort).count(),
            of: whole.near.keys().filter(|key| key.sort() == sort).count(),
        });
        Self { nodes, edges, cut: cut.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use memory_store::fs::file_stamp::Stamp;
    use memory_store::memory::{Memory, PathRef, Relation};
    use memory_store::store::Stored;
    use memory_store::{Kind, Timestamp};

    use super::*;
    use crate::command::report::data::Touching;
    use crate::sessions::PastSession;

    fn memory(number: u8, paths: &[&str]) -> Stored {
        let id = MemoryId([number; 16]);
        let title = format!("memory {number}");
        let mut memory = Memory::new(id, Kind::Fact, title, "", Timestamp(0));
        let named = |path: &&str| PathRef { path: (*path).to_owned(), seen: None };
        memory.paths = paths.iter().map(named).collect();
        let path = PathBuf::from(format!("{number}.md"));
        Stored { path, memory, stamp: Stamp::default(), text: String::new() }
    }

    fn session(id: &str, edited: &str) -> Touching {
        let session = PastSession { session: id.to_owned(), ..PastSession::default() };
        Touching { session, files: [(edited.to_owned(), (1, 0))].into() }
    }

    #[test]
    fn links_are_those_of_files_sessions_and_relations() {
        let mut first = memory(1, &["src/a.rs", "src/"]);
        let to = MemoryId([2; 16]);
        first.memory.relations.push(Relation { kind: CONTRADICTS.to_owned(), to });
        first.memory.source.session = Some("s".to_owned());
        let sources = ReportSources {
            memories: vec![first, memory(2, &[]), memory(3, &[])],
            sessions: vec![session("s", "src/a.rs"), session("other", "src/b.rs")],
            receipts: Vec::new(),
        };
        let graph = Network::of(&sources);
        let label = |at: usize| graph.nodes[at].label.as_str();
        let mut told: Vec<String> = graph
            .edges
            .iter()
            .map(|edge| {
                format!("{} - {}: {}", label(edge.from), label(edge.to), edge.what.join(", "))
            })
            .collect();
        told.sort();
        assert_eq!(
            told,
            [
                "memory 1 - memory 2: contradicts",
                "s - memory 1: learned in",
                "src - memory 1: is about",
                "src/a.rs - memory 1: is about",
                "src/a.rs - s: edited",
            ]
        );
        // The memory without links is omitted.
        assert_eq!(graph.nodes.len(), 5);
        assert_eq!(label(0), "memory 1", "the best connected is first");
    }

    #[test]
    fn a_large_graph_keeps_the_best_connected_nodes_and_reports_the_cut() {
        let files: Vec<String> = (0..50).map(|number| format!("src/{number:02}.rs")).collect();
        let names = |count: usize| files[..count].iter().map(String::as_str).collect::<Vec<_>>();
        let memories = (0..200).map(|number| memory(number, &names(usize::from(number) % 50 + 1)));
        let sources = ReportSources {
            memories: memories.collect(),
            sessions: Vec::new(),
            receipts: Vec::new(),
        };
        let graph = Network::of(&sources);
        let cut = |sort, kept, of| KeptNodes { sort, kept, of };
        assert_eq!(
            graph.cut,
            [
                cut(Sort::Memory, MEMORIES_MAX, 200),
                cut(Sort::File, FILES_MAX, 50),
                cut(Sort::Session, 0, 0)
            ]
        );
        assert_eq!((&*graph.nodes[0].label, graph.nodes[0].links), ("src/00.rs", 200));
        assert!(graph.nodes.iter().all(|node| !node.label.contains("/49")), "it is the worst");
        assert!(graph.edges.iter().all(|edge| edge.from < 90 && edge.to < 90));
    }
}
