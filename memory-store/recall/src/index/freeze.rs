//! Freezing of a graph: lists of neighbours are converted to the sections that [`super::graph`] and [`super::links`]
//! search.

use super::document::Document;
use super::format::SectionKind;
use super::graph::{DEGREE_MAX, NO_DOCUMENT, SEEDS_HEAD, stride};
use super::links;
use super::listed::Group;
use super::segment::Segment;
use super::vectors::guarded;
use crate::bytes::kernel::{self, FINE, Fine};
use crate::embed::{Space, Vector};
use memory_store_base::error::Result;

/// Of this many nodes, one is a seed.
const SEED_EVERY: usize = 128;
/// Number of spare neighbour slots of a node. Outlying vectors have neighbours, but no node has them as neighbours. If
/// all lists were full, each such vector would have to be a seed, and a search compares all seeds. In 100,000 texts
/// without meaning, one node in nine was such a seed.
const ROOM: usize = 2;
/// Marks a node that was not reached.
const NONE: u32 = u32::MAX;
/// The graph is rebuilt if more than one in this many of its nodes has no document, or if as many documents have no
/// node. Until then, finding documents without a node takes longer.
const CARRIED_SHARE: usize = 4;

/// The sections of a graph; empty if there is none.
#[derive(Debug, Default, PartialEq)]
pub struct Frozen {
    /// The seeds of the graph.
    pub(crate) seeds: Vec<u8>,
    /// The nodes of the graph.
    pub(crate) graph: Vec<u8>,
    /// The documents with a vector but without a node.
    pub(crate) unlinked: Vec<u8>,
}

/// Returns the graph over the vectors of documents, which are sorted by id; empty for fewer than `vectors_min` vectors.
/// The graph of an older segment is kept while most of it is valid, because building a graph takes a millisecond for
/// each vector. `link` returns for each vector the numbers of its neighbours, nearest first.
pub fn graph(
    old: impl FnOnce() -> Option<Segment>,
    documents: &[Document],
    space: Space,
    vectors_min: usize,
    link: &dyn Fn(&[&Vector]) -> Vec<Vec<u32>>,
) -> Frozen {
    let vectored = vectored(documents, space);
    if vectored.len() < vectors_min {
        return Frozen::default();
    }
    let carried = old().and_then(|old| carry(&old, documents, space).ok().flatten());
    carried.unwrap_or_else(|| {
        let vectors: Vec<&Vector> = vectored.iter().map(|&(_, vector)| vector).collect();
        freeze(&vectored, link(&vectors))
    })
}

/// Returns the documents that have a vector in a space, with their vectors.
pub(super) fn vectored(documents: &[Document], space: Space) -> Vec<(u32, &Vector)> {
    let embedded = (0..).zip(documents).filter_map(|(doc, document)| {
        Some((doc, document.vector.as_ref().filter(|embedded| embedded.space == space)?))
    });
    embedded.map(|(doc, embedded)| (doc, &embedded.vector)).collect()
}

/// Freezes a graph over vectors, each with the number of its document. `links` contains for each vector the numbers of
/// its neighbours, nearest first.
pub(super) fn freeze(vectors: &[(u32, &Vector)], links: Vec<Vec<u32>>) -> Frozen {
    if vectors.is_empty() || links.len() != vectors.len() {
        return Frozen::default();
    }
    let mut links = clean(links);
    let degree = degree(&links);
    let (seeds, order) = reach(&mut links, degree);
    let mut numbers = vec![0u32; order.len()];
    (0..).zip(&order).for_each(|(number, &vector)| numbers[vector as usize] = number);
    let codes: Vec<Fine> = vectors.iter().map(|(_, vector)| Fine::of(vector)).collect();
    let number = |vector: u32| numbers[vector as usize];

    let mut graph = Vec::with_capacity(order.len() * stride(degree));
    for &vector in &order {
        let (start, list) = (graph.len(), &links[vector as usize]);
        graph.extend_from_slice(&vectors[vector as usize].0.to_le_bytes());
        graph.extend_from_slice(&(list.len() as u32).to_le_bytes());
        list.iter().for_each(|&other| graph.extend_from_slice(&number(other).to_le_bytes()));
        graph.resize(graph.len() + (degree - list.len()) * 4, 0);
        list.iter().for_each(|&other| graph.extend_from_slice(&codes[other as usize].0));
        graph.resize(graph.len() + (degree - list.len()) * FINE, 0);
        guard(&mut graph, start);
    }

    let seeds = seeds.iter().map(|&seed| (number(seed), codes[seed as usize]));
    let seeds = seeds_section(order.len(), degree, &seeds.collect::<Vec<_>>(), order.len());
    Frozen { seeds, graph, unlinked: Vec::new() }
}

