//! Clusters of a segment's passages. Codes of similar passages are adjacent, so that a search reads a few ranges of
//! codes and skips the others (an inverted file, Jégou et al., "Product Quantization for Nearest Neighbor Search",
//! 2011).
//!
//! Each read costs a hook time. In a graph, each step from one code to the next is a read, while a cluster is one read
//! of more than a hundred codes.

use std::cmp::Reverse;

use super::format::SectionKind;
use super::listed::{ENTRY, Group, GroupList, SUM, in_group, put_group};
use super::segment::Segment;
use super::vectors::{Embedded, Near, NearestSoFar, QueryVector, coder};
use crate::bytes::kernel::{self, Fine, FineWeights};
use crate::embed::{DIMENSIONS, Vector};
use memory_store_base::error::Result;

/// Minimum number of vectors for which clusters are built. Scanning fewer vectors takes as little time.
pub const CLUSTERED_MIN: usize = 4096;
/// Average number of passages in a cluster.
const MEMBERS: usize = 128;
/// Number of vectors that are sampled for each centre.
const SAMPLED: usize = 32;
/// Number of rounds in which the centres are improved (Lloyd's algorithm).
const ROUNDS: usize = 4;
/// Number of bits of a member's number that contain its document; the bits above contain its encoder.
const DOC_BITS: u32 = 24;

/// A cluster of a segment, compared with a query.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Similarity of the cluster's centre to the query.
    likeness: i32,
    /// Number of the cluster in its segment.
    number: u32,
    /// Number of members of the clusters before this one.
    first: u32,
    /// Number of members of this cluster.
    count: u32,
}

/// Returns the `count` passages nearest to a query, nearest first, each with the number of its segment. Only members of
/// the most similar clusters are compared, which together have about `compared` members. Each segment must have
/// clusters, and the query's vector must be in the space of all segments.
pub fn nearest_in_clusters(
    segments: &[&Segment],
    query: &Vector,
    compared: u32,
    count: usize,
) -> Result<Vec<(usize, Near)>> {
    let (weights, query) = (FineWeights::of(query), QueryVector::new(query));
    let mut clusters: Vec<(usize, Cluster)> = Vec::new();
    for (place, segment) in segments.iter().enumerate() {
        clusters.extend(segment.clusters(&weights)?.into_iter().map(|cluster| (place, cluster)));
    }
    keep_likest(&mut clusters, compared);
    // Clusters are read in file order.
    clusters.sort_unstable_by_key(|(place, cluster)| (*place, cluster.number));
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    for of_segment in clusters.chunk_by(|a, b| a.0 == b.0) {
        let (place, segment) = (of_segment[0].0, segments[of_segment[0].0]);
        let mut best = NearestSoFar::new(count, segment.docs() as usize);
        for (_, cluster) in of_segment {
            segment.compare_members(cluster, &query, &weights, &mut buffer, &mut best)?;
        }
        found.extend(best.sorted().into_iter().map(|near| (place, near)));
    }
    found.sort_by(|a, b| {
        b.1.cosine.total_cmp(&a.1.cosine).then((a.0, a.1.doc).cmp(&(b.0, b.1.doc)))
    });
    found.truncate(count);
    Ok(found)
}

/// Keeps the clusters most similar to the query, until they have `compared` members together.
fn keep_likest(clusters: &mut Vec<(usize, Cluster)>, compared: u32) {
    let order = |(place, it): &(usize, Cluster)| (Reverse(it.likeness), *place, it.number);
    // Of many clusters, only a few are kept: about this number, if they have the average size.
    let about = 2 * compared as usize / MEMBERS + 1;
    if about < clusters.len() {
        clusters.select_nth_unstable_by_key(about, order);
    }
    let about = about.min(clusters.len());
    let (first, rest) = clusters.split_at_mut(about);
    first.sort_unstable_by_key(order);
    let mut left = compared;
    let mut is_chosen = |cluster: &Cluster| {
        let is_chosen = left > 0;
        left = left.saturating_sub(cluster.count);
        is_chosen
    };
    let mut chosen = first.iter().take_while(|(_, cluster)| is_chosen(cluster)).count();
    if chosen == first.len() {
        rest.sort_unstable_by_key(order);
        chosen += rest.iter().take_while(|(_, cluster)| is_chosen(cluster)).count();
    }
    clusters.truncate(chosen);
}

impl Segment {
    /// Returns whether the segment's vectors have clusters.
    pub fn has_clusters(&self) -> bool {
        self.length(SectionKind::Clusters) > 0
    }

