//! Terms of passages. Most terms occur once or twice, so one slot for each term would take several times the space of
//! its postings. Instead, terms are sorted by hash into buckets, and a reader scans one bucket. Long lists of postings
//! are stored outside the buckets: a bucket is read for each look-up, and it may contain a common word by chance.
//!
//! Segments of memories, which hooks search, have slots, because reading a slot takes less time.

use super::format::{Cursor, SectionKind, checksum, fits, put_varint};
use super::segment::{BLOCK_BYTES_MAX, Segment, Slot};
use super::write::Blocks;
use memory_store_base::error::Result;

/// Number of bytes of a term's hash in its bucket. The highest bits of the hash select the bucket.
const KEY: usize = 5;
/// Approximate number of terms in a bucket.
const BUCKET: usize = 16;
/// Maximum length in bytes of a list of postings inside a bucket.
const INSIDE_MAX: u64 = 32;
/// Size in bytes of the checksum that follows each bucket.
const CHECK: usize = 4;

impl Segment {
    /// Looks a term up in its bucket; `None` if the bucket lacks the term.
    pub(super) fn in_bucket(&self, hash: u64) -> Result<Option<Slot>> {
        let senseless = || self.damaged("a bucket of terms makes no sense");
        let buckets = (self.length(SectionKind::TermBuckets) / 4).saturating_sub(1);
        let bounds = self.read(SectionKind::TermBuckets, bucket_of(hash, buckets) * 4, 8)?;
        let mut bounds = Cursor(&bounds);
        let (start, end) = bounds.u32().zip(bounds.u32()).ok_or_else(senseless)?;
        let length = end.checked_sub(start).filter(|&length| length <= BLOCK_BYTES_MAX);
        let length = u64::from(length.ok_or_else(senseless)?);
        let bucket = self.read(SectionKind::TermBlocks, u64::from(start), length)?;
        let (bucket, check) = bucket.split_last_chunk::<CHECK>().ok_or_else(senseless)?;
        if !fits(bucket, u32::from_le_bytes(*check)) {
            return Err(self.damaged("the checksum of a bucket of terms does not fit"));
        }
        find(bucket, hash, u64::from(start)).ok_or_else(senseless)
    }
}

/// Where a list of postings is stored.
enum BucketPlace<'a> {
    /// In the bucket of its term.
    Inside { offset: u64, postings: &'a [u8] },
    /// Before all buckets.
    Outside { offset: u64, checksum: u32 },
}

/// Searches the bucket at offset `start` for a term. Returns `None` if the bucket is invalid, and `Some(None)` if it
/// lacks the term.
fn find(bucket: &[u8], hash: u64, start: u64) -> Option<Option<Slot>> {
    let mut rest = Cursor(bucket);
    while !rest.is_empty() {
        let key = rest.array::<KEY>()?;
        let (count, length) = (rest.varint()?, rest.varint()?);
        let place = match length > INSIDE_MAX {
            true => BucketPlace::Outside { offset: rest.varint()?, checksum: rest.u32()? },
            false => {
                let offset = start + (bucket.len() - rest.0.len()) as u64;
                BucketPlace::Inside { offset, postings: rest.take(length as usize)? }
            }
        };
        if key == key_of(hash) {
            let (offset, checksum) = match place {
                BucketPlace::Inside { offset, postings } => (offset, checksum(postings)),
                BucketPlace::Outside { offset, checksum } => (offset, checksum),
            };
            // Each item has at least one byte. This is checked because readers allocate memory for the counted number
            // of items.
            let count = u32::try_from(count).ok().filter(|&count| u64::from(count) <= length)?;
            let length = u32::try_from(length).ok()?;
            return Some(Some(Slot { offset, length, count, checksum }));
        }
    }
    Some(None)
}

fn bucket_of(hash: u64, buckets: u64) -> u64 {
    ((u128::from(hash) * u128::from(buckets)) >> 64) as u64
}

fn key_of(hash: u64) -> [u8; KEY] {
    let [key @ .., _, _, _] = hash.to_le_bytes();
    key
}

