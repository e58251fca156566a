//! Ranks documents by the words of a query: BM25 over all sources as if they were one.

use std::cmp::Ordering;

use super::block_max::limits;
use super::candidate::Candidate;
use super::posting_window::{Block, List, Scored, Window};
use super::query::{Pair, Query, Term};
use super::sources::{At, Source, Sources};
use crate::index::bounds::{UNBOUNDED_DOCS_MAX, WINDOW};
use crate::index::format::{IMPACT_MAX, impact, impact_weight};
use crate::index::record::Entry;
use crate::index::segment::{Segment, Slot};
use memory_store_base::error::Result;
use memory_store_base::text::rarity::{self, inverse_frequency};

/// A term is common when more documents than this have it, and more than one in [`COMMON_SHARE`].
const COMMON_DOCS_MIN: u32 = 200;
/// See [`COMMON_DOCS_MIN`].
const COMMON_SHARE: u32 = 10;

/// Postings that are walked through at most; of a query with more, the most common terms are passed over,
/// too. Only stores of far more than 100,000 memories have so many.
const POSTINGS_MAX: u64 = 1 << 20;

/// Weight of a term's rarity in technical text beside its rarity in the store: its power.
pub(crate) const BACKGROUND: f32 = 0.3;
/// Weight of two words of the query that stand side by side.
pub(crate) const PAIR: f32 = 0.3;
/// Windows of a large source that are looked at first, those with the highest limits: then it is known
/// what a document must score to be among the best.
const FIRST_WINDOWS: usize = 8;

/// Postings of a query's terms in all sources.
pub(crate) struct Found<'a> {
    /// Weight of each term, and after the terms of each pair.
    weights: Vec<f32>,
    /// Number of terms.
    terms: usize,
    /// The share of the query's rarity that words have which occur anywhere.
    pub known: f32,
    /// Which terms were passed over because many documents have them.
    pub common: Vec<bool>,
    /// Which terms no document has.
    pub absent: Vec<bool>,
    /// By source which terms its segment has.
    in_segments: Vec<Vec<bool>>,
    /// By source where each term occurs that was not passed over, and each pair; these have numbers
    /// past those of the terms.
    sources: Vec<Vec<List<'a>>>,
}

impl<'a> Found<'a> {
    /// Looks the terms of a query up in all sources. Terms that many documents have say little and
    /// cost most: unless all are like that, they are passed over.
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
        let common =
            if common_too { vec![false; counts.len()] } else { passed_over(&counts, docs) };
        let found = sources.list.iter().zip(&slots);
        let found = found.map(|(source, slots)| lists(sources, source, terms, slots, &common));
        let found = found.collect();
        let weights = counts.iter().zip(terms).map(|(&count, term)| {
            inverse_frequency(docs, count) * (term.background / rarity::IDF_MAX).powf(BACKGROUND)
        });
        let all: f32 = terms.iter().map(|term| term.background).sum();
        let known = terms.iter().zip(&counts).filter(|(_, count)| **count > 0);
        let known: f32 = known.map(|(term, _)| term.background).sum();
        let known = if all > 0.0 { known / all } else { 0.0 };
        let weights = weights.collect();
        let known_in = |slots: &Vec<Option<Slot>>| slots.iter().map(Option::is_some).collect();
        let in_segments = slots.iter().map(known_in).collect();
        let absent = counts.iter().map(|&count| count == 0).collect();
        Self { weights, terms: terms.len(), known, common, absent, in_segments, sources: found }
    }

    /// Looks for the query's neighbouring words, too.
    pub(crate) fn with_pairs(mut self, sources: &Sources, pairs: &[Pair]) -> Self {
        let docs = sources.docs();
        for (number, pair) in (self.terms as u16..).zip(pairs) {
            let mut count = 0;
            let found = sources.list.iter().zip(&mut self.sources).zip(&self.in_segments);
            for ((source, lists), known) in found {
                // A document with the pair has each of its words.
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
                    lists.push(List { term: number, block: None, more });
                }
            }
            self.weights.push(PAIR * inverse_frequency(docs, count));
        }
        self
    }

    /// The best documents by BM25, of a long query by the sum of their best paragraphs; then those
    /// of `also` that are not among them.
    pub(crate) fn best(
        &self,
        sources: &Sources,
        query: &Query,
        max: usize,
        also: &[At],
    ) -> Vec<Candidate> {
        // Replaced documents of the journal still have scores.
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
            let plan = Plan::new(self, lists, query, source.docs(), keep);
            for stage in [&plan.first, &plan.rest].into_iter().filter(|stage| !stage.is_empty()) {
                let mut window = Window::new(lists, source.docs());
                let mut last = 0;
                for (place, &number) in stage.iter().enumerate() {
                    let bounds = [number, number + 1].map(|number| number * WINDOW);
                    let bounds = bounds.map(|end| asked.partition_point(|&doc| doc < end));
                    let asked = &asked[bounds[0]..bounds[1]];
                    if asked.is_empty() && plan.limit(number) < best.floor {
                        continue;
                    }
                    if last < number || place == 0 {
                        last = plan.run(&stage[place..], best.floor);
                    }
                    window.advance(number, last, &mut damaged);
                    window.score(&self.weights, query);
                    let entering = best.entering(&mut window);
                    best.add(window.tell(entering.into_iter()).into_iter().map(at));
                    others.extend(window.tell(asked.iter().copied()).into_iter().map(at));
                }
            }
        }
        let best = best.sorted();
        // Read in their order, entries that lie side by side are read together.
        let mut places: Vec<At> = best.iter().chain(&others).map(|&(at, _)| at).collect();
        places.sort_unstable();
        places.dedup();
        let entries: Vec<Option<Entry>> = places.iter().map(|&at| sources.entry(at)).collect();
        let candidate = |(at, mut scored): (At, Scored)| {
            let entry = entries[places.binary_search(&at).ok()?]?;
            let terms = scored.terms.partition_point(|&term| usize::from(term) < self.terms);
            scored.terms.truncate(terms);
            let (lexical, shared) = (scored.score, scored.terms);
            Some(Candidate { lexical, shared, ..Candidate::new(at, entry) })
        };
        // Candidates are large, and what grows is copied.
        let mut candidates = Vec::with_capacity(places.len());
        candidates.extend(best.into_iter().filter_map(candidate).take(max));
        let mut known: Vec<At> = candidates.iter().map(|candidate| candidate.at).collect();
        known.sort_unstable();
        others.retain(|(at, _)| known.binary_search(at).is_err());
        candidates.extend(others.into_iter().filter_map(candidate));
        candidates
    }

    /// The limits of the first source, for tests of what they are worth.
    #[cfg(test)]
    pub(crate) fn limits(&self, query: &Query, docs: u32) -> Vec<f32> {
        limits(&self.sources[0], &self.weights, query, docs)
    }

    /// The share of what a document could score at most that the best one scores. Of a long query no
    /// document covers much; there it is 1.
    pub(crate) fn covered(&self, query: &Query, best: f32) -> f32 {
        let most: f32 = IMPACT_MAX * self.weights[..self.terms].iter().sum::<f32>();
        if query.is_long() || most == 0.0 { 1.0 } else { (best / most).min(1.0) }
    }
}

