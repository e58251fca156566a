//! The graph over a segment's vectors, by which a search finds the documents near a query while it reads only a few of
//! them.
//!
//! The graph is built elsewhere (as an HNSW graph) and frozen into records of fixed size. A record contains a node, the
//! numbers of its neighbours and their fine codes, so a single read estimates the similarity of all neighbours. There
//! are no upper levels. The search first compares all seeds, which are a fixed share of the nodes: with only one entry
//! point, a frozen graph finds far less in clustered vectors.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::format::{Cursor, SectionKind};
use super::listed::{Group, GroupList};
use super::segment::Segment;
use super::vectors::{Near, guarded};
use crate::bytes::kernel::{FINE, FineWeights};
use crate::embed::Vector;
use memory_store_base::error::Result;

/// Number of bytes before the seeds. They contain the number of nodes, the degree, the number of seeds, the number of
/// nodes with a document, and a checksum.
pub(super) const SEEDS_HEAD: usize = 24;
/// Number in place of a document that was removed or has another vector now.
pub(super) const NO_DOCUMENT: u32 = u32::MAX;
/// Maximum number of neighbours of a node.
pub(super) const DEGREE_MAX: u32 = 256;
/// Number of seeds from which a search continues.
const STARTS: usize = 16;

/// Returns the number of nodes that a search keeps, and reads, to find the `count` nearest ones. `scripts/bench index`
/// measures the recall for this number and for the number of [`rescored`].
fn breadth(count: usize) -> usize {
    count.saturating_add(150)
}

/// Returns the number of vectors that are read to find the `count` nearest ones.
fn rescored(count: usize) -> usize {
    count.saturating_add(50)
}

/// Returns the number of bytes of a node: document, number of neighbours, their numbers, their codes, checksum.
pub(super) fn stride(degree: usize) -> usize {
    4 + 4 + degree * (4 + FINE) + 8
}

/// Header of a graph, which precedes the seeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphHead {
    pub nodes: u32,
    pub degree: usize,
    seeds: u32,
    /// Number of nodes with a document.
    linked: u32,
}

impl GraphHead {
    fn decode(bytes: &[u8; SEEDS_HEAD], docs: u32) -> Option<Self> {
        let mut cursor = Cursor(guarded(bytes)?);
        let (nodes, degree) = (cursor.u32()?, cursor.u32()?);
        let (seeds, linked) = (cursor.u32()?, cursor.u32()?);
        let fits = (1..=DEGREE_MAX).contains(&degree)
            && (1..=nodes).contains(&seeds)
            && (1..=nodes.min(docs)).contains(&linked);
        fits.then_some(Self { nodes, degree: degree as usize, seeds, linked })
    }
}

/// A node whose record was read.
struct GraphNode<'a> {
    doc: u32,
    neighbours: &'a [[u8; 4]],
    codes: &'a [[u8; FINE]],
}

impl<'a> GraphNode<'a> {
    fn decode(bytes: &'a [u8], degree: usize) -> Option<Self> {
        let mut cursor = Cursor(guarded(bytes)?);
        let (doc, count) = (cursor.u32()?, cursor.u32()? as usize);
        let neighbours = cursor.take(degree * 4)?.as_chunks().0.get(..count)?;
        let codes = cursor.take(degree * FINE)?.as_chunks().0.get(..count)?;
        Some(Self { doc, neighbours, codes })
    }
}

/// A visited node: the similarity of its code to the query, and its number. Of nodes with equal similarity, the one
/// with the lower number comes first.
pub(super) type SeenNodes = (i32, Reverse<u32>);

impl Segment {
    /// Returns whether the segment's vectors have a graph.
    pub fn has_graph(&self) -> bool {
        self.length(SectionKind::Seeds) > 0
    }

    /// Returns the number of the graph's nodes and the number of neighbour slots of each.
    pub(super) fn graph_size(&self) -> Result<(u32, usize)> {
        let head = self.graph_head(SectionKind::Graph, stride)?;
        Ok((head.nodes, head.degree))
    }

