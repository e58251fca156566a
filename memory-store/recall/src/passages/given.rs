//! Passages that are returned to hooks: for a prompt that memories do not answer, a file or an error.

use std::collections::BTreeSet;

use super::error::{keep_quoting, of_error};
use super::gate;
use super::passage::{hit, segments};
use super::rank::{RankedPassage, RankedPassages, is_echo, rank};
use crate::index::document::turn_in_id;
use crate::query::Query;
use crate::rank::near_duplicates::Kept;
use crate::search::hit::Hit;
use crate::search::reader::Recall;
use crate::search::sources::{Effort, Sources};
use memory_store_base::id::MemoryId;
use memory_store_base::text::excerpt;
use memory_store_base::time::Timestamp;

/// Number of memories with which a prompt counts as answered, so that no passages are returned.
pub const MEMORIES_ENOUGH: usize = 2;
/// Maximum number of passages for a prompt.
const PLACES: usize = 3;
/// Maximum length of each passage in characters, cut around the words of the prompt. With this length, all passages fit
/// into the budget.
const GIVEN_CHARS_MAX: usize = 400;
/// Maximum number of passages that are read to find those.
const READ_MAX: usize = 12;
/// Maximum gap to the best score, as a fraction of that score.
const CUT: f32 = 0.25;

/// Memories and passages that a session has already received and does not get again.
pub struct Already<'a> {
    /// Returns whether the session was given the memory or passage with this id.
    pub has: &'a dyn Fn(MemoryId) -> bool,
    /// Memories that the session was given. The turns from which they were learned are not repeated.
    pub memories: &'a [MemoryId],
    /// Prefix of the ids of the session's own passages, which are still in its context.
    pub own: [u8; 10],
}

impl Already<'_> {
    /// For a session that has received nothing.
    pub const NOTHING: Already<'static> = Already { has: &|_| false, memories: &[], own: [0; 10] };

    fn is_new(&self, id: MemoryId) -> bool {
        !id.0.starts_with(&self.own) && !(self.has)(id)
    }
}

impl Recall {
    /// Returns the passages for a prompt that memories do not answer.
    pub fn passages(&self, text: &str, now: Timestamp, already: &Already<'_>) -> Vec<Hit> {
        let query = Query::prompt(text);
        if query.only_acknowledges || query.terms.is_empty() {
            return Vec::new();
        }
        let passages = self.open_passages();
        if passages.docs() == 0 {
            return Vec::new();
        }
        let query = self.with_vector(query, &passages);
        let ranked = rank(&passages, &query, now, &|id| already.is_new(id));
        let hits = match ranked.judgement.score > self.passage_threshold() {
            true => self.given(&passages, &query, &ranked, already, PLACES, Some(text)),
            false => Vec::new(),
        };
        self.note_damage_of(&passages);
        hits
    }

    /// Ranks passages for a prompt as [`Recall::passages`] does. Returns all ranked passages with the data needed to
    /// fit ranking and gate, and the same passages as hits.
    pub fn ranked_passages(&self, text: &str, now: Timestamp) -> (RankedPassages, Vec<Hit>) {
        let passages = self.open_passages();
        let query = self.with_vector(Query::prompt(text), &passages);
        let ranked = rank(&passages, &query, now, &|_| true);
        let read = |place: &RankedPassage| {
            let record = passages.record(place.candidate.at, &place.candidate.entry).ok()?;
            Some(hit(&place.candidate.entry, record, place.score))
        };
        let hits = ranked.passages.iter().filter_map(read).collect();
        (ranked, hits)
    }

    /// Returns the passage for the error of a command: one about the same error, preferably with its cure; otherwise
    /// one that quotes a line of the error; otherwise the best one, if the gate opens.
    pub fn passage_of_error(
        &self,
        command: &str,
        error: &str,
        now: Timestamp,
        already: &Already<'_>,
    ) -> Option<Hit> {
        let passages = self.open_passages();
        if passages.docs() == 0 {
            return None;
        }
        let query = Query::error(command, error);
        let skip = |id: MemoryId| !already.is_new(id);
        let hit = of_error(&passages, &query, error, &skip).or_else(|| {
            let query = self.with_vector(query, &passages);
            let mut ranked = rank(&passages, &query, now, &|id| already.is_new(id));
            let is_open = ranked.judgement.score > self.passage_threshold();
            if keep_quoting(&query, &mut ranked) || is_open {
                self.given(&passages, &query, &ranked, already, 1, None).pop()
            } else {
                None
            }
        });
        self.note_damage_of(&passages);
        hit
    }