    /// Reads the clusters of the segment, and compares their centres with a query.
    fn clusters(&self, weights: &FineWeights) -> Result<Vec<Cluster>> {
        let senseless = || self.damaged("the clusters of passages make no sense");
        let (kind, group) = (SectionKind::Clusters, Group::LARGE);
        let count = group.count(self.length(kind)).filter(|&it| it <= u64::from(self.docs()));
        let list = GroupList { kind, offset: 0, count: count.ok_or_else(senseless)?, group };
        let mut clusters: Vec<Cluster> = Vec::with_capacity(list.count as usize);
        let whole = self.each_listed(list, &mut |first, centre| {
            let (likeness, number) = (weights.dot(centre), clusters.len() as u32);
            clusters.push(Cluster { likeness, number, first, count: 0 });
        })?;
        whole.ok_or_else(|| self.damaged("the sum of clusters does not fit"))?;
        // Each cluster ends at the start of the next one.
        let members = self.length(SectionKind::Members).checked_sub(list.count * SUM as u64);
        let members = members.ok_or_else(senseless)? / ENTRY as u64;
        let mut end = u32::try_from(members).ok().filter(|&it| it <= self.docs());
        for cluster in clusters.iter_mut().rev() {
            let count = end.and_then(|end| end.checked_sub(cluster.first)).ok_or_else(senseless)?;
            cluster.count = count;
            end = Some(cluster.first);
        }
        Ok(clusters)
    }

    /// Compares the members of a cluster with a query, and adds them to the nearest so far.
    fn compare_members(
        &self,
        cluster: &Cluster,
        query: &QueryVector<'_>,
        weights: &FineWeights,
        buffer: &mut Vec<u8>,
        best: &mut NearestSoFar,
    ) -> Result<()> {
        buffer.resize(cluster.count as usize * ENTRY + SUM, 0);
        let offset =
            u64::from(cluster.first) * ENTRY as u64 + u64::from(cluster.number) * SUM as u64;
        self.read_into(SectionKind::Members, offset, buffer)?;
        let mut is_known = true;
        let whole = in_group(buffer, &mut |number, code| {
            let doc = number & ((1 << DOC_BITS) - 1);
            is_known &= doc < self.docs();
            let Some(encoder) = coder(number >> DOC_BITS) else { return };
            let cosine = query.fine_cosine(weights, code);
            if best.may_be(cosine) && !self.is_dead(doc) {
                best.add(Near { doc, cosine, encoder, hub: 0.0 });
            }
        });
        whole.ok_or_else(|| self.damaged("the sum of a cluster does not fit"))?;
        if is_known { Ok(()) } else { Err(self.damaged("a member of a cluster is no passage")) }
    }
}

/// Returns the two sections for clusters of documents' vectors: the centres, and the members. Both are empty for few
/// documents.
pub(super) fn sections(embedded: &[Option<&Embedded>]) -> (Vec<u8>, Vec<u8>) {
    let members = (0u32..).zip(embedded).filter_map(|(doc, it)| Some((doc, (*it)?)));
    let members: Vec<(u32, &Embedded)> = members.collect();
    if members.len() < CLUSTERED_MIN || embedded.len() >> DOC_BITS > 0 {
        return (Vec::new(), Vec::new());
    }
    let vectors: Vec<&Vector> = members.iter().map(|(_, it)| &it.vector).collect();
    let centres = centres(&vectors);
    let mut clusters = vec![Vec::new(); centres.len()];
    for (doc, it) in members {
        let number = doc | u32::from(it.encoder as u8) << DOC_BITS;
        clusters[nearest(&centres, &it.vector)].push((number, Fine::of(&it.vector)));
    }
    let (mut heads, mut out, mut first) = (Vec::new(), Vec::new(), 0);
    for (centre, cluster) in centres.iter().zip(&clusters).filter(|(_, it)| !it.is_empty()) {
        heads.push((first, Fine::of(centre)));
        put_group(&mut out, cluster);
        first += cluster.len() as u32;
    }
    let mut bytes = Vec::new();
    Group::LARGE.put(&mut bytes, &heads);
    (bytes, out)
}

