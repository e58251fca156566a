//! Ranking of documents by the words of a query: BM25 over all sources as one collection.

use std::cmp::Ordering;

use crate::index::format::{IMPACT_MAX, impact, impact_weight};
use crate::index::segment::{Segment, Slot};
use crate::query::{self, Pair, Query, Term, project_name};
use crate::rank::candidate::Candidate;
use crate::rank::posting_window::{BEST_PARAGRAPHS, PostingList, PostingWindow, Scored, WINDOW};
use crate::search::sources::{At, IndexSource, Sources};
use memory_store_base::text::rarity::{self, inverse_frequency};

/// A term is common if more documents than this contain it, and more than one in [`COMMON_SHARE`].
const COMMON_DOCS_MIN: u32 = 200;
/// See [`COMMON_DOCS_MIN`].
const COMMON_SHARE: u32 = 10;

/// Exponent of a term's rarity in technical text, as a factor of its rarity in the store.
const BACKGROUND: f32 = 0.3;
/// Weight of a pair of adjacent words of the query.
const PAIR: f32 = 0.3;

/// Postings of a query's terms in all sources, with the terms' weights.
pub(crate) struct FoundTerms<'a> {
    /// Weight of each term, followed by the weight of each pair.
    weights: Vec<f32>,
    /// Number of terms.
    terms: usize,
    /// Share of the query's rarity in words that occur in the store, 0 to 1.
    pub known: f32,
    /// For each term, whether the gate ignores it: common terms that were skipped, the project's name, and numbers that
    /// no document contains. Such numbers, for example of an issue or a version, differ from one prompt to the next.
    pub uncounted: Vec<bool>,
    /// For each term, whether no document contains it.
    pub absent: Vec<bool>,
    /// For each source, whether its segment contains each term.
    in_segments: Vec<Vec<bool>>,
    /// For each source, the postings of each term that was not skipped, and of each pair. Pairs have numbers after
    /// those of the terms.
    sources: Vec<Vec<PostingList<'a>>>,
}

impl<'a> FoundTerms<'a> {
    /// Looks up the terms of a query in all sources. Terms that many documents contain are skipped unless all are like
    /// that, because they carry little information and cost most.
    pub(crate) fn look_up(sources: &'a Sources, terms: &[Term]) -> Self {
        Self::read(sources, terms, false)
    }

    /// Looks up all terms for an explicit search, where a common word may be the whole query.
    pub(crate) fn look_up_all(sources: &'a Sources, terms: &[Term]) -> Self {
        Self::read(sources, terms, true)
    }

    fn read(sources: &'a Sources, terms: &[Term], common_too: bool) -> Self {
        let slots: Vec<Vec<Option<Slot>>> =
            sources.list.iter().map(|source| slots(sources, source, terms)).collect();
        let docs = sources.docs();
        let counts = counts_in(sources, terms, &slots);
        let common = if common_too {
            vec![false; counts.len()]
        } else {
            passed_over(&counts, docs, sources.effort.postings)
        };
        let found = sources.list.iter().zip(&slots);
        let found = found.map(|(source, slots)| lists(sources, source, terms, slots, &common));
        let found = found.collect();
        let weights = counts.iter().zip(terms).map(|(&count, term)| {
            inverse_frequency(docs, count) * (term.background / rarity::IDF_MAX).powf(BACKGROUND)
        });
        let absent: Vec<bool> = counts.iter().map(|&count| count == 0).collect();
        let is_new_number = |(term, absent): (&Term, &bool)| *absent && query::varies(&term.text);
        let new_numbers = terms.iter().zip(&absent).map(is_new_number);
        let names = project_name::mentioned(sources, terms);
        let says_nothing: Vec<bool> =
            new_numbers.zip(&names).map(|(new, name)| new | name).collect();
        let unknown: Vec<bool> =
            absent.iter().zip(&names).map(|(absent, name)| absent | name).collect();
        // Returns the total rarity of the terms that are not excluded.
        let without = |left_out: &[bool]| -> f32 {
            let left = terms.iter().zip(left_out).filter(|(_, left_out)| !**left_out);
            left.map(|(term, _)| term.background).sum()
        };
        let all = without(&says_nothing);
        let known = if all > 0.0 { without(&unknown) / all } else { 0.0 };
        let uncounted = common.iter().zip(says_nothing).map(|(common, it)| common | it).collect();
        let weights = weights.collect();
        let known_in = |slots: &Vec<Option<Slot>>| slots.iter().map(Option::is_some).collect();
        let in_segments = slots.iter().map(known_in).collect();
        Self { weights, terms: terms.len(), known, uncounted, absent, in_segments, sources: found }
    }

