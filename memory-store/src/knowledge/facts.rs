//! Facts of all memories with their subjects as entities, their predicates as groups, and their validity.
//!
//! A fact ends at the date in its memory, when its memory is superseded, or when a newer fact of another memory
//! excludes it: another value of a predicate with one value at a time, another version of the same object, or a denial.
//! An end because of a newer fact is derived and does not change a person's file, but `throughline review` proposes to
//! write it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::entities::{Entities, EntityId, Similarity};
use super::name::{NormalName, has_digit};
use super::predicates::{Predicate, Predicates};
use super::time::History;
use crate::embed::Vector;
use crate::id::MemoryId;
use crate::memory::{Fact, Memory, Status};
use crate::time::Timestamp;

/// Maximum number of words in an object that counts as a name.
const NAME_WORDS_MAX: usize = 4;
/// Maximum number of later facts with which a fact is compared.
const COMPARED_MAX: usize = 64;
/// Maximum difference in confidence between facts that count as equally well supported.
const CONFIDENCE_STEP: f32 = 0.1;
/// Predicate group whose objects may end with a version that is a plain number, such as `Postgres 16`.
const NUMBERED: &str = "depends_on";

/// A resolved fact of a memory.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Id of the memory that states the fact.
    pub memory: MemoryId,
    /// Index of the fact in the memory.
    pub place: usize,
    /// Subject of the fact.
    pub subject: EntityId,
    /// Predicate of the fact.
    pub predicate: Predicate,
    /// Object of the fact, without the version.
    pub object: String,
    /// Version in the object.
    pub version: Option<String>,
    /// Entity that the object names.
    pub thing: Option<EntityId>,
    /// Start of the validity; if the fact has none, the time of the memory.
    pub from: Timestamp,
    /// End of the validity according to the memory.
    pub to: Option<Timestamp>,
    /// End of the validity because of a newer statement, with the index of that statement.
    pub closed: Option<(Timestamp, usize)>,
    form: Arc<NormalName>,
    is_users: bool,
    confidence: f32,
}

impl Statement {
    /// Returns the end of the validity; `None` if the fact is still valid.
    pub fn end(&self) -> Option<Timestamp> {
        let closed = self.closed.map(|(at, _)| at);
        self.to.into_iter().chain(closed).min()
    }

    /// Returns whether the fact is true at a time.
    pub fn holds_at(&self, at: Timestamp) -> bool {
        self.from <= at && self.end().is_none_or(|end| at < end)
    }

    /// Returns the object, including the version.
    pub fn value(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.object),
            None => self.object.clone(),
        }
    }

    fn is_as_well_founded_as(&self, other: &Self) -> bool {
        match (self.is_users, other.is_users) {
            (true, false) => true,
            (false, true) => false,
            _ => self.confidence + CONFIDENCE_STEP >= other.confidence,
        }
    }
}

/// Relation of a statement to an older one about the same property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conflict {
    /// The newer statement repeats the older one.
    Repeats,
    /// The newer statement excludes the older one, which ends.
    Closes,
    /// Only a person can decide whether both statements are true.
    Asks,
}

/// A pair of statements of two memories, given by their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactPair {
    /// Index of the newer statement.
    pub newer: usize,
    /// Index of the older statement.
    pub older: usize,
    /// Relation of the newer statement to the older one.
    pub conflict: Conflict,
}

/// All statements and the relations between them.
#[derive(Clone, Debug, Default)]
pub struct FactBook {
    /// The statements, in the order of the memories and of the facts in each memory.
    pub statements: Vec<Statement>,
    /// The pairs of statements that repeat or exclude each other.
    pub pairs: Vec<FactPair>,
}

/// Predicate groups whose objects are plain values, not names of things.
const VALUE_GROUPS: [&str; 11] = [
    "default", "format", "licence", "limit", "named", "owned_by", "port", "schedule", "status",
    "value", "version",
];

