//! The graph over a segment's passages, by which a search finds the passages near a query while it reads only a few of
//! them.
//!
//! A graph of memories stores the codes of neighbours together with their numbers ([`super::graph`]), which is fast but
//! large. Passages are numerous and hooks read few of them, so their graph contains only numbers of two bytes each. A
//! search reads each code that it compares, with its small group, from the list of fine codes. The nodes are the
//! documents.

use std::cmp::Reverse;

use super::format::{Cursor, SectionKind};
use super::graph::GraphSearch;
use super::segment::Segment;
use super::vectors::{Near, QueryVector, guarded};
use crate::bytes::kernel::FineWeights;
use crate::embed::Vector;
use memory_store_base::error::Result;

/// Maximum number of passages of a segment with a graph, because their numbers have two bytes.
pub(super) const DOCS_MAX: u32 = 1 << 16;
/// Maximum number of neighbours of a node. With the other bytes of a node and the seeds, the graph thus takes less than
/// 100 bytes for each passage.
pub(super) const DEGREE_MAX: usize = 44;
/// Number of steps of a cosine from 0 to 1, as a search compares it.
const STEPS: f32 = (1 << 24) as f32;

/// Returns the number of bytes of a node: its neighbours and the checksum.
pub(super) fn stride(degree: usize) -> usize {
    degree * 2 + 8
}

impl Segment {
    /// Searches the graph, nearest nodes first, and keeps `places` nodes. Returns all documents that were compared.
    /// `scripts/bench index --passages` measures the recall by number of places.
    pub(super) fn nearest_by_links(&self, query: &Vector, places: usize) -> Result<Vec<Near>> {
        let head = self.graph_head(SectionKind::Links, stride)?;
        let weights = FineWeights::of(query);
        let query = QueryVector::new(query);
        let mut search = GraphSearch::new(head.nodes, places);
        let mut compared = Vec::with_capacity(4 * places);
        let mut compare = |search: &mut GraphSearch, number| -> Result<()> {
            match search.meet(number) {
                Some(true) => {}
                Some(false) => return Ok(()),
                None => return Err(self.damaged("a neighbour is no passage")),
            }
            if let Some(near) = self.fine_near(&query, &weights, number)? {
                search.take_in(number, (near.cosine * STEPS) as i32);
                compared.push(near);
            }
            Ok(())
        };
        for (_, Reverse(number)) in self.starts(&head, &weights)? {
            compare(&mut search, number)?;
        }
        let mut record = vec![0; stride(head.degree)];
        while let Some((_, number)) = search.next() {
            let offset = u64::from(number) * record.len() as u64;
            self.read_into(SectionKind::Links, offset, &mut record)?;
            let links = guarded(&record)
                .ok_or_else(|| self.damaged("the sum of a passage's neighbours does not fit"))?;
            let mut links = Cursor(links);
            while let Some(neighbour) = links.u16() {
                compare(&mut search, u32::from(neighbour))?;
            }
        }
        compared.retain(|near| !self.is_dead(near.doc));
        Ok(compared)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::super::freeze::{freeze_passages, vectored};
    use super::super::graph::tests::links;
    use super::super::manifest::Collection;
    use super::super::testing;
    use super::super::vectors::tests::{SPACE, documents, vector};
    use super::super::write;
    use super::*;
    use memory_store_base::settings::IndexSearch;

    /// Returns a segment of `docs` passages, of which one in seven has no vector, with the graph over them.
    pub(crate) fn bytes(docs: u32, degree: usize) -> Vec<u8> {
        let documents = documents((0..docs).map(|doc| (doc % 7 != 3).then(|| vector(doc))));
        let vectors = vectored(&documents, SPACE);
        let graph = freeze_passages(&vectors, links(&vectors, degree), docs);
        write::segment(Collection::Passages, &documents, &[], Some(SPACE), graph)
    }

    #[test]
    fn the_graph_finds_nearly_all_that_a_scan_finds() {
        let dead: Vec<u32> = (0..900).step_by(10).collect();
        let segment = testing::open(Collection::Passages, bytes(900, 24), 900, &dead).unwrap();
        let (mut found, mut all) = (0, 0);
        for number in (0..900).step_by(37) {
            // The groups are in random order, so only a search that keeps many nodes reaches other groups.
            let near = |search| segment.nearest(&vector(number), 160, search).unwrap();
            let first = |search| near(search).into_iter().take(10).collect::<Vec<_>>();
            let (near, expected) = (near(IndexSearch::Graph), first(IndexSearch::Scan));
            assert!(near.iter().all(|near| near.doc % 10 != 0 && near.doc % 7 != 3));
            all += expected.len();
            found += expected.iter().filter(|&one| near.contains(one)).count();
        }
        assert!(found * 100 >= all * 90, "{found} of {all}");
    }

    #[test]
    fn a_graph_takes_less_than_100_bytes_a_passage() {
        const DOCS: u32 = 3000;
        let segment = testing::open(Collection::Passages, bytes(DOCS, 32), DOCS, &[]).unwrap();
        let bytes = segment.length(SectionKind::Seeds) + segment.length(SectionKind::Links);
        assert!(segment.has_graph());
        assert!(bytes < 100 * u64::from(DOCS), "{bytes}");
    }

    #[test]
    fn more_passages_than_numbers_have_no_graph() {
        let vectors = [vector(1), vector(2)];
        let vectors = [(0, &vectors[0]), (DOCS_MAX, &vectors[1])];
        let frozen = |docs| freeze_passages(&vectors[..1], vec![Vec::new()], docs).graph.len();
        assert_eq!(frozen(DOCS_MAX), DOCS_MAX as usize * stride(DEGREE_MAX));
        assert_eq!(frozen(DOCS_MAX + 1), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_changed_byte_is_noticed_or_harmless(at: prop::sample::Index, change in 1u8..) {
            static SOUND: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| bytes(150, 4));
            testing::notice_a_changed_byte(SOUND.clone(), at, change, |bytes| {
                let segment = testing::open(Collection::Passages, bytes, 150, &[])?;
                segment.nearest(&vector(9), 5, IndexSearch::Graph)
            })?;
        }
    }
}