    /// Looks up the word pairs of the query too.
    pub(crate) fn with_pairs(mut self, sources: &Sources, pairs: &[Pair]) -> Self {
        let docs = sources.docs();
        for (number, pair) in (self.terms as u16..).zip(pairs) {
            let mut count = 0;
            let found = sources.list.iter().zip(&mut self.sources).zip(&self.in_segments);
            for ((source, lists), known) in found {
                // A document with the pair contains each of its words.
                let may_be = pair.words.iter().flatten().all(|&word| known[usize::from(word)]);
                let mut more = Vec::new();
                let mut each = |doc| more.push((doc, 1.0));
                let first = source.segment().map_or(0, Segment::docs);
                if let Some(segment) = source.segment().filter(|_| may_be)
                    && let Err(error) = segment.pairs(pair.hash, &mut each)
                {
                    sources.note(&error);
                }
                for (doc, document) in (first..).zip(&source.loose) {
                    if document.pairs.binary_search(&pair.hash).is_ok() {
                        each(doc);
                    }
                }
                if !more.is_empty() {
                    count += more.len() as u32;
                    lists.push(PostingList { term: number, block: None, more });
                }
            }
            self.weights.push(PAIR * inverse_frequency(docs, count));
        }
        self
    }

    /// Returns the best documents by BM25; for a long query, by the sum of their best paragraphs. The documents in
    /// `also` follow, if they are not among the best.
    pub(crate) fn best(
        &self,
        sources: &Sources,
        query: &Query,
        max: usize,
        also: &[At],
    ) -> Vec<Candidate> {
        // Documents that the journal replaced still have scores, so more are kept.
        let keep = max.saturating_add(sources.hidden());
        let mut best = Best { keep, floor: f32::MIN_POSITIVE, list: Vec::new() };
        let mut others = Vec::new();
        for (number, (source, lists)) in (0..).zip(sources.list.iter().zip(&self.sources)) {
            let of_source = also.iter().filter(|at| at.source == number);
            let mut asked: Vec<u32> = of_source.map(|at| at.doc).collect();
            asked.sort_unstable();
            let at = |scored: Scored| (At { source: number, doc: scored.doc }, scored);
            let mut damaged = || {
                source.no_postings().iter().for_each(|error| sources.note(error));
            };
            let mut window = PostingWindow::new(lists, source.docs());
            for number in 0..source.docs().div_ceil(WINDOW) {
                let ends = [number, number + 1].map(|number| number * WINDOW);
                let ends = ends.map(|end| asked.partition_point(|&doc| doc < end));
                let asked = &asked[ends[0]..ends[1]];
                window.advance(&mut damaged);
                if window.is_empty() && asked.is_empty() {
                    continue;
                }
                window.score(&self.weights, query);
                let entering = best.entering(&mut window, source);
                best.add(window.scored_docs(entering.into_iter()).into_iter().map(at));
                others.extend(window.scored_docs(asked.iter().copied()).into_iter().map(at));
            }
        }
        let best = best.sorted();
        // Places are sorted so that adjacent entries are read together.
        let mut places: Vec<At> = best.iter().chain(&others).map(|&(at, _)| at).collect();
        places.sort_unstable();
        places.dedup();
        let entries = sources.entries(&places);
        let candidate = |(at, mut scored): (At, Scored)| {
            let entry = entries[places.binary_search(&at).ok()?]?;
            let terms = scored.terms.partition_point(|&term| usize::from(term) < self.terms);
            scored.terms.truncate(terms);
            let (lexical, shared) = (scored.score, scored.terms);
            Some(Candidate { lexical, shared, ..Candidate::new(at, entry) })
        };
        // Candidates are large, and growing the vector would copy them.
        let mut candidates = Vec::with_capacity(places.len());
        candidates.extend(best.into_iter().filter_map(candidate).take(max));
        let mut known: Vec<At> = candidates.iter().map(|candidate| candidate.at).collect();
        known.sort_unstable();
        others.retain(|(at, _)| known.binary_search(at).is_err());
        candidates.extend(others.into_iter().filter_map(candidate));
        candidates
    }

