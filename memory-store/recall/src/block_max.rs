//! Block-max bounds: the highest lexical score of each window, so that windows without a good document are skipped.
//!
//! A limit is computed as a score is, in the same order and with the same roundings, from weights that
//! are as high or higher. As sums of floats never fall when a part of them grows, no score is above it.

use super::posting_window::{BEST_PARAGRAPHS, List};
use super::query::Query;
use crate::index::bounds::{RANGES, WINDOW};

/// The limit of each window of a source of `docs` documents. `lists` are ordered by term, and `weights`
/// has that of each term and pair.
pub(crate) fn limits(lists: &[List<'_>], weights: &[f32], query: &Query, docs: u32) -> Vec<f32> {
    let windows = docs.div_ceil(WINDOW) as usize;
    if query.is_long() {
        return of_paragraphs(lists, weights, &query.paragraphs, windows);
    }
    let mut sums = vec![0f32; windows * RANGES];
    let mut highest = vec![0f32; sums.len()];
    for list in lists {
        list.bounds(|range, weight| raise(&mut highest, range as usize, weight));
        let weight = weights[usize::from(list.term)];
        for (sum, highest) in sums.iter_mut().zip(&mut highest) {
            *sum += weight * std::mem::take(highest);
        }
    }
    sums.chunks_exact(RANGES).map(|sums| sums.iter().copied().fold(0.0, f32::max)).collect()
}

/// Returns the bounds for a long query, whose terms are many: whole windows will do.
fn of_paragraphs(
    lists: &[List<'_>],
    weights: &[f32],
    paragraphs: &[Vec<u16>],
    windows: usize,
) -> Vec<f32> {
    let highest = |list: &List<'_>| {
        let mut highest = vec![0f32; windows];
        list.bounds(|range, weight| raise(&mut highest, range as usize / RANGES, weight));
        highest
    };
    let highest: Vec<Vec<f32>> = lists.iter().map(highest).collect();
    let mut bests = vec![[0f32; BEST_PARAGRAPHS]; windows];
    let mut sums = vec![0f32; windows];
    for paragraph in paragraphs {
        for &term in paragraph {
            let Ok(place) = lists.binary_search_by_key(&term, |list| list.term) else { continue };
            let weight = weights[usize::from(term)];
            for (sum, highest) in sums.iter_mut().zip(&highest[place]) {
                *sum += weight * highest;
            }
        }
        let length = (paragraph.len() as f32).sqrt();
        for (sum, bests) in sums.iter_mut().zip(&mut bests) {
            let score = std::mem::take(sum) / length;
            if score > bests[BEST_PARAGRAPHS - 1] {
                bests[BEST_PARAGRAPHS - 1] = score;
                bests.sort_unstable_by(|a, b| b.total_cmp(a));
            }
        }
    }
    bests.iter().map(|bests| bests.iter().sum()).collect()
}

/// Raises one of some numbers to another, where that is higher.
fn raise(numbers: &mut [f32], place: usize, number: f32) {
    if let Some(known) = numbers.get_mut(place) {
        *known = known.max(number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::index::bounds::{UNBOUNDED_DOCS_MAX, has_bounds};
    use crate::index::document::Document;
    use crate::index::format::{impact, impact_weight};
    use crate::index::manifest::Collection;
    use crate::index::record::Record;
    use crate::index::testing;
    use crate::lexical::{BACKGROUND, Found, PAIR};
    use crate::query::{Pair, Term};
    use crate::sources::{At, Sources};
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::text::rarity::{self, inverse_frequency};
    use memory_store_base::time::Timestamp;

    /// Documents of the segment, and of the journal behind it.
    const DOCS: u32 = 2 * UNBOUNDED_DOCS_MAX + 700;
    const LOOSE: u32 = 5;
    /// Different words: the first is in half of the documents, the last in hardly any.
    const WORDS: u32 = 40;

    fn noise(seed: u64) -> u64 {
        let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn hash(word: u32) -> u64 {
        noise(u64::from(word) << 32)
    }

    fn document(number: u32) -> Document {
        let id = MemoryId::new(Timestamp(i64::from(number)), [0; 10]);
        let record = Record::default();
        let mut document = Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
        let holds = |word: &u32| {
            // Some words are much more frequent in some stretch of the documents.
            let dense = u64::from(number / 9000 == word % 8) * 6 + 1;
            noise(u64::from(number) << 8 | u64::from(*word)) % u64::from(2 + word * word * 4)
                < dense
        };
        let count =
            |word: u32| 1 + (noise(u64::from(number) << 9 | u64::from(word)) % 7) as u32 / 3;
        document.terms = (0..WORDS).filter(holds).map(|word| (hash(word), count(word))).collect();
        document.terms.sort_unstable();
        document.pairs = vec![(noise(u64::from(number) << 10) % 2000) as u32];
        document
    }

    struct Store {
        documents: Vec<Document>,
        /// Number of documents with each word.
        counts: Vec<u32>,
        average: f32,
        bytes: Vec<u8>,
    }

    static STORE: LazyLock<Store> = LazyLock::new(|| {
        let documents: Vec<Document> = (0..DOCS + LOOSE).map(document).collect();
        let written = &documents[..DOCS as usize];
        let terms: u64 = written.iter().map(|document| u64::from(document.length())).sum();
        let bytes = testing::segment_bytes(written);
        let holding = |word| documents.iter().filter(move |it| it.count(hash(word)) > 0).count();
        let counts = (0..WORDS).map(|word| holding(word) as u32).collect();
        Store { average: terms as f32 / DOCS as f32, bytes, counts, documents }
    });

    impl Store {
        fn sources(&self) -> Sources {
            let bytes = self.bytes.clone();
            let segment = testing::open(Collection::Memories, bytes, DOCS, &[]).unwrap();
            let mut sources = Sources::of_segment(segment);
            let loose = self.documents[DOCS as usize..].iter().cloned().map(Into::into);
            sources.list[0].loose.extend(loose);
            sources
        }

        /// Scores every document without an index, adding in the same order, so that sums are equal to the last bit.
        fn reference(&self, query: &Query) -> Vec<(f32, u32, Vec<u16>)> {
            let all = self.documents.len() as u32;
            let weights: Vec<f32> = query
                .terms
                .iter()
                .map(|term| {
                    let count = self.counts[term.text.parse::<usize>().unwrap()];
                    inverse_frequency(all, count)
                        * (term.background / rarity::IDF_MAX).powf(BACKGROUND)
                })
                .collect();
            let pairs = query.pairs.iter().map(|pair| {
                let holding = self.documents.iter().filter(|it| it.pairs.contains(&pair.hash));
                (pair.hash, PAIR * inverse_frequency(all, holding.count() as u32))
            });
            let pairs: Vec<(u32, f32)> = pairs.collect();
            let weight = |document: &Document, term: u16| {
                let count = document.count(query.terms[usize::from(term)].hash);
                let impact = impact_weight(impact(count, document.length(), self.average));
                (count > 0).then(|| weights[usize::from(term)] * impact)
            };
            let score = |document: &Document| -> f32 {
                if query.paragraphs.len() < 2 {
                    let terms =
                        (0..query.terms.len() as u16).filter_map(|term| weight(document, term));
                    let pairs = pairs.iter().filter(|(pair, _)| document.pairs.contains(pair));
                    return terms.chain(pairs.map(|&(_, weight)| weight)).fold(0.0, |a, b| a + b);
                }
                let mut scores: Vec<f32> = query
                    .paragraphs
                    .iter()
                    .map(|terms| {
                        let weights = terms.iter().filter_map(|&term| weight(document, term));
                        weights.fold(0.0, |a, b| a + b) / (terms.len() as f32).sqrt()
                    })
                    .collect();
                scores.sort_unstable_by(|a, b| b.total_cmp(a));
                scores.resize(BEST_PARAGRAPHS, 0.0);
                scores.iter().sum()
            };
            let scored = (0..).zip(&self.documents).map(|(doc, document)| {
                let terms = 0..query.terms.len() as u16;
                let terms = terms.filter(|&term| weight(document, term).is_some()).collect();
                (score(document), doc, terms)
            });
            scored.collect()
        }
    }

    fn term(word: u32) -> Term {
        let background = 1.0 + (word % 5) as f32;
        Term { hash: hash(word), background, text: word.to_string() }
    }

    fn query(words: &[u32], pairs: Vec<u32>, paragraphs: Vec<Vec<u16>>) -> Query {
        let pair = |hash| Pair { hash, words: [None; 2] };
        let pairs = pairs.into_iter().map(pair).collect();
        let terms = words.iter().map(|&word| term(word)).collect();
        Query { terms, pairs, paragraphs, ..Query::default() }
    }

    /// Different words, in any order.
    fn words() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::hash_set(0..WORDS, 2..12).prop_map(|words| words.into_iter().collect())
    }

    fn holds(query: &Query, max: usize, also: &[u32]) -> Result<(), TestCaseError> {
        let sources = STORE.sources();
        let found = Found::look_up_all(&sources, &query.terms).with_pairs(&sources, &query.pairs);
        let ats: Vec<At> = also.iter().map(|&doc| At { source: 0, doc }).collect();
        let best = found.best(&sources, query, max, &ats);
        let mut best: Vec<(f32, u32, Vec<u16>)> = best
            .into_iter()
            .map(|candidate| (candidate.lexical, candidate.at.doc, candidate.shared))
            .collect();
        let all = STORE.reference(query);
        let mut expected: Vec<_> = all.iter().filter(|(score, ..)| *score > 0.0).cloned().collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        expected.truncate(max);
        let ranked = expected.len();
        for &doc in also {
            if expected.iter().all(|(_, known, _)| *known != doc) {
                expected.push(all[doc as usize].clone());
            }
        }
        // The order of additionally requested documents does not matter.
        for list in [&mut best, &mut expected] {
            let others = list.split_at_mut_checked(ranked).map(|(_, others)| others);
            others.into_iter().for_each(|others| others.sort_by_key(|&(_, doc, _)| doc));
        }
        prop_assert_eq!(best, expected);
        let damage = sources.damage.take();
        prop_assert_eq!(damage, None);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn what_is_passed_over_is_not_among_the_best(
            words in words(),
            pairs in prop::collection::hash_set(0u32..2000, 0..4),
            max in 1usize..60,
            also in prop::collection::hash_set(0..DOCS + LOOSE, 0..6),
        ) {
            let also: Vec<u32> = also.into_iter().collect();
            let paragraph = (0..words.len() as u16).collect();
            holds(&query(&words, pairs.into_iter().collect(), vec![paragraph]), max, &also)?;
        }

        #[test]
        fn nor_is_it_of_a_long_query(
            words in words(),
            paragraphs in prop::collection::vec(prop::collection::btree_set(0usize..12, 1..8), 2..6),
            max in 1usize..60,
        ) {
            let of_query = |places: std::collections::BTreeSet<usize>| {
                places.into_iter().filter(|&place| place < words.len()).map(|it| it as u16).collect()
            };
            let mut paragraphs: Vec<Vec<u16>> = paragraphs.into_iter().map(of_query).collect();
            paragraphs.retain(|paragraph| !paragraph.is_empty());
            prop_assume!(paragraphs.len() > 1);
            holds(&query(&words, Vec::new(), paragraphs), max, &[])?;
        }
    }

    #[test]
    fn much_is_passed_over() {
        assert!(STORE.counts[..4].iter().all(|&count| has_bounds(count, DOCS)));
        assert!(!STORE.counts[4..].iter().all(|&count| has_bounds(count, DOCS)));
        // A rare one among frequent ones.
        let query = query(&[0, 1, 35], Vec::new(), vec![vec![0, 1, 2]]);
        let sources = STORE.sources();
        let found = Found::look_up_all(&sources, &query.terms);
        let floor = found.best(&sources, &query, 5, &[])[4].lexical;
        let passed = found.limits(&query, DOCS + LOOSE).into_iter().filter(|&limit| limit < floor);
        assert!(passed.count() * 2 > DOCS.div_ceil(WINDOW) as usize);
    }
}
