//! The open sources of a working tree and its user, and reading of candidates: the basis of all kinds of recall.

use std::cell::{OnceCell, RefCell};
use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use super::hit::{Hit, Recalled, SilenceReason};
use super::sources::{Asker, At, Collection, Sources};
use crate::custom_embedder::Ask;
use crate::embed::{Embed, SharedTransformer, Table, Transformer};
use crate::index::journal::KnownJournals;
use crate::index::record::{Entry, FLAG_HELD, FLAG_STALE, FLAG_SUPERSEDED, Record};
use crate::query::Query;
use crate::rank::candidate::Candidate;
use crate::rank::nearest::Probe;
use crate::rank::second_space::Asking;
use crate::rank::start_rank::Age;
use crate::rank::trace::CandidateOutcome;
use memory_store_base::error::Error;
use memory_store_base::fs::file_stamp::{Stamp, Stamps};
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::layout::{Tree, UserDirs};
use memory_store_base::memory::Status;
use memory_store_base::settings::Settings;
use memory_store_base::succession::STEPS_MAX;
use memory_store_base::time::Timestamp;

/// Recalls memories of one working tree and of its user.
#[derive(Debug)]
pub struct Recall {
    pub(crate) sources: Sources,
    /// File with the commands that succeeded in sessions.
    pub(crate) commands: PathBuf,
    /// Folder of the embedder's files, if known.
    pub(crate) models: Option<PathBuf>,
    /// Transformer shared with other users in this process. Without one, the transformer is opened on demand.
    pub shared: Option<Arc<SharedTransformer>>,
    /// Encoder that is kept open between queries. The token table is not kept, because reading it again is cheap and
    /// its memory can be used for other purposes in the meantime.
    pub(crate) embedder: OnceCell<Box<dyn Embed>>,
    /// The last text and its vector by the table, because memories and passages use the same query.
    pub(crate) asked: RefCell<Option<(String, Probe)>>,
    /// Source of vectors of the second space, if enabled.
    pub(crate) second: Option<Asking>,
    pub(crate) stamps: Stamps,
    /// True if the trace of every query is returned in [`Recalled::trace`].
    pub traces: bool,
    /// True if expired memories are returned too, with the end of their validity.
    pub expired: bool,
    /// Reader of the memories.
    pub asker: Asker,
}

