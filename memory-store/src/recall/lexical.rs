//! Ranks documents by the words of a query: BM25 over all sources as if they were one.

use super::query::{Query, Term};
use super::score::Candidate;
use super::sources::{At, Source, Sources};
use crate::index::format::{IMPACT_MAX, impact, impact_weight};
use crate::index::segment::{Segment, Slot};

/// A term is common when more documents than this have it, and more than one in [`COMMON_SHARE`].
const COMMON_DOCS_MIN: u32 = 200;
/// See [`COMMON_DOCS_MIN`].
const COMMON_SHARE: u32 = 10;
/// Paragraphs whose scores add up in a long prompt.
const BEST_PARAGRAPHS: usize = 3;

/// How much a term's rarity in technical text counts beside its rarity in the store: its power.
const BACKGROUND: f32 = 0.3;
/// How much two of the query's words count for standing side by side.
const PAIR: f32 = 0.3;

/// What the sources hold of a query's terms.
pub struct Found {
    /// How rare each term is in the sources.
    pub idf: Vec<f32>,
    /// How much each term counts, and after the terms each pair.
    weights: Vec<f32>,
    /// How many terms there are.
    terms: usize,
    /// The share of the query's rarity that words have which occur anywhere.
    pub known: f32,
    /// Which terms were passed over because many documents have them.
    pub common: Vec<bool>,
    /// By source: how many documents it has, and where each term and pair occurs.
    sources: Vec<(usize, Vec<Posting>)>,
}

/// A term in a document, or a pair, which has a number past those of the terms. The postings of a
/// source are ordered by it.
#[derive(Clone, Copy)]
struct Posting {
    term: u16,
    doc: u32,
    weight: f32,
}

impl Found {
    /// Looks the terms of a query up in all sources. Terms that many documents have say little and
    /// cost most: unless all are like that, they are passed over.
    pub fn look_up(sources: &Sources, terms: &[Term]) -> Self {
        Self::read(sources, terms, false)
    }

    /// The same for an explicit search, where a common word may be all that was asked.
    #[cfg(feature = "write")]
    pub fn look_up_all(sources: &Sources, terms: &[Term]) -> Self {
        Self::read(sources, terms, true)
    }

    fn read(sources: &Sources, terms: &[Term], common_too: bool) -> Self {
        let slots: Vec<Vec<Option<Slot>>> =
            sources.list.iter().map(|source| slots(sources, source, terms)).collect();
        let docs = sources.docs();
        let mut counts = vec![0u32; terms.len()];
        for (source, slots) in sources.list.iter().zip(&slots) {
            for ((count, slot), term) in counts.iter_mut().zip(slots).zip(terms) {
                let loose = source.loose.iter().filter(|document| document.count(term.hash) > 0);
                *count += slot.map_or(0, |slot| slot.count) + loose.count() as u32;
            }
        }
        let limit = COMMON_DOCS_MIN.max(docs / COMMON_SHARE);
        let mut common: Vec<bool> = counts.iter().map(|&count| count > limit).collect();
        let some_are_rare = counts.iter().any(|count| (1..=limit).contains(count));
        if common_too || !some_are_rare {
            common.fill(false);
        }
        let found = sources.list.iter().zip(&slots);
        let found = found.map(|(source, slots)| {
            (source.docs() as usize, postings(sources, source, terms, slots, &common))
        });
        let sources = found.collect();
        let idf: Vec<f32> = counts.iter().map(|&count| idf(docs, count)).collect();
        let weights = idf.iter().zip(terms).map(|(idf, term)| {
            idf * (term.background / super::background::IDF_MAX).powf(BACKGROUND)
        });
        let all: f32 = terms.iter().map(|term| term.background).sum();
        let known = terms.iter().zip(&counts).filter(|(_, count)| **count > 0);
        let known: f32 = known.map(|(term, _)| term.background).sum();
        let known = if all > 0.0 { known / all } else { 0.0 };
        let weights = weights.collect();
        Self { weights, terms: terms.len(), known, idf, common, sources }
    }

