//! Explicit search for memories by a person or a model, without the gate, but with operators, filters and the
//! correction of mistyped words.

use super::arranged::{ARRANGED, arranged};
use super::request::{LIMIT_MAX, Search, is_of_memories};
use crate::index::record::Record;
use crate::query::Query;
use crate::query::expression::{self, Expression, Filter, Node};
use crate::query::time_expression::{self, Span};
use crate::query::typo::Typos;
use crate::rank::candidate::Candidate;
use crate::rank::lexical::FoundTerms;
use crate::rank::trace::{self, CandidateOutcome};
use crate::rank::{exact, gate, near_duplicates, score};
use crate::search::filter::{self, Matcher, SearchedPart};
use crate::search::hit::{Hit, Recalled, holding_again};
use crate::search::reader::{Recall, Successor};
use crate::search::sources::{At, Sources};
use memory_store_base::error::Error;
use memory_store_base::text;
use memory_store_base::time::Timestamp;

/// Maximum number of candidates by words, if filters cannot exclude most of them.
pub(crate) const RANKED_MAX: usize = RANKED_PER_HIT * LIMIT_MAX;
/// Number of candidates for each requested hit, but at least [`RANKED_MIN`] in all, because an entry and a vector are
/// read for every candidate. If too few of them become hits, the search is repeated with [`RANKED_MAX`].
const RANKED_PER_HIT: usize = 4;
/// Minimum number of candidates, for a search with a low limit.
const RANKED_MIN: usize = 512;
/// Maximum number of words of a search that is corrected. Longer texts are error messages or prose.
const WORDS_MAX: usize = 16;
/// Note about a text without searchable words and conditions.
pub(super) const NO_WORD: &str =
    "The query has no word that can be searched for: these are the latest.";
/// Minimum score of a hit as a fraction of the best score. Every text is slightly similar to any other, and the gate
/// separates a store's subjects from others, not its memories from one another.
const NEAR_BEST: f32 = 0.3;
/// Maximum number of candidates in a trace.
const TRACED_MAX: usize = 64;

