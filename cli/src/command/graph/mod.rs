//! `throughline graph`: shows the statements of memories about a name, the connections between names, and the names of
//! one entity.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use memory_store::knowledge::entities::JoinedBy;
use memory_store::knowledge::graph::{DEPTH_MAX, Node, NodeIndex, Reached};
use memory_store::knowledge::{Graph, NodeKind};
use memory_store::{MemoryId, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::knowledge::{AliasView, FactView, ReadKnowledge, as_of, unknown};
use crate::stores::Stores;
use crate::view::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::view::{self, plain, plural};
use crate::world::World;

mod dot;
mod names;
mod stats;

/// Maximum nodes of a listing for people.
const LISTED_MAX: usize = 40;
/// Maximum connections of topics in a listing for people.
const BRIDGES_MAX: usize = 20;

/// Show the facts about a name and its connections
///
/// NAME is a name in memories, a file, a session, or the id of a memory. Names that differ only in spelling are one
/// thing; other names become one with --merge.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// Name, file, session, or id of a memory
    #[arg(required_unless_present_any = ["path", "bridges", "stats", "merge", "split", "rename", "release_names"])]
    name: Option<String>,
    /// Maximum number of connections between NAME and a result
    #[arg(long, default_value_t = 1, value_name = "1-5", value_parser = clap::value_parser!(u8).range(1..=DEPTH_MAX as i64))]
    depth: u8,
    /// Show the graph as it was on this date
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
    /// Show the shortest path between two names
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "name")]
    path: Vec<String>,
    /// Show the names and files that connect topics
    #[arg(long, conflicts_with_all = ["name", "path"])]
    bridges: bool,
    /// Show counts of names, facts and memories
    #[arg(long, conflicts_with_all = ["name", "path", "bridges"])]
    stats: bool,
    #[command(flatten)]
    names: names::NameOptions,
    /// Print the graph in the DOT language
    #[arg(long, conflicts_with_all = ["json", "stats", "bridges", "path"])]
    dot: bool,
}

impl GraphArgs {
    /// Returns whether the command decides about names, which only the person may do.
    pub fn decides(&self, _: &World) -> bool {
        self.names.decides()
    }
}

/// A neighbourhood, as printed by `--json`.
#[derive(Serialize)]
struct NeighbourhoodView<'a> {
    name: &'a Node,
    as_of: Timestamp,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<AliasView<'a>>,
    facts: Vec<FactView>,
    nodes: Vec<NodeView<'a>>,
    edges: Vec<EdgeView<'a>>,
}

#[derive(Serialize)]
struct NodeView<'a> {
    #[serde(flatten)]
    node: &'a Node,
    depth: usize,
}

/// An edge; the ends are indexes of nodes.
#[derive(Serialize)]
struct EdgeView<'a> {
    from: usize,
    to: usize,
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryId>,
}

/// Runs the command.
pub fn run(args: &GraphArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    if args.names.is_asked() {
        return args.names.run(&stores, out);
    }
    let at = as_of(args.as_of.as_deref(), world.now)?.unwrap_or(world.now);
    let read = ReadKnowledge::open(&stores)?;
    let graph = read.graph(&stores, at);
    match (&args.name, &args.path[..]) {
        (Some(name), _) => args.neighbourhood(name, at, &read, &graph, out),
        (None, [from, to]) => path([from, to], args.names.write.json, &read, &graph, out),
        _ if args.bridges => bridges(args.names.write.json, &graph, out),
        _ => stats::print(&read, &graph, &stores, at, args.names.write.json, out),
    }
}

fn find(name: &str, read: &ReadKnowledge, graph: &Graph) -> Result<NodeIndex> {
    let entities = &read.knowledge.entities;
    let found = graph.find(name, entities);
    found.ok_or_else(|| match entities.find(name) {
        Some(_) => Failure::new(format!("nothing was known about `{}` then", plain(name)))
            .code(exit::NOT_FOUND)
            .hint("`throughline timeline NAME` prints when what became known."),
        None => unknown(name, &entities.near(name, 5)),
    })
}