    /// Returns the best document's score as a share of the maximum possible score; 1 for a long query, because no
    /// document covers much of one.
    pub(crate) fn covered(&self, query: &Query, best: f32) -> f32 {
        let most = self.most_of(0..self.terms);
        if query.is_long() || most == 0.0 { 1.0 } else { (best / most).min(1.0) }
    }

    /// Returns the maximum possible score of a query's words; for a long query, that of its most valuable paragraphs.
    pub(crate) fn most(&self, query: &Query) -> f32 {
        if !query.is_long() {
            return self.most_of(0..self.terms);
        }
        let of_paragraph = |paragraph: &Vec<u16>| {
            let terms = paragraph.iter().map(|&term| usize::from(term));
            self.most_of(terms) / (paragraph.len().max(1) as f32).sqrt()
        };
        let mut paragraphs: Vec<f32> = query.paragraphs.iter().map(of_paragraph).collect();
        paragraphs.sort_by(|a, b| b.total_cmp(a));
        paragraphs.iter().take(BEST_PARAGRAPHS).sum()
    }

    fn most_of(&self, terms: impl Iterator<Item = usize>) -> f32 {
        IMPACT_MAX * terms.map(|term| self.weights[term]).sum::<f32>()
    }
}

/// Returns for each term whether it is skipped, given the numbers of documents that contain the terms.
fn passed_over(counts: &[u32], docs: u32, postings_max: u64) -> Vec<bool> {
    let limit = COMMON_DOCS_MIN.max(docs / COMMON_SHARE);
    let mut common: Vec<bool> = counts.iter().map(|&count| count > limit).collect();
    if !counts.iter().any(|count| (1..=limit).contains(count)) {
        common.fill(false);
    }
    let mut rarest: Vec<usize> = (0..counts.len()).filter(|&term| !common[term]).collect();
    let all = rarest.iter().map(|&term| u64::from(counts[term])).sum::<u64>();
    if all > postings_max {
        rarest.sort_by_key(|&term| counts[term]);
        let mut sum = 0;
        for term in rarest {
            sum += u64::from(counts[term]);
            common[term] = sum > postings_max;
        }
    }
    common
}

/// Returns for each term the number of documents that contain it.
pub(crate) fn counts(sources: &Sources, terms: &[Term]) -> Vec<u32> {
    let slots: Vec<_> = sources.list.iter().map(|source| slots(sources, source, terms)).collect();
    counts_in(sources, terms, &slots)
}

fn counts_in(sources: &Sources, terms: &[Term], slots: &[Vec<Option<Slot>>]) -> Vec<u32> {
    let mut counts = vec![0u32; terms.len()];
    for (source, slots) in sources.list.iter().zip(slots) {
        for ((count, slot), term) in counts.iter_mut().zip(slots).zip(terms) {
            let loose = source.loose.iter().filter(|document| document.count(term.hash) > 0);
            let held = slot.map_or(0, |slot| slot.count).saturating_add(loose.count() as u32);
            *count = count.saturating_add(held);
        }
    }
    counts
}

/// Looks up terms in the segment of a source. Returns `None` for each term that the segment lacks.
fn slots(sources: &Sources, source: &IndexSource, terms: &[Term]) -> Vec<Option<Slot>> {
    let look_up = |term: &Term| {
        source.segment()?.term(term.hash).unwrap_or_else(|error| {
            sources.note(&error);
            None
        })
    };
    terms.iter().map(look_up).collect()
}

/// Reads the postings of the terms in a source.
fn lists<'a>(
    sources: &Sources,
    source: &'a IndexSource,
    terms: &[Term],
    slots: &[Option<Slot>],
    common: &[bool],
) -> Vec<PostingList<'a>> {
    let first = source.segment().map_or(0, Segment::docs);
    let average = source.segment().map_or(0.0, Segment::average_length);
    let wanted = (0..).zip(terms).zip(slots).zip(common).filter(|(_, common)| !**common);
    let list = |(((number, term), slot), _): (((u16, &Term), &Option<Slot>), &bool)| {
        let block = source.segment().zip(slot.as_ref()).and_then(|(segment, slot)| {
            segment.term_block(slot).map_err(|error| sources.note(&error)).ok()
        });
        let loose = (first..).zip(&source.loose).filter_map(|(doc, document)| {
            let count = document.count(term.hash);
            (count > 0).then(|| (doc, impact_weight(impact(count, document.length(), average))))
        });
        PostingList { term: number, block, more: loose.collect() }
    };
    wanted.map(list).filter(|list| list.docs() > 0).collect()
}