/// A prepared search: mistyped words are corrected, and events are replaced by their times.
pub(crate) struct PreparedSearch {
    /// Words that are used for ranking.
    pub words: String,
    /// Conditions that a document must satisfy.
    pub must: Vec<Node>,
    /// True if documents that share no word may match.
    pub operators: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl PreparedSearch {
    /// Prepares a search in these parts. `read_all` passes all texts to the correction of mistyped words.
    pub(crate) fn new(
        recall: &Recall,
        search: &Search,
        now: Timestamp,
        parts: &[SearchedPart<'_>],
        read_all: &dyn Fn(&mut Typos),
    ) -> Self {
        let mut wanted = Self {
            words: String::new(),
            must: search.filters(),
            operators: false,
            notes: Vec::new(),
        };
        match expression::parse(&search.text, now, search.exact) {
            Ok(Expression { words, must, operators, mistyped }) => {
                wanted.notes.extend(mistyped.iter().map(|name| {
                    let known = expression::FILTERS.map(|name| format!("{name}:")).join(", ");
                    format!("There is no filter `{name}:`, so it was searched as words; filters are {known}.")
                }));
                let is_asked = !search.text.trim().is_empty() && must.is_empty();
                if is_asked && Query::search(&words).terms.is_empty() {
                    wanted.notes.push(NO_WORD.to_owned());
                }
                wanted.words = words;
                wanted.operators = operators;
                wanted.must.extend(must);
            }
            Err(problem) => {
                wanted.notes.push(problem);
                return wanted;
            }
        }
        let mut must = std::mem::take(&mut wanted.must);
        must.iter_mut().for_each(|node| wanted.place_events(recall, search, node, now));
        wanted.must = must;
        wanted.correct(recall, parts, read_all);
        wanted
    }

    /// Replaces a filter such as "before the migration" by the time of the memory that matches its words best.
    fn place_events(&mut self, recall: &Recall, search: &Search, node: &mut Node, now: Timestamp) {
        match node {
            Node::Filter(Filter::Event { words, before }) => {
                // The event's title appears in a note, so withheld memories are excluded if a model receives the
                // answer.
                let without_held = search.without_held;
                let event =
                    Search { text: words.clone(), limit: 1, without_held, ..Search::default() };
                let found = memories(recall, &event, now);
                let Some(event) = found.hits.into_iter().next() else {
                    self.notes.push(format!(
                        "\"{words}\" is no date, and no memory is about it, so it limits nothing."
                    ));
                    return;
                };
                let word = if *before { "Before" } else { "Since" };
                let date = event.date.date();
                self.notes.push(format!("{word} \"{}\" of {date}.", event.title));
                *node = Node::Filter(Filter::When(match before {
                    true => Span { from: None, to: Some(event.date) },
                    false => Span { from: Some(event.date), to: None },
                }));
            }
            Node::Not(node) => self.place_events(recall, search, node, now),
            Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter_mut().for_each(|node| self.place_events(recall, search, node, now));
            }
            Node::Word(_) | Node::Phrase(_) | Node::Filter(_) => {}
        }
    }

    /// Replaces mistyped words that occur nowhere by similar words that occur.
    fn correct(
        &mut self,
        recall: &Recall,
        parts: &[SearchedPart<'_>],
        read_all: &dyn Fn(&mut Typos),
    ) {
        let words = text::words(&self.words);
        if words.len() > WORDS_MAX {
            return;
        }
        let note = |error: &Error| recall.sources.note(error);
        // A word of technical English is not mistyped, even if this store does not contain it.
        let unknown = |word: &&String| {
            text::tokens(word).iter().all(|token| text::rarity::is_unknown(&token.term))
                && !filter::is_indexed(word, parts, &note)
        };
        let mut typos = Typos::new(words.iter().filter(unknown).map(String::as_str));
        if typos.is_empty() {
            return;
        }
        read_all(&mut typos);
        for (word, meant) in typos.meant() {
            self.notes.push(format!("Nothing says \"{word}\"; this is for \"{meant}\"."));
            self.words = format!("{} {meant}", self.words);
            self.must.iter_mut().for_each(|node| replace(node, &word, &meant));
        }
    }

    /// Drops the conditions that only memories can satisfy, for a search of passages.
    pub(crate) fn without_conditions_of_memories(&mut self) {
        let wanted = self.must.len();
        self.must.retain(|node| !is_of_memories(node));
        if self.must.len() < wanted {
            self.notes.push(NO_KINDS.to_owned());
        }
    }

    /// Returns the search without its optional conditions, for use if nothing was found; `None` if there are none to
    /// drop.
    pub(crate) fn without_wishes(&self) -> Option<Self> {
        let must: Vec<Node> = self.must.iter().filter_map(Node::strict).collect();
        (must != self.must && !self.words.is_empty()).then(|| Self {
            words: self.words.clone(),
            must,
            operators: false,
            notes: self.notes.clone(),
        })
    }
}

/// Note on a search of passages with other kinds or a tag.
const NO_KINDS: &str = "Passages are of no kind but fix and command, and have no tags and topics, so those conditions limit nothing.";

fn replace(node: &mut Node, word: &str, meant: &str) {
    match node {
        Node::Word(text) if text.to_lowercase() == word => meant.clone_into(text),
        Node::Word(_) | Node::Phrase(_) | Node::Filter(_) => {}
        Node::Not(node) => replace(node, word, meant),
        Node::All(nodes) | Node::Any(nodes) => {
            nodes.iter_mut().for_each(|node| replace(node, word, meant));
        }
    }
}

/// Returns the memories for an explicit search.
pub(super) fn memories(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let sources = &recall.sources;
    let parts: Vec<SearchedPart<'_>> = sources
        .list
        .iter()
        .map(|source| SearchedPart { segment: source.segment(), loose: &source.loose })
        .collect();
    let wanted =
        PreparedSearch::new(recall, search, now, &parts, &|typos| read_all(sources, typos));
    let (shape, limit) = (search.shape(now), search.limit());
    let wide = Search { limit: limit.max(ARRANGED), ..search.clone() };
    let search = if shape.is_some() { &wide } else { search };
    let mut recalled = found(recall, search, &wanted, &parts, now);
    if recalled.hits.is_empty()
        && let Some(less) = wanted.without_wishes()
    {
        recalled = found(recall, search, &less, &parts, now);
        if !recalled.hits.is_empty() {
            recalled.notes.push(NOT_ALL.to_owned());
        }
    }
    recalled.hits = arranged(recalled.hits, shape.as_ref());
    recalled.hits.truncate(limit);
    recalled
}

/// Note about a search whose optional conditions were dropped.
pub(crate) const NOT_ALL: &str = "Nothing has all that was asked for; these share words with it.";

fn found(
    recall: &Recall,
    search: &Search,
    wanted: &PreparedSearch,
    parts: &[SearchedPart<'_>],
    now: Timestamp,
) -> Recalled {
    let sources = &recall.sources;
    let matcher = Matcher::new(&wanted.must, parts, &|error| sources.note(error));
    let mut query = Query::search(&wanted.words);
    if !query.terms.is_empty() {
        recall.open_transformer(sources);
        query = recall.with_likenesses(recall.with_vector(query, sources));
    }
    let few = (RANKED_PER_HIT * search.limit()).max(RANKED_MIN);
    let ranked = candidates(recall, sources, &query, wanted, &matcher, few, now);
    let is_cut = ranked.is_cut;
    let mut recalled = hits_of(recall, search, wanted, &matcher, &query, ranked, now);
    if is_cut && recalled.hits.len() < search.limit() {
        let ranked = candidates(recall, sources, &query, wanted, &matcher, RANKED_MAX, now);
        recalled = hits_of(recall, search, wanted, &matcher, &query, ranked, now);
    }
    recalled
}

/// Reads candidates, best first, until there are enough hits. Returns the hits.
fn hits_of(
    recall: &Recall,
    search: &Search,
    wanted: &PreparedSearch,
    matcher: &Matcher<'_>,
    query: &Query,
    ranked: RankedCandidates<'_>,
    now: Timestamp,
) -> Recalled {
    let sources = &recall.sources;
    let RankedCandidates { candidates, found, .. } = ranked;
    let mut recalled = recall.new_answer();
    recalled.notes.clone_from(&wanted.notes);
    let mut kept = near_duplicates::Kept::default();
    if recall.traces {
        let traced = candidates.iter().take(TRACED_MAX);
        recalled.trace = traced
            .map(|candidate| trace::of(sources, candidate, query, CandidateOutcome::Hit, None))
            .collect();
    }
    // Best scores of the hits so far: of all hits, and of those that are not from the repository. Memories from the
    // repository must not displace the user's own.
    let (mut best, mut best_own) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    // A similarity in the second space is not comparable between searches, so it cannot show that the subject is
    // unknown.
    let mut is_known = found.is_none() || wanted.operators || query.likenesses.is_some();
    for mut candidate in candidates {
        if recalled.hits.len() >= search.limit() {
            break;
        }
        let At { source, doc } = candidate.at;
        if !matcher.may(usize::from(source), doc) {
            continue;
        }
        let Ok(mut hit) = recall.read(&candidate, now, &mut recalled) else { continue };
        if !matcher.is(usize::from(source), doc, &hit) {
            continue;
        }
        hit.why = candidate.why(query);
        // A document that satisfies operators needs no other evidence.
        let mut answers = false;
        if let Some(found) = found.as_ref().filter(|_| !wanted.operators) {
            gate::judge(sources, query, found, &mut candidate);
            answers = gate::answers(&candidate);
            let best = if hit.from_repository { best } else { best_own };
            if candidate.named.is_none() && candidate.fused < NEAR_BEST * best {
                continue;
            }
        }
        if hit.superseded && !search.superseded && !hit.held {
            // The successor is returned instead, unless the filters exclude it.
            match recall.current(&hit, now, &mut recalled) {
                Successor::Is(current) if matcher.allows(&current.1) => {
                    hit = Hit { score: hit.score, ..current.1 };
                }
                Successor::Expired => {
                    let why = hit.why.clone();
                    hit = holding_again(hit, why);
                }
                Successor::Is(_) | Successor::Unknown => continue,
            }
        }
        if hit.held && search.without_held {
            recalled.held_back = true;
            continue;
        }
        let known = recalled.hits.iter().any(|known| known.id == hit.id);
        if known || (!query.terms.is_empty() && kept.duplicate_of(&recalled.hits, &hit).is_some()) {
            continue;
        }
        is_known |= answers;
        best = best.max(candidate.fused);
        if !hit.from_repository {
            best_own = best_own.max(candidate.fused);
        }
        recalled.hits.push(hit);
    }
    if !is_known {
        recalled.hits.clear();
    }
    recalled
}

/// Candidates of a search, with the postings of its words.
pub(crate) struct RankedCandidates<'a> {
    /// The candidates, best first unless they are unranked.
    pub candidates: Vec<Candidate>,
    /// Postings of the words; `None` if the search has no words.
    pub found: Option<FoundTerms<'a>>,
    /// True if there may be more documents that share a word than candidates.
    is_cut: bool,
}

/// Returns candidates without order: those that share a word with the search, and those about the paths that it names.
pub(crate) fn unranked<'a>(
    sources: &'a Sources,
    query: &Query,
    wanted: &PreparedSearch,
    max: usize,
) -> RankedCandidates<'a> {
    let (found, mut candidates, is_cut) = sharing(sources, query, wanted, max);
    exact::add(sources, query, &mut candidates);
    RankedCandidates { candidates, found: Some(found), is_cut }
}