/// Returns the object of a fact without its version if it is a name, which means that it is short and not a plain
/// value.
pub fn named_object<'f>(fact: &'f Fact, predicates: &Predicates) -> Option<&'f str> {
    let predicate = predicates.read(&fact.predicate);
    let (name, _) = split_version(&fact.object, &predicate.group);
    let is_name = !VALUE_GROUPS.contains(&&*predicate.group)
        && name.split_whitespace().count() <= NAME_WORDS_MAX
        && name.starts_with(|c: char| c.is_alphabetic() || c == '.' || c == '/');
    is_name.then_some(name)
}

impl FactBook {
    /// Collects the facts of memories. Rejected and archived memories state nothing. `hold_both` returns whether a
    /// person declared two memories to be both true.
    pub fn of(
        memories: &[&Memory],
        entities: &Entities,
        predicates: &Predicates,
        by: Similarity<'_>,
        hold_both: &dyn Fn(MemoryId, MemoryId) -> bool,
    ) -> Self {
        let history = History::of(memories.iter().copied());
        let mut book = Self::default();
        let mut objects: HashMap<&str, (Option<EntityId>, Arc<NormalName>)> = HashMap::new();
        for memory in memories {
            if matches!(memory.status, Status::Rejected | Status::Archived) {
                continue;
            }
            let superseded = history.superseded(memory).map(|(at, _)| at);
            let ends = memory.valid_until.into_iter().chain(superseded).min();
            for (place, fact) in memory.facts.iter().enumerate() {
                let Some(subject) = entities.find(&fact.subject) else { continue };
                let predicate = predicates.read(&fact.predicate);
                let (object, version) = split_version(&fact.object, &predicate.group);
                let (thing, form) =
                    objects.entry(object).or_insert_with(|| entities.find_with_form(object));
                book.statements.push(Statement {
                    memory: memory.id,
                    place,
                    subject,
                    object: object.to_owned(),
                    version: version.map(str::to_owned),
                    thing: *thing,
                    from: fact.from.or(memory.valid_from).unwrap_or_else(|| memory.when()),
                    to: fact.to.into_iter().chain(ends).min(),
                    closed: None,
                    form: form.clone(),
                    is_users: memory.source.is_users(),
                    confidence: fact.confidence.unwrap_or(memory.confidence),
                    predicate,
                });
            }
        }
        book.relate(by, hold_both);
        book
    }

    fn relate(&mut self, by: Similarity<'_>, hold_both: &dyn Fn(MemoryId, MemoryId) -> bool) {
        let vectors: RefCell<HashMap<String, Option<Vector>>> = RefCell::default();
        let embed = |text: &str| {
            let known = vectors.borrow().get(text).copied();
            known.unwrap_or_else(|| {
                let vector = (by.embed)(text);
                vectors.borrow_mut().insert(text.to_owned(), vector);
                vector
            })
        };
        let by = Similarity { embed: &embed, ..by };
        // For a predicate with many values, only statements about the same object are related.
        let mut properties: HashMap<(EntityId, &str, &str), Vec<usize>> = HashMap::new();
        for (at, statement) in self.statements.iter().enumerate() {
            let Predicate { group, is_single, .. } = &statement.predicate;
            let object = if *is_single { "" } else { &*statement.form.key };
            properties.entry((statement.subject, group, object)).or_default().push(at);
        }
        let mut properties: Vec<Vec<usize>> =
            properties.into_values().filter(|places| places.len() > 1).collect();
        properties.sort();
        for places in &mut properties {
            places.sort_by_key(|&at| {
                let statement = &self.statements[at];
                (statement.from, statement.memory, statement.place)
            });
            for (number, &older) in places.iter().enumerate() {
                for &newer in places.iter().skip(number + 1).take(COMPARED_MAX) {
                    let (old, new) = (&self.statements[older], &self.statements[newer]);
                    if old.memory == new.memory || hold_both(old.memory, new.memory) {
                        continue;
                    }
                    let Some(mut conflict) = relation(old, new, by) else { continue };
                    let has_ended = old.to.is_some_and(|to| to <= new.from);
                    if conflict != Conflict::Repeats && has_ended {
                        break;
                    }
                    if conflict == Conflict::Closes
                        && (new.from == old.from || !new.is_as_well_founded_as(old))
                    {
                        conflict = Conflict::Asks;
                    }
                    // If a person ended one of the facts, no decision is needed.
                    if conflict == Conflict::Asks && (old.to.is_some() || new.to.is_some()) {
                        continue;
                    }
                    self.pairs.push(FactPair { newer, older, conflict });
                    if conflict == Conflict::Closes {
                        let at = new.from;
                        self.statements[older].closed = Some((at, newer));
                        break;
                    }
                }
            }
        }
    }

