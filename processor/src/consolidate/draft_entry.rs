//! A draft during consolidation.

use memory_store::memory::{CUES_MAX, Entity, Fact};
use memory_store::neighbour::Statement;
use memory_store::text::folded_title;
use memory_store::{MemoryId, ProjectId};

use crate::extract::draft::{Draft, PATHS_MAX};

/// A draft during consolidation, with related drafts.
#[derive(Clone, Debug)]
pub(super) struct DraftEntry {
    pub draft: Draft,
    /// Sessions in which this content occurs, without duplicates.
    pub sessions: Vec<String>,
    /// Other drafts whose content this entry includes, by the ids that their memories would have.
    pub merged: Vec<MemoryId>,
    /// Memories that this entry contradicts.
    pub contradicts: Vec<MemoryId>,
    /// Index of the entry that replaces this one.
    pub superseded_by: Option<usize>,
}

impl DraftEntry {
    pub fn new(draft: Draft) -> Self {
        Self {
            sessions: vec![draft.session.clone()],
            draft,
            merged: Vec::new(),
            contradicts: Vec::new(),
            superseded_by: None,
        }
    }

    /// Returns whether the words of the later equal entry `other` replace those of this entry. They do not if `other`
    /// is less important or much shorter.
    pub fn is_retold_by(&self, other: &Self) -> bool {
        let importance = |draft: &Draft| draft.importance.unwrap_or_default();
        let leaves_out = (other.text().len() as f32) < RETOLD_SHARE * self.text().len() as f32;
        importance(&other.draft) + RETOLD_SLACK >= importance(&self.draft) && !leaves_out
    }

    /// Merges an equal entry. If `retells` is true, the words of `other` are used.
    pub fn unite(&mut self, other: Self, retells: bool) {
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

    pub fn statement(&self) -> Statement {
        self.draft.statement()
    }

    /// Returns the title and the body of the draft.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.draft.title, self.draft.body)
    }

    /// Merges the sources, files, names and confidence of another draft about the same thing.
    fn merge(&mut self, other: &Draft) {
        let again = !self.sessions.contains(&other.session);
        if again {
            self.sessions.push(other.session.clone());
            self.draft.confidence = surer(self.draft.confidence, other.confidence);
        }
        self.draft.standing |= other.standing;
        // A wish that both the rules and a model found is attributed to the model, so that it does not become pending.
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

/// Minimum length of the later text as a fraction of the earlier text. A shorter text probably omits something.
const RETOLD_SHARE: f32 = 0.9;

/// Maximum amount by which the importance of the later entry may be lower.
const RETOLD_SLACK: f32 = 0.1;

/// Increase of a draft's worth if another session repeats it.
const REPEAT_GAIN: f32 = 0.5;

/// Maximum confidence, which is below certainty.
const CONFIDENCE_MAX: f32 = 0.95;

/// Fraction of a repetition's confidence that counts, because both sessions may have made the same mistake.
const REPEAT_SHARE: f32 = 0.5;

/// Maximum numbers of items in a merged memory.
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

/// Adds the names of another draft, without duplicates, regardless of their types. A missing type is filled in.
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

/// Adds the facts of another draft, without duplicates. A missing date is filled in.
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

/// Returns the id that the memory of a draft would have.
pub fn memory_id(project: ProjectId, draft: &Draft) -> MemoryId {
    let evidence = draft.turns.first().map_or("", String::as_str);
    MemoryId::derived(draft.occurred, project, draft.kind, evidence, draft.ordinal)
}

/// Returns whether a language model wrote a draft.
pub(super) fn is_of_model(draft: &Draft) -> bool {
    draft.importance.is_some()
}