/// The best documents found so far.
struct Best {
    /// Number of documents that are kept.
    keep: usize,
    /// Minimum score of a further document.
    floor: f32,
    list: Vec<(At, Scored)>,
}

/// Orders documents by score, and those with equal scores by place.
fn order(a: &(At, Scored), b: &(At, Scored)) -> Ordering {
    b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0))
}

impl Best {
    /// Returns the documents of a window that are among the best.
    fn entering(&self, window: &mut PostingWindow<'_>, source: &IndexSource) -> Vec<u32> {
        let mut above = window.from(self.floor);
        above.retain(|&(_, doc)| !source.is_dead(doc));
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if above.len() > self.keep {
            above.select_nth_unstable_by(self.keep, order);
            above.truncate(self.keep);
        }
        above.into_iter().map(|(_, doc)| doc).collect()
    }

    /// Adds documents, and keeps only the best.
    fn add(&mut self, found: impl Iterator<Item = (At, Scored)>) {
        self.list.extend(found);
        if let Some(last) = self.keep.checked_sub(1)
            && last < self.list.len()
        {
            let (_, (_, last), _) = self.list.select_nth_unstable_by(last, order);
            self.floor = last.score;
            self.list.truncate(self.keep);
        }
    }

    fn sorted(mut self) -> Vec<(At, Scored)> {
        self.list.sort_unstable_by(order);
        self.list
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::document::Document;
    use crate::index::format::{B, K1};
    use crate::index::manifest::Collection;
    use crate::index::record::Record;
    use crate::index::testing;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    const WORDS: [&str; 12] = [
        "anchor", "basket", "copper", "dragon", "ember", "falcon", "garnet", "harbor", "island",
        "jasper", "kettle", "lantern",
    ];

    fn document(number: u32, words: &[usize]) -> Document {
        let title = words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
        let record = Record { title, ..Record::default() };
        let id = MemoryId::new(Timestamp(i64::from(number)), [0; 10]);
        Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record)
    }

    fn sources(documents: &[Document]) -> Sources {
        let bytes = testing::segment_bytes(documents);
        let docs = documents.len() as u32;
        Sources::of_segment(testing::open(Collection::Memories, bytes, docs, &[]).unwrap())
    }

