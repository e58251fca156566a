//! Freezing of a graph: converts lists of neighbours to the sections that [`super::graph`] and [`super::links`] search.

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

/// One in this many nodes is a seed.
const SEED_EVERY: usize = 128;
/// Spare neighbour slots of a node. Outlying vectors have neighbours but are no neighbour of any node: with all lists
/// full, each of them would have to be a seed, and a search compares all seeds. In 100,000 texts without meaning one
/// node in nine was such a seed.
const ROOM: usize = 2;
/// Marks unreached nodes.
const NONE: u32 = u32::MAX;
/// A graph is rebuilt when more than one in this many of its nodes has no document, or as many documents have no node.
/// Until then such documents are found at a higher cost.
const CARRIED_SHARE: usize = 4;

/// The sections of a graph; empty if there is none.
#[derive(Debug, Default, PartialEq)]
pub struct Frozen {
    /// Entry points of the graph.
    pub(crate) seeds: Vec<u8>,
    /// Nodes of the graph.
    pub(crate) graph: Vec<u8>,
    /// Documents with a vector but without a node.
    pub(crate) unlinked: Vec<u8>,
}

/// Returns the graph over the vectors of documents, which are sorted by id; none for fewer than `vectors_min` vectors.
/// The graph of an older segment is kept while most of it is valid, because a new one takes a millisecond for each
/// vector: `link` returns for each vector the numbers of its neighbours, nearest first.
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

/// Returns the documents that have a vector of a space, with their vectors.
pub(super) fn vectored(documents: &[Document], space: Space) -> Vec<(u32, &Vector)> {
    let embedded = (0..).zip(documents).filter_map(|(doc, document)| {
        Some((doc, document.vector.as_ref().filter(|embedded| embedded.space == space)?))
    });
    embedded.map(|(doc, embedded)| (doc, &embedded.vector)).collect()
}

/// Freezes a graph over vectors, each of which belongs to a document. `links` contains the numbers of each vector's
/// neighbours, nearest first.
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

/// Encodes the seeds section of a graph.
fn seeds_section(nodes: usize, degree: usize, seeds: &[(u32, Fine)], linked: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for head in [nodes, degree, seeds.len(), linked] {
        out.extend_from_slice(&(head as u32).to_le_bytes());
    }
    guard(&mut out, 0);
    Group::LARGE.put(&mut out, seeds);
    out
}

/// Freezes a graph over the vectors of some of `docs` passages, in the format that [`super::links`] searches. None if
/// there are more passages than its numbers can represent.
pub(super) fn freeze_passages(
    vectors: &[(u32, &Vector)],
    links: Vec<Vec<u32>>,
    docs: u32,
) -> Frozen {
    if vectors.is_empty() || links.len() != vectors.len() || docs > links::DOCS_MAX {
        return Frozen::default();
    }
    let mut links = clean(links);
    // Maximum degree: without room for nodes that have no incoming link, one in six would be a seed.
    let degree = links::DEGREE_MAX;
    links.iter_mut().for_each(|list| list.truncate(degree));
    let (seeds, _) = reach(&mut links, degree);
    let doc = |vector: u32| vectors[vector as usize].0;
    // Documents without a vector and short lists are filled with the node's own number.
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

/// Carries the graph of an older segment over to the documents of a new one, which are sorted by id. Nodes whose
/// document was removed or has another vector stay without a document, because others are reached through them;
/// documents without a node are listed beside the graph. `None` if there is no graph of this space, or a rebuild is
/// preferable.
pub(super) fn carry(old: &Segment, documents: &[Document], space: Space) -> Result<Option<Frozen>> {
    if !old.has_graph() || old.space()? != Some(space) {
        return Ok(None);
    }
    let whole = |kind| old.read(kind, 0, old.length(kind)).map(std::borrow::Cow::into_owned);
    let (mut seeds, mut graph) = (whole(SectionKind::Seeds)?, whole(SectionKind::Graph)?);
    let (nodes, degree) = old.graph_size()?;
    // Maps old documents to new ones with the same vector.
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

/// Appends the checksum of the bytes appended since `start`.
fn guard(out: &mut Vec<u8>, start: usize) {
    let sum = kernel::sum(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Returns the number of neighbour slots of each node.
fn degree(links: &[Vec<u32>]) -> usize {
    let most = links.iter().map(Vec::len).max().unwrap_or(0);
    (most + ROOM).min(DEGREE_MAX as usize)
}

/// Removes invalid neighbours: unknown numbers, the node itself, duplicates.
fn clean(mut links: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let count = links.len() as u32;
    for (own, list) in (0..).zip(&mut links) {
        let mut known = std::collections::HashSet::new();
        list.retain(|&other| other < count && other != own && known.insert(other));
        list.truncate(DEGREE_MAX as usize);
    }
    links
}

/// Chooses the seeds and makes every node reachable from them: an unreachable node becomes the neighbour of one of its
/// own neighbours that has room, or else a seed. Returns the seeds and the order in which nodes are stored: those near
/// the same seed are adjacent, so that a search touches few pages.
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

/// Marks all reachable nodes.
fn walk(links: &[Vec<u32>], starts: &[u32], reached: &mut [bool]) {
    let mut open = starts.to_vec();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            open.extend(links[node as usize].iter().filter(|&&next| !reached[next as usize]));
        }
    }
}

/// Returns all nodes, sorted by nearest seed and number of steps to it.
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
    // The stable sort keeps the order of steps among the nodes of one seed.
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
        // Odd nodes are no neighbour of any node, and all lists have the same length.
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