/// Which terms are passed over, given how many documents have each.
fn passed_over(counts: &[u32], docs: u32) -> Vec<bool> {
    let limit = COMMON_DOCS_MIN.max(docs / COMMON_SHARE);
    let mut common: Vec<bool> = counts.iter().map(|&count| count > limit).collect();
    if !counts.iter().any(|count| (1..=limit).contains(count)) {
        common.fill(false);
    }
    let mut rarest: Vec<usize> = (0..counts.len()).filter(|&term| !common[term]).collect();
    let all = rarest.iter().map(|&term| u64::from(counts[term])).sum::<u64>();
    if all > POSTINGS_MAX {
        rarest.sort_by_key(|&term| counts[term]);
        let mut sum = 0;
        for term in rarest {
            // The first that occurs at all stays.
            common[term] = sum > 0 && sum + u64::from(counts[term]) > POSTINGS_MAX;
            sum += u64::from(counts[term]);
        }
    }
    common
}

/// Returns how many documents have each of the terms.
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

/// Looks terms up in the segment of a source.
fn slots(sources: &Sources, source: &Source, terms: &[Term]) -> Vec<Option<Slot>> {
    let look_up = |term: &Term| {
        source.segment()?.term(term.hash).unwrap_or_else(|error| {
            sources.note(&error);
            None
        })
    };
    terms.iter().map(look_up).collect()
}

/// Reads where in a source the terms occur.
fn lists<'a>(
    sources: &Sources,
    source: &'a Source,
    terms: &[Term],
    slots: &[Option<Slot>],
    common: &[bool],
) -> Vec<List<'a>> {
    let first = source.segment().map_or(0, Segment::docs);
    let average = source.segment().map_or(0.0, Segment::average_length);
    let wanted = (0..).zip(terms).zip(slots).zip(common).filter(|(_, common)| !**common);
    let list = |(((number, term), slot), _): (((u16, &Term), &Option<Slot>), &bool)| {
        let block = source.segment().zip(slot.as_ref()).and_then(|(segment, slot)| {
            block(segment, term, slot).map_err(|error| sources.note(&error)).ok()
        });
        let loose = (first..).zip(&source.loose).filter_map(|(doc, document)| {
            let count = document.count(term.hash);
            (count > 0).then(|| (doc, impact_weight(impact(count, document.length(), average))))
        });
        List { term: number, block, more: loose.collect() }
    };
    wanted.map(list).filter(|list| list.docs() > 0).collect()
}

/// Reads where in a segment a term occurs, or what is known of that where it is much.
fn block<'a>(segment: &'a Segment, term: &Term, slot: &Slot) -> Result<Block<'a>> {
    Ok(match segment.bounded(term.hash, *slot)? {
        Some(bounded) => Block::Left(bounded),
        None => Block::Read(segment.term_block(slot)?),
    })
}