    /// Looks for the query's neighbouring words, too.
    pub fn with_pairs(mut self, sources: &Sources, pairs: &[u32]) -> Self {
        let docs = sources.docs();
        for (number, &pair) in (self.terms as u16..).zip(pairs) {
            let mut count = 0;
            for (source, (_, postings)) in sources.list.iter().zip(&mut self.sources) {
                let before = postings.len();
                let mut each = |doc| postings.push(Posting { term: number, doc, weight: 1.0 });
                let first = source.segment().map_or(0, Segment::docs);
                if let Some(segment) = source.segment()
                    && let Err(error) = segment.pairs(pair, &mut each)
                {
                    sources.note(&error);
                }
                for (doc, document) in (first..).zip(&source.loose) {
                    if document.pairs.binary_search(&pair).is_ok() {
                        each(doc);
                    }
                }
                count += (postings.len() - before) as u32;
            }
            self.weights.push(PAIR * idf(docs, count));
        }
        self
    }

    /// The best documents by BM25; of a long query, by the sum of their best paragraphs.
    pub fn best(&self, sources: &Sources, query: &Query, max: usize) -> Vec<Candidate> {
        let mut best: Vec<(f32, At)> = Vec::new();
        for (number, (docs, postings)) in self.sources.iter().enumerate() {
            let scores = self.scores(query, *docs, postings);
            best.extend(
                (0..)
                    .zip(scores)
                    .filter(|&(_, score)| score > 0.0)
                    .map(|(doc, score)| (score, At { source: number as u8, doc })),
            );
        }
        // What the journal replaced still has its scores.
        let keep = max.saturating_add(sources.hidden());
        let order = |a: &(f32, At), b: &(f32, At)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if best.len() > keep {
            best.select_nth_unstable_by(keep, order);
            best.truncate(keep);
        }
        best.sort_unstable_by(order);
        let living = best.into_iter().filter_map(|(score, at)| {
            let entry = sources.entry(at)?;
            Some(Candidate { lexical: score, ..Candidate::new(at, entry) })
        });
        let mut candidates: Vec<Candidate> = living.take(max).collect();
        self.mark_shared(&mut candidates);
        candidates
    }

    /// The share of what a document could score at most that the best one scores. Of a long query no
    /// document covers much; there it is 1.
    pub fn covered(&self, query: &Query, best: f32) -> f32 {
        let most: f32 = IMPACT_MAX * self.weights[..self.terms].iter().sum::<f32>();
        if query.is_long() || most == 0.0 { 1.0 } else { (best / most).min(1.0) }
    }

    /// The score of every document of a source.
    fn scores(&self, query: &Query, docs: usize, postings: &[Posting]) -> Vec<f32> {
        if !query.is_long() {
            let mut scores = vec![0.0; docs];
            for posting in postings {
                scores[posting.doc as usize] += self.score(posting);
            }
            return scores;
        }
        let mut bests = vec![[0f32; BEST_PARAGRAPHS]; docs];
        let mut scores = vec![0f32; docs];
        let mut touched = Vec::new();
        for paragraph in &query.paragraphs {
            for posting in of_terms(postings, paragraph) {
                if scores[posting.doc as usize] == 0.0 {
                    touched.push(posting.doc);
                }
                scores[posting.doc as usize] += self.score(posting);
            }
            // Long paragraphs share words with everything.
            let length = (paragraph.len() as f32).sqrt();
            for doc in touched.drain(..) {
                let score = std::mem::take(&mut scores[doc as usize]) / length;
                let bests = &mut bests[doc as usize];
                if score > bests[BEST_PARAGRAPHS - 1] {
                    bests[BEST_PARAGRAPHS - 1] = score;
                    bests.sort_unstable_by(|a, b| b.total_cmp(a));
                }
            }
        }
        bests.into_iter().map(|bests| bests.iter().sum()).collect()
    }

    fn score(&self, posting: &Posting) -> f32 {
        self.weights[usize::from(posting.term)] * posting.weight
    }

    /// Notes which terms each candidate shares with the query.
    fn mark_shared(&self, candidates: &mut [Candidate]) {
        let postings = self.postings_of(candidates);
        for (candidate, postings) in candidates.iter_mut().zip(postings) {
            candidate.shared = self.terms_of(&postings);
        }
    }

    /// Gives candidates that were not found by their words the score of their words, and notes
    /// which of the query's they have.
    pub fn complete(&self, query: &Query, candidates: &mut [Candidate]) {
        let postings = self.postings_of(candidates);
        for (candidate, postings) in candidates.iter_mut().zip(postings) {
            candidate.lexical = self.score_of(query, &postings);
            candidate.shared = self.terms_of(&postings);
        }
    }