    /// Searches the graph, nearest nodes first. Returns the documents found, with their exact cosines.
    pub(super) fn nearest_by_graph(&self, query: &Vector, count: usize) -> Result<Vec<Near>> {
        let head = self.graph_head(SectionKind::Graph, stride)?;
        let weights = FineWeights::of(query);
        // Nodes of replaced documents are still traversed and occupy places, so the number of places is increased.
        let places = breadth(count) as u64 * u64::from(head.nodes) / u64::from(head.linked);
        let mut search = GraphSearch::new(head.nodes, places.min(u64::from(head.nodes)) as usize);
        for (likeness, Reverse(number)) in self.starts(&head, &weights)? {
            if !search.see(number, || likeness) {
                return Err(self.damaged("a seed is no node"));
            }
        }
        let mut docs = Vec::with_capacity(places as usize + STARTS);
        let mut record = vec![0; stride(head.degree)];
        while let Some((likeness, number)) = search.next() {
            self.read_into(
                SectionKind::Graph,
                u64::from(number) * record.len() as u64,
                &mut record,
            )?;
            let node = GraphNode::decode(&record, head.degree)
                .filter(|node| node.doc < self.docs() || node.doc == NO_DOCUMENT)
                .ok_or_else(|| self.damaged("a node's sum does not fit"))?;
            if node.doc != NO_DOCUMENT {
                docs.push((likeness, node.doc));
            }
            for (number, code) in node.neighbours.iter().zip(node.codes) {
                if !search.see(u32::from_le_bytes(*number), || weights.dot(code)) {
                    return Err(self.damaged("a neighbour is no node"));
                }
            }
        }
        let worst = search.worst();
        docs.retain(|&(likeness, _)| likeness >= worst);
        self.add_unlinked(&weights, rescored(count), &mut docs)?;
        docs.retain(|&(_, doc)| !self.is_dead(doc));
        // A damaged graph might contain a document twice.
        docs.sort_unstable_by_key(|&(likeness, doc)| (doc, Reverse(likeness)));
        docs.dedup_by_key(|(_, doc)| *doc);
        docs.sort_unstable_by_key(|&(likeness, doc)| (Reverse(likeness), doc));
        docs.truncate(rescored(count));
        let docs: Vec<u32> = docs.into_iter().map(|(_, doc)| doc).collect();
        Ok(self.cosines(query, &docs)?.into_iter().flatten().collect())
    }

    /// Adds the best documents without a node, at most `most`. All such documents are compared.
    fn add_unlinked(
        &self,
        weights: &FineWeights,
        most: usize,
        docs: &mut Vec<(i32, u32)>,
    ) -> Result<()> {
        let group = Group::LARGE;
        let count = group
            .count(self.length(SectionKind::Unlinked))
            .filter(|&count| count <= u64::from(self.docs()))
            .ok_or_else(|| {
                self.damaged("the list of documents outside the graph makes no sense")
            })?;
        let list = GroupList { kind: SectionKind::Unlinked, offset: 0, count, group };
        let best = self.best_listed(list, weights, most)?;
        let best = best.into_iter().map(|(likeness, Reverse(doc))| (likeness, doc));
        docs.extend(best.filter(|&(_, doc)| doc < self.docs()));
        Ok(())
    }

    /// Returns the `most` entries of a list that are most similar to the query, in any order.
    fn best_listed(
        &self,
        list: GroupList,
        weights: &FineWeights,
        most: usize,
    ) -> Result<Vec<SeenNodes>> {
        let mut best: BinaryHeap<Reverse<SeenNodes>> = BinaryHeap::with_capacity(most + 1);
        let mut each = |number, code: &[u8; FINE]| {
            let seen = Reverse((weights.dot(code), Reverse(number)));
            if best.len() < most {
                best.push(seen);
            } else if best.peek().is_some_and(|worst| seen < *worst) {
                best.pop();
                best.push(seen);
            }
        };
        let whole = self.each_listed(list, &mut each)?;
        whole.ok_or_else(|| self.damaged("a sum of listed codes does not fit"))?;
        Ok(best.into_iter().map(|Reverse(seen)| seen).collect())
    }

