//! Recall: finding the memories that matter for a prompt, a file, an error, or a new session.
//!
//! Recall for hooks, MCP server, command line and evaluation, which share all its functions. A *candidate* is a
//! document that shares something with the query; ranking, collapsing and the *gate* turn candidates into *hits*. The
//! gate decides whether anything is said at all: it compares an absolute score with a threshold that was calibrated for
//! this very store.
//!
//! This crate reads indexes and makes the bytes of their files. Of files it writes the embedder's alone (`embed::build`).

mod acknowledgement;
pub mod bytes;
mod calibration;
mod candidate;
pub mod custom_embedder;
pub mod embed;
mod exact;
mod expression;
mod fallback;
mod filter;
mod follow_up;
mod gate;
pub mod index;
mod judged;
mod lexical;
mod listed;
mod misspelled;
mod near;
mod near_duplicates;
mod nearest;
pub mod passages;
mod passed_commands;
mod phrase;
mod posting_window;
mod project_name;
mod query;
mod rank;
pub mod render;
mod score;
mod search;
mod second_space;
mod session_context;
pub mod signature;
mod sources;
pub mod staleness;
pub mod start_rank;
pub mod suspicion;
mod time_expression;
mod trace;
mod typo;

pub use calibration::{background_prompts, calibrate, fingerprint};
pub use candidate::Features;
pub use follow_up::Topic;
pub use judged::Judged;
pub use listed::IndexedFile;
pub use near_duplicates::{SAME, likeness};
pub use passages::search::SESSION_CHARS_MIN;
pub use project_name::hashes as project_names;
pub use query::Query;
pub use search::{Search, Tier};
pub use time_expression::Span;
pub use time_expression::whole as time_named;
pub use trace::{CandidateOutcome, Traced};

use std::cell::{OnceCell, RefCell};
use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use crate::custom_embedder::Ask;
use crate::embed::SharedTransformer;
use crate::embed::{Embed, Table};
use crate::index::journal::KnownJournals;
use crate::index::read_manifest;
use crate::index::record::{
    Entry, FLAG_HELD, FLAG_PATHS_ONLY, FLAG_PINNED, FLAG_SAID, FLAG_STALE, FLAG_SUPERSEDED, Record,
};
use crate::staleness::Staleness;
use candidate::Candidate;
use follow_up::Followed;
use lexical::Found;
use memory_store_base::error::Error;
use memory_store_base::fs::file_stamp::{Stamp, Stamps};
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::layout::{Tree, TreeDir, UserDirs};
use memory_store_base::memory::{SaidBy, Status};
use memory_store_base::settings::Settings;
use memory_store_base::succession::STEPS_MAX;
use memory_store_base::time::Timestamp;
use nearest::Probe;
use render::BRIEF_CHARS;
use second_space::Asking;
use sources::{At, Sources};
use start_rank::{Standing, StartGroup, worth};

/// The share of the best score that a further memory must have.
const CUT: f32 = 0.5;
/// Candidates that are read to fill the places.
const READ_MAX: usize = 24;
/// Memories that may stand in a session-start block, before its budget cuts.
const START_MAX: usize = 64;
/// Text read for a session-start block, in percent of its budget: a text too long for the rest is passed over for
/// something shorter.
const START_SURPLUS_PERCENT: usize = 125;
/// Characters of a line in that block besides title and text: kind, id, date, a file.
const START_LINE: usize = 60;

/// A memory that was found, with all that is printed of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its name.
    pub id: MemoryId,
    /// Kind of its statement; passages count as `session`.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// The text below the title.
    pub text: String,
    /// When what it says happened.
    pub date: Timestamp,
    /// The files it is about.
    pub paths: Vec<String>,
    /// Its search words.
    pub tags: Vec<String>,
    /// Its file, absolute; empty for a passage.
    pub file: PathBuf,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Score; only comparable within one answer.
    pub score: f32,
    /// Why it was found, for people.
    pub why: String,
    /// Collection that it was found in.
    pub collection: Collection,
    /// Speaker of the statement.
    pub said_by: Option<SaidBy>,
    /// True if a model chose to save it.
    pub noted: bool,
    /// True if it waits for review.
    pub draft: bool,
    /// True if another memory replaces it; only an explicit search shows such ones.
    pub superseded: bool,
    /// Its successor, where known.
    pub superseded_by: Option<MemoryId>,
    /// The other sides of pairs that nobody decided about, with their titles: memories that it differs from, or a newer
    /// one that is given in its place.
    pub undecided: Vec<(MemoryId, String)>,
    /// Until when it held, where that is over; only who asks for such ones is given any.
    pub expired: Option<Timestamp>,
    /// True if it is in quarantine, or not released; only an explicit search shows such ones.
    pub held: bool,
    /// True if this machine did not derive, write or release it.
    pub from_repository: bool,
    /// Change of its files since it was learned, where that is much.
    pub staleness: Option<Staleness>,
    /// Error signatures, of a fix.
    pub signatures: Vec<String>,
    /// The session it comes from.
    pub session: Option<String>,
    /// Of a passage: the number of its turn in the session.
    pub turn: u32,
}

