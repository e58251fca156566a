//! Explicit search for passages, and reading of turns. Passages are ranked as for a prompt. The answer contains those
//! with a score near the best one, grouped by turn. It is empty if no passage is related to the search.

use super::gate;
use super::passage::{hit, segments};
use super::rank::{RankedPassage, RankedPassages, rank_candidates};
use crate::index::document::{passage_id, session_bits, turn_in_id};
use crate::index::record::FLAG_HELD;
use crate::index::segment::Segment;
use crate::query::expression::Node;
use crate::query::typo::Typos;
use crate::query::{Query, time_expression};
use crate::rank::candidate::Candidate;
use crate::rank::score;
use crate::search::arranged::arranged;
use crate::search::filter::{Matcher, SearchedPart};
use crate::search::hit::{Hit, Recalled};
use crate::search::memories::{NOT_ALL, PreparedSearch, RANKED_MAX, candidates, show, unranked};
use crate::search::reader::Recall;
use crate::search::request::{Search, Tier};
use crate::search::sources::{At, Collection, IndexSource, Sources};
use memory_store_base::error::Result;
use memory_store_base::id::MemoryId;
use memory_store_base::layout::TreeDir;
use memory_store_base::thinking;
use memory_store_base::time::Timestamp;

/// Maximum number of passages that are read to correct mistyped words, starting with the newest segments.
const READ_MAX: u32 = 100_000;

/// Distance below the gate's threshold at which a search is still answered, because a person who searches expects a
/// result. With this constant and the next two, 60 of 60 questions on two projects are answered, and one in five
/// background prompts.
const SEARCH_EASE: f32 = 0.85;
/// Share of a search's rarity at which a passage is returned whatever the gate's score.
const COVERED_ENOUGH: f32 = 0.6;
/// Similarity in meaning at which a passage is returned whatever the gate's score.
const NEAR_ENOUGH: f32 = 0.42;
/// Minimum similarity in meaning for a passage that shares no word with the search, because there is always a nearest
/// passage.
const NEAR_MIN: f32 = 0.28;
/// Minimum number of hits that are grouped by turn, even if the limit is lower, because the next page must continue the
/// same order.
const GROUPED_MAX: usize = 100;
/// Maximum gap to the best score, as a fraction of that score. In 60 questions on two projects, no passage below this
/// cutoff contained the answer.
const CUT: f32 = 0.42;

/// Returns the passages for an explicit search.
pub(crate) fn search(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let mut recalled = recall.new_answer();
    let is_thinking = search.tier == Tier::Thinking;
    if is_thinking {
        look_for_thinking(recall);
    }
    let passages = Sources::of_passages(segments(&recall.sources, is_thinking), recall.settings());
    let parts: Vec<SearchedPart<'_>> = passages
        .list
        .iter()
        .map(|source| SearchedPart { segment: source.segment(), loose: &[] })
        .collect();
    let read_all = |typos: &mut Typos| read_all(recall, &passages, typos);
    let mut wanted = PreparedSearch::new(recall, search, now, &parts, &read_all);
    wanted.without_conditions_of_memories();
    let found = |wanted: &PreparedSearch| {
        let mut hits = found(recall, search, wanted, &passages, &parts, now);
        if is_thinking {
            hits.iter_mut().for_each(|hit| hit.collection = Collection::Thinking);
        }
        hits
    };
    recalled.hits = found(&wanted);
    recalled.notes.clone_from(&wanted.notes);
    if recalled.hits.is_empty()
        && let Some(less) = wanted.without_wishes()
    {
        recalled.hits = found(&less);
        if !recalled.hits.is_empty() {
            recalled.notes.push(NOT_ALL.to_owned());
        }
    }
    if let Some(damage) = passages.damage.take() {
        recall.sources.note_text(|| damage);
    }
    recalled
}

/// Adds a note if the model's thinking is not indexed.
fn look_for_thinking(recall: &Recall) {
    let index = recall.sources.list.iter().find_map(|source| source.index.as_ref());
    let Some(tree) = index.and_then(|index| index.dir.parent()) else { return };
    if !thinking::is_there(&TreeDir::at(tree.to_owned())) {
        recall.sources.note_text(|| {
            "what Claude thought is indexed once somebody searches it: the next sync does that"
                .to_owned()
        });
    }
}