    /// Returns the seeds that are most similar to the query.
    pub(super) fn starts(&self, head: &GraphHead, weights: &FineWeights) -> Result<Vec<SeenNodes>> {
        let (kind, offset) = (SectionKind::Seeds, SEEDS_HEAD as u64);
        let list = GroupList { kind, offset, count: u64::from(head.seeds), group: Group::LARGE };
        self.best_listed(list, weights, STARTS)
    }

    /// Reads the header of a graph, whose nodes are in the section `nodes_in`. `stride` returns the bytes of a node for
    /// a degree.
    pub(super) fn graph_head(
        &self,
        nodes_in: SectionKind,
        stride: fn(usize) -> usize,
    ) -> Result<GraphHead> {
        let mut bytes = [0; SEEDS_HEAD];
        self.read_into(SectionKind::Seeds, 0, &mut bytes)?;
        GraphHead::decode(&bytes, self.docs())
            .filter(|head| {
                let seeds = Group::LARGE.list_bytes(u64::from(head.seeds));
                let nodes = u64::from(head.nodes) * stride(head.degree) as u64;
                self.length(SectionKind::Seeds) == SEEDS_HEAD as u64 + seeds
                    && self.length(nodes_in) == nodes
            })
            .ok_or_else(|| self.damaged("the seeds of the graph make no sense"))
    }
}

/// A search that is in progress.
pub(super) struct GraphSearch {
    /// One bit for each node, set if the node was visited.
    seen: Vec<u64>,
    nodes: u32,
    places: usize,
    /// Nodes that were not read yet, the most similar on top.
    open: BinaryHeap<SeenNodes>,
    /// The best nodes so far, the least similar on top.
    kept: BinaryHeap<Reverse<SeenNodes>>,
}

impl GraphSearch {
    pub(super) fn new(nodes: u32, places: usize) -> Self {
        Self {
            seen: vec![0; (nodes as usize).div_ceil(64)],
            nodes,
            places,
            open: BinaryHeap::with_capacity(4 * places),
            kept: BinaryHeap::with_capacity(places + 1),
        }
    }

    /// Adds a node, unless it was visited before or all kept nodes are better. Returns false if the number is invalid.
    fn see(&mut self, number: u32, likeness: impl FnOnce() -> i32) -> bool {
        match self.meet(number) {
            Some(true) => self.take_in(number, likeness()),
            Some(false) => {}
            None => return false,
        }
        true
    }

    /// Marks a node as visited. Returns whether it is visited for the first time; `None` if the number is invalid.
    pub(super) fn meet(&mut self, number: u32) -> Option<bool> {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        let seen = (number < self.nodes).then(|| &mut self.seen[word])?;
        let is_new = *seen & bit == 0;
        *seen |= bit;
        Some(is_new)
    }

    /// Adds a node, unless all kept nodes are better.
    pub(super) fn take_in(&mut self, number: u32, likeness: i32) {
        if self.kept.len() >= self.places {
            if likeness <= self.worst() {
                return;
            }
            self.kept.pop();
        }
        let seen = (likeness, Reverse(number));
        self.kept.push(Reverse(seen));
        self.open.push(seen);
    }

    /// Returns the next node to read, as similarity and number; `None` if no better one can be found.
    pub(super) fn next(&mut self) -> Option<(i32, u32)> {
        let (likeness, Reverse(number)) = self.open.pop()?;
        (likeness >= self.worst()).then_some((likeness, number))
    }

