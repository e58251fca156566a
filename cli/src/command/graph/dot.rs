//! The graph in the language of Graphviz.

use std::collections::BTreeSet;
use std::io::Write;

use memory_store::knowledge::graph::NodeIndex;
use memory_store::knowledge::{Graph, NodeKind};

use crate::failure::Result;
use crate::view::plain;

/// Prints nodes and the edges between them.
pub(super) fn print(graph: &Graph, nodes: &BTreeSet<NodeIndex>, out: &mut dyn Write) -> Result {
    writeln!(out, "digraph knowledge {{")?;
    for &at in nodes {
        let node = graph.at(at);
        let shape = match node.kind {
            NodeKind::Entity => "ellipse",
            NodeKind::Memory => "box",
            NodeKind::File => "folder",
            NodeKind::Document => "note",
            NodeKind::Session => "component",
            NodeKind::Commit => "cds",
        };
        writeln!(out, "  n{} [label={}, shape={shape}];", at.index(), quoted(&node.label))?;
    }
    for (from, link, to) in graph.edges_among(nodes).into_iter().filter_map(|it| graph.edge(it)) {
        writeln!(out, "  n{} -> n{} [label={}];", from.index(), to.index(), quoted(&link.what))?;
    }
    Ok(writeln!(out, "}}")?)
}

/// Returns a text as a quoted string in the language of Graphviz.
fn quoted(text: &str) -> String {
    let text = plain(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
    format!("\"{text}\"")
}
