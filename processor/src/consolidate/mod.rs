//! Consolidation: from all drafts of a project to the memories that stand for them.
//!
//! A pure function of the complete set of drafts. It sorts before it does anything, so the result
//! does not depend on which session was processed first, or in how many runs.

mod distinct;
mod importance;
pub mod near;
pub mod relation;
mod same;
mod supersede;
pub mod touched;

use memory_store::memory::{CUES_MAX, Entity, Fact, PathRef, Source, Status};
use memory_store::neighbour::{CONTRADICTS, Statement};
use memory_store::settings::Settings;
use memory_store::text::folded_title;
use memory_store::{Kind, Memory, MemoryId, ProjectId};

use crate::extract::draft::{Draft, PATHS_MAX};

pub use relation::{Relation, Relations};

/// Drafts mined from one session, its subagents apart or together.
#[derive(Clone, Debug, Default)]
pub struct Mined {
    /// The session.
    pub session: String,
    /// Windows that a model was asked about; 0 without one.
    pub windows: usize,
    /// Drafts that were found in it.
    pub drafts: Vec<Draft>,
}

/// A draft on its way to becoming a memory, with what others say about it.
#[derive(Clone, Debug)]
struct DraftEntry {
    draft: Draft,
    /// Sessions that say so, each once.
    sessions: Vec<String>,
    /// Other drafts that it tells, by the ids of the memories that they would be.
    merged: Vec<MemoryId>,
    /// Memories that it contradicts.
    contradicts: Vec<MemoryId>,
    /// The entry that says it newer, by index.
    superseded_by: Option<usize>,
}

impl DraftEntry {
    fn new(draft: Draft) -> Self {
        Self {
            sessions: vec![draft.session.clone()],
            draft,
            merged: Vec::new(),
            contradicts: Vec::new(),
            superseded_by: None,
        }
    }

    /// Whether the later words of an entry that tells the same stand: unless they matter less or leave much out.
    fn is_retold_by(&self, other: &Self) -> bool {
        let importance = |draft: &Draft| draft.importance.unwrap_or_default();
        let leaves_out = (other.text().len() as f32) < RETOLD_SHARE * self.text().len() as f32;
        importance(&other.draft) + RETOLD_SLACK >= importance(&self.draft) && !leaves_out
    }

    /// Takes in an entry that tells the same, in its words if it `retells`.
    fn unite(&mut self, other: Self, retells: bool) {
        if retells {
            self.draft.title.clone_from(&other.draft.title);
            self.draft.body.clone_from(&other.draft.body);
        }
        for session in other.sessions.iter().skip(1) {
            if !self.sessions.contains(session) {
                self.sessions.push(session.clone());
            }
        }
        self.merged.extend(other.merged);
        self.merge(&other.draft);
    }

    fn statement(&self) -> Statement {
        self.draft.statement()
    }

    /// Its title and body.
    fn text(&self) -> String {
        format!("{}\n{}", self.draft.title, self.draft.body)
    }

    /// Takes in another draft of the same thing: where it was seen, its files, words and sureness.
    fn merge(&mut self, other: &Draft) {
        let again = !self.sessions.contains(&other.session);
        if again {
            self.sessions.push(other.session.clone());
            self.draft.confidence = surer(self.draft.confidence, other.confidence);
        }
        self.draft.standing |= other.standing;
        // A wish that rules found as well is the model's: that is not held.
        if !is_of_model(&self.draft) && is_of_model(other) {
            self.draft.extractor.clone_from(&other.extractor);
        }
        if other.importance > self.draft.importance {
            self.draft.importance = other.importance;
        }
        unite(&mut self.draft.paths, &other.paths, PATHS_MAX);
        unite(&mut self.draft.cues, &other.cues, CUES_MAX);
        unite(&mut self.draft.tags, &other.tags, TAGS_MAX);
        unite_entities(&mut self.draft.entities, &other.entities);
        unite_facts(&mut self.draft.facts, &other.facts);
        if self.draft.topic.is_none() {
            self.draft.topic.clone_from(&other.topic);
        }
        unite(&mut self.draft.signatures, &other.signatures, SIGNATURES_MAX);
        unite(&mut self.draft.turns, &other.turns, TURNS_MAX);
        self.draft.worth =
            self.draft.worth.max(other.worth) + if again { REPEAT_GAIN } else { 0.0 };
    }
}

/// Share of the length of a text that later words of the same thing have at least; shorter ones leave something out.
const RETOLD_SHARE: f32 = 0.9;

/// Importance that later words of the same thing may lack.
const RETOLD_SLACK: f32 = 0.1;

/// Worth that a memory gains by being said or seen again in another session.
const REPEAT_GAIN: f32 = 0.5;

/// Sureness never reaches certainty.
const CONFIDENCE_MAX: f32 = 0.95;

/// How much of a repetition's sureness counts: the same mistake can be made twice.
const REPEAT_SHARE: f32 = 0.5;

/// Bounds of what a memory unites.
const TAGS_MAX: usize = 10;
const SIGNATURES_MAX: usize = 8;
const TURNS_MAX: usize = 12;
const ENTITIES_MAX: usize = 8;
const FACTS_MAX: usize = 6;

fn surer(one: f32, other: f32) -> f32 {
    (1.0 - (1.0 - one) * (1.0 - other * REPEAT_SHARE)).min(CONFIDENCE_MAX).max(one)
}

fn unite(into: &mut Vec<String>, from: &[String], max: usize) {
    for item in from {
        if into.len() < max && !into.contains(item) {
            into.push(item.clone());
        }
    }
}