impl GraphArgs {
    fn neighbourhood(
        &self,
        name: &str,
        at: Timestamp,
        read: &ReadKnowledge,
        graph: &Graph,
        out: &mut dyn Write,
    ) -> Result {
        let start = find(name, read, graph)?;
        let reached = graph.within(start, usize::from(self.depth));
        let nodes: BTreeSet<_> = reached.iter().map(|it| it.node).collect();
        if self.dot {
            return dot::print(graph, &nodes, out);
        }
        let entity = read.knowledge.entities.find(name);
        let entity = entity.filter(|_| {
            matches!(graph.at(start).kind, NodeKind::Entity | NodeKind::File | NodeKind::Document)
        });
        let all = &read.knowledge.book.statements;
        let facts = all.iter().filter(|it| Some(it.subject) == entity && it.holds_at(at));
        let mut facts: Vec<FactView> = facts.map(|it| read.view(it)).collect();
        facts.sort_by(|a, b| {
            (&a.predicate, &a.object, a.from).cmp(&(&b.predicate, &b.object, b.from))
        });
        let named = entity.map(|id| &read.knowledge.entities.all()[id]);
        let aliases = named.into_iter().flat_map(|entity| &entity.others);
        let aliases: Vec<AliasView<'_>> =
            aliases.map(|(name, &joined_by)| AliasView { name, joined_by }).collect();
        if self.names.write.json {
            let place = |node| reached.iter().position(|it| it.node == node);
            let edges = graph.edges_among(&nodes).into_iter().filter_map(|edge| {
                let (from, link, to) = graph.edge(edge)?;
                let (from, to) = (place(from)?, place(to)?);
                Some(EdgeView { from, to, what: &link.what, since: link.from, memory: link.memory })
            });
            let view = NeighbourhoodView {
                name: graph.at(start),
                as_of: at,
                aliases,
                facts,
                edges: edges.collect(),
                nodes: reached
                    .iter()
                    .map(|it| NodeView { node: graph.at(it.node), depth: it.depth })
                    .collect(),
            };
            return view::json(&view, out);
        }
        heading(graph.at(start), out)?;
        // Other spellings of a name are omitted.
        for AliasView { name, joined_by } in
            aliases.iter().filter(|alias| alias.joined_by != JoinedBy::Form)
        {
            writeln!(
                out,
                "  also {} {}",
                plain(name),
                paint(QUIET, format_args!("({})", joined_by.words()))
            )?;
        }
        // If several memories contain the same fact, only the earliest is shown.
        facts.dedup_by(|later, fact| later.property() == fact.property());
        for fact in &facts {
            let origin = format!("since {}, {}", fact.from.date(), fact.memory.short());
            writeln!(
                out,
                "  {} {}",
                plain(&fact.property()),
                paint(QUIET, format_args!("({origin})"))
            )?;
        }
        let shown: Vec<&Reached> = reached.iter().skip(1).take(LISTED_MAX).collect();
        for kind in NodeKind::ALL {
            let of_kind: Vec<&&Reached> =
                shown.iter().filter(|it| graph.at(it.node).kind == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            writeln!(out, "\n{}", paint(STRONG, plural_of(kind)))?;
            for reached in of_kind {
                line(reached, graph, out)?;
            }
        }
        let more = reached.len() - 1 - shown.len();
        if more > 0 {
            writeln!(out, "\n... and {more} more; `--json` prints all")?;
        }
        Ok(())
    }
}

fn heading(node: &Node, out: &mut dyn Write) -> Result {
    let kind = node.of_type.unwrap_or(node.kind.name());
    let label = plain(&node.label);
    Ok(writeln!(out, "{} {}", paint(STRONG, label), paint(QUIET, format_args!("({kind})")))?)
}

const fn plural_of(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Entity => "Names",
        NodeKind::Memory => "Memories",
        NodeKind::File => "Files",
        NodeKind::Document => "Documents",
        NodeKind::Session => "Sessions",
        NodeKind::Commit => "Commits",
    }
}

/// Prints a node with the edge that led to it.
fn line(reached: &Reached, graph: &Graph, out: &mut dyn Write) -> Result {
    let node = graph.at(reached.node);
    let id = match node.kind {
        NodeKind::Memory => {
            let id = node.id.parse::<MemoryId>().map(MemoryId::short).unwrap_or_default();
            format!("{}  ", paint(NAME, id))
        }
        _ => String::new(),
    };
    let edge = reached.through.and_then(|edge| graph.edge(edge)).map(|(from, link, to)| {
        let (it, other) = if to == reached.node { ("", from) } else { (" it", to) };
        let of = match reached.depth {
            1 => String::new(),
            _ => format!(", of {}", plain(&graph.at(other).label)),
        };
        format!("{}{it}{of}", plain(&link.what))
    });
    let edge = edge.unwrap_or_default();
    Ok(writeln!(out, "  {id}{}  {}", plain(&node.label), paint(QUIET, edge))?)
}

fn path(
    ends: [&String; 2],
    json: bool,
    read: &ReadKnowledge,
    graph: &Graph,
    out: &mut dyn Write,
) -> Result {
    let [from, to] = ends;
    let (from, to) = (find(from, read, graph)?, find(to, read, graph)?);
    let Some(steps) = graph.path(from, to) else {
        if json {
            view::json(&Vec::<NodeView<'_>>::new(), out)?;
        } else {
            writeln!(out, "Nothing connects them.")?;
        }
        return Err(Failure::silent(exit::NOTHING));
    };
    if json {
        let nodes = steps.iter().map(|it| NodeView { node: graph.at(it.node), depth: it.depth });
        return view::json(&nodes.collect::<Vec<_>>(), out);
    }
    for step in &steps {
        if let Some((_, link, to)) = step.through.and_then(|edge| graph.edge(edge)) {
            let arrow = if to == step.node { "->" } else { "<-" };
            writeln!(out, "  {} {}", paint(QUIET, arrow), paint(QUIET, plain(&link.what)))?;
        }
        heading(graph.at(step.node), out)?;
    }
    Ok(())
}

fn bridges(json: bool, graph: &Graph, out: &mut dyn Write) -> Result {
    let bridges = graph.bridges();
    if json {
        let views = bridges.iter().map(|bridge| {
            let through: Vec<&Node> = bridge.through.iter().map(|&at| graph.at(at)).collect();
            json!({"topics": bridge.topics, "through": through})
        });
        return view::json(&views.collect::<Vec<_>>(), out);
    }
    if bridges.is_empty() {
        writeln!(out, "No name or file connects two topics.")?;
    }
    for bridge in bridges.iter().take(BRIDGES_MAX) {
        let [one, other] = bridge.topics.each_ref().map(|topic| plain(topic));
        let through: Vec<String> =
            bridge.through.iter().take(6).map(|&at| plain(&graph.at(at).label)).collect();
        let only = if bridge.through.len() == 1 { ", their only connection" } else { "" };
        writeln!(
            out,
            "{} - {}  {}{}",
            paint(STRONG, one),
            paint(STRONG, other),
            through.join(", "),
            paint(CARE, only)
        )?;
    }
    if bridges.len() > BRIDGES_MAX {
        writeln!(out, "... and {}", plural(bridges.len() - BRIDGES_MAX, "more pair"))?;
    }
    Ok(())
}