/// Returns the centres of clusters. They are the same for equal vectors.
fn centres(vectors: &[&Vector]) -> Vec<Vector> {
    let count = vectors.len().div_ceil(MEMBERS);
    let step = (vectors.len() / (count * SAMPLED)).max(1);
    let sample: Vec<&Vector> = vectors.iter().step_by(step).copied().collect();
    let mut centres: Vec<Vector> =
        (0..count).map(|number| *sample[number * sample.len() / count]).collect();
    for _ in 0..ROUNDS {
        let mut sums = vec![[0f32; DIMENSIONS]; count];
        for vector in &sample {
            kernel::add(&mut sums[nearest(&centres, vector)], 1.0, &vector.0);
        }
        // A centre without members keeps its position.
        for (centre, sum) in centres.iter_mut().zip(&sums) {
            *centre = Vector::of(sum).unwrap_or(*centre);
        }
    }
    centres
}

/// Returns the number of the centre most similar to a vector.
fn nearest(centres: &[Vector], vector: &Vector) -> usize {
    let likeness = |centre: &Vector| kernel::dot(&centre.0, &vector.0);
    let all = centres.iter().enumerate();
    all.max_by_key(|&(number, centre)| (likeness(centre), Reverse(number))).map_or(0, |it| it.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::super::manifest::Collection;
    use super::super::testing;
    use super::super::vectors::tests::{SPACE, documents, vector};
    use super::super::write;
    use super::*;
    use crate::index::freeze::Frozen;
    use memory_store_base::settings::IndexSearch;

    /// Returns a segment of `docs` passages, one in seven without a vector.
    pub(crate) fn bytes(docs: u32) -> Vec<u8> {
        let documents = documents((0..docs).map(|doc| (doc % 7 != 3).then(|| vector(doc))));
        write::segment(Collection::Passages, &documents, &[], Some(SPACE), Frozen::default())
    }

    fn open(docs: u32, dead: &[u32]) -> Segment {
        testing::open(Collection::Passages, bytes(docs), docs, dead).unwrap()
    }

    const DOCS: u32 = 5000;

    #[test]
    fn a_few_clusters_have_nearly_all_that_a_scan_finds() {
        let dead: Vec<u32> = (0..DOCS).step_by(10).collect();
        let (segment, other) = (open(DOCS, &dead), open(DOCS, &[]));
        assert!(segment.has_clusters());
        let (mut found, mut all) = (0, 0);
        for number in (0..DOCS).step_by(97) {
            let query = vector(number);
            let near = nearest_in_clusters(&[&segment], &query, DOCS / 4, 10).unwrap();
            assert!(near.iter().all(|(_, near)| near.doc % 10 != 0 && near.doc % 7 != 3));
            assert!(near.is_sorted_by(|a, b| a.1.cosine >= b.1.cosine));
            let expected = segment.nearest(&query, 10, IndexSearch::Scan).unwrap();
            all += expected.len();
            found += expected.iter().filter(|&one| near.contains(&(0, *one))).count();
            // The better passages of two segments are found, whatever the order of the segments.
            let both = nearest_in_clusters(&[&segment, &other], &query, u32::MAX, 20).unwrap();
            let of_other = other.nearest(&query, 3, IndexSearch::Scan).unwrap();
            assert!(of_other.iter().all(|one| both.contains(&(1, *one))));
        }
        assert!(found * 100 >= all * 90, "{found} of {all}");
    }

    #[test]
    fn clusters_take_less_than_100_bytes_a_passage() {
        let segment = open(DOCS, &[]);
        let length = |kind| segment.length(kind);
        let bytes = length(SectionKind::Clusters) + length(SectionKind::Members);
        assert!(bytes < 100 * u64::from(DOCS), "{bytes}");
    }

    #[test]
    fn few_vectors_have_no_clusters_and_equal_ones_are_no_trouble() {
        assert!(!open(4000, &[]).has_clusters());
        let documents = documents((0..DOCS).map(|_| Some(vector(1))));
        let graph = Frozen::default();
        let bytes = write::segment(Collection::Passages, &documents, &[], Some(SPACE), graph);
        let segment = testing::open(Collection::Passages, bytes, DOCS, &[]).unwrap();
        let near = nearest_in_clusters(&[&segment], &vector(1), 1, 5).unwrap();
        assert_eq!(near.len(), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_changed_byte_is_noticed_or_harmless(at: prop::sample::Index, change in 1u8..) {
            static SOUND: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| bytes(DOCS));
            testing::notice_a_changed_byte(SOUND.clone(), at, change, |bytes| {
                let segment = testing::open(Collection::Passages, bytes, DOCS, &[])?;
                nearest_in_clusters(&[&segment], &vector(9), DOCS / 4, 5)
            })?;
        }
    }
}
