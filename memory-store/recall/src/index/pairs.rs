//! Word pairs: the memories in which two words are next to each other. They distinguish "the port of the proxy" from "a
//! proxy for the port".
//!
//! Most pairs occur once, so slots for them would make up most of the index. Instead, pairs are sorted by hash into
//! buckets of some sixteen, and a reader scans one bucket.

use super::format::checksum;
use super::format::{SectionKind, fits};
use super::segment::Segment;
use memory_store_base::error::Result;

/// Number of bytes of an item: the pair's hash and the document.
const ITEM: usize = 8;
/// Size in bytes of the checksum that follows each bucket.
const CHECK: usize = 4;
/// Approximate number of items in a bucket.
const BUCKET: usize = 16;
/// Maximum number of items in a valid bucket.
const BUCKET_MAX: u32 = 1 << 20;

impl Segment {
    /// Calls `each` with the documents that contain a word pair, in ascending order.
    pub(crate) fn pairs(&self, pair: u32, mut each: impl FnMut(u32)) -> Result<()> {
        let buckets = (self.length(SectionKind::PairBuckets) / 4).saturating_sub(1);
        if buckets == 0 {
            return Ok(());
        }
        // The highest bits of the hash select the bucket, so that the pairs of a bucket are adjacent.
        let bucket = (u64::from(pair) * buckets) >> 32;
        let bounds = self.read(SectionKind::PairBuckets, bucket * 4, 8)?;
        let bound = |at: usize| {
            bounds[at..].first_chunk().map_or(0, |bytes: &[u8; 4]| u32::from_le_bytes(*bytes))
        };
        let (first, last) = (bound(0), bound(4));
        let count = last.checked_sub(first).filter(|&count| count <= BUCKET_MAX);
        let count = count.ok_or_else(|| self.damaged("a bucket of pairs makes no sense"))?;
        let offset = u64::from(first) * ITEM as u64 + bucket * CHECK as u64;
        let length = count as usize * ITEM + CHECK;
        let bytes = self.read(SectionKind::Pairs, offset, length as u64)?;
        let items = bytes
            .split_last_chunk::<CHECK>()
            .filter(|(items, check)| fits(items, u32::from_le_bytes(**check)))
            .map(|(items, _)| items)
            .ok_or_else(|| self.damaged("the checksum of a bucket of pairs does not fit"))?;
        for item in items.as_chunks::<ITEM>().0 {
            let [a, b, c, d, doc @ ..] = *item;
            let doc = u32::from_le_bytes(doc);
            if u32::from_le_bytes([a, b, c, d]) == pair && doc < self.docs() {
                each(doc);
            }
        }
        Ok(())
    }
}

/// Returns the two sections for the pairs of documents, which are in ascending order: the bounds of the buckets, and
/// the buckets.
pub(super) fn sections<'a>(pairs: impl Iterator<Item = &'a [u32]>) -> (Vec<u8>, Vec<u8>) {
    let mut items: Vec<(u32, u32)> = (0..)
        .zip(pairs)
        .flat_map(|(doc, pairs)| pairs.iter().map(move |&pair| (pair, doc)))
        .collect();
    if items.is_empty() {
        return (Vec::new(), Vec::new());
    }
    items.sort_unstable();
    let buckets = items.len().div_ceil(BUCKET).next_power_of_two() as u64;
    let (mut bounds, mut out) = (Vec::new(), Vec::with_capacity(items.len() * (ITEM + 1)));
    let mut first = 0;
    for bucket in 0..buckets {
        let of_bucket = |&&(pair, _): &&(u32, u32)| (u64::from(pair) * buckets) >> 32 == bucket;
        let count = items[first..].iter().take_while(of_bucket).count();
        bounds.extend_from_slice(&(first as u32).to_le_bytes());
        let start = out.len();
        for (pair, doc) in &items[first..first + count] {
            out.extend_from_slice(&pair.to_le_bytes());
            out.extend_from_slice(&doc.to_le_bytes());
        }
        let check = checksum(&out[start..]);
        out.extend_from_slice(&check.to_le_bytes());
        first += count;
    }
    bounds.extend_from_slice(&(first as u32).to_le_bytes());
    (bounds, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::document::Document;
    use super::super::manifest::Collection;
    use super::super::record::Record;
    use super::super::testing;
    use super::*;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    fn bytes(pairs: &[Vec<u32>]) -> Vec<u8> {
        let document = |(number, pairs): (i64, &Vec<u32>)| {
            let id = MemoryId::new(Timestamp(number), [0; 10]);
            let record = Record::default();
            let document = Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
            let mut pairs = pairs.clone();
            pairs.sort_unstable();
            pairs.dedup();
            Document { pairs, ..document }
        };
        let documents: Vec<Document> = (0..).zip(pairs).map(document).collect();
        testing::segment_bytes(&documents)
    }

    fn open(bytes: Vec<u8>, docs: usize) -> Result<Segment> {
        testing::open(Collection::Memories, bytes, docs as u32, &[])
    }

    fn found(segment: &Segment, pair: u32) -> Result<Vec<u32>> {
        let mut docs = Vec::new();
        segment.pairs(pair, |doc| docs.push(doc))?;
        Ok(docs)
    }

    /// Generates one of few pairs, which are spread over all buckets.
    fn any_pair() -> impl Strategy<Value = u32> {
        (0u32..40).prop_map(|number| number.wrapping_mul(0x9e37_79b9))
    }

    proptest! {
        #[test]
        fn every_document_with_a_pair_is_found(
            pairs in prop::collection::vec(prop::collection::vec(any_pair(), 0..30), 1..30),
            asked in any_pair(),
        ) {
            let expected: Vec<u32> = (0..)
                .zip(&pairs)
                .filter(|(_, pairs)| pairs.contains(&asked))
                .map(|(doc, _)| doc)
                .collect();
            let segment = open(bytes(&pairs), pairs.len()).unwrap();
            prop_assert_eq!(found(&segment, asked).unwrap(), expected);
        }

        #[test]
        fn a_changed_byte_is_noticed_or_harmless(
            pairs in prop::collection::vec(prop::collection::vec(any_pair(), 0..10), 1..10),
            asked in any_pair(),
            at: prop::sample::Index,
            change in 1u8..,
        ) {
            testing::notice_a_changed_byte(bytes(&pairs), at, change, |bytes| {
                found(&open(bytes, pairs.len())?, asked)
            })?;
        }
    }
}
