//! Engine: runs each kind of recall, from the query to its hits.

use crate::index::read_manifest;
use crate::index::record::{FLAG_HELD, FLAG_SAID, FLAG_STALE};
use crate::passages;
use crate::query::follow_up::{Followed, Topic};
use crate::query::{Query, misspelled};
use crate::rank::candidate::Candidate;
use crate::rank::lexical::FoundTerms;
use crate::rank::near_duplicates::{Kept, SAME, likeness};
use crate::rank::staleness::Staleness;
use crate::rank::start_rank::{Standing, StartGroup, worth};
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

/// Minimum share of the best score for further memories.
const CUT: f32 = 0.5;
/// Maximum number of candidates read to fill the places.
const READ_MAX: usize = 24;
/// Maximum number of memories in a session-start block before the budget cuts.
const START_MAX: usize = 64;
/// Text read for a session-start block, in percent of its budget. The surplus allows a shorter text to replace one that
/// is too long for the remainder.
const START_SURPLUS_PERCENT: usize = 125;
/// Estimated characters of a line in that block besides title and text: kind, id, date, a file.
const START_LINE: usize = 60;

impl Recall {
    /// Returns whether a file of the project's indexes is missing or truncated. One `stat` per file, including indexes
    /// that hooks do not open.
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

    /// Finds memories for a prompt. A follow-up also uses `topic`, the topic of the previous prompts, which is then
    /// updated. `skip` returns true for memories that were shown already.
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

    /// Takes a prompt apart, with its mistyped words as they were meant, and looks its terms up: none of one that only
    /// acknowledges.
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

    /// Finds memories about a file; `path` is relative to the tree's root with `/`. A topic moves memories related to
    /// it to the front. It is computed only if several memories match the file, because most files have none.
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

    /// Finds memories that help with a command's error.
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
        // Vector similarity adds nothing if memories about the same error exist.
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
        // Wishes apply to the way of working, not to an error.
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

    /// Ranks memories for a prompt as [`Recall::prompt`] does, and returns the best `places` of
    /// them whether or not they help: neither the gate nor the cut behind the best is applied.
    pub fn ranked(&self, text: &str, now: Timestamp, places: usize) -> Recalled {
        let (query, found) = self.asked(text);
        let query = self.with_vector(query, &self.sources);
        let candidates = self.for_prompt(&query, found, now);
        let asked = Conditions { places, gated: false, is_open: true, now, skip: &|_| false };
        self.answer(candidates, &query, &asked)
    }

    /// Returns the memories of the session-start block, most valuable first: about as many as fit the budget, and some
    /// more to choose from. The caller enforces the budget.
    pub fn start(&self, now: Timestamp, budget_tokens: u32) -> Recalled {
        let mut recalled = self.new_answer();
        // Reading each record and its file's stamp is most of the cost of this hook.
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

    /// Finds memories or passages for an explicit search: no gate.
    pub fn search(&self, search: &Search, now: Timestamp) -> Recalled {
        let recalled = tiers::search(self, search, now);
        self.finish(recalled)
    }

    /// Returns a passage by its name, for example from a receipt.
    pub fn passage(&self, id: MemoryId) -> Option<Hit> {
        let passage = passages::search::passage(&self.sources, id);
        passage.or_else(|| passed_commands::of_id(&self.commands, id))
    }

    /// Returns the recorded change of a memory's files since it was learned; `None` if the change is small or was not
    /// measured after the memory was written.
    pub fn staleness(&self, id: MemoryId) -> Option<Staleness> {
        let at = self.sources.find(id)?;
        let entry = self.sources.entry(at).filter(|entry| entry.has(FLAG_STALE))?;
        self.sources.record(at, &entry).ok()?.staleness
    }

    /// Returns whether an earlier hit may be returned again: a memory that may still be shown unasked, or a passage
    /// that was not removed.
    pub fn is_still_there(&self, id: MemoryId, now: Timestamp) -> bool {
        let at = self.sources.find(id);
        let candidate = at.and_then(|at| Candidate::find(&self.sources, at));
        let hit = candidate.map(|candidate| self.read(&candidate, now, &mut Recalled::default()));
        matches!(hit, Some(Ok(hit)) if !hit.held) || passages::passage::is_there(&self.sources, id)
    }

    /// Returns candidates for a prompt: by its words, and by the paths that it names.
    fn for_prompt(&self, query: &Query, found: FoundTerms<'_>, now: Timestamp) -> Vec<Candidate> {
        let mut candidates = score::candidates_of(&self.sources, query, found, now);
        exact::add(&self.sources, query, &mut candidates);
        exact::add_warnings(&self.sources, query, &mut candidates, &|at| self.may_answer(at, now));
        gate::ease(&mut candidates, gate::PROMPT_EASE);
        candidates
    }

    fn scored(&self, query: &Query, now: Timestamp) -> Vec<Candidate> {
        score::candidates(&self.sources, query, now)
    }

    /// Turns candidates into hits: best first, gate, collapse, cut, places.
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
        let mut best = None;
        let mut reads = 0;
        for candidate in &candidates {
            let mut outcome = self.outcome(candidate, best, recalled.hits.len(), asked);
            let mut instead = None;
            let is_given = recalled.hits.iter().any(|hit| hit.id == candidate.entry.id);
            if outcome == CandidateOutcome::Skipped {
                recalled.given_before = true;
                // Memories shown before still define the best score: without them, each repetition of a question would
                // return weaker hits.
                best.get_or_insert(candidate.fused);
            }
            if outcome == CandidateOutcome::Hit && !is_given && reads < READ_MAX {
                reads += 1;
                match self.hit(candidate, query, asked, &mut recalled) {
                    Err(cut) => outcome = cut,
                    Ok(hit) => {
                        if let Some(better) = kept.duplicate_of(&recalled.hits, &hit) {
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
            if self.traces {
                recalled.trace.push(trace::of(&self.sources, candidate, query, outcome, instead));
            }
        }
        if recalled.hits.is_empty() {
            let passed = candidates.iter().any(Candidate::passes);
            recalled.silent =
                Some(if passed { SilenceReason::Skipped } else { SilenceReason::Gate });
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
        // Traps of a command match by its name alone.
        let gated = asked.gated && !candidate.warns();
        if candidate.entry.has(FLAG_SAID) {
            CandidateOutcome::Said
        } else if candidate.entry.has(FLAG_HELD) {
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

    /// Converts a candidate to a hit: itself, or its current successor.
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

/// Parameters of a recall besides the query.
#[derive(Clone, Copy)]
struct Conditions<'a> {
    places: usize,
    /// True if only helpful hits are returned, not all matches.
    gated: bool,
    /// True if the query is about a subject of the store.
    is_open: bool,
    now: Timestamp,
    skip: &'a dyn Fn(MemoryId) -> bool,
}

/// Moves a note of Claude behind a user's statement in nearly the same words: if the two differ in an exception, a
/// model follows the first.
fn put_notes_behind(hits: &mut Vec<Hit>) {
    let is_users = |hit: &Hit| !hit.noted && matches!(hit.said_by, None | Some(SaidBy::User));
    // Titles are compared for notes only: most session starts have none.
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