/// Collection of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// The project's memories.
    Memories,
    /// The user's own memories, which apply to every project.
    User,
    /// Passages of sessions.
    Passages,
    /// The model's thinking in turns of sessions.
    Thinking,
}

/// Why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There are no memories.
    Empty,
    /// The text has no words that could be looked for.
    NoWords,
    /// The text only acknowledges: "ok", "continue".
    Acknowledgement,
    /// Nothing shares a word with it.
    NoCandidate,
    /// The candidates share too little with it.
    Gate,
    /// Every candidate has been shown already, or its file has changed.
    Skipped,
}

/// Answer of recall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The first read error, in one line; hits come from the readable rest.
    pub degraded: Option<String>,
    /// True if a file had changed or gone since it was indexed, so that a new index is due.
    pub stale: bool,
    /// True if the user's settings changed since the index was published, so that a new one is due.
    pub outdated: bool,
    /// Notes on the query for people: corrections, and conditions that were relaxed.
    pub notes: Vec<String>,
    /// True if something that fits is held back, where that was asked for.
    pub held_back: bool,
    /// True if a memory that answers was left out because it was given before.
    pub given_before: bool,
    /// Why there are no hits.
    pub silent: Option<Reason>,
    /// Outcome of each candidate, if asked for.
    pub trace: Vec<Traced>,
}

/// Finds memories of one working tree and of its user.
#[derive(Debug)]
pub struct Recall {
    sources: Sources,
    /// File of the commands that passed in sessions.
    commands: PathBuf,
    /// Folder of the embedder's files.
    models: Option<PathBuf>,
    /// Transformer that others ask, too; without one, it is opened where it is needed.
    pub shared: Option<Arc<SharedTransformer>>,
    /// State kept open from one query to the next. The table does not: to read it again is cheap, and its memory is
    /// used for other things meanwhile.
    embedder: OnceCell<Box<dyn Embed>>,
    /// The last vector that the table made, with its text: memories and passages are asked the same.
    asked: RefCell<Option<(String, Probe)>>,
    /// Source of vectors of the second space.
    second: Option<Asking>,
    stamps: Stamps,
    /// True if a trace of every query is kept, in [`Recalled::trace`].
    pub traces: bool,
    /// True if what expired is given, too, with the time at which it did.
    pub expired: bool,
}

impl Recall {
    /// Opens the index of this tree, or of the main tree when this worktree has none, and the user's own; a process that
    /// asks often has the journals that it `known` already. Read errors are told in every answer as
    /// [`Recalled::degraded`].
    pub fn open(dirs: &UserDirs, tree: &Tree, known: Option<&KnownJournals>) -> Self {
        let sources = Sources::open(dirs, tree, known);
        let models = dirs.models.clone();
        let (embedder, stamps) = (OnceCell::new(), Stamps::default());
        Self {
            sources,
            commands: dirs.project(tree.project).commands,
            models,
            shared: None,
            embedder,
            asked: RefCell::default(),
            second: None,
            stamps,
            traces: false,
            expired: false,
        }
    }

    /// Lets the second space count, where there is one: `ask` is asked for the vectors of queries. Problems are told
    /// once, in [`Recalled::notes`].
    #[must_use]
    pub fn with_second(mut self, ask: Box<dyn Ask>) -> Self {
        self.second = Some(Asking::new(ask));
        self
    }

    /// Leaves out what happened after this time.
    pub fn as_of(mut self, until: Timestamp) -> Self {
        self.sources.until = Some(until);
        self
    }

    /// The settings in effect when the index was published.
    pub fn settings(&self) -> &Settings {
        &self.sources.settings
    }

    /// Returns whether the user's settings file is another than the one that the index was published with.
    pub fn is_outdated(&self) -> bool {
        self.sources.is_outdated
    }