/// Returns the passages that satisfy a prepared search, grouped by turn.
fn found(
    recall: &Recall,
    search: &Search,
    wanted: &PreparedSearch,
    passages: &Sources,
    parts: &[SearchedPart<'_>],
    now: Timestamp,
) -> Vec<Hit> {
    let matcher = Matcher::new(&wanted.must, parts, &|error| passages.note(error));
    let mut query = Query::search(&wanted.words);
    if !query.terms.is_empty() {
        recall.open_transformer(passages);
        query = recall.with_vector(query, passages);
    }
    // Searches with operators are ranked like memories, all others like passages.
    let ranks = !query.terms.is_empty() && !wanted.operators;
    let mut listed = match ranks {
        true => unranked(passages, &query, wanted, RANKED_MAX),
        false => candidates(recall, passages, &query, wanted, &matcher, RANKED_MAX, now),
    };
    let asked_in = search.asked_in.as_deref().filter(|_| search.session.is_none());
    let own = asked_in.map(|session| session_bits(session, None));
    listed.candidates.retain(|candidate| {
        let Candidate { at: At { source, doc }, entry, .. } = candidate;
        !(search.without_held && entry.has(FLAG_HELD))
            && own.is_none_or(|own| !entry.id.0.starts_with(&own))
            && matcher.may(usize::from(*source), *doc)
    });
    // A document that satisfies the operators needs no other evidence.
    let ranked = listed.found.as_ref().filter(|_| ranks).map(|found| {
        let ranked = rank_candidates(passages, &query, found, listed.candidates.split_off(0), now);
        // A filter may remove the passages by which the gate decides whether the subject is indexed, so the gate is not
        // used.
        let is_known = !wanted.must.is_empty() || is_known(&ranked, recall.passage_threshold());
        if is_known { in_order(ranked, &wanted.words, now) } else { Vec::new() }
    });
    let is_cut = ranked.is_some();
    let asks_for_file = wanted.must.iter().any(Node::asks_for_file);
    let mut hits: Vec<Hit> = Vec::new();
    for candidate in ranked.unwrap_or(listed.candidates) {
        let best = hits.first().map_or(candidate.fused, |best: &Hit| best.score);
        let is_below = is_cut && candidate.fused < best - CUT * best.abs();
        if hits.len() >= search.limit().max(GROUPED_MAX) || is_below {
            break;
        }
        // A list without search words contains only one passage of each turn.
        let is_new = |known: &Hit| turn_in_id(known.id) != turn_in_id(candidate.entry.id);
        if listed.found.is_none() && !hits.iter().all(is_new) {
            continue;
        }
        let record = match passages.record(candidate.at, &candidate.entry) {
            Ok(record) => record,
            Err(error) => {
                passages.note(&error);
                continue;
            }
        };
        let mut hit = hit(&candidate.entry, record, candidate.fused);
        let At { source, doc } = candidate.at;
        let is_it = match asks_for_file {
            true => matcher.is(usize::from(source), doc, &with_all_files(passages, hit.clone())),
            false => matcher.is(usize::from(source), doc, &hit),
        };
        if is_it {
            hit.why = candidate.why(&query);
            hits.push(hit);
        }
    }
    let hits = without_repetitions(by_turn(hits));
    let mut hits = arranged(hits, search.shape(now).as_ref());
    hits.truncate(search.limit());
    hits
}

/// Adds to a passage's files those that its text names, and those that its turn used.
fn with_all_files(passages: &Sources, mut hit: Hit) -> Hit {
    let is_around = |c: char| c.is_whitespace() || "`\"'()[]{}<>,;|".contains(c);
    let words = hit.text.split(is_around).map(|word| {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        // A line and a column may follow the name of a file.
        let end =
            word.find(':').filter(|&at| word[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
        &word[..end.unwrap_or(word.len())]
    });
    let named: Vec<String> =
        words.filter(|word| word.contains(['.', '/'])).map(str::to_owned).collect();
    hit.paths.extend(named);
    let (session, turn) = turn_in_id(hit.id);
    if let Some(at) = passages.find(passage_id(session, turn, 0))
        && let Some(entry) = passages.entry(at)
    {
        match passages.record(at, &entry) {
            Ok(record) => hit.paths.extend(record.touched),
            Err(error) => passages.note(&error),
        }
    }
    hit
}

/// Returns whether the ranked passages are related to the search.
fn is_known(ranked: &RankedPassages, threshold: f32) -> bool {
    let is_near = |passage: &RankedPassage| passage.cosine.is_some_and(|it| it >= NEAR_ENOUGH);
    ranked.judgement.score > threshold - SEARCH_EASE
        || ranked.judgement.features[gate::COVERED] >= COVERED_ENOUGH
        || ranked.passages.iter().any(is_near)
}

/// Returns the passages best first, without those that share no word with the search and are not similar in meaning.
fn in_order(ranked: RankedPassages, words: &str, now: Timestamp) -> Vec<Candidate> {
    let is_far = |passage: &RankedPassage| {
        passage.candidate.shared.is_empty() && passage.cosine.is_some_and(|near| near < NEAR_MIN)
    };
    let near = ranked.passages.into_iter().filter(|passage| !is_far(passage));
    let scored = near.map(|it| Candidate { fused: it.score_at_any_length(), ..it.candidate });
    let mut candidates: Vec<Candidate> = scored.collect();
    time_expression::favour(&mut candidates, words, now);
    score::sort(&mut candidates);
    candidates
}

/// Moves the other passages of each turn directly after the turn's best passage, in their original order.
fn by_turn(hits: Vec<Hit>) -> Vec<Hit> {
    let mut turns: Vec<Vec<Hit>> = Vec::new();
    for hit in hits {
        let turn = turn_in_id(hit.id);
        match turns.iter_mut().find(|known| turn_in_id(known[0].id) == turn) {
            Some(known) => known.push(hit),
            None => turns.push(vec![hit]),
        }
    }
    turns.iter_mut().for_each(|turn| turn[1..].sort_by_key(|hit| hit.id));
    turns.into_iter().flatten().collect()
}

/// Separator between a question and the start of its answer within a passage.
const ANSWER: &str = "\nClaude: ";

/// Removes passages whose text is contained in another passage of the same turn. Removes the start of an answer if the
/// answer itself is among the hits.
fn without_repetitions(mut hits: Vec<Hit>) -> Vec<Hit> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let same_turn = |a: &Hit, b: &Hit| turn_in_id(a.id) == turn_in_id(b.id);
    for at in 0..hits.len() {
        let Some((question, answer)) = hits[at].text.split_once(ANSWER) else { continue };
        let answer = words(answer.trim_end().trim_end_matches('…'));
        let has_it =
            |other: &Hit| same_turn(other, &hits[at]) && words(&other.text).starts_with(&answer);
        let is_repeated =
            hits.iter().enumerate().any(|(place, other)| place != at && has_it(other));
        if is_repeated {
            hits[at].text = question.to_owned();
        }
    }
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        let text = words(&hit.text);
        if !kept.iter().any(|known| same_turn(known, &hit) && words(&known.text).contains(&text)) {
            kept.push(hit);
        }
    }
    kept
}

/// Minimum number of characters of an abbreviated session id.
pub const SESSION_CHARS_MIN: usize = 4;

/// Maximum number of consecutive turns of a session that may be missing, because turns without text are not indexed.
const GAP_MAX: u32 = 64;

impl Recall {
    /// Returns the id of the session that begins with `start` and has indexed passages; the most recent one of several,
    /// `None` if there is none.
    pub fn session_named(&self, start: &str) -> Option<String> {
        let start = start.trim();
        if start.len() < SESSION_CHARS_MIN {
            return None;
        }
        let passages = self.open_passages();
        if read_one(&passages, passage_id(session_bits(start, None), 0, 0)).is_some() {
            return Some(start.to_owned());
        }
        let search = Search {
            tier: Tier::Passages,
            session: Some(start.to_owned()),
            limit: 1,
            ..Search::default()
        };
        self::search(self, &search, Timestamp(i64::MAX)).hits.into_iter().next()?.session
    }

    /// Returns whether a session has an indexed turn at or after `number`, counted from 0. `session` is the whole id.
    pub fn goes_on_at(&self, session: &str, number: u32) -> bool {
        let passages = self.open_passages();
        let numbers = number..=number.saturating_add(GAP_MAX);
        let bits = session_bits(session, None);
        numbers.into_iter().any(|number| passages.find(passage_id(bits, number, 0)).is_some())
    }

    /// Returns the turn of a passage, with all its passages joined to one text; `None` if the passage is missing.
    pub fn turn_of(&self, passage: MemoryId) -> Option<Hit> {
        let passages = self.open_passages();
        passages.find(passage)?;
        let (session, number) = turn_in_id(passage);
        read_turn(&passages, session, number)
    }

    /// Returns the turns `first` to `last` of a session, counted from 0, each as one text. `session` is the whole id.
    pub fn turns_of(&self, session: &str, first: u32, last: u32) -> Vec<Hit> {
        let passages = self.open_passages();
        let bits = session_bits(session, None);
        let (mut hits, mut missing) = (Vec::new(), 0);
        for number in first..=last {
            match read_turn(&passages, bits, number) {
                Some(hit) => {
                    hits.push(hit);
                    missing = 0;
                }
                None => missing += 1,
            }
            if missing > GAP_MAX {
                break;
            }
        }
        hits
    }
}

/// Returns the passage with this id from the project's index; `None` if there is none.
pub(crate) fn passage(sources: &Sources, id: MemoryId) -> Option<Hit> {
    read_one(&Sources::of_passages(segments(sources, false), &sources.settings), id)
}

/// Returns the session's turn at a time, which is the last one that began before it; `None` if there is none.
pub(crate) fn turn_at(passages: &Sources, session: &str, at: Timestamp) -> Option<([u8; 10], u32)> {
    let bits = session_bits(session, None);
    let mut last = None;
    for segment in passages.list.iter().filter_map(IndexSource::segment) {
        let begun = begun_by(segment, bits, at).unwrap_or_else(|error| {
            passages.note(&error);
            None
        });
        last = last.max(begun);
    }
    last.map(|turn| (bits, turn))
}

/// Returns the last turn of a session in a segment that began before a time; `None` if there is none.
fn begun_by(segment: &Segment, session: [u8; 10], at: Timestamp) -> Result<Option<u32>> {
    let mut last = None;
    for doc in segment.first_from(passage_id(session, 0, 0))?..segment.docs() {
        let entry = segment.entry(doc)?;
        let (of, turn) = turn_in_id(entry.id);
        if of != session || entry.when > at {
            break;
        }
        last = Some(turn);
    }
    Ok(last)
}

/// Returns the passages of a turn as one text; `None` if the turn has none.
fn read_turn(passages: &Sources, session: [u8; 10], number: u32) -> Option<Hit> {
    let mut turn = read_one(passages, passage_id(session, number, 0))?;
    for place in 1..=u16::MAX {
        let Some(next) = read_one(passages, passage_id(session, number, place)) else { break };
        turn.text.push_str("\n\n");
        turn.text.push_str(&next.text);
    }
    Some(turn)
}

fn read_one(passages: &Sources, id: MemoryId) -> Option<Hit> {
    let at = passages.find(id)?;
    let entry = passages.entry(at)?;
    let record = passages.record(at, &entry).map_err(|error| passages.note(&error)).ok()?;
    Some(hit(&entry, record, 0.0))
}

/// Passes the texts of passages to the correction of mistyped words, starting with the newest segments.
fn read_all(recall: &Recall, passages: &Sources, typos: &mut Typos) {
    let mut left = READ_MAX;
    for segment in passages.list.iter().rev().filter_map(IndexSource::segment) {
        for doc in 0..segment.docs().min(left) {
            match segment.entry(doc).and_then(|entry| segment.record(&entry)) {
                Ok(record) => show(&record, typos),
                Err(error) => recall.sources.note(&error),
            }
        }
        left = left.saturating_sub(segment.docs());
    }
}
