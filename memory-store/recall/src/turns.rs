//! Turns of sessions: what was said, word for word, or what the model thought. They are ranked as
//! memories are, by words and by meaning.

use super::excerpt::{hit, segments};
use super::filter::{Matcher, Part};
use super::query::Query;
use super::search::{NOT_ALL, RANKED_MAX, Search, Wanted, candidates, show};
use super::sources::{At, Source, Sources};
use super::typo::Typos;
use super::{Collection, Hit, Recall, Recalled};
use crate::index::document::Turn;
use memory_store_base::id::MemoryId;
use memory_store_base::layout::TreeDir;
use memory_store_base::thinking;
use memory_store_base::time::Timestamp;

/// Turns that are read, the newest segments first, in search of what a mistyped word means.
const READ_MAX: u32 = 100_000;

/// Least nearness in meaning for a turn that shares no word to stand beside better ones: something is always the
/// nearest.
const NEAR_MIN: f32 = 0.28;

/// Finds turns.
pub(crate) fn search(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let mut recalled = recall.new_answer();
    if search.thinking {
        look_for_thinking(recall);
    }
    let turns = Sources::of_turns(segments(&recall.sources, search.thinking), recall.settings());
    let parts: Vec<Part<'_>> =
        turns.list.iter().map(|source| Part { segment: source.segment(), loose: &[] }).collect();
    let read_all = |typos: &mut Typos| read_all(recall, &turns, typos);
    let mut wanted = Wanted::new(recall, search, now, &parts, &read_all);
    wanted.without_kinds();
    let found = |wanted: &Wanted, far| {
        let mut hits = found(recall, search, wanted, far, &turns, &parts, now);
        if search.thinking {
            hits.iter_mut().for_each(|hit| hit.collection = Collection::Thinking);
        }
        hits
    };
    recalled.hits = found(&wanted, false);
    recalled.notes.clone_from(&wanted.notes);
    if recalled.hits.is_empty()
        && let Some(less) = wanted.without_wishes()
    {
        recalled.hits = found(&less, false);
        if !recalled.hits.is_empty() {
            recalled.notes.push(NOT_ALL.to_owned());
        }
    }
    if recalled.hits.is_empty() {
        recalled.hits = found(&wanted, true);
        recalled.weak = !recalled.hits.is_empty();
    }
    if let Some(damage) = turns.damage.take() {
        recall.sources.note_text(|| damage);
    }
    recalled
}

/// Says so where what the model thought is not indexed.
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

/// Finds turns; `far` are those wanted that share no word and are not even near in meaning.
fn found(
    recall: &Recall,
    search: &Search,
    wanted: &Wanted,
    far: bool,
    turns: &Sources,
    parts: &[Part<'_>],
    now: Timestamp,
) -> Vec<Hit> {
    let matcher = Matcher::new(&wanted.must, parts, &|error| turns.note(error));
    let mut query = Query::search(&wanted.words);
    if !query.terms.is_empty() {
        recall.open_transformer(turns);
        query = recall.with_vector(query, turns);
    }
    let mut hits = Vec::new();
    let ranked = candidates(recall, turns, &query, wanted, &matcher, RANKED_MAX, now);
    for candidate in ranked.candidates {
        if hits.len() >= search.limit() {
            break;
        }
        let At { source, doc } = candidate.at;
        let is_far = !far
            && candidate.shared.is_empty()
            && candidate.near.is_some_and(|near| near.cosine < NEAR_MIN)
            && !wanted.operators;
        if is_far || !matcher.may(usize::from(source), doc) {
            continue;
        }
        let record = match turns.record(candidate.at, &candidate.entry) {
            Ok(record) => record,
            Err(error) => {
                turns.note(&error);
                continue;
            }
        };
        let mut hit = hit(&candidate.entry, record, candidate.fused);
        if matcher.is(usize::from(source), doc, &hit) {
            hit.why = candidate.why(&query);
            hit.neighbours = neighbours(turns, candidate.entry.id);
            hits.push(hit);
        }
    }
    hits
}

/// Fewest characters of a session's id by which it is found.
pub const SESSION_CHARS_MIN: usize = 4;

/// Turns in a row that may be missing before a session counts as over: those that said nothing are not indexed.
const GAP_MAX: u32 = 64;

impl Recall {
    /// The id of the session that begins like this, by its turns in the index; of several the one that went on last.
    pub fn session_named(&self, start: &str) -> Option<String> {
        let start = start.trim();
        if start.len() < SESSION_CHARS_MIN {
            return None;
        }
        let turns = Sources::of_turns(segments(&self.sources, false), self.settings());
        if read_one(&turns, turn_id(start, 0)).is_some() {
            return Some(start.to_owned());
        }
        let search =
            Search { turns: true, session: Some(start.to_owned()), limit: 1, ..Search::default() };
        self::search(self, &search, Timestamp(i64::MAX)).hits.into_iter().next()?.session
    }

    /// Whether a session, by its whole id, goes on from a turn of this number, from 0.
    pub fn goes_on_at(&self, session: &str, number: u32) -> bool {
        let turns = Sources::of_turns(segments(&self.sources, false), self.settings());
        let numbers = number..=number.saturating_add(GAP_MAX);
        numbers.into_iter().any(|number| read_one(&turns, turn_id(session, number)).is_some())
    }

    /// The turns of a session, by its whole id, from one number to another, both from 0.
    pub fn turns_of(&self, session: &str, first: u32, last: u32) -> Vec<Hit> {
        let turns = Sources::of_turns(segments(&self.sources, false), self.settings());
        let (mut hits, mut missing) = (Vec::new(), 0);
        for number in first..=last {
            match read_one(&turns, turn_id(session, number)) {
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

fn turn_id(session: &str, number: u32) -> MemoryId {
    Turn { session: session.to_owned(), number, ..Turn::default() }.id()
}

/// The turn of this name, in the index of the project.
pub(crate) fn turn(sources: &Sources, id: MemoryId) -> Option<Hit> {
    read_one(&Sources::of_turns(segments(sources, false), &sources.settings), id)
}

/// The turns before and after one: their ids differ in the last number only.
fn neighbours(turns: &Sources, id: MemoryId) -> Vec<Hit> {
    let [head @ .., a, b, c, d] = id.0;
    let number = u32::from_be_bytes([a, b, c, d]);
    let near = [number.checked_sub(1), number.checked_add(1)];
    let ids = near.into_iter().flatten().map(|number| {
        let mut near = [0; 16];
        near[..12].copy_from_slice(&head);
        near[12..].copy_from_slice(&number.to_be_bytes());
        MemoryId(near)
    });
    ids.filter_map(|id| read_one(turns, id)).collect()
}

fn read_one(turns: &Sources, id: MemoryId) -> Option<Hit> {
    let at = turns.find(id)?;
    let entry = turns.entry(at)?;
    let record = turns.record(at, &entry).map_err(|error| turns.note(&error)).ok()?;
    Some(hit(&entry, record, 0.0))
}

/// Shows the texts of turns, the newest segments first.
fn read_all(recall: &Recall, turns: &Sources, typos: &mut Typos) {
    let mut left = READ_MAX;
    for segment in turns.list.iter().rev().filter_map(Source::segment) {
        for doc in 0..segment.docs().min(left) {
            match segment.entry(doc).and_then(|entry| segment.record(&entry)) {
                Ok(record) => show(&record, typos),
                Err(error) => recall.sources.note(&error),
            }
        }
        left = left.saturating_sub(segment.docs());
    }
}