    /// Computes standard BM25 over all documents without an index. Only the weight of a term differs: it is the idf in
    /// the store times a power of the rarity in technical text.
    fn reference(documents: &[Document], query: &Query) -> Vec<(MemoryId, f64)> {
        let average = documents.iter().map(|document| f64::from(document.length())).sum::<f64>()
            / documents.len() as f64;
        let score = |document: &Document| -> f64 {
            query
                .terms
                .iter()
                .map(|term| {
                    let holding = documents.iter().filter(|document| document.count(term.hash) > 0);
                    let (n, df) = (documents.len() as f64, holding.count() as f64);
                    let at_large = term.background / rarity::IDF_MAX;
                    let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
                        * f64::from(at_large).powf(f64::from(BACKGROUND));
                    let tf = f64::from(document.count(term.hash));
                    let (k1, b) = (f64::from(K1), f64::from(B));
                    let length = f64::from(document.length()) / average;
                    idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length))
                })
                .sum()
        };
        documents.iter().map(|document| (document.entry.id, score(document))).collect()
    }

    const MANY: u64 = 1 << 20;

    #[test]
    fn common_terms_are_passed_over_unless_there_are_no_others() {
        assert_eq!(passed_over(&[0, 201, 200, 3], 1000, MANY), [false, true, false, false]);
        assert_eq!(passed_over(&[0, 301, 1000], 1000, MANY), [false; 3]);
        assert_eq!(passed_over(&[2000, 2001], 20_000, MANY), [false, true]);
        assert_eq!(passed_over(&[], 0, MANY), [false; 0]);
    }

    #[test]
    fn of_more_than_can_be_walked_through_the_most_common_are_passed_over() {
        let million = 1_000_000;
        let counts = [90_000, 100_000, 0, 5].repeat(10);
        let common = passed_over(&counts, million, MANY);
        let kept = counts.iter().zip(&common).filter(|(_, common)| !**common);
        let kept: Vec<u32> = kept.map(|(&count, _)| count).collect();
        assert!(kept.iter().map(|&count| u64::from(count)).sum::<u64>() <= MANY);
        assert_eq!(kept.iter().filter(|&&count| count == 90_000).count(), 10);
        assert_eq!(kept.iter().filter(|&&count| count == 100_000).count(), 1);
        // A term with more postings than may be read is skipped.
        assert_eq!(passed_over(&[2 * million, 3 * million], 4 * million, MANY), [true; 2]);
    }

    #[test]
    fn every_window_is_scored_like_the_first() {
        // Some of these documents repeat those of the first window.
        let count = 2 * WINDOW + 500;
        let words = |number: u32| [number as usize % 5, 5 + number as usize % 7];
        let documents: Vec<Document> =
            (0..count).map(|number| document(number, &words(number))).collect();
        let query = Query::search("anchor copper jasper lantern");
        let sources = sources(&documents);
        let found = FoundTerms::look_up_all(&sources, &query.terms);
        let all = found.best(&sources, &query, usize::MAX, &[]);
        let said = |candidate: &Candidate| (candidate.lexical, candidate.shared.clone());
        let mut by_words = std::collections::BTreeMap::new();
        for candidate in &all {
            let known = by_words.entry(words(candidate.at.doc)).or_insert(said(candidate));
            assert_eq!(*known, said(candidate));
        }
        assert_eq!(by_words.len(), 5 * 7 - 3 * 5);
        assert!(
            all.is_sorted_by(|a, b| a.lexical > b.lexical || a.lexical == b.lexical && a.at < b.at)
        );

        // The best documents are first, followed by the documents that were requested additionally.
        let ats = [all[5].at, all[900].at, At { source: 0, doc: 3 }, all[300].at];
        let few = found.best(&sources, &query, 100, &ats);
        let expected = all[..100].iter();
        assert!(few[..100].iter().map(|c| (c.at, said(c))).eq(expected.map(|c| (c.at, said(c)))));
        assert_eq!(few.len(), 103);
        for (at, expected) in
            [(ats[1], said(&all[900])), (ats[3], said(&all[300])), (ats[2], (0.0, Vec::new()))]
        {
            let found = few[100..].iter().find(|candidate| candidate.at == at).unwrap();
            assert_eq!(said(found), expected);
        }
    }

    #[test]
    fn a_number_that_nobody_has_is_not_missed() {
        let sources = sources(&[document(0, &[0, 1, 2])]);
        let known = |text: &str| FoundTerms::look_up(&sources, &Query::prompt(text).terms).known;
        assert_eq!(known("anchor basket"), 1.0);
        for number in ["7718", "0.4.2", "2026-11-03"] {
            assert_eq!(known(&format!("anchor basket {number}")), 1.0, "{number}");
        }
        assert!(known("anchor basket zeppelin") < 1.0);
    }

    #[test]
    fn neighbouring_words_are_looked_for_where_both_are() {
        let documents: Vec<Document> = (0..)
            .zip([[0, 1, 2], [1, 0, 2], [3, 4, 5]])
            .map(|(n, words)| document(n, &words))
            .collect();
        let sources = sources(&documents);
        let query = Query::search("anchor basket island copper falcon");
        let found = |query: &Query| {
            let found = FoundTerms::look_up_all(&sources, &query.terms);
            let found = found.with_pairs(&sources, &query.pairs).best(&sources, query, 9, &[]);
            found.iter().map(|found| (found.at.doc, found.lexical)).collect::<Vec<_>>()
        };
        // These pairs have no term numbers.
        let words = [None; 2];
        let pairs = query.pairs.iter().map(|pair| Pair { words, ..*pair }).collect();
        assert_eq!(found(&query), found(&Query { pairs, ..query.clone() }));
        let without = found(&Query { pairs: Vec::new(), ..query.clone() });
        let of = |found: &[(u32, f32)], doc| found.iter().find(|found| found.0 == doc).unwrap().1;
        assert!(of(&found(&query), 0) > of(&without, 0));
        assert_eq!(of(&found(&query), 1), of(&without, 1));
    }

    proptest! {
        #[test]
        fn scores_are_those_of_plain_bm25(
            texts in prop::collection::vec(prop::collection::vec(0..WORDS.len(), 1..12), 1..20),
            asked in prop::collection::vec(0..WORDS.len(), 1..6),
        ) {
            let documents: Vec<Document> =
                (0..).zip(&texts).map(|(number, words)| document(number, words)).collect();
            let text = asked.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
            let query = Query::search(&text);
            let sources = sources(&documents);
            let found = FoundTerms::look_up_all(&sources, &query.terms).best(
                &sources,
                &query,
                usize::MAX,
                &[],
            );
            // A weight is one of 255 steps.
            let step = f64::from(IMPACT_MAX) / 255.0;
            for (id, expected) in reference(&documents, &query) {
                let got = found.iter().find(|candidate| candidate.entry.id == id);
                let got = got.map_or(0.0, |candidate| f64::from(candidate.lexical));
                let tolerance = step * 4.0 * query.terms.len() as f64;
                prop_assert!((got - expected).abs() <= tolerance, "{got} {expected}");
                prop_assert_eq!(got > 0.0, expected > 0.0);
            }
        }
    }

    /// Compares the ranking of many documents with scores computed without an index.
    mod exhaustive {
        use std::sync::LazyLock;

        use super::*;
        use crate::rank::posting_window::BEST_PARAGRAPHS;

        /// Number of documents, in the segment and in the journal after it.
        const DOCS: u32 = 3 * WINDOW + 700;
        const LOOSE: u32 = 5;
        /// Number of different words. The first is in half of the documents, the last in hardly any.
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
            let mut document =
                Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
            let holds = |word: &u32| {
                // Some words are much more frequent in one part of the documents.
                let dense = u64::from(number / WINDOW == word % 4) * 6 + 1;
                noise(u64::from(number) << 8 | u64::from(*word)) % u64::from(2 + word * word * 4)
                    < dense
            };
            let count =
                |word: u32| 1 + (noise(u64::from(number) << 9 | u64::from(word)) % 7) as u32 / 3;
            document.terms =
                (0..WORDS).filter(holds).map(|word| (hash(word), count(word))).collect();
            document.terms.sort_unstable();
            document.pairs = vec![(noise(u64::from(number) << 10) % 2000) as u32];
            document
        }

        struct Store {
            documents: Vec<Document>,
            /// Number of documents that contain each word.
            counts: Vec<u32>,
            average: f32,
            bytes: Vec<u8>,
        }

        static STORE: LazyLock<Store> = LazyLock::new(|| {
            let documents: Vec<Document> = (0..DOCS + LOOSE).map(document).collect();
            let written = &documents[..DOCS as usize];
            let terms: u64 = written.iter().map(|document| u64::from(document.length())).sum();
            let bytes = testing::segment_bytes(written);
            let holding =
                |word| documents.iter().filter(move |it| it.count(hash(word)) > 0).count();
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

            /// Scores every document without an index. It adds in the same order, so that sums are equal to the last
            /// bit.
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
                        return terms
                            .chain(pairs.map(|&(_, weight)| weight))
                            .fold(0.0, |a, b| a + b);
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

        /// Generates different words in any order.
        fn words() -> impl Strategy<Value = Vec<u32>> {
            prop::collection::hash_set(0..WORDS, 2..12)
                .prop_map(|words| words.into_iter().collect())
        }

        fn holds(query: &Query, max: usize, also: &[u32]) -> Result<(), TestCaseError> {
            let sources = STORE.sources();
            let found =
                FoundTerms::look_up_all(&sources, &query.terms).with_pairs(&sources, &query.pairs);
            let ats: Vec<At> = also.iter().map(|&doc| At { source: 0, doc }).collect();
            let best = found.best(&sources, query, max, &ats);
            let mut best: Vec<(f32, u32, Vec<u16>)> = best
                .into_iter()
                .map(|candidate| (candidate.lexical, candidate.at.doc, candidate.shared))
                .collect();
            let all = STORE.reference(query);
            let mut expected: Vec<_> =
                all.iter().filter(|(score, ..)| *score > 0.0).cloned().collect();
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            expected.truncate(max);
            let ranked = expected.len();
            for &doc in also {
                if expected.iter().all(|(_, known, _)| *known != doc) {
                    expected.push(all[doc as usize].clone());
                }
            }
            // The order of the documents that were requested additionally does not matter.
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
            fn a_short_query_ranks_as_exhaustive_scoring_does(
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
            fn a_long_query_ranks_as_exhaustive_scoring_does(
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
    }
}
