//! The engine of recall: runs each kind of recall, from the query to its hits.

use crate::index::read_manifest;
use crate::index::record::{FLAG_HELD, FLAG_SAID, FLAG_STALE};
use crate::passages;
use crate::query::follow_up::{Followed, Topic};
use crate::query::{Query, misspelled};
use crate::rank::candidate::Candidate;
use crate::rank::lexical::FoundTerms;
use crate::rank::near_duplicates::{Kept, SAME, likeness};
use crate::rank::staleness::Staleness;
use crate::rank::start_rank::{Age, Standing, StartGroup, worth};
use crate::rank::trace::{self, CandidateOutcome};
use crate::rank::{exact, gate, score};
use crate::render::BRIEF_CHARS;
use crate::search::hit::{Hit, Recalled, SilenceReason, holding_again};
use crate::search::reader::{Recall, Successor};
use crate::search::request::Search;
use crate::search::{passed_commands, tiers};
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::layout::TreeDir;
use memory_store_base::memory::SaidBy;
use memory_store_base::time::Timestamp;

/// Minimum score of the memories after the best one, as a fraction of the best score.
const CUT: f32 = 0.5;
/// Maximum number of candidates whose records are read to find enough hits.
const READ_MAX: usize = 24;
/// Maximum number of memories before a tool call.
const LIMITS_MAX: usize = 2;
/// Maximum number of memories in a session-start block before they are cut to its budget.
const START_MAX: usize = 64;
/// Amount of text read for a session-start block, in percent of the block's budget. The surplus allows a shorter text
/// to replace one that is too long for the remaining budget.
const START_SURPLUS_PERCENT: usize = 125;
/// Estimated number of characters of a memory in a session-start block besides title and text: kind, id, date, a file.
const START_LINE: usize = 60;

impl Recall {
    /// Returns whether a file of the project's indexes is missing or truncated. It costs one `stat` per file, including
    /// the files of indexes that hooks do not open.
    pub fn lacks_files(&self) -> bool {
        let Some(index) = self.sources.list.iter().find_map(|source| source.index.as_ref()) else {
            return false;
        };
        let thinking = index.dir.parent().map(|state| TreeDir::at(state.to_owned()).thinking);
        let thinking = thinking.map(|folder| (read_manifest(&folder), folder));
        index.manifest.lacks_segments(&index.dir)
            || thinking.is_some_and(|(manifest, folder)| match manifest {
                Ok(manifest) => manifest.is_some_and(|manifest| manifest.lacks_segments(&folder)),
                Err(_) => true,
            })
    }

    /// Returns memories for a prompt. `topic` is the topic of the previous prompts: it is used too if the prompt is a
    /// follow-up, and then updated with this prompt. `skip` returns true for memories that were shown already.
    pub fn prompt(
        &self,
        text: &str,
        topic: Option<&mut Topic>,
        now: Timestamp,
        skip: &dyn Fn(MemoryId) -> bool,
    ) -> Recalled {
        let (query, found) = self.asked(text);
        if query.only_acknowledges {
            return self.silent(SilenceReason::Acknowledgement);
        }
        let mut query = self.with_likenesses(self.with_vector(query, &self.sources));
        let before =
            topic.map_or_else(Topic::default, |topic| std::mem::replace(topic, topic.then(&query)));
        let mut candidates = self.for_prompt(&query, found, now);
        if let Some(followed) = Followed::new(&query, &before) {
            let found = FoundTerms::look_up(&self.sources, &followed.query.terms);
            let more = self.for_prompt(&followed.query, found, now);
            candidates = followed.join(candidates, more);
            query = followed.query;
        }
        let places = self.sources.settings.prompt_memories as usize;
        self.answer(
            candidates,
            &query,
            &Conditions { places, gated: true, is_open: false, now, skip },
        )
    }

    /// Parses a prompt, corrects its mistyped words, and looks its terms up in the sources. Returns the query and the
    /// terms found; no term is looked up if the prompt is only an acknowledgement.
    fn asked(&self, text: &str) -> (Query, FoundTerms<'_>) {
        let query = Query::prompt(text);
        let terms = if query.only_acknowledges { &[][..] } else { &query.terms };
        let found = FoundTerms::look_up(&self.sources, terms);
        let table = || self.open_table(&self.sources);
        match misspelled::respelled(&self.sources, text, terms, &found, table) {
            Some(respelled) => {
                let query = Query::prompt(&respelled);
                let found = FoundTerms::look_up(&self.sources, &query.terms);
                (query, found)
            }
            None => (query, found),
        }
    }