    fn terms_of(&self, postings: &[Posting]) -> Vec<u16> {
        let terms = postings.iter().map(|posting| posting.term);
        terms.take_while(|&term| usize::from(term) < self.terms).collect()
    }

    /// The postings of each candidate, ordered by term.
    fn postings_of(&self, candidates: &[Candidate]) -> Vec<Vec<Posting>> {
        let mut of = vec![Vec::new(); candidates.len()];
        for (number, (docs, postings)) in self.sources.iter().enumerate() {
            // By document the number of its candidate, counted from 1.
            let mut places = vec![0u32; *docs];
            for (place, candidate) in (1..).zip(candidates) {
                if usize::from(candidate.at.source) == number {
                    places[candidate.at.doc as usize] = place;
                }
            }
            for posting in postings {
                let place = places[posting.doc as usize] as usize;
                if let Some(place) = place.checked_sub(1) {
                    of[place].push(*posting);
                }
            }
        }
        of
    }

    /// The score of one document, by its postings: what [`Found::scores`] gives it.
    fn score_of(&self, query: &Query, postings: &[Posting]) -> f32 {
        if !query.is_long() {
            return postings.iter().map(|posting| self.score(posting)).sum();
        }
        let mut scores: Vec<f32> = query
            .paragraphs
            .iter()
            .map(|paragraph| {
                let score: f32 =
                    of_terms(postings, paragraph).map(|posting| self.score(posting)).sum();
                score / (paragraph.len() as f32).sqrt()
            })
            .collect();
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        scores.iter().take(BEST_PARAGRAPHS).sum()
    }
}

/// The postings of some terms.
fn of_terms<'a>(postings: &'a [Posting], terms: &'a [u16]) -> impl Iterator<Item = &'a Posting> {
    terms.iter().flat_map(move |&term| {
        let start = postings.partition_point(|posting| posting.term < term);
        postings[start..].iter().take_while(move |posting| posting.term == term)
    })
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
fn postings(
    sources: &Sources,
    source: &Source,
    terms: &[Term],
    slots: &[Option<Slot>],
    common: &[bool],
) -> Vec<Posting> {
    let wanted = || (0..).zip(terms).zip(slots).zip(common).filter(|(_, common)| !**common);
    let in_segment =
        wanted().filter_map(|((_, slot), _)| Some(slot.as_ref()?.count as usize)).sum();
    let mut postings: Vec<Posting> = Vec::with_capacity(in_segment);
    let first = source.segment().map_or(0, Segment::docs);
    let average = source.segment().map_or(0.0, Segment::average_length);
    for (((number, term), slot), _) in wanted() {
        let before = postings.len();
        if let (Some(segment), Some(slot)) = (source.segment(), slot)
            && let Err(error) = segment.postings(slot, |doc, impact| {
                postings.push(Posting { term: number, doc, weight: impact_weight(impact) });
            })
        {
            postings.truncate(before);
            sources.note(&error);
        }
        for (doc, document) in (first..).zip(&source.loose) {
            let count = document.count(term.hash);
            if count > 0 {
                let weight = impact_weight(impact(count, document.length(), average));
                postings.push(Posting { term: number, doc, weight });
            }
        }
    }
    postings
}

/// Inverse document frequency, never negative.
pub fn idf(docs: u32, count: u32) -> f32 {
    let (docs, count) = (docs as f32, count as f32);
    (1.0 + (docs - count + 0.5).max(0.0) / (count + 0.5)).ln()
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::MemoryId;
    use crate::index::document::Document;
    use crate::index::format::{B, K1};
    use crate::index::manifest::Collection;
    use crate::index::record::Record;
    use crate::index::testing;
    use crate::kind::Kind;
    use crate::time::Timestamp;

    const WORDS: [&str; 12] = [
        "anchor", "basket", "copper", "dragon", "ember", "falcon", "garnet", "harbor", "island",
        "jasper", "kettle", "lantern",
    ];

    fn document(number: u8, words: &[usize]) -> Document {
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
                    let at_large = term.background / crate::recall::background::IDF_MAX;
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
            let found = Found::look_up_all(&sources, &query.terms).best(&sources, &query, usize::MAX);
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