    /// Returns the similarity of the least similar node that is kept.
    fn worst(&self) -> i32 {
        self.kept.peek().map_or(i32::MIN, |Reverse((likeness, _))| *likeness)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::document::Document;
    use super::super::freeze::{carry, freeze, vectored};
    use super::super::testing;
    use super::super::vectors::tests::{exact, open, vector};
    use super::super::write;
    use super::*;
    use crate::bytes::kernel;
    use crate::index::manifest::Collection;
    use crate::index::vectors::tests::{SPACE, documents};
    use memory_store_base::id::MemoryId;
    use memory_store_base::settings::IndexSearch;
    use memory_store_base::time::Timestamp;

    /// Returns links within the groups of 25 documents in which the vectors are, and from each group to others.
    pub(crate) fn links(vectors: &[(u32, &Vector)], degree: usize) -> Vec<Vec<u32>> {
        let count = vectors.len();
        let near = |own: usize| {
            let group = |at: usize| vectors[at].0 / 25;
            let around = own.saturating_sub(24)..(own + 25).min(count);
            let same = around.filter(|&other| other != own && group(other) == group(own));
            let far = [(own + 25 * (1 + own % 13)) % count];
            far.into_iter().chain(same).take(degree).map(|other| other as u32).collect()
        };
        (0..count).map(near).collect()
    }

    fn bytes(docs: u32, degree: usize) -> (Vec<u8>, u32) {
        // Some documents have no vector.
        let documents = documents((0..docs).map(|doc| (doc % 7 != 3).then(|| vector(doc))));
        let vectors = vectored(&documents, SPACE);
        let graph = freeze(&vectors, links(&vectors, degree));
        let bytes = write::segment(Collection::Memories, &documents, &[], Some(SPACE), graph);
        (bytes, docs)
    }

    #[test]
    fn the_graph_finds_nearly_all_that_comparing_everything_finds() {
        let dead: Vec<u32> = (0..900).step_by(10).collect();
        let segment = open(bytes(900, 24), &dead).unwrap();
        let (mut found, mut all) = (0, 0);
        for number in (0..900).step_by(37) {
            let query = vector(number);
            let near = segment.nearest(&query, 10, IndexSearch::Graph).unwrap();
            let expected = exact(&segment, &query, 10);
            assert!(near.iter().all(|near| near.doc % 10 != 0 && near.doc % 7 != 3));
            all += expected.len();
            found += expected.iter().filter(|&one| near.contains(one)).count();
        }
        // The groups are in random order, so only chance leads from one to another.
        assert!(found * 100 >= all * 94, "{found} of {all}");
    }

    /// Returns documents with these numbers. Those that are `changed` have other vectors.
    fn of_numbers(numbers: &[u32], changed: &dyn Fn(u32) -> bool) -> Vec<Document> {
        let vectors = numbers.iter().map(|&number| {
            let other = if changed(number) { number + 5000 } else { number };
            (number % 7 != 3).then(|| vector(other))
        });
        let mut documents = documents(vectors);
        for (document, &number) in documents.iter_mut().zip(numbers) {
            document.entry.id = MemoryId::new(Timestamp(i64::from(number)), [0; 10]);
        }
        documents
    }

    /// Returns a segment of these documents with the graph of `old`, if that graph can be transferred.
    fn carried(old: &Segment, documents: &[Document]) -> Option<(Vec<u8>, u32)> {
        let graph = carry(old, documents, SPACE).unwrap()?;
        let bytes = write::segment(Collection::Memories, documents, &[], Some(SPACE), graph);
        Some((bytes, documents.len() as u32))
    }

    #[test]
    fn a_graph_is_carried_along_while_most_of_it_holds() {
        let old = open(bytes(900, 24), &[]).unwrap();
        // Some documents are removed, some are new in the middle and at the end, and some have another vector.
        let kept = |number: &u32| number % 20 != 4 && !(800..860).contains(number);
        let mut numbers: Vec<u32> = (0..1000).filter(kept).collect();
        let changed = |number: u32| number % 30 == 11;
        let segment = carried(&old, &of_numbers(&numbers, &changed)).unwrap();
        let segment = open(segment, &[]).unwrap();
        let (mut found, mut all) = (0, 0);
        for (doc, &number) in (0..).zip(&numbers).step_by(13) {
            if number % 7 == 3 {
                continue;
            }
            let query = segment.vector(doc).unwrap().unwrap().vector;
            let near = segment.nearest(&query, 10, IndexSearch::Graph).unwrap();
            assert_eq!(near[0].doc, doc, "the document itself is found, in the graph or beside it");
            let expected = exact(&segment, &query, 10);
            all += expected.len();
            found += expected.iter().filter(|&one| near.contains(one)).count();
        }
        assert!(found * 100 >= all * 94, "{found} of {all}");
        // A transferred graph can be transferred again.
        numbers.extend(1000..1010);
        let again = carry(&segment, &of_numbers(&numbers, &changed), SPACE).unwrap().unwrap();
        assert!(again.unlinked.len() as u64 > segment.length(SectionKind::Unlinked));
    }

    #[test]
    fn a_graph_is_made_anew_when_too_little_of_it_holds() {
        let old = open(bytes(300, 4), &[]).unwrap();
        let serves = |numbers: std::ops::Range<u32>, changed: u32| {
            let numbers: Vec<u32> = numbers.collect();
            carried(&old, &of_numbers(&numbers, &|number| number % changed == 0)).is_some()
        };
        assert!(serves(0..300, 1000));
        assert!(!serves(0..300, 3), "changed");
        assert!(!serves(0..500, 1000), "grown");
        assert!(!serves(0..200, 1000), "shrunk");
        assert!(!serves(500..800, 1000), "others");
    }

    #[test]
    fn where_nothing_changed_the_graph_is_as_it_was() {
        let old = open(bytes(300, 4), &[]).unwrap();
        let numbers: Vec<u32> = (0..300).collect();
        let new = carry(&old, &of_numbers(&numbers, &|_| false), SPACE).unwrap().unwrap();
        let section = |kind| old.read(kind, 0, old.length(kind)).unwrap().into_owned();
        assert_eq!(new.seeds, section(SectionKind::Seeds));
        assert_eq!(new.graph, section(SectionKind::Graph));
        assert!(new.unlinked.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_changed_byte_is_noticed_or_harmless(at: prop::sample::Index, change in 1u8..) {
            static SOUND: std::sync::LazyLock<(Vec<u8>, u32)> = std::sync::LazyLock::new(|| {
                let old = open(bytes(150, 4), &[]).unwrap();
                let numbers: Vec<u32> = (0..170).filter(|number| number % 20 != 4).collect();
                carried(&old, &of_numbers(&numbers, &|number| number % 30 == 11)).unwrap()
            });
            let (bytes, docs) = SOUND.clone();
            testing::notice_a_changed_byte(bytes, at, change, |bytes| {
                open((bytes, docs), &[])?.nearest(&vector(9), 5, IndexSearch::Graph)
            })?;
        }

        /// A matching checksum does not prove the origin of the data.
        #[test]
        fn any_numbers_with_sums_that_fit_are_survived(
            head in prop::collection::vec(0u32..6, 4),
            mut node in prop::collection::vec(any::<u8>(), 0..400),
            degree in 0usize..6,
        ) {
            let guard = |part: &[u8]| [part, &kernel::sum(part).to_le_bytes()].concat();
            let head: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
            if let Some(head) = GraphHead::decode(&guard(&head).try_into().unwrap(), 5) {
                prop_assert!(head.seeds > 0 && head.linked > 0);
            }
            if let Some(count) = node.get_mut(5..8) {
                count.fill(0);
            }
            if let Some(node) = GraphNode::decode(&guard(&node), degree) {
                prop_assert_eq!(node.neighbours.len(), node.codes.len());
            }
        }

        #[test]
        fn a_search_reads_each_node_once(
            steps in prop::collection::vec((0u32..90, -20i32..20), 1..200),
            places in 1usize..20,
        ) {
            let mut search = GraphSearch::new(80, places);
            let mut read = Vec::new();
            for (number, likeness) in steps {
                prop_assert_eq!(search.see(number, || likeness), number < 80);
                if number % 3 == 0 {
                    read.extend(search.next());
                }
            }
            while let Some(node) = search.next() {
                read.push(node);
            }
            let mut numbers: Vec<u32> = read.iter().map(|&(_, number)| number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), read.len());
            prop_assert!(search.kept.len() <= places);
        }
    }
}