    /// Returns memories about a file. `path` is relative to the tree's root, with `/` as separator. Memories related to
    /// `topic` are moved to the front. The topic is computed only if several memories match the file, because most
    /// files have none.
    pub fn file(
        &self,
        path: &str,
        topic: Option<&dyn Fn() -> Topic>,
        now: Timestamp,
        skip: &dyn Fn(MemoryId) -> bool,
    ) -> Recalled {
        let query = Query::file(path);
        let candidates =
            exact::file(&self.sources, &query, path, topic.unwrap_or(&Topic::default), now);
        let places = self.sources.settings.tool_memories as usize;
        self.answer(
            candidates,
            &query,
            &Conditions { places, gated: true, is_open: false, now, skip },
        )
    }

    /// Returns memories that help with the error of a command.
    pub fn error(
        &self,
        command: &str,
        error: &str,
        now: Timestamp,
        skip: &dyn Fn(MemoryId) -> bool,
    ) -> Recalled {
        let mut known = exact::of_error(&self.sources, error);
        known.retain(|&at| self.may_answer(at, now));
        let query = Query::error(command, error);
        // If memories about the same error exist, vector similarity adds nothing.
        let query = if known.is_empty() { self.with_vector(query, &self.sources) } else { query };
        let mut candidates = self.scored(&query, now);
        exact::add_errors(&self.sources, &known, &mut candidates);
        if known.is_empty() {
            let text = |candidate: &Candidate| {
                let hit = self.read(candidate, now, &mut Recalled::default()).ok()?;
                Some(format!("{}\n{}", hit.title, hit.text))
            };
            exact::add_quoting(&self.sources, error, &mut candidates, text);
        }
        // Wishes apply to the way of working, not to an error, so they are removed.
        let is_wish = |candidate: &Candidate| candidate.entry.kind_of().is_some_and(Kind::is_wish);
        candidates.retain(|candidate| candidate.named.is_some() || !is_wish(candidate));
        gate::ease(&mut candidates, gate::ERROR_EASE);
        gate::hold_other_fixes(&mut candidates);
        gate::open_for_near_cures(&mut candidates);
        let places = self.sources.settings.tool_memories as usize;
        self.answer(
            candidates,
            &query,
            &Conditions { places, gated: true, is_open: false, now, skip },
        )
    }

    /// Returns memories that limit an edit of a file, before it is made: those about the file, and those that reject a
    /// module or dependency which the new text names. The parameters are those of [`Recall::file`].
    pub fn edit(
        &self,
        path: &str,
        new_text: &str,
        topic: &dyn Fn() -> Topic,
        now: Timestamp,
        skip: &dyn Fn(MemoryId) -> bool,
    ) -> Recalled {
        let query = Query::file(path);
        let mut candidates = exact::file(&self.sources, &query, path, topic, now);
        candidates.retain(|it| it.entry.kind_of().is_some_and(Kind::is_constraint));
        self.limits(candidates, &query, &Query::new_text(path, new_text), now, skip)
    }

    /// Returns memories that limit a command line, before it runs: those that name one of its commands, and those that
    /// reject a dependency which it adds. `skip` is that of [`Recall::file`].
    pub fn command(&self, line: &str, now: Timestamp, skip: &dyn Fn(MemoryId) -> bool) -> Recalled {
        let query = Query::command(line);
        let mut candidates = Vec::new();
        let may_answer = |at| self.may_answer(at, now);
        exact::add_warnings(
            &self.sources,
            &query,
            &mut candidates,
            Kind::is_constraint,
            &may_answer,
        );
        self.limits(candidates, &query, &query, now, skip)
    }

    /// Adds the memories that reject what `names` contains, and returns the best candidates.
    fn limits(
        &self,
        mut candidates: Vec<Candidate>,
        query: &Query,
        names: &Query,
        now: Timestamp,
        skip: &dyn Fn(MemoryId) -> bool,
    ) -> Recalled {
        exact::add_rejections(&self.sources, names, &mut candidates, |candidate| {
            let hit = self.read(candidate, now, &mut Recalled::default()).ok()?;
            (!hit.held && !hit.superseded).then_some((hit.kind, hit.title, hit.text))
        });
        let places = LIMITS_MAX.min(self.sources.settings.tool_memories as usize);
        self.answer(
            candidates,
            query,
            &Conditions { places, gated: true, is_open: false, now, skip },
        )
    }

