//! Explicit search of memories for a person or a model: no gate, but operators, filters and correction of mistyped
//! words.

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

/// Maximum number of candidates by words if no condition could exclude all but the last.
pub(crate) const RANKED_MAX: usize = RANKED_PER_HIT * LIMIT_MAX;
/// Candidates per requested hit, at least [`RANKED_MIN`] in all: an entry and a vector are read for every candidate. If
/// too few of them become hits, the search uses [`RANKED_MAX`].
const RANKED_PER_HIT: usize = 4;
/// Minimum number of candidates, for a short list.
const RANKED_MIN: usize = 512;
/// Maximum number of words for correction: longer texts are error messages or prose.
const WORDS_MAX: usize = 16;
/// Note for a text without searchable words and conditions.
const NO_WORD: &str = "The query has no word that can be searched for: these are the latest.";
/// Minimum share of the best score: every text is slightly similar to any other, and the gate distinguishes a store's
/// subjects from others, not its memories from one another.
const NEAR_BEST: f32 = 0.3;
/// Maximum number of candidates in a trace.
const TRACED_MAX: usize = 64;

/// A search made ready: slips corrected, events replaced by their times.
pub(crate) struct PreparedSearch {
    /// The words that rank.
    pub words: String,
    /// Conditions.
    pub must: Vec<Node>,
    /// True if documents without a shared word may match.
    pub operators: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl PreparedSearch {
    /// Makes a search ready for what is looked through. `read_all` shows the texts.
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

    /// Replaces "before the migration" by "before" the time of the best memory about it.
    fn place_events(&mut self, recall: &Recall, search: &Search, node: &mut Node, now: Timestamp) {
        match node {
            Node::Filter(Filter::Event { words, before }) => {
                // The event's title appears in a note, so held memories are excluded for a model.
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

    /// Puts words that occur in the place of words that nobody wrote.
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
        // A word of technical English that is not in this store is not mistyped.
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

    /// Drops conditions that only memories can satisfy, for a search of passages.
    pub(crate) fn without_conditions_of_memories(&mut self) {
        let wanted = self.must.len();
        self.must.retain(|node| !is_of_memories(node));
        if self.must.len() < wanted {
            self.notes.push(NO_KINDS.to_owned());
        }
    }

    /// Returns the search without optional conditions, for a search without results; `None` if there are none to drop.
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

/// Finds memories.
pub(super) fn memories(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let sources = &recall.sources;
    let parts: Vec<SearchedPart<'_>> = sources
        .list
        .iter()
        .map(|source| SearchedPart { segment: source.segment(), loose: &source.loose })
        .collect();
    let wanted =
        PreparedSearch::new(recall, search, now, &parts, &|typos| read_all(sources, typos));
    let mut recalled = found(recall, search, &wanted, &parts, now);
    if recalled.hits.is_empty()
        && let Some(less) = wanted.without_wishes()
    {
        recalled = found(recall, search, &less, &parts, now);
        if !recalled.hits.is_empty() {
            recalled.notes.push(NOT_ALL.to_owned());
        }
    }
    recalled
}

/// Note on a search whose optional conditions were dropped.
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

/// Reads candidates, best first, until there are enough hits.
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
    // Best scores of the hits so far: of all, and of those not from the repository. Memories from the repository must
    // not displace the user's own.
    let (mut best, mut best_own) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    // A similarity in the second space is not comparable between searches.
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

/// Candidates of a search, with the places of its words.
pub(crate) struct RankedCandidates<'a> {
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// `None` when no words were asked for.
    pub found: Option<FoundTerms<'a>>,
    /// True if more documents share a word than there are candidates.
    is_cut: bool,
}

/// Returns unordered candidates: those that share a word, and those that a path names.
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

/// Returns the postings of the words, the candidates that share one, and whether there are more.
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

/// Returns candidates, best first: at most `max` that share a word; with filters, which may exclude all but the last,
/// every one. The newest follow if there are no words or if there are operators.
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

/// Passes the texts of all memories to the correction.
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

/// Passes a record's text to the correction.
pub(crate) fn show(record: &Record, typos: &mut Typos) {
    typos.read(&record.title);
    typos.read(&record.text);
    record.tags.iter().chain(&record.paths).for_each(|text| typos.read(text));
}