/// Returns the postings of the words, the candidates that share one of them, and whether there may be more candidates.
fn sharing<'a>(
    sources: &'a Sources,
    query: &Query,
    wanted: &PreparedSearch,
    max: usize,
) -> (FoundTerms<'a>, Vec<Candidate>, bool) {
    let max = if wanted.must.is_empty() { max } else { usize::MAX };
    let found = FoundTerms::look_up_all(sources, &query.terms).with_pairs(sources, &query.pairs);
    let candidates = score::find(sources, query, &found, max);
    let is_cut = max < RANKED_MAX && candidates.len() >= max;
    (found, candidates, is_cut)
}

/// Returns candidates, best first: at most `max` that share a word, or all of them if there are filters, because these
/// may exclude any number. If there are no words, or if there are operators, the newest documents follow.
pub(crate) fn candidates<'a>(
    recall: &Recall,
    sources: &'a Sources,
    query: &Query,
    wanted: &PreparedSearch,
    matcher: &Matcher<'_>,
    max: usize,
    now: Timestamp,
) -> RankedCandidates<'a> {
    if query.terms.is_empty() {
        return RankedCandidates { candidates: newest(sources), found: None, is_cut: false };
    }
    let (found, mut candidates, is_cut) = sharing(sources, query, wanted, max);
    matcher.narrow(&mut candidates);
    score::fuse(sources, query, &found, &mut candidates, now);
    if recall.traces {
        for candidate in &mut candidates {
            gate::judge(sources, query, &found, candidate);
        }
    }
    exact::add(sources, query, &mut candidates);
    time_expression::favour(&mut candidates, &wanted.words, now);
    score::sort(&mut candidates);
    if wanted.operators {
        let known: std::collections::BTreeSet<At> =
            candidates.iter().map(|candidate| candidate.at).collect();
        candidates.extend(newest(sources).into_iter().filter(|candidate| {
            let At { source, doc } = candidate.at;
            !known.contains(&candidate.at) && matcher.may(usize::from(source), doc)
        }));
    }
    RankedCandidates { candidates, found: Some(found), is_cut }
}

fn newest(sources: &Sources) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (number, source) in sources.list.iter().enumerate() {
        for doc in 0..source.docs() {
            let at = At { source: number as u8, doc };
            candidates.extend(sources.entry(at).map(|entry| Candidate::new(at, entry)));
        }
    }
    candidates.sort_by(|a, b| b.entry.when.cmp(&a.entry.when).then(a.entry.id.cmp(&b.entry.id)));
    candidates
}

/// Passes the texts of all memories to the correction of mistyped words.
fn read_all(sources: &Sources, typos: &mut Typos) {
    for (number, source) in sources.list.iter().enumerate() {
        for doc in 0..source.docs() {
            let at = At { source: number as u8, doc };
            let Some(entry) = sources.entry(at) else { continue };
            match sources.record(at, &entry) {
                Ok(record) => show(&record, typos),
                Err(error) => sources.note(&error),
            }
        }
    }
}

/// Passes the texts of a record to the correction of mistyped words.
pub(crate) fn show(record: &Record, typos: &mut Typos) {
    typos.read(&record.title);
    typos.read(&record.text);
    record.tags.iter().chain(&record.paths).for_each(|text| typos.read(text));
}