/// In which order the windows of a source are looked at.
struct Plan {
    /// Highest scores of the documents of each; nothing is known of small sources.
    limits: Vec<f32>,
    /// Documents to look at first, in this order.
    first: Vec<u32>,
    /// The others.
    rest: Vec<u32>,
}

impl Plan {
    fn new(found: &Found<'_>, lists: &[List<'_>], query: &Query, docs: u32, keep: usize) -> Self {
        let windows = 0..docs.div_ceil(WINDOW);
        if docs <= UNBOUNDED_DOCS_MAX || keep >= docs as usize {
            return Self { limits: Vec::new(), first: Vec::new(), rest: windows.collect() };
        }
        let limits = limits(lists, &found.weights, query, docs);
        let limit = |number: u32| limits[number as usize];
        let mut first: Vec<u32> = windows.clone().collect();
        let places = FIRST_WINDOWS.min(first.len() - 1);
        first
            .select_nth_unstable_by(places, |&a, &b| limit(b).total_cmp(&limit(a)).then(a.cmp(&b)));
        first.truncate(places);
        first.sort_unstable();
        let rest = windows.filter(|number| first.binary_search(number).is_err()).collect();
        Self { limits, first, rest }
    }

    fn limit(&self, number: u32) -> f32 {
        self.limits.get(number as usize).copied().unwrap_or(f32::INFINITY)
    }

    /// The last of the windows that follow one another and have a document, perhaps, that scores as much
    /// as `floor`.
    fn run(&self, windows: &[u32], floor: f32) -> u32 {
        let first = windows.first().copied().unwrap_or_default();
        let following = windows.iter().zip(first..);
        let run = following
            .skip(1)
            .take_while(|&(&number, expected)| number == expected && self.limit(number) >= floor);
        first + run.count() as u32
    }
}

/// The best documents so far.
struct Best {
    /// Number of documents to keep.
    keep: usize,
    /// Least score of a further one.
    floor: f32,
    list: Vec<(At, Scored)>,
}

/// Best first; equal ones in their order.
fn order(a: &(At, Scored), b: &(At, Scored)) -> Ordering {
    b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0))
}

impl Best {
    /// The documents of a window that are among the best.
    fn entering(&self, window: &mut Window<'_>) -> Vec<u32> {
        let mut above = window.from(self.floor);
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if above.len() > self.keep {
            above.select_nth_unstable_by(self.keep, order);
            above.truncate(self.keep);
        }
        above.into_iter().map(|(_, doc)| doc).collect()
    }

    /// Adds documents.
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

    /// BM25 as the books have it, but for the weight of a term, which is its idf here times a power
    /// of its rarity at large; over all documents and without any index.
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

    #[test]
    fn common_terms_are_passed_over_unless_there_are_no_others() {
        assert_eq!(passed_over(&[0, 201, 200, 3], 1000), [false, true, false, false]);
        assert_eq!(passed_over(&[0, 301, 1000], 1000), [false; 3]);
        assert_eq!(passed_over(&[2000, 2001], 20_000), [false, true]);
        assert_eq!(passed_over(&[], 0), [false; 0]);
    }

    #[test]
    fn of_more_than_can_be_walked_through_the_most_common_are_passed_over() {
        let million = 1_000_000;
        let counts = [90_000, 100_000, 0, 5].repeat(10);
        let common = passed_over(&counts, million);
        let kept = counts.iter().zip(&common).filter(|(_, common)| !**common);
        let kept: Vec<u32> = kept.map(|(&count, _)| count).collect();
        assert!(kept.iter().map(|&count| u64::from(count)).sum::<u64>() <= POSTINGS_MAX);
        assert_eq!(kept.iter().filter(|&&count| count == 90_000).count(), 10);
        assert_eq!(kept.iter().filter(|&&count| count == 100_000).count(), 1);
        // One is walked through however common it is.
        assert_eq!(passed_over(&[2 * million, 3 * million], 4 * million), [false, true]);
    }

    #[test]
    fn every_window_is_scored_like_the_first() {
        // Some of their documents repeat those of the first window.
        let count = 2 * WINDOW + 500;
        let words = |number: u32| [number as usize % 5, 5 + number as usize % 7];
        let documents: Vec<Document> =
            (0..count).map(|number| document(number, &words(number))).collect();
        let query = Query::search("anchor copper jasper lantern");
        let sources = sources(&documents);
        let found = Found::look_up_all(&sources, &query.terms);
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

        // A few are the first of all; what was asked for besides comes behind them.
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
    fn neighbouring_words_are_looked_for_where_both_are() {
        let documents: Vec<Document> = (0..)
            .zip([[0, 1, 2], [1, 0, 2], [3, 4, 5]])
            .map(|(n, words)| document(n, &words))
            .collect();
        let sources = sources(&documents);
        let query = Query::search("anchor basket island copper falcon");
        let found = |query: &Query| {
            let found = Found::look_up_all(&sources, &query.terms);
            let found = found.with_pairs(&sources, &query.pairs).best(&sources, query, 9, &[]);
            found.iter().map(|found| (found.at.doc, found.lexical)).collect::<Vec<_>>()
        };
        // As if nobody knew which words these are.
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
            let found = Found::look_up_all(&sources, &query.terms).best(
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
}