    /// Why not everything can be read, if so.
    pub fn degraded(&self) -> Option<&str> {
        self.sources.degraded.as_deref()
    }

    /// Returns whether a file of the project's indexes is gone or has lost its end: one look at each. Indexes that no
    /// hook opens are included.
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

    /// Returns the number of memories that can be found.
    pub fn memories(&self) -> u32 {
        self.sources.docs()
    }

    /// Finds what helps with a prompt. It may go on with the `topic` of those before it, which becomes that of this
    /// prompt. `skip` says which memories were shown already.
    pub fn prompt(
        &self,
        text: &str,
        topic: Option<&mut Topic>,
        now: Timestamp,
        skip: &dyn Fn(MemoryId) -> bool,
    ) -> Recalled {
        let (query, found) = self.asked(text);
        if query.only_acknowledges {
            return self.silent(Reason::Acknowledgement);
        }
        let mut query = self.with_likenesses(self.with_vector(query, &self.sources));
        let before =
            topic.map_or_else(Topic::default, |topic| std::mem::replace(topic, topic.then(&query)));
        let mut candidates = self.for_prompt(&query, found, now);
        if let Some(followed) = Followed::new(&query, &before) {
            let found = Found::look_up(&self.sources, &followed.query.terms);
            let more = self.for_prompt(&followed.query, found, now);
            candidates = followed.join(candidates, more);
            query = followed.query;
        }
        let places = self.sources.settings.prompt_memories as usize;
        self.answer(candidates, &query, &Asked { places, gated: true, is_open: false, now, skip })
    }

    /// Takes a prompt apart, with its mistyped words as they were meant, and looks its terms up: none of one that only
    /// acknowledges.
    fn asked(&self, text: &str) -> (Query, Found<'_>) {
        let query = Query::prompt(text);
        let terms = if query.only_acknowledges { &[][..] } else { &query.terms };
        let found = Found::look_up(&self.sources, terms);
        let table = || self.open_table(&self.sources);
        match misspelled::respelled(&self.sources, text, terms, &found, table) {
            Some(respelled) => {
                let query = Query::prompt(&respelled);
                let found = Found::look_up(&self.sources, &query.terms);
                (query, found)
            }
            None => (query, found),
        }
    }