    /// Returns the best passage about a file; `None` if the session has already received it. `path` is relative to the
    /// tree's root, with `/` as separator.
    pub fn passage_of_file(
        &self,
        path: &str,
        now: Timestamp,
        already: &Already<'_>,
    ) -> Option<Hit> {
        let query = Query { paths: vec![path.to_owned()], ..Query::file(path) };
        if query.names == 0 {
            return None;
        }
        let passages = self.open_passages();
        if passages.docs() == 0 {
            return None;
        }
        let mut ranked = rank(&passages, &query, now, &|_| true);
        let names = |passage: &RankedPassage| {
            passage.names_file || passage.candidate.shared.iter().any(|&term| term < query.names)
        };
        ranked.passages.retain(names);
        // If the session already has the best passage, the file was used before, and no other passage is returned.
        let is_first = ranked.passages.first().is_some_and(|best| already.is_new(best.id()));
        let hit = is_first
            .then(|| self.given(&passages, &query, &ranked, already, 1, None).pop())
            .flatten();
        self.note_damage_of(&passages);
        hit
    }

    pub(crate) fn open_passages(&self) -> Sources {
        let passages = Sources::of_passages(segments(&self.sources, false), self.settings());
        Sources { effort: Effort::PASSAGES, ..passages }
    }

    fn note_damage_of(&self, passages: &Sources) {
        if let Some(damage) = passages.damage.take() {
            self.sources.note_text(|| damage);
        }
    }

    pub(super) fn passage_threshold(&self) -> f32 {
        let index = self.sources.list.iter().find_map(|source| source.index.as_ref());
        gate::threshold(index.and_then(|index| index.manifest.passage_gate))
    }

    fn given(
        &self,
        passages: &Sources,
        query: &Query,
        ranked: &RankedPassages,
        already: &Already<'_>,
        places: usize,
        prompt: Option<&str>,
    ) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut kept = Kept::default();
        let mut told = None;
        // Passages that were returned before still define the best score. Otherwise a repeated prompt would return
        // weaker passages each time.
        let given = ranked.left_out.iter().filter(|(id, _)| (already.has)(*id));
        let mut best: Option<f32> = given.map(|&(_, score)| score).max_by(f32::total_cmp);
        for passage in ranked.passages.iter().take(READ_MAX) {
            if hits.len() == places || best.is_some_and(|it| passage.score < it - CUT * it.abs()) {
                break;
            }
            let id = passage.id();
            if !already.is_new(id) {
                continue;
            }
            let told = told.get_or_insert_with(|| self.source_turns(passages, already.memories));
            if told.contains(&turn_in_id(id)) {
                continue;
            }
            let record = match passages.record(passage.candidate.at, &passage.candidate.entry) {
                Ok(record) => record,
                Err(damage) => {
                    passages.note(&damage);
                    continue;
                }
            };
            let hit = hit(&passage.candidate.entry, record, passage.score);
            // A part of a long prompt may repeat text of an earlier session.
            let is_echo = prompt.is_some_and(|prompt| is_echo(&hit.text, prompt));
            if !is_echo && kept.duplicate_of(&hits, &hit).is_none() {
                best = Some(best.map_or(passage.score, |it| it.max(passage.score)));
                hits.push(Hit { why: passage.why(query), ..hit });
            }
        }
        if let Some(prompt) = prompt {
            for hit in &mut hits {
                hit.text = excerpt(&hit.text, prompt, GIVEN_CHARS_MAX);
            }
        }
        hits
    }

    /// Returns the turns from which memories were learned, found by session and time.
    fn source_turns(&self, passages: &Sources, memories: &[MemoryId]) -> BTreeSet<([u8; 10], u32)> {
        let mut told = BTreeSet::new();
        for &id in memories {
            let Some(at) = self.sources.find(id) else { continue };
            let Some(entry) = self.sources.entry(at) else { continue };
            let Ok(record) = self.sources.record(at, &entry) else { continue };
            let Some(session) = record.session.as_deref() else { continue };
            told.extend(super::search::turn_at(passages, session, record.date()));
        }
        told
    }
}