    /// Returns a memory by its id, if it may be injected.
    pub fn memory(&self, id: MemoryId, now: Timestamp) -> Option<Hit> {
        let candidate = Candidate::find(&self.sources, self.sources.find(id)?)?;
        let hit = self.read(&candidate, now, &mut Recalled::default()).ok()?;
        (!hit.held).then_some(hit)
    }

    /// Ranks memories for a prompt as [`Recall::prompt`] does, and returns the best `places` of them whether or not
    /// they help: neither the gate nor the minimum score relative to the best one is applied.
    pub fn ranked(&self, text: &str, now: Timestamp, places: usize) -> Recalled {
        let (query, found) = self.asked(text);
        let query = self.with_vector(query, &self.sources);
        let candidates = self.for_prompt(&query, found, now);
        let asked = Conditions { places, gated: false, is_open: true, now, skip: &|_| false };
        self.answer(candidates, &query, &asked)
    }

    /// Returns the memories of the session-start block, most valuable first. They are slightly more than fit the
    /// budget, so that the caller can choose; the caller enforces the budget.
    pub fn start(&self, now: Timestamp, budget_tokens: u32) -> Recalled {
        let mut recalled = self.new_answer();
        // Reading the record and file stamp of each memory is most of the cost of this hook, so reading stops early.
        let mut room = budget_tokens as usize * 4 * START_SURPLUS_PERCENT / 100;
        for at in self.sources.start_plan(now) {
            if recalled.hits.len() >= START_MAX || room == 0 {
                break;
            }
            let Some(candidate) = Candidate::find(&self.sources, at) else { continue };
            if candidate.entry.has(FLAG_SAID) || candidate.entry.has(FLAG_HELD) {
                continue;
            }
            if let Ok(hit) = self.read(&candidate, now, &mut recalled)
                && !hit.held
            {
                let standing = Standing::of_entry(&candidate.entry);
                let standing = standing
                    .map(|standing| Standing { from_repository: hit.from_repository, ..standing });
                let group = standing.as_ref().and_then(StartGroup::of);
                if hit.from_repository && group.is_none() {
                    continue;
                }
                let told = (hit.title.len() + hit.text.len()).min(BRIEF_CHARS);
                room = room.saturating_sub(START_LINE + told);
                let why = group.map_or("", StartGroup::why).to_owned();
                let score = standing.map_or(0.0, |standing| worth(&standing, self.settings(), now));
                recalled.hits.push(Hit { why, score, ..hit });
            }
        }
        put_notes_behind(&mut recalled.hits);
        self.finish(recalled)
    }

    /// Returns memories or passages for an explicit search, without the gate.
    pub fn search(&self, search: &Search, now: Timestamp) -> Recalled {
        let recalled = tiers::search(self, search, now);
        self.finish(recalled)
    }

    /// Returns the passage or passed command with an id, for example from a receipt.
    pub fn passage(&self, id: MemoryId) -> Option<Hit> {
        let passage = passages::search::passage(&self.sources, id);
        passage.or_else(|| passed_commands::of_id(&self.commands, id))
    }

    /// Returns how much the files of a memory have changed since it was learned. Returns `None` if the change is small,
    /// or if it was not measured after the memory was last written.
    pub fn staleness(&self, id: MemoryId) -> Option<Staleness> {
        let at = self.sources.find(id)?;
        let entry = self.sources.entry(at).filter(|entry| entry.has(FLAG_STALE))?;
        self.sources.record(at, &entry).ok()?.staleness
    }

    /// Returns the age of an indexed memory.
    pub fn age(&self, id: MemoryId, now: Timestamp) -> Option<Age> {
        let at = self.sources.find(id)?;
        let entry = self.sources.entry(at)?;
        let record = self.sources.record(at, &entry).ok()?;
        Some(self.age_of(&entry, &record, now))
    }

    /// Returns whether an earlier hit may be returned again: a memory that may still be injected, or a passage that was
    /// not removed.
    pub fn is_still_there(&self, id: MemoryId, now: Timestamp) -> bool {
        self.memory(id, now).is_some() || passages::passage::is_there(&self.sources, id)
    }