    /// Returns the pairs that contain a statement of this memory.
    pub fn pairs_of(&self, id: MemoryId) -> impl Iterator<Item = &FactPair> {
        let is_its = move |at: usize| self.statements[at].memory == id;
        self.pairs.iter().filter(move |pair| is_its(pair.newer) || is_its(pair.older))
    }
}

/// Returns the relation of a statement to an older one with the same subject and predicate; `None` if unrelated.
fn relation(older: &Statement, newer: &Statement, by: Similarity<'_>) -> Option<Conflict> {
    let value = compare_values(older, newer, by);
    if older.predicate.is_negated != newer.predicate.is_negated {
        return (value == SameValue::Yes).then_some(Conflict::Closes);
    }
    match value {
        SameValue::Yes => match (&older.version, &newer.version) {
            (Some(old), Some(new)) if old != new => Some(Conflict::Closes),
            _ => Some(Conflict::Repeats),
        },
        _ if newer.predicate.is_negated || !newer.predicate.is_single => None,
        SameValue::Perhaps => Some(Conflict::Asks),
        SameValue::No => Some(Conflict::Closes),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SameValue {
    Yes,
    Perhaps,
    No,
}

fn compare_values(older: &Statement, newer: &Statement, by: Similarity<'_>) -> SameValue {
    let is_one_thing = older.thing.is_some() && older.thing == newer.thing;
    let (old, new) = (&*older.form, &*newer.form);
    if is_one_thing || old.key == new.key {
        return SameValue::Yes;
    }
    fn numbers(name: &NormalName) -> impl Iterator<Item = &String> {
        name.words.iter().filter(|word| has_digit(word))
    }
    if !numbers(old).eq(numbers(new)) || old.is_exact || new.is_exact {
        return SameValue::No;
    }
    let letters = strsim::jaro_winkler(&old.key, &new.key);
    let meaning = || {
        let cosine = (by.embed)(&older.object)?.cosine(&(by.embed)(&newer.object)?);
        Some(f64::from(cosine))
    };
    let similarity = match letters >= by.settings.same_value {
        true => letters,
        false => meaning().unwrap_or_default().max(letters),
    };
    match similarity {
        _ if similarity >= by.settings.same_value && old.may_be(new) => SameValue::Yes,
        _ if similarity >= by.settings.other_value => SameValue::Perhaps,
        _ => SameValue::No,
    }
}

/// Splits the version off the end of an object: `tokio, version 1.38`, `tokio v1.38`, `tokio@1.38`. A plain number
/// counts as a version only if the predicate group is about software: `Postgres 16`.
fn split_version<'o>(object: &'o str, group: &str) -> (&'o str, Option<&'o str>) {
    let object = object.trim();
    let at = object.rfind(|c: char| c.is_whitespace() || c == '@').map_or(0, |at| at + 1);
    let (before, last) = object.split_at(at);
    let version = last.trim_start_matches(['v', 'V', '^', '~', '=', '>']);
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || "@,=".contains(c));
    let (name, has_word) = match before.rsplit_once(char::is_whitespace) {
        Some((name, word)) if ["version", "release"].contains(&&*word.to_lowercase()) => {
            (name, true)
        }
        _ => (before, false),
    };
    let name = name.trim_end_matches([',', ' ', '(']);
    let version = version.trim_end_matches([')', '.']);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".+-".contains(c));
    let is_marked =
        has_word || version.contains('.') || last.starts_with(['v', 'V']) || group == NUMBERED;
    match is_version && is_marked && !name.is_empty() {
        true => (name, Some(version)),
        false => (object, None),
    }
}
