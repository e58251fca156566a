//! Scoring of a source's documents by their words. The lists of all terms are traversed once and in parallel, one
//! *window* of documents at a time. In a hook, the first access to a memory page costs more than computing, so windows
//! reuse their memory.

use crate::index::format::impact_weight;
use crate::index::segment::{Postings, TermBlock};
use crate::query::Query;

/// Number of documents of a window.
pub(crate) const WINDOW: u32 = 2048;

/// Number of paragraphs whose scores are added in a long prompt.
pub(crate) const BEST_PARAGRAPHS: usize = 3;

/// Postings of a term or a word pair in a source.
#[derive(Debug)]
pub(crate) struct PostingList<'a> {
    /// Number of the term or pair in the query.
    pub term: u16,
    /// Postings in the segment.
    pub block: Option<TermBlock<'a>>,
    /// Further documents in ascending order, with the term's weight in each.
    pub more: Vec<(u32, f32)>,
}

/// A list that is being traversed.
struct PostingWalk<'a> {
    term: u16,
    postings: Option<Postings<'a>>,
    more: &'a [(u32, f32)],
}

/// Occurrence of a term in a document of the window.
#[derive(Clone, Copy)]
struct Posting {
    /// Offset of the document from the window's first document.
    doc: u16,
    term: u16,
    weight: f32,
}

/// A document with its score and the numbers of its terms and pairs.
#[derive(Clone, Debug)]
pub(crate) struct Scored {
    pub doc: u32,
    pub score: f32,
    pub terms: Vec<u16>,
}

/// The window of documents that are being scored.
pub(crate) struct PostingWindow<'a> {
    walks: Vec<PostingWalk<'a>>,
    /// Number of the source's documents.
    docs: u32,
    /// First document of the window, and first document after it.
    first: u32,
    end: u32,
    /// Postings in the window, ordered by term.
    postings: Vec<Posting>,
    scores: Vec<f32>,
    /// Temporary map from a document of the window to its position in a list, counted from 1; 0 for none.
    places: Vec<u16>,
}