/// Returns the bytes of a graph's section of seeds.
fn seeds_section(nodes: usize, degree: usize, seeds: &[(u32, Fine)], linked: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for head in [nodes, degree, seeds.len(), linked] {
        out.extend_from_slice(&(head as u32).to_le_bytes());
    }
    guard(&mut out, 0);
    Group::LARGE.put(&mut out, seeds);
    out
}

/// Freezes a graph over the vectors of some of `docs` passages, in the format that [`super::links`] searches. Returns
/// an empty graph if there are more passages than that format can number.
pub(super) fn freeze_passages(
    vectors: &[(u32, &Vector)],
    links: Vec<Vec<u32>>,
    docs: u32,
) -> Frozen {
    if vectors.is_empty() || links.len() != vectors.len() || docs > links::DOCS_MAX {
        return Frozen::default();
    }
    let mut links = clean(links);
    // This is the maximum degree. Without room for nodes that have no incoming link, one in six would be a seed.
    let degree = links::DEGREE_MAX;
    links.iter_mut().for_each(|list| list.truncate(degree));
    let (seeds, _) = reach(&mut links, degree);
    let doc = |vector: u32| vectors[vector as usize].0;
    // The places of documents without a vector, and the rest of short lists, contain the node's own number.
    let mut neighbours: Vec<Vec<u32>> = (0..docs).map(|own| vec![own; degree]).collect();
    for (vector, list) in (0..).zip(&links) {
        for (place, &other) in neighbours[doc(vector) as usize].iter_mut().zip(list) {
            *place = doc(other);
        }
    }
    let mut graph = Vec::with_capacity(neighbours.len() * links::stride(degree));
    for list in &neighbours {
        let start = graph.len();
        list.iter().for_each(|&other| graph.extend_from_slice(&(other as u16).to_le_bytes()));
        guard(&mut graph, start);
    }
    let seeds = seeds.iter().map(|&seed| (doc(seed), Fine::of(vectors[seed as usize].1)));
    let seeds: Vec<(u32, Fine)> = seeds.collect();
    let seeds = seeds_section(docs as usize, degree, &seeds, vectors.len());
    Frozen { seeds, graph, unlinked: Vec::new() }
}

/// Transfers the graph of an older segment to the documents of a new one, which are sorted by id. Nodes whose document
/// was removed or has another vector are kept without a document, because other nodes are reached through them.
/// Documents without a node are listed separately. Returns `None` if there is no graph in this space, or if rebuilding
/// is preferable.
pub(super) fn carry(old: &Segment, documents: &[Document], space: Space) -> Result<Option<Frozen>> {
    if !old.has_graph() || old.space()? != Some(space) {
        return Ok(None);
    }
    let whole = |kind| old.read(kind, 0, old.length(kind)).map(std::borrow::Cow::into_owned);
    let (mut seeds, mut graph) = (whole(SectionKind::Seeds)?, whole(SectionKind::Graph)?);
    let (nodes, degree) = old.graph_size()?;
    // Old documents are mapped to new ones with the same vector.
    let mut numbers = vec![NO_DOCUMENT; old.docs() as usize];
    let mut places = (0u32..).zip(documents).peekable();
    for doc in 0..old.docs() {
        let id = old.entry(doc)?.id;
        while places.next_if(|(_, document)| document.entry.id < id).is_some() {}
        let Some((number, document)) = places.next_if(|(_, document)| document.entry.id == id)
        else {
            continue;
        };
        let same = |new| Ok(old.vector(doc)?.is_some_and(|old| old.vector == new));
        if document.vector.map_or(Ok(false), |new| same(new.vector))? {
            numbers[doc as usize] = number;
        }
    }
    let mut linked = vec![false; documents.len()];
    for node in graph.chunks_exact_mut(stride(degree)) {
        let Some(number) = guarded(node).and_then(|body| body.first_chunk()) else {
            return Ok(None);
        };
        let number = numbers.get(u32::from_le_bytes(*number) as usize).copied();
        let number = number.unwrap_or(NO_DOCUMENT);
        node[..4].copy_from_slice(&number.to_le_bytes());
        seal(node);
        if let Some(linked) = linked.get_mut(number as usize) {
            *linked = true;
        }
    }
    let missing = (0u32..).zip(documents).zip(&linked).filter_map(|((doc, document), linked)| {
        let embedded = document.vector.as_ref().filter(|embedded| embedded.space == space);
        embedded.filter(|_| !linked).map(|embedded| (doc, Fine::of(&embedded.vector)))
    });
    let missing: Vec<(u32, Fine)> = missing.collect();
    let living = linked.iter().filter(|&&linked| linked).count();
    let vacant = nodes as usize - living;
    if living == 0 || missing.len().max(vacant) * CARRIED_SHARE > nodes as usize {
        return Ok(None);
    }
    seeds[SEEDS_HEAD - 12..SEEDS_HEAD - 8].copy_from_slice(&(living as u32).to_le_bytes());
    seal(&mut seeds[..SEEDS_HEAD]);
    let mut unlinked = Vec::new();
    Group::LARGE.put(&mut unlinked, &missing);
    Ok(Some(Frozen { seeds, graph, unlinked }))
}