impl Recall {
    /// Opens the index of this tree, or of the main tree if this one has none, and the user's own index. A process with
    /// frequent queries passes its cached journals as `known`. Read errors are returned in every answer in
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
            asker: Asker::Person,
        }
    }

    /// Enables the second space, if there is one. `ask` returns the vectors of queries. Problems are reported once, in
    /// [`Recalled::notes`].
    #[must_use]
    pub fn with_second(mut self, ask: Box<dyn Ask>) -> Self {
        self.second = Some(Asking::new(ask));
        self
    }

    /// Excludes documents that are later than this time.
    pub fn as_of(mut self, until: Timestamp) -> Self {
        self.sources.until = Some(until);
        self
    }

    /// Returns the settings that were in effect when the index was published.
    pub fn settings(&self) -> &Settings {
        &self.sources.settings
    }

    /// Returns whether the user's settings file has changed since the index was published.
    pub fn is_outdated(&self) -> bool {
        self.sources.is_outdated
    }

    /// Returns the first error that occurred while opening the sources; `None` if there was none.
    pub fn degraded(&self) -> Option<&str> {
        self.sources.degraded.as_deref()
    }

    /// Returns the number of searchable memories.
    pub fn memories(&self) -> u32 {
        self.sources.docs()
    }

    /// Returns a query with its vector. If there is none, only the words are used.
    pub(crate) fn with_vector(&self, query: Query, sources: &Sources) -> Query {
        Query { probe: self.probe(&query.text, sources), ..query }
    }

    /// Returns a query with its similarities in the second space, if that space is enabled.
    pub(crate) fn with_likenesses(&self, query: Query) -> Query {
        let asking = self.second.as_ref();
        let likenesses = asking.and_then(|asking| asking.likenesses(&self.sources, &query.text));
        Query { likenesses, ..query }
    }

    pub(crate) fn probe(&self, text: &str, sources: &Sources) -> Option<Probe> {
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

    pub(crate) fn embed(&self, embedder: &dyn Embed, text: &str) -> Option<Probe> {
        let vector = embedder.embed(text).unwrap_or_else(|error| {
            self.sources.note(&error);
            None
        });
        Some(Probe { space: embedder.space(), vector: vector? })
    }

    /// Opens the token table; `None` if it is not installed or the sources have no vectors.
    pub(crate) fn open_table(&self, sources: &Sources) -> Option<Table> {
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

    /// Makes later queries use the transformer, if it is installed and the sources have vectors, because explicit
    /// search may take milliseconds.
    pub(crate) fn open_transformer(&self, sources: &Sources) {
        if self.embedder.get().is_some() {
            return;
        }
        let models = self.models.as_deref().filter(|_| sources.have_vectors());
        let open = |dir| match &self.shared {
            Some(shared) => shared.get(dir),
            None => Transformer::open(dir).map(Arc::new),
        };
        match models.map(open) {
            Some(Ok(transformer)) => drop(self.embedder.set(Box::new(transformer))),
            // A missing model is not an error.
            Some(Err(error)) if self.open_table(sources).is_some() => self.sources.note_text(|| {
                let error = match error {
                    // The message of this variant contains advice about all models, so only its first part is used.
                    Error::Model { path, message } => format!("{}: {message}", path.display()),
                    error => error.to_string(),
                };
                format!(
                    "{error}; asked with the quicker table instead, `throughline doctor` says more"
                )
            }),
            Some(Err(_)) | None => {}
        }
    }

    /// Returns the current successor of a superseded memory, or the first withheld memory in the chain: its author also
    /// chose the successors, so the chain is not followed further.
    pub(crate) fn current(&self, hit: &Hit, now: Timestamp, recalled: &mut Recalled) -> Successor {
        let mut next = hit.superseded_by;
        for _ in 0..STEPS_MAX {
            let found = next.and_then(|next| self.sources.find(next));
            let Some((at, entry)) = found.and_then(|at| Some((at, self.sources.entry(at)?))) else {
                // At the requested time, the memory was not superseded yet.
                let is_later = found.is_some_and(|at| self.sources.is_later(at));
                return if is_later { Successor::Expired } else { Successor::Unknown };
            };
            let candidate = Candidate::new(at, entry);
            let current = match self.read(&candidate, now, recalled) {
                Ok(current) => current,
                // The successor expired after the index was published. It supersedes nothing, but its own successor
                // may.
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

    /// Returns whether a memory is neither withheld nor expired.
    pub(crate) fn may_answer(&self, at: At, now: Timestamp) -> bool {
        let Some(candidate) = self.sources.entry(at).map(|entry| Candidate::new(at, entry)) else {
            return false;
        };
        let record = self.sources.record(at, &candidate.entry);
        !self.is_held(&candidate) && record.is_ok_and(|record| !record.is_expired(now))
    }

    /// Reads the printed fields of a candidate, and checks whether it may still be shown. Returns the reason as an
    /// error if it may not.
    pub(crate) fn read(
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
        if !self.is_for_asker(candidate.at, &record) {
            return Err(CandidateOutcome::OtherAgent);
        }
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
        let age = match collection.is_of_sessions() {
            true => Age::Fresh,
            false => self.age_of(&candidate.entry, &record, now),
        };
        Ok(Hit { held, undecided, expired, age, ..hit(candidate, record, file, collection) })
    }

    /// Returns the age of a memory, of which evidence that it is out of date is a part.
    pub(crate) fn age_of(&self, entry: &Entry, record: &Record, now: Timestamp) -> Age {
        let renewed = record.renewed.unwrap_or(entry.when);
        match entry.kind_of() {
            _ if entry.has(FLAG_STALE) => Age::Stale,
            Some(kind) => Age::of(kind, renewed, &self.sources.settings, now),
            None => Age::Fresh,
        }
    }

    /// Returns the other memories of a memory's undecided pairs, with their titles. Withheld memories are not included.
    pub(crate) fn undecided(&self, id: MemoryId, record: &Record) -> Vec<(MemoryId, String)> {
        let read = |other: MemoryId| {
            let at = self.sources.find(other)?;
            let candidate = Candidate::new(at, self.sources.entry(at)?);
            let record = self.sources.record(at, &candidate.entry).ok()?;
            (!self.holds(&candidate, &record) && self.is_for_asker(at, &record)).then_some(record)
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

    /// Returns whether the reader may read a document: the document belongs to no subagent or to the one that asks, or
    /// is a part of a session.
    pub(crate) fn is_for_asker(&self, at: At, record: &Record) -> bool {
        record.agent.as_deref().is_none_or(|agent| {
            self.asker.may_read(agent) || self.sources.collection(at).is_of_sessions()
        })
    }

    /// Returns whether a memory is held, as far as is known so far.
    pub(crate) fn holds(&self, candidate: &Candidate, record: &Record) -> bool {
        candidate.entry.has(FLAG_HELD)
            || self.sources.holds_unreleased(candidate.at) && record.from_repository
    }

    /// Returns whether a candidate is withheld, before its record is read. If the index decides, nothing is read.
    pub(crate) fn is_held(&self, candidate: &Candidate) -> bool {
        if !self.sources.holds_unreleased(candidate.at) {
            return candidate.entry.has(FLAG_HELD);
        }
        let Ok(record) = self.sources.record(candidate.at, &candidate.entry) else { return true };
        self.holds(candidate, &record)
    }

    pub(crate) fn new_answer(&self) -> Recalled {
        Recalled {
            degraded: self.sources.degraded.clone(),
            outdated: self.sources.is_outdated,
            ..Recalled::default()
        }
    }

    pub(crate) fn silent(&self, reason: SilenceReason) -> Recalled {
        self.finish(Recalled { silent: Some(reason), ..self.new_answer() })
    }

    /// Adds to an answer the damage that was found while reading for this query.
    pub(crate) fn finish(&self, mut recalled: Recalled) -> Recalled {
        if recalled.degraded.is_none() {
            recalled.degraded = self.sources.damage.borrow().clone();
        }
        recalled.notes.extend(self.second.as_ref().and_then(Asking::problem));
        recalled
    }
}

/// Successor of a superseded memory.
pub(crate) enum Successor {
    /// The successor that is valid now.
    Is(Box<(Entry, Hit)>),
    /// There is none, because the successor expired or is later than the requested time.
    Expired,
    /// The successor cannot be returned.
    Unknown,
}

/// Converts a candidate and its record to a hit.
pub(crate) fn hit(
    candidate: &Candidate,
    record: Record,
    file: PathBuf,
    collection: Collection,
) -> Hit {
    let entry = &candidate.entry;
    Hit {
        id: entry.id,
        kind: entry.kind_of().unwrap_or(Kind::Fact),
        date: record.date(),
        title: record.title,
        text: record.text,
        paths: record.paths,
        tags: record.tags,
        topic: record.topic,
        scope: record.scope,
        agent: record.agent.filter(|_| !collection.is_of_sessions()),
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
        made_from: record.made_from,
        age: Age::Fresh,
        signatures: record.signatures,
        session: record.session,
        turn: record.turn,
    }
}