    /// Finds what is known about a file, given relative to the tree's root with `/`. Where it is touched for the sake of a
    /// topic, what matters to that comes first; the topic is asked only where several memories are about the file: most
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
        self.answer(candidates, &query, &Asked { places, gated: true, is_open: false, now, skip })
    }

    /// Finds the memories that help against the error of a command.
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
        // Beside what is about the very same error, likeness in meaning says nothing.
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
        // A standing wish is about how to work, and not about an error.
        let is_wish = |candidate: &Candidate| candidate.entry.kind_of().is_some_and(Kind::is_wish);
        candidates.retain(|candidate| candidate.named.is_some() || !is_wish(candidate));
        gate::ease(&mut candidates, gate::ERROR_EASE);
        gate::hold_other_fixes(&mut candidates);
        gate::open_for_near_cures(&mut candidates);
        let places = self.sources.settings.tool_memories as usize;
        self.answer(candidates, &query, &Asked { places, gated: true, is_open: false, now, skip })
    }

    /// Returns the memories of the session-start block, most valuable first: about as many as a
    /// budget of tokens can hold, and some more to choose from. The budget is the caller's to keep.
    pub fn start(&self, now: Timestamp, budget_tokens: u32) -> Recalled {
        let mut recalled = self.new_answer();
        // Each one is read and its file looked at, which is most of what such a hook does.
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

    /// Finds memories or passages for a person or a model that asked: no gate.
    pub fn search(&self, search: &Search, now: Timestamp) -> Recalled {
        let recalled = search::search(self, search, now);
        self.finish(recalled)
    }

    /// Returns a passage by its name, such as one that a receipt names.
    pub fn passage(&self, id: MemoryId) -> Option<Hit> {
        let passage = passages::search::passage(&self.sources, id);
        passage.or_else(|| passed_commands::of_id(&self.commands, id))
    }

    /// Returns the change to a memory's files since it was learned, as the index has it; `None` if that is little, or
    /// nobody looked since the memory was written.
    pub fn staleness(&self, id: MemoryId) -> Option<Staleness> {
        let at = self.sources.find(id)?;
        let entry = self.sources.entry(at).filter(|entry| entry.has(FLAG_STALE))?;
        self.sources.record(at, &entry).ok()?.staleness
    }

    /// Returns whether what was given by this name may be given again: a memory that still may be shown unasked, or a
    /// passage that nobody removed since.
    pub fn is_still_there(&self, id: MemoryId, now: Timestamp) -> bool {
        let at = self.sources.find(id);
        let candidate = at.and_then(|at| Candidate::find(&self.sources, at));
        let hit = candidate.map(|candidate| self.read(&candidate, now, &mut Recalled::default()));
        matches!(hit, Some(Ok(hit)) if !hit.held) || passages::is_there(&self.sources, id)
    }

    /// Gives a query its vector; without one it goes by words alone.
    fn with_vector(&self, query: Query, sources: &Sources) -> Query {
        Query { probe: self.probe(&query.text, sources), ..query }
    }

    /// Gives a query its likenesses in the second space, where that is asked.
    fn with_likenesses(&self, query: Query) -> Query {
        let asking = self.second.as_ref();
        let likenesses = asking.and_then(|asking| asking.likenesses(&self.sources, &query.text));
        Query { likenesses, ..query }
    }

    fn probe(&self, text: &str, sources: &Sources) -> Option<Probe> {
        if let Some(embedder) = self.embedder.get() {
            return self.embed(embedder.as_ref(), text);
        }
        if let Some((known, probe)) = &*self.asked.borrow()
            && known == text
        {
            return Some(*probe);
        }
        let probe = self.embed(&self.open_table(sources)?, text)?;
        self.asked.replace(Some((text.to_owned(), probe)));
        Some(probe)
    }

    fn embed(&self, embedder: &dyn Embed, text: &str) -> Option<Probe> {
        let vector = embedder.embed(text).unwrap_or_else(|error| {
            self.sources.note(&error);
            None
        });
        Some(Probe { space: embedder.space(), vector: vector? })
    }

    /// Opens the table, where it is installed and there is something to compare its vectors with.
    fn open_table(&self, sources: &Sources) -> Option<Table> {
        let models = self.models.as_deref().filter(|_| sources.have_vectors())?;
        match Table::open(models) {
            Ok(table) => Some(table),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                self.sources.note(&error);
                None
            }
        }
    }

    /// Returns candidates for a prompt: by its words, and by the paths that it names.
    fn for_prompt(&self, query: &Query, found: Found<'_>, now: Timestamp) -> Vec<Candidate> {
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
    fn answer(&self, mut candidates: Vec<Candidate>, query: &Query, asked: &Asked<'_>) -> Recalled {
        if self.sources.docs() == 0 {
            return self.silent(Reason::Empty);
        }
        if candidates.is_empty() {
            let no_words = query.terms.is_empty();
            return self.silent(if no_words { Reason::NoWords } else { Reason::NoCandidate });
        }
        score::sort(&mut candidates);
        let is_open = !asked.gated || gate::is_open(&candidates, &|held| self.is_held(held));
        let asked = &Asked { is_open, ..*asked };
        let mut recalled = self.new_answer();
        let mut kept = near_duplicates::Kept::default();
        let mut best = None;
        let mut reads = 0;
        for candidate in &candidates {
            let mut outcome = self.outcome(candidate, best, recalled.hits.len(), asked);
            let mut instead = None;
            let is_given = recalled.hits.iter().any(|hit| hit.id == candidate.entry.id);
            if outcome == CandidateOutcome::Skipped {
                recalled.given_before = true;
                // Memories shown before still tell how well an answer can fit: without them, each repetition of a
                // question would bring something weaker.
                best.get_or_insert(candidate.fused);
            }
            if outcome == CandidateOutcome::Hit && !is_given && reads < READ_MAX {
                reads += 1;
                match self.hit(candidate, query, asked, &mut recalled) {
                    Err(cut) => outcome = cut,
                    Ok(hit) => {
                        if let Some(better) = kept.says(&recalled.hits, &hit) {
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
            recalled.silent = Some(if passed { Reason::Skipped } else { Reason::Gate });
        }
        self.finish(recalled)
    }

    fn outcome(
        &self,
        candidate: &Candidate,
        best: Option<f32>,
        hits: usize,
        asked: &Asked<'_>,
    ) -> CandidateOutcome {
        // A trap of a command comes by its name alone.
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

    /// Turns a candidate into a hit: itself, or its current successor.
    fn hit(
        &self,
        candidate: &Candidate,
        query: &Query,
        asked: &Asked<'_>,
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

    /// The memory that holds in the place of a superseded one, or the first on the way there that is held: what
    /// comes after that, its author chose.
    fn current(&self, hit: &Hit, now: Timestamp, recalled: &mut Recalled) -> Successor {
        let mut next = hit.superseded_by;
        for _ in 0..STEPS_MAX {
            let found = next.and_then(|next| self.sources.find(next));
            let Some((at, entry)) = found.and_then(|at| Some((at, self.sources.entry(at)?))) else {
                // By then nothing had replaced it.
                let is_later = found.is_some_and(|at| self.sources.is_later(at));
                return if is_later { Successor::Expired } else { Successor::Unknown };
            };
            let candidate = Candidate::new(at, entry);
            let current = match self.read(&candidate, now, recalled) {
                Ok(current) => current,
                // Since the index was published: it replaces nothing, but what came after it may.
                Err(CandidateOutcome::Expired) => {
                    let record = self.sources.record(at, &entry).unwrap_or_default();
                    if record.is_expired(now) && record.superseded_by.is_none() {
                        return Successor::Expired;
                    }
                    next = record.superseded_by;
                    continue;
                }
                Err(_) => return Successor::Unknown,
            };
            if !current.superseded || current.held {
                let is_undecided = hit.undecided.iter().any(|(newer, _)| *newer == current.id);
                let how = if is_undecided { "differs from" } else { "replaces" };
                let why = format!("{how} \"{}\"", hit.title);
                return Successor::Is(Box::new((entry, Hit { why, ..current })));
            }
            next = current.superseded_by;
        }
        Successor::Unknown
    }

    /// Returns whether a memory is neither held nor expired.
    fn may_answer(&self, at: At, now: Timestamp) -> bool {
        let Some(candidate) = self.sources.entry(at).map(|entry| Candidate::new(at, entry)) else {
            return false;
        };
        let record = self.sources.record(at, &candidate.entry);
        !self.is_held(&candidate) && record.is_ok_and(|record| !record.is_expired(now))
    }

    /// Reads what is printed of a candidate, and whether it still may be.
    fn read(
        &self,
        candidate: &Candidate,
        now: Timestamp,
        recalled: &mut Recalled,
    ) -> Result<Hit, CandidateOutcome> {
        let record = match self.sources.record(candidate.at, &candidate.entry) {
            Ok(record) => record,
            Err(error) => {
                recalled.degraded.get_or_insert_with(|| error.to_string());
                return Err(CandidateOutcome::Stale);
            }
        };
        let too_early = record.valid_from.is_some_and(|from| from > now);
        let expired = record.valid_until.filter(|_| record.is_expired(now));
        if expired.is_some() && !self.expired || too_early {
            return Err(CandidateOutcome::Expired);
        }
        let file = self.sources.file(candidate.at, &record.file);
        let indexed = Stamp { bytes: record.file_bytes, modified_ns: record.modified_ns };
        if self.stamps.of(&file) != Some(indexed) {
            recalled.stale = true;
            return Err(CandidateOutcome::Stale);
        }
        let held = self.holds(candidate, &record);
        let undecided = self.undecided(candidate.entry.id, &record);
        let collection = self.sources.collection(candidate.at);
        Ok(Hit { held, undecided, expired, ..hit(candidate, record, file, collection) })
    }

    /// Returns the other sides of a memory's undecided pairs. One that is held is not named.
    fn undecided(&self, id: MemoryId, record: &Record) -> Vec<(MemoryId, String)> {
        let read = |other: MemoryId| {
            let at = self.sources.find(other)?;
            let candidate = Candidate::new(at, self.sources.entry(at)?);
            let record = self.sources.record(at, &candidate.entry).ok()?;
            (!self.holds(&candidate, &record)).then_some(record)
        };
        let older = record.differs_from.iter().filter_map(|&older| {
            let other = read(older)?;
            other.superseded_by.is_none_or(|by| by == id).then_some((older, other.title))
        });
        let newer = record.superseded_by.and_then(|newer| {
            let other = read(newer)?;
            other.differs_from.contains(&id).then_some((newer, other.title))
        });
        older.chain(newer).collect()
    }

    /// Returns whether a memory is held, as far as that is known of it by now.
    fn holds(&self, candidate: &Candidate, record: &Record) -> bool {
        // Without an index nobody has judged it yet, nor by settings that are stricter than they were.
        candidate.entry.has(FLAG_HELD)
            || self.sources.holds_unreleased(candidate.at) && record.from_repository
            || self.sources.is_unjudged(candidate.at) && suspicion::of_record(record).is_some()
    }

    /// Checks quarantine of a candidate that was not read yet. Where the index has judged it, nothing is read.
    fn is_held(&self, candidate: &Candidate) -> bool {
        if !self.sources.is_unjudged(candidate.at) && !self.sources.holds_unreleased(candidate.at) {
            return candidate.entry.has(FLAG_HELD);
        }
        let Ok(record) = self.sources.record(candidate.at, &candidate.entry) else { return true };
        self.holds(candidate, &record)
    }

    fn new_answer(&self) -> Recalled {
        Recalled {
            degraded: self.sources.degraded.clone(),
            outdated: self.sources.is_outdated,
            ..Recalled::default()
        }
    }

    fn silent(&self, reason: Reason) -> Recalled {
        self.finish(Recalled { silent: Some(reason), ..self.new_answer() })
    }

    /// Adds what reading for this very query showed to be damaged.
    fn finish(&self, mut recalled: Recalled) -> Recalled {
        if recalled.degraded.is_none() {
            recalled.degraded = self.sources.damage.borrow().clone();
        }
        recalled.notes.extend(self.second.as_ref().and_then(Asking::problem));
        recalled
    }
}

/// Successor of a superseded memory.
enum Successor {
    /// This memory.
    Is(Box<(Entry, Hit)>),
    /// Nothing: what replaced it held until some time that is over, or came later than what is asked about.
    Expired,
    /// Something that cannot be given.
    Unknown,
}

/// A memory that what replaced it no longer stands for.
fn holding_again(hit: Hit, why: String) -> Hit {
    Hit { superseded: false, superseded_by: None, undecided: Vec::new(), why, ..hit }
}

impl Hit {
    /// Returns evidence of a session that is no memory, without a text.
    pub(crate) fn of_session(id: MemoryId, kind: Kind, date: Timestamp) -> Self {
        Self {
            id,
            kind,
            title: String::new(),
            text: String::new(),
            date,
            paths: Vec::new(),
            tags: Vec::new(),
            file: PathBuf::new(),
            confidence: 0.0,
            score: 0.0,
            why: String::new(),
            collection: Collection::Passages,
            said_by: None,
            noted: false,
            draft: false,
            superseded: false,
            superseded_by: None,
            undecided: Vec::new(),
            expired: None,
            held: false,
            from_repository: false,
            staleness: None,
            signatures: Vec::new(),
            session: None,
            turn: 0,
        }
    }
}

/// Conditions of a question besides the query.
#[derive(Clone, Copy)]
struct Asked<'a> {
    places: usize,
    /// True if only what helps is given, and not all that was found.
    gated: bool,
    /// True if the query is about what the store knows.
    is_open: bool,
    now: Timestamp,
    skip: &'a dyn Fn(MemoryId) -> bool,
}

fn hit(candidate: &Candidate, record: Record, file: PathBuf, collection: Collection) -> Hit {
    let entry = &candidate.entry;
    Hit {
        id: entry.id,
        kind: entry.kind_of().unwrap_or(Kind::Fact),
        date: record.date(),
        title: record.title,
        text: record.text,
        paths: record.paths,
        tags: record.tags,
        file,
        confidence: entry.confidence(),
        score: candidate.fused.max(0.0),
        why: String::new(),
        collection,
        said_by: record.said_by,
        noted: record.noted,
        draft: record.status == Status::Held,
        superseded: entry.has(FLAG_SUPERSEDED),
        superseded_by: record.superseded_by,
        undecided: Vec::new(),
        expired: None,
        held: entry.has(FLAG_HELD),
        from_repository: record.from_repository,
        staleness: record.staleness,
        signatures: record.signatures,
        session: record.session,
        turn: record.turn,
    }
}

/// Returns whether a memory applies only where its paths are touched.
fn is_paths_only(candidate: &Candidate) -> bool {
    candidate.entry.has(FLAG_PATHS_ONLY)
}

/// Returns whether a person pinned it.
fn is_pinned(candidate: &Candidate) -> bool {
    candidate.entry.has(FLAG_PINNED)
}

/// Puts a note of Claude's behind what the user said in nearly the same words: of two that differ in an exception, the
/// first one is followed.
fn put_notes_behind(hits: &mut Vec<Hit>) {
    let is_users = |hit: &Hit| !hit.noted && matches!(hit.said_by, None | Some(SaidBy::User));
    // Titles are compared for notes alone: most starts have none.
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