impl<'a> PostingWindow<'a> {
    /// Creates a window before the first document of a source. The lists must be ordered by term.
    pub(crate) fn new(lists: &'a [PostingList<'_>], docs: u32) -> Self {
        let walk = |list: &'a PostingList<'_>| PostingWalk {
            term: list.term,
            postings: list.block.as_ref().map(TermBlock::postings),
            more: &list.more,
        };
        let width = WINDOW.min(docs) as usize;
        let all: usize = lists.iter().map(PostingList::docs).sum();
        Self {
            walks: lists.iter().map(walk).collect(),
            docs,
            first: 0,
            end: 0,
            // Most windows have a similar number of postings, and a list contains each document only once.
            postings: Vec::with_capacity(
                (all / docs.div_ceil(WINDOW).max(1) as usize).min(width * lists.len()),
            ),
            scores: vec![0.0; width],
            places: vec![0; width],
        }
    }

    /// Advances to the next window, at first to the first one. `damaged` is called for each list that is invalid from
    /// here on.
    pub(crate) fn advance(&mut self, damaged: &mut dyn FnMut()) {
        self.first = self.end;
        self.end = self.docs.min(self.first.saturating_add(WINDOW));
        self.postings.clear();
        let (first, end) = (self.first, self.end);
        for walk in &mut self.walks {
            let term = walk.term;
            let posting =
                |&(doc, weight): &(u32, f32)| Posting { doc: (doc - first) as u16, term, weight };
            let meet = |doc, impact| self.postings.push(posting(&(doc, impact_weight(impact))));
            if let Some(postings) = &mut walk.postings
                && postings.below(end, meet).is_none()
            {
                walk.postings = None;
                damaged();
            }
            let (here, more) = walk.more.split_at(walk.more.partition_point(|&(doc, _)| doc < end));
            self.postings.extend(here.iter().map(posting));
            walk.more = more;
        }
    }

    /// Returns whether no document of the window contains a word of the query.
    pub(crate) fn is_empty(&self) -> bool {
        self.postings.is_empty()
    }

    /// Scores the documents. `weights` contains the weights of all terms and pairs.
    pub(crate) fn score(&mut self, weights: &[f32], query: &Query) {
        self.scores.fill(0.0);
        if query.is_long() {
            self.score_paragraphs(weights, &query.paragraphs);
            return;
        }
        for posting in &self.postings {
            self.scores[usize::from(posting.doc)] += posting.score(weights);
        }
    }

    fn score_paragraphs(&mut self, weights: &[f32], paragraphs: &[Vec<u16>]) {
        let mut bests = vec![[0f32; BEST_PARAGRAPHS]; self.scores.len()];
        let mut touched = Vec::new();
        for paragraph in paragraphs {
            for posting in of_terms(&self.postings, paragraph) {
                let score = &mut self.scores[usize::from(posting.doc)];
                if *score == 0.0 {
                    touched.push(posting.doc);
                }
                *score += posting.score(weights);
            }
            // Long paragraphs share words with any document, so their scores are reduced.
            let length = (paragraph.len() as f32).sqrt();
            for doc in touched.drain(..) {
                let score = std::mem::take(&mut self.scores[usize::from(doc)]) / length;
                let bests = &mut bests[usize::from(doc)];
                if score > bests[BEST_PARAGRAPHS - 1] {
                    bests[BEST_PARAGRAPHS - 1] = score;
                    bests.sort_unstable_by(|a, b| b.total_cmp(a));
                }
            }
        }
        for (score, bests) in self.scores.iter_mut().zip(bests) {
            *score = bests.iter().sum();
        }
    }

    /// Returns the documents with a score of at least `floor`, each as score and document. `floor` must be positive.
    pub(crate) fn from(&mut self, floor: f32) -> Vec<(f32, u32)> {
        let mut found = Vec::new();
        // Most documents of a large source contain none of the terms, so only those with postings are visited.
        for posting in &self.postings {
            let at = usize::from(posting.doc);
            if self.scores[at] >= floor && self.places[at] == 0 {
                self.places[at] = 1;
                found.push((self.scores[at], self.first + u32::from(posting.doc)));
            }
        }
        found.iter().for_each(|(_, doc)| self.places[(doc - self.first) as usize] = 0);
        found
    }

    /// Returns scores and terms of some distinct documents of the window, in the same order.
    pub(crate) fn scored_docs(&mut self, docs: impl Iterator<Item = u32>) -> Vec<Scored> {
        let mut told = Vec::new();
        for doc in docs {
            let at = (doc - self.first) as usize;
            told.push(Scored { doc, score: self.scores[at], terms: Vec::new() });
            self.places[at] = told.len() as u16;
        }
        let met = if told.is_empty() { &[][..] } else { &self.postings };
        for posting in met {
            let place = usize::from(self.places[usize::from(posting.doc)]);
            if let Some(place) = place.checked_sub(1) {
                told[place].terms.push(posting.term);
            }
        }
        told.iter().for_each(|told| self.places[(told.doc - self.first) as usize] = 0);
        told
    }
}

impl PostingList<'_> {
    /// Returns the number of documents that contain the term or pair.
    pub(crate) fn docs(&self) -> usize {
        self.block.as_ref().map_or(0, TermBlock::docs) + self.more.len()
    }
}

impl Posting {
    fn score(&self, weights: &[f32]) -> f32 {
        weights[usize::from(self.term)] * self.weight
    }
}

/// Returns the postings of some terms.
fn of_terms<'a>(postings: &'a [Posting], terms: &'a [u16]) -> impl Iterator<Item = &'a Posting> {
    terms.iter().flat_map(move |&term| {
        let start = postings.partition_point(|posting| posting.term < term);
        postings[start..].iter().take_while(move |posting| posting.term == term)
    })
}