    /// Returns candidates for a prompt: those that match its words, and those about the paths that it names.
    fn for_prompt(&self, query: &Query, found: FoundTerms<'_>, now: Timestamp) -> Vec<Candidate> {
        let mut candidates = score::candidates_of(&self.sources, query, found, now);
        exact::add(&self.sources, query, &mut candidates);
        let may_answer = |at| self.may_answer(at, now);
        exact::add_warnings(
            &self.sources,
            query,
            &mut candidates,
            Kind::is_of_failure,
            &may_answer,
        );
        gate::ease(&mut candidates, gate::PROMPT_EASE);
        candidates
    }

    fn scored(&self, query: &Query, now: Timestamp) -> Vec<Candidate> {
        score::candidates(&self.sources, query, now)
    }

    /// Turns candidates into hits: sorts them, applies the gate, and removes near-duplicates, weak candidates and those
    /// beyond the number of places.
    fn answer(
        &self,
        mut candidates: Vec<Candidate>,
        query: &Query,
        asked: &Conditions<'_>,
    ) -> Recalled {
        if self.sources.docs() == 0 {
            return self.silent(SilenceReason::Empty);
        }
        if candidates.is_empty() {
            let no_words = query.terms.is_empty();
            return self.silent(if no_words {
                SilenceReason::NoWords
            } else {
                SilenceReason::NoCandidate
            });
        }
        score::sort(&mut candidates);
        let is_open = !asked.gated || gate::is_open(&candidates, &|held| self.is_held(held));
        let asked = &Conditions { is_open, ..*asked };
        let mut recalled = self.new_answer();
        let mut kept = Kept::default();
        let (mut best, mut left_out) = (None, None);
        let mut reads = 0;
        for candidate in &candidates {
            let mut outcome = self.outcome(candidate, best, recalled.hits.len(), asked);
            let mut instead = None;
            let is_given = recalled.hits.iter().any(|hit| hit.id == candidate.entry.id);
            if outcome == CandidateOutcome::Skipped {
                recalled.given_before = true;
                // A memory shown before still defines the best score. Otherwise each repetition of a question would
                // return weaker hits.
                best.get_or_insert(candidate.fused);
            }
            if outcome == CandidateOutcome::Hit && !is_given && reads < READ_MAX {
                reads += 1;
                match self.hit(candidate, query, asked, &mut recalled) {
                    Err(cut) => outcome = cut,
                    Ok(hit) => {
                        let beside = made_of(&hit, &recalled.hits, asked.skip);
                        let better = beside.or_else(|| kept.duplicate_of(&recalled.hits, &hit));
                        if let Some(better) = better {
                            (outcome, instead) = (CandidateOutcome::Duplicate, Some(better));
                        } else {
                            best.get_or_insert(candidate.fused);
                            if hit.id != candidate.entry.id {
                                (outcome, instead) = (CandidateOutcome::Superseded, Some(hit.id));
                            }
                            recalled.hits.push(hit);
                        }
                    }
                }
            }
            if candidate.passes()
                && !matches!(outcome, CandidateOutcome::Hit | CandidateOutcome::Gate)
            {
                left_out.get_or_insert(outcome);
            }
            if self.traces {
                recalled.trace.push(trace::of(&self.sources, candidate, query, outcome, instead));
            }
        }
        if recalled.hits.is_empty() {
            // An earlier version of a memory that was given is no reason of its own.
            let left_out = match recalled.given_before {
                true => left_out.map(|_| CandidateOutcome::Skipped),
                false => left_out,
            };
            recalled.silent = Some(left_out.map_or(SilenceReason::Gate, SilenceReason::LeftOut));
        }
        self.finish(recalled)
    }

    fn outcome(
        &self,
        candidate: &Candidate,
        best: Option<f32>,
        hits: usize,
        asked: &Conditions<'_>,
    ) -> CandidateOutcome {
        // A warning about a command matches by only the name of the command, so it needs no gate.
        let gated = asked.gated && !candidate.warns();
        if candidate.entry.has(FLAG_SAID) {
            CandidateOutcome::Said
        } else if candidate.entry.has(FLAG_HELD) || candidate.is_proposed_synthesis() {
            CandidateOutcome::Held
        } else if gated && !(asked.is_open && gate::follows(candidate)) {
            CandidateOutcome::Gate
        } else if gated && best.is_some_and(|best| candidate.fused < best * CUT) {
            CandidateOutcome::Cut
        } else if hits >= asked.places {
            CandidateOutcome::Full
        } else if (asked.skip)(candidate.entry.id) {
            CandidateOutcome::Skipped
        } else {
            CandidateOutcome::Hit
        }
    }