/// Recomputes the checksum at the end of a record.
fn seal(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<8>() {
        *sum = kernel::sum(body).to_le_bytes();
    }
}

/// Appends the checksum of the bytes from `start` on.
fn guard(out: &mut Vec<u8>, start: usize) {
    let sum = kernel::sum(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Returns the number of neighbour slots of each node.
fn degree(links: &[Vec<u32>]) -> usize {
    let most = links.iter().map(Vec::len).max().unwrap_or(0);
    (most + ROOM).min(DEGREE_MAX as usize)
}

/// Removes invalid neighbours: unknown numbers, the node itself, and duplicates.
fn clean(mut links: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let count = links.len() as u32;
    for (own, list) in (0..).zip(&mut links) {
        let mut known = std::collections::HashSet::new();
        list.retain(|&other| other < count && other != own && known.insert(other));
        list.truncate(DEGREE_MAX as usize);
    }
    links
}

/// Chooses the seeds and makes every node reachable from them. An unreachable node becomes a neighbour of one of its
/// own neighbours that has room, or else a seed. Returns the seeds, and the order in which nodes are stored: nodes near
/// the same seed are adjacent, so that a search accesses few pages.
fn reach(links: &mut [Vec<u32>], degree: usize) -> (Vec<u32>, Vec<u32>) {
    let mut seeds: Vec<u32> = (0..links.len() as u32).step_by(SEED_EVERY).collect();
    let mut reached = vec![false; links.len()];
    walk(links, &seeds, &mut reached);
    for node in 0..links.len() as u32 {
        if reached[node as usize] {
            continue;
        }
        let near = links[node as usize].iter().copied();
        let room = near
            .clone()
            .find(|&near| reached[near as usize] && links[near as usize].len() < degree);
        match room {
            Some(near) => links[near as usize].push(node),
            None => seeds.push(node),
        }
        walk(links, &[node], &mut reached);
    }
    let order = order(links, &seeds);
    (seeds, order)
}

/// Marks all nodes that are reachable from `starts`.
fn walk(links: &[Vec<u32>], starts: &[u32], reached: &mut [bool]) {
    let mut open = starts.to_vec();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            open.extend(links[node as usize].iter().filter(|&&next| !reached[next as usize]));
        }
    }
}

/// Returns all nodes, sorted by their nearest seed and the number of steps from it.
fn order(links: &[Vec<u32>], seeds: &[u32]) -> Vec<u32> {
    let mut nearest = vec![NONE; links.len()];
    for (seed, &node) in (0..).zip(seeds) {
        nearest[node as usize] = seed;
    }
    let mut steps: Vec<u32> = seeds.to_vec();
    let mut next = 0;
    while let Some(&node) = steps.get(next) {
        next += 1;
        for &other in &links[node as usize] {
            if nearest[other as usize] == NONE {
                nearest[other as usize] = nearest[node as usize];
                steps.push(other);
            }
        }
    }
    // The sort is stable, so the nodes of a seed stay in the order of steps.
    steps.sort_by_key(|&node| nearest[node as usize]);
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_node_is_reached_and_stored_once(
            links in prop::collection::vec(prop::collection::vec(0u32..400, 0..6), 1..400),
        ) {
            let mut links = clean(links);
            let degree = links.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let (seeds, mut order) = reach(&mut links, degree);
            let mut reached = vec![false; links.len()];
            walk(&links, &seeds, &mut reached);
            prop_assert!(reached.iter().all(|&reached| reached));
            prop_assert!(links.iter().all(|list| list.len() <= degree));
            order.sort_unstable();
            prop_assert_eq!(order, (0..links.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn those_that_nobody_links_to_find_room_beside_their_neighbours() {
        // No node has a node with an odd number as neighbour, and all lists have the same length.
        let mut links: Vec<Vec<u32>> =
            (0..1000).map(|node| vec![(node / 2 * 2 + 2) % 1000]).collect();
        let degree = degree(&links);
        let (seeds, _) = reach(&mut links, degree);
        assert_eq!((seeds.len(), links[2].as_slice()), (8, &[4, 1][..]));
    }

    #[test]
    fn one_node_in_128_is_a_seed_when_all_hang_together() {
        let mut links: Vec<Vec<u32>> = (0..1000).map(|node| vec![(node + 1) % 1000]).collect();
        let (seeds, order) = reach(&mut links, 1);
        assert_eq!((seeds.len(), seeds[1]), (8, 128));
        assert_eq!(order[..3], [0, 1, 2]);
    }
}