/// Returns the two sections for terms: the bounds of the buckets, and the long lists of postings followed by the
/// buckets.
pub(super) fn sections(blocks: &Blocks) -> (Vec<u8>, Vec<u8>) {
    if blocks.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let buckets = blocks.len().div_ceil(BUCKET).next_power_of_two() as u64;
    let is_inside = |postings: &[u8]| postings.len() as u64 <= INSIDE_MAX;
    let (mut bounds, mut out, mut outside) = (Vec::new(), Vec::new(), Vec::new());
    for (_, postings) in blocks.values().filter(|(_, postings)| !is_inside(postings)) {
        outside.push(out.len() as u64);
        out.extend_from_slice(postings);
    }
    let (mut terms, mut outside) = (blocks.iter().peekable(), outside.into_iter());
    for bucket in 0..buckets {
        bounds.extend_from_slice(&(out.len() as u32).to_le_bytes());
        let start = out.len();
        while let Some((hash, (count, postings))) =
            terms.next_if(|(hash, _)| bucket_of(**hash, buckets) == bucket)
        {
            out.extend_from_slice(&key_of(*hash));
            put_varint(&mut out, u64::from(*count));
            put_varint(&mut out, postings.len() as u64);
            let place = if is_inside(postings) { None } else { outside.next() };
            match place {
                Some(offset) => {
                    put_varint(&mut out, offset);
                    out.extend_from_slice(&checksum(postings).to_le_bytes());
                }
                None => out.extend_from_slice(postings),
            }
        }
        let check = checksum(&out[start..]);
        out.extend_from_slice(&check.to_le_bytes());
    }
    bounds.extend_from_slice(&(out.len() as u32).to_le_bytes());
    (bounds, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{self, passages};
    use super::*;
    use memory_store_base::text::term_hash;

    fn found(segment: &Segment, term: &str) -> Result<Vec<u32>> {
        let mut docs = Vec::new();
        if let Some(slot) = segment.term(term_hash(term))? {
            segment.postings(&slot, |doc, _| docs.push(doc))?;
        }
        Ok(docs)
    }

    fn texts() -> Vec<String> {
        (0..90)
            .map(|number| format!("quota w{number}a w{}b w{}c", number / 2, number % 7))
            .collect()
    }

    #[test]
    fn every_term_is_found_where_it_occurs() {
        let segment = testing::open_passages(passages(&texts()), 90).unwrap();
        assert!(segment.length(SectionKind::TermBuckets) > 4 * 4);
        assert_eq!(found(&segment, "quota").unwrap(), (0..90).collect::<Vec<u32>>());
        for number in 0..90u32 {
            assert_eq!(found(&segment, &format!("w{number}a")).unwrap(), [number]);
        }
        assert_eq!(found(&segment, "w44b").unwrap(), [88, 89]);
        assert_eq!(found(&segment, "w6c").unwrap().len(), 12);
        assert!(found(&segment, "w90a").unwrap().is_empty());
    }

    #[test]
    fn a_common_word_lies_outside_its_bucket() {
        let texts: Vec<String> = (0..3000).map(|number| format!("quota w{number}a")).collect();
        let segment = testing::open_passages(passages(&texts), 3000).unwrap();
        let bounds = segment.length(SectionKind::TermBuckets);
        let bounds = segment.read(SectionKind::TermBuckets, 0, bounds).unwrap();
        let bounds: Vec<u32> =
            bounds.as_chunks().0.iter().map(|bound| u32::from_le_bytes(*bound)).collect();
        let longest = bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(longest < 1000, "{longest}");
        assert_eq!(found(&segment, "quota").unwrap().len(), 3000);
        assert_eq!(found(&segment, "w2999a").unwrap(), [2999]);
    }

    #[test]
    fn a_bucket_of_anything_is_survived() {
        let hash = term_hash("quota");
        let item = |count: u8, length: u8| [&key_of(hash)[..], &[count, length, 1, 7]].concat();
        // The offset of a long list is checked when the list is read.
        let outside = [&key_of(hash)[..], &[20, 40, 9, 1, 2, 3, 4]].concat();
        let slot = find(&outside, hash, 0).unwrap().unwrap();
        assert_eq!((slot.offset, slot.length, slot.count), (9, 40, 20));
        assert_eq!(find(&outside[..8], hash, 0), None);
        assert_eq!(find(&item(1, 2), hash, 0).unwrap().unwrap().count, 1);
        // Readers neither allocate memory for more items than there are bytes, nor read beyond the end.
        assert_eq!(find(&item(3, 2), hash, 0), None);
        assert_eq!(find(&item(1, 3), hash, 0), None);
        assert_eq!(find(&item(1, 2)[..4], hash, 0), None);
        assert_eq!(find(&[], hash, 0), Some(None));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed_or_harmless(
            at: prop::sample::Index,
            change in 1u8..,
            asked in 0..90u32,
        ) {
            static SOUND: std::sync::LazyLock<Vec<u8>> =
                std::sync::LazyLock::new(|| passages(&texts()));
            testing::notice_a_changed_byte(SOUND.clone(), at, change, |bytes| {
                let segment = testing::open_passages(bytes, 90)?;
                Ok((found(&segment, "quota")?, found(&segment, &format!("w{asked}a"))?))
            })?;
        }
    }
}