    /// Converts a candidate to a hit for the same memory, or for its current successor. Returns the reason as an error
    /// if there is no hit.
    fn hit(
        &self,
        candidate: &Candidate,
        query: &Query,
        asked: &Conditions<'_>,
        recalled: &mut Recalled,
    ) -> Result<Hit, CandidateOutcome> {
        let hit = self.read(candidate, asked.now, recalled)?;
        if hit.held {
            return Err(CandidateOutcome::Held);
        }
        if !hit.superseded {
            return Ok(Hit { why: candidate.why(query), ..hit });
        }
        let (entry, current) = match self.current(&hit, asked.now, recalled) {
            Successor::Is(current) => *current,
            Successor::Expired => return Ok(holding_again(hit, candidate.why(query))),
            Successor::Unknown => return Err(CandidateOutcome::Superseded),
        };
        if entry.has(FLAG_SAID) || current.held || (asked.skip)(current.id) {
            return Err(CandidateOutcome::Superseded);
        }
        Ok(Hit { score: hit.score, ..current })
    }
}

/// Returns the hit, or the memory that the session was given before, which a synthesis would repeat, or which is the
/// synthesis of this hit.
fn made_of(hit: &Hit, hits: &[Hit], given: &dyn Fn(MemoryId) -> bool) -> Option<MemoryId> {
    let repeats =
        |other: &&Hit| hit.made_from.contains(&other.id) || other.made_from.contains(&hit.id);
    let earlier = hit.made_from.iter().copied().find(|id| given(*id));
    hits.iter().find(repeats).map(|other| other.id).or(earlier)
}

/// Parameters of a recall besides the query.
#[derive(Clone, Copy)]
struct Conditions<'a> {
    places: usize,
    /// True if only helpful hits are returned; false if all matches are.
    gated: bool,
    /// True if the gate is open, because the query is about a subject of the store.
    is_open: bool,
    now: Timestamp,
    skip: &'a dyn Fn(MemoryId) -> bool,
}

/// Moves each note by Claude behind a statement of the user in nearly the same words. If the two differ in an
/// exception, a model follows the one that it reads first.
fn put_notes_behind(hits: &mut Vec<Hit>) {
    let is_users = |hit: &Hit| !hit.noted && matches!(hit.said_by, None | Some(SaidBy::User));
    // Only notes are compared with other titles, because most session starts have no notes.
    let place = |(at, hit): (usize, &Hit)| {
        let is_same = |user: &Hit| is_users(user) && likeness(&user.title, &hit.title) >= SAME;
        let users = hit.noted.then(|| hits.iter().rposition(is_same)).flatten();
        users.filter(|user| *user > at).map_or((at, false), |user| (user, true))
    };
    let places: Vec<_> = hits.iter().enumerate().map(place).collect();
    let mut placed: Vec<_> = places.into_iter().zip(std::mem::take(hits)).collect();
    placed.sort_by_key(|(place, _)| *place);
    hits.extend(placed.into_iter().map(|(_, hit)| hit));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synthesis_is_not_returned_beside_what_it_was_made_from() {
        let [one, other, synthesis] = [1, 2, 3].map(|byte| MemoryId([byte; 16]));
        let hit = |id, made_from: &[MemoryId]| Hit {
            id,
            made_from: made_from.to_vec(),
            ..Hit::of_session(id, Kind::Fact, Timestamp(0))
        };
        let (of_one, part) = (hit(synthesis, &[one]), hit(one, &[]));
        let never = |_| false;
        assert_eq!(made_of(&of_one, std::slice::from_ref(&part), &never), Some(one));
        assert_eq!(made_of(&part, std::slice::from_ref(&of_one), &never), Some(synthesis));
        assert_eq!(made_of(&of_one, &[], &|id| id == one), Some(one), "it was given before");
        assert_eq!(made_of(&of_one, &[hit(other, &[])], &never), None);
    }
}