/// Adds the names of another draft, each once whatever its type; a type is taken where there was none.
fn unite_entities(into: &mut Vec<String>, from: &[String]) {
    for item in from {
        let new = Entity::read(item);
        let name = folded_title(&new.name);
        let is_same = |known: &String| folded_title(&Entity::read(known).name) == name;
        match into.iter().position(is_same) {
            Some(at) => {
                let known = Entity::read(&into[at]);
                let of_type = known.of_type.or(new.of_type);
                into[at] = Entity { of_type, ..known }.to_string();
            }
            None if into.len() < ENTITIES_MAX => into.push(item.clone()),
            None => {}
        }
    }
}

/// Adds the facts of another draft, each once; a date is taken where there was none.
fn unite_facts(into: &mut Vec<Fact>, from: &[Fact]) {
    let parts =
        |fact: &Fact| [&fact.subject, &fact.predicate, &fact.object].map(|it| folded_title(it));
    for new in from {
        match into.iter().position(|known| parts(known) == parts(new)) {
            Some(at) => into[at].from = into[at].from.or(new.from),
            None if into.len() < FACTS_MAX => into.push(new.clone()),
            None => {}
        }
    }
}

/// Returns the drafts of a project that count, each once, in the order of their time.
pub fn ordered<'a>(mined: &'a [Mined], settings: &Settings) -> Vec<&'a Draft> {
    let mut drafts: Vec<&Draft> = mined.iter().flat_map(|mined| &mined.drafts).collect();
    if !settings.kinds.is_empty() {
        drafts.retain(|draft| settings.kinds.contains(&draft.kind));
    }
    drafts.sort_by(|a, b| order(a).cmp(&order(b)));
    drafts.dedup_by(|a, b| order(a) == order(b));
    drafts
}

/// Whether a language model wrote a draft.
fn is_of_model(draft: &Draft) -> bool {
    draft.importance.is_some()
}

/// Returns the memories that all drafts of a project amount to, in the order of their time. `relations` are what a model
/// answered about drafts.
pub fn consolidate(
    project: ProjectId,
    mined: &[Mined],
    settings: &Settings,
    relations: &Relations,
) -> Vec<Memory> {
    let drafts = ordered(mined, settings).into_iter().cloned();
    let windows = mined.iter().map(|mined| mined.windows).sum();
    let entries = relations.unite(project, drafts.map(DraftEntry::new).collect());
    let mut entries = same::merge(project, entries);
    relations.leave_out_kept(project, &mut entries);
    relations.leave_out_overtaken(project, &mut entries);
    let (of_model, of_rules): (Vec<DraftEntry>, Vec<DraftEntry>) =
        entries.into_iter().partition(|entry| is_of_model(&entry.draft));
    let mut entries = of_rules;
    entries.extend(importance::choose(of_model, windows));
    entries.sort_by(|a, b| order(&a.draft).cmp(&order(&b.draft)));
    supersede::mark(project, &mut entries, &relations.asked);
    relations.mark(project, &mut entries);
    distinct::titles(&mut entries);
    memories(project, entries)
}

/// Returns the key that puts drafts in one order, whatever order they came in.
fn order(draft: &Draft) -> (i64, &str, &str, Kind, u32, &str) {
    let first = draft.turns.first().map_or("", String::as_str);
    (
        draft.occurred.0,
        draft.session.as_str(),
        first,
        draft.kind,
        draft.ordinal,
        draft.extractor.as_str(),
    )
}

fn memories(project: ProjectId, entries: Vec<DraftEntry>) -> Vec<Memory> {
    let ids: Vec<MemoryId> = entries.iter().map(|entry| memory_id(project, &entry.draft)).collect();
    let mut memories: Vec<Memory> =
        entries.into_iter().zip(&ids).map(|(entry, &id)| memory(id, entry, &ids)).collect();
    let links: Vec<(MemoryId, MemoryId)> =
        memories.iter().filter_map(|memory| Some((memory.id, memory.superseded_by?))).collect();
    for (old, new) in links {
        if let Some(newer) = memories.iter_mut().find(|memory| memory.id == new) {
            newer.supersedes.push(old);
        }
    }
    memories
}

/// Returns the id of the memory that a draft would be.
pub fn memory_id(project: ProjectId, draft: &Draft) -> MemoryId {
    let evidence = draft.turns.first().map_or("", String::as_str);
    MemoryId::derived(draft.occurred, project, draft.kind, evidence, draft.ordinal)
}

fn memory(id: MemoryId, entry: DraftEntry, ids: &[MemoryId]) -> Memory {
    let draft = entry.draft;
    Memory {
        id,
        kind: draft.kind,
        title: draft.title,
        body: draft.body,
        scope: draft.scope,
        created: draft.occurred,
        occurred: Some(draft.occurred),
        valid_from: None,
        valid_until: None,
        // Two digits are all that rules can know, and all that a file shows.
        confidence: (draft.confidence * 100.0).round() / 100.0,
        source: Source {
            session: Some(draft.session),
            turns: draft.turns,
            quote: Some(draft.quote).filter(|quote| !quote.is_empty()),
            said_by: Some(draft.said_by),
            extractor: Some(draft.extractor),
        },
        paths: draft.paths.into_iter().map(|path| PathRef { path, seen: None }).collect(),
        topic: draft.topic,
        tags: draft.tags,
        cues: draft.cues,
        entities: draft.entities,
        facts: draft.facts,
        relations: entry
            .contradicts
            .into_iter()
            .map(|to| memory_store::memory::Relation { kind: CONTRADICTS.to_owned(), to })
            .collect(),
        supersedes: Vec::new(),
        superseded_by: entry.superseded_by.and_then(|index| ids.get(index).copied()),
        pinned: false,
        status: Status::Active,
        held_for: None,
        author: None,
        signatures: draft.signatures,
        command: None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
